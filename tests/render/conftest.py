"""A configuration and its deployment in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import load_catalog
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import Deployment, ReaderValues, deploy


class Laid(NamedTuple):
    config: Configuration
    deployment: Deployment


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
