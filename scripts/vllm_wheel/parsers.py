"""Build the parser of one release: its modules moved between releases."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys

from vllm_wheel.fetch import SRC


def set_platform(platform: str):
    """Pretend to be on CUDA, so that defaults and choices are those of a GPU host."""
    import vllm.platforms as vp

    if platform == "native":
        return type(vp.current_platform).__name__
    if platform == "cpu":
        from vllm.platforms.cpu import CpuPlatform as P
    elif platform == "cuda":  # the variant that does not call NVML
        from vllm.platforms.cuda import NonNvmlCudaPlatform as P
    else:
        raise SystemExit(platform)
    vp._current_platform = P()
    return type(vp.current_platform).__name__


def import_parser(version):
    """The modules moved between releases: find them in the source."""
    import importlib

    def where(pattern, *roots):
        for root in roots:
            for p in sorted((SRC / version / "vllm").glob(root)):
                if re.search(pattern, p.read_text(errors="replace"), re.M):
                    return ".".join(
                        p.relative_to(SRC / version).with_suffix("").parts
                    ).removesuffix(".__init__")
        raise SystemExit(f"{version}: {pattern} not found")

    m = importlib.import_module(where(r"^def make_arg_parser", "entrypoints/**/cli_args.py"))
    f = importlib.import_module(
        where(
            r"^class FlexibleArgumentParser",
            "utils/argparse_utils.py",
            "utils/__init__.py",
            "utils.py",
            "utils/*.py",
        )
    )
    return m, f.FlexibleArgumentParser


def complete(version, m, parser):
    """Do as ServeSubcommand.subparser_init: some releases add a few flags of their own."""
    m.make_arg_parser(parser)
    add_from_source(parser, SRC / version / "vllm/entrypoints/cli/serve.py")
    return parser


def build_parser(version):
    m, parser_class = import_parser(version)
    return m, complete(version, m, parser_class(prog="vllm serve"))


def add_from_source(parser, path, group=None):
    """Replay `X.add_argument("--name", ...)` calls found in a source file (constants only)."""
    import ast

    g = parser.add_argument_group(group) if group else parser
    have = {a.dest for a in parser._actions} | set(parser._option_string_actions)
    for c in ast.walk(ast.parse(path.read_text())):
        if not (
            isinstance(c, ast.Call)
            and isinstance(c.func, ast.Attribute)
            and c.func.attr == "add_argument"
        ):
            continue
        names = [
            a.value for a in c.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
        ]
        if not names or set(names) & have:
            continue
        kw = {}
        for k in c.keywords:
            if isinstance(k.value, ast.Name) and k.arg == "type":
                kw["type"] = {"int": int, "float": float, "str": str}.get(k.value.id, str)
            elif k.arg == "type":
                kw["type"] = json.loads if "loads" in ast.unparse(k.value) else str
            elif k.arg == "action" and not isinstance(k.value, ast.Constant):
                kw["action"] = argparse.BooleanOptionalAction
            else:
                with contextlib.suppress(ValueError):
                    kw[k.arg] = ast.literal_eval(k.value)
        if kw.get("action") in ("store_true", "store_false"):
            kw.pop("type", None)
        try:
            g.add_argument(*names, **kw)
        except (argparse.ArgumentError, TypeError, ValueError) as e:
            print(f"{names}: {e}", file=sys.stderr)
