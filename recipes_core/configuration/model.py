"""One valid configuration: plain data that ``configure`` makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from recipes_core.axes import MAX_NODES, Rules
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import (
    HardwareProfile,
    KvStore,
    OmniTask,
    OperatingPoint,
    Preset,
    Recipe,
    Strategy,
    Variant,
)
from recipes_core.findings import Finding
from recipes_core.selection import Selection


class Adjustment(NamedTuple):
    """Something that was asked and could not be had."""

    axis: str
    asked: Any
    got: Any
    reason: str


class PoolChoice(NamedTuple):
    """Size and shape of one pool; 0 nodes = half of one shared node."""

    nodes: int
    mode: str


@dataclass(slots=True, eq=False)
class Configuration:
    """One valid choice per axis. Made by ``configure``, not by hand; not changed afterwards.

    Attributes:
        profile: The node as it is used: its GPU count is what the commands use.
        node: The node as it is.
        pools: ``prefill`` and ``decode`` under a PD cluster, else empty.
        install: ``pip``, ``docker`` or a CUDA release, where one was asked.
        vllm: The release that install and image are pinned to, if any.
        features: What is on and adds something, in order.
        feature_modes: The active mode of each feature that has modes.
        point: The preset's operating point that is rendered; None for the preset as it is.
    """

    catalog: Catalog
    entry: RecipeEntry
    rules: Rules
    selection: Selection
    variant_id: str
    variant: Variant
    hardware: str
    profile: HardwareProfile
    node: HardwareProfile
    nodes: int = 1
    strategy_id: str | None = None
    strategy: Strategy | None = None
    features: tuple[str, ...] = ()
    feature_modes: dict[str, str] = field(default_factory=dict)
    preset_id: str | None = None
    preset: Preset | None = None
    preset_by_default: bool = False
    point: OperatingPoint | None = None
    kv_offload: str | None = None
    kv_store: KvStore | None = None
    kv_instances: int | None = None
    pools: dict[str, PoolChoice] = field(default_factory=dict)
    router: str | None = None
    frontend: str | None = None
    task: OmniTask | None = None
    advanced: tuple[str, ...] = ()
    install: str | None = None
    vllm: str | None = None
    adjustments: list[Adjustment] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def recipe(self) -> Recipe:
        """The recipe's document."""
        return self.entry.recipe

    @property
    def model_id(self) -> str:
        """The checkpoint that is served."""
        if self.task is not None and self.task.model_id:
            return self.task.model_id
        return self.variant.model_id or self.recipe.model.model_id

    @property
    def gpus_used(self) -> int:
        """GPUs of all nodes that the engine or the pools use."""
        if self.pools:
            shared = all(pool.nodes == 0 for pool in self.pools.values())
            nodes = 1 if shared else sum(pool.nodes for pool in self.pools.values())
            return nodes * self.profile.gpu_count
        return self.nodes * self.profile.gpu_count

    @property
    def most_nodes(self) -> int:
        """Nodes that an engine of this kind may span, those that were asked at least."""
        if self.pools and self.node.scalable:
            return MAX_NODES
        return max(self.nodes, self.rules.most_nodes(self.node))

    @property
    def memory_needed_gb(self) -> float:
        """Declared GB that must fit the GPUs of one copy: the task's on this hardware, if any."""
        if self.task is not None:
            there = self.task.hardware_overrides.get(self.hardware)
            for declared in (there, self.task):
                if declared is not None and declared.vram_minimum_gb is not None:
                    return declared.vram_minimum_gb
        return self.rules.memory_needed(self.variant, self.hardware, self.profile)
