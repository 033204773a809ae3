#!/usr/bin/env python3
"""Ask the real parser of vLLM releases about every distinct rendered command, and compare.

    check_real_parser.py 0.33.0 0.28.0                          # our catalog
    check_real_parser.py 0.33.0 --conformance ../shared/conformance/renderings.jsonl.gz
    check_real_parser.py 0.33.0 --strict                        # and fail if one is refused

The parser is read from the wheel (340 MB are fetched once, 50 MB kept) and runs without torch and
without a GPU. A disagreement is explained where a reason is known, and fails the script otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from packaging.version import Version
from rendered import Rendered, add_sources, filled, read_sources
from vllm_wheel.runner import real_verdicts

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from recipes_core.findings import Finding
from recipes_core.vllm_cli import check_argv

ENGINE_CODES = {"bad-choice", "unknown-field", "bad-value", "not-json", "bad-json"}
"""What the parser lets pass and the engine refuses: names in registries, fields it reads later."""


def explanation(verdict: dict, errors: list[Finding], command: Rendered) -> str | None:
    """Why the two may differ; None if no reason is known."""
    if not verdict["ok"] and not errors:
        text = verdict.get("error", "")
        if "parser" in text and any("parser-plugin" in word for word in command.argv):
            return "a parser that a plugin file adds"
        if command.plugins and "parser" in text:
            return "a parser that a named plugin adds"
    if verdict["ok"] and errors and all(error.code in ENGINE_CODES for error in errors):
        return "a name or field that is checked when the engine starts"
    return None


def compare(version: str, commands: list[Rendered]) -> int:
    """Print a summary for one release; returns the number of unexplained disagreements."""
    unique = {(c.argv, c.plugins): c for c in commands if "--omni" not in c.argv}
    plain = list(unique.values())
    verdicts = real_verdicts(version, [filled(command.argv) for command in plain])
    counts: Counter[str] = Counter()
    unexplained = []
    for command, verdict in zip(plain, verdicts, strict=True):
        found = check_argv(command.argv, {}, version, plugins=command.plugins)
        errors = [finding for finding in found if finding.severity == "error"]
        if verdict["ok"] == (not errors):
            counts["both accept" if verdict["ok"] else "both refuse"] += 1
            continue
        reason = explanation(verdict, errors, command)
        counts[f"explained: {reason}" if reason else "unexplained"] += 1
        if not reason:
            unexplained.append((command, verdict, errors))
    print(f"vLLM {version}: {len(plain)} distinct commands")
    for what, count in counts.most_common():
        print(f"  {count:6} {what}")
    for command, verdict, errors in unexplained[:20]:
        real = "accepts" if verdict["ok"] else verdict.get("error")
        print(f"  {command.label}: the parser says {real}; we say {errors or 'nothing'}")
    return len(unexplained)


def refused(version: str, commands: list[Rendered]) -> int:
    """Print the commands that the real parser refuses; returns how many."""
    unique = list({(c.argv, c.plugins): c for c in commands}.values())
    verdicts = real_verdicts(version, [filled(command.argv) for command in unique])
    reasons: dict[str, list[str]] = {}
    for command, verdict in zip(unique, verdicts, strict=True):
        if not verdict["ok"] and explanation(verdict, [], command) is None:
            reasons.setdefault(verdict["error"][:200], []).append(command.label)
    bad = sum(map(len, reasons.values()))
    print(f"vLLM {version}: the real parser refuses {bad} of {len(unique)} that are due there")
    for reason, labels in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"  {len(labels):6} {labels[0]}: {reason}")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--strict", action="store_true", help="a refused command fails the script")
    add_sources(parser)
    args = parser.parse_args()
    commands = [c for c in read_sources(args) if c.argv[:2] == ("vllm", "serve")]
    bad = 0
    for version in args.versions:
        bad += compare(version, commands)
        if args.strict:
            # A release is asked only about what a recipe claims to run on it.
            due = [
                command
                for command in commands
                if "--omni" not in command.argv
                and (command.floor is None or not _later(command.floor, version))
            ]
            bad += refused(version, due)
    return 1 if bad else 0


def _later(floor: str, version: str) -> bool:
    return floor == "nightly" or Version(floor) > Version(version)


if __name__ == "__main__":
    raise SystemExit(main())
