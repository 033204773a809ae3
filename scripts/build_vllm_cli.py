"""Build recipes_core/vllm_cli/tables.json: what every vLLM release accepts, in one small file.

The input is a ``VERSION.json`` per release (also ``omni-VERSION.json``, ``bench-VERSION.json``),
as ``scripts/extract_vllm_cli.py`` writes them from a wheel. Neighbouring releases hardly differ, so
each fact is kept once, with the range of releases in which it holds.

    python scripts/build_vllm_cli.py ../shared/vllm_cli              # all releases of a folder
    python scripts/build_vllm_cli.py ../shared/vllm_cli NEW_FOLDER   # and some more
    python scripts/build_vllm_cli.py --extend NEW_FOLDER             # add to the file in the wheel
    python scripts/build_vllm_cli.py --wheel 0.34.0                  # read a new release first
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent
TARGET = REPO / "recipes_core" / "vllm_cli" / "tables.json"
SCHEMA = 1

Json = Any
Table = dict[str, Any]

FLAG_KEYS = ("aliases", "negations", "kind", "type", "config", "nargs", "none_ok", "deprecated")


def version_key(version: str) -> tuple[int, ...]:
    """Sorts 0.9.2 before 0.10.0."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def spans(indices: Iterable[int]) -> list[int]:
    """Ranges of consecutive indices, flat: ``[1, 2, 3, 7]`` is ``[1, 3, 7, 7]``."""
    flat: list[int] = []
    for index in sorted(set(indices)):
        if flat and flat[-1] == index - 1:
            flat[-1] = index
        else:
            flat += [index, index]
    return flat


def within(flat: list[int], index: int) -> bool:
    """Whether an index lies in one of the ranges."""
    return any(a <= index <= b for a, b in zip(flat[::2], flat[1::2], strict=True))


def _default(value: Json) -> Json:
    """A default that is worth showing: numbers, switches and short words."""
    if isinstance(value, str) and (len(value) > 40 or value == "==SUPPRESS=="):
        return None
    return value if isinstance(value, (bool, int, float, str)) and value != "" else None


def flag_record(flag: Table) -> Table:
    """What is kept of one flag in one release, without its choices."""
    record = {key: flag[key] for key in FLAG_KEYS if flag.get(key)}
    if (default := _default(flag.get("default"))) is not None:
        record["default"] = default
    return record


def field_record(field: Table) -> Table:
    """What is kept of one field of a JSON flag, without its choices."""
    record = {"type": field["type"]} if field.get("type") else {}
    if (default := _default(field.get("default"))) is not None:
        record["default"] = default
    return record


def env_record(variable: Table) -> Table:
    """What is kept of one variable, without its choices."""
    return {key: variable[key] for key in ("type", "default", "deprecated") if variable.get(key)}


def fold_records(
    tables: list[Table], get: Callable[[Table], dict[str, Table]], make: Callable[[Table], Table]
) -> Table:
    """``{name: {"r": [[spans, record], ...], "c": {choice: spans}, "s": {suggestion: spans}}}``."""
    found: dict[str, dict[str, dict[str, list[int]]]] = {}
    for index, table in enumerate(tables):
        for name, entry in get(table).items():
            slot = found.setdefault(name, {"r": {}, "choices": {}, "suggested": {}})
            slot["r"].setdefault(json.dumps(make(entry), sort_keys=True), []).append(index)
            for key in ("choices", "suggested"):
                for value in entry.get(key) or ():
                    slot[key].setdefault(json.dumps(value), []).append(index)
    out: Table = {}
    for name, slot in sorted(found.items()):
        records = sorted(slot["r"].items(), key=lambda item: item[1])
        entry = {"r": [[spans(where), json.loads(record)] for record, where in records]}
        for key, short in (("choices", "c"), ("suggested", "s")):
            if slot[key]:
                entry[short] = [
                    [json.loads(v), spans(where)] for v, where in sorted(slot[key].items())
                ]
        out[name] = entry
    return out


def fold_names(tables: list[Table], get: Callable[[Table], Iterable[str]]) -> dict[str, list[int]]:
    """``{name: spans}``."""
    found: dict[str, list[int]] = {}
    for index, table in enumerate(tables):
        for name in get(table):
            found.setdefault(name, []).append(index)
    return {name: spans(where) for name, where in sorted(found.items())}


def unfold_records(folded: Table, index: int) -> dict[str, Table]:
    """The entries of one release: the inverse of fold_records."""
    out: dict[str, Table] = {}
    for name, entry in folded.items():
        for where, record in entry["r"]:
            if within(where, index):
                full = dict(record)
                for short, key in (("c", "choices"), ("s", "suggested")):
                    values = [value for value, held in entry.get(short, ()) if within(held, index)]
                    if values:
                        full[key] = values
                out[name] = full
    return out


def unfold_names(folded: dict[str, list[int]], index: int) -> list[str]:
    """The names of one release: the inverse of fold_names."""
    return [name for name, where in folded.items() if within(where, index)]


def _by_name(table: Table) -> dict[str, Table]:
    return {flag["name"]: flag for flag in table["flags"]}


