"""Every row of the peer, rendered from our file: equal, by rule, or by a named correction."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import deploy
from recipes_core.render.json import to_json
from recipes_core.render.shell import docker_command
from tests.conformance.compare import Pair, pairs
from tests.conformance.deviations import explain, same_arguments
from tests.conformance.rows import Row, read_rows, selection_of_row
from tests.recipes.chain import Chain, chains

OURS_IN_LISTS = {"mi350x"}
"""Hardware that every recipe of ours may offer and the peer's data did not know (ENGINE §7)."""


def rendered(row: Row, config: Configuration) -> Any:
    """What a row is about, in a form in which two configurations can be held side by side."""
    deployment = deploy(config)
    if row["kind"] == "defaults":
        options = to_json(config, deployment)["options"]["hardware"]
        return [
            (o["id"], o["default"])
            for o in options
            if o["enabled"] and o["id"] not in OURS_IN_LISTS
        ]
    if row["kind"] == "gates":
        return [pair.ours for pair in pairs(row, config, deployment)]
    return (
        deployment.type,
        config.model_id,
        config.kv_instances,
        [
            (p.name, p.instance, p.node, p.argv, p.env, docker_command(p))
            for p in deployment.processes
        ],
        [(file.path, file.content) for file in deployment.files],
        [step.command for step in deployment.install.extras],
    )


def _without_newer(pair: Pair) -> Pair:
    return pair._replace(ours=[name for name in pair.ours if name not in OURS_IN_LISTS])


def as_in_the_row(row: Row, config: Configuration) -> str | None:
    """``equal``, ``by rule``, or None where the row says something else."""
    if row.get("upstream_fault"):
        return None
    deployment = deploy(config)
    if row["kind"] not in {"defaults", "gates"} and deployment.type != row["out"]["deploy_type"]:
        return None
    found = "equal"
    for pair in pairs(row, config, deployment):
        ours_only = row["kind"] == "defaults" and pair.field == "hardware"
        if same_arguments(_without_newer(pair) if ours_only else pair):
            continue
        if explain(row, config, pair) is None:
            return None
        found = "by rule"
    return found


class Judge:
    """Renders a row from each step of a recipe's chain, and says which step explains it."""

    def __init__(self, ours: Catalog, upstream: Catalog, chain: dict[str, Chain]) -> None:
        self.ours, self.upstream, self.chain = ours, upstream, chain

    def verdict(self, row: Row) -> tuple[str, list[str]]:
        """How a row compares with ours, and the named keys that it takes."""
        chain, selection = self.chain[row["recipe"]], selection_of_row(row)
        config = configure(self.ours, chain.id, selection)
        found = as_in_the_row(row, config)
        if found:
            return found, []
        mine = rendered(row, config)

        def same(catalog: Catalog, recipe: str = chain.id) -> bool:
            return bool(rendered(row, configure(catalog, recipe, selection)) == mine)

        if same(self.upstream, row["recipe"]):
            return "by rule", []
        if same(chain.imported):
            return ("by import", []) if chain.notes else ("unexplained", [])
        if not same(chain.all_named):
            return "unexplained", []
        keys = [key for key, catalog in chain.without_each.items() if not same(catalog)]
        return "by correction", keys


def recipes_with_a_guide(ours: Catalog, chain: dict[str, Chain]) -> set[str]:
    """The peer's ids of recipes that are finished; test_guides tells which are not."""
    return {peer for peer, item in chain.items() if ours.recipes[item.id].recipe.guide}


def test_every_row_from_our_file(
    ours: Catalog, upstream: Catalog, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = chains(shared, ours)
    judge = Judge(ours, upstream, chain)
    finished = recipes_with_a_guide(ours, chain)
    counts: Counter[str] = Counter(unexplained=0)
    touched: Counter[str] = Counter()
    strange: Counter[str] = Counter()
    first: dict[str, Any] = {}
    seen = set()
    for row in read_rows(shared):
        seen.add(row["recipe"])
        if row["recipe"] not in finished:
            counts["of a recipe without a guide"] += 1
            continue
        verdict, keys = judge.verdict(row)
        counts[verdict] += 1
        recipe = chain[row["recipe"]].id
        touched.update(f"{recipe}: {key}" for key in keys)
        if verdict == "unexplained":
            strange[recipe] += 1
            first.setdefault(recipe, row["in"])
    with capsys.disabled():
        print(f"\nour catalog: {sum(counts.values())} rows of {len(seen)} recipes: {dict(counts)}")
        print(
            f"  {len(touched)} named corrections of {len({k.split(':')[0] for k in touched})}"
            " recipes touch a row; most rows:"
        )
        for key, count in touched.most_common(5):
            print(f"  {count:6d} {key}")
    assert not strange, (
        f"a list of corrections has to name why these rows differ: {dict(strange)}; {first}"
    )
    assert len(seen) == 114
    assert sum(counts.values()) == 18_168


def test_a_difference_that_no_list_names_is_found(
    ours: Catalog, upstream: Catalog, shared: Path
) -> None:
    """The measure itself: without its named corrections a recipe's rows are not explained."""
    chain = chains(shared, ours)
    peer = "deepseek-ai/DeepSeek-V3.1"
    bare = Chain(peer, chain[peer].raw, ours, {}, chain[peer].context)
    judge = Judge(ours, upstream, chain | {peer: bare})
    verdicts = Counter(judge.verdict(row)[0] for row in read_rows(shared) if row["recipe"] == peer)
    assert verdicts["unexplained"] > 20
