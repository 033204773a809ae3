"""What a guide says that a cache holds, and whether it names the release of such a number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from recipes_core.findings import Finding

RELEASE = re.compile(r"\bvLLM\s+(\d+\.\d+(?:\.\d+)?)")
"""The release that a figure was computed for or measured with."""
_FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*]|\d+\.)[ \t])")
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z`*])")
_NUMBER = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?(?=\s+million\b))(\s+million\b)?"
)
_STORES = re.compile(
    r"\b(?:keep|hold|store|cache|remember|leave|remain|reache|carrie|fit|expect|get)s?\b"
    r"|\b(?:kept|held|stored|cached|left|room|space|measured|in all|in total|beside|ha[sd]|have)\b"
    r"|\bof (?:\w+ )?cache\b|\bcache of\b",
    re.IGNORECASE,
)
_TOKENS = re.compile(r"\btokens?\b(?!\s+(?:of (?:prompt|output)|per (?:step|second)))|\bmillion\b")
_LENGTH = re.compile(
    r"(?:\b(?:requests?|contexts?|prompts?|limit|batch(?:es)?|steps?|length)\s+of"
    r"|\b(?:all|full|whole|than|past|below|beyond|above))\s+(?:the\s+)?$"
    r"|--[\w-]+\s+$",
    re.IGNORECASE,
)
_OTHER = re.compile(r"\s*(?:positions|entries)\b")
"""What is counted there is no content of a cache."""
_AT_ONCE = re.compile(
    r"\b(?:\d+(?:\.\d+)?|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen"
    r"|sixteen|seventeen|twenty)\s+(?:full\s+)?(?:requests|prompts|contexts|sessions)\s+"
    r"(?:of\b|at once\b|at the limit\b|that fill\b|together\b)",
    re.IGNORECASE,
)
_SMALLEST = 20_000


class Figure(NamedTuple):
    """A number of cached tokens as a guide writes it."""

    text: str
    tokens: float
    unit: float
    """What it is rounded to, in tokens: 10,000 of "590,000", 100,000 of "2.3 million"."""


class Block(NamedTuple):
    """A paragraph, list item or table that tells what a cache holds."""

    text: str
    """What it says, with the neighbours that explain a table."""
    figures: tuple[tuple[str, Figure], ...]
    """Each with its sentence or row."""
    at_once: tuple[str, ...]
    """Phrases such as "six requests of"."""

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that it names."""
        return tuple(RELEASE.findall(self.text))


def _figure(match: re.Match[str]) -> Figure:
    digits = match.group(1).replace(",", "")
    if match.group(2):
        decimals = len(digits.partition(".")[2])
        return Figure(match.group().strip(), float(digits) * 1e6, 1e6 / 10**decimals)
    zeros = len(digits) - len(digits.rstrip("0"))
    return Figure(match.group().strip(), float(digits), 10.0**zeros)


def _is_length(figure: Figure, before: str, after: str) -> bool:
    """Whether a number is how long a request may be, rather than what a cache holds."""
    whole = figure.tokens % 1024 == 0 and "million" not in figure.text
    return whole or bool(_LENGTH.search(before) or _OTHER.match(after))


def _in_sentence(sentence: str) -> Iterator[Figure]:
    if not (_STORES.search(sentence) and _TOKENS.search(sentence)):
        return
    for match in _NUMBER.finditer(sentence):
        figure = _figure(match)
        before, after = sentence[: match.start()], sentence[match.end() :]
        if figure.tokens >= _SMALLEST and not _is_length(figure, before, after):
            yield figure


def _in_table(rows: list[str]) -> Iterator[tuple[str, Figure]]:
    cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]
    columns = [n for n, head in enumerate(cells[0]) if re.search(r"\btokens\b", head.lower())]
    for row, values in zip(rows[2:], cells[2:], strict=True):
        for column in columns:
            match = _NUMBER.search(values[column]) if column < len(values) else None
            if match:
                yield row, _figure(match)


def capacities(markdown: str) -> Iterator[Block]:
    """The blocks of a guide that name how much a cache holds.

    Args:
        markdown: The guide; fenced code is passed over.
    """
    blocks = [part for part in _BLOCK.split(_FENCED.sub("\n", markdown)) if part.strip()]
    for number, block in enumerate(blocks):
        if block.lstrip().startswith("|"):
            around = " ".join(" ".join(blocks[max(number - 1, 0) : number + 2]).split())
            figures = tuple(_in_table([row for row in block.splitlines() if row.strip()]))
            if figures:
                yield Block(around, figures, ())
            continue
        text = " ".join(block.split())
        found = tuple(
            (sentence, figure)
            for sentence in _SENTENCE.split(text)
            for figure in _in_sentence(sentence)
        )
        at_once = tuple(match.group() for match in _AT_ONCE.finditer(text))
        if found or at_once:
            yield Block(text, found, at_once)


def capacity_findings(where: str, markdown: str, place: str = "") -> Iterator[Finding]:
    """Numbers of cached tokens or concurrent requests that do not tell where they come from.

    What a cache holds changes with each release, so such a number is of use only beside the
    release that it was computed for or measured with.

    Args:
        where: The key of the text, as findings name it.
        markdown: The text.
        place: The recipe's file.
    """
    for block in capacities(markdown):
        if not block.releases:
            said = block.figures[0][1].text if block.figures else block.at_once[0]
            yield Finding(
                "warning",
                "guide-figure",
                f"`{said}` tells what a cache holds, but not for which vLLM; name the release"
                " (such as `computed for vLLM 0.33.0` or `measured, vLLM 0.25.0`)"
                f" or leave the figure to the page: {block.text[:80]}…",
                where,
                place,
            )


__all__ = ["RELEASE", "Block", "Figure", "capacities", "capacity_findings"]
