"""Starts the dashboard under voila, or the notebooks in JupyterLab; no page loads this."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from recipes_core.catalog.loader import BUILTIN, CATALOG_VARIABLE, chosen_catalogs, load_chosen
from recipes_core.errors import RecipesError

TOKEN_VARIABLE = "RECIPES_TOKEN"  # noqa: S105 (a variable's name)
IDLE_VARIABLE = "RECIPES_IDLE_S"
"""Seconds after which a session that nobody uses is ended; an hour where it is not set."""
PREFIX_VARIABLE = "JUPYTERHUB_SERVICE_PREFIX"
CONNECTION = "recipes_core.explorer.sockets.PromptConnection"
GATEWAY_VARIABLE = "JUPYTER_GATEWAY_URL"
"""Where it is set, Jupyter's kernels run elsewhere and a connection of another kind leads there."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
Handlers = Callable[[str], Sequence[Any]]


def notebooks_dir() -> Path:
    """The folder of our notebooks: inside the installed package, or in a checkout.

    Raises:
        RecipesError: Neither is there.
    """
    return _travelling("notebooks")


def _travelling(name: str) -> Path:
    package = Path(__file__).resolve().parent.parent
    for path in (package / "_data" / name, package.parent / name):
        if path.exists():
            return path
    raise RecipesError(f"{name} did not travel with this installation; install it again")


def set_catalogs(catalogs: Sequence[str | Path]) -> None:
    """Tell the kernels which catalogs to load, in words that hold in their folder as well."""
    words = [
        str(c) if str(c) == BUILTIN else str(Path(c).expanduser().resolve())
        for c in chosen_catalogs(catalogs)
    ]
    if words:
        os.environ[CATALOG_VARIABLE] = os.pathsep.join(words)


def make_app(
    *,
    port: int = 8866,
    host: str = "127.0.0.1",
    browser: bool = False,
    base_url: str = "/",
    token: str | None = None,
    handlers: Handlers | None = None,
) -> Any:
    """A voila application that shows the explorer at its root, not yet started.

    Args:
        port: Port to listen on; the next free one where it is taken.
        host: Address to listen on.
        browser: Open a browser.
        base_url: Path below which everything is served.
        token: What a visitor must know; None = nothing.
        handlers: Makes further tornado handlers for a base URL, such as those of the HTTP server.
    """
    from jupyter_server.utils import url_path_join
    from voila.app import Voila
    from voila.tornado.handler import TornadoVoilaHandler
    from voila.tornado.treehandler import TornadoVoilaTreeHandler

    class Dashboard(Voila):  # type: ignore[misc]
        """voila with the explorer in place of a list of files."""

        def init_handlers(self) -> list[Any]:
            found = [
                rule
                for rule in super().init_handlers()
                if rule[1] is not TornadoVoilaTreeHandler and "/voila/api/contents" not in rule[0]
            ]
            front = {
                "notebook_path": "explorer.ipynb",
                "template_paths": self.template_paths,
                "config": self.config,
                "voila_configuration": self.voila_configuration,
            }
            found.append((url_path_join(self.server_url, r"/?"), TornadoVoilaHandler, front))
            return [*(handlers(self.server_url) if handlers is not None else ()), *found]

    app = Dashboard()
    app.config_file_paths = [str(_travelling("voila.json").parent)]
    app.root_dir = str(notebooks_dir())
    app.port, app.ip, app.open_browser, app.base_url = port, host, browser, base_url
    if token:
        app.token = token
    return app


def dashboard(
    *,
    port: int = 8866,
    host: str = "127.0.0.1",
    browser: bool = True,
    catalogs: Sequence[str | Path] = (),
    base_url: str | None = None,
    token: str | None = None,
    handlers: Handlers | None = None,
) -> int:
    """Serve the dashboard until it is interrupted.

    Args:
        port: Port to listen on.
        host: Address to listen on.
        browser: Open a browser.
        catalogs: Catalogs to show, the later winning; none = ours, or ``RECIPES_CATALOG``.
        base_url: Path below which everything is served; None = what a JupyterHub gives its service,
            or the root.
        token: What a visitor must know; None = what ``RECIPES_TOKEN`` holds, if anything.
        handlers: Makes further tornado handlers, such as those of the HTTP server.

    Returns:
        The exit code.
    """
    set_catalogs(catalogs)
    if handlers is None:
        # A fault is told here, where a person reads it, and not in a kernel. Whoever made handlers
        # has read the catalogs for them.
        load_chosen((), lambda line: print(line, file=sys.stderr))
    base_url = base_url or os.environ.get(PREFIX_VARIABLE) or "/"
    token = token or os.environ.get(TOKEN_VARIABLE) or None
    app = make_app(
        port=port, host=host, browser=browser, base_url=base_url, token=token, handlers=handlers
    )
    if host not in LOOPBACK and token is None:
        print(
            f"Anyone who reaches {host}:{port} can open the dashboard; set {TOKEN_VARIABLE} to a"
            " word that visitors must know.",
            file=sys.stderr,
        )
    app.initialize(_culling())
    shown = "localhost" if host in LOOPBACK else host
    print(f"Dashboard: http://{shown}:{port}{base_url}   (Ctrl+C stops it)", flush=True)
    app.observe(
        lambda change: print(
            f"Port {port} is taken. Dashboard: http://{shown}:{change['new']}{base_url}", flush=True
        ),
        "port",
    )
    app.start()
    return 0


def _culling() -> list[str]:
    """Arguments that end idle sessions sooner or later than ``voila.json`` says."""
    idle = os.environ.get(IDLE_VARIABLE, "")
    if not idle.isdigit():
        return []
    kernels = "--MappingKernelManager.cull"
    every = max(1, min(60, int(idle) // 2))
    return [f"{kernels}_idle_timeout={idle}", f"{kernels}_interval={every}"]


def lab(arguments: Sequence[str] = ()) -> int:
    """Open the explorer's notebook in JupyterLab.

    The notebooks of an installed package are copied to ``recipes-notebooks`` in the working
    folder first, so that a reader can change them; one that is there already is left as it is.
    Those of a checkout are opened where they are.

    Returns:
        JupyterLab's exit code.
    """
    set_catalogs(())
    folder = notebooks_dir()
    if folder.parent.name == "_data":
        folder = _copied(folder, Path.cwd() / "recipes-notebooks")
    prompt = (
        []
        if _has_gateway(arguments)
        else [f"--ServerApp.kernel_websocket_connection_class={CONNECTION}"]
    )
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        str(folder / "explorer.ipynb"),
        *prompt,
        *arguments,
    ]
    return subprocess.run(command, check=False).returncode


def _copied(folder: Path, into: Path) -> Path:
    into.mkdir(exist_ok=True)
    for notebook in folder.glob("*.ipynb"):
        if not (into / notebook.name).exists():
            shutil.copy(notebook, into)
    return into


def _has_gateway(arguments: Sequence[str]) -> bool:
    return GATEWAY_VARIABLE in os.environ or any("gateway" in word.casefold() for word in arguments)
