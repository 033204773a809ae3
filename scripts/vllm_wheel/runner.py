"""Run a child interpreter per release, and stand in for what it lacks."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from vllm_wheel.fetch import ROOT, SRC, fetch

ENTRY = Path(__file__).resolve().parent.parent / "extract_vllm_cli.py"
NEED = 77
"""Exit status of a child that met a missing third-party module."""
PACKAGES = ("pydantic", "pyyaml", "regex", "packaging", "typing_extensions", "msgspec")
"""What vLLM's parser really uses; everything else is stubbed."""


def interpreter() -> str:
    """A small environment with PACKAGES, made once (45 MB)."""
    python = ROOT / "V" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ROOT / "V")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return str(python)


def run_child(
    python: str, what: str, version: str, platform: str, *args: str, stdin: str | None = None
) -> str:
    """Run a child; whenever it lacks a third-party module, add a stub for it and start over.

    Returns:
        What it printed.

    Raises:
        RuntimeError: It failed for another reason; the end of its error output is the message.
    """
    key = hashlib.sha256(python.encode()).hexdigest()[:8]
    cache = SRC / version / f"stubs-{key}-{platform}-{what}.json"
    stubs: list[str] = json.loads(cache.read_text()) if cache.exists() else []
    while True:
        command = [python, str(ENTRY), "--child", what, version, platform, ",".join(stubs), *args]
        done = subprocess.run(command, input=stdin, text=True, capture_output=True, check=False)
        if done.returncode != NEED:
            break
        name = done.stdout.strip().splitlines()[-1].removeprefix("NEED ").split(".")[0]
        if name in stubs or name == "vllm":
            break
        stubs.append(name)
    if done.returncode:
        raise RuntimeError(f"{what} {version} failed: {done.stderr[-3000:]}")
    cache.write_text(json.dumps(stubs))
    return done.stdout


def real_verdicts(version: str, commands: list[list[str]], python: str | None = None) -> list[dict]:
    """What the real parser of a release says of each command.

    Args:
        version: A release; its wheel is fetched unless its files are there.
        commands: Lists of words, ``["vllm", "serve", MODEL, …]``.
        python: The interpreter; None takes interpreter().

    Returns:
        For each command ``{"ok": bool, "stage": …, "error": …}``, in order.
    """
    fetch(version)
    text = "".join(json.dumps(command) + "\n" for command in commands)
    out = run_child(python or interpreter(), "check", version, "cuda", stdin=text)
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]
