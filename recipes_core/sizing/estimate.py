"""`size()`: the memory of one engine, GPU by GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recipes_core.sizing.activation import Activation, rank_activation
from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.assumptions import STORED_TOLERANCE, assumptions_of
from recipes_core.sizing.bands import kv_band, part_bands
from recipes_core.sizing.constants import FITTED, Constants
from recipes_core.sizing.engine import EngineArguments
from recipes_core.sizing.fields import ConfigError
from recipes_core.sizing.hardware import Gpu
from recipes_core.sizing.kv_cache import Capacity, KvPlan, bytes_for, capacity, kv_plan
from recipes_core.sizing.kv_specs import UNSIZED_KV
from recipes_core.sizing.overhead import graph_estimate, non_torch, outside_budget
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.settings import Settings, resolve
from recipes_core.sizing.versions import DEFAULT_VLLM, rules
from recipes_core.sizing.weights import Allocator, Weights, checkpoint_bytes, rank_weights


@dataclass(frozen=True, slots=True)
class Declared:
    """A checkpoint without a public config: only its size is known.

    Args:
        weight_bytes: Bytes of all weights.
        source: Who says so.
        positions: Native context length, where known.
        moe: It is a mixture of experts, where known.
    """

    weight_bytes: int
    source: str
    positions: int | None = None
    moe: bool = False


@dataclass(frozen=True, slots=True)
class Rank:
    """Memory of one pipeline rank, in bytes.

    Args:
        weights: Its weights.
        activation: Its largest step.
        non_torch: Libraries and NCCL.
        graphs: Charged for CUDA graphs.
        available: Left for the KV cache; negative where nothing is left.
    """

    weights: Weights
    activation: Activation
    non_torch: int
    graphs: int
    available: int


@dataclass(frozen=True, slots=True)
class Room:
    """What is left for the KV cache, and what it is needed for.

    Args:
        index: The rank that decides.
        available: Its bytes.
        plan: Layout of the cache.
        held: What fits.
        need: Bytes that one request of full length needs.
        given: The bytes were given, not predicted.
        measured: They come from a log.
        unsized: The layout of the cache's type is not known.
    """

    index: int
    available: int
    plan: KvPlan | None
    held: Capacity | None
    need: int
    given: bool
    measured: bool
    unsized: bool = False


def size(
    checkpoint: Architecture | Declared,
    gpu: Gpu,
    args: Sequence[str] | EngineArguments = (),
    *,
    env: Mapping[str, str] | None = None,
    vllm: str = DEFAULT_VLLM,
    available_kv_bytes: int | None = None,
    nccl: bool | None = None,
    constants: Constants = FITTED,
) -> Sizing:
    """The memory that one engine takes on each of its GPUs.

    Args:
        checkpoint: What is served: its architecture, or its declared bytes.
        gpu: The card.
        args: The engine's command, ``vllm serve MODEL --flag …`` or its flags alone.
        env: The engine's environment.
        vllm: The release, such as ``0.25.0``.
        available_kv_bytes: A measured budget per GPU in place of the predicted one.
        nccl: NCCL's memory is charged. Absent: yes, unless the ranks are started by another
            program (``--distributed-executor-backend external_launcher``, which no server can
            be): the measured engines of that kind were single ranks without a group.
        constants: Fitted figures.

    Returns:
        Every figure of the fullest rank, in bytes, with its band and its assumptions.

    Raises:
        ConfigError: A flag that the engine would refuse to read, or a config that cannot be read.
    """
    engine = args if isinstance(args, EngineArguments) else EngineArguments.from_argv(args, env)
    if available_kv_bytes is not None and available_kv_bytes < 1:
        raise ConfigError("--available-kv-bytes", str(available_kv_bytes), "must be at least 1")
    if isinstance(checkpoint, Declared):
        return _declared(checkpoint, gpu, engine, vllm)
    settings = resolve(checkpoint, engine, gpu, rules(vllm))
    nccl = not engine.external_launcher if nccl is None else nccl
    if engine.max_model_len_auto:
        settings = _longest(settings, available_kv_bytes, nccl, constants)
    return size_settings(settings, available_kv_bytes, nccl=nccl, constants=constants)


def size_settings(
    settings: Settings,
    available_kv_bytes: int | None = None,
    *,
    nccl: bool = True,
    constants: Constants = FITTED,
) -> Sizing:
    """Like `size`, for an engine that is already resolved."""
    known = bool(settings.arch.layers) and not settings.arch.missing
    unsized = any(part in settings.kv.kv_dtype for part in UNSIZED_KV)
    ranks = engine_ranks(settings, nccl=nccl, constants=constants)
    plan = kv_plan(settings.arch, settings.kv, settings.parts) if known else None
    budget = [r.available for r in ranks]
    given = available_kv_bytes or settings.args.kv_cache_bytes
    if given is not None:
        budget = [given] * len(ranks)
    tightest = _tightest(plan, budget)
    room = Room(
        index=tightest,
        available=budget[tightest],
        plan=plan,
        held=_capacity(settings, plan, budget) if plan is not None else None,
        need=bytes_for(plan, settings.max_model_len)[tightest] if plan is not None else 0,
        given=given is not None,
        measured=available_kv_bytes is not None,
        unsized=unsized,
    )
    origin = non_torch(settings, constants, nccl=nccl)[1]
    return _result(
        settings,
        tuple(ranks),
        room,
        [*settings.notes, *assumptions_of(settings, origin, nccl=nccl)],
        constants,
        nccl=nccl,
    )


def engine_ranks(settings: Settings, *, nccl: bool, constants: Constants) -> list[Rank]:
    """The memory of each pipeline rank."""
    requested = math.ceil(settings.utilization * settings.gpu.memory)
    outside, _ = non_torch(settings, constants, nccl=nccl)
    graphs = graph_estimate(settings, constants)
    allocator = Allocator(settings.rules.whole_units)
    ranks = []
    for part in settings.parts:
        weights = rank_weights(settings.arch, settings.shard, part, allocator, settings.load)
        weights = _scaled(settings.arch, weights)
        step = settings.step if part.has_embedding else replace(settings.step, encoder=False)
        activation = rank_activation(settings.arch, settings.shard, part, step, constants)
        left = requested - weights.total - activation.peak - outside - graphs
        ranks.append(Rank(weights, activation, outside, graphs, left))
    return ranks


def _scaled(arch: Architecture, weights: Weights) -> Weights:
    """Follows the files where they disagree with what the config describes."""
    if arch.stored is None or not arch.layers:
        return weights
    ratio = arch.stored.total / max(checkpoint_bytes(arch), 1)
    if abs(ratio - 1) <= STORED_TOLERANCE:
        return weights
    return replace(weights, total=int(weights.total * ratio))


def _capacity(settings: Settings, plan: KvPlan, budget: Sequence[int]) -> Capacity:
    override = settings.args.blocks_override
    if override:
        budget = [override * size for size in plan.block_bytes]
    return capacity(plan, budget, tokens_from_blocks=settings.rules.tokens_from_blocks)


def _tightest(plan: KvPlan | None, budget: Sequence[int]) -> int:
    """The rank that holds the fewest blocks: it decides for all."""
    if plan is None:
        return min(range(len(budget)), key=lambda i: budget[i])
    return min(range(len(budget)), key=lambda i: budget[i] / max(plan.block_bytes[i], 1))


def _result(
    settings: Settings,
    ranks: tuple[Rank, ...],
    room: Room,
    assumptions: list[str],
    constants: Constants,
    *,
    nccl: bool,
) -> Sizing:
    """Everything about the fullest rank."""
    rank, arch, plan = ranks[room.index], settings.arch, room.plan
    available, need, found = room.available, room.need, room.held
    requested = math.ceil(settings.utilization * settings.gpu.memory)
    outside = outside_budget(settings, rank.activation, rank.graphs, constants)
    bands = part_bands(
        settings,
        rank.weights.total,
        rank.activation,
        rank.non_torch,
        graphs=rank.graphs,
        outside=outside,
        nccl=nccl,
    )
    known = not arch.missing
    free = settings.gpu.memory - requested - outside
    assumptions += _limits(settings, room, free)
    fits: bool | None = None
    if plan is not None or (known and arch.layers and not room.unsized):
        fits = available >= need and available > 0 and not settings.problems
    kv = (available, available) if room.given else kv_band(available, bands)
    return Sizing(
        vllm=settings.rules.name,
        basis="measured" if room.measured else "computed",
        gpu=settings.gpu,
        utilization=settings.utilization,
        weights=rank.weights.total if known else None,
        activation=rank.activation.peak if arch.layers and known else None,
        non_torch=rank.non_torch,
        graphs=rank.graphs,
        available=available if known else None,
        outside=outside if known else None,
        free=free if known else None,
        band={**bands, "kv_cache": kv} if known else {},
        kv_bytes_per_token=_token_bytes(room, known=known),
        kv_block_size=plan.block_size if plan is not None else None,
        kv_blocks=found.blocks if found is not None else None,
        kv_tokens=found.tokens if found is not None else None,
        max_concurrency=found.concurrency if found is not None else None,
        max_model_len=settings.max_model_len,
        fits=fits,
        shortfall=max(0, need - available) if known else None,
        needed=need if known and not room.unsized else None,
        assumptions=tuple(dict.fromkeys(assumptions)),
        problems=settings.problems,
        settings=settings,
        plan=plan,
        ranks=ranks,
    )


def _limits(settings: Settings, room: Room, free: int) -> list[str]:
    """What cannot be told, and a card that holds less than the engine takes."""
    said = [
        f"Not known: {what}; weights and cache cannot be told." for what in settings.arch.missing
    ]
    if not said and free < 0:
        said.append(
            f"The engine's share and what it holds beside it exceed the card by {-free:,} bytes; "
            "lower --gpu-memory-utilization."
        )
    if room.unsized:
        said.append(
            f"The layout of a KV cache in {settings.kv.kv_dtype} is not known here; its tokens "
            "cannot be told."
        )
    return said


def _token_bytes(room: Room, *, known: bool) -> int | None:
    if room.plan is not None:
        return room.plan.token_bytes
    return 0 if known and not room.unsized else None


def _longest(
    settings: Settings, available: int | None, nccl: bool, constants: Constants
) -> Settings:
    """``--max-model-len auto``: the longest request that the cache can hold."""
    low, high = 1, settings.max_model_len
    if _holds(settings, high, available, nccl, constants):
        return settings
    while low < high:
        middle = (low + high + 1) // 2
        if _holds(settings, middle, available, nccl, constants):
            low = middle
        else:
            high = middle - 1
    return settings.at_length(low)


def _holds(
    settings: Settings, length: int, available: int | None, nccl: bool, constants: Constants
) -> bool:
    found = size_settings(settings.at_length(length), available, nccl=nccl, constants=constants)
    return found.shortfall == 0 and (found.available or 0) > 0


def _declared(checkpoint: Declared, gpu: Gpu, args: EngineArguments, vllm: str) -> Sizing:
    """A checkpoint of which only the size is known: its share per GPU, nothing about the cache."""
    release = rules(vllm)
    utilization = args.utilization or release.utilization
    ways = args.tp * args.pp
    if checkpoint.moe:
        ways *= args.dp
    weights = math.ceil(checkpoint.weight_bytes / ways)
    requested = math.ceil(utilization * gpu.memory)
    left = requested - weights
    return Sizing(
        vllm=release.name,
        basis="declared",
        gpu=gpu,
        utilization=utilization,
        weights=weights,
        activation=None,
        non_torch=None,
        graphs=None,
        available=None,
        outside=None,
        free=None,
        band={"weights": (int(weights * 0.9), int(weights * 1.15))},
        kv_bytes_per_token=None,
        kv_block_size=None,
        kv_blocks=None,
        kv_tokens=None,
        max_concurrency=None,
        max_model_len=args.max_model_len or checkpoint.positions,
        fits=False if left <= 0 else None,
        shortfall=max(0, -left),
        needed=None,
        assumptions=(
            f"No config of this checkpoint is public; its weights are declared by "
            f"{checkpoint.source} and split evenly over {ways} GPUs. Activation, KV cache and "
            "whether the rest fits cannot be computed without the config.",
            *args.notes,
        ),
        problems=(),
        settings=None,
        plan=None,
        ranks=(),
    )
