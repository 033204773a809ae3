"""Several configurations side by side: choices, memory and flags, as rows and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment, Process
from recipes_core.errors import RecipesError
from recipes_core.render.text import code, plain

GIB = 1 << 30
ABSENT = "–"


class Row(NamedTuple):
    """One property of each configuration."""

    group: str
    """``choice``, ``memory``, ``flag`` or ``variable``."""
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
        """A table, flags and variables as code."""
        lines = [
            "| | " + " | ".join(_cell(name) for name in self.names) + " |",
            "|" + " --- |" * (len(self.names) + 1),
        ]
        for row in self.rows:
            written = row.group in {"flag", "variable"}
            cells = [
                code(text).replace("|", "\\|") if written and text != ABSENT else _cell(text)
                for text in row.cells
            ]
            label = code(row.label) if written else _cell(row.label)
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return plain(text).replace("|", "\\|")


_CHOICES: tuple[tuple[str, Callable[[Configuration], object]], ...] = (
    ("Model", lambda c: c.model_id),
    ("Variant", lambda c: f"{c.variant_id} ({c.variant.precision.upper()})"),
    ("Hardware", lambda c: f"{c.profile.brand} {c.profile.display_name}"),
    ("Nodes", lambda c: str(c.nodes)),
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
        items: Two or more, each with its deployment; flags are those of the first engine.
    """
    rows = [
        Row("choice", label, tuple(str(read(config) or ABSENT) for config, _ in items))
        for label, read in _CHOICES
    ]
    rows.append(Row("choice", "GPUs in use", tuple(str(_gpus(d)) for _, d in items)))
    rows.append(
        Row("choice", "vLLM at least", tuple(d.min_vllm_version or ABSENT for _, d in items))
    )
    rows += _memory(items)
    engines = [next(p for p in d.processes if p.is_engine) for _, d in items]
    rows += _flags(engines)
    rows += _variables(engines)
    return Comparison(tuple(_name(*item) for item in items), tuple(rows))


def _gpus(deployment: Deployment) -> int:
    copies = deployment.configuration.kv_instances or 1
    return copies * sum(pool.gpus for pool in deployment.layouts)


def _name(config: Configuration, deployment: Deployment) -> str:
    repo = config.entry.id.rsplit("/", 1)[-1]
    return f"{repo} on {_gpus(deployment)}× {config.profile.display_name}"


def _memory(items: Sequence[tuple[Configuration, Deployment]]) -> list[Row]:
    found = [_sized(config, deployment) for config, deployment in items]
    labels = list(dict.fromkeys(label for column in found for label in column))
    return [
        Row("memory", label, tuple(column.get(label, ABSENT) for column in found))
        for label in labels
    ]


def _sized(config: Configuration, deployment: Deployment) -> dict[str, str]:
    from recipes_core.sizing.configuration import size_configuration

    declared = f"{config.memory_needed_gb:,.0f} GB ({config.variant.vram_source or 'declared'})"
    rows = {"Memory declared, all GPUs": declared}
    try:
        sizing = size_configuration(config, deployment)
    except RecipesError as error:
        return {**rows, "Memory computed": str(error)}
    if sizing is None or sizing.basis == "declared":
        return rows
    for label, size in (
        ("Weights per GPU", sizing.weights),
        ("KV cache per GPU", sizing.available),
    ):
        if size is not None:
            rows[label] = f"{size / GIB:,.2f} GiB ({sizing.basis})"
    if sizing.kv_tokens is not None:
        rows["KV cache of one engine"] = f"{sizing.kv_tokens:,} tokens ({sizing.basis})"
    if sizing.max_concurrency is not None and sizing.max_model_len is not None:
        rows["Requests of full length at once"] = (
            f"{sizing.max_concurrency:.2f} of {sizing.max_model_len:,} tokens ({sizing.basis})"
        )
    if sizing.fits is not None:
        rows["Fits"] = (
            "yes" if sizing.fits else f"no, {(sizing.shortfall or 0) / GIB:.2f} GiB short"
        )
    return rows


def _flags(engines: Sequence[Process]) -> list[Row]:
    columns = [_written(engine) for engine in engines]
    names = dict.fromkeys(name for column in columns for name in column)
    return [
        Row("flag", name, tuple(column.get(name, ABSENT) for column in columns)) for name in names
    ]


def _written(engine: Process) -> dict[str, str]:
    found: dict[str, str] = {}
    for flag, _ in engine.flags:
        value = "off" if flag.negated else " ".join(flag.values) or "on"
        found[flag.name] = f"{found[flag.name]} {value}" if flag.name in found else value
    return found


def _variables(engines: Sequence[Process]) -> list[Row]:
    names: dict[str, Any] = dict.fromkeys(name for engine in engines for name in engine.env)
    return [
        Row("variable", name, tuple(engine.env.get(name, ABSENT) for engine in engines))
        for name in names
    ]
