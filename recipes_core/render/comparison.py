"""Several configurations side by side: choices, memory, flags, commands; as rows and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment, Process
from recipes_core.errors import RecipesError
from recipes_core.render.declared import gpus_taken, verdict_on
from recipes_core.render.shell import script
from recipes_core.render.text import code, fence, plain

if TYPE_CHECKING:
    from recipes_core.sizing import Sizing
    from recipes_core.sizing.verdict import Verdict

GIB = 1 << 30
ABSENT = "–"


class Row(NamedTuple):
    """One property of each configuration."""

    group: str
    """``choice``, ``memory``, ``flag``, ``variable`` or ``command``."""
    label: str
    cells: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the configurations are not all alike in it."""
        return len(set(self.cells)) > 1


class Comparison(NamedTuple):
    """Configurations side by side."""

    names: tuple[str, ...]
    """A short name of each column."""
    rows: tuple[Row, ...]

    def only_differences(self) -> Comparison:
        """The rows in which they are not alike."""
        return Comparison(self.names, tuple(row for row in self.rows if row.differs))

    def to_markdown(self) -> str:
        """A table, flags and variables as code; the commands beneath it."""
        lines = [
            "| | " + " | ".join(_cell(name) for name in self.names) + " |",
            "|" + " --- |" * (len(self.names) + 1),
        ]
        for row in self.rows:
            if row.group == "command":
                continue
            written = row.group in {"flag", "variable"}
            cells = [
                code(text).replace("|", "\\|") if written and text != ABSENT else _cell(text)
                for text in row.cells
            ]
            label = code(row.label) if written else _cell(row.label)
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        commands = [row for row in self.rows if row.group == "command"]
        for place, name in enumerate(self.names):
            for row in commands:
                if row.cells[place] != ABSENT:
                    title = f"{_cell(name)}: {_cell(row.label)}"
                    lines += ["", f"**{title}**", "", fence(row.cells[place])]
        return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return plain(text).replace("|", "\\|")


