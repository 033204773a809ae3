"""The tensors that one GPU holds, part by part, in the order in which the model makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.shapes import (
    PLAIN,
    Attention,
    CompressedAttention,
    Feed,
    Format,
    GatedDelta,
    Indexer,
    Kda,
    Layer,
    Mamba1,
    Mamba2,
    Mixer,
    Mla,
    Mlp,
    Moe,
    ShortConv,
)


class Tensor(NamedTuple):
    """``copies`` equal tensors of ``size`` bytes in one part of the model."""

    part: str
    size: int
    copies: int = 1


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


def attention_scalars(part: str) -> Tensor:
    """The q, k, v and probability scales that each attention layer keeps on the GPU."""
    return Tensor(part, 4, 4)


def layer_tensors(arch: Architecture, layer: Layer, shard: Shard) -> list[Tensor]:
    """All tensors of one decoder layer on one rank."""
    found: list[Tensor] = []
    for mixer in layer.mixers:
        found += mixer_tensors(arch, mixer, shard)
    for feed in layer.feeds:
        found += feed_tensors(arch, feed, shard, beside_dense=len(layer.feeds) > 1)
    if layer.norms:
        found.append(Tensor("norm", arch.hidden * shard.dtype, layer.norms))
    if layer.extra:
        found.append(Tensor("other", layer.extra * 4))
    return found


def mixer_tensors(arch: Architecture, mixer: Mixer, shard: Shard) -> list[Tensor]:
    """The tensors of one token mixer on one rank."""
    match mixer:
        case Attention():
            return _attention(arch, mixer, shard)
        case Mla():
            return _mla(arch, mixer, shard)
        case CompressedAttention():
            return _compressed(arch, mixer, shard)
        case Mamba2():
            return _mamba2(arch, mixer, shard)
        case Mamba1():
            return _mamba1(arch, mixer, shard)
        case GatedDelta():
            return _delta(arch, mixer, shard)
        case Kda():
            return _kda(arch, mixer, shard)
        case ShortConv():
            return _conv(arch, mixer, shard)


def _attention(arch: Architecture, m: Attention, s: Shard) -> list[Tensor]:
    heads = cdiv(m.heads, s.tp)
    kv = max(1, m.kv_heads // s.tp)
    q, k, v = heads * m.head_dim, kv * m.head_dim, kv * m.v_head_dim
    qkv = (q * (2 if m.gate else 1), k, v)
    found = linear("attn", m.qkv, arch.hidden, qkv, s.dtype, bias=m.qkv_bias)
    out = heads * m.v_head_dim
    found += linear("attn", m.out, out, (arch.hidden,), s.dtype, bias=m.out_bias)
    if m.sinks:
        found.append(Tensor("attn", heads * s.dtype))
    if m.qk_norm == "head":
        found.append(Tensor("norm", m.head_dim * s.dtype, 2))
    elif m.qk_norm == "full":
        found += [Tensor("norm", q * s.dtype), Tensor("norm", k * s.dtype)]
    if not m.cross:
        found.append(attention_scalars("attn"))
    return found


def _indexer(arch: Architecture, index: Indexer, q_rank: int, s: Shard) -> list[Tensor]:
    found = linear("attn", index.query, q_rank, (index.heads * index.dim,), s.dtype)
    found += [
        Tensor("attn", arch.hidden * (index.dim + index.heads) * s.dtype),
        Tensor("norm", index.dim * 4, 2),
    ]
    return found


def _mla(arch: Architecture, m: Mla, s: Shard) -> list[Tensor]:
    hidden, heads = arch.hidden, cdiv(m.heads, s.tp)
    wide = heads * (m.nope + m.rope)
    latent = m.kv_rank + m.rope
    if m.q_rank:
        found = linear("attn", m.a, hidden, (m.q_rank, latent), s.dtype)
        found += linear("attn", m.q, m.q_rank, (wide,), s.dtype)
        found.append(Tensor("norm", m.q_rank * s.dtype))
    else:
        found = linear("attn", m.q, hidden, (wide,), s.dtype)
        found += linear("attn", m.a, hidden, (latent,), s.dtype)
    found.append(Tensor("norm", m.kv_rank * s.dtype))
    lifted = heads * (m.nope + m.value)
    found += linear("attn", m.kv, m.kv_rank, (lifted,), s.dtype)
    found += linear("attn", m.out, heads * m.value, (hidden,), s.dtype)
    if m.gate:
        found += linear("attn", m.q, hidden, (heads * m.value,), s.dtype)
    if not m.kv.is_plain or s.absorbed:
        # The absorbed W_UK and W_UV, kept beside the projection.
        found.append(Tensor("kv_b copy", m.kv_rank * heads * m.nope * s.dtype))
        found.append(Tensor("kv_b copy", m.kv_rank * heads * m.value * s.dtype))
    if m.indexer is not None:
        found += _indexer(arch, m.indexer, m.q_rank, s)
    found.append(attention_scalars("attn"))
    return found


def _compressed(arch: Architecture, m: CompressedAttention, s: Shard) -> list[Tensor]:
    hidden, heads = arch.hidden, cdiv(m.heads, s.tp)
    wide = heads * m.head_dim
    found = linear("attn", m.linear, hidden, (m.q_rank, m.head_dim), s.dtype)
    found += linear("attn", m.linear, m.q_rank, (wide,), s.dtype)
    groups = max(1, m.out_groups // s.tp)
    low = groups * m.out_rank
    found += linear("attn", m.linear, wide // groups, (low,), s.dtype)
    found += linear("attn", m.linear, low, (hidden,), s.dtype)
    found += [Tensor("norm", m.q_rank * s.dtype), Tensor("norm", m.head_dim * s.dtype)]
    if m.ratio > 1:
        double = 2 if m.ratio == 4 else 1
        found.append(Tensor("attn", hidden * 2 * double * m.head_dim * s.dtype))
    if m.indexer is not None:
        i = m.indexer
        found += linear("attn", i.query, m.q_rank, (i.dim * i.heads,), s.dtype)
        found.append(Tensor("attn", hidden * (i.heads + 4 * i.dim) * s.dtype))
    found.append(attention_scalars("attn"))
    return found


def _mamba2(arch: Architecture, m: Mamba2, s: Shard) -> list[Tensor]:
    inner, heads = m.inner // s.tp, cdiv(m.heads, s.tp)
    groups = max(1, m.groups // s.tp)
    grouped = groups * m.state
    conv = inner + 2 * grouped
    outs = (inner, inner, grouped, grouped, heads)
    found = linear("ssm", m.inp, arch.hidden, outs, s.dtype, bias=m.proj_bias)
    found.append(Tensor("ssm", conv * m.kernel * s.dtype))
    if m.conv_bias:
        found.append(Tensor("ssm", conv * s.dtype))
    found += [Tensor("ssm", heads * 4), Tensor("ssm", heads * s.dtype, 2)]
    if m.norm:
        found.append(Tensor("ssm", inner * s.dtype))
    found += linear("ssm", m.out, inner, (arch.hidden,), s.dtype, bias=m.proj_bias)
    return found


def _mamba1(arch: Architecture, m: Mamba1, s: Shard) -> list[Tensor]:
    inner = m.inner // s.tp
    found = linear("ssm", m.inp, arch.hidden, (inner, inner), s.dtype)
    found += [Tensor("ssm", inner * m.kernel * s.dtype)]
    if m.conv_bias:
        found.append(Tensor("ssm", inner * s.dtype))
    found += [
        Tensor("ssm", inner * (m.dt_rank + 2 * m.state) * s.dtype),
        Tensor("ssm", m.dt_rank * inner * s.dtype),
        Tensor("ssm", inner * s.dtype),
        Tensor("ssm", inner * m.state * 4),
        Tensor("ssm", inner * 4),
    ]
    if m.norms:
        found += [Tensor("norm", m.dt_rank * s.dtype), Tensor("norm", m.state * s.dtype, 2)]
    found += linear("ssm", m.out, inner, (arch.hidden,), s.dtype)
    return found


def _delta(arch: Architecture, m: GatedDelta, s: Shard) -> list[Tensor]:
    conv, value = m.conv_dim // s.tp, m.value_heads * m.value_dim // s.tp
    heads = cdiv(m.value_heads, s.tp)
    found = linear("ssm", m.inp, arch.hidden, (conv, value), s.dtype)
    found += [
        Tensor("ssm", arch.hidden * 2 * heads * s.dtype),
        Tensor("ssm", conv * m.kernel * s.dtype),
        Tensor("ssm", heads * s.dtype),
        Tensor("ssm", heads * 4),
        Tensor("ssm", m.value_dim * s.dtype),
    ]
    found += linear("ssm", m.out, value, (arch.hidden,), s.dtype)
    return found


def _kda(arch: Architecture, m: Kda, s: Shard) -> list[Tensor]:
    hidden, heads = arch.hidden, cdiv(m.heads, s.tp)
    wide = heads * m.head_dim
    found = linear("ssm", m.inp, hidden, (wide, wide, wide), s.dtype)
    low = 1 if m.full_rank_gate else 2
    for _ in range(low):
        found += [
            Tensor("ssm", hidden * m.head_dim * s.dtype),
            Tensor("ssm", m.head_dim * wide * s.dtype),
        ]
    if m.full_rank_gate:
        found.append(Tensor("ssm", hidden * wide * s.dtype))
    found += [
        Tensor("ssm", hidden * heads * s.dtype),
        Tensor("ssm", wide * m.kernel * s.dtype, 3),
        Tensor("ssm", wide * 4),
        Tensor("ssm", heads * 4),
        Tensor("ssm", m.head_dim * s.dtype),
    ]
    found += linear("ssm", m.out, wide, (hidden,), s.dtype)
    return found


def _conv(arch: Architecture, m: ShortConv, s: Shard) -> list[Tensor]:
    dim = m.dim // s.tp
    found = linear("ssm", m.inp, arch.hidden, (dim, dim, dim), s.dtype, bias=m.bias)
    found.append(Tensor("ssm", dim * m.kernel * s.dtype))
    found += linear("ssm", m.out, dim, (arch.hidden,), s.dtype, bias=m.bias)
    return found


def feed_tensors(
    arch: Architecture, feed: Feed, s: Shard, *, beside_dense: bool = False
) -> list[Tensor]:
    """The tensors of one feed-forward part on one rank."""
    if isinstance(feed, Mlp):
        inner = cdiv(feed.inner, s.tp)
        outs = (inner, inner) if feed.gated else (inner,)
        found = linear("mlp", feed.up, arch.hidden, outs, s.dtype, bias=feed.bias)
        return found + linear("mlp", feed.down, inner, (arch.hidden,), s.dtype, bias=feed.bias)
    return _moe(arch, feed, s, beside_dense=beside_dense)


def local_experts(moe: Moe, s: Shard) -> int:
    """Routed experts on one rank."""
    return cdiv(moe.experts + s.redundant_experts, s.expert_parallel)


def _moe(arch: Architecture, m: Moe, s: Shard, *, beside_dense: bool) -> list[Tensor]:
    hidden = arch.hidden
    router = m.router_bytes or s.dtype
    if m.router.is_plain:
        found = [Tensor("router", hidden * m.experts * router)]
    else:
        found = linear("router", m.router, hidden, (m.experts,), s.dtype)
    if m.router_bias:
        found.append(Tensor("router", m.experts * s.dtype))
    if m.correction:
        found.append(Tensor("router", m.experts * 4))
    if beside_dense:
        # Gemma-4: a router scale, a scale per expert, and norms around each branch.
        found += [Tensor("router", hidden * s.dtype), Tensor("other", m.experts * s.dtype)]
        found.append(Tensor("norm", hidden * s.dtype, 3))
    if m.shared:
        inner = cdiv(m.shared, s.tp)
        outs = (inner, inner) if m.gated else (inner,)
        found += linear("shared", m.common, hidden, outs, s.dtype)
        found += linear("shared", m.common, inner, (hidden,), s.dtype)
    if m.shared_gate:
        found.append(Tensor("shared", hidden * s.dtype))
    if m.latent:
        found += linear("latent", m.common, hidden, (m.latent,), s.dtype)
        found += linear("latent", m.common, m.latent, (hidden,), s.dtype)
    return found + _experts(arch, m, s)


def _experts(arch: Architecture, m: Moe, s: Shard) -> list[Tensor]:
    width = m.latent or arch.hidden
    count = local_experts(m, s)
    inner = cdiv(m.inner, s.expert_tp)
    fans = 2 if m.gated else 1
    if m.routed.kind == "mxfp4" and m.bias:
        return _mxfp4_experts(s, width, inner, count)
    outs = (inner,) * fans
    found = linear("experts", m.routed, width, outs, s.dtype, stack=count)
    found += linear("experts", m.routed, inner, (width,), s.dtype, stack=count)
    if m.bias:
        found += [
            Tensor("experts", count * inner * fans * s.dtype),
            Tensor("experts", count * width * s.dtype),
        ]
    return found


def _mxfp4_experts(s: Shard, width: int, inner: int, count: int) -> list[Tensor]:
    """gpt-oss on Hopper: values padded for the Triton kernel, swizzled scales, 32-bit biases."""
    inner, width = up(inner, s.mxfp4_pad[0]), up(width, s.mxfp4_pad[1])
    rows = 2 * inner
    return [
        Tensor("experts", count * rows * width // 2),
        Tensor("experts", count * rows * up(cdiv(width, 32), 8)),
        Tensor("experts", count * width * inner // 2),
        Tensor("experts", count * width * up(cdiv(inner, 32), 8)),
        Tensor("experts", count * rows * 4),
        Tensor("experts", count * width * 4),
    ]


def embedding_rows(arch: Architecture, tp: int) -> int:
    """Rows of the vocabulary on one rank: padded, then split."""
    return cdiv(up(arch.vocab, VOCABULARY_MULTIPLE), tp)


def embedding_tensors(arch: Architecture, s: Shard, part: str) -> list[Tensor]:
    """The input (``embed``) or output (``lm_head``) embedding on one rank."""
    rows = embedding_rows(arch, s.tp)
    fmt = arch.head if part == "lm_head" else PLAIN
    found = linear(part, fmt, arch.hidden, (rows,), s.dtype)
    if part == "embed" and arch.learned_positions:
        found.append(Tensor(part, arch.learned_positions * arch.hidden * s.dtype))
    if part == "embed" and arch.extra_elements:
        found.append(Tensor("other", arch.extra_elements * s.dtype))
    if part == "lm_head" and arch.family.bias and arch.model_type == "phi":
        found.append(Tensor(part, rows * s.dtype))
    return found


def tower_tensors(arch: Architecture, s: Shard, *, replicated: bool) -> list[Tensor]:
    """The vision or audio encoder on one rank.

    Args:
        arch: The model.
        s: How it is cut.
        replicated: ``--mm-encoder-tp-mode data`` keeps a whole copy on each rank.
    """
    if arch.tower is None:
        return []
    tp = 1 if replicated else s.tp
    found = []
    for inp, out, count, biased in arch.tower.linears:
        found.append(Tensor("vision", cdiv(inp * out, tp) * s.dtype, count))
        if biased:
            found.append(Tensor("vision", out * s.dtype, count))
    found.append(Tensor("vision", arch.tower.other * s.dtype))
    return found
