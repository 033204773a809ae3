"""What guides say of a cache: the release is named, and the figure is what the page computes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache

import pytest

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.errors import RecipesError
from recipes_core.render.capacities import Block, capacities, capacity_findings
from recipes_core.selection import Selection
from recipes_core.sizing.configuration import size_configuration

NAMES = {
    r"v6e|TPU": "trillium",
    r"Sparks?": "dgx_spark_gb10",
    r"DGX Station": "dgx_station_gb300",
    r"2 × RTX PRO 6000": "rtx_pro_6000_2x",
    r"RTX PRO 6000": "rtx_pro_6000",
    r"RTX 5090": "rtx_5090",
    **{name.upper(): name for name in ("h100", "h200", "b200", "b300", "gb200", "gb300")},
    **{name.upper(): name for name in ("mi300x", "mi325x", "mi355x")},
}
"""How prose calls hardware of the taxonomy."""


COUNTED = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
WORDS = dict(enumerate(COUNTED.split(), start=1))


def texts(entry: RecipeEntry) -> Iterator[tuple[str, str]]:
    """The guide and the bodies of the notes, by key."""
    yield "guide", entry.recipe.guide or ""
    for group in ("notes", "known_issues"):
        for number, note in enumerate(getattr(entry.recipe, group)):
            yield f"{group}[{number}]", note.body


def named(text: str) -> list[str]:
    """The hardware that a sentence speaks of."""
    return [
        hardware for name, hardware in NAMES.items() if re.search(rf"(?<!\w)(?:{name})(?!\w)", text)
    ]


def written(requests: float) -> set[str]:
    """How prose may write so many requests at once: to a tenth, rounded, or as whole ones."""
    whole = {math.floor(requests), round(requests)}
    words = {WORDS[number] for number in whole if number in WORDS}
    return {f"{requests:.1f}", *map(str, whole), *words}


@cache
def _held(catalog: Catalog, recipe: str, hardware: str) -> frozenset[tuple[int, float, str]]:
    entry = catalog.recipes[recipe]
    alone = [s for s in entry.recipe.compatible_strategies or () if s.startswith("single")]
    found = set()
    for variant in entry.recipe.variants:
        for strategy in (None, *alone):
            asked = Selection(hardware=hardware, variant=variant, strategy=strategy)
            try:
                config = configure(catalog, entry, asked)
                sized = size_configuration(config, deploy(config))
            except RecipesError:
                continue
            if sized is not None and sized.kv_tokens:
                found.add((sized.kv_tokens, sized.max_concurrency or 0.0, sized.vllm))
    return frozenset(found)


def wrong_figures(catalog: Catalog, recipe: str, block: Block) -> list[str]:
    """The figures computed in a block that no configuration of the hardware named gives."""
    computed = re.findall(r"computed for vLLM (\d+\.\d+\.\d+)", block.text)
    if not computed:
        return []
    wrong = []
    for sentence, figure in block.figures:
        if "measured" in sentence:
            continue
        places: Sequence[str] = named(sentence) or named(block.text) or list(catalog.hardware)
        held = {pair for place in places for pair in _held(catalog, recipe, place)}
        near = [pair for pair in held if abs(pair[0] - figure.tokens) <= figure.unit / 2]
        if not any(release in computed for _, _, release in near):
            wrong.append(f"{recipe}: {figure.text} in `{sentence}`; sizes: {sorted(held)}")
    for phrase in block.at_once:
        places = named(block.text) or list(catalog.hardware)
        held = {item for place in places for item in _held(catalog, recipe, place)}
        count = phrase.split()[0]
        near = [item for item in held if count in written(item[1])]
        if not any(release in computed for _, _, release in near):
            wrong.append(f"{recipe}: `{phrase}`; sizes: {sorted(held)}")
    return wrong


def test_a_guide_names_the_release_of_what_a_cache_holds(ours: Catalog) -> None:
    found = [
        str(finding)
        for entry in ours.recipes.values()
        for where, text in texts(entry)
        for finding in capacity_findings(where, text, entry.id)
    ]
    assert not found


def test_a_computed_figure_is_what_the_page_computes(
    ours: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    compared = 0
    wrong = []
    for entry in ours.recipes.values():
        for _, text in texts(entry):
            for block in capacities(text):
                wrong += wrong_figures(ours, entry.id, block)
                compared += len(block.figures) if "computed for" in block.text else 0
    with capsys.disabled():
        print(f"\ncache figures of guides compared: {compared}")
    assert compared > 80
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "One H100 keeps 740,000 tokens.",
        "Our sizing gives one H100 room for 740,000 tokens.",
        "- **H200**: BF16, which leaves room for 2.9 million tokens.",
        "- Four H200 have space for 5.9 requests of 196,608 tokens at once.",
        "| Node | Cached tokens |\n| --- | --- |\n| H100 | 212,000 |",
    ],
)
def test_a_figure_without_a_release_is_found(ours: Catalog, text: str) -> None:
    assert [f.code for f in capacity_findings("guide", text)] == ["guide-figure"]
    release = "Computed for vLLM 0.33.0:\n\n" if text.startswith("|") else ""
    told = release + text + ("" if release else " Computed for vLLM 0.33.0.")
    assert not list(capacity_findings("guide", told))


@pytest.mark.parametrize(
    "text",
    [
        "The context is 131,072 tokens and the cache takes 128 KiB for each.",
        "A request of 1,048,576 would keep the engine from starting.",
        "A vocabulary of 65,000 entries leaves more tokens per sentence.",
        "```bash\necho keep 740,000 tokens\n```",
    ],
)
def test_lengths_and_code_are_no_capacities(text: str) -> None:
    assert not list(capacity_findings("guide", text))


def test_a_figure_of_another_release_is_wrong(ours: Catalog) -> None:
    recipe = "google/gemma-4-26B-A4B-it"
    for figure, release, count in (
        ("590,000", "0.33.0", 0),
        ("740,000", "0.33.0", 1),
        ("590,000", "0.25.0", 1),
    ):
        text = f"One H100 keeps {figure} tokens (computed for vLLM {release})."
        (block,) = capacities(text)
        assert len(wrong_figures(ours, recipe, block)) == count
    (block,) = capacities("There three requests of 262,144 fit an H100, computed for vLLM 0.33.0.")
    assert len(wrong_figures(ours, recipe, block)) == 1
