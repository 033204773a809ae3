"""The tensors that one GPU holds, part by part, in the order in which the model makes them."""

from __future__ import annotations

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.feed_tensors import feed_tensors
from recipes_core.sizing.mixer_tensors import mixer_tensors
from recipes_core.sizing.shapes import PLAIN, Layer
from recipes_core.sizing.shards import VOCABULARY_MULTIPLE, Shard, Tensor, cdiv, linear, up


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
