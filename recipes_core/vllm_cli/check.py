"""Check a command and its environment against what one vLLM release accepts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol, cast

from recipes_core.findings import Finding, Severity
from recipes_core.vllm_cli.environment import check_variable
from recipes_core.vllm_cli.hints import INERT, REPLACEMENTS
from recipes_core.vllm_cli.plugins import PLUGINS
from recipes_core.vllm_cli.tables import (
    FlagFact,
    Release,
    describe_spans,
    option_spans,
    release,
    table_for,
)
from recipes_core.vllm_cli.together import check_model, check_together
from recipes_core.vllm_cli.values import (
    PLUGIN_FLAGS,
    REGISTRIES,
    Problem,
    check_json_value,
    check_value,
    dotted_value,
    listing,
    nearest,
)
from recipes_core.vllm_cli.words import Item, Line, split

_SWITCH_KINDS = frozenset({"bool", "flag", "help"})


def _problem(problem: Problem, flag: str) -> Finding:
    where = f"{flag}.{problem.where}" if problem.where else flag
    severity = cast(Severity, problem.severity)
    return Finding(severity, problem.code, f"{where} {problem.text}", where)


def _match(option: str, known: Mapping[str, FlagFact]) -> tuple[FlagFact | None, list[str]]:
    """The flag of an option string, and by which abbreviation if it is one."""
    fact = known.get(option)
    if fact is not None:
        return fact, []
    found = [name for name in known if name.startswith(option)] if len(option) > 1 else []
    if not option.startswith("--"):
        found = [name for name in found if not name.startswith("--")]
    return (known[found[0]] if len(found) == 1 else None), found


def lookup(item: Item, rel: Release) -> FlagFact | None:
    """The flag of an item in a release, abbreviations included; None if there is none."""
    fact = _match(item.option, rel.options)[0]
    return fact or _short_with_value(item, rel)


def _short_with_value(item: Item, rel: Release) -> FlagFact | None:
    """``-n2``: argparse reads a value that is glued to a flag of one letter."""
    if re.fullmatch(r"-[A-Za-z].+", item.option) and item.option[1] != "-":
        return rel.options.get(item.option[:2])
    return None


def _unknown(item: Item, rel: Release, matches: list[str]) -> Finding:
    flag = item.option
    if len(matches) > 1:
        shown = ", ".join(sorted(matches)[:8])
        text = f"{flag} is short for more than one flag of vLLM {rel.version}: {shown}"
        return Finding("error", "ambiguous-flag", text, flag)
    if rel.bench:
        hint = nearest(flag, rel.options)
        text = f"vllm bench {rel.bench} {rel.version} has no {flag}{hint}"
        return Finding("error", "unknown-flag", text, flag)
    spans = option_spans().get(flag, ())
    history = describe_spans(spans, rel.index)
    if flag in REPLACEMENTS and spans and spans[0] < rel.index:
        history += f"; {REPLACEMENTS[flag]}"
    if history:
        text = f"vLLM {rel.version} has no {flag}: {history}"
    elif not rel.omni and flag in option_spans(omni=True):
        text = f"vLLM {rel.version} has no {flag}: it is a flag of vllm-omni (vllm serve --omni)"
    else:
        glued = re.fullmatch(r"(-[a-z]{2,})(\d+)", flag)
        if glued and glued[1] in rel.options:
            hint = f": write {glued[1]} {glued[2]}"
        else:
            hint = nearest(flag, rel.options)
        text = f"vLLM {rel.version} has no {flag}{hint}"
    return Finding("error", "unknown-flag", text, flag)


def _take(item: Item, fact: FlagFact) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """The values that a flag takes, the words left over, and what is wrong with their number."""
    words = item.values
    if fact.kind in _SWITCH_KINDS:
        fault = "" if item.attached is None else f"takes no value, not even {item.attached!r}"
        return (), words, fault
    if item.attached is not None:
        # argparse gives a flag with "=" that one value, however many the flag could take.
        return (item.attached,), words, ""
    if isinstance(fact.nargs, int):
        count = fact.nargs
        fault = "" if len(words) >= count else f"takes {count} values, and {len(words)} are there"
        return words[:count], words[count:], fault
    if fact.nargs in {"+", "*"}:
        return words, (), "" if words or fact.nargs == "*" else "needs at least one value"
    if fact.nargs == "?":
        return words[:1], words[1:], ""
    return words[:1], words[1:], "" if words else "needs a value"


def _notes(item: Item, fact: FlagFact, rel: Release) -> Iterator[Finding]:
    """What is worth saying about a flag whatever its value is."""
    name = fact.name
    if item.option == "--config" and item.attached is not None:
        text = "--config=FILE is accepted and not read: write --config FILE, as two words"
        yield Finding("warning", "config-not-read", text, name)
    since, why = INERT.get(name, ("", ""))
    if since and rel.index >= table_for(since).position:
        text = f"{name} does nothing in vLLM {rel.version}: {why}"
        yield Finding("warning", "ignored-flag", text, name)
    elif fact.deprecated:
        instead = f": {REPLACEMENTS[name]}" if name in REPLACEMENTS else ""
        text = f"{name} is deprecated in vLLM {rel.version}{instead}"
        yield Finding("warning", "deprecated-flag", text, name)


class Judged(NamedTuple):
    """What is to say of one flag."""

    findings: tuple[Finding, ...]
    left: tuple[str, ...]
    """The words after it that it does not take."""


def plugin_flags(line: Line) -> frozenset[str]:
    """The flags of a command that register more names."""
    return frozenset(item.option for item in line.items) & frozenset(PLUGIN_FLAGS.values())


@lru_cache(maxsize=65536)
def judge(item: Item, rel: Release, by: frozenset[str]) -> Judged:
    """Check one flag with its values against a release.

    Args:
        item: The flag and the words after it.
        rel: The release.
        by: What plugin_flags says of the whole command.
    """
    if item.option in {"--", "--model"}:
        # Neither reaches argparse: the model is moved to the front, the rest is no flag.
        own = item.option == "--model" and item.attached is None
        return Judged((), item.values[own:])
    found: list[Finding] = []
    fact, matches = _match(item.option, rel.options)
    if fact is None:
        glued = _short_with_value(item, rel)
        if glued is None:
            return Judged((_unknown(item, rel, matches),), ())
        fact, item = glued, item._replace(option=item.option[:2], attached=item.option[2:])
    elif matches:
        text = f"{item.option} is short for {matches[0]}: write it out, or a new flag breaks it"
        found.append(Finding("warning", "abbreviated-flag", text, fact.name))
    found += _notes(item, fact, rel)
    if item.path:
        found += _dotted(item, fact, rel)
        return Judged(tuple(found), item.values)
    values, rest, fault = _take(item, fact)
    if fault:
        found.append(Finding("error", "wrong-arity", f"{fact.name} {fault}", fact.name))
    kind = REGISTRIES.get(fact.name, "")
    if PLUGIN_FLAGS.get(kind) not in by:
        for value in values:
            found += (_problem(problem, fact.name) for problem in check_value(fact, value, rel))
    return Judged(tuple(found), rest)


def _dotted(item: Item, fact: FlagFact, rel: Release) -> Iterator[Finding]:
    where = ".".join((fact.name, *item.path))
    if item.attached is None:
        yield Finding("error", "wrong-arity", f"{where} needs a value", where)
    elif fact.kind in _SWITCH_KINDS or not _is_json(fact):
        text = f"{where}: {fact.name} takes no JSON, so it has no fields in vLLM {rel.version}"
        yield Finding("error", "not-json", text, where)
    else:
        for problem in check_json_value(fact, dotted_value(item), rel):
            yield _problem(problem, fact.name)


def _is_json(fact: FlagFact) -> bool:
    return (fact.type or "").startswith("json") or bool(fact.config) or fact.type == "from_cli"


def check_options(line: Line, rel: Release) -> tuple[list[Finding], list[str]]:
    """Check each flag of a command on its own.

    Returns:
        The findings, and the words that belong to no flag.
    """
    found: list[Finding] = []
    left: list[str] = []
    by = plugin_flags(line)
    for item in line.items:
        findings, rest = judge(item, rel, by)
        found += findings
        left += rest
    return found, left


def check_line(line: Line, rel: Release) -> list[Finding]:
    """Check a ``vllm serve`` command that is split already against one release's tables."""
    found, left = check_options(line, rel)
    found += check_model(line, left)
    found += check_together(line.items, rel)
    return found


