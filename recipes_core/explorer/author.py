"""Writing a recipe: its YAML, what the checks say of it as one types, and how it would look."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.checks import check_catalog
from recipes_core.catalog.loader import BUILTIN, chosen_catalogs, load_catalog
from recipes_core.catalog.pages import is_address
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import Deployment, deploy
from recipes_core.errors import RecipesError
from recipes_core.explorer.frontend import STATIC, CommandCard, Page, zip_of
from recipes_core.explorer.guard import guarded
from recipes_core.explorer.links import outer_keys
from recipes_core.explorer.panels.command import file_asked, first_form, steps_of
from recipes_core.explorer.panels.guide import guide_html
from recipes_core.explorer.panels.head import notices_html, status_html, title_html
from recipes_core.explorer.panels.memory import verdict_html
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.findings import Finding, by_severity
from recipes_core.render.drafts import Drafted, checkpoint_text, draft_recipe
from recipes_core.render.judging import rendered_findings
from recipes_core.sizing import Sizing
from recipes_core.sizing.checkpoint import FOLDER
from recipes_core.sizing.configuration import size_configuration
from recipes_core.sizing.declared import memory_findings
from recipes_core.vllm_cli.tables import versions

DEFAULT_ID = "my-org/my-model"
OWN_KEYS = ("theme", "token")
"""Keys of the page's address that count here: the colours, and what lets a visitor in."""


class Checked(NamedTuple):
    """What came of a recipe's text."""

    findings: list[Finding]
    """Those of this file, the worst first."""
    config: Configuration | None = None
    """The configuration to preview; None where the text leads to none."""
    sizing: Sizing | None = None
    """Its memory; None where nothing is known of the checkpoint."""


def check_text(
    recipe_id: str,
    text: str,
    query: str = "",
    on: Sequence[str | Path] = (BUILTIN,),
    checkpoint: str | None = None,
) -> Checked:
    """What ``recipes check`` would say of a recipe's text, and what the recipe leads to.

    Args:
        recipe_id: ``org/repo``.
        text: The YAML.
        query: The configuration to preview.
        on: The catalogs below it.
        checkpoint: What sizing keeps of the checkpoint's config, as YAML.
    """
    if not is_address(recipe_id):
        return Checked([Finding("error", "id", f"{recipe_id!r} is not of the form org/repo")])
    with tempfile.TemporaryDirectory(prefix="recipe-") as folder:
        mine = f"models/{recipe_id}.yaml"
        _write(Path(folder, mine), text)
        if checkpoint is not None:
            _write(Path(folder, FOLDER, f"{recipe_id}.yaml"), checkpoint)
        catalog = load_catalog(*on, folder, on_error="collect", strict=True, only=[recipe_id])
        found = check_catalog(catalog, released=versions())
        entry = catalog.recipes.get(recipe_id)
        if entry is not None:
            found += [*memory_findings(catalog), *rendered_findings(catalog, entry)]
        found = [
            item._replace(source=mine)
            for item in dict.fromkeys(found)
            if item.source.endswith(mine)
        ]
        if entry is None:
            return Checked(by_severity(found))
        try:
            config = configure(catalog, entry, query)
            return Checked(by_severity(found), config, size_configuration(config, deploy(config)))
        except RecipesError as error:
            return Checked([Finding("error", "unresolved", str(error)), *by_severity(found)])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def text_of(recipe_id: str, catalog: Catalog) -> str | None:
    """The YAML of a recipe that is there already; None where there is none."""
    entry = catalog.recipes.get(recipe_id)
    if entry is None:
        return None
    return (catalog.roots[entry.root] / entry.source).read_text(encoding="utf-8")


def findings_html(findings: list[Finding], text: str = "") -> str:
    """Findings as a list, errors first, each with its line and what stands there."""
    if not findings:
        return '<p class="rx-yes">No check has anything to say.</p>'
    lines = text.splitlines()
    rows = []
    for item in findings:
        kind = {"error": " rx-error", "info": " rx-info"}.get(item.severity, "")
        line = there = ""
        if item.line:
            line = f"line {item.line}: "
            if item.line <= len(lines):
                there = f"<pre>{escape(lines[item.line - 1].strip())}</pre>"
        key = f" <code>{escape(item.where)}</code>" if item.where else ""
        rows.append(
            f'<div class="rx-notice{kind}"><b>{escape(item.severity)}</b> {line}'
            f"{escape(item.message)}{key}{there}</div>"
        )
    return f'<div class="rx-notices">{"".join(rows)}</div>'


