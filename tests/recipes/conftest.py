"""Our own catalog, loaded once."""

from __future__ import annotations

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import load_catalog
from tests.conftest import REPO


@pytest.fixture(scope="session")
def ours() -> Catalog:
    """The catalog of this repository."""
    return load_catalog(REPO / "recipes")
