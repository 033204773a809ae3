"""The peer's JSON shape: a rendering, a recipe's page, and the list of models.

Keys of ours stand beside the peer's and never replace one. Where the peer's ``docker_argv`` would
hold ``~`` or ``$NAME``, which nothing expands without a shell, ours is null and ``docker_needs``
lists the names; ``docker_command`` has them as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recipes_core.catalog.pages import Page
from recipes_core.configuration import Configuration
from recipes_core.deployment.model import Deployment, Process
from recipes_core.render.json import SCHEMA_VERSION, install_json, is_verified
from recipes_core.render.shell import command, docker_argv, docker_command

DROPPED = frozenset(
    {"dependencies", "strategy_overrides", "compatible_strategies", "default_strategy", "meta",
     "model", "variants", "guide"}
)  # fmt: skip
"""Keys of a recipe that its page does not repeat, or has elsewhere."""


def _process(process: Process, values: Mapping[str, str], prefix: str = "") -> dict[str, Any]:
    """The four forms of an engine's command under names with a prefix."""
    vector, needs = docker_argv(process, values)
    found: dict[str, Any] = {
        f"{prefix}command": command(process),
        f"{prefix}argv": process.argv,
        f"{prefix}docker_command": docker_command(process),
        f"{prefix}docker_argv": vector,
    }
    if needs:
        found[f"{prefix}docker_needs"] = needs
    return found


def _followers(
    processes: Iterable[Process], values: Mapping[str, str], prefix: str
) -> dict[str, Any]:
    """The first follower under single names, and every follower under plural ones."""
    each = [_process(process, values) for process in processes]
    if not each:
        return {}
    found: dict[str, Any] = {}
    for key in ("command", "argv", "docker_command", "docker_argv"):
        found[f"{prefix}{key}"] = each[0][key]
        found[f"{prefix}{key}s"] = [one[key] for one in each]
    return found


def rendering(deployment: Deployment) -> dict[str, Any]:
    """One configuration as the peer's clients read it."""
    config = deployment.configuration
    engines = [process for process in deployment.processes if process.is_engine]
    store = deployment.type == "kv_store_lb"
    found: dict[str, Any] = {
        "hardware": config.hardware,
        "strategy": config.kv_offload if store else config.strategy_id,
        "variant": config.variant_id,
        "node_count": _nodes(config),
        "deploy_type": deployment.type,
        "env": engines[0].env,
        "docker_image": deployment.docker_image,
    }
    found |= _SHAPES[deployment.type](deployment, engines)
    found["schema_version"] = SCHEMA_VERSION
    found["model_id"] = config.model_id
    found["status"] = "verified" if is_verified(config) else "generated"
    found["min_vllm_version"] = deployment.min_vllm_version
    found["features"] = list(config.features)
    if config.feature_modes:
        found["feature_modes"] = config.feature_modes
    if config.preset_id is not None:
        found["preset"] = config.preset_id
    found["placeholders"] = [
        {"name": item.name, "hint": item.hint}
        for item in deployment.placeholders
        if item.value is None
    ]
    found["topology"] = [pool.to_json() for pool in deployment.layouts]
    return found


def _nodes(config: Configuration) -> int:
    if not config.pools:
        return config.nodes
    return sum(pool.nodes for pool in config.pools.values()) or 1


def _single_node(deployment: Deployment, engines: list[Process]) -> dict[str, Any]:
    found = _process(engines[0], deployment.values.placeholders)
    companions = [
        {
            "feature": process.feature or process.name,
            "label": process.label,
            "description": process.description,
            "command": command(process),
            "start": process.start,
            "install": process.install,
        }
        for process in deployment.role("companion", "router")
    ]
    return found | ({"companions": companions} if companions else {})


def _multi_node(deployment: Deployment, engines: list[Process]) -> dict[str, Any]:
    values = deployment.values.placeholders
    found = _process(engines[0], values, "head_") | _followers(engines[1:], values, "worker_")
    beside = _single_node(deployment, engines).get("companions")
    return found | ({"companions": beside} if beside else {})


