"""GPU memory: the budget of the tightest engine, the dials that change it, and its equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recipes_core.configuration import Configuration
from recipes_core.explorer.panels.dials import (
    DIALS,
    dial_field,
    dials_of,
    read_dial,
    undialled,
)
from recipes_core.explorer.panels.figures import (
    BASIS,
    KINDS,
    PARTS,
    band_text,
    bar_html,
    copyable_html,
    count,
    gb,
    gib,
    table_html,
    verdict_word,
    whole_flags,
)
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.render.declared import declared_verdict, gpus_taken

if TYPE_CHECKING:
    from recipes_core.deployment import Deployment
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState
    from recipes_core.sizing import Sizing


class MemoryPanel:
    """The budget of one GPU."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        self.dials = kit.form(self._turn)
        self.verdict = kit.html()
        self.figures = kit.html()
        self.box = kit.box([self.verdict, self.dials, self.figures], "rx-panel")

    def _turn(self, name: str, text: str) -> None:
        self.state.ask(**read_dial(name, text))

    def refresh(self) -> None:
        """Show the figures."""
        shown = self.state.shown
        if shown is None:
            return
        config, sizing = shown.configuration, shown.tightest
        self.verdict.value = verdict_html(shown.deployment, sizing, shown.sizing_problem)
        engines = [(process.name, sized) for process, sized in shown.sizings]
        self.figures.value = engines_html(engines) + figures_html(config, sizing)
        moved = any(getattr(config.selection, name) is not None for name in DIALS)
        before = undialled(config) if moved else sizing
        engine = shown.deployment.first_engine
        written = {flag.name: " ".join(flag.values) for flag, _ in engine.flags}
        self.dials.fields = [
            dial_field(dial, config.selection, written) for dial in dials_of(config, before)
        ]


def verdict_html(deployment: Deployment, sizing: Sizing | None, problem: str = "") -> str:
    """Whether it fits, and one GPU as a bar."""
    if problem:
        return f'<p class="rx-source">{escape(problem)}</p>'
    config, bar = deployment.configuration, ""
    if sizing is not None and sizing.basis != "declared":
        place = f"One of {gpus_taken(deployment)} {config.profile.display_name}"
        bar = bar_html(sizing.per_gpu, sizing.gpu.memory, place)
    if sizing is None or sizing.verdict.kind == "unknown":
        return _declared_verdict(deployment, sizing) + bar
    return _verdict(config, sizing) + bar


def _declared_verdict(deployment: Deployment, sizing: Sizing | None) -> str:
    """What the recipe asks for against what is there, where nothing can be computed."""
    verdict, share = declared_verdict(deployment), ""
    if sizing is not None and sizing.weights is not None:
        share = f", {gib(sizing.weights)} of weights on each GPU"
    return (
        f'<p><span class="{KINDS[verdict.kind]}">{escape(verdict.text)}.</span>'
        f' <span class="rx-source"><b>declared</b>{share}; the layers of'
        " this checkpoint or their cache are not known here, so no tokens are computed</span></p>"
    )


def figures_html(config: Configuration, sizing: Sizing | None) -> str:
    """The figures behind the verdict, with what they rest on."""
    if sizing is None:
        return declared_html(config)
    parts = []
    if sizing.basis == "declared":
        parts.append(declared_html(config))
    else:
        parts.append(_budget(sizing, config))
        parts.append(_details("Predicted lines of the engine's log", _log(sizing)))
        parts.append(_details("Equations", equations_html(sizing)))
        parts.append(_details("What the recipe asks for, each variant", declared_html(config)))
    if sizing.assumptions:
        listed = "".join(f"<li>{escape(text)}</li>" for text in sizing.assumptions)
        parts.append(_details("What this rests on", f"<ul>{listed}</ul>"))
    return "".join(parts)


def engines_html(engines: list[tuple[str, Sizing]]) -> str:
    """The engines of a deployment side by side, where they differ."""
    if len(engines) < 2:
        return ""
    rows = []
    for name, sizing in engines:
        row = [escape(name), gib(sizing.weights), gib(sizing.available), count(sizing.kv_tokens)]
        rows.append([*row, verdict_word(sizing.verdict)])
    head = ["Engine", "Weights per GPU", "KV cache per GPU", "Tokens", ""]
    return table_html(head, rows, "The engines of this deployment", (1, 2, 3))


def _details(title: str, inner: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inner}</details>"


def verdict_text(sizing: Sizing) -> tuple[str, str]:
    """A CSS class and a sentence on whether the engine starts."""
    return KINDS[sizing.verdict.kind], sizing.verdict.text


def _verdict(config: Configuration, sizing: Sizing) -> str:
    kind, text = verdict_text(sizing)
    which = f" ({escape(sizing.process)}, the tightest)" if len(config.pools) else ""
    return (
        f'<p><span class="{kind}">{escape(text)}.</span>{which} '
        f'<span class="rx-source"><b>{escape(sizing.basis)}</b> {BASIS[sizing.basis]};'
        f" vLLM {escape(sizing.vllm)}</span></p>"
    )


