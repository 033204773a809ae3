"""The fenced blocks of a guide, and which configuration a command in one of them is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from markdown_it import MarkdownIt

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.selection import Selection

SHELLS = {"bash", "sh", "shell"}


class Fence(NamedTuple):
    """A fenced block: its info string and its text."""

    info: str
    text: str


def fences(markdown: str) -> Iterator[Fence]:
    """The fenced blocks of a piece of Markdown, those inside lists too."""
    for token in MarkdownIt().parse(markdown):
        if token.type == "fence":
            yield Fence(token.info.strip(), token.content)


def serve_commands(text: str) -> list[list[str]]:
    """The words of each ``vllm serve`` in a shell text, from ``vllm`` on."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if "vllm serve" in line:
            words = shlex.split(line, comments=True)
            found.append(words[words.index("vllm") :])
    return found


def configurations(catalog: Catalog, entry: RecipeEntry, checkpoint: str) -> Iterator[list[str]]:
    """Every engine command that the resolver gives for a checkpoint on one node of any hardware."""
    recipe = entry.recipe
    features = [set(group) for n in range(4) for group in combinations(recipe.features, n)]
    variants = [
        name
        for name, variant in recipe.variants.items()
        if (variant.model_id or recipe.model.model_id) == checkpoint
    ]
    for variant in variants:
        for hardware in catalog.hardware:
            for strategy in recipe.compatible_strategies:
                for chosen in [None, *features]:
                    config = configure(
                        catalog,
                        entry,
                        Selection(
                            hardware=hardware,
                            variant=variant,
                            strategy=strategy,
                            features=None
                            if chosen is None
                            else tuple(name for name in recipe.features if name in chosen),
                        ),
                    )
                    if config.adjustments:
                        continue
                    for process in deploy(config).processes:
                        if process.is_engine:
                            yield process.argv
