"""Which machine each process of a deployment runs on, and which placeholders its address fills."""

from __future__ import annotations

from dataclasses import dataclass, field

from recipes_core.deployment.model import Deployment, Process


@dataclass(slots=True, eq=False)
class Machine:
    """One node of the cluster.

    Attributes:
        name: Name of its first engine, or ``node`` where there is but one machine.
        processes: What runs on it, in start order.
        addresses: Placeholders that stand for its address, without ``$``.
    """

    name: str
    processes: list[Process] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)


def machines(deployment: Deployment) -> list[Machine]:
    """The machines of a deployment, the first one with what accompanies the engines.

    Both halves of a shared node are one machine.
    """
    found: dict[tuple[object, int], Machine] = {}
    shared = all(pool.nodes == 0 for pool in deployment.configuration.pools.values())
    for process in deployment.processes:
        if process.is_engine:
            pool = None if shared else process.pool
            key = (pool if process.instance is None else process.instance, process.node)
            machine = found.setdefault(key, Machine(process.name))
            machine.addresses += _addresses(process)
    first = next(iter(found.values()))
    first.addresses.append("MOONCAKE_MASTER_IP")
    for process in deployment.processes:
        if not process.is_engine:
            first.processes.append(process)
            continue
        pool = None if shared else process.pool
        key = (pool if process.instance is None else process.instance, process.node)
        found[key].processes.append(process)
    if len(found) == 1:
        first.name = "node"
    return list(found.values())


def _addresses(process: Process) -> list[str]:
    if process.pool is not None:
        return [f"{process.pool.upper()}_NODE_{process.node + 1}"]
    if process.node:
        return [f"WORKER_{process.node}_IP"]
    names = ["HEAD_IP"] if not process.instance else []
    if process.instance is not None:
        names.append(f"VLLM_INSTANCE_{process.instance + 1}")
    return names
