"""Kubernetes manifests: a Deployment for one node, a LeaderWorkerSet where nodes work together."""

from __future__ import annotations

import shlex
from typing import Any

from recipes_core.deployment.container import kind_of
from recipes_core.deployment.model import Deployment, Process
from recipes_core.errors import RenderRefusedError
from recipes_core.render.cluster import (
    INDEX,
    INSIDE,
    Cluster,
    Group,
    Word,
    cluster_of,
    env_of,
    from_config_map,
    translated,
    words_of,
)
from recipes_core.render.containers import HEALTH, Contained, contained, open_names, slug
from recipes_core.render.serve import process_title
from recipes_core.render.yaml_text import comment, yaml_text

GPU_RESOURCES = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "cpu": None}
"""What the vendor's device plugin counts; kinds that are not here have no name we know."""
CACHE_PATH = "/root/.cache/huggingface"


def to_kubernetes(deployment: Deployment) -> str:
    """The manifests of a deployment, to be applied with ``kubectl apply -f``.

    Values that only the reader knows come from a ConfigMap that is not part of the manifests: pods
    wait until it is there. A pod counts its GPUs from 0, so ``CUDA_VISIBLE_DEVICES`` is left out.

    Args:
        deployment: What ``deploy`` made.

    Raises:
        RenderRefusedError: A process has no image, or the hardware no resource name that is known.
    """
    kind = kind_of(deployment.configuration.profile)
    if kind not in GPU_RESOURCES:
        brand = deployment.configuration.profile.brand
        raise RenderRefusedError(
            f"kubernetes: the resource name of {brand} {kind.upper()} differs from cluster to"
            " cluster; take the docker form and put it into your own manifest"
        )
    parts = contained(deployment, "kubernetes")
    cluster = cluster_of(deployment, parts, GPU_RESOURCES[kind])
    helpers = [part for part in parts if not part.process.is_engine]
    inside = helpers if len(cluster.groups) == 1 else []
    documents = [_workload(cluster, group, inside) for group in cluster.groups]
    documents += [_helper(cluster, part) for part in helpers if part not in inside]
    documents.append(_service(cluster, helpers))
    head = comment(_head(cluster))
    return head + "---\n".join(yaml_text(document) for document in documents)


def _head(cluster: Cluster) -> list[str]:
    lines = []
    for group in cluster.groups:
        shown = process_title(cluster.deployment, group.parts[0].process)
        lines.append(f"{group.name}: {shown}")
    if any(group.is_set for group in cluster.groups):
        lines.append("Needs LeaderWorkerSet in the cluster (leaderworkerset.x-k8s.io/v1).")
    missing = cluster.open()
    if missing:
        literals = " ".join(f"--from-literal={name}=…" for name in missing)
        lines.append(f"First: kubectl create configmap {cluster.config_map} {literals}")
        lines += [f"  {name}: {hint}" for name, hint in missing.items()]
    if cluster.secrets():
        literals = " ".join(f"--from-literal={name}=…" for name in cluster.secrets())
        lines.append(f"First: kubectl create secret generic {cluster.secret} {literals}")
    if not cluster.deployment.values.cache_folder:
        lines.append("Downloads live as long as the pod; mount a claim at cache to keep them.")
    return lines


# --- pods -------------------------------------------------------------------------------------


def _workload(cluster: Cluster, group: Group, helpers: list[Contained]) -> dict[str, Any]:
    first = group.parts[0]
    leader = _pod(cluster, group, first, helpers)
    labels = {"app": cluster.name, "part": group.name, "role": "leader"}
    if not group.is_set:
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": group.name, "labels": {"app": cluster.name}},
            "spec": {
                "replicas": 1,
                # Two copies would not fit the GPUs of the node while one replaces the other.
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": {"app": cluster.name, "part": group.name}},
                "template": {"metadata": {"labels": labels}, "spec": leader},
            },
        }
    template: dict[str, Any] = {
        "size": len(group.parts),
        "restartPolicy": "RecreateGroupOnPodRestart",
        "leaderTemplate": {"metadata": {"labels": labels}, "spec": leader},
        "workerTemplate": {
            "metadata": {"labels": {**labels, "role": "worker"}},
            "spec": _worker_pod(cluster, group) if len(group.parts) > 1 else leader,
        },
    }
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": group.name, "labels": {"app": cluster.name}},
        "spec": {"replicas": 1, "leaderWorkerTemplate": template},
    }


def _pod(
    cluster: Cluster, group: Group, part: Contained, helpers: list[Contained]
) -> dict[str, Any]:
    write = translated(cluster, group)
    container = _container(cluster, part, write)
    container |= {"command": ["vllm", "serve"], "args": words_of(part.process, write)}
    own = [_helper_container(cluster, helper, write) for helper in helpers]
    return {"containers": [_ordered(container), *own], "volumes": _volumes(cluster, part.process)}


def _worker_pod(cluster: Cluster, group: Group) -> dict[str, Any]:
    """One template for all workers: what differs between them is counted from their index."""
    write = translated(cluster, group)
    workers = group.parts[1:]
    rows = [words_of(part.process, write) for part in workers]
    if len({len(row) for row in rows}) != 1:
        raise RenderRefusedError(f"kubernetes: the workers of {group.name} differ in their flags")
    words = [
        _indexed(group, [part.process.node for part in workers], list(column))
        for column in zip(*rows, strict=True)
    ]
    container = _container(cluster, workers[0], write)
    if any(env_of(cluster, part.process, write) != container.get("env", []) for part in workers):
        raise RenderRefusedError(f"kubernetes: the workers of {group.name} differ in variables")
    if any(counted for _, counted in words):
        # Kubernetes expands $(NAME) before the shell sees it.
        text = " ".join(word if counted else shlex.quote(word) for word, counted in words)
        container |= {"command": ["sh", "-c"], "args": [f"exec vllm serve {text}"]}
    else:
        container |= {"command": ["vllm", "serve"], "args": [word for word, _ in words]}
    volumes = _volumes(cluster, workers[0].process)
    return {"containers": [_ordered(container)], "volumes": volumes}


