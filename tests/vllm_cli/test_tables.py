"""The versioned table: what it holds, how it is built, which release answers."""

from __future__ import annotations

import importlib.util
import json
from importlib import resources
from pathlib import Path
from types import ModuleType

import pytest

from recipes_core.vllm_cli import newest, table_for, versions
from recipes_core.vllm_cli.tables import data, describe_spans, holds, option_spans, release
from tests.conftest import REPO


def _builder() -> ModuleType:
    path = REPO / "scripts" / "build_vllm_cli.py"
    spec = importlib.util.spec_from_file_location("build_vllm_cli", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_stays_under_400_kilobytes() -> None:
    path = resources.files("recipes_core.vllm_cli").joinpath("tables.json")
    assert len(path.read_bytes()) <= 400_000


def test_unfolding_and_folding_gives_the_same_file() -> None:
    builder = _builder()
    assert builder.fold(*builder.unfold(data())) == data()


def test_every_release_of_the_shared_tables_is_kept_whole(shared: Path) -> None:
    builder = _builder()
    tables, omni, _ = builder.read_folders([shared / "vllm_cli"])
    assert set(tables) <= set(versions())
    kept = {table["vllm_version"]: table for table in builder.unfold(data())[0]}
    for version, table in tables.items():
        mine = kept[version]
        names = {flag["name"]: flag for flag in mine["flags"]}
        assert set(names) == {flag["name"] for flag in table["flags"]}
        for flag in table["flags"]:
            assert sorted(map(str, names[flag["name"]].get("choices", []))) == sorted(
                map(str, flag.get("choices") or [])
            )
            assert names[flag["name"]].get("aliases", []) == flag.get("aliases", [])
            assert names[flag["name"]].get("negations", []) == flag.get("negations", [])
        assert set(mine["env"]) == set(table["env"])
        assert mine["config_fields"].keys() == {k for k, v in table["config_fields"].items() if v}
        for kind, values in table["choices"].items():
            assert set(mine["choices"].get(kind, [])) == set(values)
    assert set(omni) == set(data()["omni"]["versions"])


def test_the_option_strings_live_as_long_as_the_shared_spans_say(shared: Path) -> None:
    spans = json.loads((shared / "vllm_cli" / "spans.json").read_text())
    ours = {
        option: [[versions()[flat[i]], versions()[flat[i + 1]]] for i in range(0, len(flat), 2)]
        for option, flat in option_spans().items()
    }
    assert ours == spans["options"]


@pytest.mark.parametrize(
    ("asked", "answers", "exact"),
    [
        ("0.28.0", "0.28.0", True),
        ("v0.28.0", "0.28.0", True),
        ("0.28", "0.28.0", True),
        ("latest", newest(), True),
        ("nightly", newest(), False),
        ("99.0.0", newest(), False),
        ("0.18.1", "0.18.0", False),
        ("0.14.0", "0.14.1", False),
        ("0.27.9", "0.27.1", False),
        ("0.6.0", "0.8.5", False),
        ("0.28.1rc1", "0.28.0", False),
        ("0.20.0+cpu", "0.20.0", True),
    ],
)
def test_which_release_answers(asked: str, answers: str, exact: bool) -> None:
    table = table_for(asked)
    assert (table.version, table.exact) == (answers, exact)
    assert bool(table.reason) is not exact


def test_a_word_that_is_no_version_is_refused_with_a_hint() -> None:
    with pytest.raises(ValueError, match=f"'newish' is no vLLM version.*{newest()}"):
        table_for("newish")


def test_history_is_told_from_where_the_reader_stands() -> None:
    assert describe_spans([3, 5], 2) == f"it comes with {versions()[3]} ({versions()[2]} lacks it)"
    gone = describe_spans([3, 5], 8)
    assert gone == f"removed: {versions()[5]} still had it, {versions()[6]} does not"
    assert "it comes back with" in describe_spans([1, 2, 6, 7], 4)
    assert describe_spans([], 4) == ""


def test_ranges_hold_both_of_their_ends() -> None:
    inside = [index for index in range(10) if holds([2, 4, 7, 7], index)]
    assert inside == [2, 3, 4, 7]


def test_omni_flags_stand_only_where_omni_is_asked_for() -> None:
    last = len(versions()) - 1
    assert "--omni" in release(last, True).options
    assert "--omni" not in release(last).options


def test_architectures_are_known_since_a_release() -> None:
    first = versions().index("0.10.0")
    assert release(first).knows_architecture("ArceeForCausalLM")
    assert not release(first - 1).knows_architecture("ArceeForCausalLM")
    assert not release(first).knows_architecture("NoSuchForCausalLM")