@lru_cache(maxsize=16384)
def judge_variable(name: str, value: str, rel: Release) -> tuple[Finding, ...]:
    """Check one variable against a release."""
    where = f"${name}"
    return tuple(
        Finding(cast(Severity, problem.severity), problem.code, f"{where} {problem.text}", where)
        for problem in check_variable(name, value, rel)
    )


def check_env(env: Mapping[str, str], rel: Release, *, strict: bool = False) -> list[Finding]:
    """Check variables against one release's tables.

    Args:
        env: Variables with their values.
        rel: The release.
        strict: Whether ``--fail-on-environ-validation`` makes vLLM refuse unknown ``VLLM_*`` names.
    """
    found: list[Finding] = []
    for name, value in env.items():
        for finding in judge_variable(name, str(value), rel):
            if strict and finding.code == "unknown-variable" and name.startswith("VLLM_"):
                finding = finding._replace(severity="error")  # noqa: PLW2901
            found.append(finding)
    return found


def _about_table(version: str, rel: Release, *, omni: bool) -> Iterator[Finding]:
    table = table_for(version)
    if not table.exact:
        text = f"{table.reason}; checked against vLLM {table.version}"
        yield Finding("info", "nearest-table", text)
    if omni and rel.omni_version is None:
        text = f"no vllm-omni of the time of vLLM {rel.version} was read: its flags look unknown"
        yield Finding("info", "no-omni-table", text)