def _indexed(group: Group, nodes: list[int], column: list[str]) -> tuple[str, bool]:
    """A word of all workers, and whether a shell has to count it."""
    if len(set(column)) == 1:
        return column[0], False
    if column == [str(node) for node in nodes]:
        return f"$({INDEX})", False
    step = int(column[0]) // nodes[0] if column[0].isdigit() else 0
    if step and column == [str(node * step) for node in nodes]:
        return f'"$(({INDEX} * {step}))"', True
    raise RenderRefusedError(f"kubernetes: the workers of {group.name} differ: {column}")


def _container(cluster: Cluster, part: Contained, write: Word) -> dict[str, Any]:
    process = part.process
    container: dict[str, Any] = {"name": "vllm", "image": part.image}
    env = env_of(cluster, process, write)
    if env:
        container["env"] = env
    if cluster.resource and part.gpus:
        container["resources"] = {"limits": {cluster.resource: str(part.gpus)}}
    if cluster.resource == "amd.com/gpu":
        container["securityContext"] = {"seccompProfile": {"type": "Unconfined"}}
    container["volumeMounts"] = [
        {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108
        {"name": "cache", "mountPath": CACHE_PATH},
        *(
            {"name": f"folder-{number}", "mountPath": target, "readOnly": True}
            for number, (_, target) in enumerate(_folders(process))
        ),
    ]
    if process.port is not None and "--headless" not in process.argv:
        container["ports"] = [{"name": "http", "containerPort": process.port}]
        probe = {"httpGet": {"path": HEALTH, "port": process.port}}
        # An hour for the download and the warm-up, then a minute of silence at most.
        container["startupProbe"] = {**probe, "periodSeconds": 10, "failureThreshold": 360}
        container["readinessProbe"] = {**probe, "periodSeconds": 10, "failureThreshold": 6}
    return container


_ORDER = (
    "name", "image", "command", "args", "env", "ports", "resources", "securityContext",
    "volumeMounts", "startupProbe", "readinessProbe",
)  # fmt: skip


def _ordered(container: dict[str, Any]) -> dict[str, Any]:
    return {key: container[key] for key in _ORDER if key in container}


def _folders(process: Process) -> list[tuple[str, str]]:
    """Folders of the host beside the cache: source and place in the container."""
    volumes = process.container.volumes[1:] if process.container else []
    found = []
    for volume in volumes:
        source, target, *_ = volume.split(":")
        if not source.startswith("/"):
            raise RenderRefusedError(f"kubernetes: {source} is not the full path of a folder")
        found.append((source, target))
    return found


def _volumes(cluster: Cluster, process: Process) -> list[dict[str, Any]]:
    folder = cluster.deployment.values.cache_folder
    cache = {"hostPath": {"path": folder}} if folder else {"emptyDir": {}}
    return [
        # vLLM's processes talk through shared memory; the default of 64 MiB is too little.
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "cache", **cache},
        *(
            {"name": f"folder-{number}", "hostPath": {"path": source}}
            for number, (source, _) in enumerate(_folders(process))
        ),
    ]


# --- router and service -----------------------------------------------------------------------


def _router_port(process: Process) -> int:
    return process.port or int(INSIDE["ROUTER_PORT"])


def _helper_container(cluster: Cluster, part: Contained, write: Word) -> dict[str, Any]:
    process = part.process
    used = open_names(process.argv, cluster.open())
    container: dict[str, Any] = {
        "name": slug(process.name),
        "image": part.image,
        "command": part.words[:2],
        "args": [write(word) for word in part.words[2:]],
        "env": [from_config_map(cluster, name) for name in used],
        "ports": [{"name": "router", "containerPort": _router_port(process)}],
    }
    return {key: value for key, value in container.items() if value}


def _helper(cluster: Cluster, part: Contained) -> dict[str, Any]:
    name = f"{cluster.name}-{slug(part.process.name)}"
    labels = {"app": cluster.name, "part": name}
    container = _helper_container(cluster, part, translated(cluster, None))
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": cluster.name}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _service(cluster: Cluster, helpers: list[Contained]) -> dict[str, Any]:
    """The address that clients use: the router's, or the engine's first node."""
    router = next((part.process for part in helpers if part.process.role == "router"), None)
    entry = router or cluster.groups[0].parts[0].process
    port = _router_port(entry) if router else entry.port or 8000
    selector = {"app": cluster.name, "part": cluster.groups[0].name, "role": "leader"}
    if router is not None and len(cluster.groups) > 1:
        selector = {"app": cluster.name, "part": f"{cluster.name}-{slug(router.name)}"}
    # A set's own headless service has its name already.
    taken = any(group.is_set and group.name == cluster.name for group in cluster.groups)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"{cluster.name}-api" if taken else cluster.name},
        "spec": {
            "selector": selector,
            "ports": [{"name": "http", "port": port, "targetPort": port}],
        },
    }
