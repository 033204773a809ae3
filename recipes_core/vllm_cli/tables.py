"""The versioned table of what ``vllm serve`` accepts, and one release's view of it.

``tables.json`` keeps every fact once with the ranges of releases in which it holds
(``scripts/build_vllm_cli.py``). A Release is the view of one release, built when first asked for
and kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

from recipes_core.vllm_cli.plugins import additions

Json = Any


@dataclass(frozen=True, slots=True)
class FlagFact:
    """What one release's parser knows of one flag."""

    name: str
    """The long name, such as ``--tensor-parallel-size``."""
    kind: str
    """``value``, ``bool`` (has a negation), ``flag`` (a bare switch), ``append`` or ``help``."""
    aliases: tuple[str, ...] = ()
    negations: tuple[str, ...] = ()
    type: str | None = None
    """The parser's conversion: ``int``, ``float``, ``str``, ``json``, ``human_readable_int`` …"""
    config: str | None = None
    """The config class that validates the JSON of this flag."""
    nargs: str | int | None = None
    none_ok: bool = False
    """Whether an empty word or ``None`` unsets it."""
    deprecated: bool | str = False
    default: Json = None
    choices: tuple[str, ...] = ()
    """Values that the parser enforces."""
    suggested: tuple[str, ...] = ()
    """Values that the help names without enforcing them."""


@dataclass(frozen=True, slots=True)
class FieldFact:
    """What one release knows of one field of a JSON flag."""

    type: str | None = None
    """The annotation as text, such as ``int | None``."""
    default: Json = None
    choices: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class EnvFact:
    """What one release knows of one environment variable."""

    type: str | None = None
    default: str | None = None
    choices: tuple[str, ...] = ()
    deprecated: bool = False


class Table(NamedTuple):
    """Which table answers for a version that was asked for."""

    position: int
    """Position in versions()."""
    version: str
    """The release that was read."""
    exact: bool
    """Whether it is the very release that was asked for."""
    reason: str
    """Why another release answers; empty if exact."""


@lru_cache(maxsize=1)
def data() -> dict[str, Json]:
    """The whole file, parsed once (about 200 kB)."""
    path = resources.files("recipes_core.vllm_cli").joinpath("tables.json")
    loaded: dict[str, Json] = json.loads(path.read_bytes())
    return loaded


@lru_cache(maxsize=1)
def versions() -> tuple[str, ...]:
    """The vLLM releases that were read, oldest first."""
    return tuple(data()["versions"])


def newest() -> str:
    """The newest release that was read."""
    return versions()[-1]


@lru_cache(maxsize=1)
def _parsed_versions() -> tuple[Version, ...]:
    return tuple(Version(version) for version in versions())


@lru_cache(maxsize=256)
def table_for(version: str) -> Table:
    """The table that answers for a version.

    Args:
        version: ``0.28.0``, ``v0.28.0``, ``0.28``, ``latest`` or ``nightly``.

    Returns:
        The release itself; else the nearest of the same minor, the older one first; else the
        nearest older one; else the oldest.

    Raises:
        ValueError: The word is no version.
    """
    names, parsed = versions(), _parsed_versions()
    if version.strip().lower() in {"latest", "nightly", "main", "newest"}:
        reason = "" if version in {"latest", "newest"} else f"{version} is newer than every table"
        return Table(len(names) - 1, names[-1], not reason, reason)
    try:
        wanted = Version(version)
    except InvalidVersion:
        hint = f"a release such as {names[-1]}, latest or nightly"
        raise ValueError(f"{version!r} is no vLLM version: write {hint}") from None
    wanted = Version(wanted.public.partition("+")[0])
    if wanted in parsed:
        index = parsed.index(wanted)
        return Table(index, names[index], True, "")
    older = [i for i, known in enumerate(parsed) if known < wanted]
    minor = [i for i, known in enumerate(parsed) if known.release[:2] == wanted.release[:2]]
    if minor:
        index = max([i for i in minor if i in older], default=minor[0])
        reason = f"{version} was not read; {names[index]} is the nearest of its minor release"
    elif older:
        index = older[-1]
        newer = index == len(names) - 1
        reason = f"{version} is newer than every table" if newer else f"{version} was not read"
    else:
        index, reason = 0, f"{version} is older than every table"
    return Table(index, names[index], False, reason)


