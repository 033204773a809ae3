"""The commands of a catalog that a reader's own command may be near to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.errors import RecipesError, UnknownRecipeError
from recipes_core.link import json_query
from recipes_core.selection import Selection
from recipes_core.vllm_cli.explain import Explanation, Match, nearest_recipe

Candidate = tuple[str, Sequence[str]]


def nearest_of(catalog: Catalog, explained: Explanation) -> Match | None:
    """The configuration of a catalog that an explained command is nearest to.

    Args:
        catalog: A loaded catalog.
        explained: What ``explain`` made of the command.

    Returns:
        None for a bench command, or where the catalog is empty.
    """
    if explained.argv[1] != "serve":
        return None
    found = candidates(catalog, explained.model or "")
    return nearest_recipe(found, explained.argv, explained.version)


def candidates(catalog: Catalog, model: str) -> Iterator[Candidate]:
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


def _all_of(catalog: Catalog, entry: RecipeEntry) -> Iterator[Candidate]:
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


def _one(catalog: Catalog, entry: RecipeEntry, asked: Selection) -> Iterator[Candidate]:
    try:
        config = configure(catalog, entry, asked)
        if config.adjustments:
            return
        deployment = deploy(config)
    except RecipesError:
        return
    engine = next((process for process in deployment.processes if process.is_engine), None)
    if engine is not None:
        yield f"{entry.id}?{json_query(config)}", engine.argv
