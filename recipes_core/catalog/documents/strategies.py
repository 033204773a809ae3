"""Parallel layouts, and what a recipe changes under one."""

from __future__ import annotations

from typing import Literal

from recipes_core.catalog.documents.base import (
    Args,
    Bool,
    Document,
    Env,
    Frontend,
    HardwareKey,
    HardwareOverride,
    PoolMode,
    SizeOrMap,
    Version,
)


class PoolOverride(Document):
    """What a strategy, or a recipe under it, says of one pool."""

    nodes: SizeOrMap | None = None
    parallelism: PoolMode | None = None
    tp: int | None = None
    """Tensor-parallel size inside a DEP pool."""
    vllm_args: Args = ()
    extra_args: Args = ()
    env: Env = {}
    extra_env: Env = {}
    hardware_overrides: dict[HardwareKey, HardwareOverride] = {}


class RouterSettings(Document):
    """The router in front of pools."""

    policy: str | None = None
    intra_node_data_parallel_size: int | None = None
    install: str | None = None
    note: str | None = None


class DpRouter(Document):
    """vllm-router in front of one engine that runs data parallel."""

    port: int = 8000
    """Port of the router."""
    engine_port: int = 8100
    """Port of the engine behind it."""
    policy: str = "consistent_hash"
    startup_timeout_s: int = 1800
    """Seconds that the router waits for the engine."""
    install: str = "uv pip install vllm-router"
    strategies: tuple[str, ...] = ()
    """Strategies that get it; empty = each that runs data parallel."""


class HardwareMatch(Document):
    """What the peer says a strategy needs; not read."""

    min_gpus: int | None = None
    max_gpus: int | None = None
    multi_node: Bool | None = None
    architecture: str | None = None


class Strategy(Document):
    """One parallel layout."""

    name: str
    deploy_type: Literal["single_node", "multi_node", "pd_cluster"]
    display_name: str
    short_name: str | None = None
    description: str | None = None
    orientation: str | None = None
    """What it favours: latency, balanced, throughput, production."""
    hardware_match: HardwareMatch | None = None
    parallelism: Literal["tp", "tep", "dep", "dpa_tp", "tp_pp", "tp_dp"] | None = None
    """Shape of the engine; absent = read from the name's ending."""
    parallel_flag: str | None = None
    vllm_args: Args = ()
    env: Env = {}
    hardware_overrides: dict[HardwareKey, HardwareOverride] = {}
    prefill: PoolOverride | None = None
    decode: PoolOverride | None = None
    router: RouterSettings | None = None
    routers: tuple[str, ...] = ()
    """Routers that it can stand behind; empty = ``vllm`` alone."""
    min_vllm_version: Version | None = None
    """Raises the floor, where the layout's own flags are newer than a model."""
    dp_router: DpRouter | None = None


class StrategyOverride(Document):
    """What a recipe changes under one strategy."""

    tp: SizeOrMap | None = None
    extra_args: Args = ()
    vllm_args: Args = ()
    env: Env = {}
    extra_env: Env = {}
    hardware_overrides: dict[HardwareKey, HardwareOverride] = {}
    prefill: PoolOverride | None = None
    decode: PoolOverride | None = None
    pool_modes: tuple[PoolMode, ...] | None = None
    router: RouterSettings | None = None
    routers: tuple[str, ...] | None = None
    """Routers that work with it; absent = all that the strategy names."""
    default_frontend: Frontend | None = None
