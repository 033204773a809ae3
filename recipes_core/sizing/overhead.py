"""What a rank holds beside weights, activation and cache: libraries, NCCL, CUDA graphs."""

from __future__ import annotations

from recipes_core.sizing.activation import Activation, rank_activation
from recipes_core.sizing.constants import Constants
from recipes_core.sizing.settings import Settings
from recipes_core.sizing.shapes import Mamba2
from recipes_core.sizing.weights import Stage

_SIZES_AT_FIT = 51


def non_torch(settings: Settings, constants: Constants, *, nccl: bool) -> tuple[int, str]:
    """Bytes that torch's allocator does not see, and where the figure comes from.

    Args:
        settings: The engine.
        constants: Fitted figures.
        nccl: Ranks talk to each other; False for a rank that only pretends to.
    """
    args, arch = settings.args, settings.arch
    mamba2 = any(isinstance(m, Mamba2) for la in arch.kinds[0] for m in la.mixers)
    single = constants.non_torch_mamba2 if mamba2 else constants.non_torch
    if not settings.rules.charges_graphs:
        single = constants.non_torch_old
    if settings.captures and not settings.v2 and settings.rules.charges_graphs:
        single += constants.non_torch_graphs
    group = args.tp * (args.dp if arch.is_moe else 1)
    if not nccl or (group == 1 and args.pp == 1):
        return single, "measured on one GPU"
    if group == 1:
        return constants.non_torch_pipeline, "measured on 0.19 with a pipeline"
    return _nccl(group, constants), "measured on 0.18 and 0.19 with tensor parallel"


def _nccl(group: int, constants: Constants) -> int:
    """Figure of the next larger measured group, the largest one's beyond."""
    for size, found in constants.nccl:
        if group <= size:
            return found
    return constants.nccl[-1][1]


def graph_estimate(settings: Settings, constants: Constants) -> int:
    """What the engine takes off for CUDA graphs before it captures them.

    V2 took off nothing until 0.28; since 0.29 it captures a few and extrapolates, so that its
    estimate is taken to be what the graphs were measured to take.
    """
    charged = settings.rules.charges_graphs
    if settings.args.env.get("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS") in ("0", "false"):
        charged = False
    if not charged:
        return 0
    if settings.v2:
        return graphs_used(settings, constants) if settings.rules.v2_charges_graphs else 0
    return _graphs(settings, constants)


def _graphs(settings: Settings, constants: Constants) -> int:
    if not settings.captures:
        return 0
    layers = max(part.last - part.first for part in settings.parts)
    full = constants.graph_base + constants.graph_layer * layers
    return full * settings.captures // _SIZES_AT_FIT


def graphs_used(settings: Settings, constants: Constants) -> int:
    """What the captured graphs really take."""
    factor = constants.graphs_v2 if settings.v2 else constants.graphs_v1
    return int(_graphs(settings, constants) * factor)


def outside_budget(
    settings: Settings, activation: Activation, charged_graphs: int, constants: Constants
) -> int:
    """Bytes above the share the engine was given, as seen by `nvidia-smi` after start.

    The CUDA context, the V2 runner's sampler state, the real sampler where it takes more than its
    profile, and CUDA graphs beyond their estimate.
    """
    last = settings.parts[-1]
    found = constants.context + constants.outside
    found += graphs_used(settings, constants) - charged_graphs
    if settings.v2:
        found += int(constants.sampler_state * settings.seqs * settings.arch.vocab)
        found += _real_sampler(settings, last, constants) - activation.peak
    return max(found, 0)


def _real_sampler(settings: Settings, last: Stage, constants: Constants) -> int:
    from dataclasses import replace

    step = replace(settings.step, v2=False, encoder=False, warm_sampler=False)
    return rank_activation(settings.arch, settings.shard, last, step, constants).sampler
