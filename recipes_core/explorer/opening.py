"""The way from a notebook's cell to the screen, with as little as can be before the cell is done.

A page begins to load what shows widgets when its cells are done, which takes it half a second and
more. A kernel that has the time reads the recipe and works out the command meanwhile.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from recipes_core.errors import RecipesError
from recipes_core.explorer.frame import Frame
from recipes_core.explorer.guard import guarded

if TYPE_CHECKING:
    from recipes_core.catalog.catalog import Catalog
    from recipes_core.explorer.view import Explorer

CELL_S = 0.02
"""Seconds after which a cell that has nothing more to do is done and has said so."""
PAGE_VARIABLE = "VOILA_REQUEST_URL"
"""Where voila puts the page's address; only a kernel that a page has for itself knows it."""


class Opening:
    """An explorer on its way to the screen; its frame stands at once.

    Attributes:
        frame: The widgets, empty until the rest has been loaded.
        ended: Whether there is nothing to show, which the frame then says.
    """

    def __init__(self, query: str, load: Callable[[], tuple[Catalog, Callable[[], Catalog]]]):
        """Build the frame; in a kernel the rest follows when the cell is done.

        Args:
            query: What to open.
            load: Gives a catalog that holds what the query names, and what loads the whole.
        """
        self.frame = Frame()
        self.ended = False
        self._query = query
        self._load = load
        self._screen: Explorer | None = None
        self.frame.page.handlers = {kind: self._early(kind) for kind in ("restore", "ready")}
        if alone():
            # Without this a kernel's last act, for a fifth of a second, is to look for garbage in
            # a catalog that the system takes back whole.
            atexit.register(gc.freeze)
        if in_loop():
            asyncio.get_running_loop().call_later(CELL_S, guarded(self._open, self._fail))
        else:
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
            catalog, whole = self._load()
        except RecipesError as error:
            self._fail(str(error))
        else:
            self._screen = Explorer(catalog, self._query, whole, self.frame)

    def _fail(self, text: str) -> None:
        self.ended = True
        self.frame.close_with(text)

    def _early(self, kind: str) -> Callable[[str], None]:
        """What the browser asks before there is an answer: opens, which sets the right handlers."""

        def answer(value: str) -> None:
            if self.screen is not None:
                self.frame.page.handlers[kind](value)

        return answer

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.frame.root)  # type: ignore[no-untyped-call]


def alone() -> bool:
    """Whether this kernel serves a page, with which it ends, and nobody else's work."""
    return PAGE_VARIABLE in os.environ


def in_loop() -> bool:
    """Whether an event loop runs here, which can do the rest later."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
