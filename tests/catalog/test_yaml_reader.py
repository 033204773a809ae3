"""One YAML file: what its scalars mean, and what is refused."""

from __future__ import annotations

import datetime
import time

import pytest

from recipes_core.catalog.yaml_reader import (
    MAX_BYTES,
    WrittenFloat,
    line_of,
    lines_of,
    parse_yaml,
    read_text,
    scalar,
)
from recipes_core.errors import CatalogError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("yes", "yes"),
        ("on", "on"),
        ("NO", "NO"),
        ("", None),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-3", -3),
        ("0o17", 15),
        ("0x1F", 31),
        ("017", 17),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("0.95", 0.95),
        ("1e3", 1000.0),
        ("0.11.0", "0.11.0"),
        ("-", "-"),
        (".", "."),
        ("+", "+"),
        ("0.0.0.0", "0.0.0.0"),
        ("2026-11-30", datetime.date(2026, 11, 30)),
        ("2026-13-30", "2026-13-30"),
        ("--flag", "--flag"),
    ],
)
def test_scalars_follow_yaml_1_2(text, value):
    found = scalar(text)
    assert found == value
    assert isinstance(found, type(value))


def test_a_number_keeps_its_spelling():
    found = scalar("0.10")
    assert isinstance(found, WrittenFloat)
    assert found == 0.1
    assert str(found) == "0.10"


def test_quoted_scalars_stay_text():
    assert parse_yaml("a: '1'\nb: \"true\"\nc: 'null'\n", "f") == {
        "a": "1",
        "b": "true",
        "c": "null",
    }


def test_keys_are_text():
    assert parse_yaml("5090: 1\ntrue: 2\n", "f") == {"5090": 1, "true": 2}


def test_an_alias_that_does_not_multiply_is_read():
    assert parse_yaml("a: &x [1, 2]\nb: *x\n", "f") == {"a": [1, 2], "b": [1, 2]}


REFUSED = {
    "duplicate key": ("a: 1\nb:\n  c: 1\n  c: 2\n", 4, "'c' twice"),
    "tab": ("a:\n\tb: 1\n", 2, "tab"),
    "byte order mark": ("\ufeffa: 1\n", 1, "byte order mark"),
    "empty": ("", 1, "empty"),
    "only a comment": ("# nothing\n", 1, "empty"),
    "a list": ("- 1\n- 2\n", 1, "not a mapping"),
    "a word": ("hello\n", 1, "not a mapping"),
    "two documents": ("a: 1\n---\nb: 2\n", 2, "second document"),
    "a tag": ("a: 1\nb: !!python/object/apply:os.system ['touch pwned']\n", 2, "tag"),
    "a scalar tag": ("a: !!binary aGk=\n", 1, "tag"),
    "a merge key": ("a: &x {b: 1}\nc:\n  <<: *x\n", 3, "merge key"),
    "an alias into itself": ("a: &x\n  b: *x\n", 2, "no value here"),
    "an unknown alias": ("a: *nowhere\n", None, "undefined alias|no value here"),
    "a key that is a list": ("? [1, 2]\n: 3\n", 1, "plain text"),
    "an open bracket": ("a: [1, 2\nb: 3\n", 2, "not YAML"),
    "a bad character": ("a: \x01\n", 1, "not YAML"),
    "deep": ("a: " + "[" * 60 + "]" * 60 + "\n", 1, "levels deep"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_its_line(case):
    text, line, words = REFUSED[case]
    with pytest.raises(CatalogError, match=words) as caught:
        parse_yaml(text, "models/a/b.yaml")
    assert caught.value.path == "models/a/b.yaml"
    if line is not None:
        assert caught.value.line == line
        assert str(caught.value).startswith(f"models/a/b.yaml:{line}: ")


def test_an_alias_bomb_is_refused_at_once():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    began = time.perf_counter()
    with pytest.raises(CatalogError, match="aliases are written out"):
        parse_yaml("\n".join(lines), "bomb.yaml")
    assert time.perf_counter() - began < 2


def test_a_file_of_50_mb_is_not_read(tmp_path):
    path = tmp_path / "big.yaml"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(CatalogError, match=rf"50,000,000 bytes.*{MAX_BYTES:,}"):
        read_text(path)


def test_a_file_that_is_not_utf_8_names_byte_and_line(tmp_path):
    path = tmp_path / "latin.yaml"
    path.write_bytes("a: 1\nb: caf\u00e9\n".encode("latin-1"))
    with pytest.raises(CatalogError, match="not UTF-8: byte 0xe9") as caught:
        read_text(path)
    assert caught.value.line == 2


def test_what_is_no_regular_file_is_not_opened(tmp_path):
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(CatalogError, match="not a regular file"):
        read_text(tmp_path / "folder.yaml")
    with pytest.raises(CatalogError, match="not a regular file"):
        read_text(type(tmp_path)("/dev/zero"))


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(CatalogError, match="cannot be read: No such file"):
        read_text(tmp_path / "nowhere.yaml")


def test_lines_of_keys_and_items():
    text = "a: 1\nb:\n  - x\n  - c: 2\n    d: 3\n"
    assert lines_of(text)[("b", 1, "d")] == 5
    assert line_of(text, ("b", 0)) == 3
    assert line_of(text, ("b", 1, "d", "deeper")) == 5
    assert line_of(text, ("nowhere",)) is None
    assert line_of("a: [", ("a",)) is None
