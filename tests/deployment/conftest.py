"""The peer's catalog and ours."""

from __future__ import annotations

import pytest

from recipes_core.catalog.catalog import Catalog


@pytest.fixture(params=["upstream", "ours"])
def catalog(request: pytest.FixtureRequest) -> Catalog:
    return request.getfixturevalue(request.param)
