"""Fit: variants × hardware, context against users, what it would take, and a log's truth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import deploy
from recipes_core.errors import RecipesError
from recipes_core.explorer.panels.figures import count, gib, table_html
from recipes_core.explorer.panels.head import gpus_running
from recipes_core.explorer.panels.memory import DIALS
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.link import selection_of
from recipes_core.selection import Selection

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState
    from recipes_core.sizing import Sizing

MAX_USERS, MAX_TOKENS = 100_000, 100_000_000
WIDTH, HEIGHT, LEFT, BOTTOM = 640, 240, 52, 34


class FitPanel:
    """Whether it fits, where, and for how many."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        self.users, self.tokens, self.log = "32", "8192", ""
        page.handlers["open"] = self._open
        self.questions = kit.form(self._answer)
        self.answers = kit.html()
        self.frontier = kit.html()
        self.matrix = kit.html()
        self.paste = kit.form(self._pasted)
        self.compared = kit.html()
        self.box = kit.box(
            [self.questions, self.answers, self.frontier, self.matrix, self.paste, self.compared],
            "rx-panel",
        )
        self._matrices: dict[tuple[Any, ...], str] = {}

    def refresh(self) -> None:
        """Show the answers for the current configuration."""
        config = self.state.configuration
        if config is None:
            return
        sizing = self.state.tightest
        self.questions.fields = [
            {"name": "users", "kind": "number", "label": "Requests at once", "value": self.users,
             "hint": "what you want to serve"},
            {"name": "tokens", "kind": "number", "label": "Tokens of each", "value": self.tokens,
             "hint": "prompt and answer together"},
        ]  # fmt: skip
        self.answers.value = self._answers_html(config, sizing)
        self.frontier.value = frontier_html(sizing)
        self.matrix.value = self._matrix(config)
        self.paste.fields = [
            {"name": "log", "kind": "area", "label": "Paste a start-up log of this engine",
             "value": self.log, "rows": 4,
             "hint": "its memory lines are set beside ours; nothing leaves this session"},
        ]  # fmt: skip
        self.compared.value = log_html(sizing, self.log) if self.log else ""

    def _open(self, query: str) -> None:
        config = self.state.configuration
        if config is not None:
            asked = Selection.from_query(query)
            self.state.ask(**asked.asked())

    # --- what would it take -----------------------------------------------------------------

    def _answer(self, name: str, text: str) -> None:
        most = MAX_USERS if name == "users" else MAX_TOKENS
        cleaned = text.strip().replace(",", "").replace("_", "")
        if not cleaned.isascii() or not cleaned.isdigit() or not 1 <= int(cleaned[:12]) <= most:
            self.state.problem = f"Not a whole number from 1 to {most:,}: {text[:40]!r}"
            return
        setattr(self, name, cleaned)
        self.state.problem = ""
        self.refresh()

    def _answers_html(self, config: Configuration, sizing: Sizing | None) -> str:
        if sizing is None or sizing.plan is None:
            return (
                '<p class="rx-empty">The KV cache of this checkpoint is not known here, so no'
                " question about users or context can be answered.</p>"
            )
        users, tokens = int(self.users), int(self.tokens)
        return table_html(
            ["Question", "Answer"], answers_of(config, sizing, users, tokens), "What it would take"
        )

    # --- variants × hardware ----------------------------------------------------------------

    def _matrix(self, config: Configuration) -> str:
        dials = tuple(getattr(config.selection, name) for name in DIALS)
        own = config.hardware if config.hardware not in self.state.catalog.hardware else None
        key = (config.entry.id, own, *dials)
        if key not in self._matrices:
            if len(self._matrices) >= 32:
                self._matrices.clear()
            self._matrices[key] = matrix_html(config)
        return self._matrices[key]

    # --- a log ------------------------------------------------------------------------------

    def _pasted(self, _: str, text: str) -> None:
        self.log = text
        self.refresh()


