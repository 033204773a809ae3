"""The least version that accepts a command."""

from __future__ import annotations

import pytest

from recipes_core.vllm_cli import check_argv, check_floor, min_version, newest, versions


def floor(*args: str, plugins: tuple[str, ...] = (), **env: str):  # type: ignore[no-untyped-def]
    return min_version(["vllm", "serve", "m", *args], env, plugins=plugins)


def test_a_plain_command_runs_from_the_oldest_release() -> None:
    found = floor("--port", "80")
    assert (found.version, found.reasons, found.refused) == (versions()[0], (), None)
    assert found.last == newest()


@pytest.mark.parametrize(
    ("args", "env", "version", "culprit"),
    [
        (["--language-model-only"], {}, "0.17.0", "--language-model-only"),
        (["--reasoning-parser", "gemma4"], {}, "0.19.0", "--reasoning-parser"),
        (["--linear-backend", "auto"], {}, "0.22.0", "--linear-backend"),
        (
            ["--kv-transfer-config.kv_load_failure_policy", "fail"],
            {},
            "0.13.0",
            "--kv-transfer-config.kv_load_failure_policy",
        ),
        ([], {"VLLM_ENGINE_READY_TIMEOUT_S": "600"}, "0.14.1", "$VLLM_ENGINE_READY_TIMEOUT_S"),
        (["--attention-backend", "FLASHINFER"], {}, "0.13.0", "--attention-backend"),
        (["--disable-reasoning-x"], {}, None, "--disable-reasoning-x"),
    ],
)
def test_what_sets_the_floor(
    args: list[str], env: dict[str, str], version: str | None, culprit: str
) -> None:
    found = floor(*args, **env)
    assert found.version == version
    assert [reason.where for reason in found.reasons] == [culprit]


def test_the_floor_is_where_the_check_stops_complaining() -> None:
    argv = ["vllm", "serve", "m", "--language-model-only", "--reasoning-parser", "gemma4"]
    found = min_version(argv, {})
    assert found.version is not None
    assert found.refused is not None
    assert not [f for f in check_argv(argv, {}, found.version) if f.severity == "error"]
    assert [f for f in check_argv(argv, {}, found.refused) if f.severity == "error"]
    # Only what the release below refuses is a reason: the other flag was there already.
    assert [reason.where for reason in found.reasons] == ["--reasoning-parser"]


def test_flags_that_never_met_have_no_floor() -> None:
    found = floor("--swap-space", "4", "--language-model-only", "--linear-backend", "auto")
    assert found.version is None
    assert found.contradicts("0.33.0")
    assert "--swap-space" in [reason.where for reason in found.reasons]


def test_a_removed_flag_ends_the_range() -> None:
    found = floor("--swap-space", "4")
    assert not found.contradicts("0.9.2")
    assert (found.version, found.last) == (versions()[0], "0.17.1")


def test_a_flag_that_was_away_counts_from_its_return() -> None:
    found = floor("--disable-log-requests")
    assert (found.version, found.refused, found.last) == ("0.33.0", "0.32.0", newest())


def test_between_two_tables_a_declared_floor_gets_the_benefit_of_the_doubt() -> None:
    found = floor(VLLM_ENGINE_READY_TIMEOUT_S="600")
    # 0.13.0 lacks it, 0.14.1 has it, and 0.14.0 was not read.
    assert found.contradicts("0.13.0")
    assert not found.contradicts("0.14.0")
    assert not found.contradicts("nightly")


def test_a_floor_that_is_too_low_is_a_finding_with_its_culprit() -> None:
    argv = ["vllm", "serve", "m", "--language-model-only"]
    found = check_floor("0.12.0", argv, {})
    assert [(f.severity, f.code) for f in found] == [("error", "floor-too-low")]
    assert "needs 0.17.0: --language-model-only" in found[0].message
    assert check_floor("0.17.0", argv, {}) == []


def test_omni_has_no_floor_below_what_was_read_of_it() -> None:
    found = floor("--omni", "--boundary-ratio", "0.5")
    assert found.version == "0.18.0"
    assert found.refused is None
    assert not found.contradicts("0.12.0")
