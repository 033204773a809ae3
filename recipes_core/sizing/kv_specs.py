"""What one layer keeps in the KV cache, by kind of layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.shapes import (
    Attention,
    CompressedAttention,
    GatedDelta,
    Kda,
    Mamba1,
    Mamba2,
    Mixer,
    Mla,
    ShortConv,
)
from recipes_core.sizing.shards import up

SpecKind = Literal["full", "sliding", "chunked", "state", "cross"]

KV_BYTES: dict[str, float] = {
    "float32": 4,
    "bfloat16": 2,
    "float16": 2,
    "half": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "fp8_inc": 1,
    "fp8_ds_mla": 1,
    "int8": 1,
    "uint8": 1,
    "nvfp4": 0.5625,
    "nvfp4_ds_mla": 0.5625,
}
"""Bytes per element by ``--kv-cache-dtype`` (nvfp4: half a byte and a scale per 16)."""

UNSIZED_KV = ("per_token_head", "turboquant", "octave", "ultraquant", "nvfp4_4over6")
"""Parts of the names of types that vLLM knows and whose layout is not known here."""

_PACKED = {"fp8_ds_mla": 656.0, "nvfp4_ds_mla": 352.0}
"""Bytes per token of packed latents, with their scales and unquantized rotary part."""
_INDEX_SCALE = 4
_V4_STATE = 584
_V4_ALIGN = 576


@dataclass(frozen=True, slots=True)
class Spec:
    """What one layer keeps per block.

    Args:
        kind: How its need grows with the context.
        token: Bytes per token, 0 for a recurrent state.
        block: Tokens per block.
        page: Bytes per block.
        window: Tokens of a window or chunk.
        ratio: Tokens per cached entry (DeepSeek-V4's compressed states).
    """

    kind: SpecKind
    token: float
    block: int
    page: int
    window: int = 0
    ratio: int = 1


@dataclass(frozen=True, slots=True)
class KvOptions:
    """The engine flags that shape the KV cache.

    Args:
        tp: Tensor parallel size.
        dcp: Decode context parallel size.
        kv_dtype: ``--kv-cache-dtype``, resolved (never ``auto``).
        block_size: Tokens per block before any alignment.
        max_model_len: Longest request.
        tokens: ``max_num_batched_tokens``.
        in_flight: Batches in flight.
        mamba_mode: ``none``, ``align`` or ``all``.
        state_dtype: Bytes of the recurrent state, 0 = what the model asks for.
        conv_dtype: Bytes of the convolution state, 0 = the model's type.
        spec_tokens: Speculative tokens per step.
        hybrid: The hybrid KV cache manager is on.
        draft_layers: Next-token-prediction layers with a cache.
        dsa_packed: Sparse MLA with 8-bit KV uses the packed 656-byte entry (Hopper).
    """

    tp: int = 1
    dcp: int = 1
    kv_dtype: str = "bfloat16"
    block_size: int = 16
    max_model_len: int = 8192
    tokens: int = 8192
    in_flight: int = 1
    mamba_mode: str = "none"
    state_dtype: int = 0
    conv_dtype: int = 0
    spec_tokens: int = 0
    hybrid: bool = True
    draft_layers: int = 0
    dsa_packed: bool = True


def _entry(elements: int, size: float) -> float:
    return elements * size


def mixer_specs(arch: Architecture, mixer: Mixer, o: KvOptions) -> list[Spec]:
    """What one mixer keeps, pages before any alignment."""
    size = KV_BYTES[o.kv_dtype]
    block = o.block_size
    if isinstance(mixer, Attention):
        if not mixer.cached:
            return []
        heads = _own_heads(mixer.kv_heads, o.tp)
        token = _entry(heads * (mixer.head_dim + mixer.v_head_dim), size)
        kind: SpecKind = "full"
        if mixer.cross:
            kind = "cross"
        elif mixer.window is not None:
            kind = "sliding"
        elif mixer.chunk is not None:
            kind = "chunked"
        window = mixer.window or mixer.chunk or (arch.encoder_positions if mixer.cross else 0)
        return [Spec(kind, token, block, math.ceil(token * block), window)]
    if isinstance(mixer, Mla):
        token = _PACKED.get(o.kv_dtype, _entry(mixer.kv_rank + mixer.rope, size))
        if mixer.indexer is not None and o.kv_dtype.startswith("fp8") and o.dsa_packed:
            token = _PACKED["fp8_ds_mla"]
        found = [Spec("full", token, block, math.ceil(token * block))]
        if mixer.indexer is not None:
            index = mixer.indexer.dim + _INDEX_SCALE
            found.append(Spec("full", index, block, index * block))
        return found
    if isinstance(mixer, CompressedAttention):
        return _compressed(mixer, block)
    return [Spec("state", 0, 0, state_bytes(arch, mixer, o))]


def _compressed(mixer: CompressedAttention, block: int) -> list[Spec]:
    """DeepSeek-V4 [source only]: a window of states, and compressed ones behind it."""
    page = up(_V4_STATE * block, _V4_ALIGN)
    found = [Spec("sliding", _V4_STATE, block, page, mixer.window)]
    if mixer.ratio > 1:
        entries = max(1, block // mixer.ratio)
        token = _V4_STATE / mixer.ratio
        found.append(Spec("full", token, block, up(_V4_STATE * entries, _V4_ALIGN), 0, mixer.ratio))
    if mixer.indexer is not None:
        index = mixer.indexer.dim + _INDEX_SCALE
        entries = max(1, block // mixer.ratio)
        found.append(Spec("full", index / mixer.ratio, block, index * entries, 0, mixer.ratio))
    return found


def _own_heads(heads: int, tp: int) -> int:
    """Heads of one rank: never none, even where the engine would refuse so many ranks."""
    return max(1, heads // tp)


def state_bytes(arch: Architecture, mixer: Mixer, o: KvOptions) -> int:
    """Bytes of one recurrent state on one rank (`mamba/mamba_utils.py`)."""
    conv = o.conv_dtype or arch.dtype_bytes
    tp, extra = o.tp, o.spec_tokens
    if isinstance(mixer, Mamba2):
        groups = max(mixer.groups, tp) if mixer.groups % tp else mixer.groups
        width = (mixer.inner + 2 * groups * mixer.state) // tp
        state = _own_heads(mixer.heads, tp) * mixer.head_dim * mixer.state
        size = o.state_dtype or mixer.state_bytes or conv
        return width * (mixer.kernel - 1 + extra) * conv + state * size
    if isinstance(mixer, Mamba1):
        size = o.state_dtype or conv
        inner = mixer.inner // tp
        return inner * (mixer.kernel - 1) * conv + inner * mixer.state * size
    if isinstance(mixer, GatedDelta):
        width = mixer.conv_dim // tp * (mixer.kernel - 1 + extra)
        state = _own_heads(mixer.value_heads, tp) * mixer.value_dim * mixer.key_dim
        return width * conv + state * (o.state_dtype or mixer.state_bytes or conv)
    if isinstance(mixer, Kda):
        wide = _own_heads(mixer.heads, tp) * mixer.head_dim
        return 3 * wide * (mixer.kernel - 1) * conv + wide * mixer.head_dim * 4
    if isinstance(mixer, ShortConv):
        return mixer.dim // tp * (mixer.kernel - 1) * conv
    raise TypeError(f"{type(mixer).__name__} keeps no recurrent state")
