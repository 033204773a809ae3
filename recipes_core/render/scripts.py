"""Every script and file of a deployment, by the name under which it is kept."""

from __future__ import annotations

from typing import NamedTuple

from recipes_core.deployment import Deployment, Process
from recipes_core.render.clients import clients_of
from recipes_core.render.shell import HEAD, guarded_script, guards_of, open_values

WAYS = {"pip": ("shell", "Python environment"), "docker": ("docker", "Docker image")}
"""Form of the commands and title, for each way to install."""


class InstallPart(NamedTuple):
    """Commands that install something, or a comment that says why they cannot be had."""

    form: str
    """``shell`` or ``docker``: beside which commands it is needed."""
    title: str
    text: str
    note: str | None = None
    extra: bool = False
    """Needed beside vLLM itself, such as a KV store's package."""


def install_parts(deployment: Deployment) -> list[InstallPart]:
    """What installs the software: each way, then what is needed besides."""
    install = deployment.install
    parts = []
    for name, step in install.tabs.items():
        form, title = WAYS[name]
        if step is not None:
            parts.append(InstallPart(form, title, step.command, step.note))
        elif install.reasons.get(name):
            parts.append(InstallPart(form, title, f"# {install.reasons[name]}"))
    parts += [
        InstallPart(form, "Also", step.command, step.note, extra=True)
        for step in install.extras
        for form, needed in (("shell", step.pip), ("docker", step.docker))
        if needed
    ]
    return parts


def scripts_of(deployment: Deployment) -> dict[str, Process]:
    """The processes in start order, each by the file that its script is kept in."""
    width = max(2, len(str(len(deployment.processes))))
    return {
        f"{n:0{width}d}-{process.name}.sh": process
        for n, process in enumerate(deployment.processes, 1)
    }


def script_files(deployment: Deployment, *, docker: bool = False) -> dict[str, str]:
    """Every script and file of a deployment, by the name under which it is downloaded.

    Args:
        deployment: What ``deploy`` made.
        docker: Run what has a container in it.
    """
    files = {}
    values = open_values(deployment)
    if values:
        files["values.sh"] = f"# Fill in, then on every machine: source values.sh\n{values}"
    form = "docker" if docker else "shell"
    install = [part.text.rstrip("\n") for part in install_parts(deployment) if part.form == form]
    files["install.sh"] = HEAD + "\n".join(install) + "\n"
    for name, process in scripts_of(deployment).items():
        files[name] = guarded_script(deployment, process, docker=docker)
    clients = clients_of(deployment)
    names = [item.name for item in deployment.missing if f"${item.name}" in clients.wait]
    head = HEAD + guards_of(deployment, names)
    files["first-request.sh"] = f"{head}{clients.wait}\n{clients.curl}\n"
    if clients.bench:
        files["benchmark.sh"] = f"{head}{clients.wait}\n{clients.bench}\n"
    return files
