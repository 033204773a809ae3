"""``recipes list``: search and filters."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Sequence
from typing import Any

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.search import search
from recipes_core.cli.common import fail, note, open_catalog, say, table
from recipes_core.errors import clean, nearest


def run(
    folders: Sequence[str],
    text: str,
    *,
    tasks: Sequence[str],
    providers: Sequence[str],
    precision: str | None,
    verified: str | None,
    hardware: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Print the recipes that match: a table for a person, tab-separated lines for a pipe."""
    catalog = open_catalog(folders)
    recipes = [entry.recipe for entry in catalog.recipes.values()]
    for name in (verified, hardware):
        _known("hardware", name, catalog.hardware)
    for name in tasks:
        _known("task", name, {task for recipe in recipes for task in recipe.meta.tasks})
    precision = precision and precision.casefold()
    _known(
        "precision",
        precision,
        {v.precision.casefold() for r in recipes for v in r.variants.values()},
    )
    found = search(
        catalog, text, tasks=tasks, providers=_providers(catalog, providers),
        precision=precision, hardware_verified=verified,
    )  # fmt: skip
    if hardware is not None:
        node = catalog.hardware[hardware]
        found = [
            entry
            for entry in found
            if rules_of(catalog, entry).fits(hardware, node, node.gpu_count)
        ]
    total = len(found)
    found = found[:limit]
    if as_json:
        say(json.dumps([facts(catalog, entry) for entry in found], ensure_ascii=False))
        return
    if not sys.stdout.isatty():
        for entry in found:
            say(
                "\t".join(clean(cell).replace("\t", " ").replace("\n", " ") for cell in _row(entry))
            )
        return
    header = ["id", "parameters", "precisions", "tasks", "title"]
    for line in table([_row(entry) for entry in found], header):
        say(line)
    more = f" of {total}" if total > len(found) else ""
    note(f"{len(found)}{more} recipes")


def _known(what: str, asked: str | None, known: Collection[str]) -> None:
    if asked is None or asked in known:
        return
    near = nearest(asked, known)
    hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(sorted(known))}"
    fail(f"no {what} {asked!r} in the catalog{hint}", 2)


def _providers(catalog: Catalog, asked: Sequence[str]) -> list[str]:
    """Providers as recipes write them, for names typed in any case or in part."""
    if not asked:
        return []
    known = {entry.recipe.meta.provider for entry in catalog.recipes.values()}
    found = [name for name in known if any(word.casefold() in name.casefold() for word in asked)]
    if not found:
        fail(f"no provider {', '.join(asked)!r}; known: {', '.join(sorted(known))}", 2)
    return found


def _row(entry: RecipeEntry) -> list[str]:
    recipe = entry.recipe
    size = recipe.model.parameter_count or ""
    if recipe.model.active_parameters and recipe.model.active_parameters != size:
        size = f"{size} ({recipe.model.active_parameters} active)"
    precisions = dict.fromkeys(variant.precision for variant in recipe.variants.values())
    return [entry.id, size, ",".join(precisions), ",".join(recipe.meta.tasks), recipe.meta.title]


def facts(catalog: Catalog, entry: RecipeEntry) -> dict[str, Any]:
    """What a list says of a recipe, as plain data."""
    recipe = entry.recipe
    return {
        "id": entry.id,
        "title": recipe.meta.title,
        "provider": recipe.meta.provider,
        "tasks": list(recipe.meta.tasks),
        "architecture": recipe.model.architecture,
        "parameters": recipe.model.parameter_count,
        "active_parameters": recipe.model.active_parameters,
        "context_length": recipe.model.context_length,
        "variants": {
            name: {
                "precision": variant.precision,
                "model_id": variant.model_id or recipe.model.model_id,
                "vram_minimum_gb": variant.vram_minimum_gb,
            }
            for name, variant in recipe.variants.items()
        },
        "verified": [name for name, state in recipe.meta.hardware.items() if state == "verified"],
        "strategies": list(rules_of(catalog, entry).strategies),
        "catalog": entry.root,
        "source": entry.source,
    }