def _counted(findings: list[Finding]) -> str:
    """How many findings there are, in words to be read aloud."""
    counts = []
    for severity, name in (("error", "error"), ("warning", "warning"), ("info", "remark")):
        count = sum(item.severity == severity for item in findings)
        if count:
            counts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return ", ".join(counts) or "No check has anything to say"


def address_findings(query: str) -> list[Finding]:
    """What a page's address asks that this screen does not do.

    Args:
        query: Of the address, as voila passes it on.
    """
    outer, rest, unread = outer_keys(query)
    keys = dict.fromkeys(key[:40] for key in (*outer, *(key for key, _ in rest)))
    names = [repr(key) for key in keys if key not in OWN_KEYS]
    texts = [item.reason for item in unread]
    if names:
        listed = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        texts.append(f"{listed}: no such key; known: {', '.join(OWN_KEYS)}")
    ways = "a recipe is opened by the field Recipe, a configuration by the field Preview"
    return [Finding("warning", "address", f"the page's address: {text}; {ways}") for text in texts]


class AuthorPage(Page):
    """The page, with the looks of this screen beside those of the explorer."""

    _css = Page._css + (STATIC / "author.css").read_text(encoding="utf-8")


class Author:
    """A field for the YAML, the findings and the preview beside it."""

    def __init__(
        self, recipe_id: str = DEFAULT_ID, text: str | None = None, address: str | None = None
    ) -> None:
        """Build the screen.

        Args:
            recipe_id: ``org/repo``; one that is in the catalog is opened.
            text: The YAML; None = that of the catalog, or a draft.
            address: The query of the page's address; None = what voila passes on.
        """
        self.kit = kit = Kit(self._fail)
        self.page = AuthorPage(self._fail, store="author")
        self.page.handlers = {"restore": self._restore}
        self.on = chosen_catalogs() or (BUILTIN,)
        self.catalog = load_catalog(*self.on, on_error="collect")
        self.recipe_id, self.query, self.config = recipe_id, "", ""
        self.facts: dict[str, Any] | None = None
        self.text = self.drafted = text or ""
        self.problem = ""
        if address is None:
            address = os.environ.get("QUERY_STRING", "")
        self.asked = address_findings(address)
        if text is None:
            self._draft()
        self.form = kit.form(self._typed)
        self.findings, self.title, self.status = kit.html(), kit.html(), kit.html()
        self.command = CommandCard(layout=kit.layout)
        self.command.on_msg(guarded(self._asked, self._fail))
        self.deployment: Deployment | None = None
        self.memory, self.guide = kit.html(), kit.html()
        save = kit.button("Download", self._download, "rx-primary")
        shown = [self.title, self.status, self.command, self.memory, self.guide]
        left = kit.box([self.form, save], "rx-author-text")
        right = kit.box([self.findings, kit.box(shown, "rx-head", "rx-panel")], "rx-author-shown")
        self.root = kit.box([self.page, kit.box([left, right], "rx-author")], "rx-root")
        self.refresh()

    def refresh(self) -> None:
        """Check the text and show what it leads to."""
        self.form.fields = [
            {"name": "recipe_id", "kind": "text", "label": "Recipe", "value": self.recipe_id,
             "hint": "org/repo, as on Hugging Face; one that is in the catalog is opened"},
            {"name": "query", "kind": "text", "label": "Preview", "value": self.query,
             "placeholder": "hardware=h200&nodes=2", "hint": "the configuration that is shown"},
            {"name": "config", "kind": "area", "label": "config.json", "value": self.config,
             "rows": 3, "placeholder": "{ … }",
             "hint": "of the checkpoint: with it memory is computed, and a text that is still a"
             " draft is filled in"},
            {"name": "text", "kind": "area", "label": "YAML", "value": self.text, "rows": 30,
             "live": True, "hint": "checked while you type; empty it for a new draft"},
        ]  # fmt: skip
        found, config, sizing = check_text(
            self.recipe_id, self.text, self.query, self.on, self._checkpoint()
        )
        problems = [self.problem, self.form.cut("config"), self.form.cut("text")]
        wrong = [Finding("error", "config", text) for text in problems if text]
        found = by_severity([*wrong, *self.asked, *found])
        self.findings.value = findings_html(found, self.text)
        self.page.announce = _counted(found)
        kept = {"recipe_id": self.recipe_id, "query": self.query, "config": self.config}
        self.page.values = json.dumps({**kept, "text": self.text}, ensure_ascii=False)
        if config is None:
            if self.title.value:
                self.status.value = notices_html(
                    [], [], "The preview is of the last text that could be read."
                )
            return
        self._show(config, sizing)

    def _show(self, config: Configuration, sizing: Sizing | None) -> None:
        self.deployment = deployment = deploy(config)
        with self.command.hold_sync():
            self.command.steps = steps_of(deployment)
            self.command.form = first_form(deployment)
            self.command.revision += 1
        self.title.value = title_html(config, deployment)
        notices = notices_html(list(config.adjustments), [])
        self.status.value = status_html(config, deployment) + notices
        self.memory.value = verdict_html(deployment, sizing)
        self.guide.value = guide_html(config)

    def _draft(self) -> None:
        """Begin anew: with the file that the catalog has, or with a draft."""
        known = text_of(self.recipe_id, self.catalog)
        self.text = self.drafted = known or self._new().draft.text

    def _new(self) -> Drafted:
        return draft_recipe(self.recipe_id, self.catalog, self.facts)

    def _checkpoint(self) -> str | None:
        return None if self.facts is None else checkpoint_text(self.recipe_id, self.facts)

    def _typed(self, name: str, value: str) -> None:
        value = value if name == "text" else value.strip()
        if getattr(self, name) == value:
            return
        setattr(self, name, value)
        self.problem = ""
        untouched = self.text == self.drafted or not self.text.strip()
        try:
            if name == "config":
                self.facts = _read_config(value)
            if untouched and name != "query":
                self._draft()
        except RecipesError as error:
            self.problem = str(error)
        self.refresh()

    def _restore(self, kept: str) -> None:
        """Take up what an earlier session of this tab held."""
        values = json.loads(kept)
        for name in ("recipe_id", "query", "config", "text"):
            setattr(self, name, str(values[name]))
        try:
            self.facts = _read_config(self.config)
        except RecipesError as error:
            self.problem = str(error)
        self.refresh()

    def _download(self) -> None:
        checkpoint = self._checkpoint()
        repo = self.recipe_id.rpartition("/")[2] or "recipe"
        if checkpoint is None:
            self.page.download(f"{repo}.yaml", self.text, "application/yaml")
            return
        files = {
            f"models/{self.recipe_id}.yaml": self.text,
            f"{FOLDER}/{self.recipe_id}.yaml": checkpoint,
        }
        self.page.download(f"{repo}.zip", zip_of(files), "application/zip")

    def _asked(self, _: Any, message: Any, _buffers: Any) -> None:
        file = None if self.deployment is None else file_asked(self.deployment, message)
        if file is not None:
            self.page.download(*file)

    def _fail(self, text: str) -> None:
        self.findings.value = findings_html([Finding("error", "inside", text)])

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.root)  # type: ignore[no-untyped-call]


def _read_config(text: str) -> dict[str, Any] | None:
    """A pasted config.json; None where nothing was pasted.

    Raises:
        RecipesError: It is no JSON object, or sizing cannot read it.
    """
    from recipes_core.sizing import Architecture

    if not text:
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise RecipesError(f"config.json: {error}") from None
    if not isinstance(found, dict):
        raise RecipesError("config.json: an object is needed, { … }")
    Architecture.from_config(found)
    return found


__all__ = ["Author", "Checked", "check_text"]
