"""What stands around the engine: KV offload, pools, their router."""

from __future__ import annotations

from recipes_core.axes import MAX_NODES, strategy_nodes
from recipes_core.catalog.documents import PoolOverride
from recipes_core.configuration.asking import Asking
from recipes_core.configuration.defaults import default_pool_mode, default_pool_nodes, router_reason
from recipes_core.configuration.extras import kv_reason
from recipes_core.configuration.model import Configuration, PoolChoice

ROUTERS = ("vllm", "smg", "dynamo")
MAX_INSTANCES = 64


def choose_kv_offload(asking: Asking, config: Configuration) -> None:
    """Choose where KV blocks go beside the GPU, and how many instances share a store."""
    preset = config.preset
    asked = asking.asked.kv_offload
    if asked is None:
        asked = preset.kv_offload if preset else None
    elif preset is not None and preset.kv_offload not in {None, asked}:
        reason = "another was asked: the preset's evidence no longer covers the command"
        asking.adjust("preset", config.preset_id, config.preset_id, reason)
    instances = asking.asked.kv_instances
    name = _offload(asking, config, asked)
    if name is None:
        if instances is not None:
            asking.adjust("kv_instances", instances, None, "no KV store is chosen")
        return
    config.kv_offload = name
    config.kv_store = asking.catalog.kv_stores.get(name)
    if config.kv_store is None or strategy_nodes(config.strategy) == "pools":  # type: ignore[arg-type]
        if instances is not None:
            why = "pools are one deployment" if config.kv_store else "only stores have instances"
            asking.adjust("kv_instances", instances, None, why)
        return
    config.kv_instances = instances or config.kv_store.default_instances
    if config.kv_instances > MAX_INSTANCES:
        asking.adjust("kv_instances", instances, MAX_INSTANCES, f"at most {MAX_INSTANCES}")
        config.kv_instances = MAX_INSTANCES


def _offload(asking: Asking, config: Configuration, asked: str | None) -> str | None:
    """The option or store that can be had; None where none is asked or it is refused."""
    if asked is None or asked in {"off", "none"} or config.strategy_id is None:
        return None
    known = (*asking.catalog.taxonomy.kv_offload, *asking.catalog.kv_stores)
    name = asking.known("kv_offload", asked, known, None)
    if name is None:
        return None
    reason = kv_reason(config, name)
    if reason is None:
        return name
    asking.adjust("kv_offload", name, None, reason)
    return None


def choose_pools(asking: Asking, config: Configuration) -> None:
    """Choose size and shape of each pool, and the router before them."""
    asked = asking.asked
    if config.strategy is None or config.strategy.deploy_type != "pd_cluster":
        for axis in ("prefill_nodes", "decode_nodes", "prefill_mode", "decode_mode", "router"):
            value = getattr(asked, axis)
            if value is not None:
                asking.adjust(axis, value, None, "only a PD cluster has pools and their router")
        return
    if asked.port is not None:
        reason = "each pool has its own port, and clients use the router's $ROUTER_PORT"
        asking.adjust("port", asked.port, None, reason)
    nodes = {role: _pool_nodes(asking, config, role) for role in ("prefill", "decode")}
    if config.node.gpu_count == 1 and 0 in nodes.values():
        for role, count in nodes.items():
            if count == 0:
                asking.adjust(f"{role}_nodes", 0, 1, "a node of one GPU has no halves")
                nodes[role] = 1
    elif list(nodes.values()).count(0) == 1:
        for role, count in nodes.items():
            if count == 0:
                nodes[role] = default_pool_nodes(config, role)
                reason = "halves of one node come as a pair: ask 0 for both pools"
                asking.adjust(f"{role}_nodes", 0, nodes[role], reason)
    for role, count in nodes.items():
        config.pools[role] = PoolChoice(count, _pool_mode(asking, config, role))
    _router(asking, config)


def _pool_nodes(asking: Asking, config: Configuration, role: str) -> int:
    asked: int | None = getattr(asking.asked, f"{role}_nodes")
    if asked is None:
        return default_pool_nodes(config, role)
    own = _preset_pool(config, role)
    if own is not None and own.nodes is not None:
        default = default_pool_nodes(config, role)
        if asked != default:
            asking.adjust(f"{role}_nodes", asked, default, "the preset sets it")
        return default
    if asked > MAX_NODES:
        asking.adjust(f"{role}_nodes", asked, MAX_NODES, f"at most {MAX_NODES} nodes")
        return MAX_NODES
    return asked


def _preset_pool(config: Configuration, role: str) -> PoolOverride | None:
    return config.preset.pools.get(role) if config.preset else None  # type: ignore[call-overload]


def _pool_mode(asking: Asking, config: Configuration, role: str) -> str:
    allowed = asking.rules.pool_modes() or ("tp",)
    default = default_pool_mode(config, role)
    asked: str | None = getattr(asking.asked, f"{role}_mode")
    if asked is None or asked.lower() == default:
        return str(default)
    own = _preset_pool(config, role)
    if own is not None and own.parallelism is not None:
        asking.adjust(f"{role}_mode", asked, default, "the preset sets it")
        return str(default)
    if asked.lower() in allowed:
        return asked.lower()
    reason = f"this recipe's pools run as {', '.join(allowed)}"
    asking.adjust(f"{role}_mode", asked, default, reason)
    return str(default)


def _router(asking: Asking, config: Configuration) -> None:
    config.router = "vllm"
    asked = asking.asked.router
    if asked is None:
        return
    name = asking.known("router", asked, ROUTERS, "vllm")
    if name is None:
        return
    reason = router_reason(config, name)
    if reason is not None:
        asking.adjust("router", name, "vllm", reason)
    else:
        config.router = name
