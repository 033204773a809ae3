"""What an axis takes where nothing is asked, given the axes above it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from recipes_core.axes import MAX_NODES
from recipes_core.catalog.documents import PoolOverride, StrategyOverride
from recipes_core.catalog.hardware_keys import pick
from recipes_core.configuration.model import Configuration
from recipes_core.flags import parse_args


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
    """Nodes of a pool where none are asked: declared, or as many as hold one copy.

    A variant may know its nodes better than by memory; a pool holds a copy as an engine does.
    """
    declared = pool_override(config, role, "nodes")
    if isinstance(declared, dict):
        declared = pick(declared, config.hardware, config.node)
    if declared is not None:
        return min(int(declared), MAX_NODES)
    known = pick(config.variant.nodes, config.hardware, config.node)
    least = known or max(1, math.ceil(config.memory_needed_gb / config.node.vram_gb))
    return min(MAX_NODES, least)


def default_pool_mode(config: Configuration, role: str) -> str:
    """The shape of a pool where none is asked: the declared one, else the first allowed."""
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


NO_DYNAMO = (
    "Dynamo's workers are not `vllm serve`: they take no front-end flags, parse tool calls under"
    " names of their own and pin a vLLM release (ai-dynamo 1.6.1: 0.31.0), so no command here is"
    " known to work with it"
)


def router_reason(config: Configuration, name: str) -> str | None:
    """Why a router cannot stand before the chosen pools; None where it can."""
    if name == "vllm":
        return None
    strategy = config.strategy
    offered = strategy.routers if strategy else ()
    override = config.recipe.strategy_overrides.get(config.strategy_id or "")
    if name not in offered:
        return "the strategy names no such router"
    if override is not None and override.routers is not None and name not in override.routers:
        return "the recipe says that it does not work with it"
    if name == "dynamo":
        return NO_DYNAMO
    if config.kv_store is not None:
        return "with a KV store only vllm-router is known to work"
    parallel = [role for role, pool in config.pools.items() if pool.mode == "dep"]
    if parallel:
        return f"it takes a worker for one engine, and {parallel[0]} runs data parallel"
    for role in config.pools:
        connector = pool_connector(config, role)
        if connector != "NixlConnector":
            return f"it pairs workers by NixlConnector, and {role} uses {connector or 'none'}"
    return None


def pool_connector(config: Configuration, role: str) -> str | None:
    """The class of a pool's KV connector, as the last of its layers declares it."""
    override = config.recipe.strategy_overrides.get(config.strategy_id or "")
    layers = (
        config.recipe.model.base_args,
        config.variant.extra_args,
        *_pool_args(getattr(config.strategy, role, None), config.hardware),
        *_pool_args(override, config.hardware),
        *_pool_args(getattr(override, role, None), config.hardware),
        config.preset.args if config.preset else (),
        *_pool_args(config.preset.pools.get(role) if config.preset else None, config.hardware),  # type: ignore[call-overload]
    )
    flags = (flag for words in layers for flag in parse_args(words))
    written = [flag.values for flag in flags if flag.name == "--kv-transfer-config"]
    names = connector_names(written[-1][0]) if written and written[-1] else []
    return names[0] if names else None


def _pool_args(
    part: PoolOverride | StrategyOverride | None, hardware: str
) -> Iterator[tuple[str, ...]]:
    if part is not None:
        yield part.vllm_args
        yield part.extra_args
        exact = part.hardware_overrides.get(hardware)
        if exact is not None:
            yield exact.extra_args


def connector_names(text: str) -> list[str]:
    """Classes of a ``--kv-transfer-config``, the outermost first."""
    try:
        document = json.loads(text)
    except ValueError:
        return []
    parts = [document] if isinstance(document, dict) else []
    names = []
    for part in parts:
        name = part.get("kv_connector")
        if isinstance(name, str):
            names.append(name)
        extra = part.get("kv_connector_extra_config")
        inner = extra.get("connectors") if isinstance(extra, dict) else None
        parts += [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []
    return names