def answers_of(
    config: Configuration, sizing: Sizing, users: int, tokens: int
) -> list[tuple[str, str]]:
    """Questions asked the other way round, each with its answer."""
    from recipes_core.sizing.answers import (
        advice,
        fewest_gpus,
        longest_context,
        lowest_utilization,
        most_users,
    )

    settings = sizing.settings
    ranks = settings.args.dp if settings is not None else 1
    each = math.ceil(users / ranks)
    where = f" on each of {ranks} data-parallel ranks" if ranks > 1 else ""
    share = lowest_utilization(sizing, each, tokens)
    longest = _or_none(longest_context(sizing, each), "tokens")
    rows = [
        (f"Longest context for {users:,} at once", longest),
        (f"Most requests of {tokens:,} tokens at once",
         _or_none(most_users(sizing, tokens), "") + where),
        (f"Least share of each GPU for {users:,} × {tokens:,} tokens",
         f"{share:.2f}" if share is not None else "more than the whole GPU"),
    ]  # fmt: skip
    if settings is not None:
        found = fewest_gpus(
            settings.arch, settings.gpu, settings.args, users=each, length=tokens, vllm=sizing.vllm
        )
        text = "more than 128, or not known"
        if found is not None and found.settings is not None:
            args = found.settings.args
            gpus = args.tp * args.pp * args.dp
            text = f"{gpus} (TP={args.tp}" + (f" DP={args.dp}" if args.dp > 1 else "") + ")"
        rows.append((f"Fewest {config.node.display_name} for that", text))
    rows += [
        (f"Worth trying: {' '.join(item.flags)}",
         f"{item.text} KV cache {item.before:,} → {item.after:,} tokens over all GPUs.")
        for item in advice(sizing)[:3]
    ]  # fmt: skip
    return [(escape(question), escape(answer)) for question, answer in rows]


def _or_none(number: int | None, unit: str) -> str:
    if number is None:
        return "not known"
    return f"{number:,} {unit}".strip() if number else "none fits"


def frontier_html(sizing: Sizing | None) -> str:
    """How many requests fit at once, by their length, as a curve and as a table."""
    if sizing is None or sizing.plan is None or not sizing.max_model_len:
        return ""
    from recipes_core.sizing.answers import most_users

    lengths = [1 << n for n in range(10, 24) if 1 << n < sizing.max_model_len]
    points = [(n, most_users(sizing, n) or 0) for n in (*lengths, sizing.max_model_len)]
    points = [(n, users) for n, users in points if users]
    if len(points) < 2:
        return ""
    rows = [[f"{n:,}", f"{users:,}"] for n, users in points]
    table = table_html(["Tokens of each", "Requests at once"], rows, "Context by requests", (0, 1))
    return (
        f'<h3 class="rx-h3">Context against requests at once</h3>{_curve(points)}'
        f"<details><summary>The same as a table</summary>{table}</details>"
    )


def _curve(points: list[tuple[int, int]]) -> str:
    (first, most), (last, _) = points[0], points[-1]
    span = math.log2(last / first) or 1
    high = math.log2(most) or 1

    def place(tokens: int, users: int) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - 20) * math.log2(tokens / first) / span
        y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 16) * math.log2(users) / high
        return round(x, 1), round(y, 1)

    spots = [place(*point) for point in points]
    line = " ".join(f"{x},{y}" for x, y in spots)
    floor = HEIGHT - BOTTOM
    marks = []
    for (tokens, users), (x, y) in zip(points, spots, strict=True):
        name = f"{tokens // 1024}k" if tokens >= 1024 else str(tokens)
        marks.append(
            f'<circle cx="{x}" cy="{y}" r="3"><title>{tokens:,} tokens: {users:,} at once</title>'
            f'</circle><text x="{x}" y="{floor + 16}" text-anchor="middle">{name}</text>'
            f'<text x="{x}" y="{y - 7}" text-anchor="middle">{users:,}</text>'
        )
    return (
        f'<svg class="rx-frontier" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Requests'
        f' at once, from {most:,} at {first:,} tokens to {points[-1][1]:,} at {last:,}">'
        f'<path class="rx-axis-line" d="M{LEFT},8V{floor}H{WIDTH - 12}"/>'
        f'<polygon class="rx-area" points="{spots[0][0]},{floor} {line} {spots[-1][0]},{floor}"/>'
        f'<polyline class="rx-curve" points="{line}"/>{"".join(marks)}</svg>'
    )


