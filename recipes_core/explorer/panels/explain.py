"""A command of the reader's own: what each flag does, what it takes, which recipe is near."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recipes_core.errors import RecipesError
from recipes_core.explorer.panels.figures import table_html
from recipes_core.explorer.widgets import Kit, escape, visible
from recipes_core.findings import by_severity
from recipes_core.sizing.hardware import GIB
from recipes_core.sizing.result import Sizing
from recipes_core.vllm_cli.explain import Explanation, Match
from recipes_core.vllm_cli.variables import VARIABLES

if TYPE_CHECKING:
    from recipes_core.explorer.state import ExplorerState

MAX_ROWS = 200


class ExplainPanel:
    """Paste a command."""

    def __init__(self, kit: Kit, state: ExplorerState) -> None:
        self.state = state
        self.form = kit.form(self._pasted)
        self.found = kit.html()
        self.label = ""
        self.open = kit.button("Open the nearest recipe", self._open)
        visible(self.open, False)
        self.box = kit.box([self.form, self.found, self.open])

    def refresh(self) -> None:
        """Show the field; what was found of a pasted command stays."""
        self.form.fields = [
            {"name": "command", "kind": "area", "label": "Paste a command of your own",
             "value": "", "rows": 3,
             "hint": "vllm serve or docker run, as in a shell; nothing of it is run"},
        ]  # fmt: skip

    def _pasted(self, _: str, text: str) -> None:
        self.label = ""
        found = self._explained(text) if text.strip() else ""
        self.found.value = self.form.cut_html("command") + found
        visible(self.open, bool(self.label))

    def _open(self) -> None:
        self.state.open_link(f"/{self.label}")

    def _explained(self, text: str) -> str:
        from recipes_core.render.nearest import nearest_of
        from recipes_core.vllm_cli.explain import explain

        config = self.state.configuration
        pinned = config.vllm if config is not None else None
        try:
            explained = explain(text, str(pinned) if pinned else None)
        except ValueError as error:
            return f'<p class="rx-notice" role="alert">{escape(error)}</p>'
        match = nearest_of(self.state.catalog, explained)
        self.label = match.label if match is not None else ""
        return explained_html(explained, match) + self._memory(explained)

    def _memory(self, explained: Explanation) -> str:
        """What the command takes on the chosen hardware, where its checkpoint is known."""
        from recipes_core.sizing import size
        from recipes_core.sizing.checkpoint import load_checkpoint
        from recipes_core.sizing.configuration import gpu_of, roots_of

        config = self.state.configuration
        if config is None or explained.model is None or explained.argv[1] != "serve":
            return ""
        try:
            known = load_checkpoint(roots_of(config.catalog), explained.model)
            if known is None:
                return '<p class="rx-source">Nothing is known of its checkpoint’s layers.</p>'
            gpu = gpu_of(config.hardware, config.profile)
            found = size(known, gpu, explained.argv, env=explained.env, vllm=explained.version)
        except RecipesError as error:
            return f'<p class="rx-notice">{escape(error)}</p>'
        return memory_html(found)


def explained_html(explained: Explanation, match: Match | None) -> str:
    """Layout, flags, findings and the nearest recipe of a command."""
    floor = explained.floor.version if explained.floor else None
    facts = [
        f"<strong>{escape(explained.model or 'no model named')}</strong>",
        escape(explained.layout.describe()),
        escape(f"needs vLLM {floor} or newer" if floor else "no release read here accepts it"),
        escape(f"read as vLLM {explained.version} does"),
    ]
    parts = [f"<p>{' · '.join(facts)}</p>", _findings(explained)]
    rows = [
        [f"<code>{escape(' '.join((flag.written, *flag.values)))}</code>", escape(flag.text),
         escape(flag.topic)]
        for flag in explained.flags
    ]  # fmt: skip
    rows += [
        [f"<code>{escape(f'{name}={value}')}</code>", escape(VARIABLES.get(name, "")), "variable"]
        for name, value in explained.env.items()
    ]
    if rows:
        shown = rows[:MAX_ROWS]
        parts.append(
            table_html(["Flag", "What it does", "Topic"], shown, "Each flag of the command")
        )
        parts.append(_left_out(len(rows), "flags and variables"))
    if match is not None:
        parts.append(_nearest(match))
    return "".join(parts)


def _findings(explained: Explanation) -> str:
    if not explained.findings:
        return "<p>This release’s parser accepts it.</p>" if explained.floor is not None else ""
    items = "".join(
        f"<li><strong>{escape(item.severity)}</strong>: {escape(item.message)}</li>"
        for item in by_severity(explained.findings)[:MAX_ROWS]
    )
    left = _left_out(len(explained.findings), "findings")
    return f'<ul class="rx-notice">{items}</ul>{left}'


def _left_out(number: int, what: str) -> str:
    """How many of a long list are shown; empty where all are."""
    if number <= MAX_ROWS:
        return ""
    return f'<p class="rx-notice">The first {MAX_ROWS} of {number:,} {what} are shown.</p>'


def _nearest(match: Match) -> str:
    rows = [[f"<code>{escape(n)}</code>", "only in yours", ""] for n in match.only_here]
    rows += [[f"<code>{escape(n)}</code>", "", "only there"] for n in match.only_there]
    rows += [
        [f"<code>{escape(n)}</code>", escape(here), escape(there)]
        for n, here, there in match.differ
    ]
    head = f'<h3 class="rx-h3">Nearest recipe: {escape(match.label)}</h3>'
    if not rows:
        return f"{head}<p>It gives the same flags.</p>"
    return head + table_html(["Flag", "Yours", "The recipe’s"], rows, "How they differ")


def memory_html(found: Sizing) -> str:
    """The share of a GPU, the cache, and whether it fits."""
    gpu = f"On {found.gpu.id}, {found.basis}, GiB per GPU"
    parts = []
    for label, value in (("weights", found.weights), ("KV cache", found.available)):
        parts.append(f"{label} {'not known' if value is None else f'{value / GIB:,.2f}'}")
    return f"<p>{escape(f'{gpu}: ' + ', '.join(parts))}. {escape(found.verdict.text)}.</p>"
