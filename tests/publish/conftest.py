"""A small site of a few recipes of each kind, and the whole upstream catalog."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.publish.contents import Options
from recipes_core.publish.export import Report, export

BASE_URL = "https://recipes.example.org/vllm"
FEW = 12


def some(catalog: Catalog, *recipes: str) -> Catalog:
    """A catalog with a few recipes."""
    return replace(catalog, recipes={name: catalog.recipes[name] for name in sorted(recipes)})


@pytest.fixture(scope="session")
def few(upstream: Catalog) -> Catalog:
    """Omni, dense, sparse, with variants under their own ids, and one that no node holds."""
    return some(
        upstream,
        "Google/gemma-4-12B-it",
        "MiniMaxAI/MiniMax-M2.1",
        "Qwen/Qwen-Image",
        "baidu/ERNIE-4.5-VL-28B-A3B-PT",
        "deepseek-ai/DeepSeek-R1",
        "deepseek-ai/DeepSeek-V4-Flash",
        "meta-llama/Llama-3.1-8B-Instruct",
    )


@pytest.fixture(scope="session")
def site(few: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    made: Report = export(few, folder, Options(base_url=BASE_URL), jobs=1)
    assert made.skipped == ()
    return folder
