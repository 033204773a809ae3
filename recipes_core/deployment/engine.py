"""One ``vllm serve`` process: its flags and variables, merged layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from recipes_core.catalog.documents import DpRouter
from recipes_core.configuration import Configuration
from recipes_core.deployment.model import Process
from recipes_core.findings import Finding
from recipes_core.flags import Arguments, Provenance, parse_args
from recipes_core.layers import (
    POOL_DROPPED_ENV,
    POOL_FULL_ENV_HARDWARE,
    ArgLayer,
    EnvLayer,
    Layers,
    engine_layers,
)
from recipes_core.topology import (
    DP,
    DP_LOCAL,
    EXPERT_PARALLEL,
    PP,
    SIZES,
    TP,
    Pool,
    Settled,
    describe,
    may_hold_size,
    settle,
    size_flags,
)


@dataclass(slots=True, eq=False)
class Engine:
    """The engine of a deployment or of one pool, ready to give each node its command."""

    config: Configuration
    role: str
    layers: Layers
    settled: Settled
    before: Arguments
    size_source: Provenance
    findings: list[Finding] = field(default_factory=list)
    port: int | None = None
    """Port that is inserted between the strategy's flags and the sizes."""

    @property
    def pool(self) -> Pool:
        """The layout of the engine."""
        return self.settled.pool

    def arguments(self, node: int, address: str) -> Arguments:
        """The merged flags of one node's command."""
        args = self.before.copy()
        pool = self.pool
        if self.port is not None:
            args.add(("--port", str(self.port)), self.size_source._replace(key="dp_router"))
        if not self.config.rules.is_omni:
            args.add(size_flags(pool, node, address=address), self.size_source)
            if pool.shape == "dpa_tp":
                args.remove(EXPERT_PARALLEL)
        for words, source in self.layers.after:
            if self.port is not None and source.layer == "reader" and source.key == "port":
                continue  # clients reach the router there, not the engine
            args.add(self._allowed(words, source), source)
        return args

    def _allowed(self, words: Sequence[str], source: Provenance) -> Sequence[str]:
        """A later layer's words without the sizes that its request did not get."""
        if not may_hold_size(words):
            return words
        kept = self.settled.kept
        left: list[str] = []
        for flag in parse_args(words):
            mine = (
                kept is not None
                and kept.flag == flag.name
                and kept.source == source
                and kept.text == " ".join(flag.tokens)
            )
            if flag.name not in SIZES or mine:
                left.extend(flag.tokens)
        return left


def make_engine(config: Configuration, role: str = "serve") -> Engine:
    """Collect an engine's layers, settle its layout, and merge what stands before the sizes."""
    layers = engine_layers(config, role)
    settled = settle(config, role, layers.after)
    before = Arguments()
    findings = list(settled.findings)
    for words, source in layers.before:
        before.add(words, source)
    if not config.rules.is_omni:
        _drop_early_sizes(config, before, settled.pool, layers.before, findings)
    findings += _uneven_tp(config, settled.pool)
    strategy = config.strategy
    source = Provenance(
        "strategy", f"strategies/{strategy.name}.yaml" if strategy else "", "parallel_flag"
    )
    engine = Engine(config, role, layers, settled, before, source, findings)
    engine.port = _router_port(config, settled.pool)
    return engine


def _uneven_tp(config: Configuration, pool: Pool) -> list[Finding]:
    """A TP that few models can have, such as 3 or 24."""
    tp = pool.tp
    if tp & (tp - 1) == 0 or config.rules.is_omni or config.variant.tp_divides is not None:
        return []
    fewer = 1 << (config.profile.gpu_count.bit_length() - 1)
    hint = f"; gpus={fewer} uses {fewer} of a node" if pool.nodes == 1 else ""
    message = f"TP {tp} fits only models whose number of attention heads it divides{hint}"
    return [Finding("warning", "tp-uneven", message, TP, "topology")]


def _drop_early_sizes(
    config: Configuration,
    before: Arguments,
    pool: Pool,
    layers: list[ArgLayer],
    findings: list[Finding],
) -> None:
    """The table wins over sizes that stand before it; a size of 1 that it lacks may stay."""
    if not any(may_hold_size(words) for words, _ in layers):
        return
    table = set(size_flags(pool, 0, address="$HEAD_IP"))
    for name in (TP, PP, DP, DP_LOCAL):
        flag = before.get(name)
        if flag is None or (name not in table and flag.values == ("1",)):
            continue
        before.remove(name)
        wanted = {TP: pool.tp, PP: pool.pp, DP: pool.dp, DP_LOCAL: pool.dp_local}[name]
        if flag.values != (str(wanted),):
            message = f"{' '.join(flag.tokens)} is dropped: the layout here is {describe(pool)}"
            findings.append(
                Finding("warning", "parallel-size-dropped", message, name, config.entry.source)
            )


