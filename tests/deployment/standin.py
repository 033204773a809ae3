"""Engines that only speak: an HTTP server on a loopback address, and a router in front of them."""

from __future__ import annotations

import json
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KV = {
    "do_remote_prefill": True, "do_remote_decode": False, "remote_engine_id": "engine-0",
    "remote_block_ids": [1, 2], "remote_host": "127.0.0.1", "remote_port": 5557, "tp_size": 1,
}  # fmt: skip
"""What a prefill engine with NIXL gives back for the decode engine."""


@dataclass
class Engine:
    """A stand-in for ``vllm serve``; it notes the requests that it answers.

    Attributes:
        answers: What further paths give back to a GET.
    """

    host: str
    port: int
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[Engine]:
        """Listen until the block ends."""
        server = ThreadingHTTPServer((self.host, self.port), self._handler())
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join(5)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def _say(self, document: object, status: int = 200) -> None:
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                known = {
                    "/health": {},
                    "/v1/models": {"object": "list", "data": [{"id": "m", "owned_by": "vllm"}]},
                    "/version": {"version": "0.33.0"},
                    **engine.answers,
                }
                path = self.path.partition("?")[0]
                self._say(known.get(path, {"error": path}), 200 if path in known else 404)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = json.loads(body)
                headers = {name.lower(): value for name, value in self.headers.items()}
                engine.asked.append((headers, asked))
                message = {"role": "assistant", "content": f"{engine.host}:{engine.port}"}
                self._say(
                    {
                        "id": "1", "object": "chat.completion", "model": "m",
                        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                        "kv_transfer_params": KV,
                    }
                )  # fmt: skip

        return Handler


@contextmanager
def started(argv: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is gone when the block ends."""
    with log.open("wb") as file:
        process = subprocess.Popen(argv, stdout=file, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def ask(url: str, text: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """The answer to a chat request."""
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": 8}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", **(headers or {})},
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=10) as answer:
        return dict(json.load(answer))


def first_answer(url: str, process: subprocess.Popen[bytes], log: Path, seconds: float = 40) -> Any:
    """The first answer that comes through, while the router gets ready."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask(url, "hello")
        except (urllib.error.URLError, OSError) as error:
            gone = process.poll() is not None
            if gone or time.monotonic() > deadline:
                tail = log.read_text(errors="replace")[-2000:]
                raise AssertionError(f"{url} does not answer ({error}):\n{tail}") from error
            time.sleep(0.3)
