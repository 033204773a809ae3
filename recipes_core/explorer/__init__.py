"""The dashboard: what a notebook shows. Everything it shows, ``recipes_core`` decides."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from recipes_core.explorer.launch import CATALOG_VARIABLE

if TYPE_CHECKING:
    from recipes_core.catalog.catalog import Catalog
    from recipes_core.explorer.view import Explorer


def explorer(*catalogs: str | Path, query: str | None = None) -> Explorer:
    """The dashboard, to stand as the last line of a cell.

    Args:
        catalogs: Folders of catalogs, the later winning; none = those that ``RECIPES_CATALOG``
            names (separated as in ``PATH``; ``builtin`` stands for ours), or our own.
        query: What to open, such as ``model=org/repo&hardware=h200``; None = the query of the
            page's address, which voila passes on.
    """
    from recipes_core.catalog.loader import load_catalog
    from recipes_core.explorer.state import recipes_in
    from recipes_core.explorer.view import Explorer

    given = catalogs or tuple(filter(None, os.environ.get(CATALOG_VARIABLE, "").split(os.pathsep)))
    asked = os.environ.get("QUERY_STRING", "") if query is None else query

    def whole() -> Catalog:
        return load_catalog(*given, on_error="collect")

    names = recipes_in(asked)
    if names:
        first = load_catalog(*given, on_error="collect", only=names)
        if {name.casefold() for name in names} <= {name.casefold() for name in first.recipes}:
            return Explorer(first, asked, whole)
    return Explorer(whole(), asked)


__all__ = ["CATALOG_VARIABLE", "explorer"]
