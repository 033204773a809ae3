"""Bytes that the weights of one rank take on the GPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.mixer_tensors import mixer_tensors
from recipes_core.sizing.shapes import Mla, Moe, RopeTable
from recipes_core.sizing.shards import Shard, Tensor, cdiv, up
from recipes_core.sizing.tensors import embedding_tensors, layer_tensors, tower_tensors

MIB = 1 << 20
_SMALL = 512
_SEGMENT = 2 * MIB
_MAX_SPLIT = 20 * MIB


@dataclass(frozen=True, slots=True)
class Stage:
    """The layers of one pipeline rank.

    Args:
        first: Index of its first layer.
        last: One past its last layer.
        has_embedding: It holds the input embedding.
        has_head: It holds the output embedding and runs the sampler.
    """

    first: int
    last: int
    has_embedding: bool = True
    has_head: bool = True


def stages(layers: int, pp: int, partition: tuple[int, ...] = ()) -> tuple[Stage, ...]:
    """How vLLM spreads layers over pipeline ranks (`distributed/utils.py::get_pp_indices`).

    Layers that are left over go to the ranks before the last, from the back.

    Args:
        layers: Layers of the decoder.
        pp: Pipeline parallel size.
        partition: ``VLLM_PP_LAYER_PARTITION``, where set.
    """
    sizes = list(partition) if len(partition) == pp else [layers // pp] * pp
    if len(partition) != pp:
        for back in range(2, layers % pp + 2):
            sizes[-back] += 1
    ends = [sum(sizes[: i + 1]) for i in range(pp)]
    return tuple(
        Stage(end - size, end, has_embedding=i == 0, has_head=i == pp - 1)
        for i, (size, end) in enumerate(zip(sizes, ends, strict=True))
    )


@dataclass(frozen=True, slots=True)
class Allocator:
    """How torch's caching allocator rounds.

    Args:
        whole_units: vLLM loads weights with ``max_split_size_mb=20``: large blocks are never
            split. Older engines use the default settings.
    """

    whole_units: bool = True

    def taken(self, size: int) -> int:
        """Bytes that the allocator counts for one tensor of ``size`` bytes."""
        small = up(size, _SMALL)
        if size < 10 * MIB:
            return small
        unit = up(size, _SEGMENT)
        if self.whole_units and size >= _MAX_SPLIT:
            return unit
        return unit if unit - small <= MIB else small

    def total(self, tensors: Iterable[Tensor]) -> int:
        """Bytes counted for all tensors together."""
        return sum(self.taken(t.size) * t.copies for t in tensors)


@dataclass(frozen=True, slots=True)
class Weights:
    """What the weights of one rank take.

    Args:
        parameters: Bytes of the parameters and buffers themselves, by part of the model.
        rounding: Bytes lost to the allocator.
        rope: Bytes of the tables of rotary positions.
        other: LoRA slots, workspaces of repacked weights and similar.
        total: What the engine logs as "Model loading took".
    """

    parameters: dict[str, int]
    rounding: int
    rope: int
    other: int
    total: int


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What changes the weights beside the cut.

    Args:
        tower: The vision tower is loaded.
        tower_replicated: Each rank holds the whole tower.
        loras: ``--max-loras``, 0 without LoRA.
        lora_rank: ``--max-lora-rank``.
        draft_layers: Next-token-prediction layers that are loaded.
        tokens: ``max_num_batched_tokens``.
        offload: Bytes that ``--cpu-offload-gb`` moves to the host.
    """

    tower: bool = True
    tower_replicated: bool = False
    loras: int = 0
    lora_rank: int = 16
    draft_layers: int = 0
    tokens: int = 8192
    offload: int = 0


