#!/usr/bin/env python3
"""Ask the real vllm-router parser about every distinct rendered router command.

    check_router.py                      # the routers of our catalog
    check_router.py --conformance ../shared/conformance/renderings.jsonl.gz
    check_router.py --file argvs.jsonl

The package is imported from the interpreter named by --python (default: an environment of its own
in the cache, made on first use; about 50 MB).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from rendered import add_sources, filled, read_sources
from vllm_wheel.fetch import ROOT

CHILD = """
import contextlib, io, json, sys
from importlib.metadata import version
from vllm_router.launch_router import parse_router_args
for line in sys.stdin:
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            args = parse_router_args(json.loads(line)[1:])
        with contextlib.suppress(AttributeError):
            args._validate_router_args()
        verdict = {"ok": True}
    except SystemExit:
        verdict = {"ok": False, "error": errors.getvalue().strip().splitlines()[-1]}
    except Exception as error:
        verdict = {"ok": False, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"router": version("vllm-router"), **verdict}))
"""


def environment(name: str, package: str) -> Path:
    """The interpreter of a package's own environment in the cache, made once."""
    python = ROOT / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ROOT / name)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", package], check=True)
    return python


def interpreter() -> str:
    """An environment with vllm-router, made once."""
    return str(environment("R", "vllm-router"))


def router_verdicts(commands: list[list[str]], python: str) -> list[dict]:
    """What the real parser says of each ``["vllm-router", …]``, in order."""
    text = "".join(json.dumps(command) + "\n" for command in commands)
    done = subprocess.run(
        [python, "-c", CHILD], input=text, text=True, capture_output=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python")
    add_sources(parser)
    args = parser.parse_args()
    commands = [c for c in read_sources(args) if c.argv[0] == "vllm-router"]
    verdicts = router_verdicts([filled(c.argv) for c in commands], args.python or interpreter())
    bad = [(c, v) for c, v in zip(commands, verdicts, strict=True) if not v["ok"]]
    for command, verdict in bad[:20]:
        print(f"  {command.label}: {verdict['error']}\n    {' '.join(command.argv)}")
    release = verdicts[0]["router"] if verdicts else "none"
    print(f"vllm-router {release}: refuses {len(bad)} of {len(commands)} distinct commands")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
