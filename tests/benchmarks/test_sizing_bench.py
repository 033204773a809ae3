"""How fast sizing is: `size()` at most 1 ms (median) and 2 ms for any model, a matrix 30 ms."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from recipes_core.catalog.loader import builtin_dir
from recipes_core.sizing import (
    B200,
    H100,
    H200,
    MI300X,
    Architecture,
    activation,
    engine,
    kv_cache,
    size,
    weights,
)
from recipes_core.sizing.checkpoint import read_document, to_checkpoint
from recipes_core.sizing.matrix import Entry, fit_matrix

pytestmark = pytest.mark.benchmark(timer=time.process_time)
"""Processor time: what other processes do on the machine is none of our business."""

COMMAND = ["vllm", "serve", "m", "--tensor-parallel-size", "8", "--max-model-len", "8192"]
CACHED = (
    weights.rank_weights,
    weights.checkpoint_bytes,
    activation.rank_activation,
    kv_cache.kv_plan,
    engine._read,
)


def forget() -> None:
    """Nothing of an earlier call helps the next one."""
    for function in CACHED:
        function.cache_clear()


def checkpoints() -> list[tuple[str, Architecture]]:
    found = []
    for path in sorted((builtin_dir() / "checkpoints").glob("*/*.yaml")):
        checkpoint = to_checkpoint(read_document(path))
        if isinstance(checkpoint, Architecture):
            found.append((f"{path.parent.name}/{path.stem}", checkpoint))
    return found


@pytest.mark.parametrize(
    "name", ["meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-V3.2", "zai-org/GLM-5.2-FP8"]
)
def test_size_of_one_model(benchmark: Any, name: str) -> None:
    arch = dict(checkpoints())[name]
    benchmark.pedantic(size, (arch, H200, COMMAND), setup=forget, rounds=60)
    assert benchmark.stats.stats.median <= 0.001


def test_size_of_the_slowest_model(benchmark: Any) -> None:
    slowest: dict[str, float] = {}
    for name, arch in checkpoints():
        best = 1.0
        for _ in range(5):
            forget()
            start = time.process_time()
            size(arch, H200, COMMAND)
            best = min(best, time.process_time() - start)
        slowest[name] = best
    name = max(slowest, key=lambda n: slowest[n])
    print(f"slowest: {name} {slowest[name] * 1e3:.2f} ms of {len(slowest)}")
    arch = dict(checkpoints())[name]
    benchmark.pedantic(size, (arch, H200, COMMAND), setup=forget, rounds=60)
    assert benchmark.stats.stats.median <= 0.002


def test_size_of_a_model_seen_before(benchmark: Any) -> None:
    arch = dict(checkpoints())["deepseek-ai/DeepSeek-V3.2"]
    benchmark(size, arch, H200, COMMAND)
    assert benchmark.stats.stats.median <= 0.0005


def test_matrix_of_a_recipe(benchmark: Any) -> None:
    """Five variants on four GPUs at three sizes, nothing known from before."""
    names = ("bf16", "w8a8", "awq", "nvfp4", "fp8")
    known = dict(checkpoints())
    archs = [
        known["meta-llama/Llama-3.1-8B-Instruct"],
        known["RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8"],
        known["hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4"],
        known["nvidia/Llama-3.1-8B-Instruct-NVFP4"],
        known["deepseek-ai/DeepSeek-V3.2"],
    ]
    entries = [
        Entry(name, name, gpu.id, arch, gpu, ["m", "-tp", str(tp)])
        for name, arch in zip(names, archs, strict=True)
        for gpu in (H100, H200, B200, MI300X)
        for tp in (1, 4, 8)
    ]
    found = benchmark.pedantic(fit_matrix, (entries,), setup=forget, rounds=30)
    assert len(found) == 60
    assert benchmark.stats.stats.median <= 0.030


def test_reading_a_config(benchmark: Any, shared: Path) -> None:
    """Not part of `size()`: once per checkpoint."""
    path = shared / "hf_configs" / "deepseek-ai--DeepSeek-V3.2.json"
    benchmark(Architecture.from_config, path)
