"""What each release does differently, read in its source, and which release is taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.deployment.install import NEWEST_RELEASE
from recipes_core.sizing import B200, H100, H200, size, size_configuration
from recipes_core.sizing.configuration import version_of
from recipes_core.sizing.hardware import Gpu
from recipes_core.sizing.runners import runner_rule, takes_v2
from recipes_core.sizing.versions import NEWEST_VLLM, rules
from recipes_core.vllm_cli.tables import versions
from tests.sizing.rows import architecture

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
AWQ = "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4"
MOE = "Qwen/Qwen3-30B-A3B"
HYBRID = "nvidia/NVIDIA-Nemotron-Nano-9B-v2"
DSV2 = "deepseek-ai/DeepSeek-V2-Lite-Chat"


@pytest.mark.parametrize(
    ("model", "on_v2"),
    [
        (LLAMA, {"0.23.0", "0.24.0", "0.25.0", "0.28.0", "0.29.0", "0.33.0"}),
        ("Qwen/Qwen3-8B", {"0.22.0", "0.23.0", "0.24.0", "0.25.0", "0.28.0", "0.29.0", "0.33.0"}),
        (AWQ, {"0.24.0", "0.25.0", "0.28.0", "0.29.0", "0.33.0"}),
        (DSV2, {"0.24.0", "0.25.0", "0.28.0", "0.29.0", "0.33.0"}),
        ("google/gemma-3-27b-it", {"0.25.0", "0.28.0", "0.29.0", "0.33.0"}),
        (MOE, {"0.29.0", "0.33.0"}),
        (HYBRID, {"0.29.0", "0.33.0"}),
    ],
)
def test_runner_by_release(shared: Path, model: str, on_v2: set[str]) -> None:
    tried = ("0.21.0", "0.22.0", "0.23.0", "0.24.0", "0.25.0", "0.28.0", "0.29.0", "0.33.0")
    arch = architecture(shared, model)
    found = {v for v in tried if takes_v2(runner_rule(Version(v)), arch, None, frozenset())}
    assert found == on_v2


@pytest.mark.parametrize(
    ("words", "on_v2"),
    [
        (["--speculative-config.method", "ngram"], {"0.32.0", "0.33.0"}),
        (["--speculative-config.method", "suffix"], set()),
        (["--speculative-config.method", "eagle3"], {"0.25.0", "0.29.0", "0.32.0", "0.33.0"}),
        (["--enable-prompt-embeds"], {"0.29.0", "0.32.0", "0.33.0"}),
        (["--logprobs-mode", "raw_logits"], {"0.29.0", "0.32.0", "0.33.0"}),
        (["--enable-dbo"], set()),
    ],
)
def test_what_sends_an_engine_back_to_v1(shared: Path, words: list[str], on_v2: set[str]) -> None:
    arch = architecture(shared, LLAMA)
    tried = ("0.25.0", "0.29.0", "0.32.0", "0.33.0")
    assert {v for v in tried if size(arch, H200, ["m", *words], vllm=v).settings.v2} == on_v2


def test_v2_charges_its_graphs_since_0_29(shared: Path) -> None:
    arch = architecture(shared, LLAMA)
    assert size(arch, H200, ["m"], vllm="0.28.0").graphs == 0
    charged = size(arch, H200, ["m"], vllm="0.29.0")
    assert charged.graphs > 0
    assert size(arch, H200, ["m", "--enforce-eager"], vllm="0.29.0").graphs == 0
    off = {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0"}
    assert size(arch, H200, ["m"], env=off, vllm="0.29.0").graphs == 0


def test_v2_profiles_the_encoder_since_0_27(shared: Path) -> None:
    arch = architecture(shared, "google/gemma-3-27b-it")
    assert not size(arch, H200, ["m"], vllm="0.26.0").settings.step.encoder
    assert size(arch, H200, ["m"], vllm="0.27.0").settings.step.encoder


def test_newest_sampler_is_wider_and_its_band_says_so(shared: Path) -> None:
    arch = architecture(shared, LLAMA)
    before, now = (size(arch, H200, ["m"], vllm=v) for v in ("0.32.0", "0.33.0"))
    one, other = (s.ranks[0].activation.sampler for s in (before, now))
    assert other - one == 8 * 1024 * arch.vocab
    assert any("read in its source" in note for note in now.assumptions)
    low, high = now.band["activation"]
    assert low <= one + 4 * 1024 * arch.vocab <= high


@pytest.mark.parametrize(
    ("vllm", "pp", "v2", "asynchronous", "batches"),
    [
        ("0.25.0", 1, True, True, 1),
        ("0.26.0", 1, True, True, 2),
        ("0.26.0", 1, False, True, 2),
        ("0.26.0", 1, False, False, 1),
        ("0.26.0", 4, True, True, 5),
        ("0.26.0", 4, False, True, 4),
    ],
)
def test_batches_in_flight(vllm: str, pp: int, v2: bool, asynchronous: bool, batches: int) -> None:
    assert rules(vllm).batches_in_flight(pp, v2=v2, asynchronous=asynchronous) == batches


def test_weights_are_loaded_whole_since_0_21(shared: Path) -> None:
    arch = architecture(shared, "google/gemma-3-27b-it")
    early, late = (size(arch, H200, ["m"], vllm=v).weights for v in ("0.20.2", "0.21.0"))
    assert late > early


def test_newest_release_is_the_newest_table() -> None:
    """When a table comes, its rules are read as well, and the CPU's wheel is its own."""
    assert versions()[-1] == NEWEST_VLLM == NEWEST_RELEASE


