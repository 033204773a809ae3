"""Every rendered script is one that bash reads and shellcheck has nothing against.

A script is a heading, guards, exports, heredocs and one command with a flag a line. At some 15 ms a
script, both read so many that every distinct line of all of them is in one of those.
RECIPES_SHELLCHECK=all lets them read each (ten minutes).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import Deployment, deploy
from recipes_core.deployment.names import known_hint
from recipes_core.render.shell import docker_command, guarded_script, heredoc
from tests.conformance.rows import read_rows, selection_of_row
from tests.conftest import REPO

from .laws import check_json

sys.path.insert(0, str(REPO / "scripts"))
from rendered import selections

BATCH = 40
pytestmark = pytest.mark.slow


def texts_of(deployment: Deployment) -> Iterator[str]:
    """What a reader may paste or download."""
    for process in deployment.processes:
        yield guarded_script(deployment, process)
        container = docker_command(process)
        if container is not None:
            yield container
    for file in deployment.files:
        yield heredoc(file)
    for step in (*deployment.install.tabs.values(), *deployment.install.extras):
        if step is not None:
            yield step.command


def of_rows(upstream: Catalog, shared: Path) -> Iterator[Deployment]:
    for row in read_rows(shared):
        if row["kind"] != "defaults":
            yield deploy(configure(upstream, row["recipe"], selection_of_row(row)))


def of_catalog(catalog: Catalog) -> Iterator[Deployment]:
    """Ours, without the pages on which one feature stands alone: all of them stand together."""
    for entry in catalog.recipes.values():
        for selection in selections(catalog, entry):
            if len(selection.features or ()) != 1 or selection.fmode:
                yield deploy(configure(catalog, entry, selection))


@pytest.fixture(scope="module", params=["rows", "ours"])
def texts(request: pytest.FixtureRequest) -> list[str]:
    """Texts of the conformance rows, or of our catalog, with every distinct line of them."""
    if request.param == "rows":
        shared = request.getfixturevalue("shared")
        deployments = of_rows(request.getfixturevalue("upstream"), shared)
    else:
        deployments = of_catalog(request.getfixturevalue("ours"))
    found: dict[str, None] = {}
    for deployment in deployments:
        check_json(deployment)
        found.update(dict.fromkeys(texts_of(deployment)))
    assert len(found) > 3000
    return list(found) if os.environ.get("RECIPES_SHELLCHECK") == "all" else covering(found)


def covering(texts: Iterable[str]) -> list[str]:
    """Some of the texts, with every distinct line of all of them in them."""
    seen: set[str] = set()
    chosen = []
    for text in sorted(texts, key=len, reverse=True):
        lines = {line.strip() for line in text.split("\n")}
        if lines - seen:
            seen |= lines
            chosen.append(text)
    return chosen


def as_functions(texts: Iterable[str]) -> str:
    """One script with a function for each text, so that one process reads many."""
    bodies = (f"f{number}() {{\n{text}\n}}\nf{number}" for number, text in enumerate(texts))
    return "#!/usr/bin/env bash\n" + "\n".join(bodies) + "\n"


def test_bash_reads_every_text(texts: list[str]) -> None:
    done = subprocess.run(
        ["bash", "-n"], input=as_functions(texts), text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def faults(text: str) -> list[str]:
    """What shellcheck says: errors, warnings, and SC2086 where no placeholder of ours stands."""
    done = subprocess.run(
        ["shellcheck", "-f", "json", "-S", "info", "-"],
        input=text, text=True, capture_output=True, check=False,
    )  # fmt: skip
    lines = text.split("\n")
    found = []
    for fault in json.loads(done.stdout):
        line = lines[fault["line"] - 1]
        there = line[fault["column"] - 1 : fault["endColumn"] - 1]
        name = re.fullmatch(r"\$\{?(\w+)\}?", there)
        ours = fault["code"] == 2086 and name is not None and known_hint(name[1]) is not None
        if fault["level"] in {"error", "warning"} or (fault["code"] == 2086 and not ours):
            found.append(f"SC{fault['code']} {fault['message']}: {line.strip()}")
    return found


@pytest.fixture(scope="module")
def shellcheck() -> str:
    path = shutil.which("shellcheck")
    if path is None:
        pytest.skip("shellcheck is not installed")
    return path


def test_shellcheck_has_nothing_against_them(texts: list[str], shellcheck: str) -> None:
    found = []
    for start in range(0, len(texts), BATCH):
        found += faults(as_functions(texts[start : start + BATCH]))
    assert not found, "\n".join(dict.fromkeys(found[:20]))


def test_shellcheck_would_find_an_open_variable(shellcheck: str) -> None:
    assert faults("#!/bin/bash\nvllm serve $MODEL --port $HEAD_IP\n") == [
        "SC2086 Double quote to prevent globbing and word splitting.: "
        "vllm serve $MODEL --port $HEAD_IP"
    ]
    assert faults("#!/bin/bash\nvllm serve 'a --port 1\n")
