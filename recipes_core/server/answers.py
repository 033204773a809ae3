"""What the server says to a request: status, headers, and body; no web framework is used here."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import orjson

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.pages import pages
from recipes_core.catalog.schema import recipe_schema
from recipes_core.catalog.search import search
from recipes_core.configuration import Adjustment, Configuration, configure
from recipes_core.errors import RecipesError, UnknownRecipeError
from recipes_core.render.beside import Assessed, assess
from recipes_core.render.json import SCHEMA_VERSION, points_json, to_json
from recipes_core.render.listing import (
    groups_of,
    llms_txt,
    models_json,
    search_json,
    vocabulary_json,
)
from recipes_core.render.markdown import to_markdown
from recipes_core.render.output_schema import output_schema
from recipes_core.render.page import Addresses, content_policy, template, to_html
from recipes_core.selection import Selection

MAX_PATH = 1024
MAX_QUERY = 8192
CACHE_BYTES = 4 * 2**20
"""Bytes of answers that are kept: enough for what is asked often, and never more."""
CACHE_LARGEST = CACHE_BYTES // 4
COMPRESS_FROM = 1024
HEADER_BYTES = 4096
HTML, JSON, MARKDOWN, TEXT = (
    "text/html; charset=utf-8",
    "application/json; charset=utf-8",
    "text/markdown; charset=utf-8",
    "text/plain; charset=utf-8",
)
SUFFIXES = {".json": JSON, ".md": MARKDOWN}
KINDS = {
    "text/html": HTML,
    "application/json": JSON,
    "text/markdown": MARKDOWN,
    "text/plain": MARKDOWN,
}
_ENCODED = re.compile(r"%(?:2f|5c|00)", re.IGNORECASE)


@dataclass(slots=True)
class Answer:
    """A whole response."""

    status: int
    kind: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    etag: str = ""
    packed: bytes | None = None
    """The body compressed, once somebody asked for it."""

    def __post_init__(self) -> None:
        self.etag = f'"{hashlib.blake2b(self.body, digest_size=16).hexdigest()}"'

    def compressed(self) -> bytes | None:
        """The body for ``Content-Encoding: gzip``, or None where that saves nothing."""
        if self.packed is None and len(self.body) >= COMPRESS_FROM:
            self.packed = gzip.compress(self.body, 5, mtime=0)
        return self.packed

    @property
    def weight(self) -> int:
        """Bytes that it takes in a cache, compressed form included."""
        return len(self.body) + (len(self.packed) if self.packed else len(self.body) // 4) + 1024


class Refused(Exception):  # noqa: N818 - it is a refusal, not a fault
    """A request that gets no page."""

    def __init__(
        self,
        status: int,
        message: str,
        near: tuple[str, ...] = (),
        adjustments: tuple[Adjustment, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.near, self.adjustments = near, adjustments


class Answers:
    """Answers requests about one catalog; the same request always gets the same answer.

    Args:
        catalog: What is served; it is never changed.
        root: Path of the list of recipes, with slashes at both ends.
        dashboard: Address of the dashboard, if there is one.
        site: Scheme and host that links in Markdown begin with; empty = links begin at the root.
    """

    def __init__(
        self,
        catalog: Catalog,
        root: str = "/recipes/",
        dashboard: str | None = None,
        site: str = "",
    ) -> None:
        self.catalog = catalog
        self.addresses = Addresses(root, dashboard)
        self.site = site.rstrip("/")
        self._cache: OrderedDict[tuple[str, str, str], Answer] = OrderedDict()
        self._cached = 0
        self._vocabulary = vocabulary_json(catalog)
        self._ids = {page.id.casefold() for page in pages(catalog)}
        self._lists: dict[str, Callable[[], tuple[str, bytes]]] = {
            "models.json": lambda: (JSON, _dumps(models_json(catalog))),
            "recipe.schema.json": lambda: (JSON, _dumps(recipe_schema(catalog))),
            "configuration.schema.json": lambda: (JSON, _dumps(output_schema())),
            "llms.txt": lambda: (TEXT, llms_txt(catalog, root).encode()),
        }

    def answer(self, path: str, query: str, accept: str = "") -> Answer:
        """Answer a request.

        Args:
            path: Below the root, as it came: still percent-encoded.
            query: The query string, as it came.
            accept: The ``Accept`` header; it counts where the path has no suffix.
        """
        kind = HTML
        try:
            words = _decoded(path, query)
            kind = self._kind(words, accept)
            key = (words, query, kind)
            known = self._cache.get(key)
            if known is not None:
                self._cache.move_to_end(key)
                return known
            made = self._make(words, query, kind)
        except Refused as refusal:
            return self._refusal(refusal, kind)
        self._keep(key, made)
        return made

    def refusal(self, status: int, message: str, accept: str = "") -> Answer:
        """An answer that only says why there is none."""
        return self._refusal(Refused(status, message), _accepted(accept))

    # --- what is asked ----------------------------------------------------------------------

    def _kind(self, path: str, accept: str) -> str:
        for suffix, kind in SUFFIXES.items():
            if path.endswith(suffix) and not self._is_recipe(path):
                return kind
        return TEXT if path == "llms.txt" else _accepted(accept)

    def _is_recipe(self, path: str) -> bool:
        """Whether a path is a recipe's id as it stands: ids may end as files do."""
        return path.casefold() in self._ids

    def _make(self, path: str, query: str, kind: str) -> Answer:
        if path == "":
            return self._index("", kind)
        if path == "search":
            return self._search(query, kind)
        if path in self._lists:
            return Answer(200, *self._lists[path]())
        if path in self._vocabulary:
            return Answer(200, JSON, _dumps(self._vocabulary[path]))
        parts = path.split("/")
        if len(parts) == 4 and parts[2] == "presets" and parts[3].endswith(".json"):
            return self._preset("/".join(parts[:2]), parts[3].removesuffix(".json"), query)
        recipe = path
        if not self._is_recipe(path):
            for suffix in SUFFIXES:
                recipe = recipe.removesuffix(suffix) if recipe.endswith(suffix) else recipe
        return self._recipe(recipe, query, kind)

    def _configure(self, recipe: str, query: str) -> tuple[Configuration, bool]:
        pairs = _pairs(query)
        strict = any(key == "strict" and value not in {"0", "false", ""} for key, value in pairs)
        asked = Selection.from_query([pair for pair in pairs if pair[0] != "strict"])
        try:
            return configure(self.catalog, recipe, asked), strict
        except UnknownRecipeError as error:
            near = error.nearest
            raise Refused(404, f"There is no recipe {recipe!r}.", near) from None
        except RecipesError as error:
            raise Refused(422, str(error)) from None

    def _recipe(self, recipe: str, query: str, kind: str, *, points: bool = False) -> Answer:
        config, strict = self._configure(recipe, query)
        if strict and config.adjustments:
            message = "What was asked cannot be had as it is."
            raise Refused(422, message, (), tuple(config.adjustments))
        try:
            shown = assess(config)
        except RecipesError as error:
            raise Refused(422, str(error)) from None
        answer = Answer(200, kind, self._body(shown, kind, points=points))
        answer.headers = self._about(config)
        return answer

    def _preset(self, recipe: str, key: str, query: str) -> Answer:
        config, _ = self._configure(recipe, "")
        presets = config.recipe.presets
        if key not in presets:
            known = ", ".join(presets) or "none"
            raise Refused(404, f"{config.entry.id} has no preset {key!r}; it has: {known}.")
        preset = f"preset={key}"
        return self._recipe(recipe, f"{query}&{preset}" if query else preset, JSON, points=True)

    def _body(self, shown: Assessed, kind: str, *, points: bool = False) -> bytes:
        config, deployment, sizing, findings = shown
        if kind == JSON:
            document = to_json(config, deployment, sizing, findings)
            return _dumps(document | {"points": points_json(config)} if points else document)
        if kind == MARKDOWN:
            base = self.site + self.addresses.root.rstrip("/")
            return to_markdown(config, deployment, base or None, findings=findings).encode()
        return to_html(config, deployment, sizing, findings, self.addresses).encode()

    def _about(self, config: Configuration) -> dict[str, str]:
        place = self.addresses.page(config.entry.id)
        headers = {"Link": f'<{self.site}{place}>; rel="canonical"'}
        if config.adjustments:
            headers["X-Recipes-Adjustments"] = adjustments_header(config.adjustments)
        return headers

    # --- lists ------------------------------------------------------------------------------

    def _index(self, asked: str, kind: str, near: tuple[str, ...] = ()) -> Answer:
        entries = search(self.catalog, asked) if asked else None
        if kind == JSON:
            found = entries if entries is not None else list(self.catalog.recipes.values())
            return Answer(200, JSON, _dumps(search_json(found)))
        if kind == MARKDOWN and entries is None:
            return Answer(200, MARKDOWN, llms_txt(self.catalog, self.addresses.root).encode())
        total = len(self.catalog.recipes)
        count = total if entries is None else len(entries)
        text = template("index.html").render(
            heading=f"Recipes for “{asked}”" if asked else "vLLM serving recipes",
            lead="Pick a model: its page has the exact commands for your hardware, and why.",
            base_url=None,
            policy=None,
            root=self.addresses.root,
            search=f"{self.addresses.root}search",
            asked=asked,
            count=f"{count} of {total}",
            live=True,
            near=near,
            groups=groups_of(self.catalog, entries),
            href=self.addresses.page,
        )
        return Answer(200, HTML, text.encode())

    def _search(self, query: str, kind: str) -> Answer:
        asked = dict(_pairs(query)).get("q", "").strip()[:200]
        near: tuple[str, ...] = ()
        if kind == HTML and asked and not search(self.catalog, asked):
            try:
                self.catalog.find(asked)
            except UnknownRecipeError as error:
                near = error.nearest
        return self._index(asked, JSON if kind == MARKDOWN else kind, near)

    # --- refusals and the cache -------------------------------------------------------------

    def _refusal(self, refusal: Refused, kind: str) -> Answer:
        status, message = refusal.status, refusal.message
        if kind == JSON:
            body = {
                "schema_version": SCHEMA_VERSION,
                "error": message,
                "status": status,
                "nearest": list(refusal.near),
                "adjustments": [item._asdict() for item in refusal.adjustments],
            }
            answer = Answer(status, JSON, _dumps(body))
        elif kind == HTML:
            text = template("error.html").render(
                heading={404: "Not found", 422: "Not as asked"}.get(status, "Not understood"),
                message=message,
                near=refusal.near,
                adjustments=refusal.adjustments,
                root=self.addresses.root,
                href=self.addresses.page,
            )
            answer = Answer(status, HTML, text.encode())
        else:
            lines = [message, *(f"near: {near}" for near in refusal.near)]
            lines += [f"{a.axis or 'query'}: {a.reason}" for a in refusal.adjustments]
            answer = Answer(status, TEXT, ("\n".join(lines) + "\n").encode())
        if refusal.adjustments:
            answer.headers["X-Recipes-Adjustments"] = adjustments_header(refusal.adjustments)
        return answer

    def _keep(self, key: tuple[str, str, str], answer: Answer) -> None:
        if answer.weight > CACHE_LARGEST:
            return
        self._cache[key] = answer
        self._cached += answer.weight + sum(map(len, key))
        while self._cached > CACHE_BYTES:
            old, dropped = self._cache.popitem(last=False)
            self._cached -= dropped.weight + sum(map(len, old))


