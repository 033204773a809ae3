"""GPU memory: the budget of the tightest engine, the dials that change it, and its equations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from recipes_core.configuration import Configuration
from recipes_core.errors import RecipesError
from recipes_core.explorer.panels.axes import gb
from recipes_core.explorer.panels.figures import (
    BASIS,
    PARTS,
    band_text,
    bar_html,
    copyable_html,
    count,
    gib,
    table_html,
)
from recipes_core.explorer.widgets import Kit, escape
from recipes_core.selection import Selection

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState
    from recipes_core.sizing import Sizing

DIALS = (
    "max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization",
    "kv_cache_dtype", "vllm",
)  # fmt: skip
KV_TYPES = ("auto", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2")
SEQUENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
BATCHES = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)


class Dial(NamedTuple):
    """A slider over stops, or a list of choices where it is no ``slider``."""

    name: str
    label: str
    hint: str
    stops: tuple[str, ...]
    now: str = ""
    """What the engine takes where nothing is asked."""
    unit: str = ""
    slider: bool = True


def dials_of(config: Configuration, sizing: Sizing | None) -> list[Dial]:
    """The dials of a configuration with their stops."""
    settings = sizing.settings if sizing is not None else None
    native = config.recipe.model.context_length or 0
    lengths = [n << 10 for n in (2, 4, 8, 16, 32, 64, 128, 192, 256, 384, 512, 768, 1024)]
    lengths = [n for n in lengths if not native or n < native] + ([native] if native else [])
    longest = f"{sizing.max_model_len:,}" if sizing is not None and sizing.max_model_len else ""
    share = f"{sizing.utilization:g}" if sizing is not None else ""
    shares = tuple(f"{n / 100:.2f}" for n in range(50, 99, 2))
    return [
        Dial("max_model_len", "Longest context", "--max-model-len", _texts(lengths), longest,
             "tokens"),
        Dial("max_num_seqs", "Sequences at once", "--max-num-seqs", _texts(SEQUENCES),
             _of(settings, "seqs")),
        Dial("max_num_batched_tokens", "Tokens per step", "--max-num-batched-tokens",
             _texts(BATCHES), _of(settings, "tokens"), "tokens"),
        Dial("gpu_memory_utilization", "Share of each GPU", "--gpu-memory-utilization", shares,
             share),
        Dial("kv_cache_dtype", "KV cache type", "--kv-cache-dtype", KV_TYPES, slider=False),
        Dial("vllm", "vLLM release", "pins install, image and the rules of the memory model",
             _releases(), slider=False),
    ]  # fmt: skip


def dial_field(dial: Dial, asked: Selection) -> dict[str, Any]:
    """A dial as a field of a form; its first stop leaves the choice to recipe and engine."""
    value = getattr(asked, dial.name)
    text = "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
    stops = list(dial.stops)
    if text and text not in stops:
        stops = sorted({*stops, text}, key=_size) if dial.slider else [text, *stops]
    unset = f"as it is ({dial.now})" if dial.now else "as it is"
    pairs = [[unset, ""], *([f"{_number(stop)} {dial.unit}".strip(), stop] for stop in stops)]
    kind, listed = ("range", "stops") if dial.slider else ("select", "options")
    return {
        "name": dial.name, "kind": kind, "label": dial.label, "value": text, listed: pairs,
        "hint": dial.hint,
    }  # fmt: skip


def _texts(numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(map(str, numbers))


def _size(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdigit() else 0.0


def _of(settings: Any, name: str) -> str:
    value = getattr(settings, name, None)
    return f"{value:,}" if isinstance(value, int) else ""


def _releases() -> tuple[str, ...]:
    from recipes_core.vllm_cli.tables import versions

    return tuple(reversed(versions()))[:16]


def _number(text: str) -> str:
    return f"{int(text):,}" if text.isdigit() else text


def read_dial(name: str, text: str) -> dict[str, Any]:
    """The change that a dial asks.

    Raises:
        RecipesError: The text is no value of it.
    """
    if not text:
        return {name: None}
    read = Selection.from_query([(name, text)])
    if read.unread:
        raise RecipesError(f"{name}: {read.unread[0].reason}")
    return {name: getattr(read, name)}


class MemoryPanel:
    """The budget of one GPU."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        self.dials = kit.form(self._turn)
        self.verdict = kit.html()
        self.figures = kit.html()
        self.box = kit.box([self.verdict, self.dials, self.figures], "rx-panel")

    def _turn(self, name: str, text: str) -> None:
        try:
            self.state.ask(**read_dial(name, text))
        except RecipesError as error:
            self.state.problem = str(error)

    def refresh(self) -> None:
        """Show the figures."""
        config = self.state.configuration
        if config is None:
            return
        sizing = self.state.tightest
        self.verdict.value = verdict_html(config, sizing, self.state.sizing_problem)
        engines = [(process.name, sized) for process, sized in self.state.sizings]
        self.figures.value = engines_html(engines) + figures_html(config, sizing)
        self.dials.fields = [dial_field(d, config.selection) for d in dials_of(config, sizing)]


def verdict_html(config: Configuration, sizing: Sizing | None, problem: str = "") -> str:
    """Whether it fits, and one GPU as a bar."""
    if sizing is None:
        reason = problem or "The checkpoint's layers are not known here, so nothing is computed."
        return f'<p class="rx-source">{escape(reason)}</p>'
    bar = ""
    if sizing.basis != "declared":
        place = f"One of {config.gpus_used} {config.profile.display_name}"
        bar = bar_html(sizing.per_gpu, sizing.gpu.memory, place)
    return _verdict(config, sizing) + bar


