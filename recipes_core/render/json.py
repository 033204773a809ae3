"""The JSON of one configuration: fixed names, stable under ``schema_version``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from recipes_core.configuration import Configuration
from recipes_core.deployment.model import Deployment, Install, Process, ReaderValues
from recipes_core.deployment.points import point_deployments
from recipes_core.findings import Finding
from recipes_core.flags import Provenance
from recipes_core.link import selection_of
from recipes_core.options import options_json, options_key
from recipes_core.render.clients import clients_of
from recipes_core.render.evidence import evidence_json, is_verified
from recipes_core.render.shell import (
    command,
    docker_argv,
    docker_command,
    exports,
    local_exports,
)

SCHEMA_VERSION = 1


def to_json(
    config: Configuration,
    deployment: Deployment,
    sizing: Mapping[str, Any] | None = None,
    findings: Iterable[Finding] = (),
) -> dict[str, Any]:
    """A configuration and its deployment as plain data.

    Args:
        config: What ``configure`` returned.
        deployment: What ``deploy`` made of it.
        sizing: The ``sizing`` object, where it was computed.
        findings: What checks found beside the deployment's own findings.

    Returns:
        Plain data; lists of options are shared between calls and not to be changed.
    """
    selection = selection_of(config)
    query = {"hardware": config.hardware}
    query.update(selection.to_pairs())
    return {
        "schema_version": SCHEMA_VERSION,
        "recipe": config.entry.id,
        "query": query,
        "page_query": selection.to_query(),
        "configuration": configuration_json(config, deployment),
        "adjustments": [adjustment._asdict() for adjustment in config.adjustments],
        "options": options_json(config),
        "gates": gates_json(config),
        "deployment": deployment_json(deployment),
        "sizing": sizing,
        "findings": [finding._asdict() for finding in (*deployment.findings, *findings)],
    }


def points_json(config: Configuration, values: ReaderValues | None = None) -> list[dict[str, Any]]:
    """The operating points of the preset of a configuration, each with its deployment."""
    return [
        {
            "name": point.name,
            "concurrency": point.concurrency,
            "note": point.note,
            "deployment": deployment_json(deployment),
        }
        for point, deployment in point_deployments(config, values)
    ]


def json_bytes(
    config: Configuration,
    deployment: Deployment,
    sizing: Mapping[str, Any] | None = None,
    findings: Iterable[Finding] = (),
) -> bytes:
    """The same as one line of UTF-8; the options are encoded once for each set of choices."""
    document = to_json(config, deployment, sizing, findings)
    document["options"] = config.rules.keep(
        ("json bytes", *options_key(config)),
        lambda: orjson.Fragment(orjson.dumps(document["options"])),
    )
    return orjson.dumps(document)


def configuration_json(config: Configuration, deployment: Deployment) -> dict[str, Any]:
    """The choice of each axis."""
    return {
        "variant": config.variant_id,
        "model_id": config.model_id,
        "precision": config.variant.precision,
        "hardware": config.hardware,
        "nodes": config.nodes,
        "gpus": config.profile.gpu_count,
        "strategy": config.strategy_id,
        "features": list(config.features),
        "feature_modes": dict(config.feature_modes),
        "preset": config.preset_id,
        "preset_by_default": config.preset_by_default,
        "kv_offload": config.kv_offload,
        "kv_instances": config.kv_instances,
        "pools": {role: pool._asdict() for role, pool in config.pools.items()} or None,
        "router": config.router,
        "frontend": config.frontend,
        "task": (config.task.key or config.task.id) if config.task else None,
        "advanced": list(config.advanced),
        "topology": [pool.to_json() for pool in deployment.layouts],
    }


def gates_json(config: Configuration) -> dict[str, Any]:
    """What the rules say before anything is chosen."""
    rules, variant, hardware, node = config.rules, config.variant, config.hardware, config.node
    return rules.keep(
        ("gates json", config.variant_id, hardware),
        lambda: {
            "fits_single_node": rules.memory_needed(variant, hardware, node) <= node.vram_gb,
            "single_node_tp": rules.tensor_parallel(variant, hardware, node),
            "pool_modes": list(rules.pool_modes()),
            "recommended": {"1": rules.recommended(1), "2": rules.recommended(2)},
        },
    )


def deployment_json(deployment: Deployment) -> dict[str, Any]:
    """Processes, files, install, placeholders, and clients."""
    given = deployment.values.placeholders
    return {
        "type": deployment.type,
        "min_vllm_version": deployment.min_vllm_version,
        "docker_image": deployment.docker_image,
        "verified": is_verified(deployment.configuration),
        "evidence": evidence_json(deployment.configuration),
        "processes": [process_json(process, given) for process in deployment.processes],
        "files": [
            {"path": file.path, "content": dict(file.content), "used_by": list(file.used_by)}
            for file in deployment.files
        ],
        "install": install_json(deployment.install),
        "placeholders": [placeholder._asdict() for placeholder in deployment.placeholders],
        "clients": clients_of(deployment)._asdict(),
    }


def install_json(install: Install) -> dict[str, Any]:
    """Install tabs: a step each, or null with the reason."""
    tabs: dict[str, Any] = {
        tab: step._asdict() if step is not None else None for tab, step in install.tabs.items()
    }
    return {
        **tabs,
        "reasons": install.reasons,
        "driver": install.driver,
        "extras": [step._asdict() for step in install.extras],
    }


def process_json(process: Process, given: Mapping[str, str]) -> dict[str, Any]:
    """One process: argument vectors that run without a shell, and text."""
    text = command(process)
    vector, needs = docker_argv(process, given)
    return {
        "name": process.name,
        "role": process.role,
        "pool": process.pool,
        "instance": process.instance,
        "node": process.node,
        "label": process.label,
        "feature": process.feature,
        "argv": process.argv,
        "env": process.env,
        "command": text,
        "script": exports(process.env) + local_exports(process) + text,
        "docker_argv": vector,
        "docker_needs": needs,
        "docker_command": docker_command(process),
        "port": process.port,
        "start": process.start,
        "provenance": {name: _source_json(source) for name, source in process.provenance().items()},
    }


_SOURCES: dict[Provenance, dict[str, str]] = {}


def _source_json(source: Provenance) -> dict[str, str]:
    found = _SOURCES.get(source)
    if found is None:
        if len(_SOURCES) > 20_000:
            _SOURCES.clear()
        found = _SOURCES[source] = source._asdict()
    return found
