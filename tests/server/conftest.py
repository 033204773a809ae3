"""The standalone server on a free port, over the upstream catalog and over ours."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tornado.netutil import bind_sockets

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import load_catalog
from recipes_core.server.standalone import make_app, make_server


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Client(NamedTuple):
    port: int

    def ask(self, path: str, method: str = "GET", **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=named)
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def raw(self, text: bytes) -> bytes:
        """Send bytes as they are, and read until the server is done."""
        found = b""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=20) as stream,
            contextlib.suppress(ConnectionResetError, BrokenPipeError),
        ):
            stream.sendall(text)
            stream.shutdown(socket.SHUT_WR)
            while part := stream.recv(65536):
                found += part
        return found


def running(catalog: Catalog, base_url: str = "/") -> Iterator[Client]:
    """A server in a thread with a loop of its own."""
    sockets = bind_sockets(0, "127.0.0.1")
    loop = asyncio.new_event_loop()
    ready, done = threading.Event(), asyncio.Event()

    async def serve() -> None:
        app = make_app(catalog, base_url, dashboard="/voila/render/explorer.ipynb")
        server = make_server(app)
        server.add_sockets(sockets)
        ready.set()
        await done.wait()
        server.stop()
        await server.close_all_connections()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    yield Client(sockets[0].getsockname()[1])
    loop.call_soon_threadsafe(done.set)
    thread.join(20)
    loop.close()


@pytest.fixture(scope="session")
def builtin() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="session")
def client(builtin: Catalog) -> Iterator[Client]:
    yield from running(builtin)
