"""Explain a reader's own command: flags, layout, findings and the nearest recipe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from recipes_core.findings import Finding
from recipes_core.vllm_cli.bench import check_bench
from recipes_core.vllm_cli.check import arguments, check_argv, is_omni, lookup
from recipes_core.vllm_cli.command import Command, expand_config, parse_command
from recipes_core.vllm_cli.effects import EFFECTS
from recipes_core.vllm_cli.floors import Floor, min_version
from recipes_core.vllm_cli.tables import (
    FlagFact,
    Release,
    option_spans,
    release,
    table_for,
    versions,
)
from recipes_core.vllm_cli.values import listing
from recipes_core.vllm_cli.words import Item, has_placeholder, split


class FlagExplained(NamedTuple):
    """One flag of a command."""

    written: str
    """The first word, as it was written."""
    name: str
    """The canonical long name, with the keys of a dotted flag."""
    values: tuple[str, ...]
    """The words after it, or after its ``=``."""
    topic: str
    """The topic of Effect, or ``other``."""
    text: str
    """What it does, or what the table knows of it."""
    since: str | None
    """The oldest release in the tables that has it; None if none has."""


class Layout(NamedTuple):
    """The parallel sizes that a command asks for; None where a ``$NAME`` is to be filled in."""

    tp: int | None = 1
    pp: int | None = 1
    dp: int | None = 1
    dp_local: int | None = None
    """Data-parallel ranks on this node; None also where the flag is not there."""
    dcp: int | None = 1
    """Decode context parallel: ranks of the TP group that share a sequence's KV cache."""
    pcp: int | None = 1
    ep: bool = False
    """Whether experts are spread over all TP × DP ranks."""
    nodes: int | None = 1

    @property
    def gpus(self) -> int | None:
        """GPUs of the whole engine, TP × PP × DP × PCP; None if one of them is open."""
        sizes = (self.tp, self.pp, self.dp, self.pcp)
        total = 1
        for size in sizes:
            if size is None:
                return None
            total *= size
        return total

    def describe(self) -> str:
        """The layout on one line, such as ``TP 4 × DP 2, expert parallel: 8 GPUs``."""
        sizes = (("TP", self.tp), ("PP", self.pp), ("DP", self.dp), ("PCP", self.pcp))
        parts = [f"{name} {'?' if size is None else size}" for name, size in sizes if size != 1]
        text = " × ".join(parts) or "TP 1"
        if self.dcp != 1:
            text += f", DCP {'?' if self.dcp is None else self.dcp}"
        if self.ep:
            text += ", expert parallel"
        count = self.gpus
        unit = "GPU" if count == 1 else "GPUs"
        return text if count is None else f"{text}: {count} {unit}"


class Match(NamedTuple):
    """How near a known command is to a reader's."""

    label: str
    """Which candidate it is."""
    score: float
    """Share of flags and values that both have, 0 to 1."""
    only_here: tuple[str, ...]
    """Flags that only the reader's command has."""
    only_there: tuple[str, ...]
    """Flags that only the candidate has."""
    differ: tuple[tuple[str, str, str], ...]
    """Flags with other values: name, here, there."""


class Explanation(NamedTuple):
    """A command, explained."""

    argv: tuple[str, ...]
    env: dict[str, str]
    image: str | None
    model: str | None
    """The model that is served; None where none is named."""
    version: str
    """The release whose table answered."""
    flags: tuple[FlagExplained, ...]
    layout: Layout
    findings: tuple[Finding, ...]
    floor: Floor | None
    """The least version that accepts it; None for a bench command."""


_SIZES = {
    "--tensor-parallel-size": "tp",
    "--pipeline-parallel-size": "pp",
    "--data-parallel-size": "dp",
    "--data-parallel-size-local": "dp_local",
    "--decode-context-parallel-size": "dcp",
    "--prefill-context-parallel-size": "pcp",
    "--nnodes": "nodes",
}


def _canonical(item: Item, rel: Release) -> tuple[str, FlagFact | None, bool]:
    """The canonical name, the flag, and whether the item negates it."""
    fact = lookup(item, rel)
    if fact is None:
        # Another release may know it, so that an alias still gets its name.
        for index in range(len(versions()) - 1, -1, -1):
            other = release(index, rel.omni).options.get(item.option)
            if other is not None:
                return ".".join((other.name, *item.path)), None, item.option in other.negations
        return ".".join((item.option, *item.path)), None, False
    return ".".join((fact.name, *item.path)), fact, item.option in fact.negations


def _from_table(fact: FlagFact | None) -> str:
    """What a table knows of a flag, where we have no words of our own."""
    if fact is None:
        return "Not known to this version."
    kinds = {
        "bool": "A switch with a negation",
        "flag": "A switch",
        "append": "A value; may be given again",
    }
    text = kinds.get(fact.kind, "A value")
    if fact.kind not in {"bool", "flag"} and fact.type:
        text += f" ({fact.type.replace('_', ' ')})" if fact.type.isidentifier() else ""
    if fact.nargs in {"+", "*"}:
        text += ", several words"
    known = fact.choices or fact.suggested
    if known:
        text += f"; one of {listing(known)}"
    if fact.default is not None:
        default = str(fact.default).lower() if isinstance(fact.default, bool) else fact.default
        text += f"; default {default}"
    return text + "."


def explain_flag(item: Item, rel: Release) -> FlagExplained:
    """Explain one flag of a command at a release."""
    name, fact, off = _canonical(item, rel)
    base = name.split(".")[0]
    effect = EFFECTS.get(base)
    text = effect.text if effect else _from_table(fact)
    if off:
        text = f"Switched off: {text}"
    spans = option_spans().get(item.option) or option_spans(omni=True).get(item.option)
    since = versions()[spans[0]] if spans and item.option in option_spans() else None
    topic = effect.topic if effect else "other"
    return FlagExplained(item.written, name, item.all_values, topic, text, since)


