"""Compare: two to four configurations side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from recipes_core.catalog.loader import BUILTIN
from recipes_core.explorer.compared import MAX_COMPARED
from recipes_core.explorer.panels.figures import copyable_html
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.render.comparison import ABSENT, Comparison, compare

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState

GROUPS = {
    "choice": "Choices",
    "memory": "Memory",
    "flag": "Flags",
    "variable": "Variables",
    "command": "Commands",
}


def comparison_html(comparison: Comparison, *, removable: bool = True) -> str:
    """The comparison as a table; rows in which they differ stand out."""
    heads = "".join(
        f'<th scope="col">{escape(name)}{_tools(place, name) if removable else ""}</th>'
        for place, name in enumerate(comparison.names)
    )
    body, group = [], ""
    width = len(comparison.names) + 1
    for row in comparison.rows:
        if row.group != group:
            group = row.group
            title = f'<span class="rx-group">{GROUPS[group]}</span>'
            body.append(f'<tr><th scope="colgroup" colspan="{width}">{title}</th></tr>')
        code = row.group in {"flag", "variable"}
        cells = "".join(f"<td>{_value(text, row.group)}</td>" for text in row.cells)
        label = f"<code>{escape(row.label)}</code>" if code else escape(row.label)
        now = ' class="rx-now"' if row.differs else ""
        body.append(f'<tr{now}><th scope="row">{label}</th>{cells}</tr>')
    return (
        '<div class="rx-scroll" tabindex="0" role="region"'
        ' aria-label="Configurations side by side">'
        f'<table class="rx-table rx-compare"><thead><tr><td></td>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _value(text: str, group: str) -> str:
    if text == ABSENT or group in {"choice", "memory"}:
        return escape(text)
    tag = "pre" if group == "command" else "code"
    return f"<{tag}>{escape(text)}</{tag}>"


def _tools(place: int, name: str) -> str:
    return "<br>" + "".join(
        f'<button type="button" class="rx-button rx-quiet" data-rx-send="{kind}"'
        f' data-rx-value="{place}" aria-label="{word} column {place + 1}, {escape(name)}">'
        f"{word}</button>"
        for kind, word in (("recall", "Open"), ("drop", "Remove"))
    )


def frame_snippet(state: ExplorerState) -> str:
    """Python that makes the same comparison as a DataFrame."""
    roots = [name if name == BUILTIN else str(at) for name, at in state.catalog.roots.items()]
    catalogs = "" if roots == [BUILTIN] else ", ".join(map(json.dumps, roots))
    asked = "".join(
        f"    ({json.dumps(item.recipe_id)}, {json.dumps(item.query)}),\n"
        for item in state.compared
    )
    return (
        "from recipes_core import configure, deploy, load_catalog\n"
        "from recipes_core.frames import comparison_frame\n"
        "from recipes_core.render.comparison import compare\n\n"
        f"catalog = load_catalog({catalogs})\n"
        f"asked = [\n{asked}]\n"
        "found = [configure(catalog, model, query) for model, query in asked]\n"
        "frame = comparison_frame(compare([(config, deploy(config)) for config in found]))\n"
        "frame\n"
    )


class ComparePanel:
    """Configurations that the reader keeps beside each other."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        page.handlers["drop"] = lambda place: self._at(state.drop_compared, place)
        page.handlers["recall"] = lambda place: self._at(state.open_compared, place)
        self.add = kit.button("Add what is shown now", state.compare_current, "rx-primary")
        self.rows = kit.dropdown("Rows")
        self.rows.show([("All", "all"), ("Differences only", "differences")], "all")
        self.rows.on_choice(lambda _: self.refresh(), kit.on_error)
        self.table = kit.html()
        self.forms = kit.html()
        self.count = kit.html()
        self.box = kit.box(
            [kit.box([self.add, self.rows, self.count], "rx-row"), self.table, self.forms],
            "rx-panel",
        )
        state.observe(lambda _: self.refresh(), "compared_revision")

    def _at(self, act: Callable[[int], None], place: str) -> None:
        if place.isdecimal():
            act(int(place))

    def refresh(self) -> None:
        """Show the configurations that are kept."""
        kept = self.state.compared_configurations()
        self.count.value = (
            f'<span class="rx-source">{len(kept)} of {MAX_COMPARED} kept'
            f"{'; remove one to add another' if len(kept) >= MAX_COMPARED else ''}</span>"
        )
        if not kept:
            self.table.value = (
                '<p class="rx-empty">Nothing is kept. Add what is shown now, change model, GPU or'
                f" strategy, and add again; up to {MAX_COMPARED} stand side by side.</p>"
            )
            self.forms.value = ""
            return
        comparison = compare(kept)
        if self.rows.value == "differences" and len(kept) > 1:
            comparison = comparison.only_differences()
        self.table.value = comparison_html(comparison)
        if len(kept) == 1:
            self.table.value += (
                '<p class="rx-empty">Now change model, GPU or strategy, and add again.</p>'
            )
        forms = {
            "As Markdown": comparison.to_markdown(),
            "As a DataFrame": frame_snippet(self.state),
        }
        self.forms.value = "".join(
            f"<details><summary>{name}</summary>{copyable_html(text, name)}</details>"
            for name, text in forms.items()
        )
