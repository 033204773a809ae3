"""Split a command line into flags the way that vLLM's parser does.

vLLM's parser is argparse with a step in front of it: ``_`` becomes ``-`` in a flag's name up to
its first dot, ``-O3`` becomes ``--optimization-level 3``, and ``--a.b v`` becomes a piece of the
JSON of ``--a`` (``FlexibleArgumentParser.parse_args`` in ``vllm/utils``). Nothing here depends on a
release.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")
_OPTION_SHAPE = re.compile(r"--?[A-Za-z][\w.\-+]*=")
_LEVELS = frozenset("0123")
PLACEHOLDER = re.compile(r"\$\{?[A-Za-z_]")


class Item(NamedTuple):
    """One flag of a command line with the words that follow it up to the next flag."""

    option: str
    """The flag as the parser will look it up: dashes for underscores, without ``=value``."""
    path: tuple[str, ...]
    """The keys of a dotted flag, ``("a", "b")`` for ``--x.a.b``; empty for a plain one."""
    attached: str | None
    """The value after ``=``; None if there was no ``=``."""
    values: tuple[str, ...]
    """The words that follow."""
    written: str
    """The first word as its author wrote it."""

    @property
    def all_values(self) -> tuple[str, ...]:
        """The attached value, then the words that follow."""
        return self.values if self.attached is None else (self.attached, *self.values)


class Line(NamedTuple):
    """A command line, split."""

    positionals: tuple[str, ...]
    """Words in front of the first flag: the model, if there is one."""
    items: tuple[Item, ...]
    """The flags, in order."""


def has_placeholder(text: str) -> bool:
    """Whether a ``$NAME`` in it is still to be filled in."""
    return PLACEHOLDER.search(text) is not None


@lru_cache(maxsize=2048)
def opens_flag(word: str) -> bool:
    """Whether argparse takes a word for a flag: it starts with ``-`` and is no number or phrase."""
    if len(word) < 2 or word[0] != "-" or _NEGATIVE_NUMBER.match(word):
        return False
    return " " not in word or _OPTION_SHAPE.match(word) is not None


@lru_cache(maxsize=2048)
def _dotted(word: str) -> bool:
    head = word.partition("=")[0]
    return word[:1] == "-" and "." in head and head[1:2].strip(".") != ""


def _normal(head: str) -> str:
    name, dot, rest = head.partition(".")
    return (name.replace("_", "-") if head.startswith("--") else name) + dot + rest


@lru_cache(maxsize=2048)
def _open(word: str) -> Item:
    if word.startswith("-O") and "." not in word.partition("=")[0] and word != "-O":
        level = word[3:] if word[2] == "=" else word[2:]
        return Item("--optimization-level", (), level, (), word)
    head, equals, value = word.partition("=")
    name, *path = _normal(head).split(".")
    return Item(name, tuple(path), value if equals else None, (), word)


def split(args: Sequence[str]) -> Line:
    """Split the words after ``vllm serve``.

    Args:
        args: Words without shell quoting: the model and the flags.

    Returns:
        The words in front of the first flag, and each flag with its words. Which of these words
        the flag takes depends on the release: see check.
    """
    positionals: list[str] = []
    items: list[Item] = []
    position, last = 0, len(args)
    while position < last:
        word = args[position]
        position += 1
        if word == "--":
            items.append(Item("--", (), None, tuple(args[position:]), "--"))
            break
        if _dotted(word):
            item = _open(word)
            if item.attached is None and position < last:
                # The parser takes the next word whatever it is, even one that starts with a dash.
                item = item._replace(attached=args[position])
                position += 1
            items.append(item)
        elif word == "-O" and position < last and args[position] in _LEVELS:
            items.append(Item("--optimization-level", (), args[position], (), word))
            position += 1
        elif opens_flag(word):
            items.append(_open(word))
        elif items:
            items[-1] = items[-1]._replace(values=(*items[-1].values, word))
        else:
            positionals.append(word)
    return Line(tuple(positionals), tuple(items))