def holds(flat: Sequence[int], index: int) -> bool:
    """Whether flat ranges ``[first, last, first, last …]`` hold an index."""
    return any(flat[i] <= index <= flat[i + 1] for i in range(0, len(flat), 2))


def _at(pairs: Iterable[Sequence[Json]], index: int) -> Json | None:
    return next((value for where, value in pairs if holds(where, index)), None)


def _values(entry: Mapping[str, Json], key: str, index: int) -> tuple[Json, ...]:
    return tuple(value for value, where in entry.get(key, ()) if holds(where, index))


def _flag(name: str, entry: Mapping[str, Json], index: int) -> FlagFact | None:
    record = _at(entry["r"], index)
    if record is None:
        return None
    return FlagFact(
        name=name,
        kind=record["kind"],
        aliases=tuple(record.get("aliases", ())),
        negations=tuple(record.get("negations", ())),
        type=record.get("type"),
        config=record.get("config"),
        nargs=record.get("nargs"),
        none_ok=record.get("none_ok", False),
        deprecated=record.get("deprecated", False),
        default=record.get("default"),
        choices=tuple(str(value) for value in _values(entry, "c", index)),
        suggested=tuple(str(value) for value in _values(entry, "s", index)),
    )


def _options(entries: Mapping[str, Json], index: int) -> dict[str, FlagFact]:
    found: dict[str, FlagFact] = {}
    for name, entry in entries.items():
        fact = _flag(name, entry, index)
        if fact is not None:
            for option in (name, *fact.aliases, *fact.negations):
                found[option] = fact
    return found


class Release:
    """What one vLLM release accepts; made by release()."""

    def __init__(self, index: int, *, omni: bool = False, plugins: tuple[str, ...] = ()) -> None:
        self.index = index
        self.version = versions()[index]
        self.omni = omni
        self.bench = ""
        self.added = additions(plugins)

    @cached_property
    def omni_version(self) -> str | None:
        """The vllm-omni release whose flags stand beside this release's, None if there is none."""
        position = _omni_index(self.index)
        return None if position is None else str(data()["omni"]["versions"][position])

    @cached_property
    def options(self) -> dict[str, FlagFact]:
        """Every option string, with aliases and negations, and its flag."""
        found = _options(data()["flags"], self.index)
        if self.omni:
            position = _omni_index(self.index)
            if position is not None:
                found = {**_options(data()["omni"]["flags"], position), **found}
        return found

    @cached_property
    def env(self) -> dict[str, EnvFact]:
        """The variables that vLLM declares."""
        found: dict[str, EnvFact] = {}
        for name, entry in data()["env"].items():
            record = _at(entry["r"], self.index)
            if record is not None:
                found[name] = EnvFact(
                    record.get("type"),
                    record.get("default"),
                    _values(entry, "c", self.index),
                    bool(record.get("deprecated")),
                )
        return found

    @cached_property
    def env_elsewhere(self) -> frozenset[str]:
        """Variables that are read without being declared; vLLM itself calls them unknown."""
        found = {n for n, where in data()["env_elsewhere"].items() if holds(where, self.index)}
        position = _omni_index(self.index) if self.omni else None
        if position is not None:
            names = data()["omni"]["env"].items()
            found |= {name for name, where in names if holds(where, position)}
        return frozenset(found)

    @cached_property
    def _choices(self) -> dict[str, tuple[str, ...]]:
        return {}

    def choices(self, kind: str) -> tuple[str, ...]:
        """The names of a registry, such as ``reasoning_parser``; empty if it was not read."""
        known = self._choices.get(kind)
        if known is None:
            names = data()["choices"].get(kind, {}).items()
            known = tuple(name for name, where in names if holds(where, self.index))
            known += self.added.choices.get(kind, ())
            self._choices[kind] = known
        return known

    @cached_property
    def _configs(self) -> dict[str, dict[str, FieldFact]]:
        return {}

    def config(self, name: str) -> dict[str, FieldFact]:
        """The fields of a config class; empty if this release has no such class."""
        known = self._configs.get(name)
        if known is None:
            known = {}
            for field, entry in data()["configs"].get(name, {}).items():
                record = _at(entry["r"], self.index)
                if record is not None:
                    choices = _values(entry, "c", self.index)
                    known[field] = FieldFact(record.get("type"), record.get("default"), choices)
            self._configs[name] = known
        return known

    def knows_architecture(self, name: str) -> bool:
        """Whether vLLM's own model registry has this architecture."""
        where = data()["architectures"].get(name)
        return where is not None and holds(where, self.index)


