"""REPORTS B: wrong, missing and stale flags, where the engine or the catalog decides."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import Process, deploy
from recipes_core.render.shell import command, script
from recipes_core.selection import Selection
from tests.deployment.synthetic import recipe

from .reading import has, made, values

HARDWARE = ("h200", "b200", "gb300", "mi355x")


@pytest.fixture(scope="module")
def engines(ours: Catalog) -> list[tuple[str, Process]]:
    """Every engine of each recipe of ours, in each layout, with all its features, on four kinds."""

    def every() -> Iterator[tuple[str, Process]]:
        for name, entry in ours.recipes.items():
            rules = rules_of(ours, entry)
            for variant in entry.recipe.variants:
                for hardware in HARDWARE:
                    for strategy in rules.strategies or [None]:
                        asked = Selection(
                            variant=variant, hardware=hardware, strategy=strategy,
                            nodes=2 if strategy and strategy.startswith("multi") else None,
                            features=tuple(entry.recipe.features) or None,
                        )  # fmt: skip
                        config = configure(ours, entry, asked)
                        for process in deploy(config).processes:
                            if process.is_engine:
                                yield f"{name}?{asked.to_query()}", process

    return list(every())


def test_b1_no_flag_is_spelled_with_underscores(engines: list[tuple[str, Process]]) -> None:
    assert len(engines) > 2000
    for name, process in engines:
        for word in process.argv[3:]:
            head = word.split("=", 1)[0].split(".", 1)[0]
            assert not (head.startswith("--") and "_" in head), (name, word)


def test_b2_a_dotted_switch_has_a_value(engines: list[tuple[str, Process]]) -> None:
    for name, process in engines:
        for flag, _ in process.flags:
            if "." in flag.name:
                assert flag.values, (name, flag)


def test_b3_simple_offload_is_given_a_boolean(ours: Catalog, upstream: Catalog) -> None:
    for catalog in (ours, upstream):
        (process,) = made(catalog, "Qwen/Qwen3-8B", "hardware=h200&kv_offload=simple").processes
        (text,) = values(process, "--kv-transfer-config")
        extra = json.loads(text)["kv_connector_extra_config"]
        assert extra.get("lazy_offload", False) is False


def test_b4_limits_by_modality_are_json(engines: list[tuple[str, Process]]) -> None:
    for name, process in engines:
        for flag, _ in process.flags:
            if flag.name == "--limit-mm-per-prompt":
                assert isinstance(json.loads(flag.values[0]), dict), name


STALE = {
    "--rope-scaling", "--swap-space", "--guided-decoding-backend", "--disable-log-requests",
    "--use-v2-block-manager", "--random-input",
}  # fmt: skip
STALE_ENV = {"VLLM_USE_V1", "SAFETENSORS_FAST_GPU", "VLLM_MOE_USE_DEEP_GEMM"}


def test_b13_b14_what_releases_dropped_is_gone(engines: list[tuple[str, Process]]) -> None:
    for name, process in engines:
        assert not STALE & {flag.name for flag, _ in process.flags}, name
        assert not STALE_ENV & process.env.keys(), name


def test_b16_no_word_holds_a_flag_and_its_value(engines: list[tuple[str, Process]]) -> None:
    for name, process in engines:
        for word in process.argv:
            assert not (word.startswith("--") and " " in word), (name, word)


def test_b7_mega_moe_runs_on_fp8_of_blackwell_alone(engines: list[tuple[str, Process]]) -> None:
    seen = 0
    for name, process in engines:
        if "deep_gemm_mega_moe" in process.argv:
            seen += 1
            assert "hardware=h200" not in name, name
            assert not (name.startswith("deepseek-ai/") and "nvfp4" in name), name
            assert "single_node_tp&" not in name + "&", name
    assert seen


def test_b8_both_names_of_a_variable_are_set_together(engines: list[tuple[str, Process]]) -> None:
    """A mixed state corrupts the experts' output on the image that the page pins."""
    old, new = "AITER_SITUV2_A8W4", "VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4"
    for name, process in engines:
        if old in process.env:
            assert process.env.get(new) == process.env[old], name


