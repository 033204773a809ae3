"""The KV cache: pages, groups of layers, blocks per request, and what fits.

The rules are those of vLLM's `v1/kv_cache_interface.py` and `v1/core/kv_cache_utils.py`; they hold
no fitted constant. With the bytes that an engine reports as available they give its logged tokens
and concurrency exactly on all 90 measured H200 runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.fields import ConfigError
from recipes_core.sizing.kv_specs import KV_BYTES, UNSIZED_KV, KvOptions, Spec, mixer_specs
from recipes_core.sizing.shapes import Mamba2
from recipes_core.sizing.shards import cdiv
from recipes_core.sizing.weights import Stage


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share block tables.

    Args:
        spec: What each keeps per block; the first of several that differ.
        layers: How many layers it has on each pipeline rank.
        page: Bytes of one block over all its layers, on each rank, where layers differ in size.
    """

    spec: Spec
    layers: tuple[int, ...]
    page: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class KvPlan:
    """How the cache is laid out.

    Args:
        groups: Groups of layers.
        block_bytes: Bytes that one block takes on each pipeline rank.
        block_size: Block size in tokens that the engine reports.
        options: What it was made for.
    """

    groups: tuple[Group, ...]
    block_bytes: tuple[int, ...]
    block_size: int
    options: KvOptions

    @property
    def token_bytes(self) -> int:
        """Bytes per token of context and GPU, padding layers included, recurrent states aside."""
        wide = max(self.block_bytes)
        if len(self.groups) == 1:
            return math.ceil(wide / self.block_size) if self.groups[0].spec.kind != "state" else 0
        growing = (g.spec.block for g in self.groups if g.spec.kind not in ("state", "cross"))
        return math.ceil(sum(wide / block for block in growing))

    def blocks_for(self, length: int) -> int:
        """Blocks that one request of ``length`` tokens can need, over all groups."""
        return sum(blocks_needed(group.spec, length, self.options) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What fits into a given number of bytes.

    Args:
        blocks: Blocks of the cache, the minimum over pipeline ranks.
        tokens: What the engine logs as "GPU KV cache size".
        concurrency: What it logs as "Maximum concurrency".
        used: Bytes taken on the fullest rank.
    """

    blocks: int
    tokens: int
    concurrency: float
    used: int


@lru_cache(maxsize=2048)
def kv_plan(arch: Architecture, options: KvOptions, parts: tuple[Stage, ...]) -> KvPlan | None:
    """Lays out the cache.

    Args:
        arch: The model.
        options: Engine flags.
        parts: The pipeline ranks.

    Returns:
        None for a model without any cache, or a cache type whose layout is not known.

    Raises:
        ConfigError: Flags that the engine refuses.
    """
    if any(part in options.kv_dtype for part in UNSIZED_KV):
        return None
    if options.kv_dtype not in KV_BYTES:
        raise ConfigError(
            "--kv-cache-dtype",
            options.kv_dtype,
            f"has no known size here; allowed: auto, {', '.join(KV_BYTES)}",
        )
    layers = _layer_specs(arch, options)
    specs = _aligned(arch, [row for row, _ in layers], options)
    if not any(specs):
        return None
    where = [index for _, index in layers]
    if not options.hybrid:
        specs = [[_as_full(s) for s in row] for row in specs]
    flat = {spec: None for row in specs for spec in row}
    kinds = {(s.kind, s.window) for s in flat}
    if len(kinds) == 1:
        return _uniform(specs, where, parts, options)
    return _grouped(specs, where, parts, options)


def _layer_specs(arch: Architecture, options: KvOptions) -> list[tuple[list[Spec], int]]:
    """The specs of each layer before alignment, with the layer's index."""
    kinds, order = arch.kinds
    made = [[s for m in kind.mixers for s in mixer_specs(arch, m, options)] for kind in kinds]
    rows = [(made[kind], index) for index, kind in enumerate(order)]
    if options.draft_layers and arch.draft is not None:
        own = [s for m in arch.draft.layer.mixers for s in mixer_specs(arch, m, options)]
        rows += [(own, len(order) - 1)] * options.draft_layers
    return rows


def _aligned(arch: Architecture, rows: list[list[Spec]], o: KvOptions) -> list[list[Spec]]:
    """Gives attention and state the same page, then all layers one page size."""
    states = [s for row in rows for s in row if s.kind == "state"]
    attention = [s for row in rows for s in row if s.kind != "state"]
    changed: dict[Spec, Spec] = {}
    if states and attention:
        # platforms/interface.py: the block grows until its page holds one state.
        token = max(s.token for s in attention)
        align = max(16, o.block_size)
        if o.mamba_mode == "all":
            align = math.lcm(_chunk(arch), align)
        state = max(s.page for s in states)
        block = align * math.ceil(state / (align * token))
        for spec in {*attention}:
            own = math.ceil(spec.token * block)
            changed[spec] = Spec(spec.kind, spec.token, block, own, spec.window, spec.ratio)
        page = max(s.page for s in changed.values())
        for spec in {*states}:
            changed[spec] = Spec("state", 0, _state_block(o, block), page)
    elif states:
        for spec in {*states}:
            changed[spec] = Spec("state", 0, _state_block(o, o.block_size), spec.page)
    rows = [[changed.get(s, s) for s in row] for row in rows]
    distinct = {s for row in rows for s in row}
    if len({(s.kind, s.window) for s in distinct}) == 1 or len({s.page for s in distinct}) == 1:
        return rows
    return _one_page(rows, distinct)


def _one_page(rows: list[list[Spec]], distinct: set[Spec]) -> list[list[Spec]]:
    """Smaller pages take more tokens where that divides, and are padded otherwise."""
    largest = max(s.page for s in distinct)
    changed: dict[Spec, Spec] = {}
    for spec in distinct:
        if spec.kind == "state" or largest % spec.page:
            changed[spec] = Spec(
                spec.kind, spec.token, spec.block, largest, spec.window, spec.ratio
            )
        else:
            block = spec.block * (largest // spec.page)
            changed[spec] = Spec(spec.kind, spec.token, block, largest, spec.window, spec.ratio)
    return [[changed[s] for s in row] for row in rows]


def _state_block(o: KvOptions, block: int) -> int:
    return o.max_model_len if o.mamba_mode == "none" else block


def _chunk(arch: Architecture) -> int:
    chunks = [m.chunk for la in arch.kinds[0] for m in la.mixers if isinstance(m, Mamba2)]
    return math.lcm(*chunks) if chunks else 1


def _as_full(spec: Spec) -> Spec:
    """``--disable-hybrid-kv-cache-manager`` gives windows the room of full attention."""
    if spec.kind in ("sliding", "chunked"):
        return Spec("full", spec.token, spec.block, spec.page)
    return spec


def _stage_of(index: int, parts: Sequence[Stage]) -> int:
    for number, part in enumerate(parts):
        if part.first <= index < part.last:
            return number
    return len(parts) - 1


def _uniform(
    specs: list[list[Spec]], where: list[int], parts: Sequence[Stage], options: KvOptions
) -> KvPlan:
    """All layers of one type: one group, whatever the sizes of their pages."""
    pages = [0] * len(parts)
    counts = [0] * len(parts)
    first = next(s for row in specs for s in row)
    for row, index in zip(specs, where, strict=True):
        stage = _stage_of(index, parts)
        for spec in row:
            pages[stage] += spec.page
            counts[stage] += 1
    group = Group(first, tuple(counts), tuple(pages))
    return KvPlan((group,), tuple(pages), first.block, options)


def _grouped(
    specs: list[list[Spec]],
    where: list[int],
    parts: Sequence[Stage],
    options: KvOptions,
) -> KvPlan:
    """Layers of several types: equal groups, so that all share one pool of pages."""
    by_spec: dict[Spec, list[int]] = {}
    for row, index in zip(specs, where, strict=True):
        for spec in row:
            by_spec.setdefault(spec, []).append(_stage_of(index, parts))
    counts = [len(v) for v in by_spec.values()]
    smallest, largest = min(counts), max(counts)
    size = largest if largest < 1.5 * smallest else smallest
    groups: list[Group] = []
    for spec, members in by_spec.items():
        number = cdiv(len(members), size)
        for offset in range(number):
            own = members[offset::number]
            groups.append(Group(spec, tuple(own.count(i) for i in range(len(parts)))))
    page = max(s.page for s in by_spec)
    widest = tuple(max(g.layers[i] for g in groups) for i in range(len(parts)))
    blocks = [s.block for s in by_spec if s.kind not in ("state", "cross")]
    return KvPlan(
        tuple(groups),
        tuple(page * max(n, 1) for n in widest),
        min(blocks) if blocks else options.block_size,
        options,
    )


def blocks_needed(spec: Spec, length: int, o: KvOptions) -> int:
    """Blocks that one request of ``length`` tokens can hold in one group."""
    flying = o.in_flight * o.tokens
    if spec.kind == "full":
        return cdiv(cdiv(length, o.dcp), spec.block)
    if spec.kind == "sliding":
        return cdiv(min(spec.window - 1 + o.spec_tokens + flying, length), spec.block) + 1
    if spec.kind == "chunked":
        return cdiv(min(spec.window + flying, length), spec.block)
    if spec.kind == "cross":
        return cdiv(spec.window, spec.block)
    if o.mamba_mode == "all":
        return cdiv(length, spec.block)
    return (2 if o.mamba_mode == "align" else 1) + o.spec_tokens


def capacity(plan: KvPlan, available: Sequence[int], *, tokens_from_blocks: bool) -> Capacity:
    """What fits into the bytes that each pipeline rank has for its cache.

    Args:
        plan: The layout.
        available: Bytes per pipeline rank.
        tokens_from_blocks: The log's tokens as vLLM 0.20.0 and older count them.
    """
    length = plan.options.max_model_len
    # A rank without any cached layer sets no limit.
    rooms = [
        max(0, given) // need
        for given, need in zip(available, plan.block_bytes, strict=True)
        if need
    ]
    blocks = min(rooms, default=0)
    per_request = plan.blocks_for(length)
    concurrency = blocks / per_request if per_request else 0.0
    if tokens_from_blocks:
        sizes = [g.spec.block for g in plan.groups if g.spec.kind != "cross"]
        tokens = blocks // len(plan.groups) * min(sizes) * plan.options.dcp
    else:
        tokens = int(concurrency * length)
    return Capacity(blocks, tokens, concurrency, blocks * max(plan.block_bytes))


def bytes_for(plan: KvPlan, length: int, users: int = 1) -> tuple[int, ...]:
    """Bytes per pipeline rank that ``users`` requests of ``length`` tokens need."""
    blocks = plan.blocks_for(length) * users
    return tuple(blocks * size for size in plan.block_bytes)
