"""How fast the command line starts, answers rows, and renders pages."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import orjson
import pytest

from recipes_core.catalog.loader import load_catalog
from recipes_core.cli.batch import Batch
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.render.compose import to_compose
from recipes_core.render.kubernetes import to_kubernetes
from recipes_core.render.markdown import to_markdown
from recipes_core.render.slurm import to_slurm

pytestmark = pytest.mark.benchmark(timer=time.process_time)
"""Processor time: what else the machine does at the moment is not ours to answer for."""


def _seconds(*args: str) -> float:
    """Processor time of ``recipes``, the least of five runs."""
    runs = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "recipes_core.cli", *args], check=True, capture_output=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        runs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(runs)


@pytest.mark.parametrize("args", [["show", "baidu/ERNIE-4.5-VL-28B-A3B-PT"], ["list", "qwen3"]])
def test_start_to_answer(args):
    seconds = _seconds(*args)
    print(f"recipes {args[0]}: {seconds:.3f} s")
    assert seconds <= 0.6


def test_batch_rows(benchmark, shared):
    """Rows of every recipe, variant and hardware of the peer's catalog."""
    catalog = load_catalog(shared / "upstream")
    rows = [
        orjson.dumps({"recipe": entry.id, "query": {"variant": variant, "hardware": hardware}})
        for entry in catalog.recipes.values()
        for variant in entry.recipe.variants
        for hardware in ("h100", "h200", "b200", "mi300x")
    ]
    batch = Batch(catalog)

    def answer() -> None:
        for row in rows:
            batch.answer(row)

    benchmark.pedantic(answer, rounds=3, warmup_rounds=1)
    per_row = benchmark.stats.stats.min / len(rows)
    print(f"{per_row * 1e3:.3f} ms a row, {len(rows)} rows")
    assert per_row <= 0.0004
    assert batch.failed == 0


@pytest.mark.parametrize("render", [to_compose, to_kubernetes, to_slurm])
def test_deploy_targets(benchmark, render):
    config = configure(load_catalog(), "deepseek-ai/DeepSeek-V3.2", "hardware=h200&nodes=4")
    deployment = deploy(config)
    benchmark(render, deployment)
    assert benchmark.stats.stats.median <= 0.1


def test_markdown_page(benchmark):
    config = configure(load_catalog(), "baidu/ERNIE-5.5-Flash", "hardware=gb200")
    deployment = deploy(config)
    to_markdown(config, deployment)
    benchmark(to_markdown, config, deployment)
    assert benchmark.stats.stats.median <= 0.005
