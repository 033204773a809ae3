"""Deployments of every shape, for the tests of what runs them."""

from __future__ import annotations

from typing import NamedTuple

from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment, Process

V32 = "deepseek-ai/DeepSeek-V3.2"
ERNIE = "baidu/ERNIE-4.5-VL-28B-A3B-PT"
FLASH = "baidu/ERNIE-5.5-Flash"
SHAPES = {
    "one node": (ERNIE, "hardware=h200"),
    "AMD": (ERNIE, "hardware=mi300x"),
    "CPU": ("Qwen/Qwen3-8B", "hardware=xeon6"),
    "two nodes": (V32, "hardware=h200&nodes=2"),
    "four nodes": (V32, "hardware=h200&nodes=4"),
    "pipeline": (V32, "hardware=h200&nodes=4&strategy=multi_node_tp_pp"),
    "three nodes data parallel": (V32, "hardware=h200&nodes=3&strategy=multi_node_dep"),
    "pools": (V32, "hardware=h200&strategy=pd_cluster&prefill_nodes=3&prefill_mode=dep"),
    "halves": (V32, "hardware=b300&strategy=pd_cluster&prefill_nodes=0&decode_nodes=0"),
}
EVERY = {
    **SHAPES,
    "router": (FLASH, "hardware=gb200"),
    "companion": (V32, "hardware=h200&kv_offload=lmcache"),
    "store": (V32, "hardware=h200&nodes=2&kv_offload=kv_store_centralized_mooncake&kv_instances=2"),
}


class Laid(NamedTuple):
    """A configuration and its deployment."""

    config: Configuration
    deployment: Deployment


def engines(laid: Laid) -> list[Process]:
    """The processes that are vLLM."""
    return [process for process in laid.deployment.processes if process.is_engine]
