"""Inside a Jupyter Server: for who is logged in, with no kernel, and never in an open one."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from recipes_core.server import _notebook_in
from tests.conftest import REPO, free_port
from tests.server.conftest import Client

TOKEN = "sesame"
MODEL = "meta-llama/Llama-3.1-8B-Instruct"


def start(folder: Path, token: str) -> Iterator[tuple[Client, Path]]:
    """``jupyter server`` with our extension and nothing else of this machine."""
    port = free_port()
    log = folder / "log.txt"
    (folder / "vllm-recipes.ipynb").touch()
    env = os.environ | {
        "PYTHONPATH": str(REPO), "JUPYTER_CONFIG_DIR": str(folder), "JUPYTER_DATA_DIR": str(folder),
        "JUPYTER_RUNTIME_DIR": str(folder), "JUPYTER_NO_CONFIG": "1",
    }  # fmt: skip
    command = [
        sys.executable, "-m", "jupyter_server", "--no-browser", f"--port={port}", "--allow-root",
        "--ServerApp.jpserver_extensions={'recipes_core.server': True}",
        "--ServerApp.base_url=/user/ann/", f"--IdentityProvider.token={token}",
        "--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    with log.open("w") as out:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)
    client = Client(port)
    try:
        for _ in range(200):
            try:
                client.ask("/user/ann/api")
                break
            except (OSError, http.client.HTTPException):
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
        yield client, log
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    yield from start(tmp_path_factory.mktemp("closed"), TOKEN)


@pytest.fixture(scope="module")
def open_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    yield from start(tmp_path_factory.mktemp("open"), "")


def test_who_is_logged_in_gets_recipes_and_no_kernel_is_started(lab):
    client, log = lab
    place = f"/user/ann/recipes/{MODEL}"
    for suffix in ("", ".json", ".md"):
        reply = client.ask(f"{place}{suffix}?hardware=h100", Authorization=f"token {TOKEN}")
        assert reply.status == 200, (log.read_text(), reply)
        assert reply.headers["Cache-Control"].startswith("private")
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
    assert json.loads(
        client.ask(f"{place}.json", Authorization=f"token {TOKEN}").body
    )["recipe"] == MODEL  # fmt: skip
    kernels = client.ask("/user/ann/api/kernels", Authorization=f"token {TOKEN}")
    assert json.loads(kernels.body) == []
    page = client.ask(place, Authorization=f"token {TOKEN}").text
    assert f'href="/user/ann/recipes/{MODEL}.md"' in page
    assert "/user/ann/voila/render/vllm-recipes.ipynb?" in page


def test_who_is_not_logged_in_gets_nothing(lab):
    client, _ = lab
    for path in ("", MODEL, f"{MODEL}.json", "models.json"):
        reply = client.ask(f"/user/ann/recipes/{path}", Accept="*/*")
        assert reply.status == 403
        assert MODEL not in reply.text
    page = client.ask(f"/user/ann/recipes/{MODEL}", Accept="text/html")
    assert page.status == 302
    assert "/login" in page.headers["Location"]


def test_tags_and_refusals_work_there_too(lab):
    client, _ = lab
    key = {"Authorization": f"token {TOKEN}"}
    place = f"/user/ann/recipes/{MODEL}.json"
    tag = client.ask(place, **key).headers["ETag"]
    assert client.ask(place, If_None_Match=tag, **key).status == 304
    assert client.ask(f"{place}?hardware=nosuch&strict=1", **key).status == 422
    assert client.ask("/user/ann/recipes/a%2fb", **key).status == 400
    post = client.ask(place, "POST", **key)
    assert post.status in {403, 405}
    assert b"Traceback" not in post.body


def test_a_server_that_lets_anybody_in_does_not_serve_them(open_lab):
    client, log = open_lab
    assert client.ask(f"/user/ann/recipes/{MODEL}.json").status == 404
    assert "lets anybody in" in log.read_text()


def test_a_page_leads_to_the_dashboard_only_where_there_is_one(tmp_path):
    assert _notebook_in(tmp_path) is None
    (tmp_path / "vllm-recipes.ipynb").touch()
    assert _notebook_in(tmp_path) == "vllm-recipes.ipynb"
    assert _notebook_in(REPO) == "notebooks/explorer.ipynb"
