"""What a stranger may try: odd queries, execution, foreign origins, and what happens to kernels."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import TimeoutError as NotInTime
from playwright.sync_api import expect
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.ioloop import IOLoop
from tornado.websocket import websocket_connect

from tests.browser.conftest import dashboard_with, serving, settled
from tests.conftest import REPO, free_port

V32 = "model=deepseek-ai/DeepSeek-V3.2"


@pytest.fixture(scope="module")
def own(shared, tmp_path_factory):
    """A dashboard of its own, so that its kernels can be counted."""
    log = tmp_path_factory.mktemp("hostile") / "log"
    with dashboard_with(shared / "upstream", log) as url:
        yield url


def get(url, path, timeout=60):
    """Status and text; an answer that never ends is a fault, also where it trickles."""
    end = time.monotonic() + timeout
    try:
        with urllib.request.urlopen(f"{url}{path}", timeout=timeout) as answer:
            text = b""
            while part := answer.read1(65_536):
                text += part
                assert time.monotonic() < end, f"{path[:60]} hangs"
            return answer.status, text.decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")


@pytest.mark.parametrize(
    "path",
    [
        "/?template=x",
        "/?template=../../../etc",
        "/?model=../../etc/passwd",
        "/?" + "x" * 8192,
        "/?" + "&".join(["hardware=h200"] * 1000),
        "/?model=%ff%fe%00&hardware=%0a%0d",
        "/?token=x&classic-tree=1",
    ],
)
def test_odd_queries_get_a_page_or_a_refusal_and_never_hang(own, path):
    status, text = get(own, path, timeout=45)
    assert status == 200 or 400 <= status < 500
    assert "Traceback" not in text
    assert "root:" not in text


@pytest.mark.parametrize(
    "path",
    [
        "/voila/files/explorer.ipynb",
        "/voila/files/..%2f..%2fetc%2fpasswd",
        "/voila/render/..%2f..%2fetc%2fpasswd",
        "/voila/tree/",
        "/voila/api/contents/",
        "/api/contents/",
        "/api/kernels",
        "/api/sessions",
        "/api/terminals",
        "/nothing",
    ],
)
def test_no_file_and_no_api_of_a_notebook_server_is_there(own, path):
    status, text = get(own, path)
    assert 400 <= status < 500
    assert "root:" not in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("model=../../etc/passwd", "no recipe"),
        ("x" * 8192, "no such key"),
        ("&".join(["hardware=h200"] * 1000), "more than 200 keys"),
    ],
)
def test_an_odd_query_gives_a_notice_on_a_working_page(page, own, query, words):
    page.goto(f"{own}/?{query}", wait_until="commit")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    expect(page.locator(".rx-notices").first).to_contain_text(words)


def kernel_of(page, own):
    page.goto(f"{own}/?{V32}", wait_until="commit")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    config = page.locator("#jupyter-config-data").first.text_content()
    return json.loads(config)["kernelId"]


def alive(own, kernel):
    return get(own, f"/api/kernels/{kernel}")[0] == 200


def speak(own, kernel, origin, kind):
    """Send a message to a kernel as a stranger would; returns the answers within some seconds."""
    address = f"{own.replace('http', 'ws')}/api/kernels/{kernel}/channels?session_id=stranger"

    async def run():
        socket = await websocket_connect(HTTPRequest(address, headers={"Origin": origin}))
        message = {
            "header": {"msg_id": "1", "msg_type": kind, "session": "stranger", "username": "",
                       "version": "5.3", "date": "2026-01-01T00:00:00Z"},
            "parent_header": {}, "metadata": {}, "channel": "shell", "buffers": [],
            "content": {"code": "open('/tmp/pwned', 'w')", "silent": False,
                        "store_history": False, "user_expressions": {}, "allow_stdin": False},
        }  # fmt: skip
        await socket.write_message(json.dumps(message))
        found, end = [], time.monotonic() + 3
        import asyncio

        while time.monotonic() < end:
            try:
                raw = await asyncio.wait_for(asyncio.ensure_future(socket.read_message()), 1)
            except TimeoutError:
                break
            if raw is None:
                break
            found.append(raw if isinstance(raw, str) else raw.decode(errors="replace"))
        socket.close()
        return found

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: IOLoop(make_current=False).run_sync(run)).result(30)


def test_a_stranger_cannot_execute_code(page, own):
    kernel = kernel_of(page, own)
    answers = speak(own, kernel, own, "execute_request")
    assert not any("execute_reply" in text or "execute_input" in text for text in answers)


def test_a_foreign_origin_is_refused(page, own):
    kernel = kernel_of(page, own)
    with pytest.raises(HTTPClientError, match="403"):
        speak(own, kernel, "https://evil.example", "kernel_info_request")


def test_a_closed_tab_ends_its_kernel(browser, own):
    page = browser.new_page()
    kernel = kernel_of(page, own)
    settled(page)
    assert alive(own, kernel)
    page.goto("about:blank")
    page.close()
    end = time.monotonic() + 60
    while alive(own, kernel) and time.monotonic() < end:
        time.sleep(0.5)
    assert not alive(own, kernel)


def test_an_ended_session_says_so_and_its_reload_brings_the_state_back(page, own):
    kernel = kernel_of(page, own)
    settled(page)
    page.locator(".rx-axis-strategy select").select_option(index=2)
    expect(page.locator(".rx-command .rx-code")).to_contain_text("--data-parallel-size")
    text = page.locator(".rx-command .rx-code").inner_text()
    # The command comes first, and the address that holds the choice right after it.
    expect(page).to_have_url(re.compile("strategy="))
    request = urllib.request.Request(f"{own}/api/kernels/{kernel}", method="DELETE")
    urllib.request.urlopen(request, timeout=20).close()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    banner = page.locator(".rx-ended")
    expect(banner).to_be_visible(timeout=15_000)
    expect(banner).to_contain_text("session has ended")
    banner.get_by_role("button", name="Reload").click()
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    assert page.locator(".rx-command .rx-code").inner_text() == text


def test_a_kernel_that_ended_before_its_page_is_told(page, tmp_path):
    """Its widgets are gone, and with them whoever says that a session ended."""
    lines = (
        "import asyncio, os",
        "import ipywidgets as w",
        "asyncio.get_running_loop().call_later(0.1, os._exit, 1)",
        "w.VBox([w.HTML('x')])",
    )
    cell = {"cell_type": "code", "source": "\n".join(lines), "metadata": {}, "outputs": [],
            "execution_count": None, "id": "a"}  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": kernel}
    (tmp_path / "dies.ipynb").write_text(json.dumps(notebook))
    shutil.copy(REPO / "voila.json", tmp_path)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "voila", str(tmp_path), "--no-browser", f"--port={port}",
               f"--Voila.config_file_paths={tmp_path}"]  # fmt: skip
    with serving(command, url, tmp_path / "log"):
        page.goto(f"{url}/voila/render/dies.ipynb")
        told = page.get_by_role("alert").filter(has_text="session ended before the page was there")
        expect(told).to_be_visible(timeout=60_000)
        with page.expect_navigation(wait_until="commit"):
            told.get_by_role("button", name="Reload").click()


def test_a_token_is_asked_of_everybody(shared, tmp_path):
    with dashboard_with(shared / "upstream", tmp_path / "log", RECIPES_TOKEN="a-word") as url:
        for path in (f"/?{V32}", f"/voila/render/explorer.ipynb?{V32}", "/recipes/models.json"):
            assert "vllm serve" not in get(url, path)[1]
            assert "jupyter-config-data" not in get(url, path)[1]
        status, text = get(url, f"/?{V32}&token=a-word")
        assert status == 200
        assert "jupyter-config-data" in text
        assert healthy(url)
    assert not healthy(url)


def healthy(url):
    """What the container's own check says of a server."""
    code = re.search(r'CMD python -c "(.*)"', (REPO / "Containerfile").read_text())[1]
    code = code.replace("8866", url.rpartition(":")[2])
    return subprocess.run([sys.executable, "-c", code], check=False, timeout=20).returncode == 0


def test_a_session_that_nobody_uses_is_culled_and_says_so(browser, shared, tmp_path):
    with dashboard_with(shared / "upstream", tmp_path / "log", RECIPES_IDLE_S="4") as url:
        page = browser.new_page()
        kernel = kernel_of(page, url)
        settled(page)
        end = time.monotonic() + 60
        while alive(url, kernel) and time.monotonic() < end:
            time.sleep(0.5)
        assert not alive(url, kernel)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator(".rx-ended")).to_be_visible()
        page.close()


@pytest.mark.slow
def test_twenty_simultaneous_opens_all_reach_the_command(browser, own):
    context = browser.new_context()
    pages = [context.new_page() for _ in range(20)]
    for number, page in enumerate(pages):
        hardware = ("h200", "b200", "h100", "mi300x")[number % 4]
        page.goto(f"{own}/?{V32}&hardware={hardware}", wait_until="commit", timeout=180_000)
    for number, page in enumerate(pages):
        try:
            page.wait_for_selector(".rx-command .rx-code", timeout=180_000)
        except NotInTime:
            text = page.locator("body").inner_text()
            pytest.fail(f"page {number} never showed its command, but: {text[:600]!r}")
    context.close()