def _pools(deployment: Deployment, engines: list[Process]) -> dict[str, Any]:
    config, values = deployment.configuration, deployment.values.placeholders
    found: dict[str, Any] = {}
    for pool, (role, choice) in zip(deployment.layouts, config.pools.items(), strict=True):
        nodes = [process for process in engines if process.pool == role]
        each = [_process(process, values) | {"env": process.env} for process in nodes]
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
    words = router.argv
    policy = words[words.index("--policy") + 1] if "--policy" in words else None
    found["router_config"] = {"policy": policy}
    return found


def _store(deployment: Deployment, engines: list[Process]) -> dict[str, Any]:
    config, values = deployment.configuration, deployment.values.placeholders
    store = config.kv_store
    first = [process for process in engines if process.instance == 0]
    routers = deployment.role("router")
    found: dict[str, Any] = {
        "serving_strategy": config.strategy_id,
        "kv_min_vllm_version": store.min_vllm_version if store else None,
        "instances": config.kv_instances,
        **_process(first[0], values, "vllm_"),
        **_followers(first[1:], values, "vllm_worker_"),
        "vllm_install": (
            store.vllm.install.get(config.profile.brand.lower()) if store is not None else None
        ),
        **_stores(deployment),
        "router": _beside(routers[0]) if routers else None,
    }
    others = [process for process in engines if process.instance]
    if others and any(process.argv != first[process.node].argv for process in others):
        found["instance_argvs"] = [process.argv for process in engines]
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


_SHAPES = {
    "single_node": _single_node,
    "multi_node": _multi_node,
    "pd_cluster": _pools,
    "kv_store_lb": _store,
    "omni": _single_node,
}


def recipe_page(
    page: Page,
    deployment: Deployment,
    recommended: dict[str, Any] | None,
    own_ids: Mapping[str, str],
) -> dict[str, Any]:
    """The JSON of ``/<org>/<repo>.json``.

    Args:
        page: The id and the variant that it opens.
        deployment: The recommended one on the default hardware; its install steps are shown.
        recommended: ``recommended_command``, or None for an omni recipe.
        own_ids: Variants that have a page of their own, with the page's id.
    """
    recipe = page.entry.recipe
    plain = recipe.model_dump(mode="json", exclude_unset=True, by_alias=True)
    meta = plain["meta"]
    if page.derived:
        meta |= {"derived_from": page.entry.id, "variant": page.variant}
    found: dict[str, Any] = {"hf_id": page.id, "meta": meta}
    if recommended is not None:
        found["recommended_command"] = recommended
    found["model"] = plain["model"] | {"install": install_json(deployment.install)}
    found["features"] = plain.get("features", {})
    found["opt_in_features"] = plain.get("opt_in_features", [])
    variants = plain["variants"]
    for name, own in own_ids.items():
        variants[name]["json"] = f"/{own}.json"
    if page.derived:
        model_id = recipe.model.model_id
        mine = {"model_id": model_id} | variants.pop(page.variant)
        variants = {"default": mine} | {
            name: value for name, value in variants.items() if name != "default"
        }
    found["variants"] = variants
    found["guide"] = plain.get("guide")
    found |= {key: value for key, value in plain.items() if key not in DROPPED}
    if recommended is None:
        found["default_command"] = rendering(deployment)
    found["configuration"] = f"/{page.id}/configuration.json"
    found["presets"] = {key: f"/{page.entry.id}/presets/{key}.json" for key in recipe.presets}
    return found


def lead(
    deployment: Deployment, shown: dict[str, Any], alternatives: Mapping[str, str]
) -> dict[str, Any]:
    """The recommended rendering of a hardware, with what its clients choose from."""
    config = deployment.configuration
    strategy = config.strategy
    spec = strategy.model_dump(mode="json", exclude_unset=True) if strategy else None
    return shown | {
        "strategy_spec": spec,
        "hardware_profile": config.node.model_dump(mode="json", exclude_unset=True),
        "alternatives": dict(alternatives),
    }
