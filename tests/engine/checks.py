"""What must hold for every configuration, however it was asked."""

from __future__ import annotations

import subprocess
from collections import Counter

from recipes_core.deployment import Deployment
from recipes_core.deployment.names import placeholders_in
from recipes_core.flags import APPEND, parse_args
from recipes_core.render.shell import command, docker_command, guarded_script, heredoc, script


def check_sizes(deployment: Deployment) -> None:
    config = deployment.configuration
    for pool in deployment.layouts:
        assert pool.tp * pool.pp * pool.dp == pool.gpus, pool
        assert pool.gpus_per_node <= config.node.gpu_count or config.node.generation == "cpu", pool
        if pool.dp > 1:
            assert pool.tp * pool.dp_local <= config.node.gpu_count, pool
        ranks: Counter[tuple[int | None, int]] = Counter(
            (process.instance, process.node)
            for process in deployment.processes
            if process.layout is pool
        )
        assert ranks, pool
        assert set(ranks.values()) == {1}, ranks
        assert {node for _, node in ranks} == set(range(pool.nodes))


def check_flags(deployment: Deployment) -> None:
    for process in deployment.processes:
        if not process.is_engine:
            continue
        names = Counter(flag.name for flag in parse_args(process.argv[3:]))
        twice = {name for name, count in names.items() if count > 1 and name not in APPEND}
        assert not twice, (process.argv, twice)
        assert process.argv[:2] == ["vllm", "serve"]
        assert all(isinstance(value, str) for value in process.env.values())
        provenance = process.provenance()
        for flag, _ in process.flags:
            name = "--no-" + flag.name[2:] if flag.negated else flag.name
            assert provenance[name].layer
            assert provenance[name].source


def shell_texts(deployment: Deployment) -> list[str]:
    texts = []
    for process in deployment.processes:
        texts += [script(process), guarded_script(deployment, process)]
        docker = docker_command(process)
        if docker is not None:
            texts.append(docker)
    return texts + [heredoc(file) for file in deployment.files]


def bash_accepts(texts: list[str]) -> None:
    """One bash reads all: each text is a function's body of its own."""
    for number, text in enumerate(texts):
        done = subprocess.run(
            ["bash", "-n"], input=text, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, (number, done.stderr, text)


def passed_on(texts: list[str], names: set[str]) -> list[list[str]]:
    """What bash hands to the programs of some commands, with ``$NAME`` standing for itself."""
    lines = ['show() { printf "%s\\0" "$@"; printf "\\1\\0"; }']
    lines += [f"{name}='${name}'" for name in sorted(names)]
    lines += [f"show {text}" for text in texts]
    done = subprocess.run(
        ["bash", "-u"], input="\n".join(lines), text=True, capture_output=True, check=True
    )
    found: list[list[str]] = [[]]
    for word in done.stdout.split("\0")[:-1]:
        if word == "\1":
            found.append([])
        else:
            found[-1].append(word)
    return found[:-1]


def check_bash_argv(deployments: list[Deployment]) -> None:
    processes = [p for d in deployments for p in d.processes if p.text is None]
    names = set(placeholders_in(word for p in processes for word in p.argv))
    names -= {"HOME"}
    for process, words in zip(
        processes, passed_on([command(p) for p in processes], names), strict=True
    ):
        assert words == process.argv
