"""Sizes and shares as a person reads them, each with its unit; and the bar of a GPU's memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from recipes_core.explorer.widgets import escape
from recipes_core.sizing.verdict import Verdict

GIB = 1 << 30
PARTS: dict[str, tuple[str, str]] = {
    "weights": ("Weights", "what the engine loads of the checkpoint"),
    "activation": ("Activations", "the largest step: batch tokens and sequences"),
    "non_torch": ("Outside PyTorch", "NCCL, libraries, the CUDA context's growth"),
    "cuda_graphs": ("CUDA graphs", "captured graphs, charged before the cache"),
    "kv_cache": ("KV cache", "what the share leaves"),
    "outside_budget": ("Outside the share", "held above --gpu-memory-utilization"),
    "free": ("Free", "left for others on the GPU"),
}
KINDS = {"fits": "rx-yes", "short": "rx-no", "refused": "rx-no", "unknown": "rx-dim"}
"""The CSS class of each kind of verdict."""
_FLAG = re.compile(r"(?<![\w-])--[A-Za-z][\w.-]*")
BASIS = {
    "computed": "from the checkpoint's facts and the command's flags",
    "measured": "for the KV budget that was given",
    "declared": "by the recipe; nothing was measured or computed",
}


def gb(amount: float) -> str:
    """GB (10^9 bytes), as GPUs are sold."""
    return f"{amount:,.0f} GB" if amount >= 10 else f"{amount:,.1f} GB"


def gib(count: float | None) -> str:
    """Bytes as GiB (2^30 bytes), as vLLM's log has them."""
    return "not known" if count is None else f"{count / GIB:,.2f} GiB"


def band_text(size: int | None, band: Iterable[int] | None) -> str:
    """How far a figure may be off, as plus and minus."""
    if size is None or band is None:
        return ""
    low, high = band
    if low == high:
        return "exact"
    return f"+{(high - size) / GIB:.2f} / −{(size - low) / GIB:.2f} GiB"


def count(number: float | None) -> str:
    """A whole number with its thousands apart."""
    return "not known" if number is None else f"{number:,.0f}"


def verdict_word(verdict: Verdict) -> str:
    """A verdict in a word or a few, in its colour."""
    return f'<span class="{KINDS[verdict.kind]}">{escape(verdict.word)}</span>'


def bar_html(per_gpu: Mapping[str, int | None], total: int, label: str) -> str:
    """One GPU's memory as a stacked bar with a legend."""
    pieces, legend = [], []
    for number, (key, (name, _)) in enumerate(PARTS.items()):
        size = per_gpu.get(key)
        if not size or total <= 0:
            continue
        share = min(100.0, 100 * size / total)
        pieces.append(f'<span class="rx-c{number}" style="width:{share:.2f}%"></span>')
        legend.append(f'<span><i class="rx-c{number}"></i>{name} {gib(size)}</span>')
    words = ", ".join(
        f"{name} {gib(per_gpu.get(key))}" for key, (name, _) in PARTS.items() if per_gpu.get(key)
    )
    return (
        f'<div class="rx-bar" role="img" aria-label="{escape(label)}: {escape(words)}">'
        f"{''.join(pieces)}</div><div class='rx-legend'>{''.join(legend)}</div>"
    )


def table_html(
    head: Iterable[str],
    rows: Iterable[Iterable[str]],
    caption: str,
    numbers: Iterable[int] = (),
    kind: str = "",
) -> str:
    """A table of cells that are HTML already.

    Args:
        head: Texts of the first row.
        rows: Cells.
        caption: What it is a table of, for those who do not see it.
        numbers: Columns that stand right.
        kind: A CSS class of its own.
    """
    right = set(numbers)
    classes = f"rx-table {kind}".rstrip()

    def cell(tag: str, place: int, text: str) -> str:
        number = ' class="rx-num"' if place in right else ""
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{scope}{number}>{text}</{tag}>"

    heads = "".join(cell("th", n, escape(text)) for n, text in enumerate(head))
    body = "".join(
        "<tr>" + "".join(cell("td", n, text) for n, text in enumerate(row)) + "</tr>"
        for row in rows
    )
    return (
        '<div class="rx-scroll" tabindex="0" role="region" '
        f'aria-label="{escape(caption)}"><table class="{classes}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def whole_flags(text: str) -> str:
    """Text whose flags are not broken after their dashes."""
    return _FLAG.sub(r'<span class="rx-whole">\g<0></span>', escape(text))


def copyable_html(text: str, label: str) -> str:
    """A block of text with a button that copies it."""
    return (
        '<div class="rx-copyable">'
        '<button type="button" class="rx-button" data-rx-copy'
        f' aria-label="Copy: {escape(label)}">Copy</button>'
        f'<pre class="rx-code" tabindex="0" role="region" aria-label="{escape(label)}">'
        f"{escape(text)}</pre></div>"
    )
