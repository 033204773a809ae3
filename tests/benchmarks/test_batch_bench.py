"""What a row costs: `recipes batch` over every conformance row (budget: 0.5 ms a row)."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import orjson
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import load_catalog
from recipes_core.cli.batch import Batch
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.render.json import json_bytes
from tests.conformance.rows import read_rows, selection_of_row

pytestmark = pytest.mark.benchmark(timer=time.process_time)
"""Processor time: what else the machine does at the moment is not ours to answer for."""
BUDGET_MS = 0.5


@pytest.fixture(scope="module")
def catalog(shared: Path) -> Catalog:
    return load_catalog(shared / "upstream")


@pytest.fixture(scope="module")
def asked(shared: Path) -> list[tuple[str, str]]:
    return [(row["recipe"], selection_of_row(row).to_query()) for row in read_rows(shared)]


def test_batch_over_every_row(
    benchmark: BenchmarkFixture, catalog: Catalog, asked: list[tuple[str, str]]
) -> None:
    lines = [orjson.dumps({"recipe": recipe, "query": query}) for recipe, query in asked]
    assert len(lines) > 18_000

    def every_row() -> int:
        batch = Batch(catalog)
        return sum(len(batch.answer(line)) for line in lines)

    assert benchmark.pedantic(every_row, rounds=2, warmup_rounds=1) > 10**7
    each = benchmark.stats.stats.min / len(lines) * 1000
    benchmark.extra_info["ms a row"] = round(each, 3)
    print(f"batch: {each:.3f} ms a row over {len(lines)} rows")
    assert each <= BUDGET_MS


def test_configure_deploy_and_encode_one(
    benchmark: BenchmarkFixture, catalog: Catalog, asked: list[tuple[str, str]]
) -> None:
    chosen = asked[::37]

    def seconds_of_each() -> list[float]:
        found = []
        for recipe, query in chosen:
            start = time.perf_counter()
            config = configure(catalog, recipe, query)
            json_bytes(config, deploy(config))
            found.append(time.perf_counter() - start)
        return found

    times = benchmark.pedantic(seconds_of_each, rounds=3, warmup_rounds=1)
    typical = median(times) * 1000
    benchmark.extra_info["median ms"] = round(typical, 3)
    print(f"configure + deploy + JSON: median {typical:.3f} ms of {len(chosen)} rows")
    assert typical <= 2 * BUDGET_MS
