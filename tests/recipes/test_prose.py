"""No sentence of ours comes from a text that lies beside us, and none is said of many models."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from recipes_core.catalog.catalog import Catalog
from tests.conftest import REPO

RUN = 8
"""Words in a row that may not be shared."""
PROSE = {
    "description",
    "summary",
    "guide",
    "body",
    "note",
    "title",
    "label",
    "performance_headline",
}


def words(text: str) -> list[str]:
    """The words of prose: code, addresses, ids and figures aside, and lower case."""
    text = re.sub(r"```.*?```", " | ", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", " | ", text)
    text = re.sub(r"\]\([^)]*\)", "] ", text)
    text = re.sub(r"https?://\S+|\S*[/_]\S*|\S*\d\S*", " | ", text)
    return re.findall(r"[a-z][a-z'-]*|\|", text.lower())


def runs(text: str, length: int = RUN) -> set[tuple[str, ...]]:
    """Every run of so many words that holds no gap."""
    found = words(text)
    return {
        tuple(found[at : at + length])
        for at in range(len(found) - length + 1)
        if "|" not in found[at : at + length]
    }


def prose_of(document: BaseModel, path: str) -> Iterator[tuple[str, str]]:
    """Every text for people in a document, with its place.

    The title of a known issue is left out: it is the error that a program prints.
    """
    for name in type(document).model_fields:
        prose = name in PROSE and not (name == "title" and ".known_issues" in path)
        yield from _prose(getattr(document, name), f"{path}.{name}", prose)


def _prose(value: Any, path: str, prose: bool) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and prose:
        yield path, value
    elif isinstance(value, BaseModel):
        yield from prose_of(value, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _prose(item, f"{path}.{key}", prose)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _prose(item, f"{path}[{index}]", prose)


def test_the_measure_sees_a_copied_sentence() -> None:
    seen = runs("The quick brown fox jumps over the lazy dog, and `code` goes on.")
    assert ("quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog") in seen
    assert not runs("The quick brown `code` fox jumps over the lazy dog.")


def test_no_run_of_eight_words_is_shared(ours: Catalog, shared: Path) -> None:
    """Neither the catalog nor our pages repeat a text that was given to us."""
    theirs: dict[tuple[str, ...], str] = {}
    for file in shared.rglob("*.md"):
        theirs |= dict.fromkeys(runs(file.read_text(encoding="utf-8")), file.name)
    for file in shared.rglob("*.yaml"):
        comments = re.findall(r"#\s+(.*)", file.read_text(encoding="utf-8"))
        theirs |= dict.fromkeys(runs(" | ".join(comments)), file.name)
    assert len(theirs) > 1000
    documents: list[tuple[str, BaseModel]] = [("taxonomy", ours.taxonomy)]
    documents += list(ours.strategies.items()) + list(ours.kv_stores.items())
    documents += list(ours.platforms.items())
    documents += [(entry.id, entry.recipe) for entry in ours.recipes.values()]
    prose = [item for name, document in documents for item in prose_of(document, name)]
    pages = [*REPO.glob("*.md"), *(REPO / "docs").rglob("*.md")]
    prose += [(page.name, page.read_text(encoding="utf-8")) for page in pages]
    taken = [
        f"{path}: “{' '.join(run)}” stands in {theirs[run]}"
        for path, text in prose
        for run in runs(text) & theirs.keys()
    ]
    assert not taken, "\n".join(taken)


@pytest.mark.parametrize(("length", "most"), [(RUN, 3), (12, 2)])
def test_no_sentence_is_said_of_many_models(ours: Catalog, length: int, most: int) -> None:
    """A turn of phrase may serve a family; whole sentences serve two sisters at the most."""
    said: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for entry in ours.recipes.values():
        for _, text in prose_of(entry.recipe, entry.id):
            for run in runs(text, length):
                said[run].add(entry.id)
    assert len(said) > 10_000
    often = {" ".join(run): sorted(names) for run, names in said.items() if len(names) > most}
    assert not often
