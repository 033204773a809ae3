"""The panels below the command: one is shown at a time, built when it is first opened."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import ipywidgets as w

from recipes_core.explorer.frontend import Page, PanelTabs
from recipes_core.explorer.guard import guarded
from recipes_core.explorer.widgets import Kit, visible

if TYPE_CHECKING:
    from recipes_core.explorer.state import ExplorerState


class Panel(Protocol):
    """A part below the command."""

    box: w.Box

    def refresh(self) -> None:
        """Show the state as it is now."""


PANELS: dict[str, tuple[str, str]] = {
    "memory": ("GPU memory", "memory:MemoryPanel"),
    "fit": ("Fit", "fit:FitPanel"),
    "why": ("Why", "why:WhyPanel"),
    "yours": ("Your cluster", "yours:YoursPanel"),
    "guide": ("Guide", "guide:GuidePanel"),
    "compare": ("Compare", "compare:ComparePanel"),
    "share": ("Share & export", "share:SharePanel"),
}
"""Title, and the module and class of each panel; a module is loaded when its tab is opened."""


def _make(name: str, kit: Kit, state: ExplorerState, page: Page) -> Panel:
    module, _, kind = PANELS[name][1].partition(":")
    made = getattr(import_module(f"recipes_core.explorer.panels.{module}"), kind)
    return cast(Panel, made(kit, state, page))


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
        # A panel that cannot be built takes neither the list nor the axes with it.
        guarded(self._open, kit.on_error)(first)

    def _chosen(self, change: Any) -> None:
        name = change["new"]
        if name in PANELS:
            self.state.tab = name
            self._open(name)
            self.refresh()

    def _open(self, name: str) -> None:
        if name not in self.built:
            self.built[name] = _make(name, self.kit, self.state, self.page)
            self.place.children = [panel.box for panel in self.built.values()]
        for key, panel in self.built.items():
            visible(panel.box, key == name)

    def refresh(self) -> None:
        """Bring the open panel up to date; the others wait until they are opened."""
        panel = self.built.get(self.tabs.value)
        if panel is not None:
            panel.refresh()
