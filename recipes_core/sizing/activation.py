"""The largest bytes that one step of the engine needs beside weights and cache.

vLLM profiles one forward pass over ``max_num_batched_tokens`` tokens and one run of the sampler
over ``max_num_seqs`` requests; the larger of the two is charged. Each is a sum of tensors that can
be named in vLLM 0.25's source.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.constants import Constants
from recipes_core.sizing.feed_tensors import local_experts
from recipes_core.sizing.shapes import (
    Attention,
    CompressedAttention,
    Format,
    GatedDelta,
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
from recipes_core.sizing.shards import Shard, cdiv, up
from recipes_core.sizing.weights import Stage

MIB = 1 << 20
_CONTEXT_TOKENS = 65536


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the engine.

    Args:
        tokens: ``max_num_batched_tokens``.
        seqs: ``max_num_seqs``, at most ``tokens``.
        max_model_len: Longest request.
        block_size: Tokens per block of attention.
        v2: The V2 model runner.
        compiled: The forward pass is compiled.
        multiprocessors: Of the GPU.
        encoder: A vision or audio encoder is profiled and its output kept.
        deep_gemm: Block-FP8 experts run in DeepGEMM.
        deep_gemm_bytes: DeepGEMM's first buffer holds 8-bit elements.
        warm_sampler: The V2 sampler is profiled with every sampling parameter set.
        indexer_mib: ``VLLM_SPARSE_INDEXER_MAX_LOGITS_MB``.
    """

    tokens: int
    seqs: int
    max_model_len: int
    block_size: int
    v2: bool
    compiled: bool = False
    multiprocessors: int = 132
    encoder: bool = False
    deep_gemm: bool = False
    deep_gemm_bytes: bool = False
    warm_sampler: bool = False
    indexer_mib: int = 512


@dataclass(frozen=True, slots=True)
class Activation:
    """The two peaks, in bytes, and which part of the model makes the forward one."""

    forward: int
    sampler: int
    encoder: int
    binding: str

    @property
    def peak(self) -> int:
        """What the engine charges."""
        return max(self.forward, self.sampler) + self.encoder


@lru_cache(maxsize=1024)
def rank_activation(
    arch: Architecture, shard: Shard, stage: Stage, step: Step, constants: Constants
) -> Activation:
    """The peak of one rank.

    Args:
        arch: The model.
        shard: How it is cut.
        stage: Its layers; only the last rank of a pipeline samples.
        step: Sizes of a step.
        constants: Fitted figures.
    """
    kinds, order = arch.kinds
    present = dict.fromkeys(order[stage.first : stage.last])
    workspace, forward, binding = 0, 0, "nothing"
    for kind in present:
        # The experts' workspace exists from the first layer with experts on.
        workspace = max(workspace, _workspace(arch, kinds[kind], shard, step))
        size, name = _layer(arch, kinds[kind], shard, step)
        if size + workspace > forward:
            forward, binding = size + workspace, name
    if any(_plain_gemm(kinds[k]) for k in present):
        forward += constants.cublas_workspace
    if step.compiled:
        forward += constants.compiled_moe if arch.is_moe else constants.compiled_dense
    sampler = _sampler(arch, shard, step, constants) + workspace if stage.has_head else 0
    encoder = 0
    if step.encoder:
        kept = arch.tower.tokens_width if arch.tower is not None else arch.hidden
        encoder = shard.dtype * step.tokens * kept + constants.encoder_extra
    return Activation(forward, sampler, encoder, binding)


def _next_power(value: int) -> int:
    return 1 << max(value - 1, 0).bit_length()


def _sampler(arch: Architecture, shard: Shard, step: Step, c: Constants) -> int:
    """Logits in 32 bits, their copies, and what the top-k kernel of V1 keeps per processor."""
    d, seqs, vocab = shard.dtype, step.seqs, arch.vocab
    hidden = d * step.tokens * arch.hidden + d * seqs * arch.hidden
    if step.warm_sampler:
        # Logits, their copy in 32 bits, and FlashInfer's masked copy and probabilities.
        return (12 + d) * seqs * vocab + hidden + c.sampler_v2
    if step.v2:
        return (4 + d) * seqs * vocab + hidden + c.sampler_v2
    rows = min(_next_power(seqs), step.multiprocessors)
    return (12 + d) * seqs * vocab + 4 * rows * vocab + hidden + c.sampler_v1


def _workspace(arch: Architecture, layer: Layer, shard: Shard, step: Step) -> int:
    """What the experts allocate once and keep through forward and sampler."""
    largest = 0
    for feed in layer.feeds:
        if not isinstance(feed, Moe) or feed.routed.kind == "mxfp4":
            continue
        width = feed.latent or arch.hidden
        inner = cdiv(feed.inner, shard.expert_tp)
        fans = 2 if feed.gated else 1
        rows, first = step.tokens * feed.top_k, max(inner, width)
        if feed.routed.kind == "fp8_block" and step.deep_gemm:
            rows = up(rows + local_experts(feed, shard) * 127, 128)
            first = cdiv(first, 2) if step.deep_gemm_bytes else first
        cells = max(fans * inner, width) + first
        largest = max(largest, shard.dtype * rows * cells)
    return largest


