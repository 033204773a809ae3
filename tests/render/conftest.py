"""A configuration and its deployment in one call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import load_catalog
from recipes_core.configuration import configure
from recipes_core.deployment import ReaderValues, deploy
from tests.render.shapes import EVERY, SHAPES, Laid

Lay = Callable[..., Laid]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="session")
def lay(catalog: Catalog) -> Lay:
    def make(recipe: str, query: str = "", **values: object) -> Laid:
        config = configure(catalog, recipe, query)
        return Laid(config, deploy(config, ReaderValues(**values)))  # type: ignore[arg-type]

    return make


@pytest.fixture(params=list(SHAPES))
def laid(request, lay):
    return lay(*SHAPES[request.param])


@pytest.fixture(params=list(EVERY))
def any_laid(request, lay):
    return lay(*EVERY[request.param])
