"""Reads the start-up log of a vLLM engine (0.11 and later) and puts our figures beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from recipes_core.sizing.answers import longest_context
from recipes_core.sizing.hardware import GIB
from recipes_core.sizing.result import Sizing

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NUMBER = r"(\d[\d,_]{0,30}(?:\.\d{1,30})?)"
"""Of bounded length: a line of nothing but digits is searched in one pass, and none is infinite."""
_LARGEST_LINE = 20_000


@dataclass(frozen=True, slots=True)
class Logged:
    """One figure of a log.

    Args:
        value: In bytes, tokens or times.
        line: Line of the log, from 1.
        text: The line itself.
    """

    value: float
    line: int
    text: str


@dataclass
class EngineLog:
    """What a start-up log says; a figure that it does not print is None or absent.

    Args:
        vllm: Release.
        arguments: What the command line or the engine's config line names.
        weights: Per rank, in the order printed.
        available_kv: Per rank.
        figures: The other figures by name: ``activation``, ``non_torch``, ``cuda_graphs``
            (really taken), ``graph_estimate``, ``kv_tokens``, ``max_concurrency``,
            ``concurrency_length``, ``block_size``, ``utilization``, ``gpu_total``,
            ``needed_kv``, ``estimated_length``, ``max_num_batched_tokens``, ``out_of_memory``.
    """

    vllm: str | None = None
    arguments: dict[str, str] = field(default_factory=dict)
    weights: list[Logged] = field(default_factory=list)
    available_kv: list[Logged] = field(default_factory=list)
    figures: dict[str, Logged] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether no figure was found."""
        return not (self.weights or self.available_kv or self.figures)


def _bytes(text: str, unit: str) -> float:
    scale = {"g": GIB, "m": 1 << 20, "k": 1 << 10, "b": 1}[unit[0].lower()]
    return float(text.replace(",", "").replace("_", "")) * scale


_SIZE = _NUMBER + r"\s*(GiB|GB|MiB|MB)"
_WEIGHTS = re.compile(rf"(?:Model loading took|Loading model weights took) {_SIZE}", re.IGNORECASE)
_AVAILABLE = re.compile(rf"available KV cache memory[:\s]+\(?(-?){_SIZE}", re.IGNORECASE)
"""Of the budget, and of a refusal for want of it."""
_SIZES: dict[str, re.Pattern[str]] = {
    "activation": re.compile(
        rf"(?:torch peak memory increase|peak activation memory)[:\s]+{_SIZE}", re.IGNORECASE
    ),
    "non_torch": re.compile(
        rf"non[- ]torch (?:forward increase )?memory(?: takes)?[:\s]+{_SIZE}", re.IGNORECASE
    ),
    "cuda_graphs": re.compile(rf"Graph capturing finished .*?took {_SIZE}", re.IGNORECASE),
    "graph_estimate": re.compile(
        rf"Estimated CUDA ?graph memory(?: usage)?[:\s]+{_SIZE}", re.IGNORECASE
    ),
    "needed_kv": re.compile(rf"{_SIZE} KV cache is needed", re.IGNORECASE),
    "out_of_memory": re.compile(rf"CUDA out of memory\. Tried to allocate {_SIZE}", re.IGNORECASE),
    "gpu_total": re.compile(rf"total capacity of {_SIZE}", re.IGNORECASE),
}
_FREE = re.compile(rf"Free memory on device[^(]*\({_NUMBER}/{_SIZE}\)", re.IGNORECASE)
_COUNTS: dict[str, re.Pattern[str]] = {
    "kv_tokens": re.compile(rf"GPU KV cache size: {_NUMBER} tokens"),
    "max_concurrency": re.compile(
        rf"Maximum concurrency for [\d,]+ tokens per request: {_NUMBER}x"
    ),
    "concurrency_length": re.compile(
        rf"(?:Maximum concurrency for |max seq len \(){_NUMBER}(?: tokens|\))"
    ),
    "block_size": re.compile(rf"Setting attention block size to {_NUMBER} tokens"),
    "utilization": re.compile(rf"GPU memory utilization is \({_NUMBER}"),
    "estimated_length": re.compile(rf"estimated maximum model length is {_NUMBER}"),
    "max_num_batched_tokens": re.compile(rf"max_num_batched_tokens[= ]{_NUMBER}"),
}
_VERSIONS = (
    re.compile(r"LLM engine \(v?(\d+\.\d+[\w.+-]*)\)"),
    re.compile(r"vLLM API server version v?(\d+\.\d+[\w.+-]*)"),
    re.compile(r"\bversion[ :]+v?(\d+\.\d+\.\d+[\w.+-]*)"),
)
_ARGUMENT = re.compile(
    r"\b(model|dtype|max_seq_len|max_model_len|tensor_parallel_size|pipeline_parallel_size|"
    r"data_parallel_size|quantization|enforce_eager|kv_cache_dtype|gpu_memory_utilization|"
    r"max_num_seqs|enable_prefix_caching|enable_expert_parallel)'?[=:]\s*'?([\w./:-]+)"
)


