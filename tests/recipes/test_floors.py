"""Every command is accepted by the vLLM that its page asks for, and by the newest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import Deployment, deploy
from recipes_core.selection import Selection
from recipes_core.vllm_cli.check import check_argv
from recipes_core.vllm_cli.floors import check_floor

HARDWARE = ("h100", "h200", "b200", "gb200", "mi300x", "xeon6", "arc_pro_b60")
"""One of each kind: overrides are written by generation and brand."""
NEWEST = "0.33.0"
PINNED = {"baidu/ERNIE-5.5-Flash": "0.32.0"}
"""Recipes whose plugin follows one release."""


def deployments(catalog: Catalog, recipe: str) -> Iterator[tuple[str, Deployment]]:
    """Every layout, variant and set of features of a recipe on some hardware."""
    document = catalog.recipes[recipe].recipe
    for hardware in HARDWARE:
        for variant in document.variants:
            for strategy in document.compatible_strategies:
                for features in (None, (), tuple(document.features)):
                    selection = Selection(
                        hardware=hardware,
                        variant=variant,
                        strategy=strategy,
                        nodes=2 if strategy.startswith("multi_node") else None,
                        features=features,
                    )
                    config = configure(catalog, recipe, selection)
                    if config.strategy_id == strategy:
                        yield selection.to_query(), deploy(config)


def test_the_floor_holds_for_every_layout_of_every_recipe(
    ours: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = set()
    for recipe, entry in ours.recipes.items():
        newest = PINNED.get(recipe, NEWEST)
        for query, deployment in deployments(ours, recipe):
            floor = deployment.min_vllm_version
            assert floor is not None, recipe
            by_hardware = deployment.configuration.profile.plugins
            plugins = (*entry.recipe.model.plugins, *by_hardware)
            for process in deployment.processes:
                key = (floor, *process.argv, *process.env.items())
                if not process.is_engine or key in seen:
                    continue
                seen.add(key)
                found = [
                    *check_floor(floor, process.argv, process.env, plugins=plugins),
                    *check_argv(process.argv, process.env, floor, plugins=plugins),
                    *check_argv(process.argv, process.env, newest, plugins=plugins),
                ]
                wrong = [str(item) for item in found if item.severity == "error"]
                assert not wrong, f"{recipe}?{query}: {wrong}"
    with capsys.disabled():
        print(f"\n{len(seen)} commands hold at their floor and at the newest vLLM")
    assert len(seen) > 10_000
