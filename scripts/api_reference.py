"""Writes docs/api.md from the docstrings of the public names; ``--check`` only compares."""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

API = Path(__file__).resolve().parent.parent / "docs" / "api.md"
MODULES = (
    "recipes_core",
    "recipes_core.catalog.search",
    "recipes_core.sizing",
    "recipes_core.sizing.answers",
    "recipes_core.vllm_cli",
    "recipes_core.render.comparison",
    "recipes_core.frames",
    "recipes_core.explorer",
)
HEAD = """# The Python API

Made by `scripts/api_reference.py` from the docstrings; what is not listed here may change without
notice. The notebook `from_python` uses most of it in ten cells. Names of `recipes_core` itself are
loaded when first used.
"""


def public_names(module: Any) -> list[str]:
    """Functions and classes that a module offers as its own."""
    listed = getattr(module, "__all__", None)
    names = listed or [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
    ]
    return sorted(
        (name for name in names if not name.startswith("_") and callable(getattr(module, name))),
        key=lambda name: (name[0].isupper(), name.casefold()),
    )


def entry(module: Any, name: str) -> str:
    """One name: its signature, and its docstring as it is."""
    value = getattr(module, name)
    kind = "class " if inspect.isclass(value) else ""
    head = f"{kind}{name}"
    if not kind:
        # Annotations are kept as text, which would be shown in quotes.
        plain = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
        signature = plain.replace(" -> ", "\n    -> ")
        head = f"{name}{signature}"
    text = inspect.getdoc(value) or ""
    if text.startswith(f"{name}("):
        # What a named tuple says of itself where nobody wrote anything.
        text = ""
    body = f"\n\n{text}" if text else ""
    return f"### {name}\n\n```text\n{head}{body}\n```\n"


def reference() -> str:
    """The whole page."""
    parts = [HEAD]
    for path in MODULES:
        module = import_module(path)
        first = (inspect.getdoc(module) or "").split("\n\n")[0]
        parts.append(f"## {path}\n\n{first}\n")
        parts += [entry(module, name) for name in public_names(module)]
    return "\n".join(parts)


if __name__ == "__main__":
    text = reference()
    if "--check" in sys.argv[1:]:
        sys.exit(API.read_text(encoding="utf-8") != text)
    API.write_text(text, encoding="utf-8")
