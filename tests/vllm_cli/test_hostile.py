"""Text from anywhere never breaks a check: it gives findings, or a ValueError that says why."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipes_core.vllm_cli import check_argv, explain, min_version
from recipes_core.vllm_cli.command import config_arguments

FLAGS = ["--kv-transfer-config", "--port", "-cc.mode", "--hf-overrides", "-O", "--", "-tp", "-n2"]
word = st.one_of(st.sampled_from(FLAGS), st.text(max_size=12), st.from_regex(r"--?[a-z._=]{1,9}"))


@settings(deadline=None)
@given(st.lists(word, max_size=8), st.dictionaries(st.text(max_size=9), st.text(max_size=9)))
def test_any_words_give_findings(words: list[str], env: dict[str, str]) -> None:
    argv = ["vllm", "serve", *words]
    for finding in check_argv(argv, env, "0.33.0"):
        assert finding.severity in {"error", "warning", "info"}
        assert finding.message
    min_version(argv, env)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_explained_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        explain(f"vllm serve {text}")


def test_json_nested_too_deep_is_a_finding() -> None:
    argv = ["vllm", "serve", "m", "--hf-overrides", '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"]
    assert [finding.code for finding in check_argv(argv, {}, "0.33.0")] == ["bad-json"]


def test_a_bomb_of_aliases_is_refused() -> None:
    with pytest.raises(ValueError, match="aliases"):
        config_arguments("a: &a [x, x]\nb: [*a, *a]", ())


def test_a_yaml_nested_too_deep_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no YAML|no mapping"):
        config_arguments("[" * 20_000, ())
