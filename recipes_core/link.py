"""The query string of a configuration: what it takes to open it again (floor 3)."""

from __future__ import annotations

from recipes_core.catalog.own_hardware import looks_own
from recipes_core.configuration import (
    AROUND_POOLS,
    BASELINE,
    Configuration,
    declared_frontend,
    default_mode,
    default_pool_mode,
    default_pool_nodes,
    default_preset,
    usual_gpus,
)
from recipes_core.configuration.extras import allowed_modes, default_features, feature_reason
from recipes_core.selection import Selection

BESIDE = frozenset({"features", "fmode", "kv_offload", "gpus", "advanced", *AROUND_POOLS})
"""Axes that keep a default preset from applying."""
READER_KEYS = (
    "install", "vllm", "max_model_len", "max_num_seqs",
    "max_num_batched_tokens", "kv_cache_dtype", "gpu_memory_utilization", "served_name", "host",
    "port",
)  # fmt: skip


def selection_of(config: Configuration, *, name_hardware: bool = False) -> Selection:
    """The least selection that leads to a configuration: only what differs from the defaults.

    Args:
        config: What ``configure`` returned.
        name_hardware: Name the hardware even where it is the default.
    """
    rules = config.rules
    found: dict[str, object] = {}
    if name_hardware or config.hardware != rules.default_hardware(config.variant_id):
        found["hardware"] = config.hardware
    if config.variant_id != rules.default_variant():
        found["variant"] = config.variant_id
    _features(config, found)
    _around(config, found)
    _reader(config, found)
    if config.task is not None and config.selection.task is not None:
        found["task"] = config.task.key or config.task.id
    _layout(config, found)
    return Selection(**found)  # type: ignore[arg-type]


def _layout(config: Configuration, found: dict[str, object]) -> None:
    """Strategy, nodes, and preset; a preset that must be named brings strategy and nodes along."""
    if config.strategy_id is None:
        return
    usual = default_preset(config)
    if config.preset_id is not None and (config.preset_id != usual or BESIDE & found.keys()):
        found |= {"strategy": config.strategy_id, "preset": config.preset_id}
        return
    if config.preset_id is None and usual is not None and not BESIDE & found.keys():
        found["preset"] = BASELINE
    rules = config.rules
    nodes = rules.default_nodes(config.variant_id, config.hardware, config.node)
    more = config.nodes != nodes or (config.nodes > 1 and looks_own(config.hardware))
    if not config.pools and more:
        found["nodes"] = nodes = config.nodes
    if config.strategy_id != rules.default_strategy(config.hardware, config.node, nodes):
        found["strategy"] = config.strategy_id


def _reader(config: Configuration, found: dict[str, object]) -> None:
    """The reader's own values, and GPUs, switches, and front end as far as they were had."""
    refused = {adjustment.axis for adjustment in config.adjustments if adjustment.got is None}
    for key in READER_KEYS:
        value = getattr(config.selection, key)
        if value is not None and key not in refused:
            found[key] = value
    if config.advanced:
        found["advanced"] = config.advanced
    if config.selection.frontend is not None and config.frontend != declared_frontend(config):
        found["frontend"] = config.frontend
    if config.selection.gpus is not None and config.profile.gpu_count != usual_gpus(config):
        found["gpus"] = config.profile.gpu_count


def _features(config: Configuration, found: dict[str, object]) -> None:
    if config.preset is not None:
        usual: tuple[str, ...] = config.preset.features
    else:
        usual = default_features(config)
    active = tuple(name for name in usual if feature_reason(config, name) is None)
    dropped = {"encoder_parallel"} if "text_only" in active else set()
    if config.features != tuple(name for name in active if name not in dropped):
        found["features"] = config.features
    modes = []
    for name, mode in config.feature_modes.items():
        allowed = allowed_modes(config, config.recipe.features[name])
        if mode != default_mode(config, name, allowed):
            modes.append((name, mode))
    if modes:
        found["fmode"] = tuple(modes)


def _around(config: Configuration, found: dict[str, object]) -> None:
    usual = config.preset.kv_offload if config.preset else None
    if config.kv_offload != usual:
        found["kv_offload"] = config.kv_offload or "off"
    store = config.kv_store
    if store is not None and config.kv_instances not in {None, store.default_instances}:
        found["kv_instances"] = config.kv_instances
    for role, pool in config.pools.items():
        # One node of a reader's own hardware is not joined with more unless they are asked.
        own = bool(pool.nodes) and looks_own(config.hardware)
        if own or pool.nodes != default_pool_nodes(config, role):
            found[f"{role}_nodes"] = pool.nodes
        if pool.mode != default_pool_mode(config, role):
            found[f"{role}_mode"] = pool.mode
    if config.router not in {None, "vllm"}:
        found["router"] = config.router


def page_query(config: Configuration) -> str:
    """The query of the page's own link: what differs from the defaults."""
    return selection_of(config).to_query()


def json_query(config: Configuration) -> str:
    """The query of the link to the JSON: it always names the hardware."""
    return selection_of(config, name_hardware=True).to_query()


def preset_query(config: Configuration, key: str) -> str:
    """The query that opens a preset: hardware, variant if not the default, strategy, preset."""
    preset = config.recipe.presets[key]
    first = preset.variants[0] if preset.variants else config.rules.default_variant()
    variant = first if first != config.rules.default_variant() else None
    return Selection(
        hardware=preset.hardware, variant=variant, strategy=preset.strategy, preset=key
    ).to_query()
