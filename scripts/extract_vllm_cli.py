#!/usr/bin/env python3
"""Read what any vLLM release accepts from its own parser, without a GPU and without torch.

    extract_vllm_cli.py fetch VERSION...   fetch the wheel, keep its Python files
    extract_vllm_cli.py dump  VERSION...   write VERSION.json: flags, registries, configs, variables
    extract_vllm_cli.py bench VERSION...   write bench-VERSION.json: flags of vllm bench serve
    extract_vllm_cli.py omni  VERSION...   write omni-VERSION.json: what vllm-omni adds
    extract_vllm_cli.py check VERSION -- vllm serve MODEL --flag ...
    extract_vllm_cli.py check VERSION --file F      one JSON list (the words of a command) per line

Files live in ~/.cache/recipes-vllm-cli, or where $RECIPES_VLLM_CLI points. A third-party module
that the interpreter lacks is replaced by a stand-in, found by trial.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from vllm_wheel.fetch import fetch
from vllm_wheel.runner import NEED, interpreter, run_child


def child(what: str, version: str, platform: str, stubs: str, *rest: str) -> None:
    from vllm_wheel.bench import child_bench
    from vllm_wheel.children import child_check, child_dump, child_omni

    names = [name for name in stubs.split(",") if name]
    try:
        if what == "check":
            child_check(version, names, platform, [json.loads(x) for x in sys.stdin if x.strip()])
        else:
            {"dump": child_dump, "omni": child_omni, "bench": child_bench}[what](
                version, names, platform, rest[0]
            )
    except ModuleNotFoundError as error:
        if not error.name or error.name.startswith("vllm"):
            raise
        print("NEED", error.name)
        sys.exit(NEED)


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["fetch", "dump", "bench", "omni", "check"])
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--platform", default="cuda", choices=["cuda", "cpu", "native"])
    parser.add_argument("--python", help="interpreter that imports vLLM (default: one of our own)")
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--file", type=Path)
    own, rest = sys.argv[1:], []
    if "--" in own:
        cut = own.index("--")
        own, rest = own[:cut], own[cut + 1 :]
    args = parser.parse_args(own)
    python = args.python or (interpreter() if args.what != "fetch" else "")
    for version in args.versions:
        info = fetch(version)
        if args.what == "fetch":
            print(json.dumps(info))
        elif args.what == "check":
            text = args.file.read_text() if args.file else json.dumps(rest)
            print(run_child(python, "check", version, args.platform, stdin=text), end="")
        else:
            if args.what == "omni":
                fetch(version, "vllm-omni")
            name = version if args.what == "dump" else f"{args.what}-{version}"
            target = str(args.out / f"{name}.json")
            print(run_child(python, args.what, version, args.platform, target), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
