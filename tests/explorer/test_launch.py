"""What the launchers hand on to the kernels."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from unittest.mock import Mock

import pytest

from recipes_core.explorer import launch
from tests.conftest import REPO


@pytest.fixture(autouse=True)
def variable(monkeypatch, tmp_path):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(launch.CATALOG_VARIABLE, "")


def test_a_folder_of_the_variable_holds_where_the_kernels_run(monkeypatch, tmp_path):
    monkeypatch.setenv(launch.CATALOG_VARIABLE, os.pathsep.join(("builtin", "./mine")))
    launch.set_catalogs(())
    told = os.environ[launch.CATALOG_VARIABLE].split(os.pathsep)
    assert told == ["builtin", str(tmp_path / "mine")]


def test_what_is_said_on_the_line_counts_more_than_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv(launch.CATALOG_VARIABLE, "elsewhere")
    launch.set_catalogs(["mine"])
    assert os.environ[launch.CATALOG_VARIABLE] == str(tmp_path / "mine")


def test_nothing_is_made_up_where_nothing_was_chosen():
    launch.set_catalogs(())
    assert os.environ[launch.CATALOG_VARIABLE] == ""


def test_a_notebook_that_a_reader_has_changed_is_never_written_over(monkeypatch, tmp_path):
    inside = tmp_path / "_data" / "notebooks"
    shutil.copytree(REPO / "notebooks", inside)
    monkeypatch.setattr(launch, "notebooks_dir", lambda: inside)
    ran = []
    monkeypatch.setattr(
        launch.subprocess, "run", lambda command, **_: ran.append(command) or Mock(returncode=0)
    )
    assert launch.lab() == 0
    mine = tmp_path / "recipes-notebooks" / "explorer.ipynb"
    assert str(mine) in ran[0]
    mine.write_text("changed")
    (mine.parent / "compare.ipynb").unlink()
    assert launch.lab() == 0
    assert mine.read_text() == "changed"
    assert (mine.parent / "compare.ipynb").exists()


def test_a_port_that_is_taken_is_told_with_the_address_that_holds():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code = (
            "from recipes_core.explorer.launch import dashboard\n"
            f"dashboard(port={port}, browser=False)"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=REPO
        )
        try:
            assert f":{port}/" in process.stdout.readline()
            line = process.stdout.readline()
        finally:
            process.terminate()
            process.wait(20)
    found = re.match(rf"Port {port} is taken. Dashboard: http://localhost:(\d+)/", line)
    assert found
    assert found[1] != str(port)


@pytest.mark.parametrize("told_already", [False, True])
def test_a_broken_recipe_is_told_once_before_the_dashboard_starts(
    monkeypatch, capsys, tmp_path, told_already
):
    shutil.copytree(REPO / "recipes", tmp_path / "whole")
    (tmp_path / "whole" / "models" / "openai" / "broken.yaml").write_text("model: [")

    monkeypatch.setattr(launch, "make_app", Mock())
    monkeypatch.setenv(launch.CATALOG_VARIABLE, "")
    handlers = (lambda _: ()) if told_already else None
    assert launch.dashboard(catalogs=[tmp_path / "whole"], handlers=handlers) == 0
    assert capsys.readouterr().err.count("broken.yaml:") == (0 if told_already else 1)
