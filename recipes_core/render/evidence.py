"""How sure a command is: run and documented, run as somebody reports, or computed alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from recipes_core.catalog.documents import Evidence
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import Deployment, deploy
from recipes_core.flags import parse_args
from recipes_core.selection import Selection

NAMES = frozenset({"--host", "--port", "--served-model-name"})
"""Flags that change where and under which name a server answers, and nothing that it does."""


class Standing(NamedTuple):
    """What is known of runs of a recipe on one hardware.

    Attributes:
        state: ``verified`` = a run with its day or its vLLM version is on record; ``reported`` =
            the recipe says verified and names only who says so; ``generated`` = no run is known.
        label: A few words for a badge.
        sentence: The same with the source, for a line of its own.
    """

    state: str
    label: str
    sentence: str


def is_verified(config: Configuration) -> bool:
    """Whether the recipe states a run on this hardware; the exact command may differ from it."""
    return config.recipe.meta.hardware.get(config.hardware) == "verified"


def evidence_of(config: Configuration) -> Evidence | None:
    """What stands behind ``verified`` on this hardware; None where nothing is stated."""
    return config.recipe.meta.evidence.get(config.hardware) if is_verified(config) else None


def is_documented(evidence: Evidence | None) -> bool:
    """Whether a run can be looked up: its day or its vLLM version is known."""
    return evidence is not None and (evidence.date is not None or evidence.vllm is not None)


def evidence_json(config: Configuration) -> dict[str, Any] | None:
    """The evidence as data; ``documented`` tells a run on record from a report of one."""
    evidence = evidence_of(config)
    if evidence is None:
        return None
    return {
        "source": evidence.source,
        "date": evidence.date.isoformat() if evidence.date else None,
        "vllm": evidence.vllm,
        "documented": is_documented(evidence),
    }


def standing_of(config: Configuration) -> Standing:
    """How sure a configuration's command is."""
    name = f"{config.node.brand} {config.node.display_name}"
    if not is_verified(config):
        return Standing(
            "generated",
            f"Generated, no run on {name} known",
            f"Generated from the recipe's rules; no run on {name} is known.",
        )
    evidence = evidence_of(config)
    source = evidence.source if evidence is not None else "the recipe"
    if evidence is None or not is_documented(evidence):
        return Standing(
            "reported",
            f"Reported to run on {name}",
            f"Generated from the recipe's rules; that the model runs on {name} is reported by"
            f" {source}, the run itself is not documented.",
        )
    day = f" on {evidence.date.isoformat()}" if evidence.date else ""
    release = f" with vLLM {evidence.vllm}" if evidence.vllm else ""
    return Standing(
        "verified",
        f"Model verified on {name}",
        f"The model ran on {name}{day}{release}, source: {source}. That run's command may differ"
        " from this one.",
    )


def preset_covers(config: Configuration, deployment: Deployment) -> bool:
    """Whether the engines run as the preset alone would have them, names and ports aside."""
    if config.preset_id is None:
        return False
    alone = configure(
        config.catalog,
        config.entry,
        Selection(preset=config.preset_id, variant=config.variant_id),
    )
    return _engines(deployment) == _engines(deploy(alone))


def _engines(deployment: Deployment) -> list[tuple[list[tuple[str, ...]], dict[str, str]]]:
    secrets = {"HF_TOKEN", "VLLM_API_KEY"}
    return [
        (
            [flag.tokens for flag in parse_args(p.argv[3:]) if flag.name not in NAMES],
            {name: value for name, value in p.env.items() if name not in secrets},
        )
        for p in deployment.processes
        if p.is_engine
    ]
