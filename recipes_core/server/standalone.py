"""The public server: recipes alone, read-only, no kernel and no login."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

from tornado.httpserver import HTTPServer
from tornado.web import Application, RedirectHandler

from recipes_core.server.handlers import PublicHandler, handlers, join

if TYPE_CHECKING:
    from recipes_core.catalog.catalog import Catalog

MAX_HEADER = 512 * 1024
"""Bytes of a request's head that are read, so that a far too long query gets an answer."""


def make_app(catalog: Catalog, base_url: str = "/", **options: Any) -> Application:
    """An application that serves a catalog under ``<base_url>recipes/`` and nothing else.

    Args:
        catalog: What is served.
        base_url: Where it is mounted.
        options: As for ``handlers``.
    """
    routes = handlers(catalog, base_url, **options)
    facts = routes[0][2]
    home = {"url": facts["prefix"] + "/", "permanent": False}
    return Application(
        [(join(base_url), RedirectHandler, home), *routes],
        default_handler_class=PublicHandler,
        default_handler_args=facts,
        serve_traceback=False,
        log_function=lambda _handler: None,
    )


def make_server(app: Application) -> HTTPServer:
    """An HTTP server with bounds on what a client may send."""
    return HTTPServer(
        app, max_header_size=MAX_HEADER, max_body_size=64 * 1024, idle_connection_timeout=60
    )


def serve(
    catalog: Catalog, host: str = "127.0.0.1", port: int = 8867, base_url: str = "/", **options: Any
) -> None:
    """Serve until interrupted.

    Args:
        catalog: What is served.
        host: Address to listen on.
        port: Port to listen on.
        base_url: Where it is mounted.
        options: As for ``handlers``.
    """

    async def run() -> None:
        server = make_server(make_app(catalog, base_url, **options))
        server.listen(port, host)
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, done.set)
        await done.wait()
        server.stop()

    asyncio.run(run())
