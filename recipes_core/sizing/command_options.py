"""What `recipes size` is asked: its own options, and the flags of an engine among them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from recipes_core.errors import RecipesError
from recipes_core.flags import is_flag
from recipes_core.sizing.versions import DEFAULT_VLLM

_EXAMPLES = """\
Any other option is taken for one of vLLM's own flags, such as --tensor-parallel-size 8,
--max-model-len 32768, --kv-cache-dtype fp8, --dtype, --quantization, --max-num-seqs,
--max-num-batched-tokens, --gpu-memory-utilization, --pipeline-parallel-size, --enforce-eager.

  recipes size meta-llama/Llama-3.1-8B-Instruct --hardware h100
  recipes size config.json --hardware h200 --tensor-parallel-size 8 --json
  recipes size config.json --gpu-bytes 85029615042 --vllm 0.19.0 --available-kv-bytes 62400000000
  recipes size --log startup.log

A recipe is sized for the release it pins, else for the newest one; a config.json for the one that
was measured. Exit code 1 where the engine would not start or one request does not fit.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


class UsageError(RecipesError):
    """The command line itself is wrong."""


def _parser() -> _Parser:
    parser = _Parser(
        prog="recipes size",
        description="GPU memory of a recipe or a config.json, to the token.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("subject", nargs="*", metavar="ID|CONFIG", help="recipe, config.json or checkpoint folder")
    add("--query", default="", help="choices of the recipe, such as variant=fp8&strategy=…")
    add("--hardware", metavar="ID", help="GPU of the taxonomy")
    add("--gpu-bytes", type=int, metavar="N", help="physical bytes of one GPU, as its driver says")
    add("--available-kv-bytes", type=int, metavar="N", help="measured budget per GPU")
    add("--vllm", metavar="X", help=f"release (for a config.json: {DEFAULT_VLLM})")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="the engine's environment")
    add("--users", type=int, default=1, metavar="N", help="requests at once, for the answers")
    add("--length", type=int, metavar="L", help="tokens of each request, for the answers")
    add("--log", type=Path, metavar="FILE", help="start-up log to compare with; - for stdin")
    add("--catalog", action="append", default=[], metavar="DIR", help="catalog instead of ours")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="the sizing object")
    shape.add_argument("--table", action="store_true", help="a table for people (the default)")
    return parser


_SWITCHES = frozenset(
    {
        "--enforce-eager",
        "--trust-remote-code",
        "--language-model-only",
        "--async-scheduling",
        "--skip-mm-profiling",
        "--headless",
        "-ep",
        "--kv-sharing-fast-prefill",
    }
)
_SEVERAL = frozenset({"--cudagraph-capture-sizes", "--kv-cache-dtype-skip-layers"})
_SWITCH_PREFIXES = ("--no-", "--enable-", "--disable-")


def _apart(parser: argparse.ArgumentParser, args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own words and vLLM's, in any order: a word after one of vLLM's flags is its value."""
    known = parser._option_string_actions
    own: list[str] = []
    flags: list[str] = []
    target, room = own, 0
    for word in args:
        name, equals, _ = word.partition("=")
        if is_flag(word):
            action = known.get(name)
            target = own if action is not None else flags
            switch = name in _SWITCHES or name.startswith(_SWITCH_PREFIXES)
            takes = action.nargs != 0 if action is not None else not switch
            room = 0 if equals or not takes else (len(args) if name in _SEVERAL else 1)
            target.append(word)
        elif room:
            target.append(word)
            room -= 1
        else:
            own.append(word)
    return own, flags


def read_options(args: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our own options with their values, and the flags that are the engine's.

    Args:
        args: Words after ``recipes size``.

    Raises:
        UsageError: An option is wrong, or nothing or more than one thing is to be sized.
        SystemExit: The help was asked for, and printed.
    """
    parser = _parser()
    own, flags = _apart(parser, args)
    options = parser.parse_args(own)
    if len(options.subject) > 1:
        raise UsageError(f"one recipe or config is sized at a time, not {options.subject}")
    options.subject = options.subject[0] if options.subject else None
    _check(options)
    return options, flags


def _check(options: argparse.Namespace) -> None:
    if options.subject is None and options.log is None:
        raise UsageError("name a recipe, a config.json or --log FILE; see recipes size --help")
    if options.gpu_bytes is not None and options.gpu_bytes < 1 << 28:
        raise UsageError(f"--gpu-bytes is {options.gpu_bytes}; bytes of a whole GPU are needed")
    if options.users < 1 or (options.length is not None and options.length < 1):
        raise UsageError("--users and --length must be at least 1")
