"""Why an engine would refuse to start, as far as the sizes of its model and its ranks tell."""

from __future__ import annotations

from collections.abc import Iterator

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.engine import EngineArguments
from recipes_core.sizing.shapes import (
    Attention,
    CompressedAttention,
    GatedDelta,
    Kda,
    Mamba1,
    Mamba2,
    Mixer,
    Mla,
    Mlp,
    Moe,
    ShortConv,
)
from recipes_core.sizing.shards import VOCABULARY_MULTIPLE, Shard, up


def problems_of(
    arch: Architecture, args: EngineArguments, shard: Shard, length: int, native: int | None
) -> list[str]:
    """Each reason once, as a sentence.

    Args:
        arch: The model under the engine's flags.
        args: The command.
        shard: How tensors are cut.
        length: Tokens of the longest request.
        native: The longest that the config allows, None where it names none.
    """
    found: list[str] = []
    if arch.layers and args.pp > len(arch.layers):
        found.append(f"{len(arch.layers)} layers cannot be spread over {args.pp} pipeline ranks.")
    found += _vocabulary(arch, args.tp)
    for mixer in arch.attention:
        found += _heads(mixer, args)
    for layer in arch.kinds[0]:
        for part in layer.mixers:
            found += _states(part, args.tp)
        for feed in layer.feeds:
            found += _widths(feed, shard)
    allowed = args.env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN") == "1"
    if native and length > native and not allowed and not args.hf_overrides:
        found.append(
            f"--max-model-len {length:,} is above the model's own {native:,}; the engine refuses "
            "it without VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 or a rope override."
        )
    return list(dict.fromkeys(found))


def _vocabulary(arch: Architecture, tp: int) -> Iterator[str]:
    """Embeddings are padded and then cut evenly (`layers/vocab_parallel_embedding.py`)."""
    rows = up(arch.vocab, VOCABULARY_MULTIPLE)
    if rows % tp:
        yield f"A vocabulary of {rows:,} rows is not divisible by TP {tp}."


def _heads(mixer: Attention | Mla | CompressedAttention, args: EngineArguments) -> Iterator[str]:
    if mixer.heads % args.tp:
        yield f"{mixer.heads} attention heads are not divisible by TP {args.tp}."
    if isinstance(mixer, Attention):
        kv = mixer.kv_heads
        if kv % args.tp if kv >= args.tp else args.tp % kv:
            yield f"{kv} KV heads do not go with TP {args.tp}."
        if args.dcp > 1 and args.dcp > max(1, args.tp // kv):
            yield (
                f"Decode context parallel {args.dcp} needs TP {args.dcp * kv}: each KV head "
                "must have that many ranks."
            )
    if isinstance(mixer, Mla) and args.tp % args.dcp:
        yield f"Decode context parallel {args.dcp} does not divide TP {args.tp}."


def _states(mixer: Mixer, tp: int) -> Iterator[str]:
    """Recurrent states that a tensor-parallel group cannot share.

    vLLM's layers assert it while they are built: `layers/mamba/mamba_mixer2.py` (heads, and groups
    unless there is one), `layers/mamba/gdn/` (KDA heads, value heads of a gated DeltaNet), and
    `distributed/utils.py::divide` for the widths of Mamba-1 and short convolutions. The key heads
    of a gated DeltaNet are not asserted; its first step cannot lay a part of a head out.
    """
    if isinstance(mixer, Mamba2):
        if mixer.heads % tp:
            yield f"{mixer.heads} Mamba-2 heads are not divisible by TP {tp}."
        if mixer.groups > 1 and mixer.groups % tp:
            yield f"{mixer.groups} Mamba-2 groups are not divisible by TP {tp}."
    elif isinstance(mixer, GatedDelta):
        for what, heads in (("key", mixer.key_heads), ("value", mixer.value_heads)):
            if heads % tp:
                yield f"{heads} {what} heads of the gated DeltaNet are not divisible by TP {tp}."
    elif isinstance(mixer, Kda) and mixer.heads % tp:
        yield f"{mixer.heads} KDA heads are not divisible by TP {tp}."
    elif isinstance(mixer, Mamba1) and mixer.inner % tp:
        yield f"{mixer.inner} Mamba channels are not divisible by TP {tp}."
    elif isinstance(mixer, ShortConv) and mixer.dim % tp:
        yield f"{mixer.dim} channels of the short convolution are not divisible by TP {tp}."


def _widths(feed: Mlp | Moe, shard: Shard) -> Iterator[str]:
    """Intermediate sizes that a block or group scale cannot follow."""
    fmt = feed.routed if isinstance(feed, Moe) else feed.down
    ways = shard.expert_tp if isinstance(feed, Moe) else shard.tp
    what = "experts'" if isinstance(feed, Moe) else "MLP's"
    if feed.inner % ways:
        yield f"The {what} intermediate size {feed.inner} is not divisible by {ways} ranks."
        return
    own = feed.inner // ways
    if fmt.kind == "fp8_block" and own % 128:
        yield (
            f"The {what} intermediate size {feed.inner} over {ways} ranks is {own}, which blocks "
            "of 128 do not divide; the engine refuses it. A smaller TP or expert parallel helps."
        )


__all__ = ["problems_of"]