def figures_html(config: Configuration, sizing: Sizing | None) -> str:
    """The figures behind the verdict, with what they rest on."""
    if sizing is None:
        return declared_html(config)
    parts = []
    if sizing.basis == "declared":
        parts.append(declared_html(config))
    else:
        parts.append(_budget(sizing))
        parts.append(_details("Predicted lines of the engine's log", _log(sizing)))
        parts.append(_details("Equations", equations_html(sizing)))
        parts.append(_details("What the recipe declares, each variant", declared_html(config)))
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
        kind, text = verdict_text(sizing)
        row = [escape(name), gib(sizing.weights), gib(sizing.available), count(sizing.kv_tokens)]
        rows.append([*row, f'<span class="{kind}">{escape(text.split(":")[0])}</span>'])
    head = ["Engine", "Weights per GPU", "KV cache per GPU", "Tokens", ""]
    return table_html(head, rows, "The engines of this deployment", (1, 2, 3))


def _details(title: str, inner: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inner}</details>"


def verdict_text(sizing: Sizing) -> tuple[str, str]:
    """A CSS class and a sentence on whether the engine starts."""
    if sizing.problems:
        return "rx-no", f"Would not start: {sizing.problems[0]}"
    if sizing.fits is None:
        return "rx-dim", "Whether it fits is not known"
    if not sizing.fits:
        return "rx-no", f"Does not fit: {gib(sizing.shortfall)} are missing on each GPU"
    tokens = f"{count(sizing.kv_tokens)} tokens of KV cache"
    if sizing.max_concurrency is None or sizing.max_model_len is None:
        return "rx-yes", "Fits"
    return "rx-yes", (
        f"Fits: {tokens}, {sizing.max_concurrency:.2f} requests of"
        f" {sizing.max_model_len:,} tokens at once"
    )


def _verdict(config: Configuration, sizing: Sizing) -> str:
    kind, text = verdict_text(sizing)
    which = f" ({escape(sizing.process)}, the tightest)" if len(config.pools) else ""
    return (
        f'<p><span class="{kind}">{escape(text)}.</span>{which} '
        f'<span class="rx-source"><b>{escape(sizing.basis)}</b> {BASIS[sizing.basis]};'
        f" vLLM {escape(sizing.vllm)}</span></p>"
    )


def _budget(sizing: Sizing) -> str:
    rows = []
    for key, (name, about) in PARTS.items():
        size = sizing.per_gpu.get(key)
        band = sizing.band.get(key)
        rows.append([name, gib(size), band_text(size, band), escape(about)])
    rows.append(["<b>Whole GPU</b>", f"<b>{gib(sizing.gpu.memory)}</b>", "", "as the driver says"])
    return table_html(
        ["Part", "On each GPU", "May be off by", ""], rows, "Memory of one GPU", (1, 2)
    )


def _log(sizing: Sizing) -> str:
    return copyable_html("\n".join(sizing.log_lines), "Predicted log lines")


def equations_html(sizing: Sizing) -> str:
    """The budget as sums with these numbers."""
    lines = [
        f"share      = {sizing.utilization:g} × {gib(sizing.gpu.memory)} = {gib(sizing.requested)}",
        "KV cache   = share − weights − activations − outside PyTorch − CUDA graphs",
        f"           = {gib(sizing.requested)} − {gib(sizing.weights)} − {gib(sizing.activation)}"
        f" − {gib(sizing.non_torch)} − {gib(sizing.graphs)}",
        f"           = {gib(sizing.available)}",
    ]
    if sizing.kv_bytes_per_token and sizing.kv_blocks is not None:
        lines += [
            f"a token    = {sizing.kv_bytes_per_token:,} bytes on this GPU, all layers",
            f"the cache  = {sizing.kv_blocks:,} blocks of {sizing.kv_block_size} tokens"
            f" → {count(sizing.kv_tokens)} tokens",
        ]
    if sizing.needed is not None and sizing.max_model_len:
        lines.append(
            f"one request of {sizing.max_model_len:,} tokens needs {gib(sizing.needed)}"
            + (f" → {sizing.max_concurrency:.2f} at once" if sizing.max_concurrency else "")
        )
    return copyable_html("\n".join(lines), "Equations with these numbers")


def declared_html(config: Configuration) -> str:
    """The recipe's own figures: each variant against this hardware, per GPU and per node."""
    node = config.node
    rows = []
    for name, variant in config.recipe.variants.items():
        needed = config.rules.memory_needed(variant, config.hardware, node)
        gpus = -(-needed // node.gpu_vram_gb)
        nodes = -(-needed // node.vram_gb)
        verdict = (
            f'<span class="rx-yes">fits on {gpus:.0f} GPU{"s" if gpus > 1 else ""}</span>'
            if nodes <= 1
            else f'<span class="rx-no">needs {nodes:.0f} nodes</span>'
        )
        label = escape(variant.label or name)
        shown = f"<b>{label}</b>" if name == config.variant_id else label
        rows.append([
            shown, escape(variant.precision.upper()), gb(needed), gb(node.gpu_vram_gb),
            gb(node.vram_gb), verdict, escape(variant.vram_source or "declared"),
        ])  # fmt: skip
    place = f"{node.brand} {node.display_name}"
    head = ["Variant", "Precision", "Needs at least", "One GPU has", "One node has",
            f"On {place}", "Source"]  # fmt: skip
    table = table_html(head, rows, f"Declared memory of each variant on {place}", (2, 3, 4))
    return (
        f'{table}<p class="rx-source">GB are 10<sup>9</sup> bytes, as GPUs are sold.'
        " <b>declared</b>: the recipe says so; nothing was measured or computed.</p>"
    )
