"""The dashboard: what a notebook shows. Everything it shows, ``recipes_core`` decides."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from recipes_core.catalog.loader import CATALOG_VARIABLE, chosen_catalogs, load_catalog

if TYPE_CHECKING:
    from ipywidgets import HTML

    from recipes_core.catalog.catalog import Catalog
    from recipes_core.explorer.view import Explorer


def explorer(*catalogs: str | Path, query: str | None = None) -> Explorer | HTML:
    """The dashboard, to stand as the last line of a cell.

    Args:
        catalogs: Folders of catalogs, the later winning; none = those that ``RECIPES_CATALOG``
            names (separated as in ``PATH``; ``builtin`` stands for ours), or our own.
        query: What to open, such as ``model=org/repo&hardware=h200``; None = the query of the
            page's address, which voila passes on.

    Returns:
        The explorer; a notice where no catalog can be read, since under voila an exception
        would leave a blank page.
    """
    from recipes_core.errors import RecipesError
    from recipes_core.explorer.links import recipes_in
    from recipes_core.explorer.view import Explorer, notice

    given = chosen_catalogs(catalogs)
    asked = os.environ.get("QUERY_STRING", "") if query is None else query

    def whole() -> Catalog:
        return load_catalog(*given, on_error="collect")

    try:
        names = recipes_in(asked)
        if names:
            first = load_catalog(*given, on_error="collect", only=names)
            if {name.casefold() for name in names} <= {name.casefold() for name in first.recipes}:
                return Explorer(first, asked, whole)
        return Explorer(whole(), asked)
    except RecipesError as error:
        return notice(str(error))


__all__ = ["CATALOG_VARIABLE", "explorer"]