def test_a_recipe_is_sized_for_what_is_installed_today(ours: Catalog) -> None:
    config = configure(ours, LLAMA, "hardware=h100")
    found = size_configuration(config, deploy(config))
    assert found.vllm == NEWEST_VLLM
    said = [note for note in found.assumptions if "No run of vLLM 0.33.0 was measured" in note]
    assert len(said) == 1
    assert "0.25.0" in said[0]
    pinned = configure(ours, LLAMA, "hardware=h100&vllm=0.25.0")
    assert version_of(deploy(pinned)) == "0.25.0"
    assert size_configuration(pinned, deploy(pinned)).vllm == "0.25.0"


def test_a_server_is_always_charged_nccl(shared: Path) -> None:
    """Measured rows of single ranks must not lower what is said to the owner of a real group."""
    arch = architecture(shared, LLAMA)
    words = ["m", "-tp", "2"]
    plain = size(arch, H200, words)
    for backend in ("mp", "ray"):
        served = size(arch, H200, [*words, "--distributed-executor-backend", backend])
        assert served.per_gpu == plain.per_gpu
    launched = size(arch, H200, [*words, "--distributed-executor-backend", "external_launcher"])
    assert launched.non_torch < plain.non_torch
    assert any("left out" in note for note in launched.assumptions)
    asked = [*words, "--distributed-executor-backend", "external_launcher"]
    assert size(arch, H200, asked, nccl=True).per_gpu == plain.per_gpu


ADA = Gpu("l40s", 48 << 30, generation="ada")


@pytest.mark.parametrize(
    ("gpu", "words", "env", "counted", "said"),
    [
        (H200, [], {}, False, "Triton's kernels on Hopper"),
        (H100, ["-tp", "8"], {}, False, "Triton's kernels on Hopper"),
        (H200, ["-tp", "8", "--enable-expert-parallel"], {}, False, "CUTLASS"),
        (B200, [], {}, False, "FlashInfer's kernels on Blackwell"),
        (ADA, [], {}, False, "not measured"),
        (H200, [], {"VLLM_USE_DEEP_GEMM": "1"}, True, "run in DeepGEMM"),
        (H200, [], {"VLLM_MOE_USE_DEEP_GEMM": "1"}, True, "run in DeepGEMM"),
        (
            H200,
            [],
            {"VLLM_USE_DEEP_GEMM": "1", "VLLM_MOE_USE_DEEP_GEMM": "0"},
            False,
            "Triton's kernels",
        ),
        (H200, ["--moe-backend", "deep_gemm"], {}, True, "run in DeepGEMM"),
        (H200, ["--moe-backend", "flashinfer_cutlass"], {}, False, "flashinfer_cutlass"),
    ],
)
def test_kernels_of_block_fp8_experts(
    shared: Path, gpu: Gpu, words: list[str], env: dict[str, str], counted: bool, said: str
) -> None:
    arch = architecture(shared, "zai-org/GLM-5-FP8")
    found = size(arch, gpu, ["m", *words], env=env, vllm="0.25.0")
    assert found.settings.step.deep_gemm is counted
    assert sum(said in note for note in found.assumptions) == 1


def test_deep_gemm_takes_more_and_less_since_0_31(shared: Path) -> None:
    arch = architecture(shared, "deepseek-ai/DeepSeek-V3")
    settings = size(arch, H200, ["m"], vllm="0.25.0").settings
    assert not replace(settings.step, deep_gemm=True).deep_gemm_bytes
    env = {"VLLM_USE_DEEP_GEMM": "1"}
    plain = size(arch, H200, ["m"], vllm="0.30.0").activation
    before = size(arch, H200, ["m"], env=env, vllm="0.30.0").activation
    after = size(arch, H200, ["m"], env=env, vllm="0.31.0").activation
    assert plain < before
    assert after < before


def test_no_such_experts_no_such_note(shared: Path) -> None:
    found = size(architecture(shared, LLAMA), H200, ["m"])
    assert not any("block FP8" in note for note in found.assumptions)
