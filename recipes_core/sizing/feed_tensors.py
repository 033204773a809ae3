"""The tensors of feed-forward parts on one rank: dense layers, routers and experts."""

from __future__ import annotations

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.shapes import Feed, Mlp, Moe
from recipes_core.sizing.shards import Shard, Tensor, cdiv, linear, up


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