_CHOICES: tuple[tuple[str, Callable[[Configuration], object]], ...] = (
    ("Model", lambda c: c.model_id),
    ("Variant", lambda c: f"{c.variant_id} ({c.variant.precision.upper()})"),
    ("Hardware", lambda c: f"{c.profile.brand} {c.profile.display_name}"),
    ("Nodes", lambda c: str((c.kv_instances or 1) * c.gpus_used // c.profile.gpu_count)),
    ("Strategy", lambda c: c.strategy.display_name if c.strategy else ABSENT),
    ("Preset", lambda c: c.preset.label if c.preset else ABSENT),
    ("Pools", lambda c: ", ".join(
        f"{role} {pool.nodes or 'half a'} node{'s' if pool.nodes > 1 else ''} {pool.mode.upper()}"
        for role, pool in c.pools.items())),
    ("Features", lambda c: ", ".join(
        f"{name}:{c.feature_modes[name]}" if name in c.feature_modes else name
        for name in c.features)),
    ("KV cache offload", lambda c: c.kv_offload or ABSENT),
)  # fmt: skip


def compare(items: Sequence[tuple[Configuration, Deployment]]) -> Comparison:
    """Set configurations side by side.

    Args:
        items: Two or more, each with its deployment; where its pools differ, a cell names each.
    """
    rows = [
        Row("choice", label, tuple(str(read(config) or ABSENT) for config, _ in items))
        for label, read in _CHOICES
    ]
    rows.append(Row("choice", "GPUs in use", tuple(str(_gpus(d)) for _, d in items)))
    rows.append(
        Row("choice", "vLLM at least", tuple(d.min_vllm_version or ABSENT for _, d in items))
    )
    names = _names(items, rows)
    rows += _side_by_side("memory", [_sized(*item) for item in items])
    engines = [_engines(deployment) for _, deployment in items]
    rows += _side_by_side("flag", [_by_engine(found, _written) for found in engines])
    rows += _side_by_side("variable", [_by_engine(found, lambda e: e.env) for found in engines])
    commands = [{p.name: script(p) for p in d.processes if p.is_engine} for _, d in items]
    rows += _side_by_side("command", commands)
    return Comparison(names, tuple(rows))


def _side_by_side(group: str, columns: Sequence[Mapping[str, str]]) -> list[Row]:
    """A row for each label that any column has, in the order in which they come up."""
    labels = dict.fromkeys(label for column in columns for label in column)
    return [
        Row(group, label, tuple(column.get(label, ABSENT) for column in columns))
        for label in labels
    ]


def _gpus(deployment: Deployment) -> int:
    return (deployment.configuration.kv_instances or 1) * gpus_taken(deployment)


def _names(
    items: Sequence[tuple[Configuration, Deployment]], choices: Sequence[Row]
) -> tuple[str, ...]:
    """A short name of each; those that would be alike are told apart by what was chosen."""
    names = [
        f"{config.entry.id.rsplit('/', 1)[-1]} on {_gpus(d)}× {config.profile.display_name}"
        for config, d in items
    ]
    found = []
    for place, name in enumerate(names):
        twins = [n for n, other in enumerate(names) if other == name]
        apart = [
            row.cells[place]
            for row in choices
            if len({row.cells[n] for n in twins}) > 1 and row.cells[place] != ABSENT
        ]
        found.append(", ".join([name, *apart[:2]]))
    return tuple(found)


def _engines(deployment: Deployment) -> dict[str, Process]:
    """One engine of each pool, by the pool's name."""
    found: dict[str, Process] = {}
    for process in deployment.processes:
        if process.is_engine:
            found.setdefault(process.pool or "", process)
    return found


def _by_engine(
    engines: Mapping[str, Process], read: Callable[[Process], Mapping[str, str]]
) -> dict[str, str]:
    """What the engines have; where they are not alike, each by its pool."""
    columns = {pool: read(engine) for pool, engine in engines.items()}
    labels = dict.fromkeys(label for column in columns.values() for label in column)
    return {
        label: _joined({pool: column.get(label, ABSENT) for pool, column in columns.items()})
        for label in labels
    }


def _joined(values: Mapping[str, str]) -> str:
    """One value where all are alike, else each with its name."""
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return "; ".join(f"{name}: {value}" for name, value in values.items())


def _sized(config: Configuration, deployment: Deployment) -> dict[str, str]:
    """The memory of a configuration, each figure with its unit and origin."""
    from recipes_core.sizing.configuration import size_processes

    origin = config.variant.memory_origin
    rows = {"The recipe asks for, all GPUs": f"{config.memory_needed_gb:,.0f} GB ({origin})"}
    try:
        sizings = size_processes(config, deployment)
    except RecipesError as error:
        return {**rows, "Memory computed": str(error)}
    copies = config.kv_instances or 1
    columns = {process.name: _figures(sizing, copies) for process, sizing in sizings}
    verdicts = {process.name: verdict_on(deployment, sizing) for process, sizing in sizings}
    for label in dict.fromkeys(label for column in columns.values() for label in column):
        rows[label] = _joined({n: column.get(label, ABSENT) for n, column in columns.items()})
    told = {name: _told(*found) for name, found in verdicts.items()}
    rows["Verdict"] = _joined(told) if told else _told(*verdict_on(deployment, None))
    return rows


def _told(verdict: Verdict, basis: str) -> str:
    # What fits by our own figures has its tokens and requests in rows of their own.
    whole = verdict.kind != "fits" or basis == "declared"
    return f"{verdict.text if whole else verdict.word} ({basis})"


def _figures(sizing: Sizing, copies: int) -> dict[str, str]:
    """One engine, of which there are so many copies, each with a cache for each of its ranks."""
    rows: dict[str, str] = {}
    for label, size in (
        ("Weights per GPU", sizing.weights),
        ("KV cache per GPU", sizing.available),
    ):
        if size is not None:
            rows[label] = f"{size / GIB:,.2f} GiB ({sizing.basis})"
    caches = sizing.caches * copies
    each = f" in {caches} caches" if caches > 1 else ""
    if sizing.kv_tokens is not None:
        rows["KV cache, all together"] = (
            f"{sizing.kv_tokens * caches:,} tokens{each} ({sizing.basis})"
        )
    if sizing.max_concurrency is not None and sizing.max_model_len is not None:
        rows["Requests of full length at once"] = (
            f"{sizing.max_concurrency * caches:,.2f} of {sizing.max_model_len:,} tokens"
            f" ({sizing.basis})"
        )
    return rows


def _written(engine: Process) -> dict[str, str]:
    found: dict[str, str] = {}
    for flag, _ in engine.flags:
        value = "off" if flag.negated else " ".join(flag.values) or "on"
        found[flag.name] = f"{found[flag.name]} {value}" if flag.name in found else value
    return found