def parse_engine_log(text: str) -> EngineLog:
    """Reads a start-up log.

    Args:
        text: The log, whole or a part of it; colours and prefixes do no harm.

    Returns:
        Every figure that was found; the last line wins where an engine printed one twice, and
        ranks are kept apart.
    """
    log = EngineLog()
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _ANSI.sub("", raw[:_LARGEST_LINE])
        if log.vllm is None:
            log.vllm = _first(_VERSIONS, line)
        if "engine" in line or "non-default args" in line:
            for key, value in _ARGUMENT.findall(line):
                log.arguments.setdefault(key, value.rstrip(",."))
        _figures(log, number, line)
    return log


def _figures(log: EngineLog, number: int, line: str) -> None:
    shown = line.strip()[:300]
    found = _WEIGHTS.search(line)
    if found:
        log.weights.append(Logged(_bytes(found[1], found[2]), number, shown))
    found = _AVAILABLE.search(line)
    if found:
        sign = -1 if found[1] else 1
        log.available_kv.append(Logged(sign * _bytes(found[2], found[3]), number, shown))
    found = _FREE.search(line)
    if found:
        log.figures["gpu_total"] = Logged(_bytes(found[2], found[3]), number, shown)
    for name, pattern in _SIZES.items():
        found = pattern.search(line)
        if found:
            log.figures[name] = Logged(_bytes(found[1], found[2]), number, shown)
    for name, pattern in _COUNTS.items():
        found = pattern.search(line)
        if found:
            value = float(found[1].replace(",", "").replace("_", "").rstrip("."))
            log.figures[name] = Logged(value, number, shown)


