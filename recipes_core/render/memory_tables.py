"""Sizing as HTML tables: a caption, a unit in each, row and column headers, text for every sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from recipes_core.sizing.hardware import GIB
from recipes_core.sizing.matrix import Cell
from recipes_core.sizing.result import Sizing

PARTS = {
    "weights": "Weights",
    "activation": "Activation",
    "non_torch": "Libraries and NCCL",
    "cuda_graphs": "CUDA graphs",
    "kv_cache": "KV cache",
    "outside_budget": "Outside the engine's share",
    "free": "Free",
}


def _gib(value: float | None) -> str:
    return "not known" if value is None else f"{value / GIB:,.2f}"


def _table(name: str, caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is a header; the cells are HTML already, the rest is text."""
    lines = [f'<table class="recipes-{name}">', f"<caption>{escape(caption)}</caption>"]
    cells = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    lines.append(f"<thead><tr>{cells}</tr></thead>")
    lines.append("<tbody>")
    for first, *rest in rows:
        data = "".join(f"<td>{cell}</td>" for cell in rest)
        lines.append(f'<tr><th scope="row">{escape(first)}</th>{data}</tr>')
    lines += ["</tbody>", "</table>"]
    return "\n".join(lines)


def breakdown_html(sizing: Sizing) -> str:
    """The fullest GPU part by part, with bands and where the figures come from."""
    rows = []
    for part, label in PARTS.items():
        low, high = sizing.band.get(part, (None, None))
        band = "" if low is None else f"{_gib(low)} to {_gib(high)}"
        value = sizing.per_gpu[part]
        share = "" if value is None else f"{100 * value / sizing.gpu.memory:.1f} %"
        rows.append((label, _gib(value), band, share))
    caption = (
        f"Memory of the fullest GPU in GiB, {sizing.basis}, for vLLM {sizing.vllm} on "
        f"{sizing.gpu.id} with {sizing.gpu.memory / GIB:.2f} GiB"
    )
    return _table("memory", caption, ("Part", "GiB", "Band, GiB", "Of the GPU"), rows)


def weights_html(cells: Sequence[Cell]) -> str:
    """Weights per GPU for every variant on every piece of hardware."""

    def shown(cell: Cell | None) -> str:
        if cell is None or cell.sizing is None:
            return "not known"
        return f"{_gib(cell.sizing.weights)} <small>on {cell.gpus or 'some'} GPUs</small>"

    caption = "Weights per GPU in GiB, by variant, precision and hardware"
    return _grid("weights", caption, cells, shown)


def fit_html(cells: Sequence[Cell]) -> str:
    """Whether every variant fits every piece of hardware, in words."""

    def shown(cell: Cell | None) -> str:
        if cell is None or cell.sizing is None:
            return escape(cell.error) if cell is not None and cell.error else "not known"
        return escape(cell.sizing.verdict.text)

    caption = "Whether one request of full length fits, per GPU, by variant, precision and hardware"
    return _grid("fit", caption, cells, shown)


def _grid(
    name: str, caption: str, cells: Sequence[Cell], shown: Callable[[Cell | None], str]
) -> str:
    hardware = list(dict.fromkeys(cell.entry.hardware for cell in cells))
    by_place = {(c.entry.variant, c.entry.precision, c.entry.hardware): c for c in cells}
    rows = []
    for variant, precision in dict.fromkeys((v, p) for v, p, _ in by_place):
        fields = [shown(by_place.get((variant, precision, h))) for h in hardware]
        rows.append((variant, escape(precision), *fields))
    return _table(name, caption, ("Variant", "Precision", *hardware), rows)
