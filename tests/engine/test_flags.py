"""ENGINE section 3: a flag's identity, merging, and what stays as written."""

from __future__ import annotations

import pytest

from recipes_core.flags import Arguments, Provenance, identity, is_flag, last_value, parse_args
from recipes_core.render.shell import quote

HERE = Provenance("test", "test", "test")


def merged(*layers: list[str]) -> list[str]:
    args = Arguments()
    for layer in layers:
        args.add(layer, HERE)
    return args.words()


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("-tp", "--tensor-parallel-size"),
        ("--tensor_parallel_size", "--tensor-parallel-size"),
        ("-cc", "--compilation-config"),
        ("-cc.cudagraph_mode", "--compilation-config.cudagraph_mode"),
        ("-O.mode", "--compilation-config.mode"),
        ("--attention_config.use_fp4_indexer_cache", "--attention-config.use_fp4_indexer_cache"),
        ("--a_b.c_d", "--a-b.c_d"),
    ],
)
def test_one_identity_for_each_spelling(word: str, name: str) -> None:
    assert identity(word) == (name, False)


def test_no_x_is_the_negation_of_x() -> None:
    assert identity("--no-enable-prefix-caching") == ("--enable-prefix-caching", True)
    assert merged(["--enable-prefix-caching"], ["--no-enable-prefix-caching"]) == [
        "--no-enable-prefix-caching"
    ]


def test_equals_and_space_are_one_flag_and_the_text_stays_as_written() -> None:
    """REPORTS B15: the later spelling of one flag replaces the earlier."""
    base = ["--attention_config.use_fp4_indexer_cache=True", "--seed", "1"]
    later = ["--attention-config.use_fp4_indexer_cache", "False"]
    assert merged(base, later) == ["--seed", "1", *later]


def test_the_last_writer_wins_and_takes_the_later_position() -> None:
    assert merged(["--a", "1", "--b", "2"], ["--a", "3"]) == ["--b", "2", "--a", "3"]


def test_append_flags_keep_every_occurrence() -> None:
    """REPORTS B17."""
    words = ["--middleware", "m1", "--x", "1", "--middleware", "m2"]
    assert merged(words) == words


def test_nargs_flags_keep_all_values_of_the_last() -> None:
    first, last = ["--lora-modules", "a=1", "b=2"], ["--lora-modules", "c=3", "d=4", "e=5"]
    assert merged(first, last) == last


def test_an_empty_string_is_a_value() -> None:
    """REPORTS B17: the peer drops it."""
    assert merged(["--served-model-name", ""]) == ["--served-model-name", ""]
    assert quote("") == "''"


def test_an_item_with_flag_and_value_is_split() -> None:
    """REPORTS B16."""
    assert merged(["--max-model-len auto", "--x"], ["--max-model-len", "auto"]) == [
        "--x", "--max-model-len", "auto",
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["-1", "-0.5", "-.5", "-"])
def test_a_negative_number_is_a_value(word: str) -> None:
    assert not is_flag(word)
    assert parse_args(["--x", word])[0].values == (word,)


def test_optimization_level_is_a_flag_of_its_own() -> None:
    flag = parse_args(["-O3"])[0]
    assert (flag.name, flag.values, flag.tokens) == ("--optimization-level", ("3",), ("-O3",))


def test_last_value() -> None:
    assert last_value(["--port", "1", "--port=2"], "--port") == "2"
    assert last_value(["--port", "1"], "--host") is None


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("a/b.c_d-e:1@x,+%=", "a/b.c_d-e:1@x,+%="),
        ("$HEAD_IP", "$HEAD_IP"),
        ("http://$NODE_1:8000", "http://$NODE_1:8000"),
        ("$(id)", "'$(id)'"),
        ("a b", "'a b'"),
        ("it's", "'it'\"'\"'s'"),
        ("$5", "'$5'"),
        ('{"a":1}', "'{\"a\":1}'"),
        ("~/x", "'~/x'"),
    ],
)
def test_quoting(word: str, text: str) -> None:
    assert quote(word) == text


def test_what_a_reader_typed_expands_nothing() -> None:
    assert quote("$HOME", True) == "'$HOME'"
