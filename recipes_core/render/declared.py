"""Whether the memory that a recipe declares is there, on the GPUs that its engines really use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from recipes_core.catalog.hardware_keys import pick
from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment
from recipes_core.deployment.pipeline import Ranks, ranks_of
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.verdict import Verdict


def gpus_taken(deployment: Deployment) -> int:
    """GPUs that the engines of a deployment really use, one copy of each: TP × PP × DP.

    A pipeline's own options say how many; where they do not, all that are there.
    """
    return sum(_each_engine(deployment))


def declared_verdict(deployment: Deployment) -> Verdict:
    """What the recipe asks for against the GPUs of the smallest of its engines.

    Each pool holds the model once, so that it has to fit each. Nothing is promised of a pipeline
    that is too large for the GPUs among which its options split the weights: one, where they do not
    say how many.
    """
    config = deployment.configuration
    asked, gpu = config.memory_needed_gb, config.profile.gpu_vram_gb
    gpus, ranks = min(_each_engine(deployment)), _pipeline(deployment)
    name = config.profile.display_name
    missing = too_few_gpus(deployment)
    if missing is not None:
        return Verdict("refused", "Would not start", missing)
    have = f"{gpus}× {name} {'has' if gpus == 1 else 'have'}"
    detail = f"the recipe asks for at least {_gb(asked)}, {have} {_gb(gpus * gpu)}"
    if asked > gpus * gpu:
        return Verdict("short", "Too little as declared", detail)
    split = ranks.split if ranks is not None else 1
    among_all = ranks is not None and _for_this_hardware(config)
    if config.rules.is_omni and not among_all and asked > split * gpu:
        return _spread(ranks, f"{detail}, {'one has' if split == 1 else f'{split} have'}", gpu)
    return Verdict("fits", "Enough as declared", detail)


def too_few_gpus(deployment: Deployment) -> str | None:
    """That a pipeline's own options ask for more GPUs than there are; None where they do not."""
    config, ranks = deployment.configuration, _pipeline(deployment)
    if ranks is None or ranks.gpus <= config.gpus_used:
        return None
    there = f"{config.gpus_used}× {config.profile.display_name}"
    return f"its options ask for {ranks.gpus} GPUs, {there} are there"


def _for_this_hardware(config: Configuration) -> bool:
    """Whether what is declared is what all GPUs of this very hardware hold between them."""
    task = config.task
    there = task.hardware_overrides.get(config.hardware) if task is not None else None
    if there is not None and there.vram_minimum_gb is not None:
        return True
    return pick(config.variant.cpu_offload, config.hardware, config.profile) is not None


def _spread(ranks: Ranks | None, detail: str, gpu: float) -> Verdict:
    """What can be said of a pipeline that needs more GPUs than are known to share its weights."""
    if ranks is None:
        text = f"{detail} {_gb(gpu)}: how many it uses, its options do not say"
        return Verdict("unknown", "One GPU is not enough as declared", text)
    few = "One GPU is" if ranks.split == 1 else f"{ranks.split} GPUs are"
    among = "are not split" if ranks.split == 1 else f"are split among {ranks.split}"
    text = f"{detail} {_gb(ranks.split * gpu)}: by its options the weights {among}"
    return Verdict("unknown", f"{few} not enough as declared", text)


def verdict_on(deployment: Deployment, sizing: Sizing | None) -> tuple[Verdict, str]:
    """The verdict on an engine and its basis: what is declared, where sizing cannot tell."""
    if sizing is None or sizing.verdict.kind == "unknown":
        return declared_verdict(deployment), "declared"
    return sizing.verdict, sizing.basis


def verdict_beside(deployment: Deployment, sizing: Mapping[str, Any] | None) -> tuple[Verdict, str]:
    """The same from the ``sizing`` object of a rendering."""
    if sizing is None or (sizing["fits"] is None and not sizing["problems"]):
        return declared_verdict(deployment), "declared"
    word, _, detail = sizing["verdict"].partition(": ")
    kind: Literal["fits", "short", "refused"] = "fits" if sizing["fits"] else "short"
    return Verdict("refused" if sizing["problems"] else kind, word, detail), sizing["basis"]


def _pipeline(deployment: Deployment) -> Ranks | None:
    """The ranks of a pipeline; None for any other engine, and where its options do not tell."""
    if not deployment.configuration.rules.is_omni:
        return None
    return ranks_of(deployment.first_engine.argv)


def _each_engine(deployment: Deployment) -> list[int]:
    """GPUs of each engine, none that is not there."""
    config = deployment.configuration
    if config.rules.is_omni:
        ranks = _pipeline(deployment)
        return [min(ranks.gpus, config.gpus_used) if ranks is not None else config.gpus_used]
    return [pool.tp * pool.pp * pool.dp for pool in deployment.layouts]


def _gb(amount: float) -> str:
    """GB (10^9 bytes), as GPUs are sold."""
    return f"{amount:,.0f} GB" if amount >= 10 else f"{amount:,.1f} GB"
