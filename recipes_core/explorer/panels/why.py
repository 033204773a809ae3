"""Why: each flag and variable with what it does, the layer that set it, its file and key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recipes_core.deployment import Deployment, Process
from recipes_core.explorer.panels.explain import ExplainPanel
from recipes_core.explorer.panels.figures import table_html
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.flags import Flag
from recipes_core.vllm_cli.effects import EFFECTS

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState


def effect_of(name: str) -> str:
    """What a flag does, in our words; empty where none are written."""
    effect = EFFECTS.get(name) or EFFECTS.get(name.split(".", 1)[0])
    return effect.text if effect else ""


def why_html(deployment: Deployment) -> str:
    """A table per process that is unlike those before it."""
    parts, seen = [], set()
    several = len(deployment.processes) > 1
    for process in deployment.processes:
        if not process.flags and not process.env_from:
            continue
        key = tuple((flag.name, source) for flag, source in process.flags)
        if key in seen:
            continue
        seen.add(key)
        title = f'<h3 class="rx-h3">{escape(process.name)}</h3>' if several else ""
        parts.append(title + _table(process))
    return "".join(parts) or '<p class="rx-empty">No flag of this deployment is ours.</p>'


def _table(process: Process) -> str:
    rows = []
    for name, source in process.env_from.items():
        value = process.env.get(name, "")
        rows.append([_code(f"{name}={value}"), "", *_place(source)])
    for flag, source in process.flags:
        rows.append([_code(_written(flag)), escape(effect_of(flag.name)), *_place(source)])
    head = ["Flag or variable", "What it does", "Set by", "In"]
    table = table_html(head, rows, f"Where each flag of {process.name} comes from")
    return table.replace("rx-table", "rx-table rx-why", 1)


def _written(flag: Flag) -> str:
    text = " ".join(flag.tokens)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _place(source: object) -> list[str]:
    layer, file, key = (getattr(source, name) for name in ("layer", "source", "key"))
    place = f"{escape(file)}<br><span class='rx-source'>{escape(key)}</span>"
    return [escape(str(layer).replace("_", " ")), place]


class WhyPanel:
    """Flags and variables with their origin."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        self.table = kit.html()
        self.own = ExplainPanel(kit, state)
        self.box = kit.box([self.table, self.own.box], "rx-panel")

    def refresh(self) -> None:
        """Show the origins, and the field for a command of the reader's own."""
        self.own.refresh()
        if self.state.deployment is not None:
            self.table.value = why_html(self.state.deployment)
