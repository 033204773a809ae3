"""Kubernetes manifests: a Deployment for one node, a LeaderWorkerSet where nodes work together."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from recipes_core.deployment.container import kind_of
from recipes_core.deployment.model import Deployment, Process
from recipes_core.deployment.names import PLACEHOLDER
from recipes_core.errors import RenderRefusedError
from recipes_core.render.containers import (
    HEALTH,
    Contained,
    arguments,
    contained,
    open_names,
    slug,
)
from recipes_core.render.serve import process_title
from recipes_core.render.yaml_text import comment, yaml_text

Word = Callable[[str], str]
GPU_RESOURCES = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "cpu": None}
"""What the vendor's device plugin counts; kinds that are not here have no name we know."""
INSIDE = {
    "ROUTER_HOST": "0.0.0.0",  # noqa: S104
    "ROUTER_PORT": "8000",
    "PREFILL_DP_RPC_PORT": "13345",
    "DECODE_DP_RPC_PORT": "13345",
}
"""Ports and hosts are a pod's own, so any will do; other placeholders are the cluster's."""
LEADER = "$(LWS_LEADER_ADDRESS)"
INDEX = "LWS_WORKER_INDEX"
"""Variables that LeaderWorkerSet gives each of its pods."""
CACHE_PATH = "/root/.cache/huggingface"


@dataclass(slots=True, eq=False)
class _Group:
    """The nodes of one engine, or of one pool or instance."""

    name: str
    parts: list[Contained]
    is_set: bool
    """A LeaderWorkerSet, whose pods have names."""

    def address(self, node: int) -> str:
        """DNS name of a node's pod."""
        pod = f"{self.name}-0" if node == 0 else f"{self.name}-0-{node}"
        return f"{pod}.{self.name}"


@dataclass(slots=True, eq=False)
class _Cluster:
    """Names and values that the manifests of a deployment share."""

    deployment: Deployment
    name: str
    groups: list[_Group]
    resource: str | None
    addresses: dict[str, str] = field(default_factory=dict)

    @property
    def config_map(self) -> str:
        """The values that only the reader knows; the reader makes it."""
        return f"{self.name}-values"

    @property
    def secret(self) -> str:
        """The values that are not for everybody; the reader makes it."""
        return f"{self.name}-secrets"

    def secrets(self) -> list[str]:
        """Keys of the secret: the variables that the reader named."""
        values = self.deployment.values
        return [name for name in (values.hf_token_var, values.api_key_var) if name]

    def open(self) -> dict[str, str]:
        """Placeholders that neither the cluster nor a pod answers, with their hints."""
        known = {*self.addresses, *INSIDE, *self.secrets()}
        return {item.name: item.hint for item in self.deployment.missing if item.name not in known}


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
    cluster = _cluster(deployment, parts, GPU_RESOURCES[kind])
    helpers = [part for part in parts if not part.process.is_engine]
    inside = helpers if len(cluster.groups) == 1 else []
    documents = [_workload(cluster, group, inside) for group in cluster.groups]
    documents += [_helper(cluster, part) for part in helpers if part not in inside]
    documents.append(_service(cluster, helpers))
    head = comment(_head(cluster))
    return head + "---\n".join(yaml_text(document) for document in documents)


def _cluster(deployment: Deployment, parts: list[Contained], resource: str | None) -> _Cluster:
    name = slug(deployment.configuration.entry.id.rsplit("/", 1)[-1])
    engines = [part for part in parts if part.process.is_engine]
    groups = []
    for key, members in groupby(engines, lambda part: (part.process.pool, part.process.instance)):
        pool, instance = key
        own = list(members)
        tail = pool or (f"instance-{instance + 1}" if instance is not None else None)
        label = f"{name}-{tail}" if tail else name
        groups.append(_Group(label, own, is_set=len(own) > 1 or pool is not None))
    cluster = _Cluster(deployment, name, groups, resource)
    for group in groups:
        for part in group.parts:
            address = group.address(part.process.node) if group.is_set else group.name
            for placeholder in _names_of(part.process):
                cluster.addresses[placeholder] = address
    return cluster


def _names_of(process: Process) -> list[str]:
    """Placeholders that stand for the node of a process."""
    if process.pool is not None:
        return [f"{process.pool.upper()}_NODE_{process.node + 1}"]
    if process.node:
        return [f"WORKER_{process.node}_IP"]
    return ["HEAD_IP"]


def _head(cluster: _Cluster) -> list[str]:
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


# --- words ------------------------------------------------------------------------------------


def _literal(word: str) -> str:
    return word.replace("$(", "$$(")


def _translate(cluster: _Cluster, own: _Group | None) -> Word:
    """How a word with our placeholders is written where Kubernetes expands ``$(NAME)``."""
    hints = {item.name for item in cluster.deployment.missing}

    def value(name: str) -> str:
        if own is not None and own.is_set and cluster.addresses.get(name) == own.address(0):
            return LEADER
        return cluster.addresses.get(name) or INSIDE.get(name) or f"$({name})"

    def write(word: str) -> str:
        names = open_names([word], hints)
        parts, end = [], 0
        for match in PLACEHOLDER.finditer(word):
            if match[1] in names:
                parts += [_literal(word[end : match.start()]), value(match[1])]
                end = match.end()
        return "".join([*parts, _literal(word[end:])])

    return write