def _router_port(config: Configuration, pool: Pool) -> int | None:
    router = dp_router_of(config, pool)
    return router.engine_port if router is not None else None


def dp_router_of(config: Configuration, pool: Pool) -> DpRouter | None:
    """The router in front of one data-parallel engine, or None where there is none.

    A store with one instance keeps it; several instances have the store's router.
    """
    strategy = config.strategy
    if strategy is None or config.pools or pool.dp < 2 or (config.kv_instances or 1) > 1:
        return None
    router = config.recipe.dp_router or strategy.dp_router
    if router is None or (router.strategies and strategy.name not in router.strategies):
        return None
    return router


def environment(
    config: Configuration, engine: Engine, node: int
) -> tuple[dict[str, str], dict[str, Provenance]]:
    """The variables of one node's process: a first writer's place, a last writer's value."""
    env: dict[str, str] = {}
    source_of: dict[str, Provenance] = {}
    layers = engine.layers.env
    if engine.role in config.pools:
        layers = _with_pool_env(config, engine, layers)
    for variables, source in layers:
        for name, value in variables.items():
            env[name] = value
            source_of[name] = source
    if engine.role in config.pools:
        if config.hardware not in POOL_FULL_ENV_HARDWARE:
            for name in POOL_DROPPED_ENV & env.keys():
                del env[name], source_of[name]
        if engine.pool.shape == "dep" and node:
            first, mine = (
                f"${engine.role.upper()}_NODE_1",
                f"${engine.role.upper()}_NODE_{node + 1}",
            )
            env = {name: value.replace(first, mine) for name, value in env.items()}
    _frontend(config, env, source_of)
    return env, source_of


def _with_pool_env(config: Configuration, engine: Engine, layers: list[EnvLayer]) -> list[EnvLayer]:
    """A pool's devices and interfaces stand after the KV store's variables."""
    pool, gpus = engine.pool, config.profile.gpu_count
    shared = config.pools[engine.role].nodes == 0
    half = gpus // 2
    devices = range(half, gpus) if shared and engine.role == "decode" else range(gpus)
    if shared and engine.role == "prefill":
        devices = range(half)
    source = engine.size_source._replace(key="pools")
    own = {"CUDA_VISIBLE_DEVICES": ",".join(str(device) for device in devices)}
    if pool.nodes > 1:
        own |= {"GLOO_SOCKET_IFNAME": "$IFACE_NAME", "NCCL_SOCKET_IFNAME": "$IFACE_NAME"}
    early = {"recipe", "variant", "variant hardware", "strategy", "kv offload", "kv store"}
    cut = next(
        (place for place, (_, origin) in enumerate(layers) if origin.layer not in early),
        len(layers),
    )
    return [*layers[:cut], (own, source), *layers[cut:]]


def _frontend(config: Configuration, env: dict[str, str], source_of: dict[str, Provenance]) -> None:
    name = "VLLM_USE_RUST_FRONTEND"
    asked = config.selection.frontend is not None
    source = Provenance("reader" if asked else "recipe", "reader" if asked else config.entry.source,
                        "frontend" if asked else "default_frontend")  # fmt: skip
    if config.frontend == "rust" and env.get(name) != "1":
        env[name], source_of[name] = "1", source
    elif config.frontend == "python" and asked and env.get(name, "0") != "0":
        env[name], source_of[name] = "0", source


def engine_process(
    engine: Engine, *, name: str, role: str, node: int, address: str, pool: str | None = None
) -> Process:
    """The process of one node of an engine."""
    config = engine.config
    args = engine.arguments(node, address)
    env, env_from = environment(config, engine, node)
    flags = list(args.items())
    port = args.get("--port")
    value = port.values[0] if port is not None and port.values else "8000"
    return Process(
        name=name,
        role=role,
        argv=["vllm", "serve", config.model_id, *args.words()],
        env=env,
        flags=flags,
        env_from=env_from,
        pool=pool,
        node=node,
        port=int(value) if value.isascii() and value.isdigit() else None,
        layout=engine.pool if not config.rules.is_omni else None,
    )
