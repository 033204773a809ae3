"""ENGINE section 1: a selection round-trips through its query; nothing is lost in silence."""

from __future__ import annotations

import pytest

from recipes_core.selection import MAX_QUERY, QUERY_KEYS, Selection


def test_the_order_of_keys_is_fixed() -> None:
    assert QUERY_KEYS[:7] == (
        "hardware", "variant", "strategy", "nodes", "features", "fmode", "preset",
    )  # fmt: skip
    query = "port=1&preset=p&nodes=2&hardware=h200"
    assert Selection.from_query(query).to_query() == "hardware=h200&nodes=2&preset=p&port=1"


def test_features_replace_or_empty_the_set() -> None:
    assert Selection.from_query("features=a,b").features == ("a", "b")
    assert Selection.from_query("features=none").features == ()
    assert Selection.from_query("").features is None
    assert Selection(features=()).to_query() == "features=none"


def test_feature_modes() -> None:
    assert Selection.from_query("fmode=spec_decoding:mtp").fmode == (("spec_decoding", "mtp"),)


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("nodes=two", "nodes"),
        ("nodes=-1", "nodes"),
        ("nodes=٣", "nodes"),
        ("gpu_memory_utilization=1.5", "gpu_memory_utilization"),
        ("max_model_len=lots", "max_model_len"),
        ("port=70000", "port"),
        ("max_model_len=1.5", "max_model_len"),
        ("max_model_len=1.5K", "max_model_len"),
        ("max_model_len=0", "max_model_len"),
        ("served_name=-x", "served_name"),
        ("host=--port", "host"),
        ("features=,", "features"),
        ("advanced=,", "advanced"),
        ("fmode=,", "fmode"),
        ("fmode=spec:mtp,spec:eagle", "fmode"),
        ("fmode=mtp", "fmode"),
        ("colour=red", "colour"),
        ("served_name=a%00b", "served_name"),
        ("nodes=" + "9" * 5000, "nodes"),
    ],
)
def test_what_cannot_be_read_is_kept_with_a_reason(query: str, key: str) -> None:
    (unread,) = Selection.from_query(query).unread
    assert unread.key == key
    assert unread.reason
    assert Selection.from_query(query).to_query() == ""


def test_a_key_given_twice() -> None:
    selection = Selection.from_query("nodes=2&nodes=3")
    assert selection.nodes == 3
    assert [u.key for u in selection.unread] == ["nodes"]


def test_a_thousand_keys_and_junk_are_said_not_read() -> None:
    assert Selection.from_query("nodes=2&" * 1000).unread
    long = Selection.from_query("hardware=" + "x" * MAX_QUERY)
    assert long.hardware is None
    assert long.unread


def test_keys_of_the_page_are_no_mistake() -> None:
    assert Selection.from_query("model=a/b&theme=dark").unread == ()


@pytest.mark.parametrize("length", ["32768", "32k", "1.5k", "128K", "auto", "-1"])
def test_a_length_is_what_vllm_reads(length: str) -> None:
    assert Selection.from_query(f"max_model_len={length}").max_model_len == length


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("nodes", 0),
        ("gpus", -1),
        ("prefill_nodes", -1),
        ("port", 99999),
        ("gpu_memory_utilization", 9.0),
        ("served_name", "a\nb"),
        ("host", ""),
        ("advanced", ("",)),
    ],
)
def test_a_selection_made_by_hand_is_held_to_the_same_forms(field: str, value: object) -> None:
    made = Selection(hardware="h200").with_(**{field: value})
    assert made.checked().asked() == {"hardware": "h200"}
    assert [unread.key for unread in made.checked().unread] == [field]


def test_a_good_selection_made_by_hand_stays_as_it_is() -> None:
    made = Selection(nodes=2, features=(), fmode=(("a", "b"),), gpu_memory_utilization=0.5)
    assert made.checked() is made
