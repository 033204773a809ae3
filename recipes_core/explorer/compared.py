"""What is compared: up to four configurations, each by its link, in the order of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import Configuration, configure
from recipes_core.errors import RecipesError
from recipes_core.link import json_query

MAX_COMPARED = 4


class Compared(NamedTuple):
    """A configuration that is kept beside the current one."""

    recipe_id: str
    query: str

    @classmethod
    def of(cls, config: Configuration) -> Compared:
        """A configuration by its link."""
        return cls(config.entry.id, json_query(config))


def compared_in(text: str) -> Iterator[Compared]:
    """The configurations that a link's ``compare`` names; one too many, so that it is refused."""
    for part in text.split(";")[: MAX_COMPARED + 1]:
        recipe_id, _, query = part.partition("?")
        if recipe_id:
            yield Compared(recipe_id, query)


def compared_text(items: Iterable[Compared]) -> str:
    """The text from which ``compared_in`` reads the same."""
    return ";".join(f"{item.recipe_id}?{item.query}" for item in items)


def compared_with(
    catalog: Catalog, items: tuple[Compared, ...], item: Compared
) -> tuple[Compared, ...]:
    """What is compared with one more beside it; the same where it stands there already.

    Raises:
        RecipesError: It cannot be resolved, or there is no room.
    """
    try:
        configure(catalog, item.recipe_id, item.query)
    except RecipesError as error:
        raise RecipesError(f"Not compared: {error}") from None
    if item in items:
        return items
    if len(items) >= MAX_COMPARED:
        raise RecipesError(
            f"Not compared: {item.recipe_id}. {MAX_COMPARED} configurations stand side by side"
            " already; remove one first."
        )
    return (*items, item)
