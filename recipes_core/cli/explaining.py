"""``recipes explain``: a reader's own command, flag by flag."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.cli.common import fail, open_catalog, say, table
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.errors import RecipesError, UnknownRecipeError
from recipes_core.selection import Selection

if TYPE_CHECKING:
    from recipes_core.vllm_cli.explain import Explanation, Match


def run(
    command: str, version: str, plugins: Sequence[str], folders: Sequence[str], *, as_json: bool
) -> None:
    """Print the explanation; leaves with 1 where the release would refuse the command."""
    from recipes_core.vllm_cli.explain import explain, nearest_recipe

    text = sys.stdin.read() if command == "-" else command
    try:
        explained = explain(text, version, plugins=plugins, read=_read)
    except (ValueError, OSError) as error:
        fail(f"error: {error}", 2)
    match = None
    if explained.argv[1] == "serve":
        catalog = open_catalog(folders)
        match = nearest_recipe(candidates(catalog, explained.model or ""), explained.argv, version)
    if as_json:
        say(json.dumps(_plain(explained, match), ensure_ascii=False))
    else:
        _print(explained, match)
    if any(finding.severity == "error" for finding in explained.findings):
        raise typer.Exit(1)


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def candidates(catalog: Catalog, model: str) -> Iterator[tuple[str, Sequence[str]]]:
    """A label and a command for each configuration that a command may be near to.

    Those of the model's own recipe on all its hardware and layouts, or else each recipe's default.
    """
    try:
        entries = [catalog.find(model).entry]
    except UnknownRecipeError:
        entries = []
    if entries:
        yield from _all_of(catalog, entries[0])
        return
    for entry in catalog.recipes.values():
        yield from _one(catalog, entry, Selection())


def _all_of(catalog: Catalog, entry: RecipeEntry) -> Iterator[tuple[str, Sequence[str]]]:
    from recipes_core.axes import rules_of

    rules = rules_of(catalog, entry)
    for variant in entry.recipe.variants:
        for option in rules.hardware_options(variant):
            if not option.enabled:
                continue
            for strategy in (*rules.strategies, None):
                nodes = 2 if strategy and strategy.startswith("multi_node") else None
                asked = Selection(
                    variant=variant, hardware=option.id, strategy=strategy, nodes=nodes
                )
                yield from _one(catalog, entry, asked)


def _one(
    catalog: Catalog, entry: RecipeEntry, asked: Selection
) -> Iterator[tuple[str, Sequence[str]]]:
    try:
        config = configure(catalog, entry, asked)
        if config.adjustments:
            return
        deployment = deploy(config)
    except RecipesError:
        return
    from recipes_core.link import json_query

    engine = next((process for process in deployment.processes if process.is_engine), None)
    if engine is not None:
        yield f"{entry.id}?{json_query(config)}", engine.argv


def _print(explained: Explanation, match: Match | None) -> None:
    say(f"Model   {explained.model or '-'}")
    say(f"Layout  {explained.layout.describe()}")
    if explained.image:
        say(f"Image   {explained.image}")
    if explained.floor is not None:
        say(f"Needs   {_floor(explained)}; read as vLLM {explained.version} does")
    rows = [
        [
            flag.written,
            " ".join(flag.values),
            f"{flag.text}{f' [{flag.topic}]' if flag.text else ''}",
        ]
        for flag in explained.flags
    ]
    rows += [[name, value, "variable"] for name, value in explained.env.items()]
    if rows:
        say()
        for line in table(rows, ["flag", "value", "what it does"]):
            say(line)
    for finding in explained.findings:
        say(f"{finding.severity}: {finding.where}: {finding.message} [{finding.code}]")
    if match is not None:
        say()
        say(f"Nearest recipe: {match.label} ({match.score:.0%} alike)")
        rows = [["only here", name, ""] for name in match.only_here]
        rows += [["only there", name, ""] for name in match.only_there]
        rows += [
            ["differs", name, f"{here} here, {there} there"] for name, here, there in match.differ
        ]
        for line in table(rows):
            say(f"  {line}")


def _floor(explained: Explanation) -> str:
    version = explained.floor.version if explained.floor else None
    return f"vLLM {version} or newer" if version else "no release that is known accepts it"


def _plain(explained: Explanation, match: Match | None) -> dict[str, Any]:
    return {
        "argv": list(explained.argv),
        "env": explained.env,
        "image": explained.image,
        "model": explained.model,
        "vllm": explained.version,
        "flags": [flag._asdict() for flag in explained.flags],
        "layout": {**explained.layout._asdict(), "gpus": explained.layout.gpus},
        "findings": [finding._asdict() for finding in explained.findings],
        "min_vllm_version": explained.floor.version if explained.floor else None,
        "nearest": match._asdict() if match else None,
    }
