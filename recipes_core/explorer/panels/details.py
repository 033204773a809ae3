"""The panels below the command: one is shown at a time, built when it is first opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import ipywidgets as w

from recipes_core.explorer.frontend import Page, PanelTabs
from recipes_core.explorer.panels.memory import declared_html
from recipes_core.explorer.widgets import Kit, guarded, visible

if TYPE_CHECKING:
    from recipes_core.explorer.state import ExplorerState


class Panel(Protocol):
    """A part below the command."""

    box: w.Box

    def refresh(self) -> None:
        """Show the state as it is now."""


class MemoryPanel:
    """GPU memory."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state = state
        self.table = kit.html()
        self.box = kit.box([self.table], "rx-panel")

    def refresh(self) -> None:
        """Show the figures."""
        if self.state.configuration is not None:
            self.table.value = declared_html(self.state.configuration)


Factory = Callable[[Kit, "ExplorerState", Page], Panel]
PANELS: dict[str, tuple[str, Factory]] = {"memory": ("GPU memory", MemoryPanel)}


class DetailPanels:
    """The row of tabs and whichever panel is open."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.kit, self.state, self.page = kit, state, page
        self.built: dict[str, Panel] = {}
        tabs = [[name, title] for name, (title, _) in PANELS.items()]
        first = state.tab if state.tab in PANELS else next(iter(PANELS))
        self.tabs = PanelTabs(tabs=tabs, value=first, layout=kit.layout)
        self.tabs.observe(guarded(self._chosen, kit.on_error), "value")
        self.place = kit.box([], "rx-panel-place")
        self.box = kit.box([self.tabs, self.place], "rx-panels")
        self._open(first)

    def _chosen(self, change: Any) -> None:
        self.state.tab = change["new"]
        self._open(change["new"])
        self.refresh()

    def _open(self, name: str) -> None:
        if name not in PANELS:
            return
        if name not in self.built:
            self.built[name] = PANELS[name][1](self.kit, self.state, self.page)
            self.place.children = [panel.box for panel in self.built.values()]
        for key, panel in self.built.items():
            visible(panel.box, key == name)

    def refresh(self) -> None:
        """Bring the open panel up to date; the others wait until they are opened."""
        panel = self.built.get(self.tabs.value)
        if panel is not None:
            panel.refresh()
