"""The peer's catalog and ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import load_catalog


@pytest.fixture(scope="session")
def upstream(shared: Path) -> Catalog:
    return load_catalog(shared / "upstream")


@pytest.fixture(scope="session")
def ours() -> Catalog:
    return load_catalog()
