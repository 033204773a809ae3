"""The ``recipes`` command, run as a shell runs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def recipes() -> Run:
    """Run a command line; its output is text, and nothing of it is a terminal."""

    def run(*args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "recipes_core.cli", *args],
            input=stdin, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    return run