@lru_cache(maxsize=1024)
def rank_weights(
    arch: Architecture, shard: Shard, stage: Stage, allocator: Allocator, options: LoadOptions
) -> Weights:
    """The weights of one rank.

    Every tensor is counted at its rank's shape and rounded as the allocator does (SIZING b.3).

    Args:
        arch: The model.
        shard: How its tensors are cut.
        stage: Which layers the rank holds.
        allocator: How torch rounds.
        options: Towers, LoRA, drafts and offload.
    """
    tensors, per_kind = _stage_tensors(arch, shard, stage, options)
    parts: dict[str, int] = {}
    for tensor in tensors:
        parts[tensor.part] = parts.get(tensor.part, 0) + tensor.size * tensor.copies
    ropes = arch.ropes if arch.layers else ()
    tables = [Tensor("rope", r.positions * r.width * shard.dtype) for r in ropes]
    rope = sum(t.size for t in tables)
    counted = allocator.total(tensors) + allocator.total(tables)
    if allocator.whole_units:
        counted += _reuse(arch, shard, stage, per_kind)
    raw = sum(parts.values()) + rope
    extra = _repacking(arch, stage) + _lora(arch, shard, stage, options)
    extra += _index_buffer(arch, options)
    total = max(counted + extra - options.offload, 0)
    return Weights(parts, counted - raw, rope, extra, total)


def _stage_tensors(
    arch: Architecture, shard: Shard, stage: Stage, options: LoadOptions
) -> tuple[list[Tensor], list[list[Tensor]]]:
    """All tensors of a rank, and those of each distinct layer."""
    kinds, order = arch.kinds
    per_kind = [layer_tensors(arch, kind, shard) for kind in kinds]
    found: list[Tensor] = []
    if options.tower and stage.has_embedding:
        found += tower_tensors(arch, shard, replicated=options.tower_replicated)
    if stage.has_embedding or (stage.has_head and arch.tied):
        found += embedding_tensors(arch, shard, "embed")
    counts = [0] * len(kinds)
    for kind in order[stage.first : stage.last]:
        counts[kind] += 1
    for count, tensors in zip(counts, per_kind, strict=True):
        if count:
            found += [Tensor(t.part, t.size, t.copies * count) for t in tensors]
    if stage.has_head:
        if not arch.tied:
            found += embedding_tensors(arch, shard, "lm_head")
        found.append(Tensor("norm", arch.hidden * shard.dtype))
        found += _draft(arch, shard, options.draft_layers)
    return found, per_kind


def _draft(arch: Architecture, shard: Shard, count: int) -> list[Tensor]:
    """Next-token-prediction layers: one decoder layer each and a fusing projection."""
    if not count or arch.draft is None:
        return []
    layer = layer_tensors(arch, arch.draft.layer, shard)
    fuse = Tensor("draft", 2 * arch.hidden * arch.hidden * shard.dtype)
    norms = Tensor("draft", arch.hidden * shard.dtype, 3)
    return [Tensor("draft", t.size, t.copies * count) for t in (*layer, fuse, norms)]


def _reuse(arch: Architecture, shard: Shard, stage: Stage, per_kind: list[list[Tensor]]) -> int:
    """Bytes lost when later tensors take over the blocks that a rope table was made in.

    A table of ``n`` bytes is made from three temporaries of ``n`` at 16 bits (angles, cosines,
    sines, in 32) and their concatenation of ``2 n``; the table itself then takes one of the
    three. A block of at least 20 MiB is handed out whole to any request at most 20 MiB smaller.
    """
    free: list[int] = []
    for rope in arch.ropes:
        part = up(rope.positions * rope.width * 2, _SEGMENT)
        free += [part, part, up(rope.positions * rope.width * 4, _SEGMENT)]
    free = sorted(block for block in free if block >= _MAX_SPLIT)
    if not free:
        return 0
    kinds, order = arch.kinds
    wanted: list[int] = []
    smallest, largest = free[0] - _MAX_SPLIT, free[-1]
    fits = [
        [t.size for t in tensors if max(smallest, _MAX_SPLIT) <= t.size <= largest]
        for tensors in per_kind
    ]
    seen_rope = False
    for kind in order[stage.first : stage.last]:
        sizes = fits[kind]
        if not seen_rope and any(
            hasattr(m, "kv_heads") or isinstance(m, Mla) for m in kinds[kind].mixers
        ):
            own = {t.size for m in kinds[kind].mixers for t in mixer_tensors(arch, m, shard)}
            sizes = [s for s in sizes if s not in own]
            seen_rope = True
        elif not seen_rope:
            continue
        wanted += sizes
        if len(wanted) > 4 * len(free) + 16:
            break
    lost = 0
    for size in wanted:
        block = next((b for b in free if b >= size), None)
        if block is None or block >= size + _MAX_SPLIT:
            continue
        free.remove(block)
        lost += block - up(size, _SEGMENT)
        if not free:
            break
    return lost