def _dumps(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        raise Refused(400, "The query has more than 200 keys.") from None


def _decoded(path: str, query: str) -> str:
    """The path in plain text.

    Raises:
        Refused: It is too long, is no UTF-8, or hides a slash, a step up, or a control character.
    """
    if len(path) > MAX_PATH:
        raise Refused(414, f"The path is longer than {MAX_PATH} characters.")
    if len(query) > MAX_QUERY:
        raise Refused(414, f"The query is longer than {MAX_QUERY} characters.")
    if _ENCODED.search(path):
        raise Refused(400, "A slash of the path is encoded.")
    try:
        words = unquote_to_bytes(path).decode()
        unquote_to_bytes(query.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise Refused(400, "The address is not UTF-8.") from None
    if any(ord(char) < 32 or ord(char) == 127 for char in words):
        raise Refused(400, "The path holds a control character.")
    if any(part in {".", ".."} for part in words.split("/")):
        raise Refused(400, "The path leads elsewhere.")
    return words.rstrip("/") if len(words) > 1 else words.strip("/")


def _accepted(accept: str) -> str:
    """The form that a client prefers; HTML where it says nothing or anything."""
    best, weight = HTML, 0.0
    for place, item in enumerate(accept.split(",")[:20]):
        name, *parameters = (part.strip() for part in item.split(";"))
        kind = KINDS.get(name.lower())
        if kind is None:
            continue
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        score = quality - place / 1000
        if quality > 0 and score > weight:
            best, weight = kind, score
    return best


def adjustments_header(adjustments: tuple[Adjustment, ...] | list[Adjustment]) -> str:
    """Adjustments as one header: JSON in ASCII, without reasons or whole where it grows long."""
    rows: list[Mapping[str, Any]] = [item._asdict() for item in adjustments]
    text = json.dumps(rows, separators=(",", ":"))
    if len(text) > HEADER_BYTES:
        text = json.dumps([{"axis": row["axis"]} for row in rows], separators=(",", ":"))
    return text if len(text) <= HEADER_BYTES else json.dumps([{"count": len(rows)}])


@lru_cache(maxsize=1)
def security_headers() -> dict[str, str]:
    """Headers that every answer carries."""
    return {
        "Content-Security-Policy": f"{content_policy()}; frame-ancestors 'self'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
    }
