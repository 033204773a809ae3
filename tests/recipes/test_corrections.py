"""Where a recipe of ours differs from the peer's facts: each difference is named, none is stale."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPO

CORRECTIONS = yaml.safe_load(
    (Path(__file__).parent / "corrections.yaml").read_text(encoding="utf-8")
)
OURS_ALONE = {
    "date_updated",
    "description",
    "evidence",
    "guide",
    "known_issues",
    "label",
    "license",
    "links",
    "note",
    "related_recipes",
    "vram_source",
}
"""Keys that hold prose, or that the peer does not have."""


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The places of a document that hold a fact, with the fact as text; a list is one fact."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in OURS_ALONE:
                yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    elif value not in (None, [], {}):
        shown = [str(item) for item in value] if isinstance(value, list) else value
        yield path, str(shown)


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> set[str]:
    """The places where two recipes state something else, or only one states anything."""
    mine, other = dict(leaves(ours)), dict(leaves(theirs))
    return {path for path in mine.keys() | other.keys() if mine.get(path) != other.get(path)}


def load(file: Path) -> dict[str, Any]:
    document = yaml.load(file.read_text(encoding="utf-8"), yaml.BaseLoader)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("recipe", CORRECTIONS)
def test_each_difference_from_the_peer_is_named(shared: Path, recipe: str) -> None:
    ours = load(REPO / "recipes" / "models" / f"{recipe}.yaml")
    theirs = load(shared / "upstream" / "models" / f"{recipe}.yaml")
    assert differences(ours, theirs) == set(CORRECTIONS[recipe])


@pytest.mark.parametrize("recipe", CORRECTIONS)
def test_a_correction_says_why(recipe: str) -> None:
    assert all(len(why.split()) >= 3 for why in CORRECTIONS[recipe].values())