def read_layout(argv: Sequence[str], rel: Release) -> Layout:
    """Read the parallel sizes out of a command.

    Args:
        argv: ``["vllm", "serve", MODEL, …]``.
        rel: The release that knows the flags' names.
    """
    sizes: dict[str, int | None] = {}
    expert_parallel = False
    for item in split(arguments(argv)).items:
        name, _, off = _canonical(item, rel)
        if name == "--enable-expert-parallel":
            expert_parallel = not off
        field = _SIZES.get(name)
        if field and item.all_values:
            value = item.all_values[0]
            if has_placeholder(value):
                sizes[field] = None
            elif value.isdigit():
                sizes[field] = int(value)
    return Layout(ep=expert_parallel)._replace(**sizes)  # type: ignore[arg-type]


def _facts(argv: Sequence[str], rel: Release) -> dict[str, str]:
    """Flags by canonical name with their values as one text; the model under ``model``."""
    line = split(arguments(argv))
    found = {"model": line.positionals[0]} if line.positionals else {}
    for item in line.items:
        name, _, off = _canonical(item, rel)
        if name == "--model":
            found.setdefault("model", " ".join(item.all_values))
            continue
        value = " ".join(item.all_values)
        found[name] = "off" if off else value or "on"
    return found


def nearest_recipe(
    candidates: Iterable[tuple[str, Sequence[str]]], argv: Sequence[str], version: str = "latest"
) -> Match | None:
    """Find the known command that a reader's command is nearest to.

    Args:
        candidates: A label and an argv for each command that a catalog renders.
        argv: The reader's command.
        version: The release whose names count.

    Returns:
        The nearest, the same model before all else, then as many nodes; None without candidates.
        Of equals, the first.
    """
    rel = release(table_for(version).position, is_omni(argv))
    here = _facts(argv, rel)
    best: tuple[tuple[bool, bool, float], str, dict[str, str]] | None = None
    for label, other in candidates:
        there = _facts(other, rel)
        names = (here.keys() | there.keys()) - {"model"}
        same = sum(name in here and name in there for name in names)
        equal = sum(here.get(name) == there.get(name) for name in names)
        score = (same + equal) / (2 * len(names)) if names else 1.0
        same_model = here.get("model", "").lower() == there.get("model", "").lower()
        same_nodes = here.get("--nnodes", "1") == there.get("--nnodes", "1")
        rank = (same_model, same_nodes, score)
        if best is None or rank > best[0]:
            best = (rank, label, there)
    if best is None:
        return None
    (*_, score), label, there = best
    return Match(
        label,
        score,
        tuple(name for name in here if name not in there),
        tuple(name for name in there if name not in here),
        tuple((n, here[n], there[n]) for n in here if n in there and here[n] != there[n]),
    )


_TAGGED = re.compile(r"(?:.*/)?vllm-openai:v?(\d+\.\d+\.\d+)(?:[-.].*)?")


def version_of_image(image: str | None) -> str | None:
    """The release in a container of vLLM's own, by its tag; None where the tag names none."""
    found = _TAGGED.fullmatch(image or "")
    return found[1] if found else None


def explain(
    command: str,
    version: str | None = None,
    *,
    plugins: Sequence[str] = (),
    read: Callable[[str], str] | None = None,
) -> Explanation:
    """Explain a pasted command.

    Args:
        command: Shell text; see parse_command.
        version: The release to check against; None takes that of the command's own container
            image, else the newest.
        plugins: As in check_argv.
        read: Gives the text of a ``--config`` file; None leaves the file unread, and says so.

    Returns:
        Flag by flag what it does, the layout, the findings at that version and the least version.

    Raises:
        ValueError: There is no vLLM command in it, or the version is none.
        OSError: From read.
    """
    parsed = parse_command(command)
    version = version or version_of_image(parsed.image) or "latest"
    rel = release(table_for(version).position, is_omni(parsed.argv), tuple(plugins))
    argv, notes = parsed.argv, list(parsed.findings)
    if argv[1] == "bench":
        return _explain_bench(parsed, version, rel.version)
    if "--config" in argv:
        if read is None:
            text = "the file behind --config was not read: its flags are missing here"
            notes.append(Finding("info", "config-not-read", text, "--config"))
        else:
            argv = expand_config(argv, read, rel.options)
    line = split(arguments(argv))
    models = [item.all_values[0] for item in line.items if item.option == "--model"][:1]
    findings = check_argv(argv, parsed.env, version, plugins=plugins)
    return Explanation(
        argv,
        parsed.env,
        parsed.image,
        next(iter((*models, *line.positionals)), None),
        rel.version,
        tuple(explain_flag(item, rel) for item in line.items if item.option != "--model"),
        read_layout(argv, rel),
        (*notes, *findings),
        min_version(argv, parsed.env, plugins=plugins),
    )


def _explain_bench(parsed: Command, version: str, read_as: str) -> Explanation:
    """A benchmark's command: its flags are named and checked, without words or a layout."""
    flags = tuple(
        FlagExplained(item.written, item.option, item.all_values, "other", "", None)
        for item in split(parsed.argv[3:]).items
    )
    return Explanation(
        parsed.argv,
        parsed.env,
        parsed.image,
        None,
        read_as,
        flags,
        Layout(),
        (*parsed.findings, *check_bench(parsed.argv, version)),
        None,
    )
