"""deploy(): the processes, files, and install steps of a configuration (floor 4)."""

from __future__ import annotations

from recipes_core.configuration import Configuration
from recipes_core.deployment.container import image_of, kind_of, make_container
from recipes_core.deployment.engine import Engine, dp_router_of, engine_process, make_engine
from recipes_core.deployment.install import (
    below_floor,
    make_install,
    not_pinned,
    version_floor,
)
from recipes_core.deployment.kv_store import instance_processes, store_files, store_processes
from recipes_core.deployment.model import (
    Container,
    Deployment,
    File,
    Install,
    Line,
    Placeholder,
    Process,
    ReaderValues,
    Step,
)
from recipes_core.deployment.names import placeholders_in, words_of
from recipes_core.deployment.placeholders import fill, find_placeholders
from recipes_core.deployment.pools import pool_processes
from recipes_core.deployment.reader import apply_values
from recipes_core.deployment.routers import HYBRID_LB, dp_router, is_hybrid
from recipes_core.findings import Finding

__all__ = [
    "Container",
    "Deployment",
    "File",
    "Install",
    "Line",
    "Placeholder",
    "Process",
    "ReaderValues",
    "Step",
    "deploy",
    "placeholders_in",
]


def deploy(config: Configuration, values: ReaderValues | None = None) -> Deployment:
    """Lay a configuration out as processes.

    Args:
        config: What ``configure`` returned.
        values: What the reader fills in: addresses, folders, names of secret variables.
    """
    values = values or ReaderValues()
    processes, engines, findings = _engines(config)
    helpers = _companions(config)
    behind = [process for process in processes if not process.is_engine]
    running = [process for process in processes if process.is_engine]
    ordered = [
        *store_processes(config),
        *(helper for helper in helpers if helper.start == "before"),
        *running,
        *(helper for helper in helpers if helper.start != "before"),
        *behind,
    ]
    image = image_of(config)
    docker = config.recipe.model.install.get("docker") is not False or config.rules.is_omni
    host = bool(config.pools) or config.nodes > 1
    chosen = image if docker else (None, "the recipe has no container that holds all it needs")
    for process in running:
        apply_values(process, values)
        process.container = make_container(config, process, chosen, host=host, values=values)
    steps = [Step(r.install, f"for {r.label}", docker=True) for r in behind if r.install]
    install = make_install(config, image[0], image[1], steps)
    deployment = Deployment(
        configuration=config,
        type=_type(config),
        processes=ordered,
        install=install,
        min_vllm_version=version_floor(config),
        docker_image=chosen[0],
        files=store_files(config, running),
        findings=[
            *config.findings,
            *findings,
            *_clashes(ordered),
            *_no_image(config, *image),
            *below_floor(config),
            *not_pinned(config, install, chosen[0]),
            *_unreached_nodes(config, running, behind),
            *_idle_gpus(config, engines),
        ],
        values=values,
        layouts=[engine.pool for engine in engines if not config.rules.is_omni],
    )
    deployment.placeholders = find_placeholders(deployment)
    fill(deployment)
    return deployment


def _idle_gpus(config: Configuration, engines: list[Engine]) -> list[Finding]:
    """Say that a layout leaves some of the GPUs idle that a reader asked to use."""
    asked = config.selection.gpus
    used = max((engine.pool.gpus_per_node for engine in engines), default=0)
    if asked is None or config.rules.is_omni or not used < config.profile.gpu_count:
        return []
    name = config.strategy_id
    message = f"{config.profile.gpu_count} GPUs were asked, and {name} uses {used} of them here"
    return [Finding("info", "idle-gpus", message, "gpus", config.entry.source)]


def _unreached_nodes(
    config: Configuration, running: list[Process], routers: list[Process]
) -> list[Finding]:
    """Say where nodes of an engine answer for their own ranks and nobody sends them a request.

    The router of a store knows the first node of each instance; without one, clients do.
    """
    if config.kv_instances is None or config.nodes < 2 or not is_hybrid(running[0]):
        return []
    if config.kv_instances == 1 and routers:
        return []
    who = "the router sends" if config.kv_instances > 1 else "clients of the first node send"
    message = (
        f"each node answers for its own data-parallel ranks, and {who} requests to the first node"
        f" of an instance alone: send them to port {running[0].port} of all {config.nodes} nodes"
    )
    return [Finding("warning", "nodes-unreached", message, HYBRID_LB, config.entry.source)]


def _engines(config: Configuration) -> tuple[list[Process], list[Engine], list[Finding]]:
    if config.pools:
        return pool_processes(config)
    if config.kv_store is not None:
        return instance_processes(config)
    engine = make_engine(config)
    nodes = engine.pool.nodes if not config.rules.is_omni else 1
    if nodes == 1:
        processes = [engine_process(engine, name="serve", role="serve", node=0, address="$HEAD_IP")]
    else:
        processes = [
            engine_process(
                engine,
                name="head" if node == 0 else f"worker-{node}",
                role="head" if node == 0 else "worker",
                node=node,
                address="$HEAD_IP",
            )
            for node in range(nodes)
        ]
    router = dp_router_of(config, engine.pool)
    if router is not None:
        processes.append(dp_router(config, router, tuple(processes)))
    return processes, [engine], engine.findings


def _type(config: Configuration) -> str:
    if config.rules.is_omni:
        return "omni"
    if config.pools:
        return "pd_cluster"
    if config.kv_store is not None:
        return "kv_store_lb"
    return config.strategy.deploy_type if config.strategy else "single_node"


def _companions(config: Configuration) -> list[Process]:
    found = []
    option = config.catalog.taxonomy.kv_offload.get(config.kv_offload or "")
    if option is not None and option.companion is not None:
        found.append((f"kv_offload:{config.kv_offload}", option.companion, option.install))
    for name in config.features:
        companion = config.recipe.features[name].companion
        if companion is not None:
            found.append((name, companion, companion.install))
    return [
        Process(
            name=f"companion-{number}" if len(found) > 1 else "companion",
            role="companion",
            argv=words_of(companion.command),
            text=companion.command.strip(),
            label=companion.label,
            feature=feature,
            start=companion.start,
            install=install,
            description=companion.description,
            port=companion.port,
        )
        for number, (feature, companion, install) in enumerate(found, 1)
    ]


def _no_image(config: Configuration, image: str | None, reason: str | None) -> list[Finding]:
    """An NPU without an image that the recipe pins: nothing published would serve it."""
    if image is not None or kind_of(config.profile) != "npu":
        return []
    return [Finding("error", "no-image", reason or "", "docker_image", config.entry.source)]


def _clashes(processes: list[Process]) -> list[Finding]:
    """Two processes of one node on one port."""
    router = next((p for p in processes if p.role == "router" and p.port is not None), None)
    several = any(process.instance for process in processes)
    roles = {"serve", "head"} if several else {"serve", "head", "instance"}
    serve = next((p for p in processes if p.role in roles), None)
    if router is None or serve is None or router.port != serve.port:
        return []
    message = f"the router and the engine both listen on port {router.port}"
    return [Finding("error", "port-clash", message, "--port", "reader")]
