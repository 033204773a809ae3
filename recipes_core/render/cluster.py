"""Names and values in a cluster: addresses of pods, and words as Kubernetes expands them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from recipes_core.deployment.model import Deployment, Process
from recipes_core.deployment.names import PLACEHOLDER
from recipes_core.render.containers import Contained, arguments, open_names, slug

Word = Callable[[str], str]
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


@dataclass(slots=True, eq=False)
class Group:
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
class Cluster:
    """Names and values that the manifests of a deployment share."""

    deployment: Deployment
    name: str
    groups: list[Group]
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


def cluster_of(deployment: Deployment, parts: list[Contained], resource: str | None) -> Cluster:
    """The engines of a deployment in groups, each node with the name that finds it.

    Args:
        deployment: What ``deploy`` made.
        parts: Its processes in their containers.
        resource: What the device plugin counts; None for a CPU.
    """
    name = slug(deployment.configuration.entry.id.rsplit("/", 1)[-1])
    engines = [part for part in parts if part.process.is_engine]
    groups = []
    for key, members in groupby(engines, lambda part: (part.process.pool, part.process.instance)):
        pool, instance = key
        own = list(members)
        tail = pool or (f"instance-{instance + 1}" if instance is not None else None)
        label = f"{name}-{tail}" if tail else name
        groups.append(Group(label, own, is_set=len(own) > 1 or pool is not None))
    cluster = Cluster(deployment, name, groups, resource)
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


def _literal(word: str) -> str:
    return word.replace("$(", "$$(")


def translated(cluster: Cluster, own: Group | None) -> Word:
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


def words_of(process: Process, write: Word) -> list[str]:
    """Model and flags; what a reader typed is not expanded."""
    return [_literal(word) if typed else write(word) for word, typed in arguments(process)]


def env_of(cluster: Cluster, process: Process, write: Word) -> list[dict[str, Any]]:
    """The variables of a container; open values and secrets come from the reader's objects."""
    own = {f"${name}" for name in _names_of(process)}
    used = open_names([*process.argv, *process.env.values()], cluster.open())
    entries: list[dict[str, Any]] = [from_config_map(cluster, name) for name in used]
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


def from_config_map(cluster: Cluster, name: str) -> dict[str, Any]:
    """A variable whose value the reader's ConfigMap has."""
    return {
        "name": name,
        "valueFrom": {"configMapKeyRef": {"name": cluster.config_map, "key": name}},
    }
