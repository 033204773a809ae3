"""A real dashboard on loopback and a headless Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.conftest import REPO, free_port

expect.set_options(timeout=20_000)
"""The machine may be shared: how long is measured elsewhere."""
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
HARMLESS = ("Unsatisfied version", "No satisfying version", "Permissions policy")
"""Console remarks of voila's own bundle about versions, which are no errors."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
    # Playwright leaves an event loop running in this thread, which others would trip over.
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    if not CHROMIUM:
        message = "no chromium (apt-get install chromium, or set $CHROMIUM)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return {"executable_path": CHROMIUM, "args": ["--no-sandbox"]}


@contextmanager
def serving(command: list[str], url: str, log: Path, **env: str) -> Iterator[str]:
    """A server that runs while the block does."""
    with log.open("w") as out:
        process = subprocess.Popen(
            command, cwd=REPO, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **env}
        )
    try:
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    pytest.fail(f"the server did not start:\n{log.read_text()[-3000:]}")
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


@contextmanager
def dashboard_with(catalog: Path | str, log: Path, **env: str) -> Iterator[str]:
    """A dashboard of a catalog; yields its address."""
    port = free_port()
    command = [
        sys.executable, "-m", "recipes_core.cli", "dashboard", "--no-browser",
        "--port", str(port), "--catalog", str(catalog),
    ]  # fmt: skip
    ready = f"http://127.0.0.1:{port}/voila/static/"
    with serving(command, ready, log, **env):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def relayed(url: str) -> Iterator[str]:
    """Another address of a dashboard, of which the server learns nothing, as behind a proxy."""
    host = url.removeprefix("http://").encode()

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            inner = socket.create_connection(host.decode().split(":"))
            back = threading.Thread(target=pass_on, args=(inner, self.request), daemon=True)
            back.start()
            pass_on(self.request, inner, outer, host)

    def pass_on(source: Any, target: Any, old: bytes = b"", new: bytes = b"") -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data.replace(old, new) if old else data)
            target.shutdown(socket.SHUT_WR)

    with socketserver.ThreadingTCPServer(("127.0.0.1", free_port()), Relay) as server:
        server.daemon_threads = True
        outer = f"127.0.0.1:{server.server_address[1]}".encode()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{outer.decode()}"
        server.shutdown()


@pytest.fixture(scope="session")
def dashboard(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The dashboard with the peer's whole catalog."""
    log = tmp_path_factory.mktemp("voila") / "log"
    with dashboard_with(shared / "upstream", log) as url:
        yield url


class Watch:
    """What went wrong on a page, and what left the machine."""

    def __init__(self, page: Any) -> None:
        self.faults: list[str] = []
        self.outside: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self._request)

    def _console(self, message: Any) -> None:
        if message.type == "error" and not any(word in message.text for word in HARMLESS):
            self.faults.append(message.text)

    def _request(self, request: Any) -> None:
        local = ("http://127.0.0.1", "http://localhost", "ws://127.0.0.1", "data:", "blob:")
        if not request.url.startswith(local):
            self.outside.append(request.url)


@pytest.fixture
def watch(page: Any) -> Watch:
    return Watch(page)


@pytest.fixture
def opened(page: Any, dashboard: str) -> Callable[..., Any]:
    """Open a query and wait until the command is on screen."""

    def open_query(query: str = "", path: str = "/") -> Any:
        page.goto(f"{dashboard}{path}?{query}", wait_until="commit")
        page.wait_for_selector(".rx-command .rx-code", timeout=45_000)
        page.wait_for_selector(".rx-axis-hardware select, .rx-axis-variant select")
        return page

    return open_query


def choose(page: Any, axis: str, text: str) -> None:
    """Choose the first option of an axis that holds a text."""
    field = page.locator(f".rx-axis-{axis} select")
    # A list is there a moment before its options.
    field.locator("option").first.wait_for(state="attached")
    # The widgets put no-break spaces into options.
    texts = [t.replace("\u00a0", " ") for t in field.locator("option").all_inner_texts()]
    found = next((n for n, option in enumerate(texts) if text in option), None)
    assert found is not None, f"{axis} offers {texts}"
    field.select_option(index=found)


def settled(page: Any) -> None:
    """Wait until the parts that follow the command are there and nothing moves any more."""
    page.wait_for_selector(".rx-panel-tabs .rx-tab")
    page.wait_for_selector(".rx-axis-hardware .rx-hint, .rx-axis-variant .rx-hint")
    page.wait_for_timeout(400)
