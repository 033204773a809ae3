"""The least version that accepts a command: computed from the tables, with its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from recipes_core.findings import Finding
from recipes_core.vllm_cli.check import arguments, is_omni, judge, judge_variable, plugin_flags
from recipes_core.vllm_cli.tables import Release, release, versions
from recipes_core.vllm_cli.words import Item, split


class Reason(NamedTuple):
    """One flag or variable that an older release refuses."""

    where: str
    """The flag, the dotted field or the ``$VARIABLE``."""
    message: str
    """What that release says of it."""


class Floor(NamedTuple):
    """The least version that accepts a command, as far as the tables can tell."""

    version: str | None
    """The oldest release in the tables from which on, up to ``last``, every one accepts everything;
    None if none does. An older run of releases that ends before is no floor."""
    reasons: tuple[Reason, ...]
    """What sets the floor; where there is none, what stands in the way."""
    refused: str | None = None
    """The release in the tables just below, which refuses it; None at the oldest. The true floor
    lies above it and at most at ``version``."""
    last: str | None = None
    """The newest release in the tables that accepts everything."""

    def contradicts(self, declared: str) -> bool:
        """Whether a declared least version is too low: its own table refuses the command."""
        if self.version is None:
            return True
        if self.refused is None:
            return False
        try:
            return Version(declared) <= Version(self.refused)
        except InvalidVersion:
            # A nightly build is newer than every table.
            return False


def _fails(findings: Iterable[Finding]) -> bool:
    return any(f.severity == "error" or f.code == "unknown-variable" for f in findings)


@lru_cache(maxsize=1024)
def _releases(omni: bool, plugins: tuple[str, ...]) -> tuple[Release, ...]:
    return tuple(release(index, omni, plugins) for index in range(len(versions())))


@lru_cache(maxsize=65536)
def _item_mask(item: Item, omni: bool, plugins: tuple[str, ...], by: frozenset[str]) -> int:
    """Bit i is set if the release at position i accepts a flag with its values."""
    mask = 0
    for rel in _releases(omni, plugins):
        if not (omni and rel.omni_version is None) and not _fails(judge(item, rel, by)[0]):
            mask |= 1 << rel.index
    return mask


@lru_cache(maxsize=16384)
def _env_mask(name: str, value: str, omni: bool, plugins: tuple[str, ...]) -> int:
    mask = 0
    for rel in _releases(omni, plugins):
        if not _fails(judge_variable(name, value, rel)):
            mask |= 1 << rel.index
    return mask


def _messages(findings: Iterable[Finding]) -> Iterable[Reason]:
    for finding in findings:
        if finding.severity == "error" or finding.code == "unknown-variable":
            yield Reason(finding.where, finding.message)


def min_version(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    omni: bool = False,
    plugins: Sequence[str] = (),
) -> Floor:
    """Compute the least vLLM version that accepts a command and reads its variables.

    Args:
        argv: ``["vllm", "serve", MODEL, …]``.
        env: The variables that the command gets.
        omni: As in check_argv; a release without a vllm-omni table of its time does not count.
        plugins: As in check_argv.

    Returns:
        The floor; faults that no version mends, such as a stray word, are not in it.
    """
    omni = omni or is_omni(argv)
    names, added = versions(), tuple(plugins)
    line = split(arguments(argv))
    by = plugin_flags(line)
    masks: list[tuple[Item | tuple[str, str], int]] = [
        (item, _item_mask(item, omni, added, by)) for item in line.items
    ]
    variables = [(name, str(value)) for name, value in env.items()]
    masks += [((name, value), _env_mask(name, value, omni, added)) for name, value in variables]
    everything = (1 << len(names)) - 1
    for _, mask in masks:
        everything &= mask

    def reasons(index: int, mask_of: int) -> tuple[Reason, ...]:
        rel = _releases(omni, added)[index]
        found: dict[Reason, None] = {}
        for what, mask in masks:
            if mask & mask_of:
                continue
            if isinstance(what, Item):
                findings = judge(what, rel, by)[0]
            else:
                findings = judge_variable(*what, rel)
            for reason in _messages(findings):
                found.setdefault(reason)
        return tuple(found)

    if not everything:
        never = reasons(len(names) - 1, (1 << len(names)) - 1)
        return Floor(None, never or reasons(len(names) - 1, 1 << (len(names) - 1)))
    top = everything.bit_length() - 1
    first = top
    while first and everything >> (first - 1) & 1:
        first -= 1
    last = names[top]
    if not first or (omni and _releases(omni, added)[first - 1].omni_version is None):
        # Below lies nothing that was read, so nothing is known to refuse it.
        return Floor(names[first], (), None, last)
    return Floor(names[first], reasons(first - 1, 1 << (first - 1)), names[first - 1], last)


def check_floor(
    declared: str, argv: Sequence[str], env: Mapping[str, str], *, plugins: Sequence[str] = ()
) -> list[Finding]:
    """Compare a declared least version with the computed one.

    Args:
        declared: The version that a recipe promises to run from.
        argv: The command that it renders.
        env: Its variables.
        plugins: As in check_argv.

    Returns:
        A ``floor-too-low`` error with what sets the true floor, or nothing.
    """
    floor = min_version(argv, env, plugins=plugins)
    if floor.version is None or not floor.contradicts(declared):
        return []
    culprits = ", ".join(dict.fromkeys(reason.where for reason in floor.reasons))
    text = f"declared for vLLM {declared} and up, but it needs {floor.version}: {culprits}"
    return [Finding("error", "floor-too-low", text)]
