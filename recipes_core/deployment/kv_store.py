"""A Mooncake store: master, store, files, and the instances or pools that use it."""

from __future__ import annotations

from recipes_core.configuration import Configuration
from recipes_core.deployment.engine import Engine, dp_router_of, engine_process, make_engine
from recipes_core.deployment.model import File, Process
from recipes_core.deployment.names import words_of
from recipes_core.deployment.routers import dp_router, store_router
from recipes_core.findings import Finding


def store_processes(config: Configuration) -> list[Process]:
    """What runs before the engines: the master and, where the topology has one, the store."""
    store = config.kv_store
    if store is None:
        return []
    processes = [_command("master", store.mooncake_master.command, "Mooncake Master")]
    if store.mooncake_store_config is not None:
        processes.append(_command("store", store.mooncake_store_config.command, "Mooncake Store"))
    return processes


def _command(role: str, text: str, label: str) -> Process:
    return Process(
        name=role, role=role, argv=words_of(text), text=text.strip(), start="before", label=label
    )


def store_files(config: Configuration, engines: list[Process]) -> list[File]:
    """The client's file of each engine, and the store's own."""
    store = config.kv_store
    if store is None:
        return []
    users = tuple(process.name for process in engines)
    files = [File("$MOONCAKE_CONFIG_PATH", store.mooncake_vllm_config.template, users)]
    if store.mooncake_store_config is not None:
        files.append(
            File("$MOONCAKE_STORE_CONFIG_PATH", store.mooncake_store_config.config, ("store",))
        )
    return files


def instance_processes(config: Configuration) -> tuple[list[Process], list[Engine], list[Finding]]:
    """The instances, each the strategy's own command, and a router where there are several.

    One instance keeps the router that the strategy has in front of its ranks, if any.
    """
    engine = make_engine(config)
    count = config.kv_instances or 1
    processes = []
    nodes = engine.pool.nodes
    for instance in range(count):
        address = f"$VLLM_INSTANCE_{instance + 1}" if count > 1 else "$HEAD_IP"
        for node in range(nodes):
            name = f"instance-{instance + 1}" + (f"-node-{node + 1}" if nodes > 1 else "")
            process = engine_process(engine, name=name, role="instance", node=node, address=address)
            process.instance = instance
            processes.append(process)
    if count > 1 and config.kv_store is not None:
        port = processes[0].port or config.kv_store.vllm.port
        processes.append(store_router(config, count, port))
    router = dp_router_of(config, engine.pool)
    if router is not None:
        processes.append(dp_router(config, router, tuple(processes)))
    return processes, [engine], engine.findings
