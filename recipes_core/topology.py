"""The typed parallel layout: sizes are numbers here, and flags are rendered from them (floor 3).

In every pool TP x PP x DP is the number of GPUs used, and no node runs more than it has. A size
that an argument list asks for is read as a request; what a request cannot have is dropped and said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from recipes_core.configuration import Configuration, pool_override
from recipes_core.findings import Finding
from recipes_core.flags import Provenance, parse_args
from recipes_core.layers import ArgLayer

TP = "--tensor-parallel-size"
PP = "--pipeline-parallel-size"
DP = "--data-parallel-size"
DP_LOCAL = "--data-parallel-size-local"
SIZES = frozenset({TP, PP, DP, DP_LOCAL})
EXPERT_PARALLEL = "--enable-expert-parallel"


class Pool(NamedTuple):
    """One engine, or the engines of one pool."""

    role: str
    nodes: int
    gpus_per_node: int
    """GPUs that it uses of each node."""
    tp: int
    pp: int = 1
    dp: int = 1
    dp_local: int = 1
    """Data-parallel ranks of one node."""
    expert_parallel: bool = False
    shape: str = "tp"
    """``tp tep dep dpa_tp tp_pp tp_dp``: which table row renders its flags."""
    tp_written: bool = True
    """The TP flag belongs to the table; false = none, or a layer's own text stays."""

    @property
    def gpus(self) -> int:
        """GPUs used on all nodes."""
        return self.nodes * self.gpus_per_node

    def to_json(self) -> dict[str, Any]:
        """The pool as the JSON of a configuration has it."""
        return {
            "pool": self.role,
            "nodes": self.nodes,
            "gpus_per_node": self.gpus_per_node,
            "tp": self.tp,
            "pp": self.pp,
            "dp": self.dp,
            "dp_local": self.dp_local,
            "expert_parallel": self.expert_parallel,
        }


class Request(NamedTuple):
    """A parallel size that an argument list asks for."""

    flag: str
    value: int | None
    text: str
    source: Provenance


def shape_of(config: Configuration, role: str) -> str:
    """The row of the size table that an engine follows."""
    if role in config.pools:
        return config.pools[role].mode
    strategy = config.strategy
    if strategy is None:
        return "tp"
    if strategy.parallelism is not None:
        return strategy.parallelism
    name = strategy.name
    for ending in ("dpa_tp", "tp_pp", "tp_dp", "dep", "tep"):
        if name.endswith(f"_{ending}"):
            return ending
    return "tp"


