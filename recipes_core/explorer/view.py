"""The screen: widgets that are built once, then follow the state."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from recipes_core.catalog.catalog import Catalog
from recipes_core.errors import RecipesError
from recipes_core.explorer.frontend import CommandCard, Page
from recipes_core.explorer.guard import guarded
from recipes_core.explorer.panels.command import (
    file_asked,
    first_form,
    mark_changes,
    steps_of,
)
from recipes_core.explorer.panels.head import (
    notices_html,
    status_html,
    summary,
    title_html,
    told_text,
)
from recipes_core.explorer.state import ExplorerState
from recipes_core.explorer.widgets import Kit, escape, visible

if TYPE_CHECKING:
    from recipes_core.explorer.panels.axes import AxesPanel
    from recipes_core.explorer.panels.details import DetailPanels
    from recipes_core.explorer.panels.find import FindPanel

log = logging.getLogger("recipes_core.explorer")
PREPARE_S = 0.05
"""Seconds after which the cell is surely done."""


class Explorer:
    """One explorer: a state and the widgets that show it.

    The command is built first; the rest follows while the browser is still loading.
    """

    def __init__(
        self,
        catalog: Catalog,
        query: str | None = None,
        whole: Callable[[], Catalog] | None = None,
    ) -> None:
        """Build the screen.

        Args:
            catalog: What to show; it may hold the asked recipe alone.
            query: The link's query; None = what voila passes on.
            whole: Loads the whole catalog, once the command is on its way.
        """
        self.whole = whole
        self.state = state = ExplorerState(catalog)
        state.open_query(os.environ.get("QUERY_STRING", "") if query is None else query)
        self.kit = kit = Kit(state.tell)
        self.page = Page(state.tell)
        self.page.handlers = {"restore": self._restore, "ready": self._ready}
        self.title = kit.html("", "rx-heading")
        self.status = kit.html("", "rx-status-line")
        self.notices = kit.html("", "rx-notice-list")
        self.command = CommandCard(layout=kit.layout)
        self.command.on_msg(guarded(self._asked, state.tell))
        self.find: FindPanel | None = None
        self.axes: AxesPanel | None = None
        self.details: DetailPanels | None = None
        self.undo: w.Button | None = None
        head = kit.box([self.title, self.status, self.notices, self.command], "rx-head")
        self.slots = {name: kit.box([], "rx-slot") for name in ("top", "find", "axes", "details")}
        top, find, axes, details = self.slots.values()
        self.root = kit.box(
            [self.page, top, kit.box([find, head, axes, details], "rx-grid")], "rx-root"
        )
        self._steps: list[dict[str, Any]] = []
        self._shown = ""
        state.observe(lambda _: self.refresh(), "revision")
        state.observe(lambda _: self._tell(), "told")
        state.observe(lambda _: self._address(), ["tab", "compared_revision"])
        self.refresh()
        if _in_loop():
            # The rest is built when the browser says that it is there (_ready): widgets that were
            # made while it still collects those that exist would be lost to it.
            asyncio.get_running_loop().call_later(PREPARE_S, guarded(self._prepare, state.tell))
        else:
            self.complete()

    def _prepare(self) -> None:
        """Load what the rest will need, while the browser is still busy with the page."""
        if self.whole is not None:
            self.state.widen(self.whole())
            self.whole = None
        for name in ("axes", "details", "find", "memory"):
            import_module(f"recipes_core.explorer.panels.{name}")
        _ = self.state.tightest, self.state.findings

    def complete(self) -> None:
        """Build what may come after the command: the list, the axes, the panels below."""
        if self.details is not None:
            return
        self._prepare()
        from recipes_core.explorer.panels.axes import AxesPanel
        from recipes_core.explorer.panels.details import DetailPanels
        from recipes_core.explorer.panels.find import FindPanel

        kit, state = self.kit, self.state
        self.axes = AxesPanel(kit, state)
        self.find = FindPanel(kit, state)
        self.details = DetailPanels(kit, state, self.page)
        self.undo = kit.button("Undo", state.undo)
        parts = (self._top(self.undo), self.find.box, self.axes.box, self.details.box)
        for slot, part in zip(self.slots.values(), parts, strict=True):
            slot.children = [part]
        self.refresh()

    def _top(self, undo: w.Button) -> w.Box:
        brand = (
            '<div class="rx-brand-row"><span class="rx-brand-name">vLLM recipes</span>'
            '<span class="rx-brand-sub">exact commands, and whether they fit</span></div>'
        )
        tools = (
            '<div class="rx-buttons" style="margin:0">'
            '<button type="button" class="rx-button rx-only-narrow" data-rx-toggle="find"'
            ' aria-expanded="false">Models</button>'
            '<button type="button" class="rx-button rx-quiet" data-rx-theme>Light / dark</button>'
            '<button type="button" class="rx-button" data-rx-copy-link>Copy link</button></div>'
        )
        kit = self.kit
        reset = kit.button("Reset", self.state.reset, tooltip="Back to the recipe's defaults")
        return kit.box([kit.html(brand, "rx-brand"), undo, reset, kit.html(tools)], "rx-top")

    # --- following the state ----------------------------------------------------------------

    def refresh(self) -> None:
        """Show the state; the command first, since that is what a reader waits for."""
        state = self.state
        config, deployment = state.configuration, state.deployment
        if config is None or deployment is None:
            self._show_notices()
            return
        steps = steps_of(deployment)
        if self._shown == config.entry.id:
            mark_changes(self._steps, steps)
        self._steps = steps
        with self.command.hold_sync():
            self.command.steps = steps
            self.command.form = first_form(deployment)
            self.command.revision = state.revision
        self.status.value = status_html(config, deployment)
        self.title.value = title_html(config, deployment)
        with self.page.hold_sync():
            self.page.query = state.page_query()
            self.page.title = f"{config.recipe.meta.title} · vLLM recipes"
            self.page.values = state.values_text()
            self.page.announce = f"{config.recipe.meta.title}: {summary(config, deployment)}"
            if self.axes is not None:
                self.page.hints = self.axes.show(config)
        self._show_notices()
        self._shown = config.entry.id
        self._show_undo()
        if self.find is not None:
            self.find.follow()
        if self.details is not None:
            self.details.refresh()

    def _show_notices(self) -> None:
        state, findings = self.state, []
        if state.deployment is not None:
            # The check of the commands takes longer than they do: it waits until they are shown.
            findings = state.findings if self.details is not None else state.deployment.findings
        self.notices.value = notices_html(state.notices, findings, state.problem)
        visible(self.notices, bool(self.notices.value))

    def _tell(self) -> None:
        self._show_notices()
        self.page.tell(told_text(self.state.notices, self.state.problem))

    def _address(self) -> None:
        self.page.query = self.state.page_query()
        self._show_undo()

    def _show_undo(self) -> None:
        if self.undo is not None:
            self.undo.disabled = not self.state.can_undo

    # --- what the browser asks ----------------------------------------------------------------

    def _asked(self, _: Any, message: Any, _buffers: Any) -> None:
        deployment = self.state.deployment
        file = None if deployment is None else file_asked(deployment, message)
        if file is not None:
            self.page.download(*file)

    def _ready(self, address: str) -> None:
        self.page.address = address
        self.complete()

    def _restore(self, text: str) -> None:
        try:
            self.state.read_values(text, restored=True)
        except RecipesError as error:
            log.info("values of an earlier page were not taken: %s", error)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.root)  # type: ignore[no-untyped-call]


def notice(text: str) -> w.HTML:
    """What stands in place of a screen that cannot be built."""
    return w.HTML(f'<div role="alert"><b>No catalog to show.</b> {escape(text)}</div>')


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


__all__ = ["Explorer", "notice"]
