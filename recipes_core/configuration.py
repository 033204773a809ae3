"""configure(): one valid configuration, its options and its adjustments. Every decision is here.

What was asked and cannot be had yields to the default, never silently: each such case is an
Adjustment that the page, the Markdown, the JSON and the command line show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from recipes_core.axes import (
    ADVANCED,
    MAX_NODES,
    Option,
    Rules,
    pick,
    rules_of,
    strategy_nodes,
    task_key,
)
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import (
    HardwareProfile,
    KvStore,
    OmniTask,
    Preset,
    Recipe,
    Strategy,
    Variant,
)
from recipes_core.errors import RecipesError, nearest
from recipes_core.findings import Finding
from recipes_core.selection import Selection

BASELINE = "baseline"
EXCLUSIVE: dict[str, str] = {"encoder_parallel": "text_only"}
"""A feature and the one that it yields to, in every recipe."""
ROUTERS = ("vllm", "smg", "dynamo")
MAX_INSTANCES = 64


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
        features: What is on and adds something, in order.
        feature_modes: The active mode of each feature that has modes.
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
    kv_offload: str | None = None
    kv_store: KvStore | None = None
    kv_instances: int | None = None
    pools: dict[str, PoolChoice] = field(default_factory=dict)
    router: str | None = None
    frontend: str | None = None
    task: OmniTask | None = None
    advanced: tuple[str, ...] = ()
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
    def memory_needed_gb(self) -> float:
        """Declared GB that must fit the GPUs of one copy."""
        return self.rules.memory_needed(self.variant, self.hardware, self.profile)


def configure(
    catalog: Catalog, recipe: str | RecipeEntry, selection: Selection | str | None = None
) -> Configuration:
    """Resolve what was asked into one valid configuration.

    Args:
        catalog: The vocabulary and the recipes.
        recipe: An id (``org/repo``, in any case; a variant's checkpoint opens its parent) or an
            entry of the catalog.
        selection: What was asked, or its query string.

    Raises:
        UnknownRecipeError: No recipe has that id.
        RecipesError: The recipe runs on no hardware of the catalog.
    """
    if isinstance(recipe, str):
        entry, by_id = catalog.find(recipe)
    else:
        entry, by_id = recipe, None
    if not isinstance(selection, Selection):
        selection = Selection.from_query(selection or "")
    return _Resolver(catalog, entry, selection, by_id).resolve()


class _Resolver:
    """The walk over the axes; each method decides one and may read those above it."""

    def __init__(
        self, catalog: Catalog, entry: RecipeEntry, selection: Selection, by_id: str | None
    ) -> None:
        self.catalog = catalog
        self.entry = entry
        self.recipe = entry.recipe
        self.rules = rules_of(catalog, entry)
        self.asked = selection
        self.by_id = by_id
        self.adjustments = [
            Adjustment(unread.key, unread.value, None, unread.reason)
            for unread in selection.unread
        ]

    def adjust(self, axis: str, asked: Any, got: Any, reason: str) -> None:
        self.adjustments.append(Adjustment(axis, asked, got, reason))

    def resolve(self) -> Configuration:
        preset_id = self._asked_preset()
        preset = self.recipe.presets[preset_id] if preset_id else None
        variant_id = self._variant(preset)
        if preset is not None and not self._preset_runs(preset, variant_id):
            reason = f"it needs {preset.hardware}, where variant {variant_id} does not run"
            self.adjust("preset", preset_id, None, reason)
            preset_id, preset = None, None
        variant = self.recipe.variants[variant_id]
        hardware = self._hardware(variant_id, preset)
        node = self.catalog.hardware[hardware]
        config = Configuration(
            self.catalog, self.entry, self.rules, self.asked, variant_id, variant, hardware,
            node, node, adjustments=self.adjustments,
        )  # fmt: skip
        if self.rules.is_omni:
            self._omni(config)
        else:
            self._layout(config, preset)
            self._preset(config, preset_id)
            self._features(config)
            self._kv(config)
            self._pools(config)
        self._advanced(config)
        self._frontend(config)
        self._memory_finding(config)
        return config

    # --- variant and hardware ---------------------------------------------------------------

    def _known(self, axis: str, asked: str, known: Iterable[str], got: Any) -> str | None:
        names = list(known)
        if asked in names:
            return asked
        for name in names:
            if name.casefold() == asked.casefold():
                return name
        near = nearest(asked, names)
        hint = f"; did you mean {near[0]}?" if near else ""
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        self.adjust(axis, asked, got, f"unknown; known: {shown}{hint}")
        return None

    def _asked_preset(self) -> str | None:
        asked = self.asked.preset
        if asked is None or asked == BASELINE:
            return None
        if not self.recipe.presets:
            self.adjust("preset", asked, None, "this recipe has no presets")
            return None
        return self._known("preset", asked, self.recipe.presets, None)

    def _variant(self, preset: Preset | None) -> str:
        default = self.by_id or self.rules.default_variant()
        asked = self.asked.variant
        if preset is not None:
            qualified = [name for name in preset.variants if name in self.recipe.variants]
            default = default if default in qualified else (qualified or [default])[0]
        if asked is None:
            return default
        name = self._known("variant", asked, self.recipe.variants, default)
        if name is None:
            return default
        if preset is not None and name not in preset.variants:
            reason = f"the preset is qualified on {', '.join(preset.variants)}"
            self.adjust("variant", name, default, reason)
            return default
        return name

    def _preset_runs(self, preset: Preset, variant: str) -> bool:
        return preset.strategy in self.rules.strategies and any(
            option.id == preset.hardware and option.enabled
            for option in self.rules.hardware_options(variant)
        )

    def _hardware(self, variant: str, preset: Preset | None) -> str:
        options = {option.id: option for option in self.rules.hardware_options(variant)}
        default = preset.hardware if preset else self.rules.default_hardware(variant)
        if default is None:
            raise RecipesError(
                f"{self.entry.id}: variant {variant} runs on no hardware of this catalog"
            )
        asked = self.asked.hardware
        if asked is None:
            return default
        name = next((key for key in options if key.casefold() == asked.casefold()), None)
        if name is None:
            if asked.casefold() in {key.casefold() for key in self.catalog.hardware}:
                reason = "this recipe does not offer it"
                self.adjust("hardware", asked, default, reason)
            else:
                self._known("hardware", asked, options, default)
            return default
        if not options[name].enabled:
            self.adjust("hardware", name, default, options[name].reason or "")
            return default
        if preset is not None and name != default:
            self.adjust("hardware", name, default, f"the preset is for {default}")
            return default
        return name

    # --- layout: GPUs, nodes, strategy ------------------------------------------------------

    def _layout(self, config: Configuration, preset: Preset | None) -> None:
        rules, node = self.rules, config.node
        default_nodes = (preset.nodes if preset else None) or rules.default_nodes(
            config.variant_id, config.hardware, node
        )
        nodes = self._asked_nodes(default_nodes, preset)
        if preset is not None:
            if preset.nodes is None:
                nodes = max(nodes, self._least_nodes(preset.strategy, config))
            strategy = preset.strategy
            if self.asked.strategy is not None and self.asked.strategy != strategy:
                self.adjust("strategy", self.asked.strategy, strategy, "the preset sets it")
        else:
            nodes, strategy = self._strategy(config, nodes)
        config.strategy_id = strategy
        config.strategy = rules.strategies[strategy]
        kind = strategy_nodes(config.strategy)
        if kind == "pools" and nodes != 1:
            if self.asked.nodes is not None:
                reason = "each pool has its own nodes: prefill_nodes, decode_nodes"
                self.adjust("nodes", self.asked.nodes, 1, reason)
            nodes = 1
        config.nodes = nodes
        config.profile = self._gpus(config, node, preset, kind)

    def _least_nodes(self, strategy: str, config: Configuration) -> int:
        gate = self.rules.gate(strategy, config.hardware, config.node)
        multi = self.rules.strategies[strategy].deploy_type == "multi_node"
        return max(gate.min_nodes, 2) if multi else 1

    def _asked_nodes(self, default: int, preset: Preset | None) -> int:
        asked = self.asked.nodes
        if asked is None:
            return default
        if preset is not None and asked != default:
            self.adjust("nodes", asked, default, "the preset sets it")
            return default
        if asked > MAX_NODES:
            self.adjust("nodes", asked, MAX_NODES, f"at most {MAX_NODES} nodes")
            return MAX_NODES
        return asked

    def _strategy(self, config: Configuration, nodes: int) -> tuple[int, str]:
        """The node count and the strategy; nodes yield only where no strategy fits them."""
        rules, hardware, node = self.rules, config.hardware, config.node
        default = rules.default_strategy(hardware, node, nodes)
        if default is None:
            near = sorted(range(1, MAX_NODES + 1), key=lambda count: abs(count - nodes))
            for count in near:
                default = rules.default_strategy(hardware, node, count)
                if default is not None:
                    if self.asked.nodes is not None:
                        reason = f"no strategy of this recipe runs on {nodes} nodes here"
                        self.adjust("nodes", nodes, count, reason)
                    nodes = count
                    break
        if default is None:
            default = self._rejected_default(config)
        asked = self.asked.strategy
        if asked is None:
            return nodes, default
        name = next((key for key in rules.strategies if key.casefold() == asked.casefold()), None)
        if name is None:
            if asked in self.catalog.strategies:
                self.adjust("strategy", asked, default, "this recipe does not offer it")
            else:
                self._known("strategy", asked, rules.strategies, default)
            return nodes, default
        reason = rules.strategy_reason(name, hardware, node, nodes)
        if reason is not None:
            if name != default:
                self.adjust("strategy", name, default, reason)
            return nodes, default
        return nodes, name

    def _rejected_default(self, config: Configuration) -> str:
        name = self.rules.recommended(1)
        if name is None:
            raise RecipesError(f"{self.entry.id}: the recipe offers no strategy of this catalog")
        reason = self.rules.strategy_reason(name, config.hardware, config.node, 1)
        message = f"no strategy of this recipe is reachable here; {name}: {reason}"
        config.findings.append(
            Finding("error", "strategy-unreachable", message, "strategy", self.entry.source)
        )
        return name

    def _gpus(
        self, config: Configuration, node: HardwareProfile, preset: Preset | None, kind: str
    ) -> HardwareProfile:
        asked = self.asked.gpus
        declared = preset.gpus if preset else None
        if kind == "single" and declared is None:
            declared = pick(config.variant.gpus, config.hardware, node)
        count = min(declared or node.gpu_count, node.gpu_count)
        if asked is not None and kind != "single":
            self.adjust("gpus", asked, None, "fewer GPUs are taken of one node only")
        elif asked is not None and asked > node.gpu_count:
            self.adjust("gpus", asked, count, f"a node has {node.gpu_count}")
        elif asked is not None:
            count = self._enough_gpus(config, node, asked)
        return _part_of(node, count)

    def _enough_gpus(self, config: Configuration, node: HardwareProfile, asked: int) -> int:
        needed = self.rules.memory_needed(config.variant, config.hardware, node)
        have = asked * node.gpu_vram_gb
        if needed <= have or needed > node.vram_gb:
            return asked
        enough = next(
            count
            for count in (1, 2, 4, 8, 16, 32, 64, node.gpu_count)
            if count <= node.gpu_count and count * node.gpu_vram_gb >= needed
        )
        reason = (
            f"needs {needed:g} GB (declared), {asked}× {node.display_name} have {have:g} GB"
        )
        self.adjust("gpus", asked, enough, reason)
        return enough

    # --- preset -----------------------------------------------------------------------------

    def _preset(self, config: Configuration, asked: str | None) -> None:
        name = asked
        if name is None and self.asked.preset is None and not self._asks_beside(config):
            name = default_preset(config)
            config.preset_by_default = name is not None
        if name is None:
            return
        config.preset_id = name
        config.preset = self.recipe.presets[name]
        if config.preset.gpus and config.preset_by_default:
            config.profile = _part_of(config.node, config.preset.gpus)

    def _asks_beside(self, config: Configuration) -> bool:
        """Whether a reader asked for something that a default preset would have to override."""
        asked = self.asked
        return (
            asked.features is not None
            or bool(asked.fmode)
            or asked.kv_offload is not None
            or asked.gpus is not None
            or bool(asked.advanced)
        )

    # --- features ---------------------------------------------------------------------------

    def _features(self, config: Configuration) -> None:
        preset = config.preset
        asked = self.asked.features
        if asked is not None:
            wanted = self._asked_features(asked)
            if preset is not None and set(wanted) != set(preset.features):
                reason = "features were asked: the preset's evidence no longer covers the command"
                self.adjust("preset", config.preset_id, config.preset_id, reason)
        elif preset is not None:
            wanted = preset.features
        else:
            wanted = self.rules.default_features(config.variant, config.hardware)
        on: list[str] = []
        for name in self._without_excluded(wanted, asked is not None):
            reason = self.rules.feature_reason(
                name, config.variant_id, config.hardware, config.profile, config.strategy_id
            )
            if reason is None:
                on.append(name)
            elif asked is not None:
                self.adjust("features", name, None, reason)
        config.features = tuple(on)
        self._modes(config)

    def _asked_features(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        found = []
        for word in asked:
            if self.recipe.features:
                name = self._known("features", word, self.recipe.features, None)
            else:
                self.adjust("features", word, None, "this recipe has no features")
                name = None
            if name is not None:
                found.append(name)
        return tuple(dict.fromkeys(found))

    def _without_excluded(self, wanted: Iterable[str], asked: bool) -> list[str]:
        names = list(wanted)
        for name in list(names):
            if name not in names:
                continue
            winner = EXCLUSIVE.get(name)
            rivals = [winner] if winner in names else []
            rivals += [
                other
                for other in names[: names.index(name)]
                if name in self.recipe.features[other].excludes
                or other in self.recipe.features[name].excludes
            ]
            if rivals:
                names.remove(name)
                if asked:
                    self.adjust("features", name, None, f"excluded by {rivals[0]}")
        return names

    def _modes(self, config: Configuration) -> None:
        asked = dict(self.asked.fmode)
        for name in config.features:
            feature = self.recipe.features[name]
            want = asked.pop(name, None)
            if not feature.modes:
                if want is not None:
                    self.adjust("fmode", f"{name}:{want}", None, f"{name} has no modes")
                continue
            allowed = self.rules.allowed_modes(
                feature, config.variant_id, config.hardware, config.profile
            )
            default = default_mode(config, name, allowed)
            if want is None or want == default:
                got = default
            elif want in allowed:
                got = want
                self._preset_mode(config, name, want, default)
            else:
                why = (
                    f"not with variant {config.variant_id} on {config.profile.display_name}"
                    if want in feature.modes
                    else f"unknown mode; {name} has {', '.join(feature.modes)}"
                )
                self.adjust("fmode", f"{name}:{want}", f"{name}:{default}", why)
                got = default
            config.feature_modes[name] = got
        for name, want in asked.items():
            why = "the feature is off" if name in self.recipe.features else "no such feature"
            self.adjust("fmode", f"{name}:{want}", None, why)

    def _preset_mode(self, config: Configuration, name: str, want: str, default: str) -> None:
        if config.preset is not None and name in config.preset.feature_modes:
            reason = (
                f"{name}:{want} was asked in place of {default}:"
                " the preset's evidence no longer covers the command"
            )
            self.adjust("preset", config.preset_id, config.preset_id, reason)


    # --- KV cache outside the GPU -------------------------------------------------------------

    def _kv(self, config: Configuration) -> None:
        preset = config.preset
        asked = self.asked.kv_offload
        if asked is None:
            asked = preset.kv_offload if preset else None
        elif preset is not None and preset.kv_offload not in {None, asked}:
            reason = "another was asked: the preset's evidence no longer covers the command"
            self.adjust("preset", config.preset_id, config.preset_id, reason)
        if asked is None or asked in {"off", "none"}:
            if self.asked.kv_instances is not None:
                self.adjust("kv_instances", self.asked.kv_instances, None, "no KV store is chosen")
            return
        known = (*self.catalog.taxonomy.kv_offload, *self.catalog.kv_stores)
        name = self._known("kv_offload", asked, known, None)
        if name is None or config.strategy_id is None:
            return
        reason_not = self.rules.kv_reason(
            name, config.hardware, config.profile, config.strategy_id
        )
        if reason_not is not None:
            self.adjust("kv_offload", name, None, reason_not)
            return
        config.kv_offload = name
        config.kv_store = self.catalog.kv_stores.get(name)
        instances = self.asked.kv_instances
        if config.kv_store is None or strategy_nodes(config.strategy) == "pools":  # type: ignore[arg-type]
            if instances is not None:
                why = "pools are one deployment" if config.kv_store else "only stores have instances"
                self.adjust("kv_instances", instances, None, why)
            return
        config.kv_instances = instances or config.kv_store.default_instances
        if config.kv_instances > MAX_INSTANCES:
            self.adjust("kv_instances", instances, MAX_INSTANCES, f"at most {MAX_INSTANCES}")
            config.kv_instances = MAX_INSTANCES

    # --- pools ------------------------------------------------------------------------------

    def _pools(self, config: Configuration) -> None:
        asked = self.asked
        if config.strategy is None or config.strategy.deploy_type != "pd_cluster":
            for axis in ("prefill_nodes", "decode_nodes", "prefill_mode", "decode_mode", "router"):
                value = getattr(asked, axis)
                if value is not None:
                    self.adjust(axis, value, None, "only a PD cluster has pools and their router")
            return
        self._router(config)
        nodes = {role: self._pool_nodes(config, role) for role in ("prefill", "decode")}
        if config.node.gpu_count == 1 and 0 in nodes.values():
            for role, count in nodes.items():
                if count == 0:
                    self.adjust(f"{role}_nodes", 0, 1, "a node of one GPU has no halves")
                    nodes[role] = 1
        elif list(nodes.values()).count(0) == 1:
            for role, count in nodes.items():
                if count == 0:
                    nodes[role] = default_pool_nodes(config, role)
                    reason = "halves of one node come as a pair: ask 0 for both pools"
                    self.adjust(f"{role}_nodes", 0, nodes[role], reason)
        for role, count in nodes.items():
            config.pools[role] = PoolChoice(count, self._pool_mode(config, role))

    def _pool_nodes(self, config: Configuration, role: str) -> int:
        asked: int | None = getattr(self.asked, f"{role}_nodes")
        if asked is None:
            return default_pool_nodes(config, role)
        if asked > MAX_NODES:
            self.adjust(f"{role}_nodes", asked, MAX_NODES, f"at most {MAX_NODES} nodes")
            return MAX_NODES
        return asked

    def _pool_mode(self, config: Configuration, role: str) -> str:
        allowed = self.rules.pool_modes() or ("tp",)
        default = default_pool_mode(config, role)
        asked: str | None = getattr(self.asked, f"{role}_mode")
        if asked is None or asked.lower() == default:
            return str(default)
        if asked.lower() in allowed:
            return asked.lower()
        reason = f"this recipe's pools run as {', '.join(allowed)}"
        self.adjust(f"{role}_mode", asked, default, reason)
        return str(default)

    def _router(self, config: Configuration) -> None:
        config.router = "vllm"
        asked = self.asked.router
        if asked is None:
            return
        name = self._known("router", asked, ROUTERS, "vllm")
        if name is None:
            return
        reason = router_reason(config, name)
        if reason is not None:
            self.adjust("router", name, "vllm", reason)
        else:
            config.router = name

    # --- omni -------------------------------------------------------------------------------

    def _omni(self, config: Configuration) -> None:
        omni = self.recipe.omni
        if omni is None:
            return
        for axis in (
            "strategy", "nodes", "preset", "kv_offload", "kv_instances", "prefill_nodes",
            "decode_nodes", "prefill_mode", "decode_mode", "router", "gpus",
        ):  # fmt: skip
            value = getattr(self.asked, axis)
            if value is not None and not (axis == "preset" and value == BASELINE):
                self.adjust(axis, value, None, "an omni recipe is one server and a task")
        self._features(config)
        keys = {task_key(task): task for task in omni.tasks}
        if not keys:
            return
        key = next(iter(keys))
        if self.asked.task is not None:
            key = self._known("task", self.asked.task, keys, key) or key
        task = keys[key]
        config.task = OmniTask(id=task) if isinstance(task, str) else task

    # --- the rest ---------------------------------------------------------------------------

    def _advanced(self, config: Configuration) -> None:
        if self.asked.task is not None and not self.rules.is_omni:
            self.adjust("task", self.asked.task, None, "only omni recipes have tasks")
        known = [*(option.id for option in self.recipe.advanced_options), *_ADVANCED_IDS]
        on = []
        for word in self.asked.advanced:
            name = self._known("advanced", word, known, None)
            if name is None:
                continue
            reason = self.rules.advanced_reason(name, config.strategy)
            if reason is None:
                on.append(name)
            else:
                self.adjust("advanced", name, None, reason)
        config.advanced = tuple(on)

    def _frontend(self, config: Configuration) -> None:
        config.frontend = declared_frontend(config)
        asked = self.asked.frontend
        if asked is not None:
            config.frontend = self._known(
                "frontend", asked, ("rust", "python"), config.frontend
            ) or config.frontend

    def _memory_finding(self, config: Configuration) -> None:
        needed = config.memory_needed_gb
        if config.task is not None and config.task.vram_minimum_gb is not None:
            needed = config.task.vram_minimum_gb
        copies = 2 if config.pools and all(p.nodes == 0 for p in config.pools.values()) else 1
        if config.pools and copies == 1:
            have = min(p.nodes for p in config.pools.values()) * config.node.vram_gb
        else:
            have = config.nodes * config.profile.vram_gb / copies
        if needed > have:
            message = (
                f"the recipe declares {needed:g} GB for {config.variant_id};"
                f" {have:g} GB are there: {needed - have:g} GB are missing"
            )
            config.findings.append(
                Finding("warning", "memory-short", message, "hardware", self.entry.source)
            )
        if config.nodes > 1 and not config.node.scalable:
            message = f"{config.node.display_name} is not built to be joined with more nodes"
            config.findings.append(
                Finding("warning", "not-scalable", message, "nodes", "taxonomy.yaml")
            )


_ADVANCED_IDS: tuple[str, ...] = tuple(ADVANCED)


def _part_of(node: HardwareProfile, count: int) -> HardwareProfile:
    if count >= node.gpu_count:
        return node
    return node.model_copy(
        update={"gpu_count": count, "vram_gb": node.gpu_vram_gb * count}
    )


def default_mode(config: Configuration, name: str, allowed: tuple[str, ...]) -> str:
    """The mode of a feature where none is asked: preset > variant > feature > first allowed."""
    chosen = config.preset.feature_modes.get(name) if config.preset else None
    if isinstance(chosen, dict):
        chosen = chosen.get(config.variant_id, chosen.get("default"))
    feature = config.recipe.features[name]
    for mode in (chosen, config.variant.default_modes.get(name), feature.default_mode):
        if mode in allowed and mode is not None:
            return mode
    return allowed[0]


def default_preset(config: Configuration) -> str | None:
    """The preset that applies by default to this hardware, strategy, variant and node count."""
    for name, preset in config.recipe.presets.items():
        if (
            preset.default
            and preset.hardware == config.hardware
            and preset.strategy == config.strategy_id
            and config.variant_id in preset.variants
            and preset.nodes in {None, config.nodes}
        ):
            return name
    return None


def pool_override(config: Configuration, role: str, key: str) -> Any:
    """What preset, recipe, or strategy says of a pool, in that order; None where none does."""
    override = config.recipe.strategy_overrides.get(config.strategy_id or "")
    sources = (
        config.preset.pools.get(role) if config.preset else None,  # type: ignore[call-overload]
        getattr(override, role, None),
        getattr(config.strategy, role, None),
    )
    for source in sources:
        if source is not None and getattr(source, key) is not None:
            return getattr(source, key)
    return None


def default_pool_nodes(config: Configuration, role: str) -> int:
    """Nodes of a pool where none are asked: declared, or as many as hold one copy."""
    declared = pool_override(config, role, "nodes")
    if isinstance(declared, dict):
        declared = pick(declared, config.hardware, config.node)
    if declared is not None:
        return min(int(declared), MAX_NODES)
    return min(MAX_NODES, max(1, math.ceil(config.memory_needed_gb / config.node.vram_gb)))


def default_pool_mode(config: Configuration, role: str) -> str:
    """The shape of a pool where none is asked: declared if it is allowed, else the first that is."""
    allowed = config.rules.pool_modes() or ("tp",)
    declared = pool_override(config, role, "parallelism") or "tp"
    return str(declared if declared in allowed else allowed[0])


def declared_frontend(config: Configuration) -> str | None:
    """The HTTP front end that strategy, recipe, or model declares here; None = Python, unsaid."""
    recipe = config.recipe
    override = recipe.strategy_overrides.get(config.strategy_id or "")
    for layer in (override, recipe):
        if layer is not None:
            found = pick(layer.hardware_overrides, config.hardware, config.profile)
            if found is not None and found.default_frontend:
                return found.default_frontend
        if layer is override and override is not None and override.default_frontend:
            return override.default_frontend
    return recipe.model.default_frontend


def router_reason(config: Configuration, name: str) -> str | None:
    """Why a router cannot stand before these pools; None where it can."""
    if name == "vllm":
        return None
    strategy = config.strategy
    offered = strategy.routers if strategy else ()
    override = config.recipe.strategy_overrides.get(config.strategy_id or "")
    if name not in offered:
        return "the strategy names no such router"
    if override is not None and override.routers is not None and name not in override.routers:
        return "the recipe says that it does not work with it"
    if config.kv_store is not None:
        return "with a KV store only vllm-router is known to work"
    if name == "dynamo" and config.profile.brand != "NVIDIA":
        return "Dynamo needs NVIDIA"
    return None


def with_changes(config: Configuration, **changes: Any) -> Configuration:
    """The configuration of the same recipe with some axes asked otherwise."""
    return configure(config.catalog, config.entry, replace(config.selection, **changes))


__all__ = [
    "Adjustment",
    "Configuration",
    "Option",
    "PoolChoice",
    "configure",
    "declared_frontend",
    "router_reason",
    "with_changes",
]
