"""The command card's content: install, files, each process in start order, what clients run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from recipes_core.deployment import Deployment, Process
from recipes_core.explorer.frontend import zip_of
from recipes_core.flags import Provenance
from recipes_core.render.clients import Clients, clients_of
from recipes_core.render.machines import machines
from recipes_core.render.scripts import WAYS, InstallPart, install_parts, script_files, scripts_of
from recipes_core.render.serve import process_title
from recipes_core.render.shell import (
    docker_command,
    guarded_script,
    heredoc,
    needed_names,
    open_values,
    script,
)

Step = dict[str, Any]
MAX_SOURCE = 160
MOST_TABS = 40
"""Engines that have a tab each; in a wall of a thousand nobody finds a machine."""
_NAME = re.compile(r"\s*(?:(?=--)|export |-e )([\w-][\w.-]*)")


def steps_of(deployment: Deployment) -> list[Step]:
    """The tabs, in the order in which a reader needs them."""
    steps = [_install(deployment)]
    values = open_values(deployment)
    if values:
        steps.append(_values(values))
    if deployment.files:
        steps.append(_files(deployment))
    engines = [process.name for process in deployment.processes if process.is_engine]
    further = set(engines[MOST_TABS:])
    about = _About(deployment, len(engines), {item.name for item in deployment.missing})
    for number, process in enumerate(deployment.processes, 1):
        if process.name not in further:
            steps.append(_process(about, process, number))
        if further and process.name == engines[-1]:
            steps.append(_further(deployment, further))
    steps += _clients(deployment)
    return steps


class _About(NamedTuple):
    """What each process says of the others."""

    deployment: Deployment
    engines: int
    open_values: set[str]


def _further(deployment: Deployment, names: set[str]) -> Step:
    """The processes without a tab: where their scripts are."""
    files = [file for file, process in scripts_of(deployment).items() if process.name in names]
    text = "\n".join(f"# {file}" for file in files)
    return {
        "id": "further",
        "title": f"{len(files):,} more",
        "order": 0,
        "blocks": [_block(text, "Scripts of the other processes", title="In the zip")],
        "note": "The zip holds a script for each of these too.",
    }


def _block(text: str, label: str, **more: Any) -> dict[str, Any]:
    return {"text": text.rstrip("\n"), "label": label, **more}


def _install(deployment: Deployment) -> Step:
    driver = deployment.install.driver
    blocks = [
        _block(part.text, _install_label(part), title=part.title, form=part.form, note=part.note)
        for part in install_parts(deployment)
    ]
    return {
        "id": "install",
        "title": "Install",
        "order": 0,
        "blocks": blocks or [_block("# nothing to install is known for this hardware", "Install")],
        "note": f"On the machine: NVIDIA driver for {driver}." if driver else "",
    }


def _install_label(part: InstallPart) -> str:
    if part.extra:
        return f"Install: also, {part.note}" if part.note else "Install: also"
    return f"Install: {part.title}"


def first_form(deployment: Deployment) -> str:
    """The form to begin with: what was asked, else the recipe's first way that can be had."""
    asked = deployment.configuration.install
    if asked is not None:
        return "docker" if asked == "docker" else "shell"
    had = (WAYS[name][0] for name, step in deployment.install.tabs.items() if step is not None)
    return next(had, "shell")


def _values(text: str) -> Step:
    note = (
        "Fill them in and paste them on every machine before its command. Under Your cluster they"
        " are filled in once and stand in each command."
    )
    blocks = [_block(text, "Values of your cluster")]
    return {"id": "values", "title": "Values", "order": 0, "blocks": blocks, "note": note}


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
    if process.role == "instance" and (deployment.configuration.kv_instances or 1) > 1:
        place = f", node {process.node + 1}" if nodes > 1 else ""
        return f"Instance {(process.instance or 0) + 1}{place}"
    return process_title(deployment, process)


def _process(about: _About, process: Process, number: int) -> Step:
    deployment = about.deployment
    title = tab_title(deployment, process)
    text = script(process)
    main = process is deployment.first_engine
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
    notes = _place(about, process, number)
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


def _place(about: _About, process: Process, number: int) -> list[str]:
    """Which of several processes it is, and the values that it waits for."""
    found = []
    deployment = about.deployment
    count = len(deployment.processes)
    if count > 1:
        found.append(f"Step {number} of {count}: {process_title(deployment, process)}.")
    if process.is_engine and about.engines > 1:
        found.append("Start all engines without waiting for the one before.")
    needed = needed_names(deployment, process)
    names = [f"${name}" for name in needed if name in about.open_values]
    if names:
        found.append(f"Give values first: {', '.join(names)}.")
    return found


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
    steps.append(_stop(deployment, clients))
    return steps


def _stop(deployment: Deployment, clients: Clients) -> Step:
    blocks = [_block(clients.stop, "Stop", form="shell")]
    if clients.stop_containers:
        blocks.append(_block(clients.stop_containers, "Stop the containers", form="docker"))
    where = "each machine, one after another" if len(machines(deployment)) > 1 else "the machine"
    note = f"On {where}. It stops every vLLM server there, also those of others."
    return {"id": "stop", "title": "Stop", "order": 0, "blocks": blocks, "note": note}


def mark_changes(before: list[Step], after: list[Step]) -> None:
    """Number the lines of each block that its predecessor did not have, and name what it lost.

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
        old_lines, lines = known["text"].split("\n"), block["text"].split("\n")
        changed = _new_lines(old_lines, lines)
        if changed:
            block["changed"] = changed
        if block.get("form"):
            still = _names(lines)
            gone = [name for name in _names(old_lines) if name not in still]
            if gone:
                block["gone"] = gone


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


def _names(lines: list[str]) -> dict[str, None]:
    """Flags and variables that stand at the beginning of a line."""
    found = (_NAME.match(line) for line in lines)
    return {match[1]: None for match in found if match}


def _twin(line: str) -> str:
    """The same line with, or without, the sign that the command goes on."""
    return line.removesuffix(" \\") if line.endswith(" \\") else f"{line} \\"


def file_asked(deployment: Deployment, message: object) -> tuple[str, str | bytes, str] | None:
    """The file that a command card asks for; None where there is no such file.

    Args:
        deployment: What ``deploy`` made.
        message: What the browser sent: ``kind`` (``script`` or ``zip``), ``id`` of a process and
            ``form``.

    Returns:
        Name, content and media type.
    """
    if not isinstance(message, dict):
        return None
    docker = message.get("form") == "docker"
    if message.get("kind") == "zip":
        name = deployment.configuration.entry.id.replace("/", "--")
        return f"{name}.zip", zip_of(script_files(deployment, docker=docker)), "application/zip"
    for process in deployment.processes:
        if message.get("kind") == "script" and process.name == message.get("id"):
            text = guarded_script(deployment, process, docker=docker)
            return f"{process.name}.sh", text, "text/x-shellscript"
    return None
