"""Share and export: links, a snippet that makes the same screen, and every form there is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING
from urllib.parse import quote

from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment, ReaderValues
from recipes_core.errors import RecipesError
from recipes_core.explorer.frontend import zip_of
from recipes_core.explorer.kernel import PAGE_VARIABLE
from recipes_core.explorer.panels.figures import copyable_html
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.link import json_query, page_query
from recipes_core.render.scripts import script_files
from recipes_core.render.shell import quote as quoted

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState

BINDER_VARIABLE = "RECIPES_BINDER"
"""Address of the repository on Binder, such as ``https://mybinder.org/v2/gh/owner/repo/main``."""
BINDER_LIMITS = (
    "mybinder.org promises 450 MB of memory and ends a session that nobody looks at after ten"
    " minutes; on a machine of your own: recipes dashboard"
)
BINDER_SETTING = (
    "is to hold the repository's address there, such as"
    " https://mybinder.org/v2/gh/OWNER/REPO/main, where the dashboard is started"
)
Form = tuple[str, str, Callable[[Configuration, Deployment], str]]


def snippet(config: Configuration, deployment: Deployment) -> str:
    """Python that makes the same commands; it needs neither widgets nor a browser."""
    query = page_query(config)
    roots = [str(root) for root in config.catalog.roots if root != "builtin"]
    catalogs = "" if not roots else ", ".join(json.dumps(r) for r in config.catalog.roots)
    asked = f", {json.dumps(query)}" if query else ""
    given = {
        item.name: value
        for item in fields(ReaderValues)
        if (value := getattr(deployment.values, item.name))
    }
    values = ", ".join(
        f"{name}={dict(value) if name == 'placeholders' else value!r}"
        for name, value in given.items()
    )
    names = "ReaderValues, configure" if values else "configure"
    return (
        f"from recipes_core import {names}, deploy, load_catalog, script\n\n"
        f"catalog = load_catalog({catalogs})\n"
        f"config = configure(catalog, {json.dumps(config.entry.id)}{asked})\n"
        f"deployment = deploy(config{f', ReaderValues({values})' if values else ''})\n"
        "for process in deployment.processes:\n"
        "    print(script(process))\n"
    )


def _shell(_: Configuration, deployment: Deployment) -> str:
    return "\n".join(f"# --- {name}\n{text}" for name, text in script_files(deployment).items())


def _markdown(config: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.markdown import to_markdown

    return to_markdown(config, deployment)


def _json(config: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.beside import command_findings, figures
    from recipes_core.render.json import to_json

    sizing, unsized = figures(config, deployment)
    document = to_json(config, deployment, sizing, [*command_findings(deployment), *unsized])
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _compose(_: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.compose import to_compose

    return to_compose(deployment)


def _slurm(_: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.slurm import to_slurm

    return to_slurm(deployment)


def _vllm_config(_: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.vllm_config import to_vllm_config

    return to_vllm_config(deployment)


def _vllm_configs(deployment: Deployment) -> dict[str, str]:
    from recipes_core.render.vllm_config import to_vllm_config

    names = [process.name for process in deployment.processes if process.is_engine]
    return {f"{name}.yaml": to_vllm_config(deployment, name) for name in names}


def _kubernetes(_: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.kubernetes import to_kubernetes

    return to_kubernetes(deployment)


FORMS: dict[str, Form] = {
    "python": ("Python", "recipe.py", snippet),
    "shell": ("Shell scripts", "scripts.zip", _shell),
    "markdown": ("Markdown", "recipe.md", _markdown),
    "json": ("JSON", "recipe.json", _json),
    "compose": ("Docker Compose", "compose.yaml", _compose),
    "kubernetes": ("Kubernetes", "deployment.yaml", _kubernetes),
    "slurm": ("Slurm", "serve.sbatch", _slurm),
    "vllm-config": ("vLLM --config file", "vllm.yaml", _vllm_config),
}
FILES: dict[str, Callable[[Deployment], dict[str, str]]] = {
    "shell": script_files,
    "vllm-config": _vllm_configs,
}
"""Forms that are several files, which are downloaded together."""


def command_line(config: Configuration) -> str:
    """The ``recipes show`` that prints the same configuration."""
    return f"recipes show {config.entry.id} --query {quoted(json_query(config))}"


class SharePanel:
    """Everything that leaves the screen."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        self.link = kit.form(self._paste)
        self.links = kit.html()
        self.form = kit.dropdown("Export as")
        self.form.show([(title, name) for name, (title, _, _) in FORMS.items()], "python")
        self.form.on_choice(lambda _: self.refresh(), kit.on_error)
        self.save = kit.button("Download", self._download)
        self.text = kit.html()
        self.box = kit.box(
            [self.link, self.links, kit.box([self.form, self.save], "rx-row"), self.text],
            "rx-panel",
        )

    def refresh(self) -> None:
        """Show links and the chosen form."""
        self.link.fields = [
            {"name": "link", "kind": "text", "label": "Paste a link", "value": "", "wide": True,
             "placeholder": "a link of this page, of recipes.vllm.ai, or org/repo",
             "hint": "opens the same configuration here"},
        ]  # fmt: skip
        self.links.value = self._links_html()
        try:
            self.text.value = copyable_html(self._rendered(), "The exported text")
        except RecipesError as error:
            self.text.value = f'<p class="rx-notice">{escape(error)}</p>'
        self.save.disabled = self.text.value.startswith("<p")

    def _rendered(self) -> str:
        config, deployment = self.state.configuration, self.state.deployment
        if config is None or deployment is None:
            raise RecipesError("nothing is shown yet")
        try:
            return FORMS[self.form.value][2](config, deployment)
        except ImportError:
            raise RecipesError("this form is not part of this installation") from None

    def _links_html(self) -> str:
        query = self.state.page_query()
        # The kernel's address is that of the server: a proxy before it has another scheme, host or
        # path, which the browser alone knows.
        page = self.page.address or os.environ.get(PAGE_VARIABLE, "").partition("?")[0]
        here = ("This page", f"{page}?{query}", "")
        if not page.startswith(("https://", "http://")):
            # In JupyterLab a notebook's address cannot hold a query.
            here = (
                "Under voila",
                f"/voila/render/explorer.ipynb?{query}",
                "behind the address of a dashboard",
            )
        base = os.environ.get(BINDER_VARIABLE, "")
        inner = quote(f"voila/render/notebooks/explorer.ipynb?{query}", safe="")
        binder = ("On Binder", f"{base}?urlpath={inner}", BINDER_LIMITS)
        if not base.startswith("https://"):
            binder = ("On Binder", "", f"no link: {BINDER_VARIABLE} {BINDER_SETTING}")
        config = self.state.configuration
        command = command_line(config) if config is not None else ""
        rows = [here, binder, ("On a command line", command, "")]
        return "".join(
            f'<h3 class="rx-h3">{escape(title)}</h3>'
            + (copyable_html(text, title) if text else "")
            + (f'<p class="rx-source">{escape(note)}</p>' if note else "")
            for title, text, note in rows
        )

    def _paste(self, _: str, text: str) -> None:
        if text.strip():
            self.state.open_link(text)

    def _download(self) -> None:
        deployment = self.state.deployment
        name = FORMS[self.form.value][1]
        parts = FILES.get(self.form.value)
        files = parts(deployment) if parts is not None and deployment is not None else {}
        if len(files) > 1:
            archive = f"{name.rpartition('.')[0]}.zip"
            self.page.download(archive, zip_of(files), "application/zip")
            return
        mime = "application/json" if name.endswith(".json") else "text/plain"
        self.page.download(name, self._rendered(), mime)