def _about_plugins(plugins: Sequence[str]) -> Iterator[Finding]:
    for name in plugins:
        if name not in PLUGINS:
            text = f"what the plugin {name!r} adds is not known; known are {listing(list(PLUGINS))}"
            yield Finding("info", "unknown-plugin", f"{text}{nearest(name, PLUGINS)}", name)


def arguments(argv: Sequence[str]) -> Sequence[str]:
    """The words after ``vllm serve``; a list without these two words is taken as it is."""
    return argv[2:] if tuple(argv[:2]) == ("vllm", "serve") else argv


def is_omni(argv: Sequence[str]) -> bool:
    """Whether a command starts vllm-omni."""
    return "--omni" in argv


def check_argv(
    argv: Sequence[str],
    env: Mapping[str, str],
    version: str,
    *,
    omni: bool = False,
    plugins: Sequence[str] = (),
) -> list[Finding]:
    """Check one ``vllm serve`` command and its environment against a vLLM version.

    Args:
        argv: ``["vllm", "serve", MODEL, …]``, without quoting; ``$NAME`` stands for a value that is
            still to be filled in and is never judged.
        env: The variables that the command gets.
        version: ``0.28.0``, ``latest`` or ``nightly``. A version that was not read is answered for
            by the nearest one, and a finding says so.
        omni: Whether vllm-omni's flags count; ``--omni`` in argv says the same.
        plugins: Packages whose additions count; one that PLUGINS does not know is a finding.

    Returns:
        Findings: first about the table, then in the order of the command, then of the variables.

    Raises:
        ValueError: The version is no version.
    """
    omni = omni or is_omni(argv)
    rel = release(table_for(version).position, omni, tuple(plugins))
    found = list(_about_table(version, rel, omni=omni))
    found += _about_plugins(plugins)
    found += check_line(split(arguments(argv)), rel)
    found += check_env(env, rel, strict="--fail-on-environ-validation" in argv)
    return found


class Process(Protocol):
    """What check needs of one process of a deployment."""

    @property
    def argv(self) -> Sequence[str]:
        """The words of its command."""

    @property
    def env(self) -> Mapping[str, str]:
        """Its variables."""

    @property
    def role(self) -> str:
        """What it is, such as ``serve`` or ``decode``."""


class Deployment(Protocol):
    """What check needs of a deployment."""

    @property
    def processes(self) -> Iterable[Process]:
        """All of its processes."""


def check(deployment: Deployment, version: str, *, plugins: Sequence[str] = ()) -> list[Finding]:
    """Check every vLLM process of a deployment against a version.

    Args:
        deployment: Anything with ``processes``, each with ``argv``, ``env`` and ``role``. Processes
            that do not run ``vllm serve`` (routers, stores) are passed over.
        version: As in check_argv.
        plugins: As in check_argv.

    Returns:
        Each finding once, in the order of the processes.
    """
    found: dict[Finding, None] = {}
    for process in deployment.processes:
        if tuple(process.argv[:2]) == ("vllm", "serve"):
            for finding in check_argv(process.argv, process.env, version, plugins=plugins):
                found.setdefault(finding)
    return list(found)
