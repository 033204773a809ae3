"""A Compose file: one service per process, one profile per node."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from recipes_core.deployment.model import Deployment, Process
from recipes_core.deployment.names import PLACEHOLDER
from recipes_core.render.containers import (
    HEALTH,
    Contained,
    contained,
    open_names,
    slug,
)
from recipes_core.render.machines import Machine, machines
from recipes_core.render.serve import process_heading
from recipes_core.render.yaml_text import comment, yaml_text

CACHE = "${HF_CACHE:-~/.cache/huggingface}"


def to_compose(deployment: Deployment) -> str:
    """The Compose file of a deployment.

    Compose fills ``$NAME`` from its own environment and stops, with the hint, where one is missing.
    Several nodes share the file; each starts its own profile.

    Args:
        deployment: What ``deploy`` made.

    Raises:
        RenderRefusedError: A process has no image.
    """
    parts = {part.process.name: part for part in contained(deployment, "compose")}
    nodes = machines(deployment)
    hints = {item.name: item.hint for item in deployment.missing}
    services = {}
    for machine in nodes:
        for process in machine.processes:
            service = _service(parts[process.name], machine, hints, several=len(nodes) > 1)
            services[slug(process.name)] = service
    name = slug(deployment.configuration.entry.id.rsplit("/", 1)[-1])
    head = comment(_head(deployment, nodes))
    return head + yaml_text({"name": name, "services": services})


def _head(deployment: Deployment, nodes: list[Machine]) -> list[str]:
    lines = [
        f"{slug(process.name)}: {process_heading(deployment, process)}"
        for process in deployment.processes
    ]
    if len(nodes) > 1:
        lines += ["", "On each node, its own profile:"]
        lines += [f"docker compose --profile {slug(node.name)} up" for node in nodes]
    return lines


def _pairs(process: Process) -> list[list[str]]:
    words = [word for line in process.container.run for word in line] if process.container else []
    return [[word, value] for word, value in pairwise(words)]


def _service(
    part: Contained, machine: Machine, hints: Mapping[str, str], *, several: bool
) -> dict[str, Any]:
    process = part.process
    service: dict[str, Any] = {"image": part.image}
    if process.is_engine:
        service["command"] = _command(part, hints)
        service |= _settings(part, machine, hints)
    else:
        service["command"] = [_open(word, hints) for word in part.words]
        engine = next(other for other in machine.processes if other.is_engine)
        # In the engine's network, so that localhost is the engine's.
        on_host = engine.container is not None and ["--network", "host"] in _pairs(engine)
        service["network_mode"] = "host" if on_host else f"service:{slug(engine.name)}"
        service["depends_on"] = [slug(engine.name)]
    if several:
        service["profiles"] = [slug(machine.name)]
    service["restart"] = "unless-stopped"
    return service


def _command(part: Contained, hints: Mapping[str, str]) -> list[str]:
    """Most images start ``vllm serve`` themselves; the model and the flags follow."""
    words = list(part.process.container.entry) if part.process.container else []
    lines = part.process.lines()
    for number, line in enumerate(lines):
        own = line.words[2:] if number == 0 else line.words
        words += [_literal(word) if line.reader else _open(word, hints) for word in own]
    return words


def _settings(part: Contained, machine: Machine, hints: Mapping[str, str]) -> dict[str, Any]:
    """The words of ``docker run`` as keys of a service."""
    process = part.process
    found: dict[str, Any] = {}
    words = [word for line in process.container.run for word in line] if process.container else []
    read = iter(words)
    for word in read:
        name, equals, value = word.partition("=")
        if name in _VALUED and not equals:
            value = next(read)
        _set(found, name, value)
    if "ports" in found:
        helpers = [p for p in machine.processes if not p.is_engine and p.port]
        found["ports"] += [f"{helper.port}:{helper.port}" for helper in helpers]
    if process.env:
        found["environment"] = {name: _open(value, hints) for name, value in process.env.items()}
    volumes = process.container.volumes if process.container else []
    found.setdefault("volumes", [])
    for volume in volumes:
        text = _literal(volume) if volume in process.typed else _open(volume, hints)
        found["volumes"].append(text.replace("$$HF_CACHE:", f"{CACHE}:", 1))
    found |= _health(process)
    return found


_VALUED = frozenset(
    {"--gpus", "--device", "--security-opt", "--group-add", "--network", "-p", "-v"}
)
_LISTS = {
    "--device": "devices",
    "--security-opt": "security_opt",
    "--group-add": "group_add",
    "-p": "ports",
    "-v": "volumes",
}
_SINGLE = {"--ipc": "ipc", "--network": "network_mode", "--shm-size": "shm_size"}


def _set(found: dict[str, Any], name: str, value: str) -> None:
    if name in _LISTS:
        found.setdefault(_LISTS[name], []).append(value)
    elif name in _SINGLE:
        found[_SINGLE[name]] = value
    elif name == "--privileged":
        found["privileged"] = True
    elif name == "--gpus":
        device = {"driver": "nvidia", "count": value, "capabilities": ["gpu"]}
        found["deploy"] = {"resources": {"reservations": {"devices": [device]}}}
    else:
        raise ValueError(f"docker run {name} has no counterpart in a Compose file")


def _health(process: Process) -> dict[str, Any]:
    if process.port is None or process.role == "worker" or "--headless" in process.argv:
        return {}
    # Python is in every image of vLLM; curl is not.
    code = f"import urllib.request as r; r.urlopen('http://localhost:{process.port}{HEALTH}')"
    return {
        "healthcheck": {
            "test": ["CMD", "python3", "-c", code],
            "interval": "10s",
            "timeout": "5s",
            "retries": 3,
            "start_period": "1h",
        }
    }


def _literal(word: str) -> str:
    return word.replace("$", "$$")


def _open(word: str, hints: Mapping[str, str]) -> str:
    """A word in which Compose fills in our placeholders and nothing else."""
    if "$" not in word:
        return word
    names = open_names([word], hints)
    parts = []
    end = 0
    for match in PLACEHOLDER.finditer(word):
        if match[1] in names:
            parts += [_literal(word[end : match.start()]), f"${{{match[1]}:?{hints[match[1]]}}}"]
            end = match.end()
    return "".join([*parts, _literal(word[end:])])
