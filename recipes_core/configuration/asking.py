"""What was asked, beside what it is asked of; every fallback is written down here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.configuration.model import Adjustment
from recipes_core.errors import nearest
from recipes_core.selection import Selection


class Asking:
    """A selection on its way to a configuration.

    Attributes:
        asked: The selection.
        by_id: The variant that the recipe's id named, if any.
        adjustments: What was asked and could not be had, so far.
    """

    def __init__(
        self, catalog: Catalog, entry: RecipeEntry, selection: Selection, by_id: str | None
    ) -> None:
        self.catalog = catalog
        self.entry = entry
        self.recipe = entry.recipe
        self.rules = rules_of(catalog, entry)
        self.asked = selection
        self.by_id = by_id
        self.adjustments = [
            Adjustment(unread.key, unread.value, None, unread.reason) for unread in selection.unread
        ]

    def adjust(self, axis: str, asked: Any, got: Any, reason: str) -> None:
        """Write down that something asked could not be had."""
        self.adjustments.append(Adjustment(axis, asked, got, reason))

    def known(self, axis: str, asked: str, known: Iterable[str], got: Any) -> str | None:
        """The known id of a word, in any case; an unknown word is written down."""
        names = list(known)
        if asked in names:
            return asked
        for name in names:
            if name.casefold() == asked.casefold():
                return name
        near = nearest(asked, names)
        hint = f"; did you mean {near[0]}?" if near else ""
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        self.adjust(axis, asked, got, f"unknown; known: {shown}{hint}")
        return None
