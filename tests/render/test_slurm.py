"""A batch job runs the very commands of the deployment, each node its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from recipes_core.render.machines import machines
from recipes_core.render.slurm import to_slurm
from tests.render.shapes import ERNIE, V32

FAKES = {
    "scontrol": 'printf "%s\\n" $FAKE_HOSTS',
    "srun": 'shift; for id in $FAKE_IDS; do SLURM_NODEID="$id" "$@" || exit; done',
    "xargs": "cat > /dev/null",
}
RECORD = """
# Several run at once: each adds its line in one piece.
own="$FAKE_LOG.of-$$"
{ printf '%s\\0' "$(basename "$0")" "$@"; printf '\\n'; } > "$own"
cat "$own" >> "$FAKE_LOG.$SLURM_NODEID"
"""


@pytest.fixture
def cluster(tmp_path: Path):
    """A PATH on which every program only notes how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    names = ("vllm", "vllm-router", "mooncake_master", "lmcache", "python3")
    for name, body in {**FAKES, **dict.fromkeys(names, RECORD)}.items():
        path = folder / name
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(0o755)
    return folder


def test_each_node_of_an_allocation_runs_its_part(any_laid, cluster: Path, tmp_path: Path):
    nodes = machines(any_laid.deployment)
    hosts = [f"host{number}" for number in range(len(nodes))]
    env = {
        "PATH": f"{cluster}:{os.environ['PATH']}",
        "FAKE_HOSTS": " ".join(hosts),
        "FAKE_IDS": " ".join(map(str, range(len(nodes)))),
        "FAKE_LOG": str(tmp_path / "log"),
        "SLURM_JOB_NODELIST": "x",
    }
    given = {name: host for node, host in zip(nodes, hosts, strict=True) for name in node.addresses}
    for item in any_laid.deployment.placeholders:
        if item.name not in given:
            given[item.name] = env[item.name] = (
                str(tmp_path / item.name) if item.name.endswith("PATH") else f"v{len(env)}"
            )
    # A node's script goes on as soon as one process ends; the pipe closes when all have.
    subprocess.run(
        ["bash", "-c", to_slurm(any_laid.deployment)],
        env=env,
        check=True,
        stdout=subprocess.PIPE,
        timeout=60,
    )
    for number, node in enumerate(nodes):
        noted = (tmp_path / f"log.{number}").read_text().split("\n")[:-1]
        calls = sorted(line.split("\0")[:-1] for line in noted)
        argvs = [
            [re.sub(r"\$(\w+)", lambda m: given[m[1]], word) for word in process.argv]
            for process in node.processes
        ]
        assert calls == sorted(argvs)
    for file in any_laid.deployment.files:
        path = re.sub(r"\$(\w+)", lambda m: given[m[1]], file.path)
        text = re.sub(r"\$(\w+)", lambda m: given[m[1]], json.dumps(file.content))
        assert json.loads(Path(path).read_text()) == json.loads(text)


def test_slurm_scripts_pass_shellcheck(any_laid, tmp_path: Path):
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    path = tmp_path / "job.sh"
    path.write_text(to_slurm(any_laid.deployment))
    done = subprocess.run(
        ["shellcheck", "--severity=warning", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_slurm_stops_at_a_placeholder_without_a_value(lay, cluster: Path):
    text = to_slurm(lay(V32, "hardware=h200&nodes=2").deployment)
    env = {
        "PATH": f"{cluster}:{os.environ['PATH']}",
        "SLURM_JOB_NODELIST": "x",
        "FAKE_HOSTS": "a b",
    }
    done = subprocess.run(
        ["bash", "-c", text], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "IFACE_NAME: network interface" in done.stderr


def test_slurm_asks_for_the_nodes_and_gpus_that_are_used(lay):
    text = to_slurm(lay(V32, "hardware=h200&nodes=4").deployment)
    assert "#SBATCH --nodes=4\n" in text
    assert "#SBATCH --gpus-per-node=8\n" in text
    assert "#SBATCH --gpus-per-node=1\n" in to_slurm(lay(ERNIE, "hardware=h200").deployment)
    assert "gpus-per-node" not in to_slurm(lay("Qwen/Qwen3-8B", "hardware=xeon6").deployment)
