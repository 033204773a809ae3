"""vLLM plugins count where the recipe, its image or the hardware brings them, and only there."""

from __future__ import annotations

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.layers import named_plugins, plugins_of
from recipes_core.render.beside import assess, version_of


@pytest.mark.parametrize(
    ("recipe", "query", "named", "all_of_them"),
    [
        ("deepseek-ai/DeepSeek-V4-Flash", "hardware=h200", (), ()),
        (
            "deepseek-ai/DeepSeek-V4-Flash",
            "hardware=dgx_spark_gb10",
            ("vllm-b12x",),
            ("vllm-b12x",),
        ),
        ("Qwen/Qwen3.8-27B", "hardware=ascend_950pr&variant=ascend_w8a8", (), ("vllm-ascend",)),
        ("baidu/ERNIE-5.5-Flash", "", ("vllm-ernie",), ("vllm-ernie",)),
    ],
)
def test_plugins_by_configuration(
    ours: Catalog, recipe: str, query: str, named: tuple[str, ...], all_of_them: tuple[str, ...]
) -> None:
    config = configure(ours, recipe, query)
    assert named_plugins(config) == named
    assert plugins_of(config) == all_of_them


def test_the_gb10_build_is_checked_at_its_floor_and_found_right(ours: Catalog) -> None:
    recipe = "deepseek-ai/DeepSeek-V4-Flash"
    config = configure(ours, recipe, "hardware=dgx_spark_gb10")
    deployment = deploy(config)
    assert version_of(deployment) == deployment.min_vllm_version
    assert [f for f in assess(config).findings if f.severity != "info"] == []
    argv = deployment.processes[0].argv
    assert argv[argv.index("--moe-backend") + 1] == "b12x"