class TestB10:
    """Pools: no flag that was taken back, and NVLink's variables only where trays are joined."""

    FULL = frozenset(
        {"NCCL_CUMEM_ENABLE", "NCCL_MNNVL_ENABLE", "NCCL_NVLS_ENABLE", "UCX_NET_DEVICES"}
    )

    def test_no_flag_that_was_taken_back(self, ours: Catalog) -> None:
        deployment = made(ours, recipe(), "hardware=h200&strategy=pd_cluster")
        for process in deployment.role("prefill", "decode"):
            assert not has(process, "--async-scheduling")
            assert "--no-async-scheduling" not in process.argv
            assert "--enforce-eager" not in process.argv
            assert "VLLM_USE_NCCL_SYMM_MEM" not in process.env

    @pytest.mark.parametrize("catalog", ["ours", "upstream"])
    @pytest.mark.parametrize("hardware", ["h200", "b200", "b300", "mi355x", "gb200", "gb300"])
    def test_they_stay_on_trays_alone(
        self, request: pytest.FixtureRequest, catalog: str, hardware: str
    ) -> None:
        data: Catalog = request.getfixturevalue(catalog)
        deployment = made(data, recipe(), f"hardware={hardware}&strategy=pd_cluster")
        (prefill,) = deployment.role("prefill")
        left = self.FULL & prefill.env.keys()
        assert left == (self.FULL if hardware in {"gb200", "gb300"} else set())


def test_b11_a_features_override_replaces_its_arguments(ours: Catalog) -> None:
    feature = {
        "args": ["--speculative-config", '{"num_speculative_tokens":2}', "--extra"],
        "hardware_overrides": {
            "hopper": {"args": ["--speculative-config", '{"num_speculative_tokens":1}']}
        },
    }
    entry = recipe(features={"spec_decoding": feature})
    (hopper,) = made(ours, entry, "hardware=h200&strategy=single_node_tp").processes
    (blackwell,) = made(ours, entry, "hardware=b200&strategy=single_node_tp").processes
    assert values(hopper, "--speculative-config") == ['{"num_speculative_tokens":1}']
    assert "--extra" not in hopper.argv
    assert "--extra" in blackwell.argv


def test_b12_v4_pro_on_h200_is_cut_to_what_fits(ours: Catalog) -> None:
    """800,000 positions and 512 sequences did not fit; the report's figure is 200,000 at most."""
    for process in made(ours, "deepseek-ai/DeepSeek-V4-Pro", "hardware=h200").processes:
        if process.is_engine:
            (length,) = values(process, "--max-model-len")
            assert length.isdigit()
            assert int(length) <= 200_000


@pytest.mark.parametrize(
    ("base", "later", "kept"),
    [
        ("--attention_config.x=True", ("--attention-config.x", "False"), ["False"]),
        ("-tp=4", ("--seed", "1"), None),
        ("-cc.mode=3", ("--compilation-config.mode", "1"), ["1"]),
        ("-O1", ("-O3",), ["3"]),
        ("--enable-prefix-caching", ("--no-enable-prefix-caching",), []),
    ],
)
def test_b15_one_identity_however_it_is_spelled(
    ours: Catalog, base: str, later: tuple[str, ...], kept: list[str] | None
) -> None:
    entry = recipe(
        model__base_args=[base], hardware_overrides={"hopper": {"extra_args": list(later)}}
    )
    (process,) = made(ours, entry, "hardware=h200&strategy=single_node_tp").processes
    names = [flag.name for flag, _ in process.flags]
    assert len(names) == len(set(names))
    if kept is not None:
        assert base not in process.argv
        flag = next(f for f, _ in process.flags if f.tokens[0] == later[0])
        assert list(flag.values) == kept


def test_b17_repeatable_flags_and_empty_values_stay(ours: Catalog) -> None:
    entry = recipe(
        model__base_args=["--middleware", "m1", "--middleware", "m2", "--served-model-name", ""]
    )
    (process,) = made(ours, entry, "hardware=h200&strategy=single_node_tp").processes
    assert values(process, "--middleware") == ["m1", "m2"]
    assert values(process, "--served-model-name") == [""]
    assert "--served-model-name ''" in command(process)


@pytest.mark.parametrize("asked", ["text_only,encoder_parallel", "encoder_parallel,text_only"])
def test_b24_one_of_two_that_exclude_each_other_stays(upstream: Catalog, asked: str) -> None:
    name = next(
        n for n, e in upstream.recipes.items()
        if {"text_only", "encoder_parallel"} <= e.recipe.features.keys()
    )  # fmt: skip
    config = configure(upstream, name, f"features={asked}")
    assert config.features == ("text_only",)
    assert [(a.axis, a.asked) for a in config.adjustments] == [("features", "encoder_parallel")]
    assert "--mm-encoder-tp-mode" not in script(deploy(config).processes[0])


def test_a_recipes_own_exclusion_keeps_what_was_named_first(ours: Catalog) -> None:
    features = {"one": {"args": ["--one"]}, "two": {"args": ["--two"], "excludes": ["one"]}}
    entry = recipe(features=features, opt_in_features=["one", "two"])
    for asked, stays in (("one,two", "one"), ("two,one", "two")):
        config = configure(ours, entry, f"features={asked}")
        assert config.features == (stays,)
        assert config.adjustments
