"""YAML in one style that reads back as the same data."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipes_core.catalog.emit import dump_section, dump_yaml
from recipes_core.catalog.loader import load_catalog
from recipes_core.catalog.yaml_reader import parse_yaml, read_text

from .conftest import recipe


def test_keys_stand_in_the_order_of_the_documents():
    data = recipe(guide="## A\n\nText.\n", opt_in_features=["f"], features={"f": {"args": []}})
    shuffled = dict(reversed(data.items()))
    text = dump_yaml(shuffled)
    keys = [line.split(":")[0] for line in text.splitlines() if line and line[0].isalpha()]
    assert keys == [
        "meta",
        "model",
        "variants",
        "features",
        "opt_in_features",
        "compatible_strategies",
        "guide",
    ]
    assert "guide: |\n  ## A\n\n  Text.\n" in text
    assert "opt_in_features: [f]" in text


def test_an_argument_list_has_a_word_per_line():
    text = dump_section("model", {"base_args": ["--a", "8", "--b", '{"c": 1}']})
    assert text == "model:\n  base_args:\n    - --a\n    - '8'\n    - --b\n    - '{\"c\": 1}'\n"


def test_every_recipe_of_ours_survives_a_round_trip():
    catalog = load_catalog()
    root = catalog.roots["builtin"]
    for entry in catalog.recipes.values():
        data = parse_yaml(read_text(root / entry.source), entry.source)
        assert parse_yaml(dump_yaml(data), entry.id) == data


_TEXTS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufeff\u2028\u2029\x85")
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | _TEXTS | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_TEXTS.filter(lambda key: key != "<<"), _VALUES, max_size=3))
def test_any_data_survives_a_round_trip(data: dict[str, Any]):
    text = dump_yaml(data) or "{}"
    assert parse_yaml(text, "x") == data


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "1",
        "0.10",
        "2026-11-30",
        "null",
        "~",
        "",
        "a: b",
        "- x",
        "#",
        "0x1",
        "1_0",
        "0528",
        "0o7",
    ],
)
def test_text_stays_text(word):
    assert parse_yaml(dump_yaml({"a": word}), "x") == {"a": word}


def test_a_date_stays_a_date():
    day = datetime.date(2026, 1, 2)
    assert parse_yaml(dump_yaml({"a": day}), "x") == {"a": day}
