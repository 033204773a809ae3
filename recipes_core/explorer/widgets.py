"""Stock widgets as the explorer uses them: one shared layout, options set without an echo."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ipywidgets as w
from ipywidgets.widgets.widget_description import DescriptionStyle
from ipywidgets.widgets.widget_string import HTMLStyle, TextStyle

from recipes_core.explorer.frontend import Form
from recipes_core.explorer.guard import OnError, guarded


def escape(text: object) -> str:
    """A text as HTML that shows it and does nothing else."""
    return html.escape("" if text is None else str(text), quote=True)


class Kit:
    """Makes widgets that share one layout and one style each, so that a page opens faster."""

    def __init__(self, on_error: OnError) -> None:
        self.on_error = on_error
        self.layout = w.Layout()
        self.label_style = DescriptionStyle()
        self.html_style = HTMLStyle()
        self.text_style = TextStyle()
        self.button_style = w.ButtonStyle()

    def box(self, children: Sequence[w.Widget], *classes: str) -> w.Box:
        """A box, one child below another unless its CSS says otherwise."""
        box = w.VBox(children, layout=self.layout)
        box._dom_classes = classes
        return box

    def html(self, value: str = "", *classes: str) -> w.HTML:
        """A piece of HTML; whoever sets its value has escaped what is foreign."""
        piece = w.HTML(value, layout=self.layout, style=self.html_style)
        piece._dom_classes = classes
        return piece

    def button(
        self, text: str, click: Callable[[], None], *classes: str, tooltip: str = ""
    ) -> w.Button:
        """A button."""
        button = w.Button(
            description=text, layout=self.layout, style=self.button_style, tooltip=tooltip or None
        )
        button._dom_classes = classes
        button.on_click(guarded(lambda _: click(), self.on_error))
        return button

    def text(self, label: str, *classes: str, placeholder: str = "") -> w.Text:
        """A line of text that tells each keystroke."""
        field = w.Text(
            description=label,
            placeholder=placeholder,
            layout=self.layout,
            style=self.text_style,
        )
        field._dom_classes = ("rx-field", *classes)
        return field

    def form(self, on_field: Callable[[str, str], None]) -> Form:
        """A form whose fields are data."""
        return Form(guarded(on_field, self.on_error), layout=self.layout)

    def dropdown(self, label: str, *classes: str) -> Dropdown:
        """A dropdown with its label above."""
        field = Dropdown(description=label, layout=self.layout, style=self.label_style)
        field._dom_classes = ("rx-field", *classes)
        return field


class Dropdown(w.Dropdown):  # type: ignore[misc]
    """A dropdown whose options and value are set together, without telling its own observers."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.quiet = False
        self._shown: tuple[Any, ...] = ()

    def show(self, options: Iterable[tuple[str, Any]], value: Any) -> None:
        """Set options and value in one message; nothing is sent where nothing changed."""
        options = tuple(options)
        self.quiet = True
        try:
            with self.hold_sync():
                if options != self._shown:
                    self._shown = options
                    self.options = options
                if value not in {item for _, item in options}:
                    value = options[0][1] if options else None
                self.value = value
        finally:
            self.quiet = False

    def on_choice(self, choose: Callable[[Any], None], on_error: OnError) -> None:
        """Call when the reader chooses."""

        def changed(change: Any) -> None:
            if not self.quiet and change["new"] is not None:
                choose(change["new"])

        self.observe(guarded(changed, on_error), "value")


def visible(widget: w.Widget, on: bool) -> None:
    """Show or hide a widget by its CSS class alone."""
    classes = tuple(widget._dom_classes)
    if on == ("rx-hidden" in classes):
        widget._dom_classes = (
            tuple(name for name in classes if name != "rx-hidden")
            if on
            else (*classes, "rx-hidden")
        )
