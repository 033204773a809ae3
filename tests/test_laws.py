"""The laws of the house: each test fails when one of them is broken."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from pydantic import BaseModel

import recipes_core
from recipes_core.catalog import documents

ROOT = Path(recipes_core.__file__).parent

FLOORS = {
    "errors": 0,
    "findings": 0,
    "flags": 0,
    "catalog": 1,
    "selection": 2,
    "configuration": 3,
    "axes": 3,
    "options": 3,
    "applies": 3,
    "layers": 3,
    "topology": 3,
    "deployment": 4,
    "sizing": 4,
    "vllm_cli": 4,
    "render": 5,
    "frames": 6,
}
"""Rooms by floor; a room may use its own floor and those below."""
ROOF = {"explorer", "server", "publish", "mcp"}
"""They stand on top and never use each other."""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        inside = path.relative_to(ROOT)
        if inside.parts[0] != "_data":
            yield inside.parts[0].removesuffix(".py"), path


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Absolute names that a module imports anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            assert node.module is not None
            yield node.module, node.lineno
            if node.module == "recipes_core":
                yield from ((f"recipes_core.{alias.name}", node.lineno) for alias in node.names)


def rooms_used(path: Path) -> Iterator[tuple[str, int]]:
    for name, line in imported(path):
        parts = name.split(".")
        if parts[0] == "recipes_core" and len(parts) > 1:
            yield parts[1], line


def test_imports_go_down_only():
    wrong = []
    for room, path in modules():
        if room not in FLOORS:
            continue
        for used, line in rooms_used(path):
            if used in ROOF or used == "cli" or FLOORS.get(used, 0) > FLOORS[room]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} uses {used}")
    assert wrong == []


def test_what_stands_on_top_does_not_lean_on_its_neighbours():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} uses {used}"
        for room, path in modules()
        if room in ROOF
        for used, line in rooms_used(path)
        if used in (ROOF - {room}) | {"cli"}
    ]
    assert wrong == []


def test_every_room_has_a_floor():
    known = {*FLOORS, *ROOF, "cli", "__init__", "__main__", "link", "conformance"}
    assert {room for room, _ in modules()} <= known


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("ipywidgets", {"explorer"}),
        ("anywidget", {"explorer"}),
        ("IPython", {"explorer"}),
        ("pandas", {"frames"}),
        ("tornado", {"server"}),
        ("jupyter_server", {"server", "explorer"}),
        ("mcp", {"mcp"}),
        ("threading", {"server", "cli", "mcp"}),
        ("socket", {"server", "cli"}),
        ("urllib.request", set()),
        ("requests", set()),
        ("httpx", set()),
    ],
)
def test_a_heavy_package_stays_in_its_room(package, allowed):
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for room, path in modules()
        for name, line in imported(path)
        if (name == package or name.startswith(f"{package}.")) and room not in allowed
    ]
    assert wrong == []


def test_import_brings_in_nothing_heavy():
    heavy = ["ipywidgets", "IPython", "pandas", "numpy", "tornado", "anywidget", "typer", "mcp"]
    code = (
        "import sys, recipes_core\n"
        "from recipes_core.catalog.loader import load_catalog\n"
        "load_catalog()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() == "[]"


def _documents() -> list[type[BaseModel]]:
    rooms = [
        import_module(f"{documents.__name__}.{room.name}")
        for room in iter_modules(documents.__path__)
    ]
    return [
        kind
        for room in rooms
        for _, kind in inspect.getmembers(room, inspect.isclass)
        if issubclass(kind, documents.Document) and kind.__module__ == room.__name__
    ]


def test_documents_are_frozen_and_know_their_keys():
    found = _documents()
    assert len(found) > 30
    for document in found:
        assert getattr(documents, document.__name__) is document, "not on the one import path"
        assert document.model_config.get("frozen") is True, document
        assert document.model_config.get("extra") == "forbid", document


def test_the_view_never_configures():
    """Decisions are made in configure(); what stands on top asks for them in one call."""
    rules = {"recipes_core.layers"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for room, path in modules()
        if room in ROOF | {"cli"}
        for name, line in imported(path)
        if name in rules
    ]
    assert wrong == []


def test_shell_text_is_made_in_render_alone():
    """Only the renderers quote for a shell; below them a command is a list of words."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room, path in modules()
        if room not in {"render", "publish", "cli", "server"}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "shlex"
        and node.attr in {"quote", "join"}
    ]
    assert wrong == []
