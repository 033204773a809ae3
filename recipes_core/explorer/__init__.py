"""The dashboard: what a notebook shows. Everything it shows, ``recipes_core`` decides."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

    return Opening(os.environ.get("QUERY_STRING", "") if query is None else query, catalogs)


__all__ = ["explorer"]
