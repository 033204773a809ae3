"""Notebooks are thin and hold no output; that they run is nbmake's to say (see ``./test``)."""

from __future__ import annotations

import ast
import json

import pytest

from tests.conftest import REPO

NOTEBOOKS = sorted((REPO / "notebooks").glob("*.ipynb"))


def code_of(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_the_five_notebooks_are_there():
    assert {path.stem for path in NOTEBOOKS} >= {
        "explorer", "gpu_sizing", "compare", "from_python", "write_a_recipe",
    }  # fmt: skip


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_stored(path):
    for cell in code_of(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_logic_lives_in_a_notebook(path):
    for cell in code_of(path):
        tree = ast.parse("".join(cell["source"]))
        defined = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        assert defined == []


@pytest.mark.parametrize("name", ["explorer", "write_a_recipe"])
def test_what_voila_shows_is_one_cell_of_code(name):
    assert len(code_of(REPO / "notebooks" / f"{name}.ipynb")) == 1
