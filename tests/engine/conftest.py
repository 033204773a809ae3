"""A catalog of one's own: small documents, so that a test shows all that it depends on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import Recipe, Strategy
from recipes_core.catalog.loader import load_catalog

VOCABULARY = Path(__file__).parents[2] / "recipes"
BASE: dict[str, Any] = {
    "meta": {"title": "M", "provider": "P", "tasks": ["text"]},
    "model": {
        "model_id": "org/m",
        "min_vllm_version": "0.20.0",
        "architecture": "moe",
        "base_args": [],
    },
    "variants": {"default": {"precision": "bf16", "vram_minimum_gb": 300}},
    "compatible_strategies": ["single_node_tp"],
}


def merge(base: Any, change: Any) -> Any:
    if isinstance(base, dict) and isinstance(change, dict):
        return {**base, **{key: merge(base.get(key), value) for key, value in change.items()}}
    return change


@pytest.fixture(scope="session")
def vocabulary() -> Catalog:
    return load_catalog(VOCABULARY)


@pytest.fixture
def one(vocabulary: Catalog) -> Callable[..., Catalog]:
    """A catalog with our vocabulary and one recipe ``org/m``: the base one with changes."""

    def make(strategies: dict[str, Any] | None = None, **changes: Any) -> Catalog:
        recipe = Recipe.model_validate(merge(BASE, changes))
        entry = RecipeEntry("org/m", recipe, "models/org/m.yaml")
        catalog = Catalog(
            taxonomy=vocabulary.taxonomy,
            strategies=dict(vocabulary.strategies),
            kv_stores=dict(vocabulary.kv_stores),
            recipes={"org/m": entry},
        )
        for name, change in (strategies or {}).items():
            own = catalog.strategies[name].model_dump(exclude_unset=True)
            catalog.strategies[name] = Strategy.model_validate(merge(own, change))
        return catalog

    return make
