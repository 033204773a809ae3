"""The Serve section of the Markdown page: processes in start order, files, placeholders."""

from __future__ import annotations

from recipes_core.deployment.model import Deployment, File, Process
from recipes_core.render.shell import docker_command, heredoc, script
from recipes_core.render.text import code, codes, fence, inline

_START = {"before": "start before vLLM", "after": "start after vLLM"}


def serve_blocks(deployment: Deployment) -> list[str]:
    """Everything to paste, each process under its own heading unless there is but one engine."""
    blocks = _placeholders(deployment)
    engines = [process for process in deployment.processes if process.is_engine]
    alone = len(engines) == 1 and deployment.processes[0] is engines[0] and not deployment.files
    for file in deployment.files:
        blocks += _file(file)
    for process in deployment.processes:
        if not (alone and process is engines[0]):
            blocks.append(f"### {process_heading(deployment, process)}")
        blocks += _process(process)
    return blocks


def process_title(deployment: Deployment, process: Process) -> str:
    """What a process is, for a heading or a tab: ``vLLM``, ``Prefill node 2 of 4``."""
    nodes = process.layout.nodes if process.layout is not None else 1
    place = f" node {process.node + 1} of {nodes}" if nodes > 1 else ""
    if process.role == "head":
        return f"Head node (1 of {nodes})"
    if process.role == "worker":
        return f"Worker node ({process.node + 1} of {nodes})"
    if process.role in {"prefill", "decode"}:
        return f"{process.role.capitalize()}{place}"
    if process.role == "instance":
        count = deployment.configuration.kv_instances or 1
        number = f" {(process.instance or 0) + 1} of {count}" if count > 1 else ""
        return f"Instance{number}{',' + place if place else ''}"
    if process.role == "serve":
        return "vLLM"
    return process.label or process.name.capitalize()


def process_heading(deployment: Deployment, process: Process) -> str:
    """The title with the moment to start it, where it is not an engine."""
    title = inline(process_title(deployment, process))
    when = _START.get(process.start) if not process.is_engine else None
    return f"{title} ({when})" if when else title


def _placeholders(deployment: Deployment) -> list[str]:
    open_ones = deployment.missing
    if not open_ones:
        return []
    lines = [f"- {code('$' + item.name)}: {inline(item.hint)}" for item in open_ones]
    return ["Give each of these a value before you start, on every node:", "\n".join(lines)]


def _file(file: File) -> list[str]:
    return [
        f"### File {code(file.path)}",
        f"Write it on the nodes of {codes(file.used_by)}:",
        fence(heredoc(file)),
    ]


def _process(process: Process) -> list[str]:
    blocks = []
    about = [inline(process.description)] if process.description else []
    if process.install and not process.is_engine:
        about.append(f"Install it with {code(process.install)}.")
    if about:
        blocks.append(" ".join(about))
    blocks.append(fence(script(process)))
    container = docker_command(process)
    if container is not None:
        blocks += ["Docker equivalent:", fence(container)]
    return blocks
