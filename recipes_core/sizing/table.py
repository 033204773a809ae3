"""Plain text of sizings for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recipes_core.errors import clean
from recipes_core.sizing.answers import (
    Advice,
    HostNeeds,
    allowing,
    fewest_gpus,
    longest_context,
    lowest_utilization,
    most_users,
    searched_layouts,
)
from recipes_core.sizing.engine_log import Difference
from recipes_core.sizing.hardware import GIB
from recipes_core.sizing.result import Sizing

_PARTS = {
    "weights": "weights",
    "activation": "activation",
    "non_torch": "libraries and NCCL",
    "cuda_graphs": "CUDA graphs",
    "kv_cache": "KV cache",
    "outside_budget": "outside the share",
    "free": "free",
}


def gib(value: float | None) -> str:
    """Bytes as GiB, or a word for what is not known."""
    return "unknown" if value is None else f"{value / GIB:,.2f} GiB"


def _line(text: object) -> str:
    """Text from files and people, on one line."""
    return clean(text, keep="")


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        first = row[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([first, *rest]).rstrip())
    return lines


def sizing_lines(sizing: Sizing) -> list[str]:
    """The figures of one engine: parts with bands, the predicted log, the verdict."""
    share = f"{sizing.utilization:.2f} of {gib(sizing.gpu.memory)} on each {sizing.gpu.id}"
    lines = [f"vLLM {sizing.vllm}, {sizing.basis}: {share}", ""]
    rows = [("per GPU", "size", "lowest", "highest")]
    for key, label in _PARTS.items():
        band = sizing.band.get(key)
        low, high = (gib(band[0]), gib(band[1])) if band else ("", "")
        rows.append((label, gib(sizing.per_gpu[key]), low, high))
    lines += _columns(rows)
    if sizing.log_lines:
        lines += ["", "The engine will print:", *(f"  {line}" for line in sizing.log_lines)]
    lines += ["", *_verdict(sizing)]
    return lines


def _verdict(sizing: Sizing) -> list[str]:
    """The verdict, and each further reason why the engine would not start."""
    return [f"{_line(sizing.verdict.text)}.", *map(_line, sizing.problems[1:])]


def answer_lines(
    sizing: Sizing, users: int, length: int | None, host: HostNeeds | None
) -> list[str]:
    """The questions asked backwards, as far as they can be answered."""
    lines: list[str] = []
    asked, each, raised = allowing(sizing, users)
    so = f", with --max-num-seqs {raised}" if raised else ""
    longest = longest_context(asked, each)
    if longest is not None:
        many = f"{users} users at once" if users > 1 else "one user"
        lines.append(f"longest context for {many}{so}: {longest:,} tokens")
    tokens = length or sizing.max_model_len
    if tokens is not None:
        most = most_users(sizing, tokens)
        if most is not None:
            lines.append(f"most users at {tokens:,} tokens each: {most * sizing.caches:,}")
    least = lowest_utilization(asked, each, length)
    if least is not None:
        lines.append(f"lowest --gpu-memory-utilization for that{so}: {least:.2f}")
    if asked.settings is not None and asked.plan is not None:
        lines.append(f"fewest GPUs for that: {_fewest(asked, users, length)}")
    if host is not None:
        lines.append(f"download and disk: {host.download / 1e9:,.1f} GB ({host.basis})")
        if host.memory:
            lines.append(f"host memory for offloading: {gib(host.memory)}")
    return lines


def _fewest(sizing: Sizing, users: int, length: int | None) -> str:
    """The fewest GPUs of an engine of this kind, and what was searched for them."""
    if sizing.settings is None:
        return "not known"
    args = sizing.settings.args
    searched = f"searched: {searched_layouts(args, sizing.gpu)}"
    found = fewest_gpus(
        sizing.settings.arch, sizing.gpu, args, users=users, length=length, vllm=sizing.vllm
    )
    if found is None or found.settings is None:
        return f"none suffices ({searched})"
    other = found.settings.args
    sizes = [("TP", other.tp), ("PP", other.pp), ("DP", other.dp)]
    shown = " ".join(f"{name} {ways}" for name, ways in sizes if ways > 1 or name == "TP")
    if other.max_num_seqs != args.max_num_seqs:
        shown += f", --max-num-seqs {other.max_num_seqs}"
    return f"{other.gpus} ({shown}; {searched})"


def advice_lines(found: Sequence[Advice]) -> list[str]:
    """What is worth trying."""
    return [f"{' '.join(entry.flags)}: {entry.text}" for entry in found]


def assumption_lines(sizing: Sizing) -> list[str]:
    """What the figures rest on."""
    return [_line(text) for text in sizing.assumptions]


def difference_lines(found: Sequence[Difference]) -> list[str]:
    """A log's figures beside ours."""
    rows = [("", "logged", "ours", "off", "")]
    notes: list[str] = []
    for entry in found:
        show = gib if entry.unit == "bytes" else _count(entry.unit)
        percent = entry.percent
        off = "" if percent is None else f"{percent:+.2f} %"
        rows.append(
            (entry.name.replace("_", " "), show(entry.logged), show(entry.ours), off, entry.verdict)
        )
        if entry.explanation:
            notes.append(f"{entry.name.replace('_', ' ')}: {entry.explanation}")
    return [*_columns(rows), "", *notes]


def _count(unit: str) -> Callable[[float | None], str]:
    def show(value: float | None) -> str:
        if value is None:
            return "unknown"
        return f"{value:,.2f} x" if unit == "times" else f"{value:,.0f} tokens"

    return show
