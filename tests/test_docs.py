"""What the README and the guides tell a reader to type: it works as it is printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from recipes_core.cli.app import app
from recipes_core.sizing import H200, Architecture, size
from tests.checkpoints import QWEN3_8B
from tests.conftest import REPO

PAGES = [
    REPO / "README.md",
    REPO / "CONTRIBUTING.md",
    REPO / "binder" / "README.md",
    *sorted((REPO / "docs").glob("*.md")),
]
BLOCK = re.compile(
    r"^(?: {4,}|\$ )?((?:\.venv/bin/)?recipes \S.*|.*\| recipes \S.*)$", re.MULTILINE
)
MENTION = re.compile(r"`(?:\.venv/bin/)?recipes ([a-z]+)")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
ELSEWHERE = re.compile(r"org/repo|^recipes export|> ?\S+$")
"""A reader's own model, a whole site (tests/publish makes them), a file to be written."""


def printed() -> list[str]:
    found = [
        line.strip().removeprefix(".venv/bin/")
        for page in PAGES
        for line in BLOCK.findall(page.read_text(encoding="utf-8"))
    ]
    return [line for line in dict.fromkeys(found) if not ELSEWHERE.search(line)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples name: a catalog, a checkpoint's config, an engine's log."""
    folder = tmp_path_factory.mktemp("desk")
    config = folder / "config.json"
    config.write_text(json.dumps(QWEN3_8B))
    argv = ["vllm", "serve", "org/repo"]
    sized = size(Architecture.from_config(config), H200, argv, vllm="0.25.0")
    (folder / "startup.log").write_text("\n".join(sized.log_lines))
    models = folder / "my-catalog" / "models" / "openai"
    models.mkdir(parents=True)
    shutil.copy(REPO / "recipes" / "models" / "openai" / "gpt-oss-120b.yaml", models)
    tools = folder / "bin"
    tools.mkdir()
    command = tools / "recipes"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m recipes_core.cli "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize("command", printed())
def test_a_printed_command_works(command: str, desk: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", command], cwd=desk, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PATH": f"{desk / 'bin'}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


def test_the_pages_have_commands_of_every_kind() -> None:
    """Otherwise the pattern no longer finds what the pages print."""
    kinds = {line.rsplit("recipes ", 1)[1].split()[0] for line in printed()}
    assert {"show", "size", "explain", "check", "batch"} <= kinds


def test_a_mentioned_subcommand_exists() -> None:
    known = set(typer.main.get_command(app).commands)
    mentioned = {
        (page.name, word)
        for page in PAGES
        for word in MENTION.findall(page.read_text(encoding="utf-8"))
    }
    assert {word for _, word in mentioned} >= {"dashboard", "lab", "export", "mcp", "new"}
    assert {place for place in mentioned if place[1] not in known} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_to_a_file_of_ours_leads_to_it(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [word for word in targets if not (page.parent / word).exists()] == []
