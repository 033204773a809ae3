"""What one model is made of: the parts of its layers, as numbers.

Everything here is per model, before any sharding; all lengths are in elements and all sizes in
bytes. The reading of a config.json into these lives in `recipes_core.sizing.reader`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FormatKind = Literal[
    "plain",
    "fp8_tensor",
    "fp8_channel",
    "fp8_block",
    "fp8_online",
    "int8_channel",
    "int4",
    "nvfp4",
    "mxfp4",
]


@dataclass(frozen=True, slots=True)
class Format:
    """How the weight of a linear layer is stored.

    Args:
        kind: ``plain`` is the model's own 16 or 32 bits.
        group: Weights per scale along the input, for int4.
        zero_point: A zero point is stored beside each scale (AWQ).
    """

    kind: FormatKind = "plain"
    group: int = 0
    zero_point: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the weight is a 16 or 32 bit tensor that a plain GEMM multiplies."""
        return self.kind == "plain"


PLAIN = Format()


@dataclass(frozen=True, slots=True)
class Attention:
    """Multi-head, grouped-query or multi-query attention.

    Args:
        heads: Query heads.
        kv_heads: Key and value heads.
        head_dim: Elements per query and key head.
        v_head_dim: Elements per value head.
        window: Tokens of the sliding window, None for all.
        chunk: Tokens of a local chunk (Llama-4), None for all.
        qkv_bias: The fused q, k, v projection has a bias.
        out_bias: The output projection has a bias.
        sinks: One learned sink per head.
        qk_norm: ``head`` normalises each head, ``full`` the whole projection.
        gate: An output gate doubles the query part of the projection.
        cross: Attends to an encoder, not to itself.
        cached: Has a KV cache of its own (some Gemma layers reuse an earlier one).
        qkv: Storage of the q, k, v projection.
        out: Storage of the output projection.
    """

    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    window: int | None = None
    chunk: int | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    sinks: bool = False
    qk_norm: Literal["none", "head", "full", "weightless"] = "none"
    gate: bool = False
    cross: bool = False
    cached: bool = True
    qkv: Format = PLAIN
    out: Format = PLAIN


@dataclass(frozen=True, slots=True)
class Indexer:
    """The token selector of DeepSeek sparse attention.

    Args:
        heads: Index heads.
        dim: Elements per index head.
        topk: Tokens kept per query.
        query: Storage of its query projection.
    """

    heads: int
    dim: int
    topk: int
    query: Format = PLAIN


@dataclass(frozen=True, slots=True)
class Mla:
    """Multi-head latent attention (DeepSeek).

    Args:
        heads: Query heads.
        q_rank: Rank of the query's low-rank form, 0 without one.
        kv_rank: Elements of the cached latent.
        nope: Elements per head without rotary position.
        rope: Elements with rotary position, shared by all heads in the cache.
        value: Elements per value head.
        gate: An output gate of ``heads * value`` rows (Kimi-K3).
        indexer: The sparse selector, if any.
        a: Storage of the fused down projection.
        q: Storage of the query up projection.
        kv: Storage of the key and value up projection.
        out: Storage of the output projection.
    """

    heads: int
    q_rank: int
    kv_rank: int
    nope: int
    rope: int
    value: int
    gate: bool = False
    indexer: Indexer | None = None
    a: Format = PLAIN
    q: Format = PLAIN
    kv: Format = PLAIN
    out: Format = PLAIN


@dataclass(frozen=True, slots=True)
class CompressedAttention:
    """DeepSeek-V4: attention over compressed states with a sliding window beside it.

    Args:
        heads: Query heads.
        head_dim: Elements of the one shared key and value.
        rope: Elements of it with rotary position.
        q_rank: Rank of the query.
        out_groups: Groups of the low-rank output.
        out_rank: Rank of each group.
        ratio: Tokens per compressed state; 0 or 1 means the window alone.
        window: Tokens of the window.
        indexer: The sparse selector of layers with ratio 4.
        linear: Storage of its linears.
    """

    heads: int
    head_dim: int
    rope: int
    q_rank: int
    out_groups: int
    out_rank: int
    ratio: int
    window: int
    indexer: Indexer | None = None
    linear: Format = PLAIN


