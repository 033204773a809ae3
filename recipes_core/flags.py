"""Command-line flags with an identity, so that one flag is written once.

A flag's identity is its long name: values, spelling (``_`` or ``-`` before the first dot), short
aliases and a leading ``no-`` do not make another flag. The text stays as its author wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

ALIASES: dict[str, str] = {
    "-ac": "--attention-config",
    "-asc": "--api-server-count",
    "-cc": "--compilation-config",
    "-dac": "--diffusion-attention-config",
    "-dc": "--diffusion-config",
    "-dcp": "--decode-context-parallel-size",
    "-dp": "--data-parallel-size",
    "-dpa": "--data-parallel-address",
    "-dpb": "--data-parallel-backend",
    "-dpe": "--data-parallel-external-lb",
    "-dph": "--data-parallel-hybrid-lb",
    "-dpl": "--data-parallel-size-local",
    "-dpm": "--data-parallel-multi-port-external-lb",
    "-dpn": "--data-parallel-rank",
    "-dpp": "--data-parallel-rpc-port",
    "-dpr": "--data-parallel-start-rank",
    "-ep": "--enable-expert-parallel",
    "-n": "--nnodes",
    "-oma": "--omni-master-address",
    "-omp": "--omni-master-port",
    "-ora": "--omni-replica-address",
    "-pcp": "--prefill-context-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-q": "--quantization",
    "-r": "--node-rank",
    "-sc": "--speculative-config",
    "-tp": "--tensor-parallel-size",
    "--device-memory-utilization": "--gpu-memory-utilization",
    "--ring": "--ring-degree",
    "--usp": "--ulysses-degree",
}
"""Short and second names of vLLM's and vLLM-Omni's flags (their own parsers, 0.8.5 to 0.33.0)."""

APPEND: frozenset[str] = frozenset({"--middleware", "--ignore-patterns"})
"""Flags whose every occurrence counts."""

_NUMBER = re.compile(r"-\.?\d")
_OPTIMIZATION = re.compile(r"-O=?(\d)$")


class Flag(NamedTuple):
    """One flag with its values, as written and as understood."""

    name: str
    """Identity: the long name without value or negation, such as ``--tensor-parallel-size``."""
    values: tuple[str, ...]
    """Its values, without quoting; empty for a switch."""
    tokens: tuple[str, ...]
    """The words of the command line, as their author wrote them."""
    negated: bool = False
    """Whether it was written as ``--no-…``."""


def is_flag(token: str) -> bool:
    """Whether a word opens a flag: it starts with ``-`` and is no number."""
    return token[:1] == "-" and len(token) > 1 and not _NUMBER.match(token)


@lru_cache(maxsize=4096)
def identity(word: str) -> tuple[str, bool]:
    """The identity of a flag's first word (without ``=value``) and whether it is negated."""
    head, dot, tail = word.partition(".")
    if not head.startswith("--"):
        if head == "-O" and dot:
            head = "--compilation-config"
        head = ALIASES.get(head, head)
    head = head.replace("_", "-")
    negated = head.startswith("--no-") and not dot
    if negated:
        head = "--" + head[5:]
    head = ALIASES.get(head, head)
    return f"{head}{dot}{tail}", negated


def _make(words: list[str]) -> Flag:
    first = words[0]
    level = _OPTIMIZATION.match(first)
    if level:
        return Flag("--optimization-level", (level.group(1), *words[1:]), tuple(words))
    word, equals, value = first.partition("=")
    name, negated = identity(word)
    values = (value, *words[1:]) if equals else tuple(words[1:])
    return Flag(name, values, tuple(words), negated)


def split_words(args: Iterable[str]) -> Iterator[str]:
    """The words of an argument list in which an author wrote ``"--flag value"`` as one item."""
    for word in args:
        if word[:2] == "--" and " " in word:
            head, _, tail = word.partition(" ")
            if "=" not in head and "{" not in head:
                yield head
                yield tail.strip()
                continue
        yield word


@lru_cache(maxsize=8192)
def _parse(args: tuple[str, ...]) -> tuple[Flag, ...]:
    flags: list[Flag] = []
    words: list[str] = []
    for word in split_words(args):
        if is_flag(word):
            if words:
                flags.append(_make(words))
            words = [word]
        elif words:
            words.append(word)
        else:
            flags.append(Flag("", (word,), (word,)))
    if words:
        flags.append(_make(words))
    return tuple(flags)


def parse_args(args: Sequence[str]) -> tuple[Flag, ...]:
    """The flags of an argument list, in order.

    Args:
        args: Words after ``vllm serve MODEL``; not quoted.

    Returns:
        One Flag per flag; a value in front of the first flag has the empty name.
    """
    return _parse(args if isinstance(args, tuple) else tuple(args))


def last_value(args: Sequence[str], name: str) -> str | None:
    """The first value of the last occurrence of the flag ``name``, or None where it is absent."""
    found = None
    for flag in parse_args(args):
        if flag.name == name and flag.values:
            found = flag.values[0]
    return found


class Provenance(NamedTuple):
    """Where a flag or a variable comes from."""

    layer: str
    """The layer of the rule book: ``recipe``, ``variant``, ``strategy``, ``hardware`` …"""
    source: str
    """The file, relative to its catalog, or the reader's own choice."""
    key: str
    """The key in that file."""


class Arguments:
    """An argument list that is built layer by layer: the last writer of a flag wins.

    The winner also takes the later position, so the order of all others is stable. Flags of kind
    append keep every occurrence.
    """

    __slots__ = ("_flags",)

    def __init__(self) -> None:
        self._flags: dict[str, tuple[Flag, Provenance]] = {}

    def add(self, args: Sequence[str], source: Provenance) -> None:
        """Merge a layer into the list."""
        flags = self._flags
        for flag in parse_args(args):
            name = flag.name
            if name in APPEND or not name:
                occurrence = len(flags)
                while (key := f"{name} {occurrence}") in flags:
                    occurrence += 1
                name = key
            elif name in flags:
                del flags[name]
            flags[name] = (flag, source)

    def remove(self, name: str) -> None:
        """Drop a flag, if it is there."""
        self._flags.pop(name, None)

    def get(self, name: str) -> Flag | None:
        """The flag of that identity, if it is there."""
        entry = self._flags.get(name)
        return entry[0] if entry else None

    def items(self) -> Iterable[tuple[Flag, Provenance]]:
        """Each flag with its provenance, in the order of the command line."""
        return self._flags.values()

    def copy(self) -> Arguments:
        """A list of its own with the same flags."""
        other = Arguments()
        other._flags = self._flags.copy()
        return other

    def words(self) -> list[str]:
        """The words of the command line."""
        return [word for flag, _ in self._flags.values() for word in flag.tokens]
