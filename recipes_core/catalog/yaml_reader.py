"""Reads one YAML file of a catalog, fast, and refuses what a catalog has no use for.

Scalars follow the core schema of YAML 1.2: only ``true`` and ``false`` are booleans, ``yes`` and
``on`` are words. Keys are always text. What is written as a number with a trailing zero keeps its
spelling, so that version ``0.10`` never turns into ``0.1``. Tags, merge keys, several documents,
duplicate keys, deep nesting and aliases that multiply are errors.
"""

from __future__ import annotations

import datetime
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

try:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined]
except ImportError:  # pragma: no cover - PyYAML built without libyaml

    class _Parser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser):  # type: ignore[no-redef]
        def __init__(self, stream: str) -> None:
            yaml.reader.Reader.__init__(self, stream)
            yaml.scanner.Scanner.__init__(self)
            yaml.parser.Parser.__init__(self)

        def dispose(self) -> None:
            self.states, self.state = [], None


from recipes_core.errors import CatalogError

MAX_BYTES = 1_000_000
"""Largest file that is read; the peer's largest is 24 kB."""
MAX_DEPTH = 40
"""Deepest nesting; the peer's deepest is 9."""
MAX_NODES = 50_000
"""Most values of a file once its aliases are written out; the peer's largest has about 900."""

_INT = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")
_MAY_BE_OTHER = frozenset("-+.0123456789")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class WrittenFloat(float):
    """A number whose text keeps its author's spelling, such as ``0.10``."""

    __slots__ = ("_text",)
    _text: str

    def __new__(cls, text: str) -> WrittenFloat:
        """Make the number of a text."""
        number = super().__new__(cls, text)
        number._text = text
        return number

    def __str__(self) -> str:
        """The spelling."""
        return self._text