@dataclass(frozen=True, slots=True)
class Mamba2:
    """Mamba-2 mixer.

    Args:
        heads: State heads.
        head_dim: Elements per head.
        state: State size N.
        groups: Groups of B and C.
        kernel: Convolution length.
        conv_bias: The convolution has a bias.
        proj_bias: The projections have biases.
        norm: The gated norm before the output projection has weights.
        chunk: Scan chunk, in tokens.
        state_bytes: Bytes per element of the recurrent state, 0 = the model's type.
        inp: Storage of the input projection.
        out: Storage of the output projection.
    """

    heads: int
    head_dim: int
    state: int
    groups: int
    kernel: int
    conv_bias: bool = True
    proj_bias: bool = False
    norm: bool = True
    chunk: int = 256
    state_bytes: int = 0
    inp: Format = PLAIN
    out: Format = PLAIN

    @property
    def inner(self) -> int:
        """Elements of the inner stream."""
        return self.heads * self.head_dim


@dataclass(frozen=True, slots=True)
class Mamba1:
    """Mamba-1 mixer: ``inner`` channels, ``state`` each, low-rank step ``dt_rank``."""

    inner: int
    state: int
    dt_rank: int
    kernel: int
    conv_bias: bool = True
    norms: bool = False
    inp: Format = PLAIN
    out: Format = PLAIN


@dataclass(frozen=True, slots=True)
class GatedDelta:
    """Gated DeltaNet (Qwen3-Next, Qwen3.5).

    ``state_bytes`` is per element of the recurrent state, 0 = the model's own type.
    """

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    state_bytes: int = 0
    inp: Format = PLAIN
    out: Format = PLAIN

    @property
    def conv_dim(self) -> int:
        """Channels of the convolution: q, k and v."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim


@dataclass(frozen=True, slots=True)
class Kda:
    """Kimi delta attention; its state is always 32-bit."""

    heads: int
    head_dim: int
    kernel: int
    full_rank_gate: bool = False
    inp: Format = PLAIN
    out: Format = PLAIN


@dataclass(frozen=True, slots=True)
class ShortConv:
    """Gated short convolution (LFM2)."""

    dim: int
    kernel: int
    bias: bool = False
    inp: Format = PLAIN
    out: Format = PLAIN


@dataclass(frozen=True, slots=True)
class Mlp:
    """Dense feed-forward.

    Args:
        inner: Intermediate size.
        gated: Gate and up projection, else up alone.
        bias: Biases on all.
        up: Storage of the first projection.
        down: Storage of the second.
    """

    inner: int
    gated: bool = True
    bias: bool = False
    up: Format = PLAIN
    down: Format = PLAIN


@dataclass(frozen=True, slots=True)
class Moe:
    """Mixture of experts.

    Args:
        experts: Routed experts.
        top_k: Experts per token.
        inner: Intermediate size of one expert.
        gated: As in `Mlp`.
        bias: Experts have biases (gpt-oss).
        shared: Intermediate size of all shared experts together, 0 without.
        shared_gate: A gate of ``hidden`` weights on the shared expert (Qwen).
        router_bytes: Bytes per router weight, 0 = the model's type.
        router_bias: The router has a bias (gpt-oss).
        router: Storage of the router, where it is quantized with the other linears.
        correction: A 32-bit score correction per expert.
        latent: Width the experts work in, 0 = the hidden size.
        routed: Storage of the experts.
        common: Storage of the shared experts.
    """

    experts: int
    top_k: int
    inner: int
    gated: bool = True
    bias: bool = False
    shared: int = 0
    shared_gate: bool = False
    router_bytes: int = 0
    router_bias: bool = False
    router: Format = PLAIN
    correction: bool = False
    latent: int = 0
    routed: Format = PLAIN
    common: Format = PLAIN


Mixer = Attention | Mla | CompressedAttention | Mamba2 | Mamba1 | GatedDelta | Kda | ShortConv
Feed = Mlp | Moe


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer.

    Args:
        mixers: What mixes tokens: usually one part, two side by side in Falcon-H1.
        feeds: Feed-forward parts, two in Gemma-4 MoE, none in a Nemotron-H mixer layer.
        norms: How many norm vectors of the hidden size it has.
        extra: Further 32-bit elements (DeepSeek-V4 hyper-connections).
    """

    mixers: tuple[Mixer, ...]
    feeds: tuple[Feed, ...]
    norms: int
    extra: int = 0


@dataclass(frozen=True, slots=True)
class RopeTable:
    """One cached table of cosines and sines: ``positions`` rows of ``width`` elements."""

    positions: int
    width: int


@dataclass(frozen=True, slots=True)
class Tower:
    """A vision or audio encoder with its projector.

    Args:
        linears: (in, out, count, biased) of the linears that tensor parallel shards.
        other: Elements that every rank holds.
        tokens_width: Width of its output, in elements.
    """

    linears: tuple[tuple[int, int, int, bool], ...]
    other: int
    tokens_width: int


@dataclass(frozen=True, slots=True)
class Draft:
    """The next-token-prediction layers that a checkpoint carries: how many, and one of them."""

    count: int
    layer: Layer
