"""The questions that people ask backwards: how long, how many, how few, how little."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.constants import FITTED
from recipes_core.sizing.engine import EngineArguments
from recipes_core.sizing.estimate import Declared, engine_ranks, size, size_settings
from recipes_core.sizing.hardware import GIB, Gpu
from recipes_core.sizing.kv_cache import KvPlan, kv_plan
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.shapes import Attention, Mla
from recipes_core.sizing.versions import DEFAULT_VLLM
from recipes_core.sizing.weights import checkpoint_bytes

_UTILIZATION_STEP = 0.01


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing worth trying, with what it changes.

    Args:
        code: Fixed name, such as ``mla-replicated``.
        text: For a person.
        flags: What to add to the command.
        before: Tokens of KV cache over all GPUs now.
        after: Tokens with the change.
    """

    code: str
    text: str
    flags: tuple[str, ...]
    before: int
    after: int


def allowing(sizing: Sizing, users: int) -> tuple[Sizing, int, int | None]:
    """The engine that may serve so many requests at once, for the questions about it.

    Args:
        sizing: What `size` found.
        users: Requests at once, over all data-parallel ranks.

    Returns:
        The sizing, anew where its ``--max-num-seqs`` is below what one cache is asked for;
        the requests of each cache; and the ``--max-num-seqs`` that was raised to, None where it
        stays.
    """
    each = -(-users // sizing.caches)
    settings = sizing.settings
    if settings is None or each <= settings.seqs:
        return sizing, each, None
    args = replace(settings.args, max_num_seqs=each)
    given = sizing.available if sizing.basis == "measured" else None
    anew = size(settings.arch, sizing.gpu, args, vllm=sizing.vllm, available_kv_bytes=given)
    return anew, each, each


def most_users(sizing: Sizing, length: int) -> int | None:
    """Most requests of ``length`` tokens that fit at once, at most ``max_num_seqs``.

    Args:
        sizing: What `size` found.
        length: Tokens of each request, prompt and answer together.

    Returns:
        None where the cache is not known; 0 where not even one fits.
    """
    if sizing.plan is None or sizing.kv_blocks is None or sizing.settings is None:
        return None
    blocks = sizing.plan.blocks_for(length)
    held = sizing.kv_blocks // blocks if blocks else sizing.settings.seqs
    return min(held, sizing.settings.seqs)


def longest_context(sizing: Sizing, users: int = 1) -> int | None:
    """Longest ``--max-model-len`` at which ``users`` requests of that length fit at once.

    The activation of MLA models grows with the length; it is computed anew for each candidate.

    Args:
        sizing: What `size` found.
        users: Requests at once.

    Returns:
        None where the cache is not known; 0 where none fits.
    """
    settings = sizing.settings
    if settings is None or sizing.plan is None or sizing.available is None:
        return None
    given = sizing.basis == "measured" or settings.args.kv_cache_bytes is not None
    native = settings.arch.positions or settings.max_model_len
    high = max(native, settings.max_model_len)

    def fits(length: int) -> bool:
        there = settings.at_length(length)
        plan = kv_plan(there.arch, there.kv, there.parts)
        if plan is None:
            return True
        if given:
            budget = [sizing.available or 0] * len(there.parts)
        else:
            budget = [r.available for r in engine_ranks(there, nccl=True, constants=FITTED)]
        return _holds(plan, budget, length, users)

    return _largest(high, fits)


def _holds(plan: KvPlan, budget: Sequence[int], length: int, users: int) -> bool:
    rooms = (b // size for b, size in zip(budget, plan.block_bytes, strict=True) if size)
    blocks = min(rooms, default=0)
    return blocks >= plan.blocks_for(length) * users


def _largest(high: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to ``high`` for which ``fits`` holds, 0 for none."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def lowest_utilization(sizing: Sizing, users: int = 1, length: int | None = None) -> float | None:
    """Least ``--gpu-memory-utilization`` for ``users`` requests of ``length``, in hundredths.

    Args:
        sizing: What `size` found.
        users: Requests at once.
        length: Tokens of each; ``max_model_len`` where None.

    Returns:
        None where the cache is not known or the whole card does not suffice.
    """
    settings = sizing.settings
    if settings is None or sizing.plan is None:
        return None
    blocks = max(
        sizing.plan.blocks_for(length or settings.max_model_len) * users,
        sizing.plan.blocks_for(settings.max_model_len),
    )
    ranks = engine_ranks(settings, nccl=True, constants=FITTED)
    held = max(
        r.weights.total + r.activation.peak + r.non_torch + r.graphs + blocks * wide
        for r, wide in zip(ranks, sizing.plan.block_bytes, strict=True)
    )
    share = -(-held // max(1, int(settings.gpu.memory * _UTILIZATION_STEP))) * _UTILIZATION_STEP
    return round(share, 2) if share <= 1.0 else None


def fewest_gpus(
    checkpoint: Architecture | Declared,
    gpu: Gpu,
    args: Sequence[str] | EngineArguments = (),
    *,
    users: int = 1,
    length: int | None = None,
    env: Mapping[str, str] | None = None,
    vllm: str = DEFAULT_VLLM,
) -> Sizing | None:
    """Fewest GPUs of one engine of the same kind for ``users`` requests of ``length``.

    Args:
        checkpoint: What is served.
        gpu: The card.
        args: The engine's command; which of its sizes vary, `searched_layouts` says.
        users: Requests at once, over all data-parallel ranks.
        length: Tokens of each; ``max_model_len`` where None.
        env: The engine's environment.
        vllm: The release.

    Returns:
        The sizing at that size, with ``--max-num-seqs`` raised where it would stand in the way;
        None where nothing that was searched suffices or where it cannot be told.
    """
    base = args if isinstance(args, EngineArguments) else EngineArguments.from_argv(args, env)
    for layout in _layouts(base, gpu):
        found = size(checkpoint, gpu, replace(base, **layout._asdict()), vllm=vllm)
        if found.fits is None or found.settings is None:
            return None
        if found.problems:
            continue
        found, each, _ = allowing(found, users)
        longest = length or found.max_model_len or 0
        if found.fits and (most_users(found, longest) or 0) >= each:
            return found
    return None


class _Layout(NamedTuple):
    """Parallel sizes of one engine, named as in `EngineArguments`."""

    tp: int
    pp: int = 1
    dp: int = 1


def searched_layouts(args: EngineArguments, gpu: Gpu) -> str:
    """What `fewest_gpus` tries for an engine, in words.

    Args:
        args: The engine.
        gpu: The card, which knows how many are in a node.
    """
    ways = [layout.tp * layout.pp * layout.dp for layout in _layouts(args, gpu)]
    ends = f"{min(ways, default=0)} to {max(ways, default=0)} GPUs"
    if gpu.most_nodes == 1:
        sizes = f"DP at TP {args.tp}" if _spreads(args, gpu) else "TP"
        return f"every {sizes} in one node of {gpu.per_node}: {ends}"
    inside = f"every TP in a node of {gpu.per_node}, then"
    if args.pp > 1:
        return f"{inside} whole nodes as pipeline stages: {ends}"
    if args.dp > 1 and args.tp == gpu.per_node:
        return f"{inside} whole nodes as data-parallel ranks: {ends}"
    if _spreads(args, gpu):
        return f"every DP at TP {args.tp}, in a node of {gpu.per_node} or over whole ones: {ends}"
    return f"{inside} TP over whole nodes: {ends}"


def _spreads(args: EngineArguments, gpu: Gpu) -> bool:
    """Whether data-parallel ranks share a node, so that their number varies and TP stays."""
    return args.pp == 1 and args.dp > 1 and args.tp != gpu.per_node


def _layouts(args: EngineArguments, gpu: Gpu) -> Iterator[_Layout]:
    """Sizes that an engine of the same kind may have, the fewest GPUs first."""
    per_node = gpu.per_node
    inside = (_Layout(tp) for tp in range(1, per_node + 1))
    more = range(2, gpu.most_nodes + 1)
    if args.pp > 1:
        yield from inside
        yield from (_Layout(per_node, pp=nodes) for nodes in more)
    elif _spreads(args, gpu):
        for dp in range(1, gpu.most_nodes * per_node // args.tp + 1):
            gpus = args.tp * dp
            if gpus <= per_node or gpus % per_node == 0:
                yield _Layout(args.tp, dp=dp)
    elif args.dp > 1:
        yield from inside
        yield from (_Layout(per_node, dp=nodes) for nodes in more)
    else:
        yield from inside
        yield from (_Layout(nodes * per_node) for nodes in more)


@dataclass(frozen=True, slots=True)
class HostNeeds:
    """What one node needs beside its GPUs, in bytes.

    Args:
        download: The checkpoint's files.
        disk: Room for them.
        memory: Host memory that is surely taken: offloaded weights and cache, for all ranks.
        basis: ``headers`` or ``index`` (read from the files), ``computed`` or ``declared``.
    """

    download: int
    disk: int
    memory: int
    basis: str


def host_needs(
    checkpoint: Architecture | Declared, args: EngineArguments | None = None
) -> HostNeeds | None:
    """Download, disk and host memory of a checkpoint.

    Args:
        checkpoint: What is served.
        args: The engine; what it offloads is host memory.

    Returns:
        None where its layers are not known and nothing is declared.
    """
    args = args or EngineArguments()
    memory = args.cpu_offload * args.tp * args.pp + args.kv_offload
    if isinstance(checkpoint, Declared):
        return HostNeeds(checkpoint.weight_bytes, checkpoint.weight_bytes, memory, "declared")
    if checkpoint.stored is not None:
        total = checkpoint.stored.total
        return HostNeeds(total, total, memory, checkpoint.stored.source)
    if not checkpoint.layers or checkpoint.missing:
        return None
    total = checkpoint_bytes(checkpoint)
    return HostNeeds(total, total, memory, "computed")


def advice(sizing: Sizing) -> list[Advice]:
    """What would make more of the same GPUs, each with its figures.

    Args:
        sizing: What `size` found.

    Returns:
        The largest gain first; nothing where the cache is not known.
    """
    settings = sizing.settings
    if settings is None or sizing.plan is None or sizing.kv_tokens is None:
        return []
    args, arch = settings.args, settings.arch
    now = sizing.kv_tokens * args.dp
    found: list[Advice] = []
    if args.tp > 1 and args.dp == 1 and args.pp == 1 and arch.is_moe:
        found += _data_parallel(sizing, now)
    if not settings.kv.kv_dtype.startswith(("fp8", "nvfp4", "int8")):
        found += _tried(
            sizing,
            replace(args, kv_cache_dtype="fp8"),
            now,
            "kv-cache-fp8",
            flags=("--kv-cache-dtype", "fp8"),
            text="A KV cache in 8 bits holds more tokens; check the answers' quality first.",
        )
    if args.pp == 1 and args.dp == 1 and args.tp * 2 <= settings.gpu.per_node:
        found += _tried(
            sizing,
            replace(args, tp=args.tp * 2),
            now,
            "more-tensor-parallel",
            flags=("--tensor-parallel-size", str(args.tp * 2)),
            text=f"On {args.tp * 2} GPUs the weights take half the room each.",
        )
    if not sizing.fits:
        found += _shorter(sizing)
    return sorted(found, key=lambda a: -a.after)


def replicated_cache(sizing: Sizing) -> str | None:
    """Why ranks of the tensor-parallel group hold the same cache, None where they do not."""
    settings = sizing.settings
    if settings is None or settings.args.tp == 1:
        return None
    tp = settings.args.tp
    for mixer in settings.arch.attention:
        if isinstance(mixer, Mla):
            return (
                f"MLA caches one latent for all heads, so all {tp} ranks hold the same cache; "
                "more tensor parallel adds no room for tokens but by smaller weights."
            )
        if isinstance(mixer, Attention) and mixer.kv_heads < tp:
            return (
                f"{mixer.kv_heads} KV heads over {tp} ranks: each is held "
                f"{tp // mixer.kv_heads} times."
            )
    return None


def _data_parallel(sizing: Sizing, now: int) -> list[Advice]:
    """Attention by data parallel, experts spread over all: each rank has its own requests."""
    settings = sizing.settings
    reason = replicated_cache(sizing)
    if settings is None or reason is None:
        return []
    ways = settings.args.tp
    other = replace(settings.args, tp=1, dp=ways, expert_parallel=True)
    flags = ("--data-parallel-size", str(ways), "--enable-expert-parallel")
    code = "mla-replicated" if settings.arch.is_mla else "kv-heads-replicated"
    text = f"{reason} Data-parallel attention on the same {ways} GPUs gives each its own requests."
    return _tried(sizing, other, now, code, flags=flags, text=text)


def _tried(
    sizing: Sizing,
    args: EngineArguments,
    now: int,
    code: str,
    *,
    flags: tuple[str, ...],
    text: str,
) -> list[Advice]:
    """The advice, if the changed engine starts and holds more."""
    settings = sizing.settings
    if settings is None:
        return []
    other = size(settings.arch, settings.gpu, args, vllm=settings.rules.name)
    after = (other.kv_tokens or 0) * args.dp
    if other.problems or after <= now * 1.02:
        return []
    gain = f" {after / now:.1f} times the tokens." if now else f" {after:,} tokens."
    return [Advice(code, text + gain, flags, now, after)]


def _shorter(sizing: Sizing) -> list[Advice]:
    """A context that fits, where the asked one does not."""
    settings = sizing.settings
    length = longest_context(sizing)
    if settings is None or not length or length >= settings.max_model_len:
        return []
    found = size_settings(settings.at_length(length))
    text = (
        f"One request of {settings.max_model_len:,} tokens does not fit: "
        f"{(sizing.shortfall or 0) / GIB:.2f} GiB are missing. {length:,} tokens do."
    )
    flags = ("--max-model-len", str(length))
    return [Advice("shorter-context", text, flags, sizing.kv_tokens or 0, found.kv_tokens or 0)]
