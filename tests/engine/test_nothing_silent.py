"""ENGINE section 1: whatever is asked is either had or an Adjustment, and not both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import load_catalog
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import Deployment, deploy
from recipes_core.flags import parse_args
from recipes_core.layers import READER_FLAGS
from recipes_core.selection import QUERY_KEYS, Selection

from .strategies import pairs_of

FLAG_OF = dict(READER_FLAGS)
OFF = {"off", "none"}
Had = Callable[[Configuration, str], bool]


def same(value: object, text: str) -> bool:
    return str(value).casefold() == text.strip().casefold()


def pool(config: Configuration, key: str) -> Any:
    role, _, what = key.partition("_")
    found = config.pools.get(role)
    return None if found is None else getattr(found, what)


def features(config: Configuration, text: str) -> bool:
    words = {word.strip() for word in text.split(",") if word.strip()} - {"none"}
    return set(config.features) == words


def modes(config: Configuration, text: str) -> bool:
    return all(config.feature_modes.get(w.partition(":")[0]) == w.partition(":")[2]
               for w in text.split(","))  # fmt: skip


HAD: dict[str, Had] = {
    "hardware": lambda c, t: same(c.hardware, t),
    "variant": lambda c, t: same(c.variant_id, t),
    "strategy": lambda c, t: same(c.strategy_id, t),
    "nodes": lambda c, t: str(c.nodes) == t,
    "features": features,
    "fmode": modes,
    "preset": lambda c, t: c.preset_id == (None if t == "baseline" else t),
    "kv_offload": lambda c, t: c.kv_offload is None if t in OFF else same(c.kv_offload, t),
    "kv_instances": lambda c, t: str(c.kv_instances) == t,
    "prefill_nodes": lambda c, t: same(pool(c, "prefill_nodes"), t),
    "decode_nodes": lambda c, t: same(pool(c, "decode_nodes"), t),
    "prefill_mode": lambda c, t: same(pool(c, "prefill_mode"), t),
    "decode_mode": lambda c, t: same(pool(c, "decode_mode"), t),
    "advanced": lambda c, t: set(t.split(",")) <= set(c.advanced),
    "task": lambda c, t: c.task is not None and t == (c.task.key or c.task.id),
    "gpus": lambda c, t: str(c.profile.gpu_count) == t,
    "frontend": lambda c, t: same(c.frontend or "python", t),
    "router": lambda c, t: same(c.router, t),
    "install": lambda c, t: c.install == t,
    "vllm": lambda c, t: c.vllm == t,
}


def in_commands(deployment: Deployment, key: str, text: str) -> bool:
    if key == "port":
        return any(str(process.port) == text for process in deployment.processes)
    found = []
    for process in deployment.processes:
        if process.is_engine:
            values = {flag.name: flag.values for flag in parse_args(process.argv[3:])}
            found.append(values.get(FLAG_OF[key]) in {(text,), (text.strip(),)})
    return any(found) if key == "host" else all(found)


@pytest.fixture(scope="module")
def both(shared: Path) -> Catalog:
    return load_catalog("builtin", shared / "upstream")


def questions(catalog: Catalog) -> st.SearchStrategy[tuple[str, dict[str, str]]]:
    """A recipe and what is asked of it: from one key to all."""

    def few(drawn: tuple[str, dict[str, str], int]) -> tuple[str, dict[str, str]]:
        recipe, pairs, count = drawn
        return recipe, {key: text for key, text in list(pairs.items())[-count:] if text}

    return (
        st.sampled_from(sorted(catalog.recipes))
        .flatmap(
            lambda name: st.tuples(
                st.just(name), pairs_of(catalog, name), st.integers(1, len(QUERY_KEYS))
            )
        )
        .map(few)
    )


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_asked_is_had_or_adjusted(both: Catalog, data: st.DataObject) -> None:
    recipe, asked = data.draw(questions(both))
    config = configure(both, recipe, Selection.from_query(asked))
    deployment = deploy(config)
    adjusted = {adjustment.axis: adjustment for adjustment in config.adjustments}
    for key, text in asked.items():
        had = HAD[key](config, text) if key in HAD else in_commands(deployment, key, text)
        assert had or key in adjusted, (recipe, asked, key)
        kept = key in adjusted and adjusted[key].got == adjusted[key].asked
        assert not (had and key in adjusted and not kept), (recipe, asked, adjusted[key])


def test_every_key_of_a_query_is_judged() -> None:
    assert set(QUERY_KEYS) == {*HAD, *FLAG_OF}


@pytest.mark.parametrize("asked", ["nodes=1", "kv_offload=off", "gpus=8", "preset=baseline"])
def test_an_omni_recipe_gives_what_it_has_anyway(both: Catalog, asked: str) -> None:
    recipe = "Wan-AI/Wan2.2-T2V-A14B-Diffusers"
    assert configure(both, recipe, f"hardware=h200&{asked}").adjustments == []
    assert configure(both, recipe, "hardware=h200&nodes=2").adjustments
