"""Share and export: links, a snippet that makes the same screen, and every form there is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment
from recipes_core.errors import RecipesError
from recipes_core.explorer.panels.figures import copyable_html
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.link import page_query

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState

BINDER_VARIABLE = "RECIPES_BINDER"
"""Address of the repository on Binder, such as ``https://mybinder.org/v2/gh/owner/repo/main``."""
Form = tuple[str, str, Callable[[Configuration, Deployment], str]]


def snippet(config: Configuration) -> str:
    """Python that makes the same configuration; it needs neither widgets nor a browser."""
    query = page_query(config)
    roots = [str(root) for root in config.catalog.roots if root != "builtin"]
    catalogs = "" if not roots else ", ".join(json.dumps(r) for r in config.catalog.roots)
    asked = f", {json.dumps(query)}" if query else ""
    return (
        "from recipes_core import configure, deploy, load_catalog, script\n\n"
        f"catalog = load_catalog({catalogs})\n"
        f"config = configure(catalog, {json.dumps(config.entry.id)}{asked})\n"
        "deployment = deploy(config)\n"
        "for process in deployment.processes:\n"
        "    print(script(process))\n"
    )


def _shell(_: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.shell import guarded_script

    return "\n".join(guarded_script(deployment, process) for process in deployment.processes)


def _markdown(config: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.markdown import to_markdown

    return to_markdown(config, deployment)


def _json(config: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.beside import command_findings, sizing_json
    from recipes_core.render.json import to_json

    document = to_json(
        config, deployment, sizing_json(config, deployment), command_findings(deployment)
    )
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


def _kubernetes(_: Configuration, deployment: Deployment) -> str:
    from recipes_core.render.kubernetes import to_kubernetes

    return to_kubernetes(deployment)


FORMS: dict[str, Form] = {
    "python": ("Python", "recipe.py", lambda config, _: snippet(config)),
    "shell": ("Shell scripts", "serve.sh", _shell),
    "markdown": ("Markdown", "recipe.md", _markdown),
    "json": ("JSON", "recipe.json", _json),
    "compose": ("Docker Compose", "compose.yaml", _compose),
    "kubernetes": ("Kubernetes", "deployment.yaml", _kubernetes),
    "slurm": ("Slurm", "serve.sbatch", _slurm),
    "vllm-config": ("vLLM --config file", "vllm.yaml", _vllm_config),
}


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
        rows = [("For a dashboard under voila", f"/voila/render/explorer.ipynb?{query}")]
        base = os.environ.get(BINDER_VARIABLE, "")
        inner = quote(f"voila/render/notebooks/explorer.ipynb?{query}", safe="")
        if base.startswith("https://"):
            rows.append(("On Binder", f"{base}?urlpath={inner}"))
        rows.append(("On a command line", self.state.command_line()))
        return "".join(
            f'<h3 class="rx-h3">{escape(title)}</h3>{copyable_html(text, title)}'
            for title, text in rows
        )

    def _paste(self, _: str, text: str) -> None:
        if text.strip():
            try:
                self.state.open_link(text)
            except RecipesError as error:
                self.state.problem = str(error)

    def _download(self) -> None:
        name = FORMS[self.form.value][1]
        mime = "application/json" if name.endswith(".json") else "text/plain"
        self.page.download(name, self._rendered(), mime)
