"""Sharding, stages, drafts and offload: what each flag does to the memory of a rank."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipes_core.sizing import H200, Sizing, size
from recipes_core.sizing.versions import rules
from recipes_core.sizing.weights import Allocator, stages
from tests.sizing.rows import GIB, architecture

V3 = "deepseek-ai/DeepSeek-V3"
LLAMA = "meta-llama/Llama-3.3-70B-Instruct"
QWEN = "Qwen/Qwen3-235B-A22B"


def sized(shared: Path, model: str, flags: str = "", **more: object) -> Sizing:
    env = more.pop("env", None)
    return size(architecture(shared, model), H200, ["m", *flags.split()], env=env, **more)


def test_stages_are_dealt_as_vllm_deals_them() -> None:
    assert [s.last - s.first for s in stages(61, 4)] == [15, 15, 16, 15]
    assert [s.last - s.first for s in stages(62, 4)] == [15, 16, 16, 15]
    assert [s.last - s.first for s in stages(32, 1)] == [32]
    assert [s.last - s.first for s in stages(10, 3, (5, 3, 2))] == [5, 3, 2]
    first, last = stages(32, 2)
    assert (first.has_embedding, first.has_head) == (True, False)
    assert (last.has_embedding, last.has_head) == (False, True)


def test_partition_variable(shared: Path) -> None:
    found = sized(shared, LLAMA, "-pp 2", env={"VLLM_PP_LAYER_PARTITION": "50,30"})
    assert [p.last - p.first for p in found.settings.parts] == [50, 30]
    assert found.ranks[0].weights.total > found.ranks[1].weights.total


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_tensor_parallel_divides_all_but_norms(shared: Path, tp: int) -> None:
    one = sized(shared, LLAMA).ranks[0].weights.parameters
    many = sized(shared, LLAMA, f"-tp {tp}").ranks[0].weights.parameters
    assert many["norm"] == one["norm"]
    for part in ("embed", "mlp", "lm_head"):
        assert many[part] * tp == one[part]


def test_kv_heads_are_never_less_than_one(shared: Path) -> None:
    four, eight = (sized(shared, QWEN, f"-tp {tp}") for tp in (4, 8))
    assert four.kv_bytes_per_token == eight.kv_bytes_per_token == 48_128
    assert eight.ranks[0].weights.parameters["attn"] > four.ranks[0].weights.parameters["attn"] / 2


def test_expert_parallel_spreads_whole_experts(shared: Path) -> None:
    split = sized(shared, QWEN, "-tp 8").ranks[0].weights.parameters
    spread = sized(shared, QWEN, "-tp 8 --enable-expert-parallel").ranks[0].weights.parameters
    assert split == spread
    redundant = sized(
        shared, QWEN, "-tp 8 --enable-expert-parallel --enable-eplb --num-redundant-experts 8"
    )
    experts = redundant.ranks[0].weights.parameters["experts"]
    assert experts == spread["experts"] * 17 // 16


def test_data_parallel_repeats_attention_and_shares_experts(shared: Path) -> None:
    tensor = sized(shared, V3, "-tp 8 --enable-expert-parallel").ranks[0].weights.parameters
    data = sized(shared, V3, "-dp 8 --enable-expert-parallel").ranks[0].weights.parameters
    plain = sized(shared, V3, "-dp 8").ranks[0].weights.parameters
    assert data["experts"] == tensor["experts"]
    assert plain["experts"] == pytest.approx(data["experts"], rel=1e-3)
    assert data["attn"] > 4 * tensor["attn"]
    dense = sized(shared, LLAMA, "-dp 8").ranks[0].weights.total
    assert dense == sized(shared, LLAMA).ranks[0].weights.total


def test_blocks_of_128_that_a_split_would_cut_are_refused(shared: Path) -> None:
    found = sized(shared, "Qwen/Qwen3-235B-A22B-FP8", "-tp 8")
    assert found.fits is False
    assert any("192" in p and "128" in p for p in found.problems)
    assert not sized(shared, "Qwen/Qwen3-235B-A22B-FP8", "-tp 4").problems
    assert not sized(shared, "Qwen/Qwen3-235B-A22B-FP8", "-tp 8 --enable-expert-parallel").problems


@pytest.mark.parametrize(
    ("model", "flags", "text"),
    [
        (LLAMA, "-tp 3", "not divisible by TP 3"),
        (LLAMA, "-pp 81", "cannot be spread over 81"),
        (LLAMA, "--max-model-len 200000", "above the model's own 131,072"),
        (LLAMA, "-tp 8 -dcp 2", "Decode context parallel 2 needs"),
        (V3, "-tp 8 -dcp 3", "does not divide TP 8"),
    ],
)
def test_engine_that_would_not_start(shared: Path, model: str, flags: str, text: str) -> None:
    found = sized(shared, model, flags)
    assert found.fits is False
    assert any(text in p for p in found.problems)


def test_longer_context_with_an_override_is_no_problem(shared: Path) -> None:
    yarn = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}
    yarn["rope_scaling"]["original_max_position_embeddings"] = 32768
    words = ["m", "--max-model-len", "131072", "--hf-overrides", json.dumps(yarn)]
    arch = architecture(shared, "Qwen/Qwen2.5-7B-Instruct")
    found = size(arch, H200, words)
    assert not found.problems
    plain = size(arch, H200, ["m"])
    table = 32768 * 4 * 128 * 2
    assert found.ranks[0].weights.rope == table
    assert plain.ranks[0].weights.rope == table // 4
    forced = size(
        arch, H200, ["m", "--max-model-len", "131072"], env={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}
    )
    assert not forced.problems


def test_overrides_change_the_layers(shared: Path) -> None:
    short = sized(shared, LLAMA, '--hf-overrides {"num_hidden_layers":8}')
    assert len(short.settings.arch.layers) == 8
    assert short.kv_bytes_per_token * 10 == sized(shared, LLAMA).kv_bytes_per_token


def test_decode_context_parallel_shares_the_latents(shared: Path) -> None:
    alone = sized(shared, V3, "-tp 8 --max-model-len 65536")
    shared_kv = sized(shared, V3, "-tp 8 -dcp 8 --max-model-len 65536")
    assert shared_kv.max_concurrency == pytest.approx(8 * alone.max_concurrency, rel=0.01)


def test_next_token_prediction_adds_a_layer_of_weights_and_cache(shared: Path) -> None:
    spec = '--speculative-config {"method":"mtp","num_speculative_tokens":1}'
    plain, drafted = sized(shared, V3, "-tp 8"), sized(shared, V3, f"-tp 8 {spec}")
    more = drafted.weights - plain.weights
    assert 1.0 < more / GIB < 2.5
    assert drafted.kv_bytes_per_token == plain.kv_bytes_per_token * 62 // 61
    assert any("MTP" in a for a in drafted.assumptions)


def test_separate_draft_model_is_said_to_be_missing(shared: Path) -> None:
    spec = '--speculative-config {"method":"eagle3","model":"org/draft","num_speculative_tokens":3}'
    found = sized(shared, LLAMA, f"-tp 8 {spec}")
    assert any("draft model" in a for a in found.assumptions)


def test_draft_method_decides_the_runner(shared: Path) -> None:
    ngram = '--speculative-config {"method":"ngram","num_speculative_tokens":3}'
    assert sized(shared, LLAMA, "-tp 8").settings.v2
    assert not sized(shared, LLAMA, f"-tp 8 {ngram}").settings.v2
    assert not sized(shared, V3, "-tp 8").settings.v2
    assert not sized(shared, LLAMA, "-tp 8", vllm="0.21.0").settings.v2


def test_offload_and_given_cache_bytes(shared: Path) -> None:
    plain = sized(shared, LLAMA, "-tp 2")
    moved = sized(shared, LLAMA, "-tp 2 --cpu-offload-gb 10")
    assert plain.weights - moved.weights == 10 * GIB
    given = sized(shared, LLAMA, "-tp 2 --kv-cache-memory-bytes 16G")
    assert given.available == 16 * GIB
    blocks = sized(shared, LLAMA, "-tp 2 --num-gpu-blocks-override 1000")
    assert blocks.kv_blocks == 1000


def test_text_only_loads_no_tower(shared: Path) -> None:
    model = "google/gemma-3-27b-it"
    seen, blind = sized(shared, model), sized(shared, model, "--limit-mm-per-prompt.image 0")
    assert 0.7 < (seen.weights - blind.weights) / GIB < 0.9
    tp = sized(shared, model, "-tp 2").ranks[0].weights.parameters["vision"]
    copied = sized(shared, model, "-tp 2 --mm-encoder-tp-mode data").ranks[0].weights.parameters
    assert copied["vision"] == seen.ranks[0].weights.parameters["vision"] > tp


def test_precision_of_weights_and_cache_are_two_things(shared: Path) -> None:
    found = sized(shared, "Qwen/Qwen3-8B", "--dtype float32")
    assert found.weights > 1.9 * sized(shared, "Qwen/Qwen3-8B").weights
    assert found.settings.kv.kv_dtype == "float32"


def test_releases_differ_where_they_should(shared: Path) -> None:
    old, new = (sized(shared, LLAMA, "-tp 8", vllm=v) for v in ("0.19.1", "0.20.0"))
    assert (old.utilization, new.utilization) == (0.90, 0.92)
    assert (old.graphs, new.graphs > 0) == (0, True)
    gemma = "google/gemma-3-27b-text"
    flags = "--max-model-len 32768"
    before, after = (sized(shared, gemma, flags, vllm=v) for v in ("0.25.0", "0.26.0"))
    assert after.plan.blocks_for(32768) > before.plan.blocks_for(32768)
    calm = sized(shared, gemma, f"{flags} --no-async-scheduling", vllm="0.26.0")
    assert calm.plan.blocks_for(32768) == before.plan.blocks_for(32768)


def test_release_that_is_not_known_says_so() -> None:
    assert rules("v0.18.2rc1").utilization == 0.9
    assert "newer" in rules("0.99.0").notes[0]
    assert "older" in rules("0.6.0").notes[0]
    assert rules("0.25.0").notes == ()
    with pytest.raises(ValueError, match="write it like"):
        rules("latest")


def test_allocator_rounds_as_torch_does() -> None:
    new, old = Allocator(True), Allocator(False)
    mib = 1 << 20
    assert new.taken(441 * mib) == 442 * mib
    assert new.taken(1) == 512
    assert new.taken(12 * mib + 1) == 12 * mib + 512
    assert new.taken(13 * mib + 1) == 14 * mib
    assert old.taken(441 * mib) == 442 * mib
    assert old.taken(440 * mib + 1) == 440 * mib + 512


def test_hybrid_manager_off_charges_windows_in_full(shared: Path) -> None:
    found = sized(shared, "google/gemma-3-27b-text", "--disable-hybrid-kv-cache-manager")
    assert len(found.plan.groups) == 1
    assert found.plan.groups[0].spec.kind == "full"


def test_smaller_step_never_takes_more(shared: Path) -> None:
    for model in (LLAMA, QWEN, V3, "nvidia/NVIDIA-Nemotron-Nano-9B-v2", "openai/gpt-oss-120b"):
        last = None
        for seqs in (1024, 256, 64, 8):
            now = sized(shared, model, f"-tp 8 --max-num-seqs {seqs}").activation
            assert last is None or now <= last
            last = now


@pytest.mark.parametrize(
    ("model", "flags", "said"),
    [
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "-tp 16", "8 Mamba-2 groups"),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "-tp 3", "128 Mamba-2 heads"),
        ("Qwen/Qwen3.5-397B-A17B", "-tp 32", "16 key heads of the gated DeltaNet"),
        ("Qwen/Qwen3.5-27B", "-tp 32", "48 value heads of the gated DeltaNet"),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", "-tp 64", "32 KDA heads"),
        ("ai21labs/Jamba-v0.1", "-tp 3", "8192 Mamba channels"),
        ("LiquidAI/LFM2-1.2B", "-tp 3", "2048 channels of the short convolution"),
        (V3, "-tp 3", "A vocabulary of 129,280 rows"),
    ],
)
def test_what_ranks_cannot_share_is_a_problem(
    shared: Path, model: str, flags: str, said: str
) -> None:
    tp = flags.split()[1]
    found = sized(shared, model, flags)
    assert found.fits is False
    assert f"{said}{' is' if 'vocabulary' in said else ' are'} not divisible by TP {tp}." in (
        found.problems
    )


@pytest.mark.parametrize(
    ("model", "flags"),
    [
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "-tp 8"),
        ("Qwen/Qwen3.5-397B-A17B", "-tp 16"),
        ("Qwen/Qwen3.5-27B", "-tp 8"),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", "-tp 32"),
        ("ibm-granite/granite-4.0-h-small", "-tp 8"),
        ("ai21labs/Jamba-v0.1", "-tp 8"),
        ("LiquidAI/LFM2-1.2B", "-tp 8"),
        (V3, "-tp 8"),
    ],
)
def test_states_that_ranks_can_share_are_none(shared: Path, model: str, flags: str) -> None:
    assert sized(shared, model, flags).problems == ()
