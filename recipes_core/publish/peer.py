"""The peer's JSON shape: a rendering, a recipe's page, and the list of models.

Keys of ours stand beside the peer's and never replace one. Where the peer's ``docker_argv`` would
hold ``~`` or ``$NAME``, which nothing expands without a shell, ours is null and ``docker_needs``
lists the names; ``docker_command`` has them as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from recipes_core.catalog.pages import Page
from recipes_core.configuration import Configuration
from recipes_core.deployment.model import Deployment, Install, Process
from recipes_core.flags import last_value
from recipes_core.render.evidence import evidence_json, standing_of
from recipes_core.render.json import SCHEMA_VERSION
from recipes_core.render.shell import command, docker_argv, docker_command

DROPPED = frozenset(
    {"dependencies", "strategy_overrides", "compatible_strategies", "default_strategy", "meta",
     "model", "variants", "guide"}
)  # fmt: skip
"""Keys of a recipe that its page does not repeat, or has elsewhere."""


class Texts(NamedTuple):
    """An engine's command in its forms."""

    command: str
    docker_command: str | None
    docker_argv: list[str] | None
    docker_needs: list[str]


class Rendered:
    """A deployment with the text of each process, made once for JSON and page alike."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.config = deployment.configuration
        values = deployment.values.placeholders
        self.texts = [
            Texts(command(process), docker_command(process), *docker_argv(process, values))
            for process in deployment.processes
        ]
        self.engines = [
            (process, texts)
            for process, texts in zip(deployment.processes, self.texts, strict=True)
            if process.is_engine
        ]


def _process(process: Process, texts: Texts, prefix: str = "") -> dict[str, Any]:
    """The four forms of an engine's command under names with a prefix."""
    found: dict[str, Any] = {
        f"{prefix}command": texts.command,
        f"{prefix}argv": process.argv,
        f"{prefix}docker_command": texts.docker_command,
        f"{prefix}docker_argv": texts.docker_argv,
    }
    if texts.docker_needs:
        found[f"{prefix}docker_needs"] = texts.docker_needs
    return found


def _followers(engines: list[tuple[Process, Texts]], prefix: str) -> dict[str, Any]:
    """The first follower under single names, and every follower under plural ones."""
    each = [_process(process, texts) for process, texts in engines]
    if not each:
        return {}
    found: dict[str, Any] = {}
    for key in ("command", "argv", "docker_command", "docker_argv"):
        found[f"{prefix}{key}"] = each[0][key]
        found[f"{prefix}{key}s"] = [one[key] for one in each]
    return found


def rendering(made: Rendered) -> dict[str, Any]:
    """One configuration as the peer's clients read it."""
    config, deployment = made.config, made.deployment
    store = deployment.type == "kv_store_lb"
    found: dict[str, Any] = {
        "hardware": config.hardware,
        "strategy": config.kv_offload if store else config.strategy_id,
        "variant": config.variant_id,
        "node_count": _nodes(config),
        "deploy_type": deployment.type,
        "env": made.engines[0][0].env,
        "docker_image": deployment.docker_image,
    }
    found |= _SHAPES[deployment.type](made)
    found["schema_version"] = SCHEMA_VERSION
    found["model_id"] = config.model_id
    found["status"] = standing_of(config).state
    found["evidence"] = evidence_json(config)
    found["min_vllm_version"] = deployment.min_vllm_version
    found["features"] = list(config.features)
    if config.feature_modes:
        found["feature_modes"] = config.feature_modes
    if config.preset_id is not None:
        found["preset"] = config.preset_id
    if config.task is not None:
        found["task"] = config.task.key or config.task.id
    found["placeholders"] = [{"name": item.name, "hint": item.hint} for item in deployment.missing]
    found["topology"] = [pool.to_json() for pool in deployment.layouts]
    return found


def _nodes(config: Configuration) -> int:
    if not config.pools:
        return config.nodes
    return sum(pool.nodes for pool in config.pools.values()) or 1


def _single_node(made: Rendered) -> dict[str, Any]:
    return _process(*made.engines[0]) | _companions(made)


def _companions(made: Rendered) -> dict[str, Any]:
    companions = [
        {
            "feature": process.feature or process.name,
            "label": process.label,
            "description": process.description,
            "command": texts.command,
            "start": process.start,
            "install": process.install,
        }
        for process, texts in zip(made.deployment.processes, made.texts, strict=True)
        if process.role in {"companion", "router"}
    ]
    return {"companions": companions} if companions else {}


def _multi_node(made: Rendered) -> dict[str, Any]:
    head = _process(*made.engines[0], "head_")
    return head | _followers(made.engines[1:], "worker_") | _companions(made)


def _pools(made: Rendered) -> dict[str, Any]:
    config, deployment = made.config, made.deployment
    found: dict[str, Any] = {}
    for pool, (role, choice) in zip(deployment.layouts, config.pools.items(), strict=True):
        each = [
            _process(process, texts) | {"env": process.env}
            for process, texts in made.engines
            if process.pool == role
        ]
        found[role] = each[0] | {
            "nodes": choice.nodes,
            "parallelism": choice.mode,
            "tp": pool.tp,
            "dpLocal": pool.dp_local,
            "dpSize": pool.dp,
            "poolGpus": pool.gpus,
        }
        if len(each) > 1:
            found[role]["processes"] = each
    found |= _stores(deployment)
    router = deployment.role("router")[0]
    found["router"] = _beside(router)
    found["router_config"] = {"policy": last_value(router.argv, "--policy")}
    return found


