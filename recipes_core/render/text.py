"""Pieces of Markdown in which foreign text stays text: code spans, fences, headings moved down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TICKS = re.compile(r"`+")
_CODE_OR_TAG = re.compile(r"(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))|<(?=[A-Za-z/!?])")
_AUTOLINK = re.compile(r"<(?:https?://|mailto:)[^\s<>\"']+>")
_SPECIAL = re.compile(r"([\\`*_\[\]<>])")


def one_line(text: object) -> str:
    """A text on one line, without the control characters that a terminal would obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


def code(text: object) -> str:
    """A code span; backticks inside do not end it."""
    word = one_line(text)
    if not word:
        return "` `"
    runs = {len(run) for run in _TICKS.findall(word)}
    length = next(count for count in range(1, len(runs) + 2) if count not in runs)
    pad = " " if word[0] == "`" or word[-1] == "`" else ""
    return f"{'`' * length}{pad}{word}{pad}{'`' * length}"


def codes(words: Iterable[object]) -> str:
    """Several code spans with commas."""
    return ", ".join(code(word) for word in words)


def inline(text: object) -> str:
    """A line of an author's Markdown: its marks stay, a tag in it does not work."""
    return _without_tags(one_line(text))


def plain(text: object) -> str:
    """A text that is no Markdown: nothing in it has a meaning."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def fence(body: str, info: str = "bash") -> str:
    """A fenced block that its body cannot close."""
    longest = max((len(run) for run in _TICKS.findall(body)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{info}\n{body.rstrip()}\n{mark}"


def _without_tags(line: str) -> str:
    links = [match.span() for match in _AUTOLINK.finditer(line)]

    def put(match: re.Match[str]) -> str:
        if match["code"] or any(start <= match.start() < end for start, end in links):
            return match[0]
        return "&lt;"

    return _CODE_OR_TAG.sub(put, line) if "<" in line else line


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def _is_closed(lines: Sequence[str], block: Sequence[int], mark: str) -> bool:
    first, end = block
    last = lines[end - 1].strip(" >")
    return end - first > 1 and len(last) >= len(mark) and set(last) == {mark[0]}


@lru_cache(maxsize=512)
def shifted(markdown: str, levels: int) -> str:
    """Markdown with its headings some levels down and its tags inert; code stays as it is.

    Args:
        markdown: An author's text.
        levels: How far down; a heading ends at level 6.
    """
    lines = markdown.replace("\r\n", "\n").strip("\n").split("\n")
    kept: set[int] = set()
    gone: set[int] = set()
    for token in _parser().parse("\n".join(lines)):
        if token.map is None:
            continue
        first, end = token.map
        if token.type in {"fence", "code_block"}:
            kept.update(range(first, end))
            if (
                token.type == "fence"
                and end == len(lines)
                and not _is_closed(lines, token.map, token.markup)
            ):
                # Or it would swallow what follows on the page.
                kept.add(len(lines))
                lines.append(token.markup)
        elif token.type == "heading_open":
            level = min(6, int(token.tag[1:]) + levels)
            if token.markup[0] == "#":
                lines[first] = lines[first].replace(token.markup, "#" * level, 1)
            else:
                title = " ".join(line.strip() for line in lines[first : end - 1])
                lines[first] = f"{'#' * level} {title}"
                gone.update(range(first + 1, end))
    return "\n".join(
        line if number in kept else _without_tags(line)
        for number, line in enumerate(lines)
        if number not in gone
    )
