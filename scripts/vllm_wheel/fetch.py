"""Fetch a wheel and keep its Python files."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time
import zipfile

ROOT = pathlib.Path(
    os.environ.get("RECIPES_VLLM_CLI", pathlib.Path.home() / ".cache" / "recipes-vllm-cli")
)
WHEELS = ROOT / "wheels"
SRC = ROOT / "src"


def wheel_for(version: str, package: str = "vllm") -> pathlib.Path | None:
    hits = sorted(WHEELS.glob(f"{package.replace('-', '_')}-{version}-*.whl"))
    return hits[-1] if hits else None


def fetch(version: str, package: str = "vllm") -> dict:
    """Download the wheel and unpack only its Python part; returns sizes and seconds."""
    info: dict = {"package": package, "version": version}
    dest = SRC / (version if package == "vllm" else f"{package}-{version}")
    meta = dest / "fetch.json"
    if meta.exists():
        return json.loads(meta.read_text())
    WHEELS.mkdir(parents=True, exist_ok=True)
    t = time.time()
    if not wheel_for(version, package):
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--python-version",
                "3.12",
                "-d",
                str(WHEELS),
                f"{package}=={version}",
            ],
            check=True,
        )
    info["download_seconds"] = round(time.time() - t, 1)
    whl = wheel_for(version, package)
    info["wheel"] = whl.name
    info["wheel_bytes"] = whl.stat().st_size
    info["wheel_sha256"] = hashlib.sha256(whl.read_bytes()).hexdigest()
    t = time.time()
    n = size = 0
    with zipfile.ZipFile(whl) as z:
        for i in z.infolist():
            name = i.filename
            if name.endswith(".py") or ".dist-info/" in name:
                z.extract(i, dest)
                n += 1
                size += i.file_size
    info["py_files"], info["py_bytes"] = n, size
    info["unpack_seconds"] = round(time.time() - t, 1)
    meta.write_text(json.dumps(info, indent=1))
    return info
