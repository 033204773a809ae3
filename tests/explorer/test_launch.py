"""What the launchers hand on to the kernels."""

from __future__ import annotations

import os

import pytest

from recipes_core.explorer import launch


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