def scalar(text: str) -> Any:
    """The value of a plain scalar: None, bool, int, float, date or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_OTHER or len(text) > 64:
        return text
    if _INT.match(text):
        return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
    if _FLOAT.match(text):
        number = float(text)
        return number if str(number) == text else WrittenFloat(text)
    if _DATE.match(text):
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            return text
    return text


def read_text(path: Path, name: str = "") -> str:
    """The text of a file of a catalog.

    Args:
        path: The file.
        name: How errors call it; its path where empty.

    Raises:
        CatalogError: It is missing, no regular file, larger than MAX_BYTES, unreadable or not
            UTF-8.
    """
    name = name or str(path)
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise CatalogError("is not a regular file", name)
        if state.st_size > MAX_BYTES:
            raise CatalogError(
                f"holds {state.st_size:,} bytes; a file of a catalog has at most {MAX_BYTES:,}",
                name,
            )
        data = path.read_bytes()
    except OSError as error:
        raise CatalogError(f"cannot be read: {error.strerror or error}", name) from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CatalogError(
            f"is not UTF-8: byte 0x{data[error.start]:02x} cannot be read; save it as UTF-8",
            name,
            line,
        ) from None


class _Builder:
    """Builds values from the events of a parser."""

    def __init__(self, name: str, lines: dict[tuple[str | int, ...], int] | None) -> None:
        self.name = name
        self.lines = lines
        self.nodes = 0
        self.anchors: dict[str, tuple[Any, int] | None] = {}

    def fail(self, message: str, event: Any) -> CatalogError:
        return CatalogError(message, self.name, event.start_mark.line + 1)

    def note(self, path: tuple[str | int, ...], event: Any) -> None:
        if self.lines is not None:
            self.lines[path] = event.start_mark.line + 1

    def count(self, nodes: int, event: Any) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise self.fail(
                f"holds more than {MAX_NODES:,} values once aliases are written out", event
            )

    def value(self, parser: Any, event: Any, path: tuple[str | int, ...]) -> Any:
        """The value that an event opens."""
        kind = type(event)
        if kind is ScalarEvent:
            self.count(1, event)
            if event.tag is not None:
                raise self.fail(f"has the tag {event.tag!r}; tags are not read", event)
            result = scalar(event.value) if event.implicit[0] else event.value
            if event.anchor:
                self.anchors[event.anchor] = (result, 1)
            return result
        if kind is AliasEvent:
            found = self.anchors.get(event.anchor)
            if found is None:
                raise self.fail(f"the alias *{event.anchor} has no value here", event)
            self.count(found[1], event)
            return found[0]
        if event.tag is not None:
            raise self.fail(f"has the tag {event.tag!r}; tags are not read", event)
        if len(path) >= MAX_DEPTH:
            raise self.fail(f"is nested more than {MAX_DEPTH} levels deep", event)
        before = self.nodes
        self.count(1, event)
        if event.anchor:
            self.anchors[event.anchor] = None
        if kind is SequenceStartEvent:
            result = self.sequence(parser, path)
        else:
            result = self.mapping(parser, path)
        if event.anchor:
            self.anchors[event.anchor] = (result, self.nodes - before)
        return result

    def sequence(self, parser: Any, path: tuple[str | int, ...]) -> list[Any]:
        items: list[Any] = []
        while type(event := parser.get_event()) is not SequenceEndEvent:
            here = (*path, len(items))
            self.note(here, event)
            items.append(self.value(parser, event, here))
        return items

    def mapping(self, parser: Any, path: tuple[str | int, ...]) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while type(event := parser.get_event()) is not MappingEndEvent:
            if type(event) is not ScalarEvent or event.tag is not None or event.anchor:
                raise self.fail("has a key that is not plain text", event)
            key = event.value
            if key in items:
                raise self.fail(f"has the key {key!r} twice", event)
            if key == "<<" and event.implicit[0]:
                raise self.fail("has a merge key (<<); write the keys out", event)
            here = (*path, key)
            self.note(here, event)
            items[key] = self.value(parser, parser.get_event(), here)
        return items


def _parse(
    text: str, name: str, lines: dict[tuple[str | int, ...], int] | None = None
) -> Mapping[str, Any]:
    if text.startswith("\ufeff"):
        raise CatalogError("begins with a byte order mark; save it as UTF-8 without one", name, 1)
    builder = _Builder(name, lines)
    parser = _Parser(text)
    try:
        parser.get_event()
        event = parser.get_event()
        if type(event) is StreamEndEvent:
            raise CatalogError("is empty", name, 1)
        event = parser.get_event()
        if type(event) is not MappingStartEvent:
            raise builder.fail("is not a mapping of keys to values", event)
        result = builder.value(parser, event, ())
        parser.get_event()
        event = parser.get_event()
        if type(event) is DocumentStartEvent:
            raise builder.fail("holds a second document (---)", event)
    except yaml.YAMLError as error:
        raise _translate(error, text, name) from None
    finally:
        parser.dispose()
    assert isinstance(result, dict)  # noqa: S101 - the event opened a mapping
    return result


def _translate(error: yaml.YAMLError, text: str, name: str) -> CatalogError:
    """A parser's complaint in our words where we know better ones."""
    mark: Any = None
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
    line: int | None = mark.line + 1 if mark else None
    rows = text.splitlines()
    row = rows[line - 1] if line is not None and line <= len(rows) else ""
    if "\t" in row[: len(row) - len(row.lstrip())]:
        return CatalogError("is indented with a tab; YAML takes spaces only", name, line)
    if line is None:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        reason = getattr(error, "reason", None) or str(error)
        return CatalogError(f"is not YAML: {reason}", name, line)
    parts = [getattr(error, "context", None), getattr(error, "problem", None)]
    reason = ", ".join(part for part in parts if part) or str(error)
    return CatalogError(f"is not YAML: {reason}", name, line)


def parse_yaml(text: str, name: str) -> Mapping[str, Any]:
    """The mapping that a text holds.

    Args:
        text: The file's text.
        name: How errors call the file.

    Raises:
        CatalogError: It is not one plain YAML mapping; the error has the line.
    """
    return _parse(text, name)


def lines_of(text: str) -> dict[tuple[str | int, ...], int]:
    """The line, from 1, of each key and item of a text, by its path.

    Raises:
        CatalogError: The text is not one plain YAML mapping.
    """
    lines: dict[tuple[str | int, ...], int] = {}
    _parse(text, "", lines)
    return lines


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line, from 1, on which a key or item stands, or the nearest one around it.

    Reads the text again: for error messages only.
    """
    try:
        lines = lines_of(text)
    except CatalogError:
        return None
    place = tuple(path)
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place)
