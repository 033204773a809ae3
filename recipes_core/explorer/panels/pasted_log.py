"""A start-up log that the reader pasted, beside our figures for the same engine."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from recipes_core.explorer.panels.dials import DIALS
from recipes_core.explorer.panels.figures import gib, table_html, whole_flags
from recipes_core.explorer.widgets import escape
from recipes_core.selection import Selection

if TYPE_CHECKING:
    from recipes_core.sizing import Sizing
    from recipes_core.sizing.engine_log import EngineLog

KINDS = {"equal": "rx-yes", "near": "rx-yes", "apart": "rx-no"}
WORDS = {"equal": "equal", "near": "within the band", "apart": "apart", "unknown": "not known"}


def log_html(sizing: Sizing | None, text: str) -> str:
    """A pasted log's figures beside ours."""
    from recipes_core.sizing.engine_log import compare_log, parse_engine_log

    log = parse_engine_log(text)
    if log.is_empty:
        return (
            '<p class="rx-notice">No line about memory was found in this text. Wanted are those'
            " from “Model loading took” to “Maximum concurrency”, as the engine prints them.</p>"
        )
    if sizing is None or sizing.basis == "declared":
        return '<p class="rx-notice">Nothing is computed here to set beside this log.</p>'
    rows = []
    for item in compare_log(log, sizing, _at_logged(log, sizing)):
        off = "" if item.percent is None else f"{item.percent:+.1f}%"
        rows.append([
            escape(item.name.replace("_", " ")), _figure(item.logged, item.unit),
            _figure(item.ours, item.unit), off,
            f'<span class="{KINDS.get(item.verdict, "rx-dim")}">{WORDS[item.verdict]}</span>',
            whole_flags(item.explanation),
        ])  # fmt: skip
    if not rows:
        return (
            '<p class="rx-notice">Of this log’s figures none is predicted here: wanted are its'
            " lines of weights, KV cache, tokens and concurrency.</p>"
        )
    head = ["Figure", "Log, measured", f"Ours, {sizing.basis}", "Ours is off by", "", "Why"]
    table = table_html(head, rows, "The log beside our figures", (1, 2, 3))
    return _other_html(log, sizing) + table


def _other_html(log: EngineLog, sizing: Sizing) -> str:
    """That the log is of another engine, and a button that turns the dials to it."""
    from recipes_core.sizing.engine_log import other_engine

    found = other_engine(log, sizing)
    if not found:
        return ""
    listed = "; ".join(
        f"{item.name.replace('_', ' ')} {_number(item.logged)} (here {_number(item.ours)})"
        for item in found
    )
    wish = urlencode([(item.name, item.logged) for item in found if item.name in DIALS])
    button = ""
    if wish and not Selection.from_query(wish).unread:
        button = (
            ' <button type="button" class="rx-button" data-rx-send="open"'
            f' data-rx-value="{escape(wish)}">Turn the dials to the log\'s</button>'
        )
    return f'<p class="rx-notice">The log is of another engine: {escape(listed)}.{button}</p>'


def _at_logged(log: EngineLog, sizing: Sizing) -> Sizing | None:
    from recipes_core.sizing.estimate import size_settings

    if sizing.settings is None or not log.available_kv or log.available_kv[0].value < 1:
        return None
    return size_settings(sizing.settings, int(log.available_kv[0].value))


def _number(text: str) -> str:
    return f"{int(text):,}" if text.isascii() and text.isdigit() else text[:60]


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "not known"
    return {"bytes": gib(value), "tokens": f"{value:,.0f} tokens", "times": f"{value:.2f}×"}.get(
        unit, f"{value:g}"
    )
