"""A batch script for Slurm: one allocation, one function that each node runs for its part."""

from __future__ import annotations

from recipes_core.deployment.container import kind_of
from recipes_core.deployment.model import Deployment, Process
from recipes_core.deployment.names import names_in_text, placeholders_in
from recipes_core.render.containers import slug
from recipes_core.render.machines import Machine, machines
from recipes_core.render.serve import process_heading
from recipes_core.render.shell import heredoc, script


def to_slurm(deployment: Deployment) -> str:
    """The ``sbatch`` script of a deployment.

    Addresses of nodes come from the allocation; every other placeholder has to be in the
    environment of ``sbatch``, and the script stops with its hint where it is not. vLLM has to be
    installed on the nodes.

    Args:
        deployment: What ``deploy`` made.
    """
    nodes = machines(deployment)
    config = deployment.configuration
    gpus = max(
        (p.layout.gpus_per_node for p in deployment.processes if p.layout is not None),
        default=config.profile.gpu_count,
    )
    if len(nodes) == 1 and config.pools:
        gpus = config.profile.gpu_count
    lines = [
        "#!/usr/bin/env bash",
        f"#SBATCH --job-name={slug(config.entry.id.rsplit('/', 1)[-1])}",
        f"#SBATCH --nodes={len(nodes)}",
        "#SBATCH --ntasks-per-node=1",
    ]
    if kind_of(config.profile) != "cpu":
        lines.append(f"#SBATCH --gpus-per-node={gpus}")
    lines += ["#SBATCH --exclusive", "set -euo pipefail"]
    needs = [*_addresses(deployment, nodes), *_guards(deployment, nodes)]
    lines += ["", *needs] if needs else []
    lines += ["", "node() {", "  set -euo pipefail", '  case "$SLURM_NODEID" in']
    for number, machine in enumerate(nodes):
        lines += _node(deployment, number, machine)
    lines += ["  esac", "}", "export -f node", "", "srun --kill-on-bad-exit=1 bash -c node"]
    return "\n".join(lines) + "\n"


def _used(deployment: Deployment) -> dict[str, None]:
    """Names that the commands, variables, and files refer to."""
    names: dict[str, None] = {}
    for process in deployment.processes:
        if process.text is not None:
            names |= names_in_text([process.text])
        else:
            words = [w for line in process.lines() if not line.reader for w in line.words]
            names |= placeholders_in(words)
        names |= placeholders_in(process.env.values())
    for file in deployment.files:
        names |= names_in_text([file.path, *map(str, file.content.values())])
    return names


def _addresses(deployment: Deployment, nodes: list[Machine]) -> list[str]:
    used = _used(deployment)
    lines = []
    for number, machine in enumerate(nodes):
        lines += [
            f'export {name}="${{hosts[{number}]}}"' for name in machine.addresses if name in used
        ]
    if not lines:
        return []
    return ['mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")', *lines]


def _guards(deployment: Deployment, nodes: list[Machine]) -> list[str]:
    given = {name for machine in nodes for name in machine.addresses}
    return [
        f': "${{{item.name}:?{_plain(item.hint)}}}"'
        for item in deployment.missing
        if item.name not in given
    ]


def _plain(hint: str) -> str:
    text = hint.replace("'", "")
    return "".join(c if c.isalnum() or c in " .,:()_/-" else " " for c in text)


def _node(deployment: Deployment, number: int, machine: Machine) -> list[str]:
    """What one node runs: its files, then its processes; the node ends when one of them does."""
    lines = [f"    {number})"]
    for file in deployment.files:
        if any(process.name in file.used_by for process in machine.processes):
            lines += heredoc(file).split("\n")
    several = len(machine.processes) > 1
    for process in machine.processes:
        lines += _process(deployment, process, background=several)
    if several:
        lines += [
            "      status=0",
            '      wait -n || status="$?"',
            "      jobs -p | xargs -r kill",
            '      return "$status"',
        ]
    return [*lines, "      ;;"]


def _process(deployment: Deployment, process: Process, *, background: bool) -> list[str]:
    head = f"      # {process_heading(deployment, process)}"
    depth = 8 if background else 6
    body = _indented(process, depth)
    return [head, "      (", *body, "      ) &"] if background else [head, *body]


def _indented(process: Process, depth: int) -> list[str]:
    """The process's text, moved right only where no line end is part of a word."""
    lines = script(process).split("\n")
    words = [*process.argv, *process.env.values(), *process.local_env.values()]
    if any("\n" in word for word in words) or "<<" in (process.text or ""):
        return lines
    return [" " * depth + line for line in lines]