@lru_cache(maxsize=256)
def release(index: int, omni: bool = False, plugins: tuple[str, ...] = ()) -> Release:
    """The view of the release at a position of versions(), with what a set of plugins adds."""
    return Release(index, omni=omni, plugins=plugins)


@lru_cache(maxsize=64)
def _omni_index(index: int) -> int | None:
    """The newest vllm-omni table that is not newer than a vLLM release."""
    limit = _parsed_versions()[index]
    fitting = [i for i, v in enumerate(data()["omni"]["versions"]) if Version(v) <= limit]
    return fitting[-1] if fitting else None


@lru_cache(maxsize=1)
def bench_versions() -> tuple[str, ...]:
    """The vLLM releases whose ``vllm bench`` was read, oldest first."""
    return tuple(data()["bench"]["versions"])


@lru_cache(maxsize=32)
def bench_options(position: int, command: str) -> dict[str, FlagFact]:
    """The option strings of a bench command at a position of bench_versions(); empty if unread."""
    return _options(data()["bench"]["flags"].get(command, {}), position)


@lru_cache(maxsize=2)
def option_spans(omni: bool = False) -> dict[str, tuple[int, ...]]:
    """Each option string with the ranges in which it exists: of vLLM, or of vllm-omni's tables."""
    found: dict[str, set[int]] = {}
    source = data()["omni"]["flags"] if omni else data()["flags"]
    for name, entry in source.items():
        for where, record in entry["r"]:
            for option in (name, *record.get("aliases", ()), *record.get("negations", ())):
                indices = found.setdefault(option, set())
                for i in range(0, len(where), 2):
                    indices.update(range(where[i], where[i + 1] + 1))
    return {option: _flat(indices) for option, indices in found.items()}


def _flat(indices: Iterable[int]) -> tuple[int, ...]:
    flat: list[int] = []
    for index in sorted(indices):
        if flat and flat[-1] == index - 1:
            flat[-1] = index
        else:
            flat += [index, index]
    return tuple(flat)


def record_spans(entry: Mapping[str, Json]) -> tuple[int, ...]:
    """The ranges in which an entry with records exists at all."""
    indices: set[int] = set()
    for where, _ in entry["r"]:
        for i in range(0, len(where), 2):
            indices.update(range(where[i], where[i + 1] + 1))
    return _flat(indices)


def describe_spans(flat: Sequence[int], index: int) -> str:
    """Where something exists, seen from a release that lacks it.

    Returns:
        ``it came with 0.13.0 (0.12.0 lacks it)`` or ``0.16.0 was the last to have it`` …; empty
        for no ranges.
    """
    if not flat:
        return ""
    names = versions()
    later = [flat[i] for i in range(0, len(flat), 2) if flat[i] > index]
    earlier = [flat[i + 1] for i in range(0, len(flat), 2) if flat[i + 1] < index]
    parts = []
    if earlier:
        last = earlier[-1]
        parts.append(f"removed: {names[last]} still had it, {names[last + 1]} does not")
    if later:
        first = later[0]
        lacks = f" ({names[first - 1]} lacks it)" if first else ""
        parts.append(f"it comes {'back ' if earlier else ''}with {names[first]}{lacks}")
    return "; ".join(parts)
