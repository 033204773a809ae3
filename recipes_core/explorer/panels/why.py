"""Why: each flag and variable with what it does, the layer that set it, its file and key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recipes_core.deployment import Deployment, Process
from recipes_core.deployment.container import kind_of
from recipes_core.explorer.panels.explain import ExplainPanel
from recipes_core.explorer.panels.figures import table_html
from recipes_core.explorer.panels.head import notices_html
from recipes_core.explorer.panels.memory import equations_html
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.flags import Flag
from recipes_core.render.serve import process_title
from recipes_core.topology import Pool
from recipes_core.vllm_cli.effects import EFFECTS, ROUTER_FLAGS
from recipes_core.vllm_cli.variables import VARIABLES

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState


MAX_NOTICES = 100


def effect_of(flag: Flag, role: str = "serve") -> str:
    """What a flag of a process does, in our words; empty where none are written."""
    if role == "router":
        return ROUTER_FLAGS.get(flag.name, "")
    effect = EFFECTS.get(flag.name) or EFFECTS.get(flag.name.split(".", 1)[0])
    if effect is None:
        return ""
    return f"Switched off: {effect.text}" if flag.negated else effect.text


def layout_equation(pool: Pool) -> str:
    """How the parallel sizes of an engine make up the GPUs that it runs on."""
    sizes = (("tensor", pool.tp), ("pipeline", pool.pp), ("data", pool.dp))
    factors = [f"{name} parallel {size}" for name, size in sizes if size > 1]
    here = f"{pool.gpus} GPU{'s' if pool.gpus > 1 else ''}"
    parts = [" × ".join(factors) or "one rank", here]
    if pool.nodes > 1:
        parts.append(f"{pool.nodes} nodes × {pool.gpus_per_node} GPUs")
    experts = f"; experts are spread over {pool.tp * pool.dp} ranks" if pool.expert_parallel else ""
    return " = ".join(parts) + experts


def why_html(deployment: Deployment) -> str:
    """A table per process that is unlike those before it."""
    parts, seen = [], set()
    several = len(deployment.processes) > 1
    for process in deployment.processes:
        if not process.flags and not process.env_from:
            continue
        key = (tuple((flag.name, source) for flag, source in process.flags), process.pool)
        if key in seen:
            continue
        seen.add(key)
        name = process_title(deployment, process)
        title = f'<h3 class="rx-h3">{escape(name)}</h3>' if several else ""
        parts.append(title + _layout(deployment, process) + _table(process))
    return "".join(parts) or '<p class="rx-empty">No flag of this deployment is ours.</p>'


def _layout(deployment: Deployment, process: Process) -> str:
    if process.layout is None or kind_of(deployment.configuration.profile) == "cpu":
        return ""
    return f"<p>Layout: {escape(layout_equation(process.layout))}.</p>"


def _table(process: Process) -> str:
    rows = []
    for name, source in process.env_from.items():
        value = process.env.get(name, "")
        rows.append([_code(f"{name}={value}"), escape(VARIABLES.get(name, "")), *_place(source)])
    for flag, source in process.flags:
        rows.append([_code(_written(flag)), escape(effect_of(flag, process.role)), *_place(source)])
    head = ["Flag or variable", "What it does", "Set by", "In"]
    caption = f"Where each flag of {process.name} comes from"
    return table_html(head, rows, caption, kind="rx-why")


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
        state = self.state
        if state.deployment is not None:
            told = notices_html(state.notices, state.findings, most=MAX_NOTICES)
            head = '<h3 class="rx-h3">What was adjusted, and what to know</h3>' if told else ""
            self.table.value = f"{head}{told}{why_html(state.deployment)}{self._equations()}"

    def _equations(self) -> str:
        """The sums behind GPU memory, which the sizes above enter."""
        sizing = self.state.tightest
        if sizing is None or sizing.available is None:
            return ""
        about = "From these flags to GPU memory: the equations with these numbers"
        return f"<details><summary>{about}</summary>{equations_html(sizing)}</details>"
