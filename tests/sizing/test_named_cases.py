"""Single logged facts, one for each path through the code (SIZING c.0)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recipes_core.sizing import B200, H100, H200, MI300X, Architecture, Gpu, Sizing, size
from tests.sizing.rows import GIB, architecture, config_path

BLOCK_FP8 = {
    "quant_method": "fp8",
    "weight_block_size": [128, 128],
    # The files of these FP8 checkpoints are not public here; their logged weights say that the
    # linear attention stayed in 16 bits.
    "modules_to_not_convert": [
        "lm_head",
        "visual",
        "mlp.gate",
        "shared_expert_gate",
        "linear_attn",
    ],
}


def quantized(shared: Path, model: str, config: dict[str, Any]) -> Architecture:
    data = json.loads(config_path(shared, model).read_text())
    return Architecture.from_config({**data, "quantization_config": config})


def check(
    arch: Architecture,
    gpu: Gpu,
    flags: str,
    vllm: str,
    *,
    kv: float,
    tokens: int | None = None,
    concurrency: float | None = None,
    weights: float | None = None,
    activation: float | None = None,
    kv_share: float = 0.015,
    weight_share: float = 0.01,
    rank_spread: float = 0.0,
    predict: bool = True,
) -> Sizing:
    """Compares a prediction, and the cache that follows from the logged GiB."""
    words = ["vllm", "serve", "model", *flags.split()]
    found = size(arch, gpu, words, vllm=vllm)
    first = found.ranks[0]
    if weights is not None:
        assert first.weights.total / GIB == pytest.approx(weights, rel=weight_share)
    if activation is not None:
        assert first.activation.peak / GIB == pytest.approx(activation, abs=0.1)
    if predict:
        assert first.available / GIB == pytest.approx(kv, rel=kv_share)
    low, middle, high = (
        size(arch, gpu, words, vllm=vllm, available_kv_bytes=int((kv + d) * GIB))
        for d in (-0.005, 0.0, 0.005)
    )
    if tokens is not None:
        assert low.kv_tokens * (1 - rank_spread) <= tokens <= high.kv_tokens * (1 + rank_spread)
    if concurrency is not None:
        assert low.max_concurrency * (1 - rank_spread) - 0.005 <= concurrency
        assert concurrency <= high.max_concurrency * (1 + rank_spread) + 0.005
    return middle


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
AT_95 = "--gpu-memory-utilization 0.95 --max-model-len 8192"


def test_01_llama_8b(shared: Path) -> None:
    found = check(
        architecture(shared, LLAMA),
        H100,
        AT_95,
        "0.19.0",
        weights=14.99,
        activation=1.89,
        kv=58.11,
        tokens=476_016,
        concurrency=58.11,
    )
    assert found.kv_bytes_per_token == 131_072
    assert found.non_torch / GIB == pytest.approx(0.25, abs=0.05)


def test_02_kv_type_is_not_the_weights_type(shared: Path) -> None:
    check(
        architecture(shared, LLAMA),
        H100,
        f"{AT_95} --kv-cache-dtype fp8",
        "0.19.0",
        weights=14.99,
        kv=58.11,
        tokens=952_032,
        concurrency=116.21,
    )


def test_03_quantized_while_loading(shared: Path) -> None:
    check(
        architecture(shared, LLAMA),
        H100,
        f"{AT_95} --quantization fp8",
        "0.19.0",
        weights=8.49,
        kv=64.61,
        tokens=529_248,
        concurrency=64.61,
    )


@pytest.mark.parametrize(
    ("flags", "weights", "kv", "tokens", "spread"),
    [
        ("-tp 2", 7.51, 63.76, 1_044_688, 0.0),
        ("-tp 4", 3.77, 67.44, 2_209_792, 0.0),
        # The log prints the first rank's bytes, the last one decides how many blocks there are.
        ("-pp 2", 7.51, 66.54, 1_075_312, 0.014),
        ("-pp 4", 4.26, 69.80, 2_257_264, 0.014),
    ],
)
def test_04_sharding(
    shared: Path, flags: str, weights: float, kv: float, tokens: int, spread: float
) -> None:
    check(
        architecture(shared, LLAMA),
        H100,
        f"{AT_95} {flags}",
        "0.19.0",
        weights=weights,
        kv=kv,
        tokens=tokens,
        rank_spread=spread,
    )


def test_04_pipeline_is_as_large_as_its_last_rank_allows(shared: Path) -> None:
    arch = architecture(shared, LLAMA)
    found = size(arch, H100, f"x {AT_95} -pp 2".split(), vllm="0.19.0")
    assert found.kv_tokens == pytest.approx(1_075_312, rel=0.003)


def test_05_tight_fit(shared: Path) -> None:
    check(
        architecture(shared, "Qwen/Qwen2.5-72B-Instruct"),
        H100,
        f"{AT_95} -tp 2",
        "0.19.0",
        weights=67.80,
        activation=2.29,
        kv=3.04,
        tokens=19_920,
        concurrency=2.43,
        kv_share=0.03,
    )


def test_06_sliding_groups_are_padded(shared: Path) -> None:
    found = check(
        architecture(shared, "google/gemma-3-27b-it"),
        H100,
        AT_95,
        "0.19.0",
        weights=51.45,
        kv=19.53,
        tokens=36_560,
        concurrency=4.46,
    )
    assert found.kv_bytes_per_token == 573_440
    assert len(found.plan.groups) == 7


def test_07_mxfp4(shared: Path) -> None:
    check(
        architecture(shared, "openai/gpt-oss-20b"),
        H100,
        "--gpu-memory-utilization 0.9 --max-model-len 8192 -tp 2",
        "0.19.0",
        weights=7.01,
        activation=2.87,
        kv=59.32,
        tokens=2_591_776,
        concurrency=316.07,
        weight_share=0.015,
    )


@pytest.mark.parametrize(
    ("tp", "weights", "kv", "tokens"), [(1, 30.74, 41.32, 1_426_368), (2, 15.53, 54.78, 1_890_896)]
)
def test_08_mla_is_replicated(
    shared: Path, tp: int, weights: float, kv: float, tokens: int
) -> None:
    found = check(
        architecture(shared, "moonshotai/Kimi-VL-A3B-Instruct"),
        H100,
        f"{AT_95} -tp {tp}",
        "0.19.0",
        weights=weights,
        kv=kv,
        tokens=tokens,
    )
    assert found.kv_bytes_per_token == 31_104


def test_09_chunked_attention(shared: Path) -> None:
    check(
        architecture(shared, "variant/Llama-4-Scout-17B-16E-Instruct-vision"),
        H100,
        f"{AT_95} -tp 4",
        "0.19.0",
        weights=53.12,
        activation=3.19,
        kv=16.75,
        tokens=365_968,
        concurrency=44.68,
    )


def test_10_deepseek_r1(shared: Path) -> None:
    found = check(
        architecture(shared, "deepseek-ai/DeepSeek-R1-0528"),
        H200,
        "--gpu-memory-utilization 0.92 --max-model-len 10000 -tp 8",
        "0.18.0",
        weights=79.74,
        kv=42.79,
        tokens=653_808,
        concurrency=65.38,
    )
    assert found.kv_bytes_per_token == 70_272


def test_11_sparse_indexer(shared: Path) -> None:
    found = check(
        architecture(shared, "deepseek-ai/DeepSeek-V3.2"),
        H200,
        "--gpu-memory-utilization 0.92 --max-model-len 8192 -tp 8",
        "0.18.0",
        weights=80.76,
        kv=41.76,
        tokens=572_480,
        concurrency=69.88,
    )
    assert found.kv_bytes_per_token == 78_324
    assert found.kv_block_size == 64


def test_12_nvfp4_with_8_bit_cache(shared: Path) -> None:
    found = check(
        architecture(shared, "nvidia/DeepSeek-V3.2-NVFP4"),
        B200,
        "--gpu-memory-utilization 0.92 --max-model-len 10000 -tp 8",
        "0.18.0",
        weights=48.62,
        kv=110.95,
        tokens=2_758_336,
        concurrency=274.52,
        kv_share=0.04,
    )
    assert found.kv_bytes_per_token == 43_188
    assert any("8" in a and "KV cache" in a for a in found.assumptions)


@pytest.mark.parametrize(
    ("tp", "length", "weights", "kv", "tokens"),
    [(4, 8192, 112.61, 56.83, 1_267_456), (8, 10000, 56.65, 111.06, 2_468_368)],
)
def test_13_kv_heads_are_replicated(
    shared: Path, tp: int, length: int, weights: float, kv: float, tokens: int
) -> None:
    found = check(
        architecture(shared, "Qwen/Qwen3-235B-A22B"),
        MI300X,
        f"--max-model-len {length} -tp {tp}",
        "0.18.0",
        weights=weights,
        weight_share=0.035,
        kv=kv,
        kv_share=0.02,
        tokens=tokens,
        rank_spread=0.005,
    )
    assert found.kv_bytes_per_token == 48_128


def test_14_mixed_head_sizes(shared: Path) -> None:
    found = check(
        architecture(shared, "google/gemma-4-31B-it"),
        H200,
        AT_95,
        "0.18.2rc0",
        weights=58.9,
        kv=69.75,
        tokens=76_176,
        concurrency=10.13,
    )
    blocks = {g.spec.kind: g.spec.block for g in found.plan.groups}
    assert blocks == {"sliding": 16, "full": 32}


def test_15_tokens_in_flight_by_release(shared: Path) -> None:
    arch = architecture(shared, "google/gemma-4-31B-it")
    words = ["model", "--max-num-batched-tokens", "32768", "--max-model-len"]
    need = {
        vllm: size(arch, H200, [*words, "262144"], vllm=vllm, available_kv_bytes=49 * GIB)
        for vllm in ("0.25.0", "0.25.1", "0.26.0")
    }
    assert round(need["0.25.0"].needed / GIB, 2) == 45.79
    assert round(need["0.25.1"].needed / GIB, 2) == 45.79
    assert round(need["0.26.0"].needed / GIB, 2) == 70.79
    assert need["0.25.0"].fits
    assert not need["0.26.0"].fits
    longest = size(arch, H200, [*words, "auto"], vllm="0.26.0", available_kv_bytes=49 * GIB)
    assert longest.max_model_len == 58_368


def test_16_gated_delta_net(shared: Path) -> None:
    arch = quantized(shared, "Qwen/Qwen3-Coder-Next", BLOCK_FP8)
    share = "--gpu-memory-utilization 0.92 --max-model-len"
    found = check(
        arch,
        H200,
        f"{share} 8192",
        "0.18.0",
        weights=76.27,
        kv=49.29,
        tokens=538_016,
        concurrency=208.32,
        kv_share=0.03,
    )
    assert found.kv_block_size == 544
    check(arch, H200, f"{share} 10000", "0.18.0", kv=49.29, concurrency=179.91, kv_share=0.03)


def test_17_delta_net_with_32_bit_state(shared: Path) -> None:
    arch = quantized(shared, "Qwen/Qwen3.5-122B-A10B", BLOCK_FP8)
    share = "--gpu-memory-utilization 0.92 -tp 2 --max-model-len"
    found = check(
        arch,
        H200,
        f"{share} 8192",
        "0.18.0",
        weights=59.44,
        kv=62.77,
        tokens=1_370_784,
        concurrency=373.71,
    )
    assert found.kv_block_size == 2096
    check(arch, H200, f"{share} 10000", "0.18.0", kv=62.77, concurrency=327.0)


def test_18_mamba2(shared: Path) -> None:
    nano = check(
        architecture(shared, "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
        H200,
        "--max-model-len 8192 --kv-cache-dtype fp8",
        "0.13.0",
        kv=93.13,
        tokens=6_506_208,
        concurrency=1299.0,
        predict=False,
    )
    super_120b = check(
        architecture(shared, "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8"),
        H200,
        "--max-model-len 8192 --kv-cache-dtype fp8 -tp 2",
        "0.17.1",
        kv=64.72,
        tokens=5_562_368,
        concurrency=679.67,
        predict=False,
    )
    assert (nano.kv_block_size, super_120b.kv_block_size) == (4176, 8320)
