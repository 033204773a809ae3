"""Checks of guides, notes and links: order of headings, form of links, spelling of flags."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from recipes_core.catalog.catalog import RecipeEntry
from recipes_core.catalog.checks.arguments import spelled_with_underscore
from recipes_core.catalog.checks.report import Path_, Report

_PLACEHOLDER = re.compile(r"\b(TODO|FIXME|TBD|xxx+)\b", re.IGNORECASE)
_SHELLS = {"bash", "sh", "shell", "console", "zsh"}
_MARKDOWN = MarkdownIt()


def bad_link(address: str) -> str | None:
    """What is wrong with a link's form, or None."""
    if address.startswith(("#", "?")):
        return None
    if any(character.isspace() for character in address):
        return "holds a space"
    try:
        parts = urlsplit(address)
    except ValueError as error:
        return f"is malformed ({error})"
    if parts.scheme == "mailto":
        return None
    if parts.scheme not in {"https", "http"}:
        return "is not an https address"
    host = parts.hostname or ""
    if "." not in host and host != "localhost":
        return "names no host"
    return None


def _links(tokens: list[Token]) -> Iterator[tuple[str, int]]:
    for token in tokens:
        line = token.map[0] if token.map else 0
        for child in token.children or ():
            for key in ("href", "src"):
                value = child.attrs.get(key)
                if value is not None:
                    yield str(value), line


def _headings(report: Report, tokens: list[Token], path: Path_) -> None:
    level, seen = 0, set()
    for index, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        title, now = tokens[index + 1].content, int(token.tag[1])
        if level and now > level + 1:
            report.warn(
                "heading-order",
                f"{title!r} is a heading of level {now} right below level {level}",
                path,
            )
        if not level and now > 2:
            report.warn("heading-order", f"begins with a heading of level {now}: {title!r}", path)
        if (now, title) in seen:
            report.warn("heading-twice", f"has the heading {title!r} twice", path)
        seen.add((now, title))
        level = now


def _flags(report: Report, tokens: list[Token], path: Path_) -> None:
    for token in tokens:
        if token.type != "fence" or token.info.split(" ")[0] not in _SHELLS:
            continue
        if "vllm serve" not in token.content:
            continue
        try:
            words = shlex.split(token.content.replace("\\\n", " "), comments=True)
        except ValueError as error:
            report.error("guide-shell", f"a command cannot be read by a shell: {error}", path)
            continue
        for word in words:
            right = spelled_with_underscore(word)
            if right:
                report.warn("underscore-flag", f"write {word.partition('=')[0]} as {right}", path)


def check_markdown(report: Report, text: str, path: Path_) -> None:
    """Check a piece of Markdown."""
    tokens = _MARKDOWN.parse(text)
    _headings(report, tokens, path)
    _flags(report, tokens, path)
    for address, _ in _links(tokens):
        wrong = bad_link(address)
        if wrong:
            report.error("bad-link", f"the link {address!r} {wrong}", path)
    prose = " ".join(token.content for token in tokens if token.type == "inline")
    found = _PLACEHOLDER.search(prose)
    if found:
        report.warn("placeholder", f"still holds {found[0]!r}", path)


def check_prose(report: Report, entry: RecipeEntry) -> None:
    """Check a recipe's guide, notes and links."""
    recipe = entry.recipe
    if recipe.guide:
        check_markdown(report, recipe.guide, ("guide",))
    for group in ("notes", "known_issues"):
        for index, note in enumerate(getattr(recipe, group)):
            check_markdown(report, note.body, (group, index, "body"))
    for name, address in recipe.meta.links.items():
        wrong = bad_link(address)
        if wrong:
            report.error("bad-link", f"{address!r} {wrong}", ("meta", "links", name))