def matrix_html(config: Configuration) -> str:
    """Each variant on each hardware, as the recipe would run there by default."""
    rules = config.rules
    names = list(config.recipe.variants)
    asked = {name: getattr(config.selection, name) for name in DIALS}
    by_variant = {
        name: {option.id: option for option in rules.hardware_options(name)} for name in names
    }
    rows = []
    for hardware in dict.fromkeys(h for options in by_variant.values() for h in options):
        profile = config.catalog.hardware[hardware]
        cells = [f"<b>{escape(profile.display_name)}</b><br><span class='rx-source'>"
                 f"{profile.gpu_count}× {profile.gpu_vram_gb:g} GB</span>"]  # fmt: skip
        for name in names:
            option = by_variant[name].get(hardware)
            if option is None or not option.enabled:
                reason = option.reason if option is not None else "not offered"
                cells.append(f'<span class="rx-source">✗ {escape(reason)}</span>')
            else:
                cells.append(_cell(config, Selection(hardware=hardware, variant=name, **asked)))
        rows.append(cells)
    variants = config.recipe.variants
    head = ["Hardware", *(f"{v.label or n} · {v.precision.upper()}" for n, v in variants.items())]
    table = table_html(head, rows, "Each variant on each hardware")
    return (
        '<h3 class="rx-h3">Each variant on each hardware</h3>'
        f"{table.replace('rx-table', 'rx-table rx-matrix', 1)}"
        '<p class="rx-source">Each as the recipe runs there by default, with your dials. GB as'
        " sold; tokens and requests are computed where the checkpoint's layers are known.</p>"
    )


def _cell(config: Configuration, asked: Selection) -> str:
    from recipes_core.sizing.configuration import size_configuration

    try:
        found = configure(config.catalog, config.entry, asked)
        deployment = deploy(found)
        sizing = size_configuration(found, deployment)
    except RecipesError as error:
        return f'<span class="rx-source">{escape(error)}</span>'
    query = selection_of(found, name_hardware=True).with_(**dict.fromkeys(DIALS)).to_query()
    gpus = gpus_running(deployment)
    size = f"{gpus} GPU{'s' if gpus > 1 else ''}"
    kind, lines = _verdict(found, sizing)
    return (
        f'<button type="button" class="rx-cell" data-rx-send="open" data-rx-value="{escape(query)}"'
        f' title="Open this configuration"><span class="{kind}">{escape(lines[0])}</span>'
        f" on {size}<br><span class='rx-source'>{escape(lines[1])}</span></button>"
    )


def _verdict(config: Configuration, sizing: Sizing | None) -> tuple[str, tuple[str, str]]:
    if sizing is None or sizing.fits is None:
        needed, have = config.memory_needed_gb, config.gpus_used * config.profile.gpu_vram_gb
        fits = needed <= have
        text = f"{needed:,.0f} of {have:,.0f} GB, declared"
        return ("rx-yes", ("fits", text)) if fits else ("rx-no", ("does not fit", text))
    if not sizing.fits:
        return "rx-no", ("does not fit", f"{gib(sizing.shortfall)} missing per GPU, {sizing.basis}")
    if sizing.kv_tokens is None or sizing.max_concurrency is None:
        return "rx-yes", ("fits", sizing.basis)
    text = f"{count(sizing.kv_tokens)} tokens, {sizing.max_concurrency:.1f}× full length"
    return "rx-yes", ("fits", text)


def log_html(sizing: Sizing | None, text: str) -> str:
    """A pasted log's figures beside ours."""
    from recipes_core.sizing.engine_log import compare_log, parse_engine_log

    log = parse_engine_log(text)
    if log.is_empty:
        return '<p class="rx-notice">No line about memory was found in this text.</p>'
    if sizing is None or sizing.basis == "declared":
        return '<p class="rx-notice">Nothing is computed here to set beside this log.</p>'
    rows = []
    for item in compare_log(log, sizing, _at_logged(log, sizing)):
        kind = {"equal": "rx-yes", "near": "rx-yes", "apart": "rx-no"}.get(item.verdict, "rx-dim")
        off = "" if item.percent is None else f"{item.percent:+.1f}%"
        rows.append([
            escape(item.name.replace("_", " ")), _figure(item.logged, item.unit),
            _figure(item.ours, item.unit), off,
            f'<span class="{kind}">{item.verdict}</span>', escape(item.explanation),
        ])  # fmt: skip
    release = ""
    if log.vllm and log.vllm != sizing.vllm:
        release = (
            f'<p class="rx-notice">The log is of vLLM {escape(log.vllm)}; ours are for'
            f" {escape(sizing.vllm)}. Choose the release under GPU memory.</p>"
        )
    head = ["Figure", "Log", "Ours", "Off by", "", "Why"]
    return release + table_html(head, rows, "The log beside our figures", (1, 2, 3))


def _at_logged(log: Any, sizing: Sizing) -> Sizing | None:
    from recipes_core.sizing.estimate import size_settings

    if sizing.settings is None or not log.available_kv or log.available_kv[0].value < 1:
        return None
    return size_settings(sizing.settings, int(log.available_kv[0].value))


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "not known"
    return {"bytes": gib(value), "tokens": f"{value:,.0f}", "times": f"{value:.2f}×"}.get(
        unit, f"{value:g}"
    )
