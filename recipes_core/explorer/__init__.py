"""The dashboard: what a notebook shows. Everything it shows, ``recipes_core`` decides."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recipes_core.catalog.catalog import Catalog
    from recipes_core.explorer.opening import Opening


def explorer(*catalogs: str | Path, query: str | None = None) -> Opening:
    """The dashboard, to stand as the last line of a cell.

    Args:
        catalogs: Folders of catalogs, the later winning; none = those that ``RECIPES_CATALOG``
            names (separated as in ``PATH``; ``builtin`` stands for ours), or our own.
        query: What to open, such as ``model=org/repo&hardware=h200``; None = the query of the
            page's address, which voila passes on.

    Returns:
        The dashboard, whose ``screen`` is the explorer. Where no catalog can be read it shows a
        notice, since under voila an exception would leave a blank page.
    """
    from recipes_core.explorer.opening import Opening

    asked = os.environ.get("QUERY_STRING", "") if query is None else query

    def load() -> tuple[Catalog, Callable[[], Catalog]]:
        from recipes_core.catalog.loader import chosen_catalogs, load_catalog
        from recipes_core.explorer.links import recipes_in

        given = chosen_catalogs(catalogs)
        whole = cache(lambda: load_catalog(*given, on_error="collect"))
        names = recipes_in(asked)
        if names:
            first = load_catalog(*given, on_error="collect", only=names)
            if {name.casefold() for name in names} <= {name.casefold() for name in first.recipes}:
                return first, whole
        return whole(), whole

    return Opening(asked, load)


__all__ = ["explorer"]
