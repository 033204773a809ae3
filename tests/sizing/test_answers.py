"""The questions asked backwards agree with the forward figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recipes_core.catalog.loader import builtin_dir
from recipes_core.sizing import H100, H200, Architecture, Declared, EngineArguments, size
from recipes_core.sizing.answers import (
    advice,
    allowing,
    fewest_gpus,
    host_needs,
    longest_context,
    lowest_utilization,
    most_users,
    replicated_cache,
    searched_layouts,
)
from recipes_core.sizing.checkpoint import load_checkpoint
from tests.sizing.rows import GIB, architecture

MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "google/gemma-3-27b-text",
    "deepseek-ai/DeepSeek-V2-Lite",
    "nvidia/NVIDIA-Nemotron-Nano-9B-v2",
    "openai/gpt-oss-20b",
)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("users", [1, 8])
def test_longest_context_is_the_last_that_fits(shared: Path, model: str, users: int) -> None:
    arch = architecture(shared, model)
    words = ["m", "--gpu-memory-utilization", "0.9"]
    longest = longest_context(size(arch, H100, words), users)
    assert longest
    at = size(arch, H100, [*words, "--max-model-len", str(longest)])
    assert most_users(at, longest) >= users
    if longest < arch.positions:
        beyond = size(arch, H100, [*words, "--max-model-len", str(longest + 1)])
        assert beyond.kv_blocks // beyond.plan.blocks_for(longest + 1) < users


@pytest.mark.parametrize("model", MODELS)
def test_most_users_is_the_floor_of_concurrency(shared: Path, model: str) -> None:
    found = size(architecture(shared, model), H100, ["m", "--max-model-len", "8192"])
    assert most_users(found, 8192) == min(int(found.max_concurrency), found.settings.seqs)


def test_shorter_requests_let_more_users_in(shared: Path) -> None:
    found = size(architecture(shared, MODELS[0]), H100, ["m", "--max-model-len", "8192"])
    assert most_users(found, 1024) > most_users(found, 8192)
    assert most_users(found, 1) == found.settings.seqs


@pytest.mark.parametrize("model", MODELS)
def test_lowest_utilization_starts_and_one_less_does_not(shared: Path, model: str) -> None:
    arch = architecture(shared, model)
    words = ["m", "--max-model-len", "8192"]
    least = lowest_utilization(size(arch, H100, words))
    assert size(arch, H100, [*words, "--gpu-memory-utilization", f"{least:.2f}"]).fits
    below = size(arch, H100, [*words, "--gpu-memory-utilization", f"{least - 0.01:.2f}"])
    assert not below.fits


def test_no_utilization_suffices(shared: Path) -> None:
    found = size(architecture(shared, "meta-llama/Llama-3.3-70B-Instruct"), H100, ["m"])
    assert found.fits is False
    assert lowest_utilization(found) is None


def test_fewest_gpus(shared: Path) -> None:
    arch = architecture(shared, "meta-llama/Llama-3.3-70B-Instruct")
    found = fewest_gpus(arch, H100, ["m", "--max-model-len", "8192"])
    assert found.settings.args.tp == 2
    one = fewest_gpus(arch, H200, ["m", "--max-model-len", "8192", "--kv-cache-dtype", "fp8"])
    assert one.settings.args.tp == 2
    many = fewest_gpus(arch, H100, ["m", "--max-model-len", "8192"], users=100)
    assert many.settings.args.tp == 8


@pytest.mark.parametrize(
    ("words", "layouts"),
    [
        ("-tp 8", [(n, 1, 1) for n in range(1, 9)] + [(8 * n, 1, 1) for n in range(2, 17)]),
        ("-dp 8 -ep", [(1, 1, n) for n in (*range(1, 9), *range(16, 129, 8))]),
        ("-tp 2 -dp 4 -ep", [(2, 1, n) for n in (1, 2, 3, 4, *range(8, 65, 4))]),
        ("-tp 8 -pp 2", [(n, 1, 1) for n in range(1, 9)] + [(8, n, 1) for n in range(2, 17)]),
        ("-tp 8 -dp 2", [(n, 1, 1) for n in range(1, 9)] + [(8, 1, n) for n in range(2, 17)]),
    ],
)
@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-30B-A3B"])
@pytest.mark.parametrize("users", [1, 12, 900])
def test_fewest_gpus_is_the_least_of_all_that_the_strategy_allows(
    shared: Path, model: str, words: str, layouts: list[tuple[int, int, int]], users: int
) -> None:
    arch, flags = architecture(shared, model), ["m", "--max-model-len", "32768", *words.split()]
    base = EngineArguments.from_argv(flags)
    enough = []
    for tp, pp, dp in layouts:
        each = -(-users // dp)
        seqs = None if each <= 1024 else each
        args = replace(base, tp=tp, pp=pp, dp=dp, max_num_seqs=seqs)
        sized = size(arch, H100, args)
        if sized.fits and (most_users(sized, 32768) or 0) >= each:
            enough.append(tp * pp * dp)
    found = fewest_gpus(arch, H100, flags, users=users)
    assert (found.settings.args.gpus if found else None) == min(enough, default=None)
    gpus = [tp * pp * dp for tp, pp, dp in layouts]
    assert f": {min(gpus)} to {max(gpus)} GPUs" in searched_layouts(base, H100)


def test_fewest_gpus_of_data_parallel_are_fewer_than_its_own(shared: Path) -> None:
    arch = architecture(shared, "Qwen/Qwen3-30B-A3B")
    found = fewest_gpus(arch, H200, ["m", "--max-model-len", "8192", "-dp", "8", "-ep"])
    assert found.settings.args.gpus == 1
    many = fewest_gpus(
        arch, H200, ["m", "--max-model-len", "8192", "-dp", "8", "-ep", "--max-num-seqs", "8"],
        users=200,
    )  # fmt: skip
    args = many.settings.args
    assert args.dp * args.max_num_seqs >= 200


@pytest.mark.parametrize(
    ("words", "searched"),
    [
        ("-tp 8", "every TP in one node of 8: 1 to 8 GPUs"),
        ("-tp 8 -pp 2", "every TP in one node of 8: 1 to 8 GPUs"),
        ("-tp 2 -dp 4 -ep", "every DP at TP 2 in one node of 8: 2 to 8 GPUs"),
    ],
)
def test_fewest_gpus_stay_in_one_node_where_none_can_be_added(
    shared: Path, words: str, searched: str
) -> None:
    arch, flags = architecture(shared, "deepseek-ai/DeepSeek-V3"), ["m", *words.split()]
    alone = replace(H100, most_nodes=1)
    assert fewest_gpus(arch, H100, flags).settings.args.gpus > 8
    assert fewest_gpus(arch, alone, flags) is None
    assert searched_layouts(EngineArguments.from_argv(flags), alone) == searched


def test_more_requests_keep_a_budget_that_was_measured(shared: Path) -> None:
    arch = architecture(shared, MODELS[0])
    words = ["m", "--max-model-len", "8192", "--max-num-seqs", "4"]
    measured = size(arch, H100, words, available_kv_bytes=20 * GIB)
    more, each, raised = allowing(measured, 9)
    assert (more.basis, more.available) == ("measured", 20 * GIB)
    assert (each, raised, more.settings.seqs) == (9, 9, 9)


def test_fewest_gpus_of_a_declared_checkpoint_cannot_be_told() -> None:
    assert fewest_gpus(Declared(280 * 10**9, "its maker"), H200) is None


def test_auto_length_is_the_longest_context(shared: Path) -> None:
    arch = architecture(shared, "meta-llama/Llama-3.3-70B-Instruct")
    words = ["m", "-tp", "2", "--max-model-len"]
    auto = size(arch, H100, [*words, "auto"])
    assert auto.fits
    assert auto.max_model_len == longest_context(size(arch, H100, [*words, "8192"]))
    assert not size(arch, H100, [*words, str(auto.max_model_len + 1)]).fits


def test_mla_advice_compares_data_parallel_attention(shared: Path) -> None:
    arch = architecture(shared, "deepseek-ai/DeepSeek-V3")
    found = size(arch, H200, ["m", "-tp", "8"])
    by_code = {a.code: a for a in advice(found)}
    replicated = by_code["mla-replicated"]
    assert replicated.flags == ("--data-parallel-size", "8", "--enable-expert-parallel")
    other = size(arch, H200, ["m", "-dp", "8", "--enable-expert-parallel"])
    assert replicated.after == other.kv_tokens * 8
    assert replicated.after > 3 * replicated.before
    assert replicated_cache(other) is None


def test_kv_dtype_advice_halves_a_token(shared: Path) -> None:
    found = size(architecture(shared, MODELS[0]), H100, ["m"])
    fp8 = {a.code: a for a in advice(found)}["kv-cache-fp8"]
    assert fp8.after == pytest.approx(2 * fp8.before, rel=0.001)
    quantized = size(architecture(shared, MODELS[0]), H100, ["m", "--kv-cache-dtype", "fp8"])
    assert "kv-cache-fp8" not in {a.code for a in advice(quantized)}


def test_advice_for_what_does_not_fit_is_a_length_that_does(shared: Path) -> None:
    arch = architecture(shared, "zai-org/GLM-5.2-FP8")
    found = size(arch, H200, ["m", "-tp", "8"])
    assert found.fits is False
    shorter = {a.code: a for a in advice(found)}["shorter-context"]
    assert size(arch, H200, ["m", "-tp", "8", *shorter.flags]).fits


def test_host_needs(shared: Path) -> None:
    arch = architecture(shared, MODELS[0])
    engine = EngineArguments.from_argv(["m", "--cpu-offload-gb", "4", "-tp", "2"])
    found = host_needs(arch, engine)
    # 8,030,261,248 parameters in 16 bits.
    assert found.download == pytest.approx(16_060_522_496, rel=1e-4)
    assert found.memory == 8 * GIB
    assert host_needs(Declared(5, "x")).basis == "declared"


def test_prefix_caching_costs_a_hybrid_its_tokens(shared: Path) -> None:
    arch = architecture(shared, "nvidia/NVIDIA-Nemotron-Nano-9B-v2")
    words = ["m", "--max-model-len", "32768"]
    off, on = size(arch, H200, words), size(arch, H200, [*words, "--enable-prefix-caching"])
    assert on.kv_tokens < off.kv_tokens / 5
    assert on.settings.kv.mamba_mode == "all"
    newer = size(arch, H200, [*words, "--enable-prefix-caching"], vllm="0.33.0")
    assert newer.settings.kv.mamba_mode == "align"


@pytest.mark.parametrize(
    "model",
    [
        "moonshotai/Kimi-Linear-48B-A3B-Instruct",
        "nvidia/NVIDIA-Nemotron-Nano-9B-v2",
        "Qwen/Qwen3-Next-80B-A3B-Instruct",
        "deepseek-ai/DeepSeek-V3.2",
        "openai/gpt-oss-20b",
    ],
)
def test_more_ranks_than_heads_are_refused_and_do_not_break_the_search(model: str) -> None:
    arch = load_checkpoint([builtin_dir()], model)
    assert isinstance(arch, Architecture)
    wide = size(arch, H200, ["m", "--tensor-parallel-size", "128", "--kv-cache-dtype", "fp8"])
    assert wide.problems
    assert not wide.fits
    assert fewest_gpus(arch, H200, ["m", "--kv-cache-dtype", "fp8"], users=100_000) is None