def layout(config: Configuration, role: str = "serve") -> Pool:
    """The size table for an engine, before any request."""
    shape = shape_of(config, role)
    gpus = config.profile.gpu_count
    if role in config.pools:
        return _pool_layout(config, role, shape, gpus)
    nodes = config.nodes
    total = nodes * gpus
    if shape == "dep":
        return Pool(role, nodes, gpus, 1, 1, total, gpus, True, shape, False)
    if shape == "dpa_tp":
        return Pool(role, nodes, gpus, 1, 1, total, gpus, False, shape, False)
    if shape == "tp_pp":
        return Pool(role, nodes, gpus, gpus, nodes, 1, 1, False, shape)
    if shape == "tp_dp":
        return Pool(role, nodes, gpus, gpus, 1, nodes, 1, False, shape)
    tp = total
    if shape == "tp" and nodes == 1:
        tp = config.rules.tensor_parallel(config.variant, config.hardware, config.profile)
    return _divided(config, Pool(role, nodes, tp // nodes, tp, 1, 1, 1, shape == "tep", shape))


def _pool_layout(config: Configuration, role: str, shape: str, gpus: int) -> Pool:
    nodes = config.pools[role].nodes
    if nodes == 0:
        nodes, gpus = 1, max(1, gpus // 2)
    if shape != "dep":
        tp = nodes * gpus
        return _divided(config, Pool(role, nodes, gpus, tp, 1, 1, 1, shape == "tep", shape))
    declared = pool_override(config, role, "tp")
    tp = min(declared or 1, gpus)
    while gpus % tp:
        tp -= 1
    local = gpus // tp
    return Pool(role, nodes, gpus, tp, 1, nodes * local, local, True, shape, declared is not None)


def blocks_of(config: Configuration, shape: str) -> int | None:
    """The number that a tensor-parallel size must divide under a shape, or None."""
    declared = config.variant.tp_divides
    if isinstance(declared, dict):
        return next((number for name, number in declared.items() if name == shape), None)
    return declared


def _divided(config: Configuration, pool: Pool) -> Pool:
    """The pool with the largest TP that the checkpoint's blocks and the nodes divide by."""
    blocks = blocks_of(config, pool.shape)
    if blocks is None or blocks % pool.tp == 0:
        return pool
    fitting = (
        size
        for size in range(pool.tp, 0, -1)
        if blocks % size == 0 and size % pool.nodes == 0 and pool.tp % size == 0
    )
    tp = next(fitting, pool.tp)
    return pool._replace(tp=tp, gpus_per_node=tp // pool.nodes)


def requests(layers: Iterable[ArgLayer]) -> list[Request]:
    """The parallel sizes that argument lists ask for, in order."""
    found = []
    for args, source in layers:
        if not may_hold_size(args):
            continue
        for flag in parse_args(args):
            if flag.name in SIZES:
                text = flag.values[0] if flag.values else ""
                value = int(text) if text.isascii() and text.isdigit() else None
                found.append(Request(flag.name, value, " ".join(flag.tokens), source))
    return found


def may_hold_size(args: Sequence[str]) -> bool:
    """Whether an argument list may hold a parallel size: a quick look before parsing."""
    return _may_hold_size(args if isinstance(args, tuple) else tuple(args))


@lru_cache(maxsize=4096)
def _may_hold_size(args: tuple[str, ...]) -> bool:
    return any("arallel" in word or word[:3] in {"-tp", "-pp", "-dp"} for word in args)


class Settled(NamedTuple):
    """The layout after the requests of the layers."""

    pool: Pool
    kept: Request | None
    """A later layer's TP that stays where it is written."""
    findings: list[Finding]


def settle(config: Configuration, role: str, after: Iterable[ArgLayer]) -> Settled:
    """Let the later layers' requests meet the size table.

    A TP lowers an engine of one node that is TP alone, and divides a DEP one; it stays where it is
    written. Every other request is dropped, and said.
    """
    pool = layout(config, role)
    kept: Request | None = None
    findings = _refused_size(config, pool)
    table = pool
    for request in requests(after):
        changed = _granted(table, request, blocks_of(config, table.shape))
        if changed is not None:
            pool, kept = changed, request
        else:
            message = f"{request.text} is dropped: the layout here is {describe(pool)}"
            findings.append(
                Finding("warning", "parallel-size-dropped", message, request.flag,
                        request.source.source)
            )  # fmt: skip
    return Settled(pool, kept, findings)


def _refused_size(config: Configuration, pool: Pool) -> list[Finding]:
    """Say that the whole nodes would need a TP by which the checkpoint does not divide."""
    blocks = blocks_of(config, pool.shape)
    whole = pool.nodes * config.profile.gpu_count
    if blocks is None or pool.shape not in {"tp", "tep"} or blocks % whole == 0:
        return []
    if pool.nodes == 1 and pool.shape == "tp" and pool.role == "serve":
        return []
    message = (
        f"TP {whole} is refused: the checkpoint's {blocks} blocks do not divide by it;"
        f" TP {pool.tp} is the largest that does, on {pool.gpus_per_node} GPUs of each node"
    )
    return [Finding("warning", "tp-does-not-divide", message, TP, config.entry.source)]


def _granted(pool: Pool, request: Request, blocks: int | None) -> Pool | None:
    size = request.value
    if request.flag != TP or not size or (blocks is not None and blocks % size):
        return None
    if pool.shape == "tp" and pool.nodes == 1 and size <= pool.gpus_per_node:
        return pool._replace(tp=size, gpus_per_node=size, tp_written=False)
    if pool.shape == "dep" and size <= pool.gpus_per_node and pool.gpus_per_node % size == 0:
        local = pool.gpus_per_node // size
        return pool._replace(tp=size, dp=pool.nodes * local, dp_local=local, tp_written=False)
    return None


def describe(pool: Pool) -> str:
    """A layout in a few words, such as ``TP 8`` or ``DP 16 on 2 nodes``."""
    sizes = [
        f"{name} {size}"
        for name, size in (("TP", pool.tp), ("PP", pool.pp), ("DP", pool.dp))
        if size > 1
    ]
    text = " × ".join(sizes) or "one GPU"
    return f"{text} on {pool.nodes} nodes" if pool.nodes > 1 else text


def size_flags(pool: Pool, node: int, *, address: str) -> list[str]:
    """The parallel flags of one node's command, in the order of the rule book.

    Args:
        pool: The layout.
        node: The node's number in its pool, from 0.
        address: Placeholder of the first node's address, such as ``$HEAD_IP``.
    """
    if pool.role in {"prefill", "decode"}:
        return _pool_flags(pool, node, address)
    if pool.shape in {"dep", "dpa_tp"}:
        words = [DP, str(pool.dp)]
        if pool.nodes > 1:
            words += [DP_LOCAL, str(pool.dp_local), "--data-parallel-address", address]
            if node:
                words += ["--data-parallel-start-rank", str(node * pool.dp_local)]
        return words
    words = [TP, str(pool.tp)] if pool.tp_written else []
    if pool.shape == "tp_pp":
        words += [PP, str(pool.pp)]
    if pool.shape == "tp_dp":
        words += [DP, str(pool.dp), DP_LOCAL, "1", "--data-parallel-address", address]
        if node:
            words += ["--data-parallel-start-rank", str(node)]
        return words
    return words + _rank_flags(pool, node, address)


def _rank_flags(pool: Pool, node: int, address: str) -> list[str]:
    if pool.nodes < 2:
        return []
    words = ["--nnodes", str(pool.nodes), "--node-rank", str(node), "--master-addr", address]
    return [*words, "--headless"] if node else words


def _pool_flags(pool: Pool, node: int, address: str) -> list[str]:
    if pool.shape != "dep":
        words = [TP, str(pool.tp)] if pool.tp_written else []
        if pool.shape == "tep":
            words.append(EXPERT_PARALLEL)
        return words + _rank_flags(pool, node, address)
    words = [TP, str(pool.tp)] if pool.tp_written else []
    words += [
        DP, str(pool.dp), DP_LOCAL, str(pool.dp_local),
        "--data-parallel-start-rank", str(node * pool.dp_local),
        "--data-parallel-address", address,
        "--data-parallel-rpc-port", f"${pool.role.upper()}_DP_RPC_PORT",
    ]  # fmt: skip
    if pool.nodes > 1:
        words.append("--data-parallel-hybrid-lb")
    return [*words, EXPERT_PARALLEL]
