"""Routers: in front of pools, of one data-parallel engine, and of a store's instances."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from recipes_core.catalog.documents import DpRouter, RouterSettings
from recipes_core.configuration import Configuration
from recipes_core.deployment.model import Process
from recipes_core.deployment.names import PLACEHOLDER
from recipes_core.findings import Finding
from recipes_core.flags import Flag, Provenance, parse_args

INSTALL = "uv pip install vllm-router"
SMG_INSTALL = "uv pip install 'smg>=1.11.0'"
SMG_POLICIES = {"consistent_hash": "consistent_hashing"}
"""The gateway's word for a policy of vllm-router, where it is another one."""
VLLM_ROUTER_KINDS = {"MooncakeConnector": "mooncake", "MoRIIOConnector": "moriio"}
"""How vllm-router is told of a connector other than NIXL."""
NIXL = "NixlConnector"
KV_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}


class Pools(NamedTuple):
    """What a router has to know of the pools behind it."""

    endpoints: dict[str, list[str]]
    """Addresses of the processes that serve, by pool."""
    local_sizes: dict[str, int]
    """Data-parallel ranks behind each address, by pool."""
    kv: frozenset[str]
    """Classes that carry the KV cache from pool to pool."""


def _flags(words: Iterable[str], source: Provenance) -> list[tuple[Flag, Provenance]]:
    return [(flag, source) for flag in parse_args(tuple(words))]


def _router(
    argv: list[str], first: int, source: Provenance, install: str, description: str,
    *, indent: int = 4, port: int | None = None,
) -> Process:  # fmt: skip
    return Process(
        name="router", role="router", argv=argv, flags=_flags(argv[first:], source), first=first,
        indent=indent, start="after", label="Router", install=install, description=description,
        port=port,
    )  # fmt: skip


def pool_settings(config: Configuration) -> RouterSettings:
    """Policy and pins of the router before pools: preset, else recipe, else strategy."""
    override = config.recipe.strategy_overrides.get(config.strategy_id or "")
    parts = (
        config.preset.router if config.preset else None,
        override.router if override else None,
        config.strategy.router if config.strategy else None,
    )
    merged: dict[str, object] = {}
    for part in reversed(parts):
        if part is not None:
            merged |= part.model_dump(exclude_none=True)
    return RouterSettings.model_validate(merged)


def vllm_pool_router(config: Configuration, pools: Pools) -> tuple[list[Process], list[Finding]]:
    """``vllm-router`` before a prefill and a decode pool."""
    settings = pool_settings(config)
    pinned = settings.intra_node_data_parallel_size
    size = pinned or max(pools.local_sizes.values())
    argv = ["vllm-router", "--policy", settings.policy or "round_robin", "--vllm-pd-disaggregation"]
    for role in ("prefill", "decode"):
        for url in pools.endpoints[role]:
            argv += [f"--{role}", url]
    argv += ["--host", "$ROUTER_HOST", "--port", "$ROUTER_PORT"]
    argv += ["--intra-node-data-parallel-size", str(size)]
    kind = next((VLLM_ROUTER_KINDS[name] for name in VLLM_ROUTER_KINDS if name in pools.kv), None)
    if kind is not None:
        argv += ["--kv-connector", kind]
    findings = []
    if pinned is None and len(set(pools.local_sizes.values())) > 1:
        shapes = ", ".join(f"{role} {count}" for role, count in pools.local_sizes.items())
        message = (
            f"the router takes one data-parallel size a node, {size},"
            f" but the pools differ: {shapes}"
        )
        findings.append(
            Finding("warning", "router-pools-differ", message, "--intra-node-data-parallel-size",
                    f"strategies/{config.strategy_id}.yaml")
        )  # fmt: skip
    source = Provenance("strategy", f"strategies/{config.strategy_id}.yaml", "router")
    text = "Sends each request to a prefill process and its answer's tokens to a decode process."
    return [_router(argv, 3, source, settings.install or INSTALL, text)], findings


def smg_pool_router(config: Configuration, pools: Pools) -> tuple[list[Process], list[Finding]]:
    """The Shepherd Model Gateway before pools, and the step that makes the workers known to it.

    Workers that are named on its command line have no connector there, and then it hands no KV
    cache on: the connector and the role come with the registration.
    """
    policy = pool_settings(config).policy or "round_robin"
    argv = ["smg", "launch", "--pd-disaggregation", "--policy", SMG_POLICIES.get(policy, policy)]
    argv += ["--host", "$ROUTER_HOST", "--port", "$ROUTER_PORT"]
    source = Provenance("strategy", f"strategies/{config.strategy_id}.yaml", "routers")
    text = "A gateway in Rust that pairs prefill and decode workers. It starts without any."
    return [_router(argv, 3, source, SMG_INSTALL, text), _registration(pools)], []


