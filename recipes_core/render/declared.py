"""Whether the memory that a recipe declares is there, on the GPUs that its engines really use."""

from __future__ import annotations

from recipes_core.deployment import Deployment
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.verdict import Verdict


def gpus_taken(deployment: Deployment) -> int:
    """GPUs that the engines of a deployment really use, one copy of each: TP × PP × DP."""
    return sum(_each_engine(deployment))


def declared_verdict(deployment: Deployment) -> Verdict:
    """What the recipe asks for against the GPUs of the smallest of its engines.

    Each pool holds the model once, so that it has to fit each. How many of a node's GPUs an omni
    pipeline takes is decided by its own options, which are not worked out here: beyond one GPU
    nothing is promised.
    """
    config = deployment.configuration
    asked, gpu = config.memory_needed_gb, config.profile.gpu_vram_gb
    gpus = min(_each_engine(deployment))
    have = f"{gpus}× {config.profile.display_name} {'has' if gpus == 1 else 'have'}"
    detail = f"the recipe asks for at least {_gb(asked)}, {have} {_gb(gpus * gpu)}"
    if asked > gpus * gpu:
        return Verdict("short", "Too little as declared", detail)
    if config.rules.is_omni and asked > gpu:
        spread = f"{detail}, one has {_gb(gpu)}: how many it uses, the pipeline's own options say"
        return Verdict("unknown", "One GPU is not enough as declared", spread)
    return Verdict("fits", "Enough as declared", detail)


def verdict_on(deployment: Deployment, sizing: Sizing | None) -> tuple[Verdict, str]:
    """The verdict on an engine and its basis: what is declared, where sizing cannot tell."""
    if sizing is None or sizing.verdict.kind == "unknown":
        return declared_verdict(deployment), "declared"
    return sizing.verdict, sizing.basis


def _each_engine(deployment: Deployment) -> list[int]:
    """GPUs of each engine; all that are there where a pipeline's own options decide."""
    config = deployment.configuration
    if config.rules.is_omni:
        return [config.gpus_used]
    return [pool.tp * pool.pp * pool.dp for pool in deployment.layouts]


def _gb(amount: float) -> str:
    """GB (10^9 bytes), as GPUs are sold."""
    return f"{amount:,.0f} GB" if amount >= 10 else f"{amount:,.1f} GB"
