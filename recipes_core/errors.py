"""Errors that carry what a person needs to mend them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RecipesError(Exception):
    """Anything this package refuses; its text is one or more lines for a person."""


class UnknownRecipeError(RecipesError):
    """No recipe of that id is in the catalog."""

    def __init__(self, recipe_id: str, nearest: Iterable[str]) -> None:
        self.recipe_id = recipe_id
        self.nearest = tuple(nearest)
        hint = f" Did you mean {' or '.join(self.nearest)}?" if self.nearest else ""
        super().__init__(f"no recipe {recipe_id!r} in the catalog.{hint}")


class CatalogError(RecipesError):
    """A file of a catalog cannot be read or is not valid.

    Attributes:
        path: The file, as given.
        line: Line in the file, from 1, or None where the fault has no place.
        key: The key in dotted form, or an empty string.
    """

    def __init__(
        self, message: str, path: str = "", line: int | None = None, key: str = ""
    ) -> None:
        self.path, self.line, self.key, self.message = path, line, key, message
        place = path + (f":{line}" if line is not None else "")
        super().__init__(": ".join(part for part in (place, key, message) if part))


class RenderRefusedError(RecipesError):
    """A command that would be a guess is not rendered; the text says what is missing."""


def nearest(word: str, allowed: Iterable[str], count: int = 1) -> list[str]:
    """The allowed spellings nearest to a word, best first; compared without case."""
    folded: dict[str, str] = {}
    for item in allowed:
        folded.setdefault(item.casefold(), item)
    return [folded[hit] for hit in get_close_matches(word.casefold(), folded, count, 0.6)]


def clean(text: object, keep: str = "\n") -> str:
    """A text without the control characters that a terminal would obey.

    Args:
        text: Of a file or a person.
        keep: Control characters that stay.
    """
    return "".join(
        c if c.isprintable() or c in keep else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )
