"""``recipes dashboard``: the explorer and the HTTP server in one process."""

from __future__ import annotations

import os
from collections.abc import Sequence

from recipes_core.cli.common import open_catalog


def serve_dashboard(port: int, host: str, folders: Sequence[str], *, browser: bool) -> int:
    """Serve until interrupted; where the dashboard asks for a token, the recipes do too.

    Args:
        port: Port to listen on.
        host: Address to listen on.
        folders: Catalogs to stack; none = those of ``RECIPES_CATALOG``, or ours.
        browser: Open a browser.

    Returns:
        The exit code.
    """
    from recipes_core.explorer import launch
    from recipes_core.server.handlers import beside_dashboard

    launch.set_catalogs(folders)
    catalog = open_catalog(())
    routes = beside_dashboard(catalog, private=bool(os.environ.get(launch.TOKEN_VARIABLE)))
    return launch.dashboard(
        port=port, host=host, browser=browser, catalogs=tuple(folders), handlers=routes
    )
