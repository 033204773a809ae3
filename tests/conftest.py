"""Fixtures that every test may use."""

from __future__ import annotations

import contextlib
import os
import random
import socket
from pathlib import Path

import pytest
from hypothesis import settings

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import load_catalog

# A CI judges a change, not the luck of its examples; elsewhere each run tries others.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

REPO = Path(__file__).resolve().parent.parent


def shared_dir() -> Path | None:
    """The folder with the peer's data and measurements, or None where it is absent."""
    path = Path(os.environ.get("RECIPES_SHARED", REPO.parent / "shared"))
    return path if (path / "README.md").is_file() else None


def free_port() -> int:
    """A port that nobody has, outside of the range from which kernels take theirs later."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data; the test is skipped, with the reason, where there is none."""
    path = shared_dir()
    if path is None:
        pytest.skip("../shared (or $RECIPES_SHARED) is not there")
    return path


@pytest.fixture(scope="session")
def upstream(shared: Path) -> Catalog:
    """The peer's catalog."""
    return load_catalog(shared / "upstream")


@pytest.fixture(scope="session")
def ours() -> Catalog:
    """The catalog of this repository."""
    return load_catalog(REPO / "recipes")
