"""Every command that the catalog shows by default starts, as far as memory can be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import deploy
from recipes_core.selection import Selection
from recipes_core.sizing.configuration import size_processes
from recipes_core.sizing.result import Sizing

ALLOWED: dict[tuple[str, str, str, str], str] = {}
"""Recipe, variant, hardware and strategy of a command that does not start, and why it is shown."""

GIB = 1 << 30


def configurations(catalog: Catalog, entry: RecipeEntry) -> Iterator[Configuration]:
    """Each variant on each enabled hardware: by default, and as single_node_tp where offered."""
    for variant in entry.recipe.variants:
        base = configure(catalog, entry, Selection(variant=variant))
        for option in base.rules.hardware_options(variant):
            if not option.enabled:
                continue
            asked = Selection(variant=variant, hardware=option.id)
            default = configure(catalog, entry, asked)
            yield default
            if default.strategy_id != "single_node_tp":
                plain = configure(catalog, entry, asked.with_(strategy="single_node_tp"))
                if plain.strategy_id == "single_node_tp":
                    yield plain


def refused(found: Sizing) -> str | None:
    """Why vLLM would refuse to start; None where it starts, or where that cannot be computed."""
    if found.fits is not False:
        return None
    if found.problems:
        return "; ".join(found.problems)
    if found.basis == "declared":
        return f"{(found.shortfall or 0) / GIB:.1f} GiB of declared weights do not fit"
    return (
        f"{(found.available or 0) / GIB:.2f} GiB of cache, {(found.needed or 0) / GIB:.2f} GiB for"
        f" one request of {found.max_model_len}"
    )


class Sweep:
    """What was sized, and what of it would not start."""

    def __init__(self, catalog: Catalog) -> None:
        self.sized: Counter[str] = Counter()
        self.unstartable: dict[tuple[str, str, str, str], str] = {}
        for entry in catalog.recipes.values():
            for config in configurations(catalog, entry):
                self._add(config)

    def _add(self, config: Configuration) -> None:
        key = (
            config.entry.id,
            config.variant_id,
            config.hardware,
            config.strategy_id or "",
        )
        for process, found in size_processes(config, deploy(config)):
            self.sized[found.basis] += 1
            why = refused(found)
            if why is not None:
                self.unstartable[key] = f"{process.name}: {why}"


def test_every_default_command_starts(ours: Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    found = Sweep(ours)
    with capsys.disabled():
        print(f"\nengines sized: {dict(found.sized)}; {len(found.unstartable)} would not start")
    assert found.sized["computed"] > 1_300
    strange = {key: why for key, why in found.unstartable.items() if key not in ALLOWED}
    assert not strange, (
        "cap --max-model-len, raise tp or nodes, or say that it is unsupported: "
        + "; ".join(f"{'/'.join(key)}: {why}" for key, why in strange.items())
    )
    stale = set(ALLOWED) - set(found.unstartable)
    assert not stale, f"these start by now; take them off the list: {stale}"


def test_a_command_that_does_not_start_is_found(ours: Catalog) -> None:
    """The measure itself: without its cap and its second card a recipe is seen."""
    capped, cards = "MiniMaxAI/MiniMax-M2.7", "Qwen/Qwen3-32B"
    changed = {}
    for name in (capped, cards):
        entry = ours.recipes[name]
        variants = dict(entry.recipe.variants)
        variants["default"] = variants["default"].model_copy(update={"tp": None})
        update: dict[str, Any] = {"variants": variants}
        if name == capped:
            old = entry.recipe.strategy_overrides["single_node_tp"]
            bare = old.model_copy(update={"hardware_overrides": {}})
            update["strategy_overrides"] = {"single_node_tp": bare}
        recipe = entry.recipe.model_copy(update=update)
        changed[name] = replace(entry, recipe=recipe)
    found = Sweep(replace(ours, recipes=changed, kept={})).unstartable
    assert set(found) == {
        (capped, "default", "h100", "single_node_tp"),
        (cards, "default", "h100", "single_node_tp"),
    }
