"""The way from a notebook's cell to the screen; a page's cell does as little as it can.

A page begins to load what shows widgets when its cells are done, which takes it half a second and
more. Its kernel reads the recipe and works out the command meanwhile. Everywhere else the cell does
it, so that what it stores holds the command, and a fault of ours is the cell's.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recipes_core.errors import RecipesError
from recipes_core.explorer.frame import Frame
from recipes_core.explorer.guard import guarded
from recipes_core.explorer.kernel import CELL_S, alone, later

if TYPE_CHECKING:
    from recipes_core.catalog.catalog import Catalog
    from recipes_core.explorer.view import Explorer


class Opening:
    """An explorer on its way to the screen; its frame stands at once.

    Attributes:
        frame: The widgets, empty until the rest has been loaded.
        ended: Whether there is nothing to show, which the frame then says.
    """

    def __init__(self, query: str, catalogs: Sequence[str | Path]):
        """Build the frame and fill it: in a page's kernel when the cell is done, else now.

        Args:
            query: What to open.
            catalogs: Folders of catalogs, the later winning; none = those of ``chosen_catalogs``.
        """
        self.frame = Frame()
        self.ended = False
        self._query = query
        self._catalogs = catalogs
        self._screen: Explorer | None = None
        self._open_or_tell = guarded(self._open, self._fail)
        self.frame.page.handlers = {kind: self._early(kind) for kind in ("restore", "ready")}
        if alone():
            # Without this a kernel's last act, for a fifth of a second, is to look for garbage in
            # a catalog that the system takes back whole.
            atexit.register(gc.freeze)
        if not (alone() and later(CELL_S, self._open_or_tell)):
            self._open()

    @property
    def screen(self) -> Explorer | None:
        """The explorer, opened now if it was not yet; None where no catalog can be read."""
        self._open()
        return self._screen

    def _open(self) -> None:
        if self._screen is not None or self.ended:
            return
        from recipes_core.explorer.view import Explorer

        try:
            catalog, whole = _catalog_for(self._query, self._catalogs)
            self._screen = Explorer(catalog, self._query, whole, self.frame)
        except RecipesError as error:
            self._fail(str(error))

    def _fail(self, text: str) -> None:
        self.ended = True
        self.frame.close_with(text)

    def _early(self, kind: str) -> Callable[[str], None]:
        """What the browser asks before there is an answer: opens, which sets the right handlers."""

        def answer(value: str) -> None:
            self._open_or_tell()
            if self._screen is not None:
                self.frame.page.handlers[kind](value)

        return answer

    def _ipython_display_(self) -> None:
        self.frame.show()


def _catalog_for(
    query: str, catalogs: Sequence[str | Path]
) -> tuple[Catalog, Callable[[], Catalog] | None]:
    """A catalog that holds what a query names, and what loads the rest, where there is a rest."""
    from recipes_core.catalog.loader import chosen_catalogs, load_catalog
    from recipes_core.explorer.links import recipes_in

    def load(only: Sequence[str] | None = None) -> Catalog:
        return load_catalog(*chosen_catalogs(catalogs), on_error="collect", only=only)

    names = recipes_in(query)
    if names:
        first = load(names)
        if {name.casefold() for name in names} <= {name.casefold() for name in first.recipes}:
            return first, load
    return load(), None
