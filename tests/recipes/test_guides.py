"""Guides: each recipe has one, its commands parse, and are what the resolver gives or say so."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator

import pytest

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.checks.arguments import spelled_with_underscore
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.render.guides import (
    SHELLS,
    configuration_of,
    fences,
    guide_findings,
    serve_commands,
)
from recipes_core.vllm_cli.check import check_argv

HEADINGS = ("Overview", "Launch", "First request", "Tuning", "Troubleshooting", "Links")
"""What each guide has, in this order; others may stand between them."""
FENCED = re.compile(r"```.*?```", re.DOTALL)


def texts(entry: RecipeEntry) -> Iterator[str]:
    """The guide and the bodies of the notes."""
    recipe = entry.recipe
    yield recipe.guide or ""
    for note in (*recipe.notes, *recipe.known_issues):
        yield note.body


def shell_blocks(entry: RecipeEntry) -> Iterator[tuple[str, str]]:
    """The info string and text of each block of shell, examples too."""
    for text in texts(entry):
        for fence in fences(text):
            if fence.info.split(" ")[0] in SHELLS:
                yield fence.info, fence.text


def test_every_recipe_is_described_and_has_a_guide(ours: Catalog) -> None:
    assert len(ours.recipes) >= 173
    lacking = {
        entry.id: missing
        for entry in ours.recipes.values()
        if (
            missing := [
                name
                for name, text in (
                    ("meta.description", entry.recipe.meta.description),
                    ("guide", entry.recipe.guide),
                    ("meta.links", entry.recipe.meta.links),
                )
                if not text
            ]
        )
    }
    assert not lacking


def test_lists_show_every_recipe_alike(ours: Catalog) -> None:
    """One word for one difficulty, one order of tasks, providers that have a display name."""
    providers = ours.taxonomy.providers
    for entry in ours.recipes.values():
        meta = entry.recipe.meta
        assert meta.difficulty in {"beginner", "intermediate", "advanced"}, entry.id
        assert list(meta.tasks) == sorted(meta.tasks), entry.id
        assert meta.provider in providers, entry.id
    assert set(providers) == {entry.recipe.meta.provider for entry in ours.recipes.values()}
    titles = [entry.recipe.meta.title for entry in ours.recipes.values()]
    assert len(titles) == len(set(titles))


def test_a_guide_has_what_a_reader_looks_for(ours: Catalog) -> None:
    for entry in ours.recipes.values():
        guide = FENCED.sub("", entry.recipe.guide or "")
        headings = re.findall(r"^## (.+)$", guide, re.MULTILINE)
        assert headings[0] == HEADINGS[0], entry.id
        assert tuple(h for h in headings if h in HEADINGS) == HEADINGS, entry.id
        assert len(headings) == len(set(headings)), entry.id
        assert 200 <= len(guide.split()) <= 950, entry.id


def test_a_table_has_a_line_for_each_row(ours: Catalog) -> None:
    """Rows that a rewrap joined are shown as a paragraph full of bars."""
    for entry in ours.recipes.values():
        for text in texts(entry):
            for line in FENCED.sub("", text).splitlines():
                if re.search(r"\|\s*:?-{3,}", line):
                    assert re.fullmatch(r"[\s|:-]+", line), f"{entry.id}: {line}"


def test_every_feature_and_variant_is_explained(ours: Catalog) -> None:
    """A switch that only has a name helps nobody."""
    bare = [
        f"{entry.id}: features.{name}"
        for entry in ours.recipes.values()
        for name, feature in entry.recipe.features.items()
        if not feature.description
    ]
    bare += [
        f"{entry.id}: variants.{name}"
        for entry in ours.recipes.values()
        if len(entry.recipe.variants) > 1
        for name, variant in entry.recipe.variants.items()
        if not (variant.description or variant.label)
    ]
    assert not bare


def test_every_shell_block_of_the_catalog_is_shell(ours: Catalog) -> None:
    blocks = [
        f": {entry.id}\n{text}"
        for entry in ours.recipes.values()
        for _, text in shell_blocks(entry)
    ]
    assert len(blocks) > 2 * len(ours.recipes)
    for block in blocks:
        run = subprocess.run(
            ["bash", "-n"], input=block, text=True, capture_output=True, check=False
        )
        assert run.returncode == 0, f"{block}\n{run.stderr}"


def test_a_serve_command_is_a_configuration_or_marked_as_an_example(
    ours: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    counts: Counter[str] = Counter()
    for entry in ours.recipes.values():
        assert guide_findings(ours, entry) == []
        own = 0
        for text in texts(entry):
            for fence in fences(text):
                if fence.info.split(" ")[0] in SHELLS:
                    found = len(serve_commands(fence.text))
                    own += found if fence.info in SHELLS else 0
                    counts[fence.info] += found
        assert own, f"{entry.id}: a guide shows one launch that works"
    with capsys.disabled():
        print(f"\nvllm serve in guides: {dict(counts)}")


def test_a_command_that_no_configuration_gives_is_found(ours: Catalog) -> None:
    entry = ours.recipes["openai/gpt-oss-20b"]
    right = deploy(configure(ours, entry, "hardware=h200")).processes[0].argv
    assert configuration_of(ours, entry, right) is not None
    assert configuration_of(ours, entry, [*right, "--max-num-seqs", "7"]) is None
    fenced = "## Overview\n\n```bash\nvllm serve openai/gpt-oss-20b --max-num-seqs 7\n```\n"
    for text, codes in (
        (fenced, ["guide-command"]),
        (fenced.replace("bash", "bash example"), []),
        (fenced.replace("7", "'7"), ["guide-shell"]),
    ):
        changed = RecipeEntry(
            entry.id, entry.recipe.model_copy(update={"guide": text}), entry.source
        )
        assert [finding.code for finding in guide_findings(ours, changed)] == codes


def test_flags_in_guides_are_known_and_spelled_with_hyphens(ours: Catalog) -> None:
    """Examples too: a flag that the newest release refuses helps nobody."""
    tried = 0
    by_hardware = {name for profile in ours.hardware.values() for name in profile.plugins}
    for entry in ours.recipes.values():
        plugins = (*entry.recipe.model.plugins, *by_hardware)
        newest = (
            "0.32.0" if entry.recipe.model.plugins else "0.33.0"
        )  # a plugin follows one release
        for _, text in shell_blocks(entry):
            for command in serve_commands(text):
                assert not [w for w in command if spelled_with_underscore(w)], entry.id
                found = check_argv(command, {}, newest, plugins=plugins)
                wrong = [str(item) for item in found if item.severity == "error"]
                assert not wrong, f"{entry.id}: {command}: {wrong}"
                tried += 1
    assert tried > len(ours.recipes)
