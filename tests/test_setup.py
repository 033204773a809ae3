"""What ``./dashboard`` and ``./test`` do first, with stand-ins for Python and the system."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPO

PYTHON = """#!/bin/bash
echo "$@" >> "{log}"
if [ "$2" = venv ]; then mkdir -p .venv/bin; cp "$0" .venv/bin/python; touch .venv/bin/pip; fi
case "$*" in *"$FAIL"*) [ -z "$FAIL" ] || exit 1;; esac
"""


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "a folder"
    for name in ("scripts/setup.sh", "pyproject.toml", "share", "jupyter-config"):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (REPO / name).is_dir() else shutil.copy
        copy(REPO / name, place)
    python = tmp_path / "python"
    python.write_text(PYTHON.format(log=tmp_path / "log"))
    python.chmod(0o755)
    return folder


def set_up(folder: Path, *words: str, **env: str):
    """Source the script as ``./dashboard`` does; returns what ran, and how it ended."""
    log = folder.parent / "log"
    log.write_text("")
    done = subprocess.run(
        ["bash", "-c", 'source "$0" "$@"', str(folder / "scripts" / "setup.sh"), *words],
        cwd="/", capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHON": str(folder.parent / "python"), "FAIL": "", **env},
    )  # fmt: skip
    return log.read_text(), done


def test_it_installs_once_from_any_folder(checkout):
    ran, done = set_up(checkout)
    assert done.returncode == 0, done.stderr
    assert "-m venv .venv" in ran
    assert ran.rstrip().endswith("-e .")
    assert set_up(checkout)[0] == ""
    assert set_up(checkout, "test")[0].rstrip().endswith("-e .[test]")
    assert set_up(checkout)[0] == ""


def test_it_installs_again_where_a_template_or_the_folder_has_changed(checkout):
    set_up(checkout)
    (checkout / "share" / "voila" / "templates" / "recipes" / "conf.json").write_text("{}")
    assert "pip install" in set_up(checkout)[0]
    moved = checkout.rename(checkout.parent / "elsewhere")
    assert "pip install" in set_up(moved)[0]
    assert set_up(moved)[0] == ""


def test_an_interrupted_first_run_is_made_good(checkout):
    set_up(checkout)
    (checkout / ".venv" / "bin" / "pip").unlink()
    assert "-m venv .venv" in set_up(checkout)[0]


def test_what_cannot_be_installed_is_told_and_tried_again(checkout):
    done = set_up(checkout, FAIL="pip install")[1]
    assert done.returncode != 0
    assert "could not be installed" in done.stderr
    assert "pip install" in set_up(checkout)[0]


def test_without_python_it_says_what_is_needed(checkout, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "id"):
        (tools / name).symlink_to(shutil.which(name))
    done = set_up(checkout, PATH=str(tools), PYTHON="")[1]
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed" in done.stderr


def test_a_system_without_apt_or_root_is_told_what_to_install(checkout, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "cat", "find", "sort", "cksum", "cp", "mkdir", "touch"):
        (tools / name).symlink_to(shutil.which(name))
    (tools / "id").write_text("#!/bin/bash\necho 1000\n")
    (tools / "id").chmod(0o755)
    done = set_up(checkout, PATH=str(tools), FAIL="ensurepip")[1]
    assert done.returncode != 0
    assert "Please install python3-venv" in done.stderr
    (tools / "apt-get").symlink_to("/bin/false")
    done = set_up(checkout, PATH=str(tools), FAIL="ensurepip")[1]
    assert done.returncode != 0
    assert "have root run: apt-get install python3-venv" in done.stderr
