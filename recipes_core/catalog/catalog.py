"""A loaded catalog: recipes and the vocabulary that they use."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from recipes_core.catalog.documents import (
    HardwareProfile,
    KvStore,
    Platform,
    Recipe,
    Strategy,
    Taxonomy,
)
from recipes_core.errors import UnknownRecipeError, nearest
from recipes_core.findings import Finding


@dataclass(frozen=True, slots=True, eq=False)
class RecipeEntry:
    """A recipe with its address in the catalog."""

    id: str
    """``org/repo``, from the file's path."""
    recipe: Recipe
    source: str
    """The file, relative to its catalog: ``models/org/repo.yaml``."""
    root: str = ""
    """The catalog that it came from, as given, or ``builtin``."""


class Found(NamedTuple):
    """What an id opens: a recipe, and the variant that the id named, if any."""

    entry: RecipeEntry
    variant: str | None


@dataclass(eq=False)
class Catalog:
    """Recipes and vocabulary, in one or several stacked folders.

    Attributes:
        taxonomy: Hardware, tasks and KV-offload options.
        strategies: Layouts by id, in the taxonomy's order.
        kv_stores: Mooncake topologies by id.
        platforms: Hosting platforms by id.
        recipes: Entries by id, sorted.
        problems: What could not be read, and in a foreign catalog the keys that were left out.
        roots: The folders that were stacked, the last one winning, by the name they were given.
    """

    taxonomy: Taxonomy
    strategies: dict[str, Strategy] = field(default_factory=dict)
    kv_stores: dict[str, KvStore] = field(default_factory=dict)
    platforms: dict[str, Platform] = field(default_factory=dict)
    recipes: dict[str, RecipeEntry] = field(default_factory=dict)
    problems: list[Finding] = field(default_factory=list)
    roots: dict[str, Path] = field(default_factory=dict)
    kept: dict[str, object] = field(default_factory=dict, repr=False)
    """Answers that upper floors derived from these documents, by recipe id."""

    def __repr__(self) -> str:
        """What is in it, counted: the documents themselves would fill megabytes."""
        return (
            f"Catalog(roots={list(self.roots)}, recipes={len(self.recipes)},"
            f" hardware={len(self.hardware)}, problems={len(self.problems)})"
        )

    @property
    def hardware(self) -> dict[str, HardwareProfile]:
        """Profiles by id, in the order of the page."""
        return self.taxonomy.hardware_profiles

    @cached_property
    def _index(self) -> dict[str, Found]:
        found: dict[str, Found] = {}
        for entry in self.recipes.values():
            for name, variant in entry.recipe.variants.items():
                if variant.model_id:
                    asked = None if name == "default" else name
                    found.setdefault(variant.model_id.casefold(), Found(entry, asked))
        for entry in self.recipes.values():
            found.setdefault(entry.recipe.model.model_id.casefold(), Found(entry, None))
        for entry in self.recipes.values():
            found[entry.id.casefold()] = Found(entry, None)
        return found

    def find(self, recipe_id: str) -> Found:
        """The recipe of an id, or the parent of the variant that has it as its model.

        Ids compare without case; a recipe's own id wins over a variant's.

        Raises:
            UnknownRecipeError: Nothing has that id; the error names the nearest.
        """
        try:
            return self._index[recipe_id.strip().strip("/").casefold()]
        except KeyError:
            ids = {entry.id for entry in self.recipes.values()}
            near = nearest(recipe_id, ids, 3)
            if not near:
                last = recipe_id.rsplit("/", 1)[-1]
                by_name = {i.rsplit("/", 1)[-1]: i for i in sorted(ids)}
                near = [by_name[n] for n in nearest(last, by_name, 3)]
            raise UnknownRecipeError(recipe_id, near) from None
