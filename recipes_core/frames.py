"""Sizing as pandas DataFrames; the only place where pandas is imported.

Sizes are in GiB (2**30 bytes) unless a column says otherwise; what is not known is NA.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from recipes_core.render.comparison import Comparison
from recipes_core.sizing.engine_log import Difference
from recipes_core.sizing.hardware import GIB
from recipes_core.sizing.matrix import Cell
from recipes_core.sizing.result import Sizing

_PARTS = ("weights", "activation", "non_torch", "cuda_graphs", "kv_cache", "outside_budget", "free")


def _gib(value: float | None) -> float | None:
    return None if value is None else value / GIB


def breakdown_frame(sizing: Sizing) -> pd.DataFrame:
    """The fullest GPU, part by part.

    Args:
        sizing: What `size` found.

    Returns:
        One row per part with the columns ``gib``, ``low_gib``, ``high_gib`` and ``share`` of the
        whole card.
    """
    rows = []
    for part in _PARTS:
        value = sizing.per_gpu[part]
        low, high = sizing.band.get(part, (None, None))
        share = None if value is None else value / sizing.gpu.memory
        rows.append(
            {"gib": _gib(value), "low_gib": _gib(low), "high_gib": _gib(high), "share": share}
        )
    frame = pd.DataFrame(rows, index=pd.Index(_PARTS, name="part"), dtype="Float64")
    frame.attrs["basis"] = sizing.basis
    return frame


def cells_frame(cells: Iterable[Cell]) -> pd.DataFrame:
    """Every figure of a matrix, one row per variant and piece of hardware."""
    rows = []
    for cell in cells:
        sizing, entry = cell.sizing, cell.entry
        row: dict[str, object] = {
            "variant": entry.variant,
            "precision": entry.precision,
            "hardware": entry.hardware,
            "gpus": cell.gpus or None,
            "basis": sizing.basis if sizing is not None else None,
            "fits": sizing.fits if sizing is not None else None,
        }
        for part in _PARTS:
            row[f"{part}_gib"] = _gib(sizing.per_gpu[part]) if sizing is not None else None
        row["kv_tokens"] = sizing.kv_tokens if sizing is not None else None
        row["max_concurrency"] = sizing.max_concurrency if sizing is not None else None
        row["max_model_len"] = sizing.max_model_len if sizing is not None else None
        row["shortfall_gib"] = _gib(sizing.shortfall) if sizing is not None else None
        row["problem"] = cell.error or ("; ".join(sizing.problems) if sizing is not None else "")
        rows.append(row)
    frame = pd.DataFrame(rows)
    whole = ("gpus", "kv_tokens", "max_model_len")
    types = {name: "Int64" for name in whole if name in frame}
    types |= {
        name: "Float64" for name in map(str, frame) if name.endswith(("_gib", "_concurrency"))
    }
    if "fits" in frame:
        types["fits"] = "boolean"
    return frame.astype(types)


def _pivot(cells: Sequence[Cell], values: str) -> pd.DataFrame:
    frame = cells_frame(cells)
    if frame.empty:
        return frame
    variants = list(dict.fromkeys(zip(frame["variant"], frame["precision"], strict=True)))
    hardware = list(dict.fromkeys(frame["hardware"]))
    wide = frame.pivot(index=["variant", "precision"], columns="hardware", values=values)
    return wide.reindex(index=pd.MultiIndex.from_tuples(variants), columns=hardware)


def weights_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """Weights per GPU, variants and precisions down, hardware across."""
    return _pivot(cells, "weights_gib")


def fit_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """Whether each variant fits, variants and precisions down, hardware across."""
    return _pivot(cells, "fits")


def differences_frame(differences: Iterable[Difference]) -> pd.DataFrame:
    """A log's figures beside ours."""
    rows = [
        {
            "figure": d.name,
            "unit": "GiB" if d.unit == "bytes" else d.unit,
            "logged": _gib(d.logged) if d.unit == "bytes" else d.logged,
            "ours": _gib(d.ours) if d.unit == "bytes" else d.ours,
            "off_percent": d.percent,
            "verdict": d.verdict,
            "explanation": d.explanation,
        }
        for d in differences
    ]
    return pd.DataFrame(rows).set_index("figure") if rows else pd.DataFrame()


def comparison_frame(comparison: Comparison) -> pd.DataFrame:
    """Configurations side by side: one row per choice, figure, flag or variable."""
    index = pd.MultiIndex.from_tuples(
        [(row.group, row.label) for row in comparison.rows], names=["group", "property"]
    )
    frame = pd.DataFrame([row.cells for row in comparison.rows], index=index)
    return frame.set_axis(list(comparison.names), axis="columns")