def _store(made: Rendered) -> dict[str, Any]:
    config, deployment = made.config, made.deployment
    store = config.kv_store
    first = [engine for engine in made.engines if engine[0].instance == 0]
    routers = deployment.role("router")
    package = store.vllm.install.get(config.profile.brand.lower()) if store is not None else None
    found: dict[str, Any] = {
        "serving_strategy": config.strategy_id,
        "kv_min_vllm_version": store.min_vllm_version if store else None,
        "instances": config.kv_instances,
        **_process(*first[0], "vllm_"),
        **_followers(first[1:], "vllm_worker_"),
        "vllm_install": package,
        **_stores(deployment),
        "router": _beside(routers[0]) if routers else None,
    }
    others = [process for process, _ in made.engines if process.instance]
    if any(process.argv != first[process.node][0].argv for process in others):
        found["instance_argvs"] = [process.argv for process, _ in made.engines]
    return found


def _stores(deployment: Deployment) -> dict[str, Any]:
    """Master, store and the client's file, where the deployment has a KV store."""
    if deployment.configuration.kv_store is None:
        return {}
    master, stores = deployment.role("master"), deployment.role("store")
    files = {file.path: file for file in deployment.files}
    client = files.get("$MOONCAKE_CONFIG_PATH")
    own = files.get("$MOONCAKE_STORE_CONFIG_PATH")
    found: dict[str, Any] = {
        "master": _beside(master[0]) if master else None,
        "store": _beside(stores[0]) if stores else None,
        "mooncake_config": dict(client.content) if client else None,
    }
    if found["store"] is not None and own is not None:
        found["store"]["config"] = dict(own.content)
    return found


def _beside(process: Process) -> dict[str, Any]:
    """A process around the engines: text, vector, and what installs it."""
    return {
        "command": command(process),
        "argv": process.argv,
        "description": process.description,
        "install": process.install,
    }


_SHAPES: dict[str, Callable[[Rendered], dict[str, Any]]] = {
    "single_node": _single_node,
    "multi_node": _multi_node,
    "pd_cluster": _pools,
    "kv_store_lb": _store,
    "omni": _single_node,
}


def recipe_page(
    page: Page, install: Install, recommended: dict[str, Any] | None, siblings: Iterable[Page]
) -> dict[str, Any]:
    """The JSON of ``/<org>/<repo>.json``.

    Args:
        page: The id and the variant that it opens.
        install: The install steps of the recommended configuration.
        recommended: ``recommended_command``, or None for an omni recipe.
        siblings: All pages of the recipe.
    """
    recipe = page.entry.recipe
    plain = recipe.model_dump(mode="json", exclude_unset=True)
    meta = plain["meta"]
    if page.derived:
        meta |= {"derived_from": page.entry.id, "variant": page.variant}
    found: dict[str, Any] = {"hf_id": page.id, "meta": meta}
    if recommended is not None:
        found["recommended_command"] = recommended
    found["model"] = plain["model"] | {"install": _install(install)}
    found["features"] = plain.get("features", {})
    found["opt_in_features"] = plain.get("opt_in_features", [])
    found["variants"] = _variants(page, plain["variants"], siblings)
    found["guide"] = plain.get("guide")
    found |= {key: value for key, value in plain.items() if key not in DROPPED}
    found["configuration"] = f"/{page.id}/configuration.json"
    found["presets"] = {
        key: preset | {"json": f"/{page.entry.id}/presets/{key}.json"}
        for key, preset in plain.get("presets", {}).items()
    }
    return found


def _install(install: Install) -> dict[str, Any]:
    """Steps as the peer has them: no key for a tab that is not there, no note that is none."""
    found: dict[str, Any] = {
        tab: {key: value for key, value in step._asdict().items() if value is not None}
        for tab, step in install.tabs.items()
        if step is not None
    }
    return found | {"extras": [step._asdict() for step in install.extras]}


def _variants(page: Page, variants: dict[str, Any], siblings: Iterable[Page]) -> dict[str, Any]:
    for other in siblings:
        if other.derived:
            variants[other.variant]["json"] = f"/{other.id}.json"
    if not page.derived:
        return variants
    model_id = page.entry.recipe.model.model_id
    mine = {"model_id": model_id} | variants[page.variant]
    rest = {key: value for key, value in variants.items() if key not in {"default", page.variant}}
    return {"default": mine} | rest


def lead(made: Rendered, shown: dict[str, Any], alternatives: Mapping[str, str]) -> dict[str, Any]:
    """The recommended rendering of a hardware, with what its clients choose from."""
    config = made.config
    strategy = config.strategy
    spec = strategy.model_dump(mode="json", exclude_unset=True) if strategy else None
    return shown | {
        "strategy_spec": spec,
        "hardware_profile": config.node.model_dump(mode="json", exclude_unset=True),
        "alternatives": dict(alternatives),
    }
