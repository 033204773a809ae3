"""A reader's own command, explained."""

from __future__ import annotations

import pytest

from recipes_core.vllm_cli import explain, nearest_recipe
from recipes_core.vllm_cli.effects import EFFECTS
from recipes_core.vllm_cli.tables import option_spans


def test_every_flag_is_explained_under_its_canonical_name() -> None:
    found = explain(
        "vllm serve org/m -tp 2 -cc.mode 3 --no-enable-prefix-caching --uds /x", "0.33.0"
    )
    assert found.model == "org/m"
    assert [flag.name for flag in found.flags] == [
        "--tensor-parallel-size",
        "--compilation-config.mode",
        "--enable-prefix-caching",
        "--uds",
    ]
    by_name = {flag.name: flag for flag in found.flags}
    assert by_name["--tensor-parallel-size"].topic == "layout"
    assert by_name["--tensor-parallel-size"].values == ("2",)
    assert by_name["--enable-prefix-caching"].text.startswith("Switched off: ")
    assert by_name["--uds"].topic == "other"
    assert by_name["--uds"].text.startswith("A value")
    assert found.findings == ()


def test_a_flag_that_this_version_lacks_is_still_named() -> None:
    found = explain("vllm serve m --swap-space 4", "0.33.0")
    assert found.flags[0].text == "Not known to this version."
    assert found.flags[0].since == "0.8.5"
    assert [f.code for f in found.findings] == ["unknown-flag"]
    assert found.floor is not None
    assert found.floor.last == "0.17.1"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("vllm serve m", "TP 1: 1 GPU"),
        ("vllm serve m -tp 8", "TP 8: 8 GPUs"),
        ("vllm serve m -dp 8 --enable-expert-parallel", "DP 8, expert parallel: 8 GPUs"),
        ("vllm serve m -tp=4 -pp 2 -ep", "TP 4 × PP 2, expert parallel: 8 GPUs"),
        ("vllm serve m -tp 8 -dcp 4", "TP 8, DCP 4: 8 GPUs"),
        ("vllm serve m -tp $TP -dp 2", "TP ? × DP 2"),
        ("vllm serve m -ep --no-enable-expert-parallel", "TP 1: 1 GPU"),
    ],
)
def test_the_layout_is_read(command: str, text: str) -> None:
    assert explain(command).layout.describe() == text


def test_a_config_file_is_read_only_by_the_callers_hand() -> None:
    command = "vllm serve m --config x.yaml"
    unread = explain(command)
    assert [f.code for f in unread.findings] == ["config-not-read"]
    read = explain(command, read=lambda path: {"x.yaml": "tensor-parallel-size: 4"}[path])
    assert read.layout.tp == 4
    assert read.findings == ()


def test_a_bench_command_is_checked_too() -> None:
    found = explain("vllm bench serve --model m --num-promps 3", "0.33.0")
    assert [f.code for f in found.findings] == ["unknown-flag"]
    assert "did you mean --num-prompts?" in found.findings[0].message
    assert found.floor is None


def test_the_nearest_recipe_is_of_the_same_model_and_differs_where_it_differs() -> None:
    candidates = [
        ("other", ["vllm", "serve", "org/other", "--tensor-parallel-size", "2", "--port", "80"]),
        ("tp8", ["vllm", "serve", "org/m", "--tensor-parallel-size", "8"]),
        ("tp2", ["vllm", "serve", "org/m", "--tensor-parallel-size", "2", "--seed", "1"]),
    ]
    match = nearest_recipe(candidates, ["vllm", "serve", "Org/M", "-tp", "2", "--port", "80"])
    assert match is not None
    assert match.label == "tp2"
    assert match.only_here == ("--port",)
    assert match.only_there == ("--seed",)
    assert match.differ == (("model", "Org/M", "org/m"),)
    assert match.score == pytest.approx(1 / 3)


def test_without_candidates_there_is_no_nearest() -> None:
    assert nearest_recipe([], ["vllm", "serve", "m"]) is None


def test_every_flag_with_our_own_words_exists() -> None:
    known = option_spans().keys() | option_spans(omni=True).keys()
    assert sorted(EFFECTS.keys() - known) == []
    assert all(effect.text.endswith(".") for effect in EFFECTS.values())


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.28.0", "0.28.0"),
        ("docker.io/vllm/vllm-openai:v0.23.0-cu130", "0.23.0"),
        ("vllm/vllm-openai:latest", "0.33.0"),
        ("my/own:v0.28.0", "0.33.0"),
    ],
)
def test_the_image_decides_the_release_unless_one_is_asked(image: str, version: str) -> None:
    command = f"docker run {image} m -tp 2"
    assert explain(command).version == version
    assert explain(command, "0.25.0").version == "0.25.0"


def test_a_model_given_as_a_flag_is_the_model() -> None:
    candidates = [("m", ["vllm", "serve", "org/m", "-tp", "2"])]
    match = nearest_recipe(candidates, ["vllm", "serve", "--model", "org/m", "-tp", "2"])
    assert match is not None
    assert match.score == 1.0
    assert (match.only_here, match.only_there, match.differ) == ((), (), ())


def test_as_many_nodes_before_as_many_flags() -> None:
    candidates = [
        ("two", ["vllm", "serve", "m", "-tp", "8", "--nnodes", "2"]),
        ("one", ["vllm", "serve", "m", "-tp", "1", "--seed", "1"]),
    ]
    match = nearest_recipe(candidates, ["vllm", "serve", "m", "-tp", "8"])
    assert match is not None
    assert match.label == "one"
