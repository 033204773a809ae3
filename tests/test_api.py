"""What Python users are promised: the page is made from the docstrings, and its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

import recipes_core
from tests.conftest import REPO


def test_the_reference_says_what_the_docstrings_say():
    script = REPO / "scripts" / "api_reference.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False, timeout=60)
    assert done.returncode == 0, f"docs/api.md is old: {script.name} makes it anew"


def test_every_public_name_can_be_had():
    for name in recipes_core.__all__:
        assert getattr(recipes_core, name) is not None


def examples():
    shown = recipes_core.__doc__.split("\n\n", 1)[1].rpartition("\n\n")[0]
    yield "recipes_core", textwrap.dedent(shown)
    for path in [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]:
        blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
        for number, text in enumerate(blocks, 1):
            # These stand for the reader's own file and application.
            if "config.json" not in text and "app.add_handlers" not in text:
                yield f"{path.name} {number}", text


@pytest.mark.parametrize(("place", "text"), list(examples()), ids=lambda value: str(value)[:24])
def test_an_example_runs_as_it_is_printed(place, text, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{place}: {done.stderr}"
    assert done.stdout
