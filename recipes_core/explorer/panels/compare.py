"""Compare: two to four configurations side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recipes_core.explorer.links import MAX_COMPARED
from recipes_core.explorer.panels.figures import copyable_html
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.render.comparison import ABSENT, Comparison, compare

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState

GROUPS = {"choice": "Choices", "memory": "Memory", "flag": "Flags", "variable": "Variables"}


def comparison_html(comparison: Comparison, *, removable: bool = True) -> str:
    """The comparison as a table; rows in which they differ stand out."""
    heads = "".join(
        f'<th scope="col">{escape(name)}{_remove(place) if removable else ""}</th>'
        for place, name in enumerate(comparison.names)
    )
    body, group = [], ""
    width = len(comparison.names) + 1
    for row in comparison.rows:
        if row.group != group:
            group = row.group
            body.append(f'<tr><th scope="colgroup" colspan="{width}">{GROUPS[group]}</th></tr>')
        code = row.group in {"flag", "variable"}
        cells = "".join(f"<td>{_value(text, code=code)}</td>" for text in row.cells)
        label = f"<code>{escape(row.label)}</code>" if code else escape(row.label)
        now = ' class="rx-now"' if row.differs else ""
        body.append(f'<tr{now}><th scope="row">{label}</th>{cells}</tr>')
    return (
        '<div class="rx-scroll" tabindex="0" role="region"'
        ' aria-label="Configurations side by side">'
        f'<table class="rx-table rx-compare"><thead><tr><td></td>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _value(text: str, *, code: bool) -> str:
    return f"<code>{escape(text)}</code>" if code and text != ABSENT else escape(text)


def _remove(place: int) -> str:
    return (
        f' <button type="button" class="rx-button rx-quiet" data-rx-send="drop"'
        f' data-rx-value="{place}" aria-label="Remove column {place + 1}">Remove</button>'
    )


class ComparePanel:
    """Configurations that the reader keeps beside each other."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        page.handlers["drop"] = self._drop
        self.add = kit.button("Add what is shown now", state.compare_current, "rx-primary")
        self.rows = kit.dropdown("Rows")
        self.rows.show([("All", "all"), ("Differences only", "differences")], "all")
        self.rows.on_choice(lambda _: self.refresh(), kit.on_error)
        self.table = kit.html()
        self.markdown = kit.html()
        self.box = kit.box(
            [kit.box([self.add, self.rows], "rx-row"), self.table, self.markdown], "rx-panel"
        )
        state.observe(lambda _: self.refresh(), "compared_revision")

    def _drop(self, place: str) -> None:
        if place.isdigit():
            self.state.drop_compared(int(place))

    def refresh(self) -> None:
        """Show the configurations that are kept."""
        kept = self.state.compared_configurations()
        self.add.disabled = len(kept) >= MAX_COMPARED
        if len(kept) < 2:
            have = "Nothing is" if not kept else "One configuration is"
            self.table.value = (
                f'<p class="rx-empty">{have} kept. Add what is shown now, change model, GPU or'
                f" strategy, and add again; up to {MAX_COMPARED} stand side by side.</p>"
            )
            self.markdown.value = ""
            return
        comparison = compare(kept)
        if self.rows.value == "differences":
            comparison = comparison.only_differences()
        self.table.value = comparison_html(comparison)
        text = copyable_html(comparison.to_markdown(), "Comparison as Markdown")
        self.markdown.value = f"<details><summary>As Markdown</summary>{text}</details>"
