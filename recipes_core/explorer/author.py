"""Writing a recipe: its YAML, what the checks say of it as one types, and how it would look."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.checks import check_catalog
from recipes_core.catalog.loader import BUILTIN, load_catalog
from recipes_core.catalog.pages import is_address
from recipes_core.catalog.starter import starter_recipe
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import deploy
from recipes_core.errors import RecipesError
from recipes_core.explorer.frontend import CommandCard, Page
from recipes_core.explorer.panels.command import steps_of
from recipes_core.explorer.panels.guide import guide_html
from recipes_core.explorer.panels.head import status_html, title_html
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.findings import Finding, by_severity
from recipes_core.vllm_cli.tables import versions

DEFAULT_ID = "my-org/my-model"


def starter(recipe_id: str, catalog: Catalog, config: dict[str, Any] | None = None) -> str:
    """The YAML to begin with; what nobody knows yet is left out and named in comments.

    Args:
        recipe_id: ``org/repo``.
        catalog: The catalog that it will be stacked on.
        config: The checkpoint's ``config.json``, if at hand.

    Raises:
        RecipesError: The id is malformed, or taken.
    """
    draft = starter_recipe(recipe_id, catalog, newest_vllm=versions()[-1], config=config)
    return draft.text


def check_text(
    recipe_id: str, text: str, query: str = "", on: Iterable[str] = (BUILTIN,)
) -> tuple[list[Finding], Configuration | None]:
    """What the checks say of a recipe's text, and the configuration that it leads to.

    Args:
        recipe_id: ``org/repo``.
        text: The YAML.
        query: The configuration to preview.
        on: The catalogs below it.

    Returns:
        The findings of this file, the worst first; None where it cannot be resolved.
    """
    if not is_address(recipe_id):
        return [Finding("error", "id", f"{recipe_id!r} is not of the form org/repo")], None
    org, _, repo = recipe_id.partition("/")
    with tempfile.TemporaryDirectory(prefix="recipe-") as folder:
        path = Path(folder, "models", org, f"{repo}.yaml")
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        catalog = load_catalog(*on, folder, on_error="collect", strict=True, only=[recipe_id])
        mine = f"models/{org}/{repo}.yaml"
        found = [
            item._replace(source=mine)
            for item in check_catalog(catalog, released=versions())
            if item.source.endswith(mine)
        ]
        if recipe_id not in catalog.recipes:
            return by_severity(found), None
        try:
            return by_severity(found), configure(catalog, recipe_id, query)
        except RecipesError as error:
            return [Finding("error", "unresolved", str(error)), *by_severity(found)], None


def findings_html(findings: list[Finding]) -> str:
    """Findings as a list, errors first, each with its line."""
    if not findings:
        return '<p class="rx-yes" role="status">No check has anything to say.</p>'
    rows = []
    for item in findings:
        kind = {"error": " rx-error", "info": " rx-info"}.get(item.severity, "")
        line = f"line {item.line} · " if item.line else ""
        key = f" <code>{escape(item.where)}</code>" if item.where else ""
        rows.append(
            f'<div class="rx-notice{kind}"><b>{escape(item.severity)}</b> {line}'
            f"{escape(item.message)}{key}</div>"
        )
    return f'<div class="rx-notices" role="status">{"".join(rows)}</div>'


class Author:
    """A field for the YAML, the findings beside it, the preview below."""

    def __init__(self, recipe_id: str = DEFAULT_ID, text: str | None = None) -> None:
        self.kit = kit = Kit(self._fail)
        self.page = Page(self._fail)
        self.recipe_id, self.query = recipe_id, ""
        self.text = starter(recipe_id, load_catalog()) if text is None else text
        self.form = kit.form(self._typed)
        self.findings = kit.html()
        self.title = kit.html()
        self.status = kit.html()
        self.command = CommandCard(layout=kit.layout)
        self.guide = kit.html()
        save = kit.button("Download the file", self._download, "rx-primary")
        preview = kit.box([self.title, self.status, self.command, self.guide], "rx-head")
        self.root = kit.box([self.page, self.form, self.findings, save, preview], "rx-root")
        self.refresh()

    def refresh(self) -> None:
        """Check the text and show what it leads to."""
        self.form.fields = [
            {"name": "recipe_id", "kind": "text", "label": "Recipe", "value": self.recipe_id,
             "hint": "org/repo, as on Hugging Face"},
            {"name": "query", "kind": "text", "label": "Preview", "value": self.query,
             "placeholder": "hardware=h200&nodes=2", "hint": "the configuration that is shown"},
            {"name": "text", "kind": "area", "label": "YAML", "value": self.text, "rows": 24,
             "hint": "checked when you leave the field"},
        ]  # fmt: skip
        found, config = check_text(self.recipe_id, self.text, self.query)
        self.findings.value = findings_html(found)
        if config is None:
            return
        deployment = deploy(config)
        with self.command.hold_sync():
            self.command.steps = steps_of(deployment)
            self.command.revision += 1
        self.title.value = title_html(config, deployment)
        self.status.value = status_html(config, deployment)
        self.guide.value = guide_html(config)

    def _typed(self, name: str, value: str) -> None:
        setattr(self, name, value if name == "text" else value.strip())
        self.refresh()

    def _download(self) -> None:
        name = self.recipe_id.rpartition("/")[2] or "recipe"
        self.page.download(f"{name}.yaml", self.text, "application/yaml")

    def _fail(self, text: str) -> None:
        self.findings.value = findings_html([Finding("error", "inside", text)])

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.root)  # type: ignore[no-untyped-call]


__all__ = ["Author", "check_text", "starter"]
