"""The screen: widgets that are built once, then follow the state."""

from __future__ import annotations

import gc
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from recipes_core.catalog.catalog import Catalog
from recipes_core.errors import RecipesError
from recipes_core.explorer.frame import Frame
from recipes_core.explorer.guard import guarded
from recipes_core.explorer.kernel import CELL_S, alone, later
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
from recipes_core.explorer.widgets import visible
from recipes_core.selection import Selection

if TYPE_CHECKING:
    from recipes_core.explorer.panels.axes import AxesPanel
    from recipes_core.explorer.panels.details import DetailPanels
    from recipes_core.explorer.panels.find import FindPanel

log = logging.getLogger("recipes_core.explorer")


class Explorer:
    """One explorer: a state and the widgets that show it.

    The command is built first; the rest follows while the browser is still loading.
    """

    def __init__(
        self,
        catalog: Catalog,
        query: str = "",
        whole: Callable[[], Catalog] | None = None,
        frame: Frame | None = None,
    ) -> None:
        """Build the screen.

        Args:
            catalog: What to show; it may hold the asked recipe alone.
            query: The link's query.
            whole: Loads the whole catalog, once the command is on its way; None = this is it.
            frame: The empty screen to fill; None = a new one.
        """
        self.frame = frame = frame if frame is not None else Frame()
        self.state = state = ExplorerState(catalog)
        frame.on_error = state.tell
        state.open_query(query)
        self.kit, self.page, self.command = frame.kit, frame.page, frame.command
        self.title, self.status, self.notices = frame.title, frame.status, frame.notices
        self.page.handlers = {
            "restore": self._restore,
            "ready": self._ready,
            "open": lambda query: state.ask(**Selection.from_query(query).asked()),
        }
        self.command.on_msg(guarded(self._asked, state.tell))
        self.find: FindPanel | None = None
        self.axes: AxesPanel | None = None
        self.details: DetailPanels | None = None
        self.undo: w.Button | None = None
        self._steps: list[dict[str, Any]] = []
        self._shown = ""
        self._unprepared: deque[Callable[[], object]] = deque()
        if whole is not None:
            self._unprepared.append(lambda: state.widen(whole()))
        for name in ("axes", "details", "find", "memory"):
            self._unprepared.append(partial(import_module, f"recipes_core.explorer.panels.{name}"))
        self._unprepared.extend((lambda: state.tightest, lambda: state.findings))
        state.observe(lambda _: self.refresh(), "revision")
        state.observe(lambda _: self._tell(), "told")
        state.observe(lambda _: self._address(), ["tab", "compared_revision"])
        self.refresh()
        # The rest is built when the browser says that it is there (_ready): widgets that were made
        # while it still collects those that exist would be lost to it.
        if not later(CELL_S, self._prepare_next):
            self.complete()

    def _prepare_next(self) -> None:
        """Load a part of what the rest will need, while the browser is still busy with the page.

        One part at a time: what the browser asks is answered between two.
        """
        if self._unprepared:
            self._prepare_part()
            later(0.0, self._prepare_next)

    def _prepare_part(self) -> None:
        """What cannot be had is told; the rest of the screen comes without it."""
        guarded(self._unprepared.popleft(), self.state.tell)()

    def complete(self) -> None:
        """Build what may come after the command: the list, the axes, the panels below."""
        if self.details is not None:
            return
        while self._unprepared:
            self._prepare_part()
        from recipes_core.explorer.panels.axes import AxesPanel
        from recipes_core.explorer.panels.details import DetailPanels
        from recipes_core.explorer.panels.find import FindPanel

        kit, state = self.kit, self.state
        self.axes = AxesPanel(kit, state)
        self.find = FindPanel(kit, state)
        self.details = DetailPanels(kit, state, self.page)
        self.undo = kit.button("Undo", state.undo)
        parts = (self._top(self.undo), self.find.box, self.axes.box, self.details.box)
        for slot, part in zip(self.frame.slots.values(), parts, strict=True):
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
        with self.page.hold_sync():
            self.page.query, self.page.revision = state.page_query(), state.revision
            self.page.title = f"{config.recipe.meta.title} · vLLM recipes"
            self.page.values = state.values_text()
            self.page.announce = f"{config.recipe.meta.title}: {summary(config, deployment)}"
            if self.axes is not None:
                self.page.hints = self.axes.show(config)
        self.title.value = title_html(config, deployment)
        # Last, since the page looks then whether the command and the link are of the same choice.
        summed = status_html(config, deployment)
        self.status.value = f'<div data-revision="{state.revision}">{summed}</div>'
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
        self.notices.value = notices_html(
            state.notices, findings, state.problem, config=state.configuration
        )
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
        if alone():
            # What stands now stays. To look through the whole catalog for garbage takes 50 ms, in
            # which a choice would wait.
            gc.freeze()

    def _restore(self, text: str) -> None:
        try:
            self.state.read_values(text, restored=True)
        except RecipesError as error:
            log.info("values of an earlier page were not taken: %s", error)

    def _ipython_display_(self) -> None:
        self.frame.show()


__all__ = ["Explorer"]
