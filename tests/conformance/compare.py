"""Each row against our rendering: pairs of (field, ours, the peer's) that have to be equal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment, Process
from recipes_core.render.json import to_json
from recipes_core.render.shell import command, docker_command

from .rows import Row


class Pair(NamedTuple):
    field: str
    """What is compared; one that ends in ``text`` is equal to the letter, line breaks included."""
    ours: Any
    theirs: Any


@cache
def _split(text: str) -> tuple[str, ...]:
    return tuple(shlex.split(text.replace("\\\n", " ")))


def words(text: str | None) -> list[str] | None:
    """A command as its arguments; ``$NAME`` stays."""
    return None if text is None else list(_split(text))


def text_env(env: dict[str, Any] | None) -> dict[str, str]:
    return {name: str(value) for name, value in (env or {}).items()}


def pairs(row: Row, config: Configuration, deployment: Deployment) -> Iterator[Pair]:
    kind, out = row["kind"], row["out"]
    document = to_json(config, deployment)
    if kind == "defaults":
        options = document["options"]["hardware"]
        yield Pair("hardware", [o["id"] for o in options if o["enabled"]], out["hardware"])
        default = [o["id"] for o in options if o["default"]]
        yield Pair("default_hardware", default, [out["default_hardware"]])
    elif kind == "gates":
        yield from _gates(document, out)
    else:
        yield Pair("deploy_type", deployment.type, out["deploy_type"])
        yield from _RENDER[out["deploy_type"]](row, deployment)


def _gates(document: dict[str, Any], out: dict[str, Any]) -> Iterator[Pair]:
    gates = document["gates"]
    strategies = {
        option["id"]: {
            "nodes": option["min_nodes"],
            "reachable": option["reachable"],
            "supported": option["supported"],
        }
        for option in document["options"]["strategy"]
    }
    yield Pair("strategies", strategies, out["strategies"])
    yield Pair("recommended", gates["recommended"], out["recommended"])
    yield Pair("tp", gates["single_node_tp"], out["tp"])
    yield Pair("pd_pool_modes", gates["pool_modes"], out["pd_pool_modes"])
    yield Pair("fits_single_node", gates["fits_single_node"], out["fits_single_node"])


def _single(row: Row, deployment: Deployment) -> Iterator[Pair]:
    out = row["out"]
    (serve,) = deployment.role("serve")
    yield Pair("argv", serve.argv, out.get("argv") or words(out["command"]))
    yield Pair("command text", command(serve), out["command"])
    container = out.get("docker") or out.get("docker_command")
    yield Pair("docker text", docker_command(serve), container)
    yield Pair("env", serve.env, text_env(out["env"]))
    if "model_id" in out:
        yield Pair("model_id", deployment.configuration.model_id, out["model_id"])
    companions = [
        {"label": p.label, "feature": p.feature, "command": command(p)}
        for p in deployment.role("companion")
    ]
    theirs = [
        {"label": c["label"], "feature": c["feature"], "command": c["command"].strip()}
        for c in out.get("companions", [])
    ]
    yield Pair("companions", companions, theirs)


def _multi(row: Row, deployment: Deployment) -> Iterator[Pair]:
    out = row["out"]
    (head,) = deployment.role("head")
    yield Pair("argv", head.argv, out["head_argv"])
    yield Pair("command", command(head), out["head"])
    yield Pair("docker", docker_command(head), out["head_docker"])
    yield Pair("env", head.env, text_env(out["env"]))
    yield from _each("worker", deployment.role("worker"), out["workers"])


def _each(name: str, processes: list[Process], texts: list[str] | None) -> Iterator[Pair]:
    texts = texts or []
    yield Pair(f"{name} count", len(processes), len(texts))
    for process, text in zip(processes, texts, strict=False):
        yield Pair(f"{name} argv", command(process), text)


def _store(row: Row, deployment: Deployment) -> Iterator[Pair]:
    out = row["out"]
    current = (row["in"]["kv_instances"] or {}).get("current", 0)
    instances = [p for p in deployment.role("instance") if p.instance == current]
    yield Pair("argv", command(instances[0]), out["vllm"])
    yield Pair("env", instances[0].env, text_env(out["env"]))
    yield from _each("worker", instances[1:], out["workers"])
    yield Pair("instances", deployment.configuration.kv_instances, out["instances"])
    yield from _around(deployment, out)
    yield Pair("router", _text_of(deployment, "router"), out["router"])


def _text_of(deployment: Deployment, role: str) -> str | None:
    found = deployment.role(role)
    return command(found[0]) if found else None


def _around(deployment: Deployment, out: dict[str, Any]) -> Iterator[Pair]:
    for role in ("master", "store"):
        yield Pair(role, _text_of(deployment, role), out[role])
    files = {file.path: dict(file.content) for file in deployment.files}
    yield Pair("config", files.get("$MOONCAKE_CONFIG_PATH"), out["config"])
    yield Pair("store_config", files.get("$MOONCAKE_STORE_CONFIG_PATH"), out["store_config"])
    extras = [step.command for step in deployment.install.extras]
    yield Pair("install", [c for c in extras if c == out["install"]], [out["install"]])


def _pools(row: Row, deployment: Deployment) -> Iterator[Pair]:
    out = row["out"]
    for role in ("prefill", "decode"):
        processes = deployment.role(role)
        rank = ((row["in"]["pd"] or {}).get(role) or {}).get("rank") or 0
        process = processes[min(rank, len(processes) - 1)]
        yield Pair(f"{role} argv", command(process), out[role]["command"])
        yield Pair(f"{role} env", process.env, text_env(out[role]["env"]))
        yield Pair(f"{role} docker", docker_command(process), out[role]["docker"])
    yield Pair("router", _text_of(deployment, "router"), out["router"])
    if "mooncake" in out:
        yield from _around(deployment, out["mooncake"])


_RENDER = {
    "single_node": _single,
    "omni": _single,
    "multi_node": _multi,
    "kv_store_lb": _store,
    "pd_cluster": _pools,
}
