"""The few figures that no source states; `scripts/fit_sizing.py` fits them on measured runs."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20
GIB = 1 << 30


def gib(value: float) -> int:
    """GiB as bytes."""
    return int(value * GIB)


@dataclass(frozen=True, slots=True)
class Constants:
    """Fitted figures, in bytes unless said.

    Args:
        cublas_workspace: cuBLAS keeps it from its first GEMM on.
        sampler_v1: Small tensors of the V1 sampler.
        sampler_v2: Small tensors of the V2 sampler.
        compiled_dense: What a compiled dense forward takes more than an eager one.
        compiled_moe: The same with experts.
        encoder_extra: What a profiled encoder takes beside its kept output.
        non_torch: CUDA libraries and kernels beside torch, one GPU.
        non_torch_old: The same before 0.20.
        non_torch_mamba2: The same where Mamba-2 kernels are tuned.
        non_torch_graphs: What CUDA graphs add to it on V1.
        graph_base: Part of the V1 graph estimate that does not grow with layers, at 51 sizes.
        graph_layer: Part per layer, at 51 sizes.
        nccl: NCCL and custom all-reduce by GPUs of the tensor-parallel group, added together.
        non_torch_pipeline: Non-torch memory of a rank in a pipeline without tensor parallel.
        context: CUDA context, charged to nobody.
        outside: What an engine holds above its share after start, all else accounted for.
        graphs_v1: CUDA graphs really take this many times the V1 estimate.
        graphs_v2: The same for V2, which is charged nothing.
        sampler_state: V2 sampler state in bytes per sequence and vocabulary entry.
    """

    cublas_workspace: int = 32 * MIB
    sampler_v1: int = int(38.5 * MIB)
    sampler_v2: int = int(35.2 * MIB)
    compiled_dense: int = 140 * MIB
    compiled_moe: int = 32 * MIB
    encoder_extra: int = 85 * MIB
    non_torch: int = 230 * MIB
    non_torch_old: int = 256 * MIB
    non_torch_mamba2: int = 232 * MIB
    non_torch_graphs: int = 12 * MIB
    graph_base: int = 208 * MIB
    graph_layer: int = int(9.4 * MIB)
    nccl: tuple[tuple[int, int], ...] = ((2, gib(2.070)), (4, gib(2.190)), (8, gib(2.4)))
    non_torch_pipeline: int = 72 * MIB
    context: int = 527 * MIB
    outside: int = 194 * MIB
    graphs_v1: float = 1.299
    graphs_v2: float = 2.020
    sampler_state: float = 4.404


FITTED = Constants()
"""Fitted on the 90 H200 rows of vLLM 0.25.0 and the 48 H100 rows of 0.19.0."""
