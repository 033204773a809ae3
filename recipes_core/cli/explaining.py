"""``recipes explain``: a reader's own command, flag by flag."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from recipes_core.cli.common import fail, open_catalog, say, table
from recipes_core.errors import clean

if TYPE_CHECKING:
    from recipes_core.vllm_cli.explain import Explanation, Match


def run(
    command: str,
    version: str | None,
    plugins: Sequence[str],
    folders: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Print the explanation; leaves with 1 where the release would refuse the command."""
    from recipes_core.render.nearest import nearest_of
    from recipes_core.vllm_cli.explain import explain

    text = sys.stdin.read() if command == "-" else command
    try:
        explained = explain(text, version, plugins=plugins, read=_read)
    except (ValueError, OSError) as error:
        fail(f"error: {error}", 2)
    match = None
    if explained.argv[1] == "serve":
        catalog = open_catalog(folders)
        match = nearest_of(catalog, explained)
    if as_json:
        say(json.dumps(_plain(explained, match), ensure_ascii=False))
    else:
        _print(explained, match)
    if any(finding.severity == "error" for finding in explained.findings):
        raise typer.Exit(1)


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _print(explained: Explanation, match: Match | None) -> None:
    say(f"Model   {_line(explained.model or '-')}")
    say(f"Layout  {explained.layout.describe()}")
    if explained.image:
        say(f"Image   {_line(explained.image)}")
    if explained.floor is not None:
        say(f"Needs   {_floor(explained)}; read as vLLM {explained.version} does")
    rows = [
        [
            flag.written,
            " ".join(flag.values),
            f"{flag.text}{f' [{flag.topic}]' if flag.text else ''}",
        ]
        for flag in explained.flags
    ]
    rows += [[name, value, "variable"] for name, value in explained.env.items()]
    if rows:
        say()
        for line in table(rows, ["flag", "value", "what it does"]):
            say(line)
    for finding in explained.findings:
        where = f"{finding.where}: " if finding.where else ""
        say(_line(f"{finding.severity}: {where}{finding.message} [{finding.code}]"))
    if match is not None:
        say()
        say(f"Nearest recipe: {_line(match.label)} ({match.score:.0%} alike)")
        rows = [["only here", name, ""] for name in match.only_here]
        rows += [["only there", name, ""] for name in match.only_there]
        rows += [
            ["differs", name, f"{here} here, {there} there"] for name, here, there in match.differ
        ]
        for line in table(rows):
            say(f"  {line}")


def _line(text: str) -> str:
    """A text of the command on one line, without what a terminal would obey."""
    return clean(text).replace("\n", " ")


def _floor(explained: Explanation) -> str:
    version = explained.floor.version if explained.floor else None
    return f"vLLM {version} or newer" if version else "no release that is known accepts it"


def _plain(explained: Explanation, match: Match | None) -> dict[str, Any]:
    return {
        "argv": list(explained.argv),
        "env": explained.env,
        "image": explained.image,
        "model": explained.model,
        "vllm": explained.version,
        "flags": [flag._asdict() for flag in explained.flags],
        "layout": {**explained.layout._asdict(), "gpus": explained.layout.gpus},
        "findings": [finding._asdict() for finding in explained.findings],
        "min_vllm_version": explained.floor.version if explained.floor else None,
        "nearest": match._asdict() if match else None,
    }