def _budget(sizing: Sizing, config: Configuration) -> str:
    """Each part with its band and where it comes from; the whole GPU last."""

    def row(name: str, about: str, size: str, origin: str, band: str) -> list[str]:
        first, second = (
            f'{text}<br><span class="rx-source">{whole_flags(note)}</span>'
            for text, note in ((name, about), (size, origin))
        )
        return [first, second, band]

    rows = []
    for key, (name, about) in PARTS.items():
        size, given = sizing.per_gpu.get(key), key == "kv_cache" and given_cache(sizing)
        band = band_text(size, sizing.band.get(key))
        if given:
            rows.append(row(name, "given by --kv-cache-memory-bytes", gib(size), "declared", band))
        else:
            rows.append(row(name, about, gib(size), sizing.basis, band))
    whole, origin = "as its driver reports it", "measured"
    if not sizing.gpu.measured:
        whole, origin = f"{config.profile.gpu_vram_gb:g} GB as sold, less a reserve", "computed"
    total = f"<b>{gib(sizing.gpu.memory)}</b>"
    rows.append(row("<b>Whole GPU</b>", whole, total, origin, ""))
    head = ["Part", "On each GPU", "May be off by"]
    return table_html(head, rows, "Memory of one GPU", (1, 2))


def given_cache(sizing: Sizing) -> bool:
    """Whether the command gives the cache's bytes, so that nothing is left to compute."""
    return sizing.settings is not None and sizing.settings.args.kv_cache_bytes is not None


def _log(sizing: Sizing) -> str:
    return copyable_html("\n".join(sizing.log_lines), "Predicted log lines")


def equations_html(sizing: Sizing) -> str:
    """The budget as sums with these numbers."""
    lines = [
        f"share      = {sizing.utilization:g} × {gib(sizing.gpu.memory)} = {gib(sizing.requested)}",
    ]
    if given_cache(sizing):
        lines.append(f"KV cache   = {gib(sizing.available)}, given by --kv-cache-memory-bytes")
    else:
        lines += [
            "KV cache   = share − weights − activations − outside PyTorch − CUDA graphs",
            f"           = {gib(sizing.requested)} − {gib(sizing.weights)}"
            f" − {gib(sizing.activation)} − {gib(sizing.non_torch)} − {gib(sizing.graphs)}",
            f"           = {gib(sizing.available)}",
        ]
    return copyable_html("\n".join([*lines, *_cache_lines(sizing)]), "Equations with these numbers")


def _cache_lines(sizing: Sizing) -> list[str]:
    """From bytes to tokens, as the sized release counts them."""
    plan, settings, length = sizing.plan, sizing.settings, sizing.max_model_len
    if plan is None or settings is None or not length or sizing.kv_blocks is None:
        return []
    lines = [
        f"a token    = {count(sizing.kv_bytes_per_token)} bytes on this GPU, all layers that"
        " grow with the context",
        f"the cache  = {sizing.kv_blocks:,} blocks of {count(sizing.kv_block_size)} tokens"
        + (f", shared by {len(plan.groups)} groups of layers" if len(plan.groups) > 1 else ""),
        f"a request  = {plan.blocks_for(length):,} blocks ({gib(sizing.needed)}) at its full"
        f" {length:,} tokens",
        f"at once    = {sizing.kv_blocks:,} / {plan.blocks_for(length):,} ="
        f" {sizing.max_concurrency or 0:.2f} requests of full length",
    ]
    how = "all blocks by group" if settings.rules.tokens_from_blocks else f"at once × {length:,}"
    return [*lines, f"tokens     = {how} = {count(sizing.kv_tokens)}, as the log prints them"]


def declared_html(config: Configuration) -> str:
    """The recipe's own figures: each variant against this hardware, per GPU and per node."""
    node = config.node
    rows = []
    for name, variant in config.recipe.variants.items():
        here = next(
            (o for o in config.rules.hardware_options(name) if o.id == config.hardware), None
        )
        needed = config.rules.memory_needed(variant, config.hardware, node)
        gpus = -(-needed // node.gpu_vram_gb)
        nodes = -(-needed // node.vram_gb)
        if here is not None and not here.enabled:
            verdict = f'<span class="rx-dim">✗ {escape(here.reason)}</span>'
        elif nodes > 1:
            verdict = f'<span class="rx-no">needs {nodes:.0f} nodes</span>'
        else:
            verdict = f'<span class="rx-yes">fits on {gpus:.0f} GPU{"s" if gpus > 1 else ""}</span>'
        label = escape(variant.label or name)
        shown = f"<b>{label}</b>" if name == config.variant_id else label
        rows.append([
            shown, escape(variant.precision.upper()), gb(needed), gb(node.gpu_vram_gb),
            gb(node.vram_gb), verdict, escape(variant.memory_origin),
        ])  # fmt: skip
    place = f"{node.brand} {node.display_name}"
    head = ["Variant", "Precision", "Asks for at least", "One GPU has", "One node has",
            f"On {place}", "Origin"]  # fmt: skip
    table = table_html(head, rows, f"Declared memory of each variant on {place}", (2, 3, 4))
    return (
        f'{table}<p class="rx-source">GB are 10<sup>9</sup> bytes, as GPUs are sold.'
        " The recipe's figure for weights and what runs beside them; its origin is where the recipe"
        " has it from. Weights and cache as computed, of each variant on each hardware, are under"
        " Fit.</p>"
    )