def _plain_gemm(layer: Layer) -> bool:
    """Whether any matrix product of a layer runs in cuBLAS, whose workspace then exists."""
    formats: list[Format] = []
    for mixer in layer.mixers:
        formats += [
            getattr(mixer, n)
            for n in ("qkv", "out", "q", "a", "inp", "linear")
            if hasattr(mixer, n)
        ]
    for feed in layer.feeds:
        if isinstance(feed, Mlp):
            formats += [feed.up, feed.down]
        else:
            formats.append(feed.router)
    return any(f.is_plain for f in formats)


def _quantized(fmt: Format, width: int) -> float:
    """Bytes per token of an 8-bit copy of a ``width`` wide input, with its scales."""
    if fmt.kind == "fp8_block":
        return width * 33 / 32
    if fmt.kind in ("fp8_tensor", "fp8_channel", "int8_channel", "fp8_online"):
        return float(width)
    return 0.0


def _layer(arch: Architecture, layer: Layer, shard: Shard, step: Step) -> tuple[int, str]:
    """The larger of a layer's parts: bytes over all tokens, and its name."""
    found = [(_mixer(arch, m, shard, step), type(m).__name__) for m in layer.mixers]
    for feed in layer.feeds:
        if isinstance(feed, Mlp):
            found.append((step.tokens * _mlp(arch, feed, shard), "Mlp"))
            continue
        if feed.shared:
            shared = Mlp(feed.shared, feed.gated, up=feed.common, down=feed.common)
            found.append((step.tokens * _mlp(arch, shared, shard), "shared expert"))
        if feed.routed.kind == "mxfp4":
            # Triton's MXFP4 experts keep no workspace: rows of both products come and go.
            rows = feed.top_k * (cdiv(feed.inner, shard.expert_tp) + arch.hidden)
            found.append((step.tokens * shard.dtype * (rows + 4 * arch.hidden), "experts"))
    size, name = max(found, default=(0.0, "nothing"))
    return int(size), name


def _mlp(arch: Architecture, feed: Mlp, s: Shard) -> float:
    """Bytes per token of a dense feed-forward."""
    d, hidden, inner = s.dtype, arch.hidden, cdiv(feed.inner, s.tp)
    shared = 2 if s.tp > 1 else 0
    wide = 3 if feed.gated else 2
    if arch.family.rebinds:
        early = wide * inner + arch.family.held / 2 * hidden
        late = inner + 5 * hidden
        return d * max(early, late if s.tp > 1 else 0)
    held = arch.family.held - (2 if arch.tower is not None else 0)
    bytes_held = d / 2 * (held + shared) * hidden
    return d * wide * inner + bytes_held + _quantized(feed.down, inner)


def _mixer(arch: Architecture, mixer: Mixer, s: Shard, step: Step) -> float:
    """Bytes over all tokens of a token mixer."""
    d, hidden, tokens = s.dtype, arch.hidden, step.tokens
    match mixer:
        case Attention():
            q = cdiv(mixer.heads, s.tp) * mixer.head_dim
            kv = max(1, mixer.kv_heads // s.tp) * mixer.head_dim
            cells = 3 * hidden + q * (2 if mixer.gate else 1) + 2 * kv + q
            cells += q + kv if mixer.qk_norm == "head" else 0
            cells += hidden if s.tp > 1 else 0
            return tokens * (d * cells + _quantized(mixer.out, q))
        case Mla():
            return _mla(arch, mixer, s, step)
        case CompressedAttention():
            wide = cdiv(mixer.heads, s.tp) * mixer.head_dim
            return tokens * d * (2 * hidden + 2 * wide + mixer.q_rank + mixer.head_dim)
        case Mamba2():
            return tokens * _mamba2(arch, mixer, s)
        case GatedDelta():
            outs = 2 * mixer.key_heads * mixer.key_dim + 2 * mixer.value_heads * mixer.value_dim
            return tokens * d / 2 * 8.4 * (outs + 2 * mixer.value_heads) / s.tp
        case Kda():
            wide = cdiv(mixer.heads, s.tp) * mixer.head_dim
            return tokens * d * (2 * hidden + 9 * wide)
        case Mamba1():
            inner = mixer.inner // s.tp
            return tokens * d * (2 * hidden + 5 * inner)
        case ShortConv():
            return tokens * d * (2 * hidden + 6 * mixer.dim // s.tp)


def _mamba2(arch: Architecture, m: Mamba2, s: Shard) -> float:
    d, inner = s.dtype, m.inner // s.tp
    grouped = max(1, m.groups // s.tp) * m.state
    conv = inner + 2 * grouped
    wide = inner + conv + cdiv(m.heads, s.tp)
    if m.groups > 1:
        return d * (wide + 5 * inner + 2 * arch.hidden) + 8 * m.groups
    return d * (wide + 2 * arch.hidden + 2 * inner + 2 * conv)


def context_tokens(step: Step) -> int:
    """Tokens of cached context that a profiled MLA prefill expands (`mla_attention.py`)."""
    wanted = max(8 * step.max_model_len, 4 * step.seqs * step.block_size)
    return max(min(wanted, _CONTEXT_TOKENS), step.seqs * step.block_size)


def _mla(arch: Architecture, m: Mla, s: Shard, step: Step) -> float:
    d, heads = s.dtype, cdiv(m.heads, s.tp)
    latent = m.kv_rank + m.rope
    cells = 2 * arch.hidden + heads * (m.nope + m.rope) + heads * m.value
    cells += (m.q_rank + latent) + m.q_rank + m.kv_rank + m.rope
    context = context_tokens(step) * heads * (m.nope + m.value) * d
    if m.indexer is not None:
        context = max(context, step.indexer_mib * MIB)
    return step.tokens * d * cells + context