def _repacking(arch: Architecture, stage: Stage) -> int:
    """Bytes that repacked int4 and NVFP4 weights leave behind (measured, 0.25 on Hopper)."""
    kinds, order = arch.kinds
    total = 0
    for kind in order[stage.first : stage.last]:
        for feed in kinds[kind].feeds:
            if isinstance(feed, Moe):
                total += 2 * MIB if feed.routed.kind == "int4" else 0
            elif feed.up.kind == "nvfp4":
                total += int(1.4 * MIB)
    return total


def _lora(arch: Architecture, shard: Shard, stage: Stage, options: LoadOptions) -> int:
    """Slots for LoRA adapters: A and B of every linear, for ``max_loras`` adapters.

    The adapted linears are the slices of the attention and dense projections; A is replicated,
    B is sharded with its linear's output.
    """
    if not options.loras:
        return 0
    kinds, order = arch.kinds
    from recipes_core.sizing.lora import slices

    width = sum(
        inp + out
        for kind in order[stage.first : stage.last]
        for inp, out in slices(arch, kinds[kind], shard)
    )
    ends = 2 * (arch.vocab + arch.hidden) if stage.has_head else 0
    return 2 * options.loras * options.lora_rank * (width + ends)


def _index_buffer(arch: Architecture, options: LoadOptions) -> int:
    """The one buffer of selected token ids of sparse attention."""
    for mixer in arch.attention:
        if isinstance(mixer, Mla) and mixer.indexer is not None:
            return options.tokens * mixer.indexer.topk * 4
    return 0


@lru_cache(maxsize=256)
def checkpoint_bytes(arch: Architecture) -> int:
    """Bytes of a checkpoint on disk: every parameter once, as stored, drafts and tower included."""
    shard = Shard(dtype=arch.dtype_bytes, mxfp4_pad=(1, 1))
    whole = Stage(0, len(arch.layers))
    count = arch.draft.count if arch.draft is not None else 0
    options = LoadOptions(draft_layers=count)
    tensors, _ = _stage_tensors(arch, shard, whole, options)
    return sum(t.size * t.copies for t in tensors if t.part != "kv_b copy")


def parameter_count(arch: Architecture) -> int:
    """Parameters of the language model and its tower, without drafts."""
    plain = arch.changed() if arch.quant_method is None else _unquantized(arch)
    shard = Shard(dtype=1)
    tensors, _ = _stage_tensors(plain, shard, Stage(0, len(plain.layers)), LoadOptions())
    return sum(t.size * t.copies for t in tensors)


def _unquantized(arch: Architecture) -> Architecture:
    drop = ("quantization_config", "hf_quant_config", "compression_config")
    config = {k: v for k, v in arch.config.items() if k not in drop}
    text = config.get("text_config")
    if isinstance(text, dict):
        config["text_config"] = {k: v for k, v in text.items() if k not in drop}
    return Architecture.from_config(config)


def rope_bytes(table: RopeTable, dtype: int) -> int:
    """Bytes of one table of rotary positions."""
    return table.positions * table.width * dtype


__all__ = [
    "Allocator",
    "LoadOptions",
    "Stage",
    "Weights",
    "cdiv",
    "checkpoint_bytes",
    "parameter_count",
    "rank_weights",
    "rope_bytes",
    "stages",
]
