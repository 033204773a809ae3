"""Sizes a resolved configuration: its own commands, on its own hardware."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from recipes_core.axes import MAX_NODES
from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.documents import HardwareProfile
from recipes_core.catalog.loader import builtin_dir
from recipes_core.configuration import Configuration
from recipes_core.deployment.model import Deployment, Process
from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.checkpoint import load_checkpoint
from recipes_core.sizing.estimate import Declared, size
from recipes_core.sizing.hardware import Gpu
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.versions import NEWEST_VLLM

_PARAMETERS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMBT])", re.IGNORECASE)
_SCALE = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_BYTES = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "w8a8": 1.0,
    "mxfp8": 1.03,
    "int4": 0.53,
    "awq": 0.53,
    "gptq": 0.53,
    "nvfp4": 0.5625,
    "fp4": 0.5625,
    "mxfp4": 0.53,
}
"""Bytes per parameter by the precision that a recipe declares."""


def gpu_of(hardware: str, profile: HardwareProfile, most_nodes: int | None = None) -> Gpu:
    """One GPU of a profile of the taxonomy.

    Args:
        hardware: Its id.
        profile: The node.
        most_nodes: Nodes that one engine may span; None = as the hardware allows.
    """
    if most_nodes is None:
        most_nodes = MAX_NODES if profile.scalable else 1
    return Gpu.from_catalog(
        hardware,
        profile.gpu_vram_gb,
        gpu_bytes=profile.gpu_bytes,
        brand=profile.brand,
        generation=profile.generation,
        per_node=profile.gpu_count,
        most_nodes=most_nodes,
    )


def gpu_in(config: Configuration) -> Gpu:
    """One GPU of a configuration's whole node, and how many nodes its engines may span."""
    return gpu_of(config.hardware, config.node, config.most_nodes)


def parameters_of(text: str | None) -> float | None:
    """A count such as ``671B`` or ``1.2T`` as a number, None where it is none."""
    found = _PARAMETERS.match(text or "")
    return float(found[1]) * _SCALE[found[2].upper()] if found else None


def checkpoint_of(config: Configuration) -> Architecture | Declared | None:
    """What is known of the checkpoint that is served: its facts, else the declared parameters."""
    found = load_checkpoint(roots_of(config.catalog), config.model_id)
    if found is not None:
        return found
    model, precision = config.recipe.model, config.variant.precision
    count = parameters_of(model.parameter_count)
    per = _BYTES.get(precision.lower())
    if count is None or per is None:
        return None
    source = f"the recipe: {model.parameter_count} parameters in {precision}"
    moe = model.architecture == "moe"
    return Declared(int(count * per), source, positions=model.context_length, moe=moe)


def version_of(deployment: Deployment) -> str:
    """The release to size for: the pinned one, else the newest, which an installation brings.

    A floor above the newest release that was read is taken as it is.
    """
    pinned = deployment.configuration.vllm
    if pinned and _version(pinned) is not None:
        return pinned
    least = _version(deployment.min_vllm_version)
    if least is not None and least > Version(NEWEST_VLLM):
        return str(least)
    return NEWEST_VLLM


def _version(text: str | None) -> Version | None:
    try:
        return Version(text or "")
    except InvalidVersion:
        return None


def size_processes(config: Configuration, deployment: Deployment) -> list[tuple[Process, Sizing]]:
    """The memory of each engine of a deployment that differs from the others.

    Args:
        config: What `configure` returned.
        deployment: What `deploy` made of it.

    Returns:
        One entry per distinct command, in start order; none where the checkpoint is not known or
        what runs is no language model engine.
    """
    if config.task is not None:
        return []
    known = checkpoint_of(config)
    if known is None:
        return []
    gpu, vllm = gpu_in(config), version_of(deployment)
    found: list[tuple[Process, Sizing]] = []
    seen: set[tuple[object, ...]] = set()
    for process in deployment.processes:
        if not process.is_engine:
            continue
        key = (_shape(process.argv), tuple(sorted(process.env.items())))
        if key in seen:
            continue
        seen.add(key)
        sized = size(known, gpu, process.argv, env=process.env, vllm=vllm)
        found.append((process, replace(sized, process=process.name)))
    return found


def size_configuration(config: Configuration, deployment: Deployment) -> Sizing | None:
    """The memory of the tightest engine of a configuration.

    Args:
        config: What `configure` returned.
        deployment: What `deploy` made of it.

    Returns:
        None where nothing is known of the checkpoint.
    """
    return tightest(sized for _, sized in size_processes(config, deployment))


def tightest(engines: Iterable[Sizing]) -> Sizing | None:
    """The engine that decides: one that does not fit, else the one with the fewest requests."""
    return min(engines, key=lambda s: (s.fits is not False, s.max_concurrency or 0.0), default=None)


def roots_of(catalog: Catalog) -> Sequence[Path]:
    """Where facts of checkpoints are: what comes with the package, then the catalog's own."""
    return (builtin_dir(), *catalog.roots.values())


_RANK_FLAGS = frozenset(
    (
        "--node-rank",
        "--data-parallel-start-rank",
        "--data-parallel-address",
        "--headless",
        "--host",
        "--port",
        "--master-addr",
    )
)


def _shape(argv: Sequence[str]) -> tuple[str, ...]:
    """A command without what only tells engines of one kind, and their nodes, apart."""
    kept: list[str] = []
    skip = False
    for word in argv:
        if word.startswith("-"):
            skip = word.split("=")[0] in _RANK_FLAGS
        if not skip:
            kept.append(word)
    return tuple(kept)
