"""Recipes over HTTP: a Jupyter Server extension, routes for voila, and a standalone server."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

    from recipes_core.server.handlers import handlers as handlers
    from recipes_core.server.standalone import make_app as make_app
    from recipes_core.server.standalone import serve as serve

NOTEBOOKS = ("notebooks/explorer.ipynb", "explorer.ipynb", "vllm-recipes.ipynb")
"""Where the explorer's notebook is in a checkout, under ``recipes lab``, from the launcher."""
_PLACES = {"handlers": "handlers", "make_app": "standalone", "serve": "standalone"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'recipes_core.server' has no attribute {name!r}")
    return getattr(import_module(f"recipes_core.server.{_PLACES[name]}"), name)


def _notebook_in(root: Path) -> str | None:
    """The explorer's notebook below a server's root, for voila to show; None = there is none."""
    if find_spec("voila") is None:
        return None
    return next((name for name in NOTEBOOKS if (root / name).is_file()), None)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "recipes_core.server"}]


def _load_jupyter_server_extension(serverapp: ServerApp) -> None:
    """Add the recipes to a Jupyter Server, for who is logged in.

    A server that lets anybody in gets nothing from us: it would make an open Lab look like a
    public site. The public server is ``recipes_core.server.serve``.
    """
    from recipes_core.catalog.loader import load_chosen
    from recipes_core.server.handlers import join, private_handlers

    if not serverapp.identity_provider.auth_enabled:
        serverapp.log.warning(
            "recipes: not served, as this server lets anybody in; the public one is standalone"
        )
        return
    base_url = serverapp.web_app.settings["base_url"]
    notebook = _notebook_in(Path(serverapp.root_dir))
    dashboard = None if notebook is None else join(base_url, f"voila/render/{notebook}")
    catalog = load_chosen((), lambda line: serverapp.log.warning("recipes: left out: %s", line))
    routes = private_handlers(catalog, base_url, dashboard)
    serverapp.web_app.add_handlers(".*$", routes)  # type: ignore[no-untyped-call]
    serverapp.log.info("recipes: served at %s/", join(base_url, "recipes"))
