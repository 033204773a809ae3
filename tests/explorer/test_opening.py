"""From a cell to the screen: the frame stands at once, the rest follows when the cell is done."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from ipywidgets.widgets.widget import _instances as widgets

from recipes_core.explorer import explorer, opening

QUERY = "model=deepseek-ai/DeepSeek-V3.2&hardware=b200"


@pytest.fixture
def catalog(shared):
    return shared / "upstream"


def test_without_a_loop_all_is_there_at_once(catalog):
    shown = explorer(catalog, query=QUERY)
    assert shown.frame.command.steps
    assert shown.screen.details is not None


def test_a_cell_waits_for_neither_pydantic_nor_yaml():
    code = (
        "import asyncio, sys\nfrom recipes_core.explorer import explorer\n"
        "async def cell(): return explorer()\nasyncio.run(cell())\n"
        "print([name for name in ('pydantic', 'yaml', 'recipes_core.configuration')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_in_a_loop_the_command_follows_without_a_new_widget(catalog):
    async def cell():
        shown = explorer(catalog, query=QUERY)
        assert shown.frame.command.steps == []
        stands = set(widgets)
        while not shown.frame.command.steps:
            await asyncio.sleep(opening.CELL_S)
        # A browser that collects the widgets meanwhile would miss a new one.
        assert set(widgets) == stands
        assert "--tensor-parallel-size 8" in str(shown.frame.command.steps)
        assert shown.frame.page.query == QUERY
        return shown

    shown = asyncio.run(asyncio.wait_for(cell(), 30))
    assert shown.screen.state.configuration.hardware == "b200"


def test_what_is_asked_early_is_answered(catalog):
    async def cell():
        shown = explorer(catalog, query=QUERY)
        shown.frame.page.handlers["restore"]('{"cache_folder": "/mnt/hub"}')
        shown.frame.page.handlers["ready"]("http://localhost/")
        assert shown.screen.page.address == "http://localhost/"
        assert shown.screen.details is not None
        assert len(shown.screen.state.catalog.recipes) > 100
        return shown

    shown = asyncio.run(cell())
    assert "/mnt/hub" in str(shown.frame.command.steps)


def test_the_screen_is_prepared_part_by_part_while_the_browser_is_busy(catalog):
    async def cell():
        screen = explorer(catalog, query=QUERY).screen
        assert len(screen.state.catalog.recipes) == 1
        while len(screen.state.catalog.recipes) == 1:
            await asyncio.sleep(opening.CELL_S)
        assert screen.details is None
        screen.complete()
        return screen

    screen = asyncio.run(asyncio.wait_for(cell(), 30))
    assert "DeepSeek-V3.2" in screen.title.value


@pytest.mark.parametrize("asked", ["wait", "ready"])
def test_a_catalog_that_cannot_be_read_is_told_in_a_loop_too(tmp_path, asked):
    async def cell():
        shown = explorer(tmp_path / "nowhere")
        if asked == "ready":
            shown.frame.page.handlers["ready"]("")
        while not shown.ended:
            await asyncio.sleep(opening.CELL_S)
        return shown

    shown = asyncio.run(asyncio.wait_for(cell(), 30))
    assert shown.screen is None
    notice = shown.frame.root.children[-1].value
    assert 'role="alert"' in notice
    assert "no such folder" in notice


def test_a_fault_of_ours_is_told_in_a_loop_too(catalog, monkeypatch):
    async def cell():
        shown = explorer(catalog)
        monkeypatch.setattr(shown, "_load", lambda: 1 / 0)
        while not shown.ended:
            await asyncio.sleep(opening.CELL_S)
        return shown

    shown = asyncio.run(asyncio.wait_for(cell(), 30))
    assert "ZeroDivisionError" in shown.frame.root.children[-1].value


@pytest.mark.parametrize("page", [True, False])
def test_only_a_pages_own_kernel_leaves_without_looking_for_garbage(catalog, page):
    code = (
        "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
        "from recipes_core.explorer import explorer\nexplorer(query='model=none/such')"
    )
    # What is registered last runs first, so the count is read after the freeze.
    env = {opening.PAGE_VARIABLE: "http://localhost/"} if page else {}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == str(page)
