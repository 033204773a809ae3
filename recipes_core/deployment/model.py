"""What a deployment is made of: processes, files, install steps, placeholders.

No text is made here: words of an argument vector are not quoted. ``$NAME`` stands for a value that
the reader has to give.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from recipes_core.configuration import Configuration
from recipes_core.findings import Finding
from recipes_core.flags import Flag, Provenance
from recipes_core.topology import Pool

ENGINE_ROLES = frozenset({"serve", "head", "worker", "prefill", "decode", "instance"})


@dataclass(frozen=True, slots=True)
class ReaderValues:
    """What a reader fills in once for all commands; secrets by the name of a variable only."""

    placeholders: Mapping[str, str] = field(default_factory=dict)
    """By name without ``$``: ``HEAD_IP``, ``IFACE_NAME`` …"""
    model_path: str | None = None
    """A folder or mirror in place of the checkpoint's id."""
    hf_token_var: str | None = None
    """Name of the variable that holds the Hugging Face token."""
    api_key_var: str | None = None
    """Name of the variable that holds the server's API key."""
    cache_folder: str | None = None
    """Folder of downloaded checkpoints."""

    def __post_init__(self) -> None:
        for name in (self.hf_token_var, self.api_key_var, *self.placeholders):
            if name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"{name!r} is not the name of a variable")
        if self.model_path is not None and self.model_path.startswith("-"):
            raise ValueError(f"model path {self.model_path!r}: vLLM would read a flag")


class Line(NamedTuple):
    """The words of one line of a command."""

    words: tuple[str, ...]
    reader: bool = False
    """The reader typed it: nothing in it is expanded by a shell."""


@dataclass(slots=True, eq=False)
class Process:
    """One process on one node.

    Attributes:
        flags: The engine's flags with their provenance, in order; empty for a companion.
        text: A companion's command as its author wrote it; None where ``argv`` is the command.
        first: Words of the command's first line.
        indent: Spaces before each further line.
        container: How the same process runs in a container; None where it does not.
    """

    name: str
    role: str
    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    flags: list[tuple[Flag, Provenance]] = field(default_factory=list)
    env_from: dict[str, Provenance] = field(default_factory=dict)
    pool: str | None = None
    instance: int | None = None
    node: int = 0
    label: str | None = None
    feature: str | None = None
    port: int | None = None
    start: str = "with"
    text: str | None = None
    first: int = 3
    indent: int = 2
    container: Container | None = None
    install: str | None = None
    description: str | None = None
    layout: Pool | None = None
    local_env: dict[str, str] = field(default_factory=dict)
    """Variables of the reader's machine, which a container does not get."""
    typed: frozenset[str] = frozenset()
    """Words and volumes that the reader typed: nothing in them is expanded by a shell."""
    rendered: list[str] | None = field(default=None, repr=False)
    """The command's lines as text, kept by the renderer that made them."""

    @property
    def is_engine(self) -> bool:
        """Whether it is a ``vllm serve``."""
        return self.role in ENGINE_ROLES

    def lines(self) -> list[Line]:
        """The command, a flag with its values a line."""
        if self.text is not None:
            return [Line(tuple(self.argv))]
        lines = [Line(tuple(self.argv[: self.first]))]
        lines += [Line(flag.tokens, source.layer == "reader") for flag, source in self.flags]
        return lines

    def provenance(self) -> dict[str, Provenance]:
        """Where each flag and each variable (``$NAME``) comes from."""
        found = {
            ("--no-" + flag.name[2:] if flag.negated else flag.name): source
            for flag, source in self.flags
        }
        found.pop("", None)
        for name, source in self.env_from.items():
            found["$" + name] = source
        return found


@dataclass(slots=True, eq=False)
class Container:
    """How a process runs in a container.

    Attributes:
        image: The image, or None where there is none to be had.
        run: Words after ``docker run``, a list for each line.
        volumes: ``source:target`` with ``$HF_CACHE`` for the cache folder.
        reason: Why there is no container command.
        entry: Words between the image and the model, where the image does not start the server.
    """

    image: str | None
    run: list[list[str]] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    reason: str | None = None
    entry: tuple[str, ...] = ()


class File(NamedTuple):
    """A file that a process reads."""

    path: str
    content: Mapping[str, Any]
    used_by: tuple[str, ...]


class Step(NamedTuple):
    """An install command with what is to be known about it."""

    command: str
    note: str | None = None
    docker: bool = False
    """Needed beside the image too, not in the Python environment alone."""
    pip: bool = True
    """Needed in the Python environment; False = beside the image alone."""


@dataclass(slots=True, eq=False)
class Install:
    """How the software gets onto the machine.

    Attributes:
        tabs: ``pip`` and ``docker`` in the order of the page; a step, or why there is none.
        extras: Further packages, such as a KV store's.
        driver: Least driver of the CUDA release, for a person.
    """

    tabs: dict[str, Step | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    extras: list[Step] = field(default_factory=list)
    driver: str | None = None


class Placeholder(NamedTuple):
    """A value that the reader has to give."""

    name: str
    hint: str
    value: str | None = None


@dataclass(slots=True, eq=False)
class Deployment:
    """Everything that has to run, in start order."""

    configuration: Configuration
    type: str
    processes: list[Process]
    install: Install
    min_vllm_version: str | None
    docker_image: str | None
    files: list[File] = field(default_factory=list)
    placeholders: list[Placeholder] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    values: ReaderValues = field(default_factory=ReaderValues)
    layouts: list[Pool] = field(default_factory=list)

    def role(self, *roles: str) -> list[Process]:
        """The processes of some roles, in start order."""
        return [process for process in self.processes if process.role in roles]

    @property
    def entry(self) -> Process:
        """The process that clients talk to."""
        return (
            next((p for p in reversed(self.processes) if p.role == "router"), None)
            or next(
                (p for p in self.processes if p.role == "companion" and p.name == "router"), None
            )
            or self.first_engine
        )

    @property
    def first_engine(self) -> Process:
        """The engine that stands for the others where one is enough."""
        return next(process for process in self.processes if process.is_engine)

    @property
    def missing(self) -> list[Placeholder]:
        """The values that the reader has still to give."""
        return [item for item in self.placeholders if item.value is None]