def fold(tables: list[Table], omni: list[Table], bench: list[Table]) -> Table:
    """Fold per-release tables, sorted by release, into one."""
    kinds = sorted({kind for table in tables for kind in table["choices"]})
    configs = sorted({name for table in tables for name in table["config_fields"]})
    return {
        "schema": SCHEMA,
        "versions": [table["vllm_version"] for table in tables],
        "wheel_sha256": [table["source"]["wheel_sha256"] for table in tables],
        "flags": fold_records(tables, _by_name, flag_record),
        "choices": {
            kind: fold_names(tables, lambda table, kind=kind: table["choices"].get(kind, ()))
            for kind in kinds
        },
        "configs": {
            config: fold_records(
                tables,
                lambda table, config=config: table["config_fields"].get(config, {}),
                field_record,
            )
            for config in configs
        },
        "env": fold_records(tables, lambda table: table["env"], env_record),
        "env_elsewhere": fold_names(tables, lambda table: table["env_read_elsewhere"]),
        "architectures": fold_names(tables, lambda table: table["architectures"]),
        "omni": {
            "versions": [table["vllm_version"] for table in omni],
            "flags": fold_records(omni, _by_name, flag_record),
            "env": fold_names(omni, lambda table: table["env"]),
        },
        "bench": {
            "versions": [table["vllm_version"] for table in bench],
            "flags": {
                command: fold_records(
                    bench,
                    lambda table, command=command: _by_name(
                        {"flags": table["commands"].get(command, [])}
                    ),
                    flag_record,
                )
                for command in sorted({name for table in bench for name in table["commands"]})
            },
        },
    }


def unfold(folded: Table) -> tuple[list[Table], list[Table], list[Table]]:
    """The per-release tables again, with what was kept of each."""

    def flags(entries: Table, index: int) -> list[Table]:
        return [{"name": name, **record} for name, record in unfold_records(entries, index).items()]

    tables = [
        {
            "vllm_version": version,
            "source": {"wheel_sha256": folded["wheel_sha256"][i]},
            "flags": flags(folded["flags"], i),
            "choices": {
                kind: names
                for kind, values in folded["choices"].items()
                if (names := unfold_names(values, i))
            },
            "config_fields": {
                config: found
                for config, entries in folded["configs"].items()
                if (found := unfold_records(entries, i))
            },
            "env": unfold_records(folded["env"], i),
            "env_read_elsewhere": unfold_names(folded["env_elsewhere"], i),
            "architectures": unfold_names(folded["architectures"], i),
        }
        for i, version in enumerate(folded["versions"])
    ]
    omni = [
        {
            "vllm_version": version,
            "flags": flags(folded["omni"]["flags"], i),
            "env": {key: {} for key in unfold_names(folded["omni"]["env"], i)},
        }
        for i, version in enumerate(folded["omni"]["versions"])
    ]
    bench = [
        {
            "vllm_version": version,
            "commands": {
                command: found
                for command, entries in folded["bench"]["flags"].items()
                if (found := flags(entries, i))
            },
        }
        for i, version in enumerate(folded["bench"]["versions"])
    ]
    return tables, omni, bench


def write(folded: Table, path: Path) -> None:
    """Write a line per name, so that a new release is a readable diff."""

    def dump(value: Json) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def block(value: Json, depth: int) -> str:
        if depth and isinstance(value, dict):
            lines = (f"{dump(key)}:{block(inner, depth - 1)}" for key, inner in value.items())
            return "{\n" + ",\n".join(lines) + "\n}"
        return dump(value)

    deep = {"choices": 2, "configs": 2, "omni": 2, "bench": 3}
    parts = [f"{dump(key)}:{block(value, deep.get(key, 1))}" for key, value in folded.items()]
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def read_folders(
    folders: Iterable[Path],
) -> tuple[dict[str, Table], dict[str, Table], dict[str, Table]]:
    """The tables of some folders by release; a later folder wins."""
    found: tuple[dict[str, Table], dict[str, Table], dict[str, Table]] = ({}, {}, {})
    for folder in folders:
        for path in sorted(folder.glob("*.json")):
            match = re.fullmatch(r"(omni-|bench-)?(\d+\.\d+\.\d+)", path.stem)
            if match:
                slot = {None: 0, "omni-": 1, "bench-": 2}[match[1]]
                found[slot][match[2]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def main(argv: list[str] | None = None) -> int:
    """Build the file; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument(
        "--extend", action="store_true", help="keep the releases of the target file"
    )
    parser.add_argument(
        "--wheel",
        action="append",
        default=[],
        metavar="VERSION",
        help="read a release from its wheel",
    )
    parser.add_argument("--out", type=Path, default=TARGET)
    args = parser.parse_args(argv)
    found: tuple[dict[str, Table], dict[str, Table], dict[str, Table]] = ({}, {}, {})
    if (args.extend or args.wheel) and TARGET.exists():
        for slot, old in zip(
            found, unfold(json.loads(TARGET.read_text(encoding="utf-8"))), strict=True
        ):
            slot.update({table["vllm_version"]: table for table in old})
    with tempfile.TemporaryDirectory() as scratch:
        for version in args.wheel:
            subprocess.run(
                [
                    sys.executable,
                    str(REPO / "scripts" / "extract_vllm_cli.py"),
                    "dump",
                    version,
                    "--out",
                    scratch,
                ],
                check=True,
            )
        for slot, new in zip(found, read_folders([*args.folders, Path(scratch)]), strict=True):
            slot.update(new)
    if not found[0]:
        parser.error("no VERSION.json in these folders")
    ordered = [[slot[v] for v in sorted(slot, key=version_key)] for slot in found]
    write(fold(*ordered), args.out)
    print(f"{args.out}: {len(ordered[0])} releases, {args.out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
