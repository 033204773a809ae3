"""What nbmake cannot see of the explorer's notebook: what comes after its cell is done."""

from __future__ import annotations

import os

import nbformat
import pytest
from nbclient import NotebookClient

from recipes_core.explorer.kernel import PAGE_VARIABLE
from tests.conftest import REPO

BROWSER = """\
import asyncio
shown = _
while not (shown.frame.command.steps or shown.ended):
    await asyncio.sleep(0.02)
shown.frame.page._receive(None, {"kind": "ready", "value": ""}, [])
print(shown.frame.notices.value, bool(shown.frame.command.steps), end=" ")
print(all(slot.children for slot in shown.frame.slots.values()))
"""
"""Does what a browser would, and says what it found."""


@pytest.mark.parametrize("voila", [True, False], ids=["page", "notebook"])
@pytest.mark.parametrize("fault", ["", "panels.find.FindPanel.follow", "view.Explorer.refresh"])
def test_the_notebook_fills_the_screen_and_tells_where_it_cannot(voila, fault):
    notebook = nbformat.read(REPO / "notebooks" / "explorer.ipynb", 4)
    notebook.cells.append(nbformat.v4.new_code_cell(BROWSER))
    if fault:
        module, kind, name = f"recipes_core.explorer.{fault}".rsplit(".", 2)
        broken = f"from {module} import {kind}\n{kind}.{name} = lambda *_: 1 / 0"
        notebook.cells.insert(0, nbformat.v4.new_code_cell(broken))
    env = {name: value for name, value in os.environ.items() if name != PAGE_VARIABLE}
    if voila:
        env[PAGE_VARIABLE] = "http://localhost/"
    client = NotebookClient(notebook, timeout=120, allow_errors=True)
    client.execute(cwd=str(REPO / "notebooks"), env=env)
    *_, opened, looked = (
        "".join(item.get("text", "") + item.get("ename", "") for item in cell.outputs)
        for cell in notebook.cells
    )
    if not fault:
        assert (opened, looked) == ("", " True True\n")
    elif fault == "view.Explorer.refresh" and not voila:
        assert opened == "ZeroDivisionError"
    else:
        assert opened == ""
        assert "ZeroDivisionError" in looked
