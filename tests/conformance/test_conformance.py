"""Every row that the peer renders, against ours: equal, or an intended difference by rule."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import Deployment, deploy
from recipes_core.flags import parse_args

from .compare import pairs
from .deviations import ORDER, explain, same_arguments
from .rows import Row, read_rows, selection_of_row

LISTED = yaml.safe_load((Path(__file__).parent / "deviations.yaml").read_text(encoding="utf-8"))


def check_layout(deployment: Deployment) -> None:
    """ENGINE section 4: sizes multiply to the GPUs used, none idle, none missing."""
    config: Configuration = deployment.configuration
    for pool in deployment.layouts:
        assert pool.tp * pool.pp * pool.dp == pool.gpus
        assert pool.gpus_per_node <= config.node.gpu_count
        if pool.dp > 1:  # one TP group lies inside a node; a TP over nodes has no ranks beside it
            assert pool.tp * pool.dp_local <= config.node.gpu_count
        processes = [p for p in deployment.processes if p.layout is pool]
        per_instance = {(p.instance, p.node) for p in processes}
        assert len(per_instance) == len(processes)
        assert {p.node for p in processes} == set(range(pool.nodes))
        if pool.nodes > 1 or pool.shape not in {"tp", "dep"}:
            halves = bool(config.pools) and config.pools[pool.role].nodes == 0
            whole = config.profile.gpu_count // (2 if halves else 1)
            assert config.variant.tp_divides or pool.gpus_per_node == whole
        for process in processes:
            sizes = {flag.name: flag.values for flag in parse_args(process.argv[3:])}
            assert sizes.get("--tensor-parallel-size", ("1",)) == (str(pool.tp),)
            assert sizes.get("--pipeline-parallel-size", ("1",)) == (str(pool.pp),)
            assert sizes.get("--data-parallel-size", ("1",)) == (str(pool.dp),)
            local = sizes.get("--data-parallel-size-local", (str(pool.dp_local),))
            assert local == (str(pool.dp_local),)


def judge(row: Row, config: Configuration) -> tuple[set[str], list[Any]]:
    """The deviations of a row and what none of them explains."""
    used: set[str] = set()
    unexplained = []
    for pair in pairs(row, config, deploy(config)):
        if same_arguments(pair):
            continue
        found = explain(row, config, pair)
        if found is None:
            unexplained.append(pair)
        else:
            used |= found
    return used, unexplained


def test_every_row(upstream: Catalog, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    by_rule: Counter[str] = Counter()
    strange: list[Any] = []
    for row in read_rows(shared):
        config = configure(upstream, row["recipe"], selection_of_row(row))
        if row.get("upstream_fault"):
            check_layout(deploy(config))
            counts["ENGINE §4 in place of a faulty row"] += 1
            continue
        used, unexplained = judge(row, config)
        if unexplained:
            strange.append((row["recipe"], row["in"], unexplained[0]))
            counts["unexplained"] += 1
        else:
            counts["deviating" if used else "equal"] += 1
            by_rule.update(used)
    rules = {item["id"]: item for item in LISTED}
    with capsys.disabled():
        print(f"\nconformance: {sum(counts.values())} rows: {dict(counts)}")
        for name, count in by_rule.most_common():
            print(f"  {count:6d} {name}: {rules[name]['rule']}")
    assert not strange, strange[:3]
    assert dict(by_rule) == {item["id"]: item["rows"] for item in LISTED}
    assert sum(counts.values()) == 18_168


def test_each_deviation_names_its_rule() -> None:
    assert {item["id"] for item in LISTED} == set(ORDER)
    for item in LISTED:
        assert item["rule"].startswith("ENGINE §"), item
        assert len(item["why"]) > 20, item


def test_asking_what_a_row_asks_is_no_adjustment(upstream: Catalog, shared: Path) -> None:
    """A row that asks only for what can be had leads to no Adjustment but for gated choices."""
    gated = {"kv_offload", "features", "fmode", "prefill_mode", "decode_mode", "prefill_nodes",
             "decode_nodes"}  # fmt: skip
    for number, row in enumerate(read_rows(shared)):
        if row["kind"] == "render" and number % 7 == 0:
            config = configure(upstream, row["recipe"], selection_of_row(row))
            asked = [a for a in config.adjustments if a.axis not in gated]
            assert not asked, (row["recipe"], row["in"], asked)
