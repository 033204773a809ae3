"""Fetch vLLM's recipe tools out of its source distribution, for tests/publish.

pip downloads the distribution and unpacks it; that it then cannot build without torch does not
matter, since nothing is built: the unpacked tree is kept long enough to copy ``tools/recipes``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOOL = "recipe_json_to_vllm_config.py"


def fetch(version: str, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "pip", "download", f"vllm=={version}", "--no-binary", ":all:",
            "--no-deps", "--no-build-isolation", "--no-clean", "--dest", folder,
        ]  # fmt: skip
        env = os.environ | {"TMPDIR": folder, "VLLM_TARGET_DEVICE": "empty"}
        done = subprocess.run(command, env=env, capture_output=True, check=False, text=True)
        found = next(Path(folder).rglob(f"tools/recipes/{TOOL}"), None)
        if found is None:
            sys.exit(f"no {TOOL} in vllm {version}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        shutil.copytree(found.parent, target, dirs_exist_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", default="0.33.0")
    parser.add_argument("--into", type=Path, help="default: ~/.cache/vllm-recipes-tools/VERSION")
    asked = parser.parse_args()
    target = asked.into or Path.home() / ".cache" / "vllm-recipes-tools" / asked.version
    if (target / TOOL).is_file():
        print(f"{target / TOOL} is there")
        return
    fetch(asked.version, target)
    print(f"fetched {target / TOOL}")


if __name__ == "__main__":
    main()