def _words(process: Process, write: Word) -> list[str]:
    """Model and flags; what a reader typed is not expanded."""
    return [_literal(word) if typed else write(word) for word, typed in arguments(process)]


def _env(cluster: _Cluster, process: Process, write: Word) -> list[dict[str, Any]]:
    own = {f"${name}" for name in _names_of(process)}
    used = open_names([*process.argv, *process.env.values()], cluster.open())
    entries: list[dict[str, Any]] = [_from_config_map(cluster, name) for name in used]
    for name, value in process.env.items():
        if name == "CUDA_VISIBLE_DEVICES":
            continue
        if value.removeprefix("$") in cluster.secrets():
            secret = {"name": cluster.secret, "key": value.removeprefix("$")}
            entries.append({"name": name, "valueFrom": {"secretKeyRef": secret}})
        elif value in own:
            # A name cannot be listened on; the pod's address can.
            field_ref = {"fieldPath": "status.podIP"}
            entries.append({"name": name, "valueFrom": {"fieldRef": field_ref}})
        else:
            entries.append({"name": name, "value": write(value)})
    return entries


def _from_config_map(cluster: _Cluster, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "valueFrom": {"configMapKeyRef": {"name": cluster.config_map, "key": name}},
    }


# --- pods -------------------------------------------------------------------------------------


def _workload(cluster: _Cluster, group: _Group, helpers: list[Contained]) -> dict[str, Any]:
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
    cluster: _Cluster, group: _Group, part: Contained, helpers: list[Contained]
) -> dict[str, Any]:
    write = _translate(cluster, group)
    container = _container(cluster, part, write)
    container |= {"command": ["vllm", "serve"], "args": _words(part.process, write)}
    own = [_helper_container(cluster, helper, write) for helper in helpers]
    return {"containers": [_ordered(container), *own], "volumes": _volumes(cluster, part.process)}


def _worker_pod(cluster: _Cluster, group: _Group) -> dict[str, Any]:
    """One template for all workers: what differs between them is counted from their index."""
    write = _translate(cluster, group)
    workers = group.parts[1:]
    rows = [_words(part.process, write) for part in workers]
    if len({len(row) for row in rows}) != 1:
        raise RenderRefusedError(f"kubernetes: the workers of {group.name} differ in their flags")
    words = [
        _indexed(group, [part.process.node for part in workers], list(column))
        for column in zip(*rows, strict=True)
    ]
    container = _container(cluster, workers[0], write)
    if any(_env(cluster, part.process, write) != container.get("env", []) for part in workers):
        raise RenderRefusedError(f"kubernetes: the workers of {group.name} differ in variables")
    if any(counted for _, counted in words):
        # Kubernetes expands $(NAME) before the shell sees it.
        text = " ".join(word if counted else shlex.quote(word) for word, counted in words)
        container |= {"command": ["sh", "-c"], "args": [f"exec vllm serve {text}"]}
    else:
        container |= {"command": ["vllm", "serve"], "args": [word for word, _ in words]}
    volumes = _volumes(cluster, workers[0].process)
    return {"containers": [_ordered(container)], "volumes": volumes}


def _indexed(group: _Group, nodes: list[int], column: list[str]) -> tuple[str, bool]:
    """A word of all workers, and whether a shell has to count it."""
    if len(set(column)) == 1:
        return column[0], False
    if column == [str(node) for node in nodes]:
        return f"$({INDEX})", False
    step = int(column[0]) // nodes[0] if column[0].isdigit() else 0
    if step and column == [str(node * step) for node in nodes]:
        return f'"$(({INDEX} * {step}))"', True
    raise RenderRefusedError(f"kubernetes: the workers of {group.name} differ: {column}")


def _container(cluster: _Cluster, part: Contained, write: Word) -> dict[str, Any]:
    process = part.process
    container: dict[str, Any] = {"name": "vllm", "image": part.image}
    env = _env(cluster, process, write)
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


def _volumes(cluster: _Cluster, process: Process) -> list[dict[str, Any]]:
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


def _helper_container(cluster: _Cluster, part: Contained, write: Word) -> dict[str, Any]:
    process = part.process
    used = open_names(process.argv, cluster.open())
    container: dict[str, Any] = {
        "name": slug(process.name),
        "image": part.image,
        "command": part.words[:2],
        "args": [write(word) for word in part.words[2:]],
        "env": [_from_config_map(cluster, name) for name in used],
        "ports": [{"name": "router", "containerPort": _router_port(process)}],
    }
    return {key: value for key, value in container.items() if value}


def _helper(cluster: _Cluster, part: Contained) -> dict[str, Any]:
    name = f"{cluster.name}-{slug(part.process.name)}"
    labels = {"app": cluster.name, "part": name}
    container = _helper_container(cluster, part, _translate(cluster, None))
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


def _service(cluster: _Cluster, helpers: list[Contained]) -> dict[str, Any]:
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
