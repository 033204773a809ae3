"""Fit: variants × hardware, context against users, what it would take, and a log's truth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import Deployment, deploy
from recipes_core.errors import RecipesError
from recipes_core.explorer.panels.dials import DIALS
from recipes_core.explorer.panels.figures import count, gib, table_html, verdict_word, whole_flags
from recipes_core.explorer.panels.pasted_log import log_html
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.link import selection_of
from recipes_core.render.declared import gpus_taken, verdict_on
from recipes_core.selection import Selection

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState
    from recipes_core.sizing import Sizing
    from recipes_core.sizing.settings import Settings
    from recipes_core.sizing.verdict import Verdict

MAX_USERS, MAX_TOKENS = 100_000, 100_000_000
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 270, 58, 30, 30, 50
CROWDED = 56
"""Two labels of the curve touch below this distance."""


class FitPanel:
    """Whether it fits, where, and for how many."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        self.users, self.tokens, self.log = "32", "8192", ""
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
        askable = sizing is not None and sizing.plan is not None
        self.questions.fields = [] if not askable else [
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
        found = log_html(sizing, self.log) if self.log else ""
        self.compared.value = self.paste.cut_html("log") + found

    # --- what would it take -----------------------------------------------------------------

    def _answer(self, name: str, text: str) -> None:
        most = MAX_USERS if name == "users" else MAX_TOKENS
        cleaned = text.strip().replace(",", "").replace("_", "")
        if not cleaned.isascii() or not cleaned.isdigit() or not 1 <= int(cleaned[:12]) <= most:
            raise RecipesError(f"Not a whole number from 1 to {most:,}: {text[:40]!r}")
        setattr(self, name, cleaned)
        self.state.tell("")
        self.refresh()

    def _answers_html(self, config: Configuration, sizing: Sizing | None) -> str:
        if sizing is None or sizing.plan is None:
            return (
                '<p class="rx-empty">The KV cache of this checkpoint is not known here, so no'
                " question about users or context can be answered.</p>"
            )
        found = answers_of(config, sizing, int(self.users), int(self.tokens))
        rows = [map(whole_flags, row) for row in found]
        which = f"the engine “{sizing.process}”, the tightest" if config.pools else "this engine"
        return table_html(["Question", "Answer"], rows, "What it would take") + (
            f'<p class="rx-source"><b>{escape(sizing.basis)}</b> for {escape(which)}, vLLM'
            f" {escape(sizing.vllm)}; the bands under GPU memory hold here too.</p>"
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
        allowing,
        longest_context,
        lowest_utilization,
        most_users,
    )

    asked, each, raised = allowing(sizing, users)
    wish = f"{users:,} requests of {tokens:,} tokens"
    so = f", with --max-num-seqs {raised}" if raised else ""
    share = lowest_utilization(asked, each, tokens)
    rows = [
        (f"Longest context for {users:,} requests at once{so}",
         _or_none(longest_context(asked, each), "tokens")),
        (f"Most requests of {tokens:,} tokens at once", _most(sizing, most_users(sizing, tokens))),
        (f"Least share of each GPU for {wish}{so}",
         "more than the whole GPU" if share is None
         else f"{share:.2f} (--gpu-memory-utilization {share:.2f})"),
    ]  # fmt: skip
    if sizing.settings is not None:
        fewest = _fewest(sizing, sizing.settings, users, tokens)
        rows.append((f"Fewest {config.node.display_name} for {wish}", fewest))
    rows += [
        (f"Worth trying: {' '.join(item.flags)}",
         f"{item.text} KV cache {item.before:,} → {item.after:,} tokens over all GPUs.")
        for item in advice(sizing)[:3]
    ]  # fmt: skip
    return rows


def _most(sizing: Sizing, number: int | None) -> str:
    """The most requests, over all data-parallel ranks, and what limits them."""
    if not number or sizing.settings is None:
        return _or_none(number, "requests")
    text = f"{number * sizing.caches:,} requests"
    if sizing.caches > 1:
        text += f", {number:,} on each of {sizing.caches} data-parallel ranks"
    if number == sizing.settings.seqs:
        text += f": --max-num-seqs {number:,} is the limit, not the cache"
    return text


def _fewest(sizing: Sizing, settings: Settings, users: int, tokens: int) -> str:
    """The fewest GPUs of an engine of this kind, and among which layouts they were looked for."""
    from recipes_core.sizing.answers import fewest_gpus, searched_layouts

    gpu, asked = sizing.gpu, settings.args
    found = fewest_gpus(settings.arch, gpu, asked, users=users, length=tokens, vllm=sizing.vllm)
    searched = f"searched {searched_layouts(asked, gpu)}"
    if found is None or found.settings is None:
        return f"none suffices; {searched}"
    args = found.settings.args
    nodes = math.ceil(args.gpus / gpu.per_node)
    sizes = [("TP", args.tp), *((n, s) for n, s in (("PP", args.pp), ("DP", args.dp)) if s > 1)]
    layout = " ".join(f"{name}={size}" for name, size in sizes)
    place = f" over {nodes} nodes" if nodes > 1 else ""
    raised = args.max_num_seqs
    so = f", with --max-num-seqs {raised}" if raised != asked.max_num_seqs else ""
    return f"{args.gpus} GPU{'s' if args.gpus > 1 else ''} ({layout}){place}{so}; {searched}"


def _or_none(number: int | None, unit: str) -> str:
    if number is None:
        return "not known"
    return f"{number:,} {unit}" if number else "none fits"


def frontier_html(sizing: Sizing | None) -> str:
    """How many requests fit at once, by their length, as a curve and as a table."""
    if sizing is None or sizing.plan is None or not sizing.max_model_len:
        return ""
    from recipes_core.sizing.answers import most_users

    lengths = [1 << n for n in range(10, 24) if 1 << n < sizing.max_model_len]
    found = [(n, most_users(sizing, n) or 0) for n in (*lengths, sizing.max_model_len)]
    points = [(n, users * sizing.caches) for n, users in found if users]
    if len(points) < 2:
        return ""
    rows = [[f"{n:,}", f"{users:,}"] for n, users in points]
    table = table_html(["Tokens of each", "Requests at once"], rows, "Context by requests", (0, 1))
    limits = ["cache"]
    if sizing.settings is not None and found[0][1] == sizing.settings.seqs:
        limits.append(f"--max-num-seqs {sizing.settings.seqs:,}")
    if sizing.caches > 1:
        limits.append(f"over {sizing.caches} data-parallel ranks")
    return (
        '<h3 class="rx-h3">Context against requests at once</h3>'
        f'<p class="rx-source"><b>{escape(sizing.basis)}</b>; limited by {", ".join(limits)}</p>'
        f"{_curve(points)}<details><summary>The same as a table</summary>{table}</details>"
    )


def _curve(points: list[tuple[int, int]]) -> str:
    (first, most), (last, _) = points[0], points[-1]
    span = math.log2(last / first) or 1
    high = math.log2(most) or 1

    def place(tokens: int, users: int) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * math.log2(tokens / first) / span
        y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * math.log2(users) / high
        return round(x, 1), round(y, 1)

    spots = [place(*point) for point in points]
    line = " ".join(f"{x},{y}" for x, y in spots)
    floor = HEIGHT - BOTTOM
    marks = []
    for number, ((tokens, users), (x, y)) in enumerate(zip(points, spots, strict=True)):
        name = f"{tokens / 1024:g}k" if tokens % 128 == 0 else f"{tokens:,}"
        marks.append(
            f'<circle cx="{x}" cy="{y}" r="3"><title>{tokens:,} tokens: {users:,} at once</title>'
            "</circle>"
        )
        # The last length is the longest request: its neighbour gives way where they would touch.
        if number == len(points) - 2 and spots[-1][0] - x < CROWDED:
            continue
        marks.append(
            f'<text x="{x}" y="{floor + 18}" text-anchor="middle">{name}</text>'
            f'<text x="{x}" y="{y - 8}" text-anchor="middle">{users:,}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    return (
        f'<svg class="rx-frontier" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Requests'
        f' at once, from {most:,} at {first:,} tokens to {points[-1][1]:,} at {last:,}">'
        f'<path class="rx-axis-line" d="M{LEFT},8V{floor}H{WIDTH - 12}"/>'
        f'<polygon class="rx-area" points="{spots[0][0]},{floor} {line} {spots[-1][0]},{floor}"/>'
        f'<polyline class="rx-curve" points="{line}"/>{"".join(marks)}'
        f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">tokens of each request</text>'
        f'<text transform="translate(16 {floor / 2}) rotate(-90)" text-anchor="middle">'
        "requests at once</text></svg>"
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
    table = table_html(head, rows, "Each variant on each hardware", kind="rx-matrix")
    return (
        '<h3 class="rx-h3">Each variant on each hardware</h3>'
        f"{table}"
        '<p class="rx-source">Each as the recipe runs there by default, with your dials; choose one'
        " to open it. “Enough” compares GB as sold with what the recipe asks for, where the layers"
        " of the checkpoint are not known; “fits” is computed layer by layer.</p>"
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
    verdict, detail = _figures(deployment, sizing)
    if deployment.layouts:
        gpus = gpus_taken(deployment)
        place = f"{gpus} GPU{'s' if gpus > 1 else ''}"
    else:
        place = f"{found.nodes} node{'s' if found.nodes > 1 else ''}"
    lines = "<br>".join(escape(line) for line in detail if line)
    return (
        f'<button type="button" class="rx-cell" data-rx-send="open" data-rx-value="{escape(query)}"'
        f' title="Open this configuration">{verdict_word(verdict)}'
        f" on {place}<br><span class='rx-source'>{lines}</span></button>"
    )


def _figures(deployment: Deployment, sizing: Sizing | None) -> tuple[Verdict, list[str]]:
    """The verdict, and the figures behind it with their origin."""
    verdict, basis = verdict_on(deployment, sizing)
    if sizing is None or basis == "declared":
        return verdict, [verdict.detail]
    weights = f"{gib(sizing.weights)} of weights per GPU, {basis}"
    if verdict.kind != "fits":
        return verdict, [weights, verdict.detail]
    if sizing.kv_tokens is None or sizing.max_concurrency is None:
        return verdict, [weights]
    tokens = count(sizing.kv_tokens * sizing.caches)
    many = f"{sizing.max_concurrency * sizing.caches:,.1f}"
    return verdict, [weights, f"{tokens} tokens, {many}× full length"]
