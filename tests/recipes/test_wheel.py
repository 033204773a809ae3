"""The wheel holds the whole catalog and stays small."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from recipes_core.catalog.catalog import Catalog
from tests.conftest import REPO


def test_the_wheel_is_small_and_whole(ours: Catalog, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=REPO, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size <= 3_000_000
    names = set(zipfile.ZipFile(wheel).namelist())
    for recipe in ours.recipes:
        assert f"recipes_core/_data/recipes/models/{recipe}.yaml" in names
    assert not [name for name in names if name.startswith("tests/")]
