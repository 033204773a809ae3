"""How many GPUs a vLLM-Omni pipeline takes, read from the options of its own command."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from recipes_core.flags import parse_args

SHARED_OUT = ("--ulysses-degree", "--ring-degree", "--cfg-parallel-size")
"""Degrees that share out the work of one request: each rank holds the weights."""
SPLIT = ("--tensor-parallel-size", "--pipeline-parallel-size")
"""Sizes that split the weights."""
STAGED = frozenset(
    {"--deploy-config", "--stage-configs-path", "--stage-overrides", "--strategy-config"}
)
"""With one of these, a file or a value says for each stage of the pipeline where it runs."""
SPEAKING = frozenset({*SHARED_OUT, "--allgather-degree", "--num-gpus", "--use-hsdp"})
"""Options of the diffusion engine alone: with one of them the pipeline is known to be such."""


class Ranks(NamedTuple):
    """Ranks of a diffusion engine, one GPU each."""

    gpus: int
    split: int
    """GPUs among which the weights are split."""


def ranks_of(argv: Sequence[str]) -> Ranks | None:
    """The ranks of a pipeline of one diffusion engine.

    Its world is TP × PP × DP × sequence × guidance; sharding over replicas (HSDP) lies over these
    ranks, or makes the world where they are one. ``--num-gpus`` may ask for more. This is what
    ``DiffusionParallelConfig`` and ``OmniDiffusionConfig`` of vLLM-Omni compute.

    Args:
        argv: The command, without quoting.

    Returns:
        None where the options do not tell: none of the diffusion engine's own is there, stages have
        their own places, or a value is no whole number.
    """
    given = {flag.name: flag for flag in parse_args(tuple(argv)) if not flag.negated}
    if given.keys() & STAGED or not given.keys() & SPEAKING:
        return None

    def size(name: str, default: int = 1) -> int:
        if name not in given:
            return default
        return int(given[name].values[0])

    try:
        split = math.prod(map(size, SPLIT))
        world = split * size("--data-parallel-size") * math.prod(map(size, SHARED_OUT))
        world *= size("--allgather-degree")
        if "--use-hsdp" in given:
            copies = size("--hsdp-replicate-size")
            split = size("--hsdp-shard-size", -1)
            if split == -1:
                split = world // copies
            world = world if world > 1 else copies * split
        world = max(world, size("--num-gpus", world))
    except (ValueError, IndexError, ZeroDivisionError):
        return None
    return Ranks(world, split) if world > 0 and split > 0 else None
