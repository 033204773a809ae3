"""What runs in the child interpreter: one clean import of one release."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
import time

from vllm_wheel.collect import (
    collect_choices,
    collect_configs,
    collect_env,
    collect_env_elsewhere,
    collect_models,
)
from vllm_wheel.describe import dump_action
from vllm_wheel.fetch import SRC
from vllm_wheel.parsers import add_from_source, build_parser, complete, import_parser, set_platform
from vllm_wheel.stubs import bootstrap

SCHEMA = 1


def child_dump(version: str, stubs: list[str], platform: str, out: str):
    t0 = time.time()
    loaded = bootstrap(version, stubs)
    sys.argv = ["vllm", "serve", "--help"]  # makes get_kwargs() keep the help texts
    plat = set_platform(platform)
    # Newer vLLM takes hidden --no-x spellings out of action.option_strings once registered.
    _m, parser = build_parser(version)
    by_action: dict = {}
    for s, a in parser._option_string_actions.items():
        by_action.setdefault(id(a), []).append(s)
    sec = time.time() - t0
    dep = set()
    for g in [parser, *parser._action_groups]:
        dep |= set(getattr(g, "_deprecated", set()) or set())
    group_of = {id(a): g.title for g in parser._action_groups for a in g._group_actions}
    flags, positionals, helps = [], [], {}
    for a in parser._actions:
        a._all = by_action.get(id(a), [])
        d = dump_action(a, dep)
        extra = [s for s in a._all if s not in a.option_strings]
        if extra:
            d["negations"] = sorted(set(d.get("negations", [])) | set(extra))
        g = group_of.get(id(a))
        if g not in (None, "options", "positional arguments"):
            d["group"] = g
        if a.help and isinstance(a.help, str):
            helps[d["name"]] = re.sub(r"\s+", " ", a.help.replace("%%", "%")).strip()
        (flags if a.option_strings else positionals).append(d)
    ch, how = collect_choices(version)
    env = collect_env(version)
    fj = json.loads((SRC / version / "fetch.json").read_text())
    table = {
        "schema": SCHEMA,
        "vllm_version": version,
        "source": {k: fj[k] for k in ("wheel", "wheel_bytes", "wheel_sha256")}
        | {
            "platform": plat,
            "python": sys.version.split()[0],
            "torch": getattr(sys.modules.get("torch"), "__version__", None)
            if "torch" not in stubs
            else "stub",
            "stubbed": sorted({n.split(".")[0] if not n.startswith("vllm") else n for n in loaded}),
        },
        "positionals": positionals,
        "flags": sorted(flags, key=lambda d: d["name"]),
        "choices": ch,
        "choices_source": how,
        "config_fields": collect_configs(),
        "env": env,
        "env_read_elsewhere": collect_env_elsewhere(version, env),
        "architectures": collect_models(version),
    }
    pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
    write_table(table, pathlib.Path(out))
    hp = pathlib.Path(out).parent / "help" / f"{version}.json"
    hp.parent.mkdir(exist_ok=True)
    hp.write_text(json.dumps(helps, indent=0, ensure_ascii=False, sort_keys=True) + "\n")
    mods = [
        m
        for n, m in sys.modules.items()
        if n.split(".")[0] == "vllm" and getattr(m, "__file__", None)
    ]
    print(
        json.dumps(
            {
                "vllm_modules": len(mods),
                "vllm_bytes": sum(os.path.getsize(m.__file__) for m in mods),
                "version": version,
                "flags": len(flags),
                "option_strings": len(parser._option_string_actions),
                "env": len(env),
                "seconds_to_parser": round(sec, 1),
                "seconds": round(time.time() - t0, 1),
                "stubbed": len(table["source"]["stubbed"]),
                "bytes": os.path.getsize(out),
            }
        )
    )


def write_table(table: dict, path: pathlib.Path):
    """One line per flag / env var / config, so that diffs between versions read well."""

    def dumps(x):
        return json.dumps(x, ensure_ascii=False, sort_keys=False)

    parts = []
    for k, v in table.items():
        if isinstance(v, list) and v and isinstance(v[0], dict):
            parts.append(f"{dumps(k)}: [\n" + ",\n".join("  " + dumps(x) for x in v) + "\n ]")
        elif isinstance(v, dict) and len(v) > 3:
            parts.append(
                f"{dumps(k)}: {{\n"
                + ",\n".join(f"  {dumps(a)}: {dumps(b)}" for a, b in v.items())
                + "\n }"
            )
        else:
            parts.append(f"{dumps(k)}: {dumps(v)}")
    path.write_text("{\n " + ",\n ".join(parts) + "\n}\n")


def child_omni(version: str, stubs: list[str], platform: str, out: str):
    import argparse as ap

    loaded = bootstrap(version, stubs)
    sys.path.insert(0, str(SRC / f"vllm-omni-{version}"))
    sys.argv = ["vllm", "serve", "--help"]
    plat = set_platform(platform)
    m, parser_class = import_parser(version)
    plain = set(m.make_arg_parser(parser_class(prog="vllm serve"))._option_string_actions)
    # Importing vllm_omni drags in the whole engine; its serve command registers its flags with
    # plain add_argument calls, so these are read from the source and replayed on a real parser.
    how = "add_argument calls of vllm_omni/entrypoints/cli/serve.py, replayed"
    parser = parser_class()
    add_from_source(
        parser, SRC / f"vllm-omni-{version}" / "vllm_omni/entrypoints/cli/serve.py", "OmniConfig"
    )
    by_action: dict = {}
    for s, a in parser._option_string_actions.items():
        by_action.setdefault(id(a), []).append(s)
    flags = []
    for a in parser._actions:
        a._all = by_action.get(id(a), [])
        if (
            a.option_strings
            and not set(a.option_strings) <= plain
            and not isinstance(a, ap._HelpAction)
        ):
            flags.append(dump_action(a, set()))
    fj = json.loads((SRC / f"vllm-omni-{version}" / "fetch.json").read_text())
    env = re.compile(r"[\"'](VLLM_OMNI_[A-Z0-9_]+|VLLM_[A-Z0-9_]+)[\"']")
    names = set()
    for p in (SRC / f"vllm-omni-{version}" / "vllm_omni").rglob("*.py"):
        names |= set(env.findall(p.read_text(errors="replace")))
    table = {
        "schema": SCHEMA,
        "vllm_version": version,
        "package": "vllm-omni",
        "source": {k: fj[k] for k in ("wheel", "wheel_bytes", "wheel_sha256")}
        | {"how": how, "platform": plat, "stubbed": sorted({n.split(".")[0] for n in loaded})},
        "flags": sorted(flags, key=lambda d: d["name"]),
        "choices": {},
        "env": {k: {} for k in sorted(names)},
    }
    table["adds_to"] = version
    write_table(table, pathlib.Path(out))
    print(json.dumps({"omni": version, "flags": len(flags), "how": how}))


def child_check(version: str, stubs: list[str], platform: str, lines: list[list[str]]):
    import contextlib
    import io

    bootstrap(version, stubs)
    sys.argv = ["vllm", "serve"]
    set_platform(platform)
    m, parser_class = import_parser(version)
    parser = parser_class(description="vLLM CLI")
    sub = parser.add_subparsers(required=False, dest="subparser")
    serve = sub.add_parser("serve", usage="vllm serve [model_tag] [options]")
    complete(version, m, serve)
    ch, _ = collect_choices(version)
    for argv in lines:
        a = argv[1:] if argv[:1] == ["vllm"] else argv
        err = io.StringIO()
        r: dict = {"argv": argv}
        try:
            with contextlib.redirect_stderr(err):
                ns = parser.parse_args(list(a))
            r["ok"] = True
            stage = "validate"
            m.validate_parsed_serve_args(ns)
            stage = "parsers"
            tp = getattr(ns, "tool_call_parser", None)
            if tp and tp not in ch["tool_call_parser"]:
                raise KeyError(f"invalid tool call parser: {tp}")
            rp = getattr(ns, "reasoning_parser", None)
            if rp and rp not in ch["reasoning_parser"]:
                raise KeyError(f"invalid reasoning parser: {rp}")
        except SystemExit as e:
            msg = [
                x.strip()
                for x in err.getvalue().splitlines()
                if x.strip() and "errors.pydantic.dev" not in x
            ]
            at = max((i for i, x in enumerate(msg) if "error:" in x), default=len(msg) - 1)
            r.update(
                ok=False, stage="argparse", error=(" ".join(msg[at:]) if msg else str(e))[:600]
            )
        except Exception as e:
            r.update(
                ok=False,
                stage=stage if r.get("ok") else "argparse",
                error=f"{type(e).__name__}: {e}"[:600],
            )
        print(json.dumps(r, ensure_ascii=False), flush=True)
