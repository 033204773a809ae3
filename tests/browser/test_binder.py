"""As on Binder: voila inside Jupyter Server, with the settings of ``binder/`` alone."""

from __future__ import annotations

import shutil
import sys

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Watch, serving, settled
from tests.conftest import REPO, free_port


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("binder")
    shutil.copy(REPO / "binder" / "jupyter_server_config.json", folder)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", f"--port={port}",
        "--IdentityProvider.token=", f"--ServerApp.root_dir={REPO}",
    ]  # fmt: skip
    with serving(command, f"{url}/api", folder / "log", JUPYTER_CONFIG_DIR=str(folder)):
        yield url


def test_a_binder_link_opens_its_configuration(page, server):
    watch = Watch(page)
    query = "model=openai/gpt-oss-120b&hardware=h100"
    page.goto(f"{server}/voila/render/notebooks/explorer.ipynb?{query}", wait_until="commit")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    expect(page.locator(".rx-command .rx-code")).to_contain_text("vllm serve openai/gpt-oss-120b")
    expect(page.locator(".rx-summary")).to_contain_text("H100")
    assert watch.faults == []
    assert watch.outside == []


def test_the_badge_and_the_pins_are_as_binder_wants_them():
    folder = REPO / "binder"
    assert (folder / "runtime.txt").read_text().strip() == "python-3.12"
    lines = [line for line in (folder / "requirements.txt").read_text().splitlines() if line]
    assert lines[-1] == "."
    pins = [line for line in lines[:-1] if not line.startswith("#")]
    assert len(pins) > 50
    assert all("==" in line for line in pins)
    assert (
        "urlpath=voila%2Frender%2Fnotebooks%2Fexplorer.ipynb" in (folder / "README.md").read_text()
    )
