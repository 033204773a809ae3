"""The command card's content: install, files, each process in start order, what clients run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from recipes_core.deployment import Deployment, Process
from recipes_core.flags import Provenance
from recipes_core.render.clients import clients_of
from recipes_core.render.serve import process_title
from recipes_core.render.shell import docker_command, guarded_script, heredoc, script

Step = dict[str, Any]
MAX_SOURCE = 160


def steps_of(deployment: Deployment) -> list[Step]:
    """The tabs, in the order in which a reader needs them."""
    steps = [_install(deployment)]
    if deployment.files:
        steps.append(_files(deployment))
    main = _main(deployment)
    steps += [
        _process(deployment, process, number, process is main)
        for number, process in enumerate(deployment.processes, 1)
    ]
    steps += _clients(deployment)
    return steps


def _main(deployment: Deployment) -> Process:
    return next(process for process in deployment.processes if process.is_engine)


def _block(text: str, label: str, **more: Any) -> dict[str, Any]:
    return {"text": text.rstrip("\n"), "label": label, **more}


def _install(deployment: Deployment) -> Step:
    install = deployment.install
    blocks = []
    for name, step in install.tabs.items():
        title = {"pip": "Python environment", "docker": "Docker image"}.get(name, name)
        if step is not None:
            blocks.append(_block(step.command, f"Install: {title}", title=title, note=step.note))
        elif install.reasons.get(name):
            blocks.append(_block(f"# {install.reasons[name]}", title, title=title))
    blocks += [
        _block(step.command, "Install: also", title="Also", note=step.note)
        for step in install.extras
    ]
    note = f"NVIDIA driver {install.driver} or newer" if install.driver else ""
    blocks = blocks or [_block("# nothing to install is known for this hardware", "Install")]
    return {"id": "install", "title": "Install", "order": 0, "blocks": blocks, "note": note}


def _files(deployment: Deployment) -> Step:
    blocks = [
        _block(heredoc(file), f"File {file.path}", title=f"Read by {', '.join(file.used_by)}")
        for file in deployment.files
    ]
    return {"id": "files", "title": "Files", "order": 0, "blocks": blocks, "note": ""}


def source_text(source: Provenance) -> str:
    """Where a flag comes from, on one line."""
    words = [source.layer.replace("_", " "), source.source, source.key]
    return " · ".join(word for word in words if word)[:MAX_SOURCE]


def _why(process: Process, text: str) -> list[str]:
    """A source per line of a command, empty where the lines do not match the flags."""
    env = [f"${name}: {source_text(source)}" for name, source in process.env_from.items()]
    if len(env) != len(process.env):
        env = [""] * len(process.env)
    flags = [f"{flag.name}: {source_text(source)}" for flag, source in process.flags]
    lines = [*env, "", *flags]
    return lines if len(lines) == text.count("\n") + 1 else []


def tab_title(deployment: Deployment, process: Process) -> str:
    """What a process is, in the few letters that a tab has room for."""
    if process.role == "serve":
        return "Serve"
    if process.role == "head":
        return "Head"
    if process.role == "worker":
        return f"Node {process.node + 1}"
    nodes = process.layout.nodes if process.layout is not None else 1
    if process.role in {"prefill", "decode"}:
        return process.role.capitalize() + (f" {process.node + 1}" if nodes > 1 else "")
    return process_title(deployment, process)


def _process(deployment: Deployment, process: Process, number: int, main: bool) -> Step:
    title = tab_title(deployment, process)
    text = script(process)
    blocks = [
        _block(text, f"{title}: shell command", form="shell", main=main, why=_why(process, text))
    ]
    docker = docker_command(process)
    if docker is not None:
        blocks.append(_block(docker, f"{title}: docker command", form="docker", main=main))
    if process.install:
        blocks.insert(
            0, _block(process.install, f"{title}: install", title="Install", form="shell")
        )
    notes = []
    if process.start == "before":
        notes.append("Starts before vLLM.")
    elif process.start == "after":
        notes.append("Starts after vLLM answers.")
    if process.description:
        notes.append(process.description)
    if docker is None and process.container is not None and process.container.reason:
        notes.append(f"No container: {process.container.reason}.")
    return {
        "id": process.name,
        "title": title,
        "order": number if len(deployment.processes) > 1 else 0,
        "main": main,
        "blocks": blocks,
        "note": " ".join(notes),
        "file": f"{process.name}.sh",
    }


def _clients(deployment: Deployment) -> list[Step]:
    clients = clients_of(deployment)
    first = [
        _block(clients.wait, "Wait until it answers", title="Wait until it answers"),
        _block(clients.curl, "First request by curl", title="First request"),
    ]
    if clients.python:
        first.append(_block(clients.python, "First request in Python", title="The same in Python"))
    steps: list[Step] = [
        {"id": "request", "title": "First request", "order": 0, "blocks": first, "note": ""}
    ]
    if clients.bench:
        blocks = [_block(clients.bench, "Benchmark")]
        steps.append(
            {"id": "bench", "title": "Benchmark", "order": 0, "blocks": blocks, "note": ""}
        )
    blocks = [_block(clients.stop, "Stop")]
    steps.append({"id": "stop", "title": "Stop", "order": 0, "blocks": blocks, "note": ""})
    return steps


def mark_changes(before: list[Step], after: list[Step]) -> None:
    """Number the lines of each block that its predecessor did not have.

    Where processes have other names now, the main one is set against the main one before.
    """
    old = dict(_by_place(before))
    for key, block in _by_place(after):
        known = old.get(key)
        if known is None and key[0] == "":
            continue
        if known is None and block.get("main"):
            known = old.get(("", block.get("form"), 0))
        if known is None or known["text"] == block["text"]:
            continue
        changed = _new_lines(known["text"].split("\n"), block["text"].split("\n"))
        if changed:
            block["changed"] = changed


def _by_place(steps: list[Step]) -> Iterator[tuple[tuple[str, str | None, int], dict[str, Any]]]:
    for step in steps:
        for place, block in enumerate(step["blocks"]):
            yield (step["id"], block.get("form"), place), block
            if block.get("main"):
                yield ("", block.get("form"), 0), block


def _new_lines(before: list[str], after: list[str]) -> list[int]:
    left = Counter(before)
    changed = []
    for number, line in enumerate(after):
        found = line if left[line] else _twin(line)
        if left[found]:
            left[found] -= 1
        else:
            changed.append(number)
    return changed


def _twin(line: str) -> str:
    """The same line with, or without, the sign that the command goes on."""
    return line.removesuffix(" \\") if line.endswith(" \\") else f"{line} \\"


def script_files(deployment: Deployment) -> dict[str, str]:
    """Every script and file of a deployment, by the name under which it is downloaded."""
    files = {
        f"{number:02d}-{process.name}.sh": guarded_script(deployment, process)
        for number, process in enumerate(deployment.processes, 1)
    }
    clients = clients_of(deployment)
    head = "#!/usr/bin/env bash\nset -euo pipefail\n"
    files["first-request.sh"] = f"{head}{clients.wait}\n{clients.curl}\n"
    return files
