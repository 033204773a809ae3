"""JupyterLab opens the explorer and runs it, from its notebook and from the launcher."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys

import pytest
from playwright.sync_api import TimeoutError as NotInTime
from playwright.sync_api import expect

from tests.browser.conftest import choose, serving
from tests.conftest import REPO, free_port


@pytest.fixture(scope="module")
def lab(shared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    shutil.copy(REPO / "notebooks" / "explorer.ipynb", folder)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
        "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}",
        "--LabApp.news_url=", "--LabApp.check_for_updates_class="
        "jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    environment = {
        "RECIPES_CATALOG": str(shared / "upstream"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
    }
    with serving(command, f"{url}/api", folder / "log", **environment):
        yield url


def test_lab_runs_the_explorers_notebook(page, lab):
    page.goto(f"{lab}/lab/tree/explorer.ipynb?reset")
    cell = page.locator(".jp-CodeCell").first
    cell.wait_for(timeout=90_000)
    command = page.locator(".rx-command .rx-code").first
    for _ in range(12):
        # A run that is asked before the kernel is connected is lost.
        cell.locator(".jp-InputArea-editor").click()
        page.keyboard.press("Control+Enter")
        with contextlib.suppress(NotInTime):
            command.wait_for(timeout=6_000)
            break
    expect(page.locator(".rx-axis-hardware select")).to_be_visible()
    before = command.inner_text()
    choose(page, "hardware", "B200")
    expect(page.locator(".rx-summary")).to_contain_text("B200")
    assert "vllm serve" in before


def test_the_launcher_has_an_entry_that_opens_it(page, lab):
    page.goto(f"{lab}/lab?reset")
    entry = page.locator(".jp-LauncherCard", has_text="vLLM recipes").first
    entry.wait_for(timeout=90_000)
    entry.click()
    page.locator(".rx-command .rx-code").first.wait_for(timeout=90_000)
    expect(page.locator(".rx-title")).not_to_be_empty()
    expect(page).to_have_url(re.compile("lab"))