def _first(patterns: tuple[re.Pattern[str], ...], line: str) -> str | None:
    for pattern in patterns:
        found = pattern.search(line)
        if found:
            return found[1].rstrip(".")
    return None


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of a log beside ours.

    Args:
        name: What it is.
        unit: ``bytes``, ``tokens`` or ``times``.
        logged: What the engine printed.
        ours: What we say, None where it cannot be known.
        line: Line of the log.
        verdict: ``equal`` (within the log's rounding), ``near`` (within our band) or ``apart``.
        explanation: Why they may differ, empty where they are equal.
    """

    name: str
    unit: str
    logged: float
    ours: float | None
    line: int
    verdict: Literal["equal", "near", "apart", "unknown"]
    explanation: str

    @property
    def percent(self) -> float | None:
        """How far ours is off, in percent of the log's."""
        if self.ours is None or not self.logged:
            return None
        return (self.ours / self.logged - 1) * 100


class OtherEngine(NamedTuple):
    """One way in which a log's engine is not the one that was sized."""

    name: str
    """As the engine's arguments are called; ``vllm`` for the release."""
    logged: str
    ours: str


def other_engine(log: EngineLog, sizing: Sizing) -> list[OtherEngine]:
    """How the engine of a log was started otherwise than the one that was sized.

    Args:
        log: What was parsed.
        sizing: The engine beside which it is put.

    Returns:
        What both are known to have and do not share; a checkpoint in a local folder is not judged.
    """
    settings = sizing.settings
    if settings is None:
        return []
    args, said = settings.args, dict(log.arguments)
    said.setdefault("max_model_len", said.pop("max_seq_len", ""))
    for name, figure in (
        ("max_model_len", "concurrency_length"),
        ("gpu_memory_utilization", "utilization"),
        ("max_num_batched_tokens", "max_num_batched_tokens"),
    ):
        if not said.get(name) and figure in log.figures:
            said[name] = f"{log.figures[figure].value:.10g}"
    if said.get("model", "").startswith(("/", ".", "~")):
        del said["model"]
    ours = {
        "model": args.model,
        "vllm": sizing.vllm,
        "tensor_parallel_size": args.tp,
        "pipeline_parallel_size": args.pp,
        "data_parallel_size": args.dp,
        "max_model_len": sizing.max_model_len,
        "gpu_memory_utilization": f"{sizing.utilization:g}",
        "max_num_seqs": settings.seqs,
        "max_num_batched_tokens": settings.tokens,
        "kv_cache_dtype": settings.kv.kv_dtype,
        "enforce_eager": args.eager,
    }
    said["vllm"] = log.vllm or ""
    return [
        OtherEngine(name, said[name], str(value))
        for name, value in ours.items()
        if said.get(name) not in (None, "", "None", "auto")
        and value not in (None, "")
        and not _alike(said[name], str(value))
    ]


def _alike(one: str, other: str) -> bool:
    """Whether two values are the same, as text or as numbers: ``0.90`` is ``0.9``."""
    try:
        return one == other or float(one) == float(other)
    except ValueError:
        return False


_ROUNDING = 0.005 * GIB
_WHY = {
    "gpu_total": "Another card, or one of which a part is kept from the engine.",
    "out_of_memory": "The GPU had no room left for this: another process on it, or a larger step "
    "than the one that was profiled. A lower --gpu-memory-utilization or fewer "
    "--max-num-batched-tokens leave more outside the cache.",
    "needed_kv": "The cache of one request of full length, which the engine found too large: "
    "another length or cache type, or layers that other flags lay out.",
    "weights": "Another checkpoint, quantization or release than the one sized, or a draft model "
    "that was loaded too.",
    "activation": "Other --max-num-seqs or --max-num-batched-tokens, another MoE or attention "
    "backend, or a compiled forward pass, which our figure knows to 0.1 GiB only.",
    "non_torch": "NCCL and library memory depends on driver, topology and the other ranks.",
    "graph_estimate": "The estimate depends on the captured sizes; ours rests on two runs.",
    "available_kv": "The sum of the differences above, another utilization, or another process on "
    "the GPU when the engine started.",
    "kv_tokens": "Tokens follow from the available bytes; compare them at the logged bytes below.",
    "max_concurrency": "Concurrency follows from the available bytes.",
    "longest context at the logged bytes": "The engine's own estimate of what would start.",
    "kv_tokens at the logged bytes": "The log's bytes may be those of a rank that is not the "
    "tightest, or the cache is laid out by flags that were not given here.",
}


def compare_log(
    log: EngineLog, sizing: Sizing, at_logged: Sizing | None = None
) -> list[Difference]:
    """Puts our figures beside those of a log.

    Args:
        log: What was parsed.
        sizing: The same engine, predicted.
        at_logged: The same engine with the logged available bytes as its budget.

    Returns:
        One entry per figure that the log prints, in the order of the budget.
    """
    found: list[Difference] = []

    def sized(
        name: str, logged: Logged | None, ours: float | None, band: str | None = None
    ) -> None:
        if logged is not None:
            limits = sizing.band.get(band or name)
            found.append(
                _difference(name, "bytes", logged, ours, limits=limits, rounding=_ROUNDING)
            )

    first = sizing.ranks[0] if sizing.ranks else None
    figures = log.figures
    sized("gpu_total", figures.get("gpu_total"), sizing.gpu.memory)
    sized("weights", _rank_zero(log.weights), first.weights.total if first else sizing.weights)
    activation = first.activation.peak if first else sizing.activation
    sized("activation", figures.get("activation"), activation)
    sized("non_torch", figures.get("non_torch"), sizing.non_torch)
    sized("graph_estimate", figures.get("graph_estimate"), sizing.graphs, "cuda_graphs")
    available = first.available if first else sizing.available
    sized("available_kv", _rank_zero(log.available_kv), available, "kv_cache")
    if needed := figures.get("needed_kv"):
        entry = _difference(
            "needed_kv", "bytes", needed, sizing.needed, limits=None, rounding=_ROUNDING
        )
        found.append(_of_its_length(entry, figures.get("concurrency_length"), sizing))
    if lacking := figures.get("out_of_memory"):
        why = _WHY["out_of_memory"]
        found.append(
            Difference("out_of_memory", "bytes", lacking.value, None, lacking.line, "unknown", why)
        )
    return [*found, *_cache_differences(log, sizing, at_logged)]


def _cache_differences(
    log: EngineLog, sizing: Sizing, at_logged: Sizing | None
) -> Iterator[Difference]:
    """What follows from the bytes of the cache."""
    figures = log.figures
    if tokens := figures.get("kv_tokens"):
        ours, band = sizing.kv_tokens, _following(sizing, sizing.kv_tokens)
        yield _difference("kv_tokens", "tokens", tokens, ours, limits=band, rounding=0)
    length = figures.get("concurrency_length")
    if share := figures.get("max_concurrency"):
        times, band = sizing.max_concurrency, _following(sizing, sizing.max_concurrency)
        entry = _difference("max_concurrency", "times", share, times, limits=band, rounding=0.005)
        yield _of_its_length(entry, length, sizing)
    if at_logged is None:
        return
    spread = _ROUNDING / max(at_logged.available or 1, 1)
    if tokens:
        name, ours, off = "kv_tokens at the logged bytes", at_logged.kv_tokens, tokens.value
        yield _difference(name, "tokens", tokens, ours, limits=None, rounding=off * spread + 1)
    if longest := figures.get("estimated_length"):
        name, ours = "longest context at the logged bytes", longest_context(at_logged)
        off = longest.value * spread + (at_logged.kv_block_size or 1)
        yield _difference(name, "tokens", longest, ours, limits=None, rounding=off)


def _of_its_length(entry: Difference, length: Logged | None, sizing: Sizing) -> Difference:
    """A figure of requests whose length may be another than ours."""
    if length is None or sizing.max_model_len in (None, int(length.value)):
        return entry
    why = (
        f"The log's is for requests of {length.value:,.0f} tokens, ours for"
        f" {sizing.max_model_len:,}."
    )
    return replace(entry, explanation=why)


def _rank_zero(entries: list[Logged]) -> Logged | None:
    return entries[0] if entries else None


def _following(sizing: Sizing, figure: float | None) -> tuple[float, float] | None:
    """The band of a figure that grows with the bytes of the KV cache."""
    limits = sizing.band.get("kv_cache")
    if limits is None or not sizing.available or figure is None:
        return None
    low, high = (figure * size / sizing.available for size in limits)
    return low, high


def _difference(
    name: str,
    unit: str,
    logged: Logged,
    ours: float | None,
    *,
    limits: tuple[float, float] | None,
    rounding: float,
) -> Difference:
    if ours is None:
        why = "Not known here; see the assumptions."
        return Difference(name, unit, logged.value, None, logged.line, "unknown", why)
    verdict: Literal["equal", "near", "apart", "unknown"] = "apart"
    if abs(ours - logged.value) <= rounding:
        verdict = "equal"
    elif (limits is not None and limits[0] <= logged.value <= limits[1]) or (
        limits is None and logged.value and abs(ours / logged.value - 1) <= 0.02
    ):
        verdict = "near"
    why = "" if verdict == "equal" else _WHY[name]
    return Difference(name, unit, logged.value, ours, logged.line, verdict, why)
