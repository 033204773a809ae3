"""Read the parser of ``vllm bench serve``."""

from __future__ import annotations

import importlib
import json
import pathlib
import sys

from vllm_wheel.children import write_table
from vllm_wheel.describe import dump_action
from vllm_wheel.fetch import SRC
from vllm_wheel.parsers import import_parser, set_platform
from vllm_wheel.stubs import STUB_ALWAYS, bootstrap

COMMANDS = ("serve",)
HEAVY = {"vllm.lora", "vllm.lora.utils", "vllm.lora.request"}
"""The data sets import the LoRA layers, and those ask torch for the GPU; no flag needs them."""


def child_bench(version: str, stubs: list[str], platform: str, out: str) -> None:
    """Write the flags of the bench commands of one release."""
    STUB_ALWAYS.update(HEAVY)
    bootstrap(version, stubs)
    sys.argv = ["vllm", "bench"]
    set_platform(platform)
    _, parser_class = import_parser(version)
    commands = {}
    for command in COMMANDS:
        parser = parser_class(prog=f"vllm bench {command}")
        importlib.import_module(f"vllm.benchmarks.{command}").add_cli_args(parser)
        by_action: dict[int, list[str]] = {}
        for option, action in parser._option_string_actions.items():
            by_action.setdefault(id(action), []).append(option)
        flags = []
        for action in parser._actions:
            action._all = by_action.get(id(action), [])
            if action.option_strings:
                flags.append(dump_action(action, set()))
        commands[command] = sorted(flags, key=lambda flag: flag["name"])
    source = json.loads((SRC / version / "fetch.json").read_text())
    table = {
        "schema": 1,
        "vllm_version": version,
        "source": {key: source[key] for key in ("wheel", "wheel_sha256")},
        "commands": commands,
    }
    write_table(table, pathlib.Path(out))
    print(json.dumps({"bench": version, "flags": {k: len(v) for k, v in commands.items()}}))
