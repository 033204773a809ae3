"""The ids under which a catalog's recipes are found: their own and those of their checkpoints."""

from __future__ import annotations

import re
from typing import NamedTuple

from recipes_core.catalog.catalog import Catalog, RecipeEntry

_PART = re.compile(r"(?!\.+$)[^\\/?#%:*\"<>|\x00-\x20\x7f]{1,200}")


class Page(NamedTuple):
    """A recipe under one id."""

    id: str
    entry: RecipeEntry
    variant: str
    derived: bool
    """The id is a checkpoint's, not the recipe's own."""


def pages(catalog: Catalog) -> list[Page]:
    """Every id that has a page, recipes first; a recipe's own id wins over a checkpoint's.

    Ids compare without case, as they do in ``Catalog.find`` and in some file systems.
    """
    found = [_own_page(entry) for entry in catalog.recipes.values()]
    taken = {page.id.casefold() for page in found}
    for page in list(found):
        for name, variant in page.entry.recipe.variants.items():
            key = (variant.model_id or "").casefold()
            if not is_address(key) or key in taken:
                continue
            taken.add(key)
            found.append(Page(str(variant.model_id), page.entry, name, True))
    return found


def _own_page(entry: RecipeEntry) -> Page:
    variants = entry.recipe.variants
    variant = "default" if "default" in variants else next(iter(variants))
    return Page(entry.id, entry, variant, False)


def is_address(recipe_id: str) -> bool:
    """Whether an id can be a path: ``org/repo``, and neither part leads elsewhere."""
    parts = recipe_id.split("/")
    return len(parts) == 2 and all(is_path_part(part) for part in parts)


def is_path_part(part: str) -> bool:
    """Whether a word can name one file or folder, on any file system and in any address."""
    return _PART.fullmatch(part) is not None
