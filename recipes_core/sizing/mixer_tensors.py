"""The tensors of token mixers on one rank: attention, latents, recurrent states."""

from __future__ import annotations

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.shapes import (
    Attention,
    CompressedAttention,
    GatedDelta,
    Indexer,
    Kda,
    Mamba1,
    Mamba2,
    Mixer,
    Mla,
    ShortConv,
)
from recipes_core.sizing.shards import Shard, Tensor, cdiv, linear


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


def _attention_scalars(part: str) -> Tensor:
    """The q, k, v and probability scales that each attention layer keeps on the GPU."""
    return Tensor(part, 4, 4)


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
        found.append(_attention_scalars("attn"))
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
    found.append(_attention_scalars("attn"))
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
    found.append(_attention_scalars("attn"))
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
