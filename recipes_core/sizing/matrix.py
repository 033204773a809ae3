"""Whether each variant fits each piece of hardware."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.estimate import Declared, size
from recipes_core.sizing.fields import ConfigError
from recipes_core.sizing.hardware import Gpu
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.versions import DEFAULT_VLLM


@dataclass(frozen=True)
class Entry:
    """One engine to size.

    Args:
        variant: Name of the row.
        precision: Declared precision of the variant.
        hardware: Name of the column.
        checkpoint: What is served; None where nothing is known of it.
        gpu: The card.
        argv: The engine's command.
        env: Its environment.
    """

    variant: str
    precision: str
    hardware: str
    checkpoint: Architecture | Declared | None
    gpu: Gpu
    argv: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One field of the matrix.

    Args:
        entry: What was sized.
        sizing: What was found, None where the command cannot be sized.
        error: Why not.
    """

    entry: Entry
    sizing: Sizing | None
    error: str = ""

    @property
    def gpus(self) -> int:
        """GPUs of the engine, 0 where it could not be sized."""
        settings = self.sizing.settings if self.sizing is not None else None
        return settings.args.gpus if settings is not None else 0


def fit_matrix(entries: Iterable[Entry], *, vllm: str = DEFAULT_VLLM) -> list[Cell]:
    """Sizes every entry; one that cannot be sized says why and stops nothing.

    Args:
        entries: Variants times hardware, as they are to be shown.
        vllm: The release.
    """
    cells = []
    for entry in entries:
        if entry.checkpoint is None:
            cells.append(Cell(entry, None, "nothing is known of the checkpoint"))
            continue
        try:
            found = size(entry.checkpoint, entry.gpu, entry.argv, env=entry.env, vllm=vllm)
        except ConfigError as error:
            cells.append(Cell(entry, None, str(error)))
        else:
            cells.append(Cell(entry, found))
    return cells
