"""Recipes made for a test, in our own vocabulary."""

from __future__ import annotations

from typing import Any

from recipes_core.catalog.catalog import RecipeEntry
from recipes_core.catalog.documents import Recipe


def recipe(**changes: Any) -> RecipeEntry:
    """A small mixture of experts; ``a__b=value`` sets a nested key."""
    data: dict[str, Any] = {
        "meta": {"title": "T", "provider": "P", "tasks": ["text"]},
        "model": {"model_id": "o/r", "min_vllm_version": "0.20.0", "architecture": "moe"},
        "variants": {"default": {"precision": "fp8", "vram_minimum_gb": 200}},
        "compatible_strategies": [
            "single_node_tp", "single_node_tep", "single_node_dep", "multi_node_tp",
            "multi_node_dep", "pd_cluster",
        ],
    }  # fmt: skip
    for name, value in changes.items():
        *path, last = name.split("__")
        holder = data
        for key in path:
            holder = holder.setdefault(key, {})
        holder[last] = value
    return RecipeEntry("o/r", Recipe.model_validate(data), "models/o/r.yaml", "test")
