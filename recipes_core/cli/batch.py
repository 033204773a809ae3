"""``recipes batch``: JSON lines in, one JSON document a line out, in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import typer

from recipes_core.catalog.catalog import Catalog
from recipes_core.cli.common import open_catalog
from recipes_core.cli.show import with_home
from recipes_core.configuration import configure
from recipes_core.deployment import ReaderValues, deploy
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding
from recipes_core.render.json import json_bytes
from recipes_core.selection import Selection

CHUNK = 1 << 18
"""Bytes that are read, answered and flushed together; fewer where a writer waits for its answer."""


def run(folders: Sequence[str], *, strict: bool, sizing: bool, checks: bool) -> None:
    """Answer every line of stdin.

    A caller may send a line and wait: whatever arrived is answered before more is read.
    """
    batch = Batch(open_catalog(folders), sizing=sizing, checks=checks)
    output = sys.stdout.buffer
    for lines in _chunks(sys.stdin.fileno()):
        output.write(b"".join([batch.answer(line) for line in lines]))
        output.flush()
    if batch.failed:
        raise typer.Exit(1)
    if strict and batch.adjusted:
        raise typer.Exit(2)


def _chunks(source: int) -> Iterator[list[bytes]]:
    """The lines that have arrived, each time there are some."""
    rest = b""
    while data := os.read(source, CHUNK):
        *lines, rest = (rest + data).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


class Batch:
    """Answers rows from one catalog.

    Attributes:
        failed: Rows that got an ``error``.
        adjusted: Rows that were not answered as asked.
    """

    def __init__(self, catalog: Catalog, *, sizing: bool = False, checks: bool = False) -> None:
        self.catalog = catalog
        self.sizing = sizing
        self.checks = checks
        self.failed = 0
        self.adjusted = 0
        self._line = 0

    def answer(self, line: bytes) -> bytes:
        """The document of a row, with its line end; nothing for an empty line."""
        self._line += 1
        if not line.strip():
            return b""
        row: Any = None
        try:
            row = orjson.loads(line)
            return self._document(row) + b"\n"
        except orjson.JSONDecodeError as error:
            return self._error(row, f"line {self._line} is not JSON: {error}")
        except (RecipesError, ValueError) as error:
            return self._error(row, str(error))

    def _document(self, row: Any) -> bytes:
        if not isinstance(row, dict) or not isinstance(row.get("recipe"), str):
            raise ValueError('a row is an object with "recipe", and "query" if anything is asked')
        selection = Selection.from_query(query_of(row.get("query")))
        config = configure(self.catalog, row["recipe"], selection)
        given = row.get("placeholders")
        values = ReaderValues(_strings(given)) if given else None
        deployment = deploy(config, values)
        with_home(deployment)
        self.adjusted += bool(config.adjustments)
        sizing = None
        findings: list[Finding] = []
        if self.sizing or self.checks:
            from recipes_core.render.beside import command_findings, figures

            if self.checks:
                findings += command_findings(deployment)
            if self.sizing:
                sizing, unsized = figures(config, deployment)
                findings += unsized
        return json_bytes(config, deployment, sizing, findings)

    def _error(self, row: Any, message: str) -> bytes:
        self.failed += 1
        found: dict[str, Any] = {"error": message}
        if isinstance(row, dict):
            found = {"recipe": row.get("recipe"), "query": row.get("query"), **found}
        return orjson.dumps(found) + b"\n"


def _strings(given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise ValueError('"placeholders" is an object of names and values')
    return {str(name): str(value) for name, value in given.items()}


def query_of(query: Any) -> str | list[tuple[str, str]]:
    """A row's query as text or pairs.

    A list is joined with commas, an empty one is ``none``, an object of modes is ``feature:mode``,
    and null is not asked.

    Raises:
        ValueError: The query is neither text nor an object.
    """
    if query is None:
        return ""
    if isinstance(query, str):
        return query
    if not isinstance(query, dict):
        raise ValueError('"query" is an object or a query string')
    return [(key, _text(value)) for key, value in query.items() if value is not None]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{item}" for key, item in value.items())
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return str(value)
