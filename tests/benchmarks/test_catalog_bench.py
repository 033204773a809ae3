"""How fast the catalog loads, checks and searches; how much memory it keeps."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tracemalloc

from recipes_core.catalog.checks import check_catalog
from recipes_core.catalog.loader import load_catalog
from recipes_core.catalog.search import search


def test_load_upstream(benchmark, shared):
    catalog = benchmark.pedantic(
        lambda: load_catalog(shared / "upstream"), rounds=5, warmup_rounds=1
    )
    assert len(catalog.recipes) == 173
    assert benchmark.stats.stats.median <= 0.5


def test_load_ours(benchmark):
    benchmark.pedantic(load_catalog, rounds=5, warmup_rounds=1)
    assert benchmark.stats.stats.median <= 0.6


def test_load_and_validate_ours(benchmark):
    def both():
        return check_catalog(load_catalog())

    findings = benchmark.pedantic(both, rounds=5, warmup_rounds=1)
    assert not [finding for finding in findings if finding.severity == "error"]
    assert benchmark.stats.stats.min <= 0.6


def test_check_upstream(benchmark, shared):
    catalog = load_catalog(shared / "upstream")
    benchmark.pedantic(lambda: check_catalog(catalog), rounds=3)


def test_search(benchmark, shared):
    catalog = load_catalog(shared / "upstream")
    search(catalog, "warm")
    assert benchmark(lambda: search(catalog, "deepseek fp8 h200"))
    assert benchmark.stats.stats.median <= 0.001


def test_memory_of_a_loaded_catalog(shared):
    load_catalog(shared / "upstream")
    tracemalloc.start()
    catalog = load_catalog(shared / "upstream")
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(catalog.recipes) == 173
    assert kept <= 15_000_000, f"{kept / 1e6:.1f} MB"


def _seconds(code: str) -> float:
    """Processor time in a new process: what else the machine does is not ours to answer for."""
    script = f"import time\nt = time.process_time()\n{code}\nprint(time.process_time() - t)"
    runs = [
        float(
            subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(5)
    ]
    return statistics.median(runs)


def test_import_time():
    assert _seconds("import recipes_core") <= 0.25


def test_first_load_in_a_new_process(shared):
    path = str(shared / "upstream")
    code = f"from recipes_core.catalog.loader import load_catalog\nload_catalog({path!r})"
    assert _seconds(code) <= 0.75
