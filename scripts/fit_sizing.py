"""Fits the constants of `recipes_core/sizing/constants.py` on measured runs.

    python scripts/fit_sizing.py SHARED [--write]

SHARED holds `ground_truth/h200_vllm_0.25.jsonl`, `ground_truth/h100_vllm_0.19.csv` and the configs
in `hf_configs/`. Each constant is what the formulas leave over on the rows that can show it; the
rows, the old and new value and the largest residual are printed. The rows are also those that the
tests judge by: a small residual here says that the formulas are consistent, not that an unmeasured
model is right.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

from recipes_core.sizing import constants as module  # noqa: E402
from recipes_core.sizing.constants import FITTED, GIB, MIB, Constants  # noqa: E402
from recipes_core.sizing.result import Sizing  # noqa: E402
from recipes_core.sizing.shapes import Mamba2  # noqa: E402
from tests.sizing.rows import h100_rows, h200_rows, size_h100, size_h200  # noqa: E402

ZERO = replace(
    FITTED,
    cublas_workspace=0,
    sampler_v1=0,
    sampler_v2=0,
    compiled_dense=0,
    compiled_moe=0,
    encoder_extra=0,
)


@dataclass
class Fit:
    """One constant: the values that single rows ask for, and what is taken of them."""

    name: str
    values: list[float]
    take: Callable[[list[float]], float] = statistics.median

    @property
    def value(self) -> float:
        """The fitted value."""
        return self.take(self.values)

    @property
    def residual(self) -> float:
        """How far the row that fits it worst is off."""
        return max((abs(v - self.value) for v in self.values), default=0.0)


@dataclass
class Row:
    """One H200 run with what the formulas say when all small constants are 0."""

    raw: dict[str, Any]
    bare: Sizing

    @property
    def measured(self) -> dict[str, Any]:
        """What the engine reported."""
        return self.raw["measured"]

    @property
    def eager(self) -> bool:
        """Neither compiled nor captured."""
        return bool(self.raw["resolved"]["enforce_eager"])

    @property
    def v2(self) -> bool:
        """The V2 model runner."""
        return bool(self.bare.settings.v2)

    def has(self, kind: type) -> bool:
        """Whether the model has such a mixer."""
        kinds = self.bare.settings.arch.kinds[0]
        return any(isinstance(m, kind) for layer in kinds for m in layer.mixers)


def h200(shared: Path) -> list[Row]:
    return [Row(r, size_h200(shared, r, constants=ZERO)) for r in h200_rows(shared)]


def from_h200(rows: list[Row]) -> Iterator[Fit]:
    single = [r for r in rows if r.eager]
    quiet = [r for r in single if not r.has(Mamba2)]
    yield Fit("non_torch", [r.measured["non_torch_bytes"] for r in quiet])
    tuned = [r for r in single if r.has(Mamba2)]
    yield Fit("non_torch_mamba2", [r.measured["non_torch_bytes"] for r in tuned], max)
    graphs = [r for r in rows if not r.eager and not r.v2]
    base = statistics.median(r.measured["non_torch_bytes"] for r in quiet)
    yield Fit(
        "non_torch_graphs", [r.measured["non_torch_bytes"] - base for r in graphs], statistics.mean
    )
    yield from _activation(rows)
    yield from _graphs(graphs)
    yield Fit("context", [r.measured["cuda_context_bytes_before_snapshot"] for r in rows])
    yield Fit(
        "sampler_state",
        [
            r.measured["runner_state_unbudgeted_bytes"]
            / (r.bare.settings.seqs * r.bare.settings.arch.vocab)
            for r in rows
            if r.v2 and r.bare.settings.seqs == 1024
        ],
    )


def _activation(rows: list[Row]) -> Iterator[Fit]:
    eager = [r for r in rows if r.eager]
    forward = {
        r.raw["id"]: r.measured["forward_peak_bytes"] - r.bare.ranks[0].activation.forward
        for r in eager
        if r.measured["forward_peak_bytes"] == r.measured["peak_activation_bytes"]
        and not (r.bare.settings.arch.is_mla and r.bare.settings.arch.is_hybrid)
    }
    yield Fit("cublas_workspace", [v for v in forward.values() if v > 16 * MIB])
    for name, v2 in (("sampler_v1", False), ("sampler_v2", True)):
        left = [
            r.measured["sampler_peak_bytes"] - r.bare.ranks[0].activation.sampler
            for r in eager
            if r.v2 == v2
            and r.measured["sampler_peak_bytes"] > r.measured["forward_peak_bytes"]
            and r.bare.settings.arch.model_type != "gpt_oss"
        ]
        yield Fit(name, left)
    moe = [
        r.measured["forward_peak_bytes"]
        - r.bare.ranks[0].activation.forward
        - FITTED.cublas_workspace
        for r in rows
        if not r.eager and r.bare.settings.arch.is_moe
    ]
    yield Fit("compiled_moe", moe)


def _graphs(rows: list[Row]) -> Iterator[Fit]:
    """A straight line through the charged estimates, by layers, at 51 sizes."""
    points = [
        (len(r.bare.settings.arch.layers), r.measured["cudagraph_estimate_bytes"]) for r in rows
    ]
    slope, intercept = statistics.linear_regression(*zip(*points, strict=True))
    yield Fit("graph_base", [intercept])
    yield Fit("graph_layer", [slope])


def used_graphs(rows: list[Row]) -> Iterator[Fit]:
    for name, v2 in (("graphs_v1", False), ("graphs_v2", True)):
        ratios = []
        for r in rows:
            settings = r.bare.settings
            if r.eager or r.v2 != v2 or settings.captures != 51:
                continue
            line = FITTED.graph_base + FITTED.graph_layer * len(settings.arch.layers)
            ratios.append(r.measured["cudagraph_actual_bytes"] / line)
        yield Fit(name, ratios)


def outside(shared: Path) -> Fit:
    """What `nvidia-smi` shows above the share, less all that is accounted for."""
    left = []
    bare = replace(FITTED, outside=0)
    for raw in h200_rows(shared):
        measured = raw["measured"]
        used = measured["nvidia_smi_used_mib_end"] * MIB - measured["requested_memory_bytes"]
        left.append(used - (size_h200(shared, raw, constants=bare).outside or 0))
    return Fit("outside", left)


def from_h100(shared: Path, rows200: list[Row]) -> Iterator[Fit]:
    rows = [(r, size_h100(shared, r, constants=ZERO)) for r in h100_rows(shared)]

    def logged(key: str, tp: str, pp: str) -> list[float]:
        return [float(r[key]) * GIB for r, _ in rows if r["tp"] == tp and r["pp"] == pp]

    yield Fit("non_torch_old", logged("nontorch_gib", "1", "1"))
    pipelines = [float(r["nontorch_gib"]) * GIB for r, _ in rows if r["pp"] != "1"]
    yield Fit("non_torch_pipeline", pipelines)
    for tp in ("2", "4"):
        yield Fit(f"nccl {tp}", logged("nontorch_gib", tp, "1"))
    towers = [
        float(r["act_gib"]) * GIB - s.ranks[0].activation.peak - FITTED.sampler_v1
        for r, s in rows
        if s.ranks[0].activation.encoder
    ]
    yield Fit("encoder_extra", towers, lambda v: (max(v) + min(v)) / 2)
    yield Fit("compiled_dense", list(_compiled(rows, rows200)), statistics.mean)


def _compiled(rows: Iterable[tuple[dict[str, str], Sizing]], rows200: list[Row]) -> Iterator[float]:
    """One value per model and card whose compiled dense forward pass is the larger peak."""
    found: dict[str, list[float]] = {}
    for row, sized in rows:
        first = sized.ranks[0].activation
        last = row["pp"] == "1"
        if sized.settings.arch.is_moe or (last and first.sampler > first.forward - 64 * MIB):
            continue
        left = float(row["act_gib"]) * GIB - first.forward - FITTED.cublas_workspace
        found.setdefault(f"H100 {row['model']}", []).append(left)
    for r in rows200:
        if r.eager or r.bare.settings.arch.is_moe:
            continue
        forward = r.measured["forward_peak_bytes"] - r.bare.ranks[0].activation.forward
        found.setdefault(f"H200 {r.raw['model']}", []).append(forward - FITTED.cublas_workspace)
    yield from (statistics.median(values) for values in found.values())


def shown(name: str, value: float) -> str:
    if name in ("sampler_state", "graphs_v1", "graphs_v2"):
        return f"{value:.3f}"
    return f"{value / MIB:.1f} MiB"


def current(name: str) -> float:
    if name.startswith("nccl "):
        return float(dict(FITTED.nccl)[int(name.split()[1])])
    return float(getattr(FITTED, name))


def literal(name: str, value: float) -> str:
    """The value as it stands in constants.py."""
    if name in ("sampler_state", "graphs_v1", "graphs_v2"):
        return f"{value:.3f}"
    tenths = round(value / MIB, 1)
    if value < 64 * MIB and tenths % 1:
        return f"int({tenths} * MIB)"
    return f"{round(value / MIB)} * MIB" if value < GIB else f"gib({value / GIB:.3f})"


def write(fits: list[Fit]) -> None:
    path = Path(module.__file__)
    text = path.read_text(encoding="utf-8")
    known = {f.name for f in fields(Constants)}
    for fit in fits:
        if fit.name in known:
            pattern = rf"^(    {fit.name}: (?:int|float) = ).*$"
            text = re.sub(pattern, rf"\g<1>{literal(fit.name, fit.value)}", text, flags=re.M)
        else:
            size = fit.name.split()[1]
            text = re.sub(
                rf"\({size}, gib\([\d.]+\)\)", f"({size}, gib({fit.value / GIB:.3f}))", text
            )
    path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", type=Path)
    parser.add_argument("--write", action="store_true", help="put the values into constants.py")
    options = parser.parse_args()
    rows = h200(options.shared)
    fits = [
        *from_h200(rows),
        *used_graphs(rows),
        *from_h100(options.shared, rows),
        outside(options.shared),
    ]
    print(f"{'constant':20s} {'rows':>4s} {'now':>12s} {'fitted':>12s} {'worst left':>12s}")
    for fit in fits:
        cells = (shown(fit.name, v) for v in (current(fit.name), fit.value, fit.residual))
        now, new, left = cells
        print(f"{fit.name:20s} {len(fit.values):4d} {now:>12s} {new:>12s} {left:>12s}")
    if options.write:
        write(fits)
        print(f"written to {Path(module.__file__).relative_to(REPO)}")


if __name__ == "__main__":
    main()
