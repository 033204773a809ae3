"""What Compose and Kubernetes share: which processes can run in a container, and from what image.

A process whose image nobody publishes is refused, not guessed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable
from typing import NamedTuple

from recipes_core.deployment.container import kind_of
from recipes_core.deployment.model import Deployment, Process
from recipes_core.deployment.names import placeholders_in
from recipes_core.errors import RenderRefusedError

PYTHON_IMAGE = "python:3.12-slim"
"""Runs a router: a Python package that needs no GPU."""
HEALTH = "/health"
_PACKAGE = re.compile(r"(?:uv )?pip install ([A-Za-z0-9._-]+(?:==[A-Za-z0-9.]+)?)")
_OPEN = re.compile(r"(?:[\w./=:@,+%-]|\$[A-Za-z_]\w*)+", re.ASCII)


class Contained(NamedTuple):
    """A process as a container runs it."""

    process: Process
    image: str
    words: list[str]
    """The command with its arguments; ``$NAME`` of ours is still in it."""
    gpus: int
    """GPUs that it uses; 0 for a helper."""


def contained(deployment: Deployment, target: str) -> list[Contained]:
    """Every process of a deployment with its image, in start order.

    Args:
        deployment: What ``deploy`` made.
        target: What is rendered, for a message.

    Raises:
        RenderRefusedError: A process has no image.
    """
    return [_contained(deployment, process, target) for process in deployment.processes]


def _contained(deployment: Deployment, process: Process, target: str) -> Contained:
    if process.is_engine:
        container = process.container
        if container is None or container.image is None:
            reason = container.reason if container else None
            raise RenderRefusedError(f"{target}: no image for {process.name}: {reason or 'none'}")
        gpus = 0
        if kind_of(deployment.configuration.profile) != "cpu":
            layout = process.layout
            gpus = layout.gpus_per_node if layout else deployment.configuration.profile.gpu_count
        return Contained(process, container.image, list(process.argv), gpus)
    package = _pip_package(process.install)
    if process.role == "router" and package is not None:
        text = f"pip install --no-cache-dir {package} && exec {_quoted(process.argv)}"
        return Contained(process, PYTHON_IMAGE, ["sh", "-c", text], 0)
    raise RenderRefusedError(
        f"{target}: no image is known for {process.label or process.name}; it is an install on the"
        " machine. The shell, script and slurm forms have it"
    )


def _pip_package(install: str | None) -> str | None:
    """``vllm-router==0.1.16`` of ``uv pip install vllm-router==0.1.16``; None for anything else."""
    match = _PACKAGE.fullmatch(install or "")
    return match[1] if match else None


def _quoted(words: list[str]) -> str:
    """Words for ``sh -c`` in which ``$NAME`` of ours stays open."""
    return " ".join(word if _OPEN.fullmatch(word) else shlex.quote(word) for word in words)


def arguments(process: Process) -> list[tuple[str, bool]]:
    """Model and flags of an engine, each word with whether a reader typed it.

    Nothing in a word that a reader typed is expanded.
    """
    found = []
    for number, line in enumerate(process.lines()):
        own = line.words[2:] if number == 0 else line.words
        found += [(word, line.reader or word in process.typed) for word in own]
    return found


def open_names(words: Iterable[str], known: Collection[str]) -> list[str]:
    """Names of the placeholders in some words, those of the deployment only, in order."""
    return [name for name in placeholders_in(words) if name in known]


def slug(text: str, most: int = 40) -> str:
    """A name for objects and services: lower case, digits and single hyphens."""
    word = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:most].strip("-")
    return word if word[:1].isalpha() else f"m-{word}".strip("-")
