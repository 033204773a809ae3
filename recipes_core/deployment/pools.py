"""A PD cluster: a prefill and a decode pool behind a router."""

from __future__ import annotations

from recipes_core.configuration import Configuration, connector_names
from recipes_core.deployment.engine import Engine, engine_process, make_engine
from recipes_core.deployment.model import Process
from recipes_core.deployment.routers import POOL_ROUTERS, Pools
from recipes_core.findings import Finding


def pool_processes(config: Configuration) -> tuple[list[Process], list[Engine], list[Finding]]:
    """The processes of both pools and their router."""
    processes: list[Process] = []
    engines: list[Engine] = []
    findings: list[Finding] = []
    endpoints: dict[str, list[str]] = {}
    local_sizes: dict[str, int] = {}
    for role in config.pools:
        engine = make_engine(config, role)
        engines.append(engine)
        findings += engine.findings
        pool = engine.pool
        address = f"${role.upper()}_NODE_1"
        for node in range(pool.nodes):
            name = f"{role}-{node + 1}" if pool.nodes > 1 else role
            processes.append(
                engine_process(engine, name=name, role=role, node=node, address=address, pool=role)
            )
        serving = pool.nodes if pool.shape == "dep" else 1
        own = processes[-pool.nodes :]
        endpoints[role] = [
            f"http://${role.upper()}_NODE_{node + 1}:{own[node].port}" for node in range(serving)
        ]
        local_sizes[role] = pool.dp_local if pool.shape == "dep" else 1
    if all(pool.nodes == 0 for pool in config.pools.values()):
        _side_channels_apart(processes)
    kv = frozenset(name for process in processes for name in kv_connectors(process))
    routers, remarks = POOL_ROUTERS[config.router or "vllm"](
        config, Pools(endpoints, local_sizes, kv)
    )
    findings += remarks
    findings += _port_clash(config, processes)
    return [*processes, *routers], engines, findings


SIDE_CHANNEL = "VLLM_NIXL_SIDE_CHANNEL_PORT"


def _side_channels_apart(halves: list[Process]) -> None:
    """Give the second half of a node side-channel ports that the first one leaves free.

    NIXL listens on one port for each data-parallel rank, counted up from the variable's value
    (``nixl/base_scheduler.py`` of vLLM 0.33.0).
    """
    taken: set[int] = set()
    for process in halves:
        text = process.env.get(SIDE_CHANNEL, "")
        if not (text.isascii() and text.isdigit()):
            continue
        ranks = process.layout.dp_local if process.layout else 1
        first = int(text)
        if taken & set(range(first, first + ranks)):
            first = max(taken) + 1
            process.env[SIDE_CHANNEL] = str(first)
            origin = process.env_from[SIDE_CHANNEL]
            process.env_from[SIDE_CHANNEL] = origin._replace(key="pools")
        taken |= set(range(first, first + ranks))


def kv_connectors(process: Process) -> list[str]:
    """Classes of a process's KV connector, and of those inside a multiple one."""
    flag = next((flag for flag, _ in process.flags if flag.name == "--kv-transfer-config"), None)
    return connector_names(flag.values[0]) if flag is not None and flag.values else []


def _port_clash(config: Configuration, processes: list[Process]) -> list[Finding]:
    shared = all(pool.nodes == 0 for pool in config.pools.values())
    ports = [process.port for process in processes if process.node == 0]
    if not shared or len(set(ports)) == len(ports):
        return []
    message = f"both halves of the node listen on port {ports[0]}"
    return [Finding("error", "port-clash", message, "--port", config.entry.source)]
