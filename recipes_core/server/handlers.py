"""The web side: tornado handlers for a standalone server, for voila, and for Jupyter Server."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tornado.web import HTTPError, RequestHandler, authenticated

from recipes_core.server.answers import Answer, Answers, security_headers

if TYPE_CHECKING:
    from recipes_core.catalog.catalog import Catalog

METHODS = "GET, HEAD"
Mount = Callable[[str], list[tuple[str, type[RequestHandler], dict[str, Any]]]]
"""Makes routes for the path at which an application is mounted."""


def join(base_url: str, *parts: str) -> str:
    """Parts of a path with one slash between them and one at the front."""
    words = [part.strip("/") for part in (base_url, *parts)]
    return "/" + "/".join(word for word in words if word)


def _accepts_gzip(header: str) -> bool:
    for item in header.split(","):
        name, _, quality = item.partition(";")
        if name.strip().lower() in {"gzip", "*"}:
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _matches(header: str, etag: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return "*" in tags or etag in tags


class Recipes:
    """What all three kinds of handlers do; mixed into a handler class of the host."""

    answers: Answers
    prefix: str
    max_age: int
    private: bool

    def reply(self: Any, body: bool) -> None:
        """Answer a GET, or a HEAD without its body."""
        request = self.request
        path, _, query = request.uri.partition("?")
        rest = path[len(self.prefix) :].lstrip("/") if path.startswith(self.prefix) else path
        self.send(self.answers.answer(rest, query, request.headers.get("Accept", "")), body)

    def send(self: Any, answer: Answer, body: bool) -> None:
        """Write an answer: conditional, compressed where the client takes it."""
        self.set_status(answer.status)
        self.clear_header("Server")
        for name, value in (security_headers() | answer.headers).items():
            self.set_header(name, value)
        self.set_header("Vary", "Accept, Accept-Encoding")
        self.set_header("Content-Type", answer.kind)
        if answer.status == 200:
            scope = "private" if self.private else "public"
            self.set_header("Cache-Control", f"{scope}, max-age={self.max_age}")
            self.set_header("Etag", answer.etag)
            if _matches(self.request.headers.get("If-None-Match", ""), answer.etag):
                self.set_status(304)
                self.clear_header("Content-Type")
                self.finish()
                return
        else:
            self.set_header("Cache-Control", "no-store")
        packed = None
        if _accepts_gzip(self.request.headers.get("Accept-Encoding", "")):
            packed = answer.compressed()
        if packed is not None:
            self.set_header("Content-Encoding", "gzip")
        text = answer.body if packed is None else packed
        self.set_header("Content-Length", str(len(text)))
        self.finish(text if body else None)

    def refuse(self: Any, status: int) -> None:
        """Say why there is no page, without a trace."""
        message = {
            400: "The request cannot be read.",
            403: "This needs a login.",
            405: f"Only {METHODS} are understood here.",
        }.get(status, "The page could not be made." if status >= 500 else "Not found.")
        if status == 405:
            self.set_header("Allow", METHODS)
        accept = self.request.headers.get("Accept", "")
        self.send(self.answers.refusal(status, message, accept), self.request.method != "HEAD")


class PublicHandler(Recipes, RequestHandler):
    """Answers anybody: for the standalone server, and for voila's."""

    def initialize(self, answers: Answers, prefix: str, max_age: int = 300) -> None:
        """Take what the route holds."""
        self.answers, self.prefix, self.max_age, self.private = answers, prefix, max_age, False

    def compute_etag(self) -> None:
        """None: the tag is of the body before it is compressed."""

    def check_xsrf_cookie(self) -> None:
        """Nothing is changed by any request, so there is nothing to forge."""

    def get(self) -> None:
        """Answer."""
        self.reply(body=True)

    def head(self) -> None:
        """Answer without the body."""
        self.reply(body=False)

    def write_error(self, status_code: int, **_: Any) -> None:
        """Write a refusal in the client's form."""
        self.refuse(status_code)


def handlers(
    catalog: Catalog,
    base_url: str = "/",
    *,
    dashboard: str | None = None,
    site: str = "",
    max_age: int = 300,
) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    """Routes that any tornado application can hold: ``<base_url>recipes/…``, open to anybody.

    Args:
        catalog: What is served.
        base_url: Where the application is mounted.
        dashboard: Address of the dashboard, for the links that open a configuration in it.
        site: Scheme and host for links in Markdown.
        max_age: Seconds for which clients and proxies may keep an answer.
    """
    prefix = join(base_url, "recipes")
    answers = Answers(catalog, f"{prefix}/", dashboard, site)
    facts = {"answers": answers, "prefix": prefix, "max_age": max_age}
    return [(rf"{re.escape(prefix)}(?:/.*)?", PublicHandler, facts)]


def private_handlers(
    catalog: Catalog, base_url: str, dashboard: str | None
) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    """The same routes for a Jupyter Server: only for who is logged in."""
    from jupyter_server.base.handlers import JupyterHandler

    class PrivateHandler(Recipes, JupyterHandler):
        """Answers who is logged in."""

        def initialize(self, answers: Answers, prefix: str) -> None:
            self.answers, self.prefix, self.max_age, self.private = answers, prefix, 0, True

        def compute_etag(self) -> None:
            """None: the tag is of the body before it is compressed."""

        def get_login_url(self) -> str:
            """The login page for a person; a client that wants data is refused instead."""
            wanted = self.request.headers.get("Accept", "")
            if "text/html" not in wanted or self.request.path.endswith((".json", ".md", ".txt")):
                raise HTTPError(403)
            return str(super().get_login_url())

        @authenticated
        def get(self) -> None:
            self.reply(body=True)

        @authenticated
        def head(self) -> None:
            self.reply(body=False)

        def write_error(self, status_code: int, **_: Any) -> None:
            self.refuse(status_code)

    prefix = join(base_url, "recipes")
    facts = {"answers": Answers(catalog, f"{prefix}/", dashboard), "prefix": prefix}
    return [(rf"{re.escape(prefix)}(?:/.*)?", PrivateHandler, facts)]


def beside_dashboard(catalog: Catalog, *, private: bool) -> Mount:
    """Routes beside a dashboard at the root of the same server.

    Args:
        catalog: What is served.
        private: The dashboard asks for a login, so the recipes do too.
    """

    def routes(base_url: str) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
        root = f"{join(base_url)}/".replace("//", "/")
        if private:
            return private_handlers(catalog, base_url, root)
        return handlers(catalog, base_url, dashboard=root)

    return routes
