"""The dials of the memory panel: what can be turned, where each stands, what it writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import deploy
from recipes_core.errors import RecipesError
from recipes_core.selection import Selection

if TYPE_CHECKING:
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
    flag: str
    """What it writes into the command; empty where it pins the release instead."""
    stops: tuple[str, ...]
    now: str = ""
    """What holds where nothing is asked."""
    unit: str = ""
    slider: bool = True


def undialled(config: Configuration) -> Sizing | None:
    """The tightest engine as it would be if no dial had been moved."""
    from recipes_core.sizing.configuration import size_configuration

    plain = configure(config.catalog, config.entry, config.selection.with_(**dict.fromkeys(DIALS)))
    return size_configuration(plain, deploy(plain))


def dials_of(config: Configuration, sizing: Sizing | None) -> list[Dial]:
    """The dials of a configuration with their stops.

    Context, batch and KV cache are a language model engine's; what makes pictures, video or sound
    has its own stages, of which these flags say nothing. Of them only one that a link brought is
    shown, to be put back.

    Args:
        config: What is shown.
        sizing: Its tightest engine with every dial as it was; None = not known.
    """
    settings = sizing.settings if sizing is not None else None
    native = config.recipe.model.context_length or 0
    lengths = [n << 10 for n in (2, 4, 8, 16, 32, 64, 128, 192, 256, 384, 512, 768, 1024)]
    lengths = [n for n in lengths if not native or n < native] + ([native] if native else [])
    longest = str(sizing.max_model_len or "") if sizing is not None else ""
    share = f"{sizing.utilization:.2f}" if sizing is not None else ""
    shares = tuple(f"{n / 100:.2f}" for n in range(50, 99, 2))
    kv_type = settings.kv.kv_dtype if settings is not None else ""
    seqs = str(settings.seqs) if settings is not None else ""
    batch = str(settings.tokens) if settings is not None else ""
    dials = [
        Dial("max_model_len", "Longest context", "--max-model-len", _texts(lengths), longest,
             "tokens"),
        Dial("max_num_seqs", "Requests at once", "--max-num-seqs", _texts(SEQUENCES),
             seqs),
        Dial("max_num_batched_tokens", "Tokens per step", "--max-num-batched-tokens",
             _texts(BATCHES), batch, "tokens"),
        Dial("gpu_memory_utilization", "Share of each GPU", "--gpu-memory-utilization", shares,
             share),
        Dial("kv_cache_dtype", "KV cache type", "--kv-cache-dtype", KV_TYPES, kv_type,
             slider=False),
        Dial("vllm", "vLLM release", "", _releases(), sizing.vllm if sizing is not None else "",
             slider=False),
    ]  # fmt: skip
    if not config.rules.is_omni:
        return dials
    asked = config.selection
    return [dial for dial in dials if not dial.flag or getattr(asked, dial.name) is not None]


def dial_field(dial: Dial, asked: Selection, written: Mapping[str, str]) -> dict[str, Any]:
    """A dial as a field of a form, with what it does to the command.

    Its empty stop leaves the choice to recipe and engine; on a slider it stands where the value
    that holds then belongs, so that the handle shows the figure and not the lack of a wish.

    Args:
        dial: The dial.
        asked: The reader's choices.
        written: The flags of the engine's command with their values.
    """
    value = getattr(asked, dial.name)
    text = "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
    now = dial.now or ("" if text else written.get(dial.flag, ""))
    stops = list(dial.stops)
    if text and text not in stops:
        stops = [text, *stops]
    place = 0
    if dial.slider:
        stops = sorted({*stops} - ({now} - {text}), key=_size)
        place = sum(_size(stop) < _size(now) for stop in stops)
    unset = f"{_shown(now, dial)} (as it is)" if now and not dial.slider else _shown(now, dial)
    pairs = [[_shown(stop, dial), stop] for stop in stops]
    kind, listed = ("range", "stops") if dial.slider else ("select", "options")
    return {
        "name": dial.name, "kind": kind, "label": dial.label, "value": text,
        listed: [*pairs[:place], [unset, ""], *pairs[place:]],
        "hint": _effect(dial, written, asked=bool(text)),
    }  # fmt: skip


def _shown(text: str, dial: Dial) -> str:
    if not text:
        return "as it is"
    return f"{int(text):,} {dial.unit}".strip() if text.isdigit() else text


def _effect(dial: Dial, written: Mapping[str, str], *, asked: bool) -> str:
    """What a dial does to the command, in a few words."""
    if not dial.flag:
        if asked:
            return "pinned: install line, image, checks and these figures follow it"
        return "not pinned; a choice pins the install line and image"
    if dial.flag not in written:
        return f"the engine's own; a choice adds {dial.flag}"
    return f"{dial.flag} {written[dial.flag]}, {'your choice' if asked else 'from the recipe'}"


def _texts(numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(map(str, numbers))


def _size(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdigit() else 0.0


def _releases() -> tuple[str, ...]:
    from recipes_core.vllm_cli.tables import versions

    return tuple(reversed(versions()))[:16]


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
