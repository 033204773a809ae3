"""Any choice of pools, stores and routers, in the peer's catalog and ours."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.selection import Selection

from .laws import check_all

RELAXED = settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def around(catalog: Catalog) -> st.SearchStrategy[tuple[str, Selection]]:
    """A recipe and what a reader asks around its engine, as an axis offers it or not."""
    offers = {
        name: rules_of(catalog, entry)
        for name, entry in catalog.recipes.items()
        if not rules_of(catalog, entry).is_omni
    }

    def of(name: str) -> st.SearchStrategy[tuple[str, Selection]]:
        rules = offers[name]
        kv = [*catalog.taxonomy.kv_offload, *catalog.kv_stores]
        maybe = {
            "variant": list(rules.recipe.variants),
            "hardware": list(rules.offered_hardware()),
            "strategy": list(rules.strategies),
            "nodes": [1, 2, 3, 5],
            "kv_offload": kv,
            "kv_instances": [1, 2, 3],
            "prefill_nodes": [0, 1, 2, 3],
            "decode_nodes": [0, 1, 2],
            "prefill_mode": ["tp", "tep", "dep"],
            "decode_mode": ["tp", "tep", "dep"],
            "router": ["vllm", "smg", "dynamo"],
            "frontend": ["rust", "python"],
            "port": [8000, 8100, 9000],
        }
        drawn = st.fixed_dictionaries(
            {key: st.none() | st.sampled_from(values) for key, values in maybe.items() if values}
        )
        return st.tuples(st.just(name), drawn.map(lambda found: Selection(**found)))

    return st.sampled_from(sorted(offers)).flatmap(of)


@RELAXED
@given(data=st.data())
def test_the_laws_hold_around_any_engine(catalog: Catalog, data: st.DataObject) -> None:
    recipe, selection = data.draw(around(catalog))
    check_all(deploy(configure(catalog, recipe, selection)))


def with_pools(catalog: Catalog) -> list[str]:
    return [
        name for name, entry in catalog.recipes.items()
        if "pd_cluster" in rules_of(catalog, entry).strategies
    ]  # fmt: skip


@pytest.mark.parametrize("router", ["vllm", "smg"])
@pytest.mark.parametrize("nodes", [(0, 0), (1, 1), (1, 2), (3, 2)])
def test_the_laws_hold_for_every_pair_of_pools(
    catalog: Catalog, nodes: tuple[int, int], router: str
) -> None:
    seen = 0
    for name in with_pools(catalog):
        rules = rules_of(catalog, catalog.recipes[name])
        for prefill in rules.pool_modes() or ("tp",):
            for decode in rules.pool_modes() or ("tp",):
                selection = Selection(
                    strategy="pd_cluster", prefill_nodes=nodes[0], decode_nodes=nodes[1],
                    prefill_mode=prefill, decode_mode=decode, router=router,
                )  # fmt: skip
                config = configure(catalog, name, selection)
                if config.pools:
                    check_all(deploy(config))
                    seen += 1
    assert seen > 100


def test_the_laws_hold_for_every_store(catalog: Catalog) -> None:
    seen = 0
    for name, entry in catalog.recipes.items():
        rules = rules_of(catalog, entry)
        for strategy in rules.strategies:
            for store in catalog.kv_stores:
                for instances in (1, 3):
                    selection = Selection(
                        strategy=strategy, kv_offload=store, kv_instances=instances,
                        nodes=2 if strategy.startswith("multi") else None,
                    )  # fmt: skip
                    if rules.is_omni:
                        continue
                    config = configure(catalog, name, selection)
                    check_all(deploy(config))
                    seen += config.kv_store is not None
    assert seen > 500
