"""Every variant says where its memory figure comes from, and each computed one can be computed."""

from __future__ import annotations

from collections import Counter

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.yaml_reader import parse_yaml
from scripts.compute_vram import Figure, edited, figures
from tests.conftest import REPO

KEPT = {
    ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "default"): (
        "1 GB more would ask for a second GB300 tray, while one starts as computed"
    ),
    ("Qwen/Qwen3.5-397B-A17B", "nvfp4"): (
        "5 GB less would put it on one GB300 of 288 GB instead of four"
    ),
}
"""Figures that stay declared although sizing knows another, and why."""


@pytest.fixture(scope="module")
def every(ours: Catalog) -> dict[tuple[str, str], Figure]:
    return {(figure.entry.id, figure.name): figure for figure in figures(ours)}


def test_every_variant_names_a_source(
    every: dict[tuple[str, str], Figure], capsys: pytest.CaptureFixture[str]
) -> None:
    counts = Counter(figure.source for figure in every.values())
    with capsys.disabled():
        print(f"\nmemory figures: {dict(counts)}")
    assert [key for key, figure in every.items() if figure.source is None] == []
    assert counts["computed"] >= 60


def test_every_figure_is_what_the_script_says(every: dict[tuple[str, str], Figure]) -> None:
    stale = [str(f) for f in every.values() if f.wanted != (f.said, f.source)]
    assert stale == [], "run scripts/compute_vram.py --write, then look at comments and guides"


def test_a_figure_is_kept_only_for_a_reason(every: dict[tuple[str, str], Figure]) -> None:
    kept = {key: figure for key, figure in every.items() if figure.kept}
    assert kept.keys() == KEPT.keys()
    assert all(figure.computed != figure.said for figure in kept.values())


def test_computed_figures_stand_on_published_configs(
    every: dict[tuple[str, str], Figure],
) -> None:
    for (recipe, name), figure in every.items():
        if figure.source != "computed":
            continue
        model = figure.entry.recipe.variants[name].model_id or figure.entry.recipe.model.model_id
        facts = parse_yaml((REPO / "recipes" / "checkpoints" / f"{model}.yaml").read_text(), model)
        assert facts.get("basis", "config") == "config", (recipe, name)
        assert figure.weights is not None
        assert figure.weights < figure.said < 1.2 * figure.weights + 1


def test_llama_by_hand(every: dict[tuple[str, str], Figure]) -> None:
    """8,030,261,248 parameters of two bytes and a rope table are 16.1 GB; × 1.2, rounded up."""
    figure = every["meta-llama/Llama-3.1-8B-Instruct", "default"]
    assert figure.weights == pytest.approx(16.06, rel=0.005)
    assert figure.computed == 20


RECIPE = """variants:
  default:  # the plain one
    precision: bf16
    # Why.
    vram_minimum_gb: 20  # GB
  small:
    vram_source: declared
    vram_minimum_gb: 7.5
    note: 'vram_minimum_gb: 7'
"""


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        (
            "default",
            RECIPE.replace("20  # GB\n", "33  # GB\n    vram_source: computed\n"),
        ),
        (
            "small",
            RECIPE.replace("source: declared", "source: computed").replace("gb: 7.5", "gb: 33"),
        ),
    ],
)
def test_edits_touch_nothing_else(name: str, changed: str) -> None:
    assert edited(RECIPE, name, 33, "computed") == changed


def test_a_flow_mapping_is_refused() -> None:
    with pytest.raises(ValueError, match="no line of its own"):
        edited("variants:\n  a: {vram_minimum_gb: 3}\n", "a", 4, "computed")
