"""``vllm bench serve``, as far as the tables reach."""

from __future__ import annotations

import pytest

from recipes_core.vllm_cli import check_bench


def codes(command: str, version: str = "0.33.0") -> list[str]:
    return [finding.code for finding in check_bench(command.split(), version)]


GOOD = (
    "vllm bench serve --backend openai-chat --endpoint /v1/chat/completions --model m "
    "--dataset-name random --random-input-len 1024 --random-output-len 128 --num-prompts 100 "
    "--max-concurrency 16 --port $PORT"
)


@pytest.mark.parametrize("version", ["0.23.0", "0.28.0", "0.33.0"])
def test_a_good_command_gives_no_finding(version: str) -> None:
    assert codes(GOOD, version) == []


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ("--num-promps 3", "unknown-flag"),
        ("--num-prompts many", "bad-value"),
        ("--dataset-name nonsense", "bad-choice"),
        ("--random-input 3", "abbreviated-flag"),
        ("stray", "stray-word"),
    ],
)
def test_faults(extra: str, code: str) -> None:
    assert code in codes(f"{GOOD} {extra}")


def test_a_release_whose_bench_was_not_read_is_said() -> None:
    assert codes(GOOD, "0.30.0") == ["nearest-table"]


def test_other_bench_commands_are_not_judged() -> None:
    assert codes("vllm bench throughput --nonsense") == ["not-in-tables"]
