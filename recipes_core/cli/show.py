"""``recipes show``: one configuration in any of its forms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import typer

from recipes_core.cli.common import (
    fail,
    note,
    open_catalog,
    placeholders_of,
    say,
    selection_pairs,
    table,
    tell_adjustments,
    tell_findings,
)
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import Deployment, ReaderValues, deploy
from recipes_core.errors import RenderRefusedError
from recipes_core.findings import Finding
from recipes_core.selection import Selection


class Asked(NamedTuple):
    """The arguments of ``recipes show``."""

    recipe: str
    query: str | None
    axes: Mapping[str, str]
    format: str
    explain: bool
    strict: bool
    placeholders: tuple[str, ...]
    model_path: str | None
    hf_token_var: str | None
    api_key_var: str | None
    cache_folder: str | None
    base_url: str | None
    hardware_file: Path | None
    catalogs: tuple[str, ...]


def run(asked: Asked) -> None:
    """Print a configuration; notices go to stderr."""
    catalog = open_catalog(asked.catalogs)
    axes = dict(asked.axes)
    if asked.hardware_file is not None:
        from recipes_core.catalog.own_hardware import read_hardware_file, with_hardware

        name, profile = read_hardware_file(asked.hardware_file)
        catalog = with_hardware(catalog, name, profile)
        axes.setdefault("hardware", name)
    try:
        values = ReaderValues(
            placeholders_of(asked.placeholders), asked.model_path, asked.hf_token_var,
            asked.api_key_var, asked.cache_folder,
        )  # fmt: skip
    except ValueError as error:
        fail(str(error), 2)
    config = configure(
        catalog, asked.recipe, Selection.from_query(selection_pairs(asked.query, axes))
    )
    deployment = deploy(config, values)
    checks = _checks(deployment)
    text = render(config, deployment, asked.format, asked.base_url, checks)
    say(text.rstrip("\n"))
    if asked.explain:
        _explain(deployment, asked.format)
    adjusted = tell_adjustments(config.adjustments)
    _tell_unused(deployment, values)
    if asked.format not in {"json", "markdown", "html"}:
        # Only who names a release wants to hear with how much certainty it is answered for.
        said = [item for item in checks if config.vllm or item.severity != "info"]
        tell_findings([*deployment.findings, *said])
    if adjusted and asked.strict:
        raise typer.Exit(2)
    if config.vllm and any(item.severity == "error" for item in checks):
        raise typer.Exit(1)


def _checks(deployment: Deployment) -> list[Finding]:
    from recipes_core.render.beside import command_findings

    return command_findings(deployment)


def _tell_unused(deployment: Deployment, values: ReaderValues) -> None:
    used = {item.name for item in deployment.placeholders} | {"HF_CACHE"}
    for name in values.placeholders:
        if name not in used:
            note(f"recipes: --set {name}: this configuration has no ${name}")


def render(
    config: Configuration,
    deployment: Deployment,
    form: str,
    base_url: str | None = None,
    checks: Iterable[Finding] = (),
) -> str:
    """A deployment as text of some form.

    Raises:
        RenderRefusedError: The form cannot be had without a guess.
    """
    if form == "shell":
        return shell_text(deployment)
    if form == "docker":
        return docker_text(deployment)
    if form == "script":
        return script_text(deployment)
    if form == "argv":
        return "\n".join(json.dumps(p.argv, ensure_ascii=False) for p in deployment.processes)
    if form == "json":
        return json_text(config, deployment, checks)
    if form == "markdown":
        from recipes_core.render.markdown import to_markdown

        return to_markdown(config, deployment, base_url, findings=checks)
    if form == "html":
        from recipes_core.render.beside import figures
        from recipes_core.render.page import Addresses, to_html

        places = Addresses(f"{base_url.rstrip('/')}/" if base_url else "/")
        sizing, unsized = figures(config, deployment)
        return to_html(config, deployment, sizing, [*checks, *unsized], places)
    if form == "compose":
        from recipes_core.render.compose import to_compose

        return to_compose(deployment)
    if form == "kubernetes":
        from recipes_core.render.kubernetes import to_kubernetes

        return to_kubernetes(deployment)
    if form == "slurm":
        from recipes_core.render.slurm import to_slurm

        return to_slurm(deployment)
    from recipes_core.render.vllm_config import to_vllm_config

    return to_vllm_config(deployment)


def shell_text(deployment: Deployment) -> str:
    """Files and processes in start order, each under a comment where there are several."""
    from recipes_core.render.serve import process_heading
    from recipes_core.render.shell import heredoc, script

    if len(deployment.processes) == 1 and not deployment.files:
        return script(deployment.processes[0])
    blocks = [
        f"# On the nodes of {', '.join(file.used_by)}\n{heredoc(file)}" for file in deployment.files
    ]
    blocks += [
        f"# {process_heading(deployment, process)}\n{script(process)}"
        for process in deployment.processes
    ]
    return "\n\n".join(blocks)


def docker_text(deployment: Deployment) -> str:
    """The ``docker run`` of each engine."""
    from recipes_core.render.serve import process_heading
    from recipes_core.render.shell import docker_command

    engines = [process for process in deployment.processes if process.is_engine]
    blocks = []
    for process in engines:
        text = docker_command(process)
        if text is None:
            reason = process.container.reason if process.container else None
            raise RenderRefusedError(f"no container: {reason or 'none is known'}")
        head = f"# {process_heading(deployment, process)}\n" if len(engines) > 1 else ""
        blocks.append(head + text)
    return "\n\n".join(blocks)


def script_text(deployment: Deployment) -> str:
    """Guarded scripts, one per process; where there are several, each under the name of a file."""
    from recipes_core.render.scripts import scripts_of
    from recipes_core.render.serve import process_heading
    from recipes_core.render.shell import guarded_script

    if len(deployment.processes) == 1:
        return guarded_script(deployment, deployment.processes[0])
    return "\n".join(
        f"# File {name}: {process_heading(deployment, process)}\n"
        f"{guarded_script(deployment, process)}"
        for name, process in scripts_of(deployment).items()
    )


def json_text(config: Configuration, deployment: Deployment, checks: Iterable[Finding] = ()) -> str:
    """The JSON of a configuration on one line, the cache folder taken from the caller's home."""
    from recipes_core.render.beside import figures
    from recipes_core.render.json import json_bytes

    with_home(deployment)
    sizing, unsized = figures(config, deployment)
    return json_bytes(config, deployment, sizing, [*checks, *unsized]).decode()


def with_home(deployment: Deployment) -> None:
    """Let argument vectors that run without a shell know the caller's cache folder."""
    values = deployment.values
    if values == ReaderValues():
        deployment.values = _only_home()
    elif "HF_CACHE" not in values.placeholders:
        given = {"HF_CACHE": cache_folder(), **values.placeholders}
        deployment.values = replace(values, placeholders=given)


@cache
def _only_home() -> ReaderValues:
    return ReaderValues({"HF_CACHE": cache_folder()})


@cache
def cache_folder() -> str:
    """The folder of downloaded checkpoints of the person who calls."""
    return str(Path.home() / ".cache" / "huggingface")


def _explain(deployment: Deployment, form: str) -> None:
    """A table of where each flag and variable comes from; a comment where the text is a shell's."""
    rows = []
    several = len(deployment.processes) > 1
    for process in deployment.processes:
        for name, source in process.provenance().items():
            rows.append(
                [
                    *([process.name] if several else []),
                    name,
                    source.layer,
                    source.source,
                    source.key,
                ]
            )
    header = [*(["process"] if several else []), "flag", "layer", "file", "key"]
    write = say if form in {"shell", "docker", "script"} else note
    write("")
    for line in table(rows, header):
        write(f"# {line}" if write is say else line)
