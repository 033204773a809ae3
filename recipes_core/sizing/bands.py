"""How far each figure may be off, by what was measured of its kind."""

from __future__ import annotations

from recipes_core.sizing.activation import Activation
from recipes_core.sizing.settings import Settings

GIB = 1 << 30
_DRIFT = 0.25
"""GiB of activation by which a release that was not measured may differ from the one that was."""
Band = tuple[int, int]


def _around(value: int, below: float, above: float) -> Band:
    """``value`` less and more so many GiB, never negative."""
    return max(0, value - int(below * GIB)), max(0, value + int(above * GIB))


def weight_share(settings: Settings) -> tuple[float, float]:
    """The share by which weights may be less or more than computed."""
    arch = settings.arch
    if not arch.family.known or arch.is_compressed or arch.model_type == "whisper":
        return 0.03, 0.05
    if not settings.gpu.is_nvidia:
        return 0.01, 0.06
    online = settings.args.quantization == "fp8" and arch.is_moe
    below, above = 0.002, 0.01 if online else 0.003
    if arch.model_type == "gpt_oss" and not settings.rules.whole_units:
        below = 0.015
    if arch.tower is not None and settings.load.tower:
        below, above = max(below, 0.005), max(above, 0.01)
    if settings.load.draft_layers:
        below, above = 0.02, 0.03
    if arch.storage_assumed:
        # A few modules in 16 instead of 8 bits, or the other way round.
        below, above = max(below, 0.03), max(above, 0.04)
    return below, above


def activation_margin(settings: Settings, activation: Activation) -> tuple[float, float]:
    """GiB by which the activation may be less or more."""
    arch = settings.arch
    rough = not arch.family.known or arch.is_compressed or settings.load.draft_layers
    if rough or not settings.gpu.is_nvidia or settings.args.dp > 1:
        quarter = activation.peak / GIB / 4
        return max(quarter, 0.3), max(quarter, 0.3)
    margin = 0.1 if settings.rules.is_close else _DRIFT
    if settings.step.encoder:
        margin = max(margin, 0.2)
    if settings.step.compiled and not arch.is_moe and activation.forward > activation.sampler:
        margin = max(margin, 0.2)
    if arch.is_hybrid and arch.is_mla:
        margin = max(margin, 0.3)
    if settings.step.warm_sampler:
        # How many copies of the logits live at once was read, not measured: one more or less.
        margin = max(margin, 4 * settings.seqs * arch.vocab / GIB)
    return margin, margin


def _graph_band(settings: Settings, graphs: int) -> Band:
    if not graphs:
        return 0, 0
    return _around(graphs, 0.6, 0.8) if settings.v2 else _around(graphs, 0.2, 0.6)


def part_bands(
    settings: Settings,
    weights: int,
    activation: Activation,
    non_torch: int,
    *,
    graphs: int,
    outside: int,
    nccl: bool = True,
) -> dict[str, Band]:
    """Lowest and highest bytes of each part."""
    less, more = weight_share(settings)
    below, above = activation_margin(settings, activation)
    group = settings.args.tp * (settings.args.dp if settings.arch.is_moe else 1)
    if group > 1 and nccl and settings.rules.charges_graphs:
        # Real tensor parallel was not run on these releases; NCCL may be charged or not.
        libraries = (min(non_torch, int(0.22 * GIB)), non_torch + int(0.4 * GIB))
    elif group > 1 and nccl:
        libraries = _around(non_torch, 0.15, 0.15)
    else:
        libraries = _around(non_torch, 0.02, 0.25)
    return {
        "weights": (int(weights * (1 - less)), int(weights * (1 + more))),
        "activation": _around(activation.peak, below, above),
        "non_torch": libraries,
        "cuda_graphs": _graph_band(settings, graphs),
        "outside_budget": _around(outside, 0.7, 1.2),
    }


def kv_band(available: int, bands: dict[str, Band]) -> Band:
    """Lowest and highest bytes left for the cache when every part is at its worst and best."""
    parts = ("weights", "activation", "non_torch", "cuda_graphs")
    middle = available
    lows = sum(bands[p][0] for p in parts)
    highs = sum(bands[p][1] for p in parts)
    spread = highs - lows
    # Parts err independently; the sum of their worst cases is not seen in any row.
    return max(0, middle - int(0.7 * spread)), max(0, middle + int(0.7 * spread))
