"""The file behind ``vllm serve --config``: one engine's arguments as YAML."""

from __future__ import annotations

from typing import Any

from recipes_core.deployment.model import Deployment, Process
from recipes_core.errors import RenderRefusedError
from recipes_core.flags import APPEND
from recipes_core.render.containers import arguments, open_names
from recipes_core.render.serve import process_title
from recipes_core.render.shell import exports
from recipes_core.render.yaml_text import comment, yaml_text


def to_vllm_config(deployment: Deployment, name: str | None = None) -> str:
    """The configuration file of an engine.

    Values stay texts, so that vLLM's YAML reader makes no other type of them. vLLM does not expand
    variables in this file.

    Args:
        deployment: What ``deploy`` made.
        name: Name of the process; None = the only engine, or each as a document of its own.

    Raises:
        RenderRefusedError: A placeholder in it has no value, or no process has that name.
    """
    engines = [p for p in deployment.processes if p.is_engine and name in {None, p.name}]
    if not engines:
        names = ", ".join(p.name for p in deployment.processes if p.is_engine)
        raise RenderRefusedError(f"no engine {name!r} here; there are {names}")
    several = len(engines) > 1
    texts = [_document(deployment, process, several=several) for process in engines]
    return "---\n".join(texts)


def _document(deployment: Deployment, process: Process, *, several: bool) -> str:
    known = {item.name for item in deployment.missing}
    words = [word for word, typed in arguments(process) if not typed]
    missing = open_names(words, known)
    if missing:
        sets = " ".join(f"--set {item}=…" for item in missing)
        raise RenderRefusedError(
            f"vllm-config: {process.name} needs {', '.join(missing)}; vLLM expands no variable in"
            f" this file. Give {sets}, in the explorer under Your cluster"
        )
    head = []
    if several:
        head.append(f"{process_title(deployment, process)}: a file of its own")
    head.append(f"vllm serve --config {process.name}.yaml")
    variables = {**process.env, **process.local_env}
    if variables:
        head.append("Variables are not part of this file; export them before:")
        head += exports(variables).splitlines()
    return comment(head) + yaml_text(_settings(process))


def _settings(process: Process) -> dict[str, Any]:
    found: dict[str, Any] = {"model": process.argv[2]}
    for flag, _ in process.flags:
        if not flag.name:
            continue
        key = flag.name.removeprefix("--")
        if flag.negated:
            key = f"no-{key}"
        value: Any = True
        if len(flag.values) == 1:
            value = _scalar(flag.values[0])
        elif flag.values:
            value = list(flag.values)
        if flag.name in APPEND and key in found:
            raise RenderRefusedError(
                f"vllm-config: {flag.name} stands there more than once, which this file cannot say"
            )
        found[key] = value
    return found


def _scalar(text: str) -> Any:
    """A whole number as a number; anything else stays a text."""
    return int(text) if text.isascii() and text.isdigit() and str(int(text)) == text else text