def _registration(pools: Pools) -> Process:
    base = '"http://$ROUTER_HOST:$ROUTER_PORT'
    blocks = [f'until curl -fsS -o /dev/null {base}/health"; do sleep 2; done']
    for role in ("prefill", "decode"):
        for url in pools.endpoints[role]:
            body = json.dumps(
                {
                    "url": url,
                    "worker_type": role,
                    "runtime_type": "vllm",
                    "kv_connector": NIXL,
                    "kv_role": KV_ROLES[role],
                }
            )
            body = PLACEHOLDER.sub(lambda name: f"'\"{name.group()}\"'", body)
            blocks.append(
                f"curl -fsS {base}/workers\" \\\n  -H 'Content-Type: application/json' \\\n"
                f"  -d '{body}'"
            )
    blocks.append(f'until curl -fsS {base}/readiness"; do sleep 5; done')
    command = "\n".join(blocks)
    return Process(
        name="register", role="companion", argv=["bash", "-c", command], text=command,
        start="after", label="Register the workers",
        description="Once, on the router's machine, when the engines serve. Waits for the router.",
    )  # fmt: skip


POOL_ROUTERS: dict[str, Callable[[Configuration, Pools], tuple[list[Process], list[Finding]]]] = {
    "vllm": vllm_pool_router,
    "smg": smg_pool_router,
}
"""A router is one function and one line here."""


HYBRID_LB = "--data-parallel-hybrid-lb"


def is_hybrid(process: Process) -> bool:
    """Whether each node of an engine answers for its own data-parallel ranks alone."""
    return any(flag.name == HYBRID_LB and not flag.negated for flag, _ in process.flags)


def dp_router(config: Configuration, router: DpRouter, engines: Sequence[Process]) -> Process:
    """``vllm-router`` in front of one engine, across its data-parallel ranks.

    Args:
        config: The configuration.
        router: Its ports and policy.
        engines: The engine's process on each node, the head first.
    """
    port = config.selection.port or router.port
    urls, size = _dp_endpoints(router, engines)
    own = config.preset.router if config.preset else None
    policy = (own.policy if own else None) or router.policy
    install = (own.install if own else None) or router.install
    size = (own.intra_node_data_parallel_size if own else None) or size
    argv = [
        "vllm-router", "--host", "0.0.0.0", "--port", str(port),  # noqa: S104
        "--policy", policy, "--intra-node-data-parallel-size", str(size),
        "--worker-urls", *urls,
        "--worker-startup-timeout-secs", str(router.startup_timeout_s),
    ]  # fmt: skip
    owner = config.recipe.dp_router is not None
    source = Provenance(
        "recipe" if owner else "strategy",
        config.entry.source if owner else f"strategies/{config.strategy_id}.yaml",
        "dp_router",
    )
    text = (
        "Spreads requests over the engine's data-parallel ranks; its rank count has to be the"
        " engine's. The policy decides which rank a conversation returns to."
    )
    process = _router(argv, 1, source, install, text, indent=2, port=port)
    process.label = "vLLM Router"
    return process


def _dp_endpoints(router: DpRouter, engines: Sequence[Process]) -> tuple[list[str], int]:
    """The addresses that answer, and the data-parallel ranks behind each of them.

    Under hybrid load balancing each node answers for its own ranks; without it the head answers
    for all of them.
    """
    head = engines[0]
    pool = head.layout
    if pool is None:
        raise ValueError("the engine has no layout")
    port = head.port or router.engine_port
    if len(engines) == 1:
        return [f"http://localhost:{port}"], pool.dp
    if not is_hybrid(head):
        return [f"http://$HEAD_IP:{port}"], pool.dp
    names = ("HEAD_IP", *(f"WORKER_{engine.node}_IP" for engine in engines[1:]))
    return [f"http://${name}:{port}" for name in names], pool.dp_local


def store_router(config: Configuration, instances: int, port: int) -> Process:
    """``vllm-router`` before the instances of a KV store."""
    store = config.kv_store
    if store is None:
        raise ValueError("no KV store is chosen")
    argv = ["vllm-router", "--policy", store.router.policy, "--worker-urls"]
    argv += [f"http://$VLLM_INSTANCE_{number}:{port}" for number in range(1, instances + 1)]
    argv += [
        "--host", "$ROUTER_HOST", "--port", "$ROUTER_PORT", "--cache-threshold", "0.5",
        "--balance-abs-threshold", "4", "--balance-rel-threshold", "1.1",
    ]  # fmt: skip
    source = Provenance("kv store", f"kv_store/{store.name}.yaml", "router")
    text = "Sends a request to the instance that holds most of its prefix."
    return _router(argv, 3, source, store.router.install, text, port=store.router.port)
