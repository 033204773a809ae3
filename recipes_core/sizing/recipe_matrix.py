"""All variants of a recipe on all hardware, each as the recipe would run there by default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import deploy
from recipes_core.errors import RecipesError
from recipes_core.selection import Selection
from recipes_core.sizing.configuration import checkpoint_of, gpu_of, size_processes, tightest
from recipes_core.sizing.matrix import Cell, Entry


def recipe_cells(
    catalog: Catalog, recipe: str, selection: Selection | str | Mapping[str, str] = ""
) -> list[Cell]:
    """The matrix of a recipe, for `frames.fit_frame`, `weights_frame` and the HTML tables.

    Args:
        catalog: A loaded catalog.
        recipe: Its id.
        selection: Choices that hold in every cell, such as ``max_model_len=8192``; its hardware
            and variant are set aside.

    Returns:
        One cell per variant and piece of hardware, in the recipe's and the taxonomy's order. A
        cell that is not offered has no sizing and says why.

    Raises:
        RecipesError: There is no such recipe.
    """
    asked = selection if isinstance(selection, Selection) else Selection.from_query(selection)
    base = configure(catalog, recipe, asked.with_(hardware=None, variant=None))
    return list(_cells(catalog, base, asked))


def _cells(catalog: Catalog, base: Configuration, asked: Selection) -> Iterator[Cell]:
    for name, variant in base.recipe.variants.items():
        for option in base.rules.hardware_options(name):
            profile = catalog.hardware.get(option.id)
            if profile is None:
                continue
            gpu = gpu_of(option.id, profile)
            if not option.enabled:
                entry = Entry(name, variant.precision, option.id, None, gpu)
                yield Cell(entry, None, option.reason or "not offered")
                continue
            here = asked.with_(hardware=option.id, variant=name)
            yield _cell(Entry(name, variant.precision, option.id, None, gpu), base, here)


def _cell(entry: Entry, base: Configuration, asked: Selection) -> Cell:
    """One configuration, by its tightest engine."""
    try:
        config = configure(base.catalog, base.entry, asked)
        sized = size_processes(config, deploy(config))
    except RecipesError as error:
        return Cell(entry, None, str(error))
    found = tightest(sizing for _, sizing in sized)
    if found is None:
        return Cell(entry, None, "nothing is known of the checkpoint")
    process = next(process for process, sizing in sized if sizing is found)
    full = replace(
        entry,
        checkpoint=checkpoint_of(config),
        gpu=found.gpu,
        argv=tuple(process.argv),
        env=process.env,
    )
    return Cell(full, found)
