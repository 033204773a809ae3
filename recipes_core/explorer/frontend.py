"""The few widgets that the stock ones lack: the page itself, the command card, a row of tabs."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from recipes_core.errors import RecipesError
from recipes_core.explorer.guard import OnError, guarded

STATIC = Path(__file__).parent / "static"
LONGEST = 262_144
"""Characters that are read of a text from the browser; a config.json may be long."""
LONGEST_KEPT = 3_000_000
"""Characters of what a tab kept, which holds several such texts as JSON.

A character takes at most three bytes of a message, and the server's socket, which is tornado's, is
closed at one above 10 MiB.
"""


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


class Page(anywidget.AnyWidget):
    """What belongs to the page as a whole: address, announcements, downloads, the session's end.

    Attributes:
        query: Query of the page's address, as it should stand in the browser.
        revision: Of the state that all this is of.
        told: What the newest choice met with; each change is said aloud, and shown where its
            notice is out of sight.
        hints: A line beneath each axis, by the axis's CSS name.
        values: The reader's own values, which the browser keeps until its tab is closed.
        store: What the browser calls them; each kind of page has its own.
        address: Where the browser has the page, without a query; empty until it has said so, and
            outside voila.
        handlers: What the browser may ask, by kind of message.
    """

    _esm = _read("hint.js") + _read("page.js")
    _css = _read("explorer.css")

    query = traitlets.Unicode("").tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    announce = traitlets.Unicode("").tag(sync=True)
    told = traitlets.Unicode("").tag(sync=True)
    hints = traitlets.Dict().tag(sync=True)
    values = traitlets.Unicode("").tag(sync=True)
    store = traitlets.Unicode("values").tag(sync=True)

    def __init__(self, on_error: OnError, **settings: Any) -> None:
        super().__init__(**settings)
        self.address = ""
        self.handlers: dict[str, Callable[[str], None]] = {}
        self.on_error = on_error
        self.on_msg(self._receive)

    def _receive(self, _: Any, message: Any, _buffers: Any) -> None:
        kind = message.get("kind") if isinstance(message, dict) else None
        if kind == "alive":
            self.send({"kind": "alive"})
        elif kind in self.handlers:
            guarded(self._handle, self.on_error)(self.handlers[kind], message.get("value", ""))

    def _handle(self, handler: Callable[[str], None], value: object) -> None:
        """Hand a message on, whole: half of a text would be read as another one.

        Raises:
            RecipesError: It is too long to be read.
        """
        text = str(value)
        if len(text) > LONGEST_KEPT:
            raise RecipesError(
                f"This page sent {len(text):,} characters, of which at most {LONGEST_KEPT:,} are"
                " read: what an earlier session held was not taken up."
            )
        handler(text)

    def tell(self, text: str) -> None:
        """Say what the newest choice met with; the same twice in a row is said twice."""
        self.told = ""
        self.told = text

    def download(self, name: str, data: str | bytes, mime: str = "text/plain") -> None:
        """Have the browser save a file."""
        message = {"kind": "file", "name": name, "type": mime}
        if isinstance(data, bytes):
            self.send(message, buffers=[data])
        else:
            self.send({**message, "text": data})


class CommandCard(anywidget.AnyWidget):
    """The commands, a tab per step.

    Attributes:
        steps: Tabs in start order: ``id``, ``title``, ``order``, ``main``, ``note``, ``file`` and
            ``blocks`` of ``text``, ``label``, ``form``, ``why``, ``changed`` (line numbers) and
            ``gone`` (flags and variables that the last choice took away).
        form: The form to begin with, ``shell`` or ``docker``.
        revision: Rises when the others have been set; the browser draws once for all.
    """

    _esm = _read("hint.js") + _read("command.js")

    steps: traitlets.List[Any] = traitlets.List().tag(sync=True)
    form = traitlets.Unicode("shell").tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)


class PanelTabs(anywidget.AnyWidget):
    """A row of tabs; the panels are shown by whoever observes ``value``."""

    _esm = _read("tabs.js")

    tabs: traitlets.List[Any] = traitlets.List().tag(sync=True)
    value = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("Details").tag(sync=True)


class Form(anywidget.AnyWidget):
    """Fields as data, so that their number may change without a new widget.

    Attributes:
        fields: ``name``, ``label``, ``kind`` (``text number range select area``), ``value``, and
            ``hint``, ``placeholder``, ``options`` or ``stops`` (pairs of text and value), ``rows``.
        longest: Characters of a text that the browser sends: a socket is closed at a larger one.
        lengths: Characters that each text had in the browser, by the name of its field.
    """

    _esm = _read("hint.js") + _read("form.js")

    fields: traitlets.List[Any] = traitlets.List().tag(sync=True)
    longest = traitlets.Int(LONGEST).tag(sync=True)

    def __init__(self, on_field: Callable[[str, str], None], **settings: Any) -> None:
        super().__init__(**settings)
        self.on_field = on_field
        self.lengths: dict[str, int] = {}
        self.on_msg(self._receive)

    def _receive(self, _: Any, message: Any, _buffers: Any) -> None:
        if isinstance(message, dict) and message.get("kind") == "field":
            name = str(message.get("name", ""))
            if any(field["name"] == name for field in self.fields):
                text, length = str(message.get("value", "")), message.get("length")
                self.lengths[name] = length if isinstance(length, int) else len(text)
                self.on_field(name, text[:LONGEST])

    def cut(self, name: str) -> str:
        """That a field's text was too long to be read to its end; empty where it was not."""
        length = self.lengths.get(name, 0)
        if length <= LONGEST:
            return ""
        return f"Only the first {LONGEST:,} of {length:,} characters were read."

    def cut_html(self, name: str) -> str:
        """The same as a notice."""
        cut = self.cut(name)
        return f'<p class="rx-notice">{cut}</p>' if cut else ""


def zip_of(files: dict[str, str]) -> bytes:
    """A zip of text files; scripts may be executed, and the bytes depend on the content alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o755 if name.endswith(".sh") else 0o644) << 16
            archive.writestr(info, text)
    return buffer.getvalue()
