"""What each axis offers, and why a choice cannot be had: the gates of floor 3.

A Rules object answers for one recipe; its answers depend only on the catalog and the choices given,
never on what was asked, and are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

from packaging.version import InvalidVersion
from packaging.version import Version as Release

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import HardwareProfile, OmniTask, Recipe, Strategy, Variant
from recipes_core.catalog.hardware_keys import pick

MAX_NODES = 16
BLACKWELL_PRECISIONS = frozenset({"nvfp4", "fp4"})
POOL_MODES = ("tp", "tep", "dep")
T = TypeVar("T")


class Option(NamedTuple):
    """One choice of an axis."""

    id: Any
    label: str
    enabled: bool = True
    reason: str | None = None
    """Why it cannot be had; None where it can."""
    default: bool = False
    """What is taken where nothing is asked."""
    facts: Mapping[str, Any] = {}
    """What an axis adds: ``verified``, ``min_nodes`` …"""

    def to_json(self) -> dict[str, Any]:
        """The option as the JSON of a configuration has it."""
        return {
            "id": self.id,
            "label": self.label,
            "enabled": self.enabled,
            "reason": self.reason,
            "default": self.default,
            **self.facts,
        }


class StrategyGate(NamedTuple):
    """What stands between a reader and a strategy on one hardware."""

    min_nodes: int
    reachable: bool
    supported: bool


@lru_cache(maxsize=1024)
def release(text: str) -> Release | None:
    """A version that compares, or None for ``nightly`` and what is none."""
    try:
        return Release(text)
    except InvalidVersion:
        return None


def task_key(task: OmniTask | str) -> str:
    """The name of an omni task in a query."""
    return task if isinstance(task, str) else task.key or task.id


def strategy_nodes(strategy: Strategy) -> str:
    """``single`` or ``multi`` node, or ``pools``."""
    return {"single_node": "single", "multi_node": "multi"}.get(strategy.deploy_type, "pools")


class Rules:
    """The gates of one recipe in one catalog."""

    def __init__(self, catalog: Catalog, entry: RecipeEntry) -> None:
        self.catalog = catalog
        self.entry = entry
        self.recipe: Recipe = entry.recipe
        self._kept: dict[tuple[Any, ...], Any] = {}
        granted = [
            name
            for name, by_hardware in self.recipe.strategy_hardware.items()
            if any(state != "unsupported" for state in by_hardware.values())
        ]
        names = dict.fromkeys((*self.recipe.compatible_strategies, *granted))
        self.strategies: dict[str, Strategy] = {
            name: catalog.strategies[name] for name in names if name in catalog.strategies
        }
        self.multi_node_offered = any(
            strategy.deploy_type == "multi_node" for strategy in self.strategies.values()
        )
        self.is_omni = "omni" in self.recipe.meta.tasks and self.recipe.omni is not None

    # --- variants -------------------------------------------------------------------------

    def default_variant(self) -> str:
        """``default``, or the first variant of a recipe that has none of that name."""
        return "default" if "default" in self.recipe.variants else next(iter(self.recipe.variants))

    def variant_options(self) -> tuple[Option, ...]:
        """Every variant; all can be had, on some hardware."""
        return self.keep(("variant",), self._variant_options)

    def _variant_options(self) -> tuple[Option, ...]:
        default = self.default_variant()
        options = []
        for name, variant in self.recipe.variants.items():
            label = " · ".join(filter(None, (variant.label, variant.precision.upper())))
            facts = {
                "precision": variant.precision,
                "vram_minimum_gb": variant.vram_minimum_gb,
                "model_id": variant.model_id or self.recipe.model.model_id,
                "released": variant.released,
            }
            options.append(Option(name, label, True, None, name == default, facts))
        return tuple(options)

    # --- hardware -------------------------------------------------------------------------

    def offered_hardware(self) -> dict[str, HardwareProfile]:
        """Profiles that the recipe may be asked for, in the taxonomy's order."""
        named = self.recipe.meta.hardware
        return {
            name: profile
            for name, profile in self.catalog.hardware.items()
            if not profile.restricted or name in named
        }

    def hardware_options(self, variant: str) -> tuple[Option, ...]:
        """Every offered hardware for a variant, with the reason where it is not enabled."""
        return self.keep(("hardware", variant), lambda: self._hardware_options(variant))

    def _hardware_options(self, name: str) -> tuple[Option, ...]:
        variant = self.recipe.variants[name]
        options = []
        for hardware, profile in self.offered_hardware().items():
            reason = self._hardware_reason(variant, hardware, profile)
            facts = {
                "verified": self.recipe.meta.hardware.get(hardware) == "verified",
                "brand": profile.brand,
                "gpu_count": profile.gpu_count,
                "gpu_vram_gb": profile.gpu_vram_gb,
            }
            options.append(
                Option(hardware, profile.display_name, reason is None, reason, False, facts)
            )
        own = self.recipe.meta.default_hardware
        if any(option.id == own and option.enabled for option in options):
            default = own
        else:
            default = self._default_hardware(variant, options)
        return tuple(option._replace(default=option.id == default) for option in options)

    def _hardware_reason(
        self, variant: Variant, hardware: str, profile: HardwareProfile
    ) -> str | None:
        needs = variant.precision_hardware
        precision = variant.precision.upper()
        if needs is not None:
            if needs.brand and needs.brand.lower() != profile.brand.lower():
                return f"{precision} needs {needs.brand}"
            if needs.generation and needs.generation != profile.generation:
                return f"{precision} needs {needs.generation}"
        elif variant.precision in BLACKWELL_PRECISIONS and not (
            profile.brand == "NVIDIA" and profile.generation == "blackwell"
        ):
            return f"{precision} needs NVIDIA Blackwell"
        state = self.recipe.meta.hardware.get(hardware)
        if state == "unsupported":
            return "the recipe says that it does not run here"
        if variant.supported_hardware is not None and not (
            hardware in variant.supported_hardware
            or f"arch:{profile.compute_arch}" in variant.supported_hardware
        ):
            return "this variant does not support it"
        if not profile.scalable and state != "verified":
            budget = self.memory_needed(variant, hardware, profile)
            if budget > profile.vram_gb:
                return (
                    f"needs {budget:g} GB ({variant.memory_origin}), has {profile.vram_gb:g} GB,"
                    " and no node can be added"
                )
        return None

    @staticmethod
    def _default_hardware(variant: Variant, options: list[Option]) -> str | None:
        enabled = [option for option in options if option.enabled]
        ids = [option.id for option in enabled]
        preferred = []
        if variant.precision in BLACKWELL_PRECISIONS and variant.precision_hardware is None:
            preferred += ["b200", "gb200"]
        preferred.append("h200")
        for name in preferred:
            if name in ids:
                return name
        order = {"NVIDIA": 0, "AMD": 1}
        ranked = sorted(enabled, key=lambda o: (order.get(o.facts["brand"], 2), o.id))
        return ranked[0].id if ranked else None

    def default_hardware(self, variant: str) -> str | None:
        """The hardware that is taken where none is asked; None where none is enabled."""
        return next((o.id for o in self.hardware_options(variant) if o.default), None)

    def memory_needed(self, variant: Variant, hardware: str, profile: HardwareProfile) -> float:
        """GB that must fit the GPUs: all, or what stays on them where weights are offloaded."""
        budget = pick(variant.cpu_offload, hardware, profile)
        return budget.gpu_resident_gb if budget else variant.vram_minimum_gb

    def gpus_needed(self, variant: str, hardware: str, node: HardwareProfile) -> int | None:
        """Fewest GPUs with the memory that a variant asks for; None where it cannot be had.

        Some of one node, or as many whole nodes as the recipe takes by default.
        """
        if not any(o.id == hardware and o.enabled for o in self.hardware_options(variant)):
            return None
        needed = self.memory_needed(self.recipe.variants[variant], hardware, node)
        nodes = self.default_nodes(variant, hardware, node)
        if needed > nodes * node.vram_gb:
            return None
        return nodes * node.gpu_count if nodes > 1 else math.ceil(needed / node.gpu_vram_gb)

    def fits(self, hardware: str, node: HardwareProfile, gpus: int) -> bool:
        """Whether some variant needs no more than so many GPUs, by the memory it asks for."""
        needed = (self.gpus_needed(name, hardware, node) for name in self.recipe.variants)
        return any(least is not None and least <= gpus for least in needed)

    # --- nodes ----------------------------------------------------------------------------

    def most_nodes(self, node: HardwareProfile) -> int:
        """Nodes that an engine may span: one where recipe or hardware takes no more."""
        return MAX_NODES if self.multi_node_offered and node.scalable else 1

    def default_nodes(self, variant: str, hardware: str, node: HardwareProfile) -> int:
        """Nodes that are taken where none are asked, from 1 to 16."""
        return self.keep(
            ("nodes", variant, hardware), lambda: self._default_nodes(variant, hardware, node)
        )

    def _default_nodes(self, name: str, hardware: str, node: HardwareProfile) -> int:
        variant = self.recipe.variants[name]
        known = pick(variant.nodes, hardware, node)
        if known is not None:
            return known
        if self.most_nodes(node) == 1:
            return 1
        needed = self.memory_needed(variant, hardware, node)
        nodes = 1 if needed <= node.vram_gb else max(2, math.ceil(needed / node.vram_gb))
        nodes = max(nodes, self.hardware_floor_nodes(hardware, node.gpu_count))
        if nodes > 1:
            lead = self.default_strategy(hardware, node, MAX_NODES)
            if lead is not None and self.strategies[lead].deploy_type == "multi_node":
                nodes = max(nodes, self.gate(lead, hardware, node).min_nodes)
        return min(nodes, MAX_NODES)

    # --- strategies -----------------------------------------------------------------------

    def hardware_floor_nodes(self, hardware: str, gpu_count: int) -> int:
        """Nodes that the recipe's GPU floor for this hardware takes, at least 1."""
        return max(1, math.ceil(self.recipe.strategy_min_gpus.get(hardware, 0) / gpu_count))

    def gate(self, name: str, hardware: str, profile: HardwareProfile) -> StrategyGate:
        """Whether a strategy works on a hardware, and from how many nodes on."""
        return self.keep(
            ("gate", name, hardware, profile.gpu_count), lambda: self._gate(name, hardware, profile)
        )

    def _gate(self, name: str, hardware: str, profile: HardwareProfile) -> StrategyGate:
        recipe = self.recipe
        state = pick(recipe.strategy_hardware.get(name, {}), hardware, profile)
        supported = (
            state != "unsupported" if state is not None else name in recipe.compatible_strategies
        )
        floors = recipe.strategy_min_gpus
        floor = max(floors.get(name, 0), floors.get(hardware, 0))
        min_nodes = max(1, math.ceil(floor / profile.gpu_count))
        limit = 1 if self.strategies[name].deploy_type == "single_node" else MAX_NODES
        return StrategyGate(min_nodes, min_nodes <= limit, supported)

    def recommended(self, nodes: int) -> str | None:
        """The strategy that the recipe leads with at a node count, before any gate."""
        names = self.strategies
        default = self.recipe.default_strategy
        if default in names:
            sibling = default if nodes == 1 else default.replace("single_node_", "multi_node_")
            if sibling in names:
                return sibling
        if nodes > 1:
            for name in ("multi_node_tp", "multi_node_dep", "multi_node_tep"):
                if name in names:
                    return name
        if "single_node_tp" in names:
            return "single_node_tp"
        return next(iter(names), None)

    def strategy_reason(
        self, name: str, hardware: str, profile: HardwareProfile, nodes: int
    ) -> str | None:
        """Why a strategy cannot be had at this hardware and node count; None where it can."""
        gate = self.gate(name, hardware, profile)
        kind = strategy_nodes(self.strategies[name])
        if not gate.supported:
            return f"not supported on {profile.display_name}"
        if not gate.reachable:
            return f"needs {gate.min_nodes} nodes of {profile.display_name}"
        if kind == "single" and nodes > 1:
            return f"runs on one node, and {nodes} are chosen"
        if kind == "multi" and nodes < 2:
            return "needs nodes=2 or more"
        if kind == "multi" and nodes < gate.min_nodes:
            return f"needs nodes={gate.min_nodes} or more"
        return None

    def nodes_of(
        self, name: str, hardware: str, profile: HardwareProfile, nodes: int
    ) -> int | None:
        """Nodes at which a strategy can be had: those chosen, else the fewest; None at none."""
        kind = strategy_nodes(self.strategies[name])
        fewest = max(2, self.gate(name, hardware, profile).min_nodes) if kind == "multi" else 1
        for count in (nodes, fewest):
            if self.strategy_reason(name, hardware, profile, count) is None:
                return count
        return None

    def default_strategy(self, hardware: str, profile: HardwareProfile, nodes: int) -> str | None:
        """The recommended strategy, or the first supported, reachable one of this node count."""
        return self.keep(
            ("lead", hardware, profile.gpu_count, nodes),
            lambda: self._default_strategy(hardware, profile, nodes),
        )

    def _default_strategy(self, hardware: str, profile: HardwareProfile, nodes: int) -> str | None:
        first = self.recommended(nodes)
        if first is None:
            return None
        names = [first, *self.strategies]
        pools_last = sorted(
            names,
            key=lambda name: name != first and strategy_nodes(self.strategies[name]) == "pools",
        )
        for name in pools_last:
            if self.strategy_reason(name, hardware, profile, nodes) is None:
                return name
        return None

    def strategy_options(
        self, hardware: str, profile: HardwareProfile, nodes: int
    ) -> tuple[Option, ...]:
        """Every offered strategy, with the reason where it cannot be had."""
        key = ("strategy", hardware, profile.gpu_count, nodes)
        return self.keep(key, lambda: self._strategy_options(hardware, profile, nodes))

    def _strategy_options(
        self, hardware: str, profile: HardwareProfile, nodes: int
    ) -> tuple[Option, ...]:
        default = self.default_strategy(hardware, profile, nodes)
        options = []
        for name, strategy in self.strategies.items():
            gate = self.gate(name, hardware, profile)
            reason = self.strategy_reason(name, hardware, profile, nodes)
            facts = {
                "min_nodes": gate.min_nodes,
                "reachable": gate.reachable,
                "supported": gate.supported,
                "orientation": strategy.orientation,
            }
            options.append(
                Option(name, strategy.display_name, reason is None, reason, name == default, facts)
            )
        return tuple(options)

    def tensor_parallel(self, variant: Variant, hardware: str, profile: HardwareProfile) -> int:
        """TP of single_node_tp: variant > recipe's override > 1 where one GPU holds the model."""
        override = self.recipe.strategy_overrides.get("single_node_tp")
        asked = None
        for declared in (variant.tp, override.tp if override else None):
            if asked is None and declared is not None:
                asked = declared if isinstance(declared, int) else pick(declared, hardware, profile)
        if asked is None:
            fits = self.memory_needed(variant, hardware, profile) <= profile.gpu_vram_gb
            asked = 1 if fits else profile.gpu_count
        return asked if profile.generation == "cpu" else min(asked, profile.gpu_count)

    def pool_modes(self) -> tuple[str, ...]:
        """Shapes that a pool may have."""
        override = self.recipe.strategy_overrides.get("pd_cluster")
        offered = [
            mode
            for mode in POOL_MODES
            if f"single_node_{mode}" in self.strategies or f"multi_node_{mode}" in self.strategies
        ]
        if override is not None and override.pool_modes:
            offered = [mode for mode in offered if mode in override.pool_modes]
        return tuple(offered)

    def keep(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """An answer that depends on ``key`` alone, made once."""
        kept: dict[tuple[Any, ...], Any] = self._kept
        if key not in kept:
            if len(kept) > 4096:
                kept.clear()
            kept[key] = make()
        return cast(T, kept[key])


def rules_of(catalog: Catalog, entry: RecipeEntry) -> Rules:
    """The gates of a recipe, made once for each catalog."""
    rules = catalog.kept.get(entry.id)
    if not isinstance(rules, Rules) or rules.entry is not entry:
        rules = catalog.kept[entry.id] = Rules(catalog, entry)
    return rules
