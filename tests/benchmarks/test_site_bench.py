"""How fast pages, answers and whole sites are made, and what they weigh.

The reference of the export is the peer's builder: 15,727 JSON files from the same data in 2.5 s of
wall time on two cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from recipes_core.configuration import configure
from recipes_core.publish.contents import Options
from recipes_core.publish.export import export
from recipes_core.render.beside import assess
from recipes_core.render.page import to_html
from recipes_core.server.answers import Answers

PEER_FILES = 15_727
PEER_SECONDS = 2.5
MODEL = "deepseek-ai/DeepSeek-V4-Flash"


@pytest.fixture
def folder(tmp_path):
    """Memory where the system has some: what is measured is the making, not a disk."""
    place = Path("/dev/shm")
    if not place.is_dir():
        yield tmp_path / "site"
        return
    import tempfile

    with tempfile.TemporaryDirectory(dir=place) as made:
        yield Path(made) / "site"


@pytest.mark.parametrize("query", ["", "strategy=pd_cluster", "nodes=2"])
def test_a_page_from_its_query(benchmark, upstream, query):
    text = benchmark(lambda: to_html(*assess(configure(upstream, MODEL, query))))
    assert len(text.encode()) < 150_000
    assert benchmark.stats.stats.median <= 0.015


def test_json_from_its_query(benchmark, upstream):
    def fresh():
        return Answers(upstream).answer(f"{MODEL}.json", "hardware=h200")

    assert benchmark(fresh).status == 200
    assert benchmark.stats.stats.median <= 0.015


def test_an_answer_that_was_asked_before(benchmark, upstream):
    answers = Answers(upstream)
    answers.answer(f"{MODEL}.json", "hardware=h200")
    benchmark(lambda: answers.answer(f"{MODEL}.json", "hardware=h200"))
    assert benchmark.stats.stats.median <= 0.0005


def test_export_of_the_whole_upstream_catalog(benchmark, upstream, folder):
    def fresh():
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        return (upstream, folder, Options(facts=False)), {}

    made = benchmark.pedantic(export, setup=fresh, rounds=3)
    assert made.renderings >= PEER_FILES
    assert benchmark.stats.stats.min <= 1.5 * PEER_SECONDS


def test_export_with_sizes_and_findings(benchmark, upstream, folder):
    def fresh():
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        return (upstream, folder, Options()), {}

    made = benchmark.pedantic(export, setup=fresh, rounds=2)
    assert made.renderings >= PEER_FILES
    assert benchmark.stats.stats.min <= 3 * PEER_SECONDS


def test_export_after_one_recipe_changed(benchmark, upstream, folder):
    export(upstream, folder)
    entry = upstream.recipes[MODEL]

    def changed():
        title = f"Title {os.urandom(4).hex()}"
        meta = entry.recipe.meta.model_copy(update={"title": title})
        recipe = entry.recipe.model_copy(update={"meta": meta})
        recipes = {**upstream.recipes, MODEL: replace(entry, recipe=recipe)}
        return (replace(upstream, recipes=recipes, kept={}), folder), {}

    made = benchmark.pedantic(export, setup=changed, rounds=3)
    assert made.recipes_made == 1
    assert benchmark.stats.stats.min <= 2.0


def test_memory_of_an_export(shared, folder):
    """Parent and workers together, in a process of its own."""
    code = (
        "import resource, sys\n"
        "from recipes_core.catalog.loader import load_catalog\n"
        "from recipes_core.publish.export import export\n"
        "export(load_catalog(sys.argv[1]), sys.argv[2], jobs=2)\n"
        "own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(own + 2 * worker)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(shared / "upstream"), str(folder)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) * 1024 <= 400e6
