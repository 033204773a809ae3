"""Which linears a LoRA adapter may touch, and their sizes on one rank."""

from __future__ import annotations

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.shapes import Attention, Layer, Mla, Mlp
from recipes_core.sizing.shards import Shard, cdiv


def slices(arch: Architecture, layer: Layer, s: Shard) -> list[tuple[int, int]]:
    """(input, output) elements of every adapted slice of a layer, on one rank."""
    found: list[tuple[int, int]] = []
    for mixer in layer.mixers:
        if isinstance(mixer, Attention):
            heads, kv = cdiv(mixer.heads, s.tp), max(1, mixer.kv_heads // s.tp)
            found += [
                (arch.hidden, heads * mixer.head_dim),
                (arch.hidden, kv * mixer.head_dim),
                (arch.hidden, kv * mixer.v_head_dim),
                (heads * mixer.v_head_dim, arch.hidden),
            ]
        elif isinstance(mixer, Mla):
            heads = cdiv(mixer.heads, s.tp)
            found += [
                (mixer.q_rank or arch.hidden, heads * (mixer.nope + mixer.rope)),
                (arch.hidden, mixer.q_rank + mixer.kv_rank + mixer.rope),
                (heads * mixer.value, arch.hidden),
            ]
    for feed in layer.feeds:
        if isinstance(feed, Mlp):
            inner = cdiv(feed.inner, s.tp)
            fans = 2 if feed.gated else 1
            found += [(arch.hidden, inner)] * fans + [(inner, arch.hidden)]
    return found
