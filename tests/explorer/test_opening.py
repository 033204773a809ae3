"""From a cell to the screen: a page's frame stands at once, the rest follows the cell."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from shutil import copytree, rmtree

import pytest
from ipywidgets.widgets.widget import _instances as widgets

from recipes_core.errors import RecipesError
from recipes_core.explorer import explorer, kernel
from recipes_core.explorer.view import Explorer

V32 = "deepseek-ai/DeepSeek-V3.2"
QUERY = f"model={V32}&hardware=b200"


@pytest.fixture
def catalog(shared):
    return shared / "upstream"


@pytest.fixture
def own_kernel(monkeypatch):
    """As in a kernel that voila started for a page."""
    monkeypatch.setenv(kernel.PAGE_VARIABLE, "http://localhost/")
    yield
    gc.unfreeze()


def run(cell):
    return asyncio.run(asyncio.wait_for(cell(), 30))


async def until(true):
    while not true():
        await asyncio.sleep(kernel.CELL_S)


def notice_of(shown):
    """What stands in place of a screen, where nothing hides it."""
    (notice,) = shown.frame.root.children[1:]
    assert "rx-hidden" not in notice._dom_classes
    assert 'role="alert"' in notice.value
    assert shown.frame.page.title.startswith("Nothing to show")
    return notice.value


def test_without_a_loop_all_is_there_at_once(catalog):
    shown = explorer(catalog, query=QUERY)
    assert shown.frame.command.steps
    assert shown.screen.details is not None


def test_a_pages_cell_waits_for_neither_pydantic_nor_yaml():
    code = (
        "import asyncio, sys\nfrom recipes_core.explorer import explorer\n"
        "async def cell(): return explorer()\nasyncio.run(cell())\n"
        "print([name for name in ('pydantic', 'yaml', 'recipes_core.configuration')"
        " if name in sys.modules])"
    )
    env = {**os.environ, kernel.PAGE_VARIABLE: "http://localhost/"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == "[]"


def test_a_notebooks_cell_holds_the_command_when_it_is_done(catalog):
    # What runs a notebook and stores it waits for its cells alone.
    async def cell():
        return explorer(catalog, query=QUERY).frame.command.steps

    assert "--tensor-parallel-size 8" in str(run(cell))


def test_a_fault_of_ours_is_the_notebooks_cells(catalog, monkeypatch):
    async def cell():
        return explorer(catalog, query=QUERY)

    monkeypatch.setattr(Explorer, "refresh", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(cell)


def test_a_pages_command_follows_without_a_new_widget(catalog, own_kernel):
    async def cell():
        shown = explorer(catalog, query=QUERY)
        assert shown.frame.command.steps == []
        # A frame that does not know its query yet leaves the address alone.
        assert shown.frame.page.query == ""
        stands = set(widgets)
        await until(lambda: shown.frame.command.steps)
        # A browser that collects the widgets meanwhile would miss a new one.
        assert set(widgets) == stands
        assert "--tensor-parallel-size 8" in str(shown.frame.command.steps)
        assert shown.frame.page.query == QUERY
        return shown

    assert run(cell).screen.state.configuration.hardware == "b200"


def test_what_is_asked_early_is_answered(catalog, own_kernel):
    async def cell():
        shown = explorer(catalog, query=QUERY)
        shown.frame.page.handlers["restore"]('{"cache_folder": "/mnt/hub"}')
        shown.frame.page.handlers["ready"]("http://localhost/")
        assert shown.screen.page.address == "http://localhost/"
        assert shown.screen.details is not None
        assert len(shown.screen.state.catalog.recipes) > 100
        return shown

    assert "/mnt/hub" in str(run(cell).frame.command.steps)


def test_the_screen_is_prepared_part_by_part_while_the_browser_is_busy(catalog):
    async def cell():
        screen = explorer(catalog, query=QUERY).screen
        assert len(screen.state.catalog.recipes) == 1
        await until(lambda: len(screen.state.catalog.recipes) > 1)
        assert screen.details is None
        screen.complete()
        return screen

    assert "DeepSeek-V3.2" in run(cell).title.value


@pytest.mark.parametrize("asked", ["wait", "ready"])
def test_a_choice_between_two_parts_stays(catalog, asked):
    async def cell():
        screen = explorer(catalog, query=QUERY).screen
        screen.state.ask(hardware="h200")
        if asked == "wait":
            await until(lambda: not screen._unprepared)
        screen.complete()
        return screen

    screen = run(cell)
    assert screen.state.configuration.hardware == "h200"
    assert screen.state.catalog.recipes[V32] is screen.state.configuration.entry
    assert screen.page.query == f"model={V32}&hardware=h200"


@pytest.mark.parametrize("gone", ["", f"models/{V32}.yaml"])
def test_the_screen_comes_also_where_the_catalog_went_meanwhile(catalog, tmp_path, gone):
    folder = copytree(catalog, tmp_path / "catalog")

    async def cell():
        screen = explorer(folder, query=QUERY).screen
        rmtree(folder) if not gone else (folder / gone).unlink()
        await until(lambda: not screen._unprepared)
        screen.complete()
        return screen

    screen = run(cell)
    assert screen.details is not None
    assert "no such folder" in screen.notices.value or "no recipe" in screen.notices.value
    screen.state.ask(hardware="h200")
    assert "H200" in screen.status.value


@pytest.mark.parametrize("asked", ["wait", "ready"])
def test_a_catalog_that_cannot_be_read_is_told_on_a_page_too(tmp_path, own_kernel, asked):
    async def cell():
        shown = explorer(tmp_path / "nowhere")
        stands = set(widgets)
        if asked == "ready":
            shown.frame.page.handlers["ready"]("")
        await until(lambda: shown.ended)
        assert set(widgets) == stands
        return shown

    shown = run(cell)
    assert shown.screen is None
    assert "no such folder" in notice_of(shown)


@pytest.mark.parametrize("asked", ["wait", "ready"])
@pytest.mark.parametrize("fault", [ZeroDivisionError("a bug"), RecipesError("a refusal")])
def test_a_fault_of_ours_is_told_on_a_page(catalog, own_kernel, monkeypatch, asked, fault):
    built = []

    def fail(screen):
        built.append(screen)
        screen._show_notices()
        raise fault

    async def cell():
        shown = explorer(catalog, query=QUERY)
        if asked == "ready":
            shown.frame.page.handlers["ready"]("")
        await until(lambda: shown.ended)
        await asyncio.sleep(3 * kernel.CELL_S)
        return shown

    monkeypatch.setattr(Explorer, "refresh", fail)
    shown = run(cell)
    assert str(fault) in notice_of(shown)
    assert len(built) == 1
    # Half a screen answers nothing.
    assert shown.frame.page.handlers == {}
    assert shown.screen is None


@pytest.mark.parametrize("voila", [True, False])
def test_only_a_pages_own_kernel_leaves_without_looking_for_garbage(catalog, voila):
    code = (
        "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
        "from recipes_core.explorer import explorer\nexplorer(query='model=none/such')"
    )
    # What is registered last runs first, so the count is read after the freeze.
    env = {kernel.PAGE_VARIABLE: "http://localhost/"} if voila else {}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == str(voila)
