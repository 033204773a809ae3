"""A guide held against its recipe: its launch commands, and what it says of the cache."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple

from markdown_it import MarkdownIt

from recipes_core.axes import task_key
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import Feature
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import deploy
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding
from recipes_core.flags import parse_args
from recipes_core.render.capacities import capacity_findings
from recipes_core.render.shell import quote_words
from recipes_core.selection import Selection

SHELLS = frozenset({"bash", "sh", "shell"})
"""Languages of a block whose commands are meant to be run; ``bash example`` is none of them."""
_NODES = (None, 2, 3, 4)
_MARKDOWN = MarkdownIt()


class Fence(NamedTuple):
    """A fenced block: its info string and its text."""

    info: str
    text: str


def fences(markdown: str) -> Iterator[Fence]:
    """The fenced blocks of a piece of Markdown, those inside lists too."""
    for token in _MARKDOWN.parse(markdown):
        if token.type == "fence":
            yield Fence(token.info.strip(), token.content)


def serve_commands(text: str) -> list[list[str]]:
    """The words of each ``vllm serve`` in a shell text, from ``vllm`` on.

    Raises:
        ValueError: A quote is left open.
    """
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if "vllm serve" in line:
            words = shlex.split(line, comments=True)
            if "vllm" in words:
                found.append(words[words.index("vllm") :])
    return found


def _flags_of(feature: Feature) -> set[str]:
    lists = [feature.args, *(o.args for o in feature.hardware_overrides.values())]
    for mode in feature.modes.values():
        lists += [mode.args, *(o.args for o in mode.hardware_overrides.values())]
    return {flag.name for words in lists for flag in parse_args(words or ())}


def _feature_sets(entry: RecipeEntry, argv: Sequence[str]) -> Iterator[tuple[str, ...] | None]:
    """Sets of features that a command may show, the likeliest first."""
    shown = {flag.name for flag in parse_args(argv[3:])}
    features = entry.recipe.features
    likely = [
        name
        for name, feature in features.items()
        if not (flags := _flags_of(feature)) or flags & shown
    ]
    yield None
    for size in range(len(likely), -1, -1):
        yield from combinations(likely, size)


def _selections(catalog: Catalog, entry: RecipeEntry, argv: Sequence[str]) -> Iterator[Selection]:
    recipe, checkpoint = entry.recipe, argv[2]
    omni = "omni" in recipe.meta.tasks and recipe.omni is not None
    tasks: list[str | None] = [None]
    if omni and recipe.omni is not None:
        tasks = [t if isinstance(t, str) else task_key(t) for t in recipe.omni.tasks] or [None]
    variants = [
        name
        for name, variant in recipe.variants.items()
        if omni or (variant.model_id or recipe.model.model_id) == checkpoint
    ]
    modes = [
        tuple(zip(names, chosen, strict=True))
        for names in [[name for name, feature in recipe.features.items() if feature.modes]]
        for chosen in product(*(recipe.features[name].modes for name in names))
    ]
    places = [
        (strategy, nodes)
        for strategy in recipe.compatible_strategies or (None,)
        for nodes in (_NODES if strategy and strategy.startswith("multi") else (None,))
    ]
    for features in _feature_sets(entry, argv):
        for hardware, variant, (strategy, nodes), task, mode in product(
            catalog.hardware, variants, places, tasks, modes
        ):
            yield Selection(
                hardware=hardware,
                variant=variant,
                strategy=strategy,
                nodes=nodes,
                features=features,
                task=task,
                fmode=mode,
            )


def configuration_of(
    catalog: Catalog, entry: RecipeEntry, argv: Sequence[str]
) -> Configuration | None:
    """The configuration one of whose engines has exactly these arguments, or None.

    Args:
        catalog: The vocabulary.
        entry: The recipe whose configurations are tried.
        argv: ``vllm serve MODEL …`` as words.
    """
    wanted = list(argv)
    if len(wanted) < 3:
        return None
    for selection in _selections(catalog, entry, wanted):
        config = configure(catalog, entry, selection)
        if config.model_id != wanted[2]:
            continue
        if any(p.argv == wanted for p in deploy(config).processes if p.is_engine):
            return config
    return None


def guide_findings(catalog: Catalog, entry: RecipeEntry, place: str = "") -> list[Finding]:
    """What is wrong in a recipe's guide and notes.

    Launch commands that no configuration gives, and numbers of cached tokens without a release.

    Args:
        catalog: The vocabulary.
        entry: The recipe.
        place: Its file, as findings name it.
    """
    recipe = entry.recipe
    texts = {"guide": recipe.guide or ""}
    for group in ("notes", "known_issues"):
        for number, note in enumerate(getattr(recipe, group)):
            texts[f"{group}[{number}].body"] = note.body
    found: list[Finding] = []
    for where, text in texts.items():
        found += capacity_findings(where, text, place)
        for fence in fences(text):
            if fence.info not in SHELLS or "vllm serve" not in fence.text:
                continue
            try:
                commands = serve_commands(fence.text)
                wrong = [c for c in commands if configuration_of(catalog, entry, c) is None]
            except (RecipesError, ValueError) as error:
                found.append(
                    Finding(
                        "error", "guide-shell", f"a command is unreadable: {error}", where, place
                    )
                )
                continue
            found += [
                Finding(
                    "warning",
                    "guide-command",
                    f"no configuration gives `{line}`; mark the block as"
                    " `bash example` if it is meant otherwise",
                    where,
                    place,
                )
                for line in (quote_words(tuple(command)) for command in wrong)
            ]
    return found
