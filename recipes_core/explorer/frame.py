"""The widgets that stand before anything is known: empty, few and quickly made."""

from __future__ import annotations

import logging

from recipes_core.explorer.frontend import CommandCard, Page
from recipes_core.explorer.guard import OnError
from recipes_core.explorer.widgets import Kit, escape, visible

log = logging.getLogger("recipes_core.explorer")


class Frame:
    """The page, the head with its command, and places for what is built later.

    Attributes:
        kit: Makes the widgets of this screen.
        root: All of it.
        slots: Places for the top, the list, the axes and the panels, by these names.
        on_error: Shows a reader what went wrong; whoever fills the frame sets it.
    """

    def __init__(self) -> None:
        self.on_error: OnError = log.error
        self.kit = kit = Kit(self.tell)
        self.page = Page(self.tell)
        self.title = kit.html("", "rx-heading")
        self.status = kit.html("", "rx-status-line")
        self.notices = kit.html("", "rx-notice-list")
        self.command = CommandCard(layout=kit.layout)
        head = kit.box([self.title, self.status, self.notices, self.command], "rx-head")
        self.slots = {name: kit.box([], "rx-slot") for name in ("top", "find", "axes", "details")}
        top, find, axes, details = self.slots.values()
        self.root = kit.box(
            [self.page, top, kit.box([find, head, axes, details], "rx-grid")], "rx-root"
        )

    def tell(self, text: str) -> None:
        """Show a reader what went wrong."""
        self.on_error(text)

    def close_with(self, text: str) -> None:
        """Show a notice in place of a screen that cannot be filled, and answer no more."""
        self.page.handlers = {}
        self.page.title = "Nothing to show · vLLM recipes"
        # A new widget might come while the browser collects those that exist, and be lost to it.
        self.notices.value = f'<div role="alert"><b>Nothing to show.</b> {escape(text)}</div>'
        visible(self.notices, True)
        self.root.children = [self.page, self.notices]

    def show(self) -> None:
        """Show the screen as what a notebook's cell gives."""
        from IPython.display import display

        display(self.root)  # type: ignore[no-untyped-call]
