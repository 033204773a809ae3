"""How a tensor of the model is cut and how many bytes of it one rank holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from recipes_core.sizing.shapes import Format

VOCABULARY_MULTIPLE = 64
"""Embeddings are padded to a multiple of so many rows."""


@dataclass(frozen=True, slots=True)
class Shard:
    """How the model is cut.

    Args:
        tp: Tensor parallel size.
        expert_tp: GPUs that share each expert (TP, or TP x DP without expert parallel).
        expert_parallel: GPUs over which whole experts are spread.
        dtype: Bytes per element of the model's type.
        absorbed: MLA keeps an extra copy of the up projection even in 16 bits (0.19).
        mxfp4_pad: Multiples to which gpt-oss's (intermediate, hidden) are padded.
        redundant_experts: Further expert replicas (EPLB).
    """

    tp: int = 1
    expert_tp: int = 1
    expert_parallel: int = 1
    dtype: int = 2
    absorbed: bool = False
    mxfp4_pad: tuple[int, int] = (64, 1)
    redundant_experts: int = 0


class Tensor(NamedTuple):
    """``copies`` equal tensors of ``size`` bytes in one part of the model."""

    part: str
    size: int
    copies: int = 1


def up(value: int, multiple: int) -> int:
    """``value`` rounded up to a multiple."""
    return -(-value // multiple) * multiple


def cdiv(value: int, by: int) -> int:
    """``value / by`` rounded up."""
    return -(-value // by)


def linear(
    part: str,
    fmt: Format,
    inp: int,
    outs: tuple[int, ...],
    dtype: int,
    *,
    bias: bool = False,
    stack: int = 1,
) -> list[Tensor]:
    """The tensors of one linear layer whose weight is ``sum(outs) x inp``.

    Args:
        part: Part of the model.
        fmt: How the weight is stored.
        inp: Input elements on this rank.
        outs: Output elements on this rank, one entry per fused projection.
        dtype: Bytes per element of the model's type.
        bias: One bias element per output.
        stack: How many such weights lie in one tensor (experts).
    """
    out = sum(outs)
    cells = inp * out * stack
    kind = fmt.kind
    if kind == "plain":
        found = [Tensor(part, cells * dtype)]
    elif kind == "fp8_block":
        blocks = sum(cdiv(o, 128) for o in outs) * cdiv(inp, 128) * stack
        found = [Tensor(part, cells), Tensor(part, 4 * blocks)]
    elif kind in ("fp8_channel", "int8_channel"):
        found = [Tensor(part, cells), Tensor(part, 4 * out * stack)]
    elif kind in ("fp8_tensor", "fp8_online"):
        scales = Tensor(part, 4 * stack, 2 if kind == "fp8_tensor" else 1)
        found = [Tensor(part, cells), scales]
    elif kind == "int4":
        groups = cdiv(inp, fmt.group) if fmt.group > 0 else 1
        scale = groups * out * stack * 2
        found = [Tensor(part, cells // 2), Tensor(part, scale)]
        if fmt.zero_point:
            found.append(Tensor(part, scale))
    elif kind == "nvfp4":
        found = [Tensor(part, cells // 2), Tensor(part, cells // 16), Tensor(part, 4 * stack, 4)]
    else:
        found = [Tensor(part, cells // 2), Tensor(part, cells // 32)]
    if bias:
        found.append(Tensor(part, out * stack * dtype))
    return found
