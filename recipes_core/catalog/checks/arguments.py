"""Checks of argument lists and variables: spelling, doubles, sizes in the wrong place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel

from recipes_core.catalog.checks.report import Path_, Report
from recipes_core.flags import APPEND, is_flag, parse_args

SIZES: Mapping[str, str] = {
    "--tensor-parallel-size": "`tp` of the variant or of strategy_overrides.single_node_tp",
    "--pipeline-parallel-size": "a strategy that lays out a pipeline",
    "--data-parallel-size": "a strategy that runs data parallel",
    "--data-parallel-size-local": "a strategy that runs data parallel",
    "--nnodes": "a multi-node strategy",
    "--node-rank": "a multi-node strategy",
}
"""Flags that the topology prints, and where their number belongs instead.

Decode context parallelism is not among them: it reuses the tensor-parallel GPUs.
"""
_ARGUMENTS = {"base_args", "extra_args", "vllm_args", "args"}
_VARIABLES = {"base_env", "extra_env", "env"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FLAG_WITH_VALUE = re.compile(r"--?[A-Za-z][\w.-]*\s+\S")


class Found(NamedTuple):
    """An argument list, or the variables, somewhere in a document."""

    path: Path_
    args: tuple[str, ...] | None
    env: Mapping[str, str] | None


def collect(document: BaseModel, path: Path_ = ()) -> Iterator[Found]:
    """Every argument list and every map of variables in a document."""
    for name in document.model_fields_set:
        value = getattr(document, name)
        here = (*path, name)
        if name in _ARGUMENTS and isinstance(value, tuple):
            yield Found(here, value, None)
        elif name in _VARIABLES and isinstance(value, dict):
            yield Found(here, None, value)
        elif isinstance(value, BaseModel):
            yield from collect(value, here)
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, BaseModel):
                    yield from collect(item, (*here, key))
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from collect(item, (*here, index))


def check_document(report: Report, document: BaseModel, path: Path_, *, sizes: bool) -> None:
    """Check every argument list and variable of a document.

    Args:
        report: Takes the findings.
        document: A recipe, a strategy, a store or a part of one.
        path: Where the document stands in its file.
        sizes: Whether parallel sizes are out of place in it.
    """
    for found in sorted(collect(document, path), key=lambda item: [str(p) for p in item.path]):
        if found.args is not None:
            _check_args(report, found.args, found.path, sizes)
        else:
            for name in found.env or ():
                if not _VARIABLE.match(name):
                    report.error(
                        "bad-variable", f"{name!r} is no name of a variable", (*found.path, name)
                    )


def _check_args(report: Report, args: Sequence[str], path: Path_, sizes: bool) -> None:
    for index, word in enumerate(args):
        _check_word(report, word, (*path, index))
    if args and not is_flag(args[0]):
        report.error(
            "stray-value", f"{args[0]!r} belongs to no flag; a list begins with one", (*path, 0)
        )
    seen: set[str] = set()
    for flag in parse_args(args):
        if flag.name in seen and flag.name not in APPEND:
            report.error("duplicate-flag", f"{flag.name} stands here twice; the last wins", path)
        seen.add(flag.name)
        if sizes and flag.name in SIZES:
            report.error(
                "size-in-args",
                f"{flag.name} is a parallel size; it belongs to {SIZES[flag.name]}",
                path,
            )


def _check_word(report: Report, word: str, path: Path_) -> None:
    if is_flag(word) and _FLAG_WITH_VALUE.match(word):
        report.error(
            "flag-with-value",
            f"{word!r} holds a flag and its value; write them as two items",
            path,
        )
        return
    if is_flag(word):
        right = spelled_with_underscore(word)
        if right:
            report.warn("underscore-flag", f"write {word.partition('=')[0]} as {right}", path)
        _, equals, value = word.partition("=")
        word = value if equals else ""
    if word[:1] == "{" and word[-1:] == "}":
        try:
            json.loads(word)
        except ValueError as error:
            report.error("bad-json", f"is not JSON ({error}): {word[:60]}", path)


def spelled_with_underscore(word: str) -> str | None:
    """A flag as it is to be written, where its name holds ``_``; None where nothing is wrong."""
    spelled = re.split(r"[=.\s]", word, maxsplit=1)[0]
    if not spelled.startswith("--") or "_" not in spelled:
        return None
    return spelled.replace("_", "-") + word.partition("=")[0][len(spelled) :]
