"""What the importer carried over is still there, but for corrections that say why."""

from __future__ import annotations

import datetime
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from recipes_core.catalog.checks.facts import releases
from recipes_core.catalog.corrections import Context, corrected, own_id, without_prose
from recipes_core.catalog.importer import leaves
from recipes_core.catalog.yaml_reader import parse_yaml, read_text
from recipes_core.vllm_cli import versions
from tests.conftest import REPO, shared_dir

HERE = Path(__file__).parent
NAMED: dict[str, dict[str, str]] = yaml.safe_load((HERE / "hand_corrections.yaml").read_text())
WRITTEN: dict[str, Any] = yaml.safe_load(
    (HERE.parent / "recipes" / "corrections.yaml").read_text(encoding="utf-8")
)
OURS_ALONE = {
    "date_updated",
    "evidence",
    "hardware",
    "label",
    "license",
    "links",
    "plugins",
    "presets",
    "related_recipes",
    "request",
    "tasks",
    "difficulty",
    "title",
    "slug",
    "vram_source",
}
"""Keys that the peer does not have, or that only say how a list shows the recipe.

Hardware that ours does not offer is no such key: it takes a choice away.
"""


def _peer() -> list[str]:
    shared = shared_dir()
    if shared is None:
        return []
    found = []
    for path in sorted((shared / "upstream" / "models").glob("*/*.yaml")):
        data = parse_yaml(read_text(path), path.name)
        found.append(own_id(f"{path.parent.name}/{path.stem}", data))
    return [recipe for recipe in found if recipe not in WRITTEN]


@pytest.fixture(scope="module")
def expected(shared: Path) -> dict[str, dict[str, Any]]:
    """The peer's facts with its known kinds of faults mended, by our id."""
    taxonomy = parse_yaml(read_text(REPO / "recipes" / "taxonomy.yaml"), "taxonomy.yaml")
    ids = {
        f"{path.parent.name}/{path.stem}".casefold(): f"{path.parent.name}/{path.stem}"
        for path in (REPO / "recipes" / "models").glob("*/*.yaml")
    }
    context = Context(
        frozenset(taxonomy["hardware_profiles"]),
        releases(versions()),
        ids,
        datetime.date(2026, 8, 21),
    )
    found = {}
    for path in (shared / "upstream" / "models").glob("*/*.yaml"):
        peer_id = f"{path.parent.name}/{path.stem}"
        facts = without_prose(parse_yaml(read_text(path), peer_id))
        name = own_id(peer_id, facts)
        found[name] = corrected(deepcopy(facts), name, context)[0]
    return found


def _facts(data: Any) -> dict[str, Any]:
    return {
        key: value
        for key, value in leaves(data)
        if value == "unsupported" or not OURS_ALONE & set(key.replace("[", ".").split("."))
    }


@pytest.mark.parametrize("recipe", _peer())
def test_each_difference_is_named(expected: dict[str, dict[str, Any]], recipe: str) -> None:
    path = REPO / "recipes" / "models" / f"{recipe}.yaml"
    ours = _facts(without_prose(parse_yaml(read_text(path), recipe)))
    theirs = _facts(expected[recipe])
    differing = {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}
    assert differing == set(NAMED.get(recipe, {})), (
        f"name each difference of {recipe} in {HERE.name}/hand_corrections.yaml, and why"
    )


def test_every_correction_says_why_and_is_of_a_recipe_of_ours() -> None:
    for recipe, corrections in NAMED.items():
        assert (REPO / "recipes" / "models" / f"{recipe}.yaml").is_file(), recipe
        assert recipe not in WRITTEN
        assert all(len(why.split()) >= 4 for why in corrections.values()), recipe


def test_every_recipe_of_the_peer_is_one_of_ours(expected: dict[str, dict[str, Any]]) -> None:
    assert len(expected) == 173
    missing = [
        recipe
        for recipe in expected
        if not (REPO / "recipes" / "models" / f"{recipe}.yaml").is_file()
    ]
    assert missing == []
