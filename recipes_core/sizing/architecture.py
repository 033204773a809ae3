"""A model's architecture, read from the `config.json` of its checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from recipes_core.sizing.families import Family, family_of
from recipes_core.sizing.feeds import read_feeds
from recipes_core.sizing.fields import ConfigError, Fields, nearest, shown
from recipes_core.sizing.layers import Source, read_mixers
from recipes_core.sizing.quantization import online, read_quantization
from recipes_core.sizing.rope import read_rope_tables
from recipes_core.sizing.shapes import (
    PLAIN,
    Attention,
    CompressedAttention,
    Draft,
    Feed,
    Format,
    GatedDelta,
    Kda,
    Layer,
    Mamba1,
    Mamba2,
    Mixer,
    Mla,
    Moe,
    RopeTable,
    ShortConv,
    Tower,
)
from recipes_core.sizing.stored import Stored, read_stored
from recipes_core.sizing.towers import read_tower

DTYPES = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4}
"""Bytes per element of the types a model can run in."""

_LARGEST_CONFIG = 16 << 20
_MANY_LAYERS = 4096


@dataclass(frozen=True)
class Architecture:
    """What sizing needs to know of one checkpoint, before sharding.

    Args:
        name: Class that vLLM loads, such as ``LlamaForCausalLM``.
        model_type: Of the language model.
        family: How its code uses the sizes.
        hidden: Width of the model.
        vocab: Vocabulary size.
        dtype: Type the model runs in.
        positions: Native context length, None where the config is silent.
        layers: The decoder, layer by layer.
        tied: Input and output embeddings are one tensor.
        ropes: Tables of cosines and sines.
        learned_positions: Rows of a learned position table.
        head: Storage of the output embedding.
        tower: Vision or audio encoder.
        multimodal: Takes images, video or sound.
        encoder_positions: Encoder tokens that cross attention sees.
        draft: Next-token-prediction layers in the checkpoint.
        quant_method: vLLM's name of the quantization, None for 16 bits.
        checkpoint_kv_cache: KV cache type that the checkpoint asks for.
        extra_elements: Elements outside the usual parts (per-layer embeddings).
        stored: Bytes in the safetensors files, where they were at hand.
        notes: What was assumed.
        missing: What could not be read; figures that need it are null.
        config: The config.json itself.
    """

    name: str
    model_type: str
    family: Family
    hidden: int
    vocab: int
    dtype: str
    positions: int | None
    layers: tuple[Layer, ...]
    tied: bool
    ropes: tuple[RopeTable, ...] = ()
    learned_positions: int = 0
    head: Format = PLAIN
    tower: Tower | None = None
    multimodal: bool = False
    encoder_positions: int = 0
    draft: Draft | None = None
    quant_method: str | None = None
    checkpoint_kv_cache: str | None = None
    extra_elements: int = 0
    stored: Stored | None = None
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any] | str | os.PathLike[str],
        *,
        quantization: str | None = None,
        dtype: str | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Architecture:
        """Reads a `config.json`.

        Args:
            config: The parsed object, the path of the file, or a checkpoint folder (its
                safetensors headers or index are read too).
            quantization: ``--quantization``: quantizes a 16-bit checkpoint while it loads.
            dtype: ``--dtype``; ``auto`` keeps the checkpoint's.
            overrides: ``--hf-overrides``: replaces keys of the config.

        Raises:
            ConfigError: A field is absent, of the wrong kind, out of bounds or in conflict with
                another one, of a model type that is known here.
        """
        where, stored = "config.json", None
        if isinstance(config, (str, os.PathLike)):
            path = Path(config)
            if path.is_dir():
                stored = read_stored(path)
                path = path / "config.json"
            where = str(path)
            config = load_config(path)
        if not isinstance(config, Mapping):
            raise ConfigError(where, "(whole)", f"is {shown(config)}; an object is needed")
        merged = _merged(config, overrides) if overrides else config
        return _read(merged, where, quantization, dtype, stored)

    def changed(
        self,
        *,
        quantization: str | None = None,
        dtype: str | None = None,
        overrides: str | None = None,
    ) -> Architecture:
        """The same checkpoint under other engine flags; equal requests give the same object.

        Args:
            quantization: ``--quantization``.
            dtype: ``--dtype``.
            overrides: ``--hf-overrides`` as JSON text.

        Raises:
            ConfigError: The flags do not go with this checkpoint.
        """
        same_dtype = dtype in (None, "auto", self.dtype)
        same_quant = quantization is None or self._already(quantization)
        if same_dtype and same_quant and overrides is None:
            return self
        return _changed(self, None if same_quant else quantization, dtype, overrides)

    def _already(self, quantization: str) -> bool:
        """Whether ``--quantization`` only names what the checkpoint is."""
        if self.quant_method is None:
            return False
        asked, have = quantization.lower(), self.quant_method
        same = asked == have or asked.split("_")[0] == have.split("_")[0]
        if not same and not (asked.endswith("mxfp4") and have.endswith("mxfp4")):
            raise ConfigError(
                "--quantization", asked, f"does not go with a checkpoint stored as {have}"
            )
        return True

    @property
    def dtype_bytes(self) -> int:
        """Bytes per element of the model's own type."""
        return DTYPES[self.dtype]

    @cached_property
    def kinds(self) -> tuple[tuple[Layer, ...], tuple[int, ...]]:
        """The distinct layers, and for each layer of the decoder which of them it is."""
        index: dict[Layer, int] = {}
        order = tuple(index.setdefault(layer, len(index)) for layer in self.layers)
        return tuple(index), order

    @cached_property
    def is_moe(self) -> bool:
        """Whether any layer has experts."""
        return any(isinstance(f, Moe) for layer in self.kinds[0] for f in layer.feeds)

    @cached_property
    def is_hybrid(self) -> bool:
        """Whether any layer keeps a recurrent state."""
        state = (Mamba2, Mamba1, GatedDelta, Kda, ShortConv)
        return any(isinstance(m, state) for layer in self.kinds[0] for m in layer.mixers)

    @cached_property
    def is_mla(self) -> bool:
        """Whether any layer caches a latent instead of keys and values."""
        return any(isinstance(m, Mla) for layer in self.kinds[0] for m in layer.mixers)

    @cached_property
    def has_indexer(self) -> bool:
        """Whether attention is sparse with an indexer (DeepSeek-V3.2)."""
        return any(
            isinstance(m, Mla) and m.indexer is not None
            for layer in self.kinds[0]
            for m in layer.mixers
        )

    @cached_property
    def is_compressed(self) -> bool:
        """Whether attention is DeepSeek-V4's."""
        return any(isinstance(m, CompressedAttention) for la in self.kinds[0] for m in la.mixers)

    @cached_property
    def attention(self) -> tuple[Attention | Mla | CompressedAttention, ...]:
        """The distinct attention parts."""
        kept = (Attention, Mla, CompressedAttention)
        found = {m: None for la in self.kinds[0] for m in la.mixers if isinstance(m, kept)}
        return tuple(found)


def load_config(path: Path) -> dict[str, Any]:
    """The JSON object in a `config.json`.

    Raises:
        ConfigError: The file is missing, too large, not UTF-8, not JSON or no object.
    """
    try:
        if path.stat().st_size > _LARGEST_CONFIG:
            raise ConfigError(str(path), "(whole)", "is larger than 16 MiB; no config.json is")
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(str(path), "(whole)", f"cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(str(path), "(whole)", f"is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(str(path), "(whole)", f"is {shown(data)}; an object is needed")
    return data


def _merged(config: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """``--hf-overrides``: nested objects are merged, everything else is replaced."""
    result = dict(config)
    for key, value in overrides.items():
        old = result.get(key)
        both = isinstance(value, Mapping) and isinstance(old, Mapping)
        result[key] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return result


@lru_cache(maxsize=256)
def _changed(
    base: Architecture, quantization: str | None, dtype: str | None, overrides: str | None
) -> Architecture:
    config = base.config
    if overrides:
        try:
            parsed = json.loads(overrides)
        except json.JSONDecodeError as error:
            raise ConfigError("--hf-overrides", overrides, f"is not JSON: {error}") from error
        if not isinstance(parsed, Mapping):
            raise ConfigError("--hf-overrides", overrides, "is no JSON object")
        config = _merged(config, parsed)
    return _read(config, "config.json", quantization, dtype, base.stored)


def _text_section(root: Fields) -> Fields:
    """The language part: nested in multimodal models, the whole config otherwise."""
    for name in ("text_config", "llm_config", "language_config", "language_model"):
        section = root.section(name)
        if section is not None:
            return section
    thinker = root.section("thinker_config")
    return _text_section(thinker) if thinker is not None else root


def _dtype(root: Fields, text: Fields, asked: str | None) -> tuple[str, list[str]]:
    """The type the model runs in, and what had to be assumed."""
    if asked not in (None, "auto"):
        if asked not in DTYPES:
            raise ConfigError(
                "--dtype", str(asked), f"allowed: {', '.join(DTYPES)}" + nearest(str(asked), DTYPES)
            )
        return {"half": "float16", "float": "float32"}.get(str(asked), str(asked)), []
    value = text.get("dtype", "torch_dtype") or root.get("dtype", "torch_dtype")
    if value in (None, "auto"):
        return "bfloat16", ["The config names no dtype; bfloat16 is assumed."]
    name = str(value).removeprefix("torch.")
    if name not in DTYPES:
        raise root.fail("torch_dtype", f"is {shown(value)}; allowed: {', '.join(DTYPES)}")
    if name == "float32":
        # `--dtype auto` loads a 32-bit checkpoint in 16 bits.
        return "bfloat16", ["The checkpoint is in 32 bits; `--dtype auto` runs it in bfloat16."]
    return name, []


def _read(
    config: Mapping[str, Any],
    where: str,
    quantization: str | None,
    dtype: str | None,
    stored: Stored | None,
) -> Architecture:
    root = Fields(config, where)
    text = _text_section(root)
    names = root.items("architectures") or text.items("architectures") or [""]
    name = str(names[0]) if names else ""
    model_type = text.text("model_type") or root.text("model_type")
    family = family_of(model_type, name)
    quant = read_quantization(config, text.data, where)
    if quantization and quant.method is None:
        quant = online(quantization.lower())
    chosen, notes = _dtype(root, text, dtype)
    hidden = text.whole("hidden_size", "d_model", "n_embd", "block_dim", high=1 << 20)
    source = Source(root, text, model_type, family, quant, hidden, 0, notes + quant.notes)
    missing: list[str] = []
    layers: tuple[Layer, ...] = ()
    try:
        source.layers = _layer_count(text)
        layers = _layers(source)
    except ConfigError as error:
        if family.known:
            raise
        missing.append(f"the layers: {error}")
    if not family.known:
        shown_name = model_type or name or "(unnamed)"
        notes = source.notes
        notes.append(
            f"The model type {shown_name} is not known here; it is read as a plain decoder."
        )
        missing += _unread(text)
    whisper = model_type == "whisper"
    if whisper:
        layers = _with_cross(layers)
    draft = _draft(source, layers)
    return Architecture(
        name=name,
        model_type=model_type,
        family=family,
        hidden=hidden,
        vocab=text.whole("vocab_size", high=1 << 24),
        dtype=chosen,
        positions=text.optional(
            "max_position_embeddings", "max_target_positions", "model_max_length", "n_positions"
        ),
        layers=layers,
        tied=_tied(root, text, family),
        ropes=read_rope_tables(source, layers) if layers else (),
        learned_positions=_learned(text, model_type),
        head=quant.of("lm_head") if not quant.method or quant.layers else PLAIN,
        tower=read_tower(source),
        multimodal=whisper or any(k in root for k in ("vision_config", "audio_config")),
        encoder_positions=text.whole("max_source_positions", default=1500) if whisper else 0,
        draft=draft,
        quant_method=quant.method,
        checkpoint_kv_cache=quant.kv_cache,
        extra_elements=_per_layer_embeddings(text, source.layers, hidden),
        stored=stored,
        notes=tuple(dict.fromkeys(source.notes)),
        missing=tuple(missing),
        config=config,
    )


def _layer_count(text: Fields) -> int:
    pattern = text.get("hybrid_override_pattern")
    blocks = text.items("layers_block_type")
    fallback = len(pattern) if isinstance(pattern, str) else len(blocks or [])
    names = ("num_hidden_layers", "decoder_layers", "n_layer", "num_layers")
    if fallback:
        return text.whole(*names, default=fallback, high=_MANY_LAYERS)
    return text.whole(*names, high=_MANY_LAYERS)


def _layers(source: Source) -> tuple[Layer, ...]:
    mixers = read_mixers(source)
    feeds = read_feeds(source)
    norms = source.family.norms * (2 if source.family.norm_bias else 1)
    streams = source.text.whole("hc_mult", default=0, low=0)
    extra = 2 * (2 * streams + streams * streams) * streams * source.hidden
    split = source.model_type == "nemotron_h"
    return tuple(
        Layer(mixers=m, feeds=f, norms=1 if split else norms, extra=extra)
        for m, f in zip(mixers, feeds, strict=True)
    )


def _with_cross(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Whisper's decoder: each layer attends to itself and to the encoder."""
    result = []
    for layer in layers:
        own: tuple[Mixer, ...] = layer.mixers
        first = own[0]
        if isinstance(first, Attention):
            values = {k: getattr(first, k) for k in first.__slots__}
            own = (first, Attention(**{**values, "cross": True}))
        result.append(Layer(own, layer.feeds, layer.norms, layer.extra))
    return tuple(result)


def _tied(root: Fields, text: Fields, family: Family) -> bool:
    for section in (text, root):
        if "tie_word_embeddings" in section:
            return section.flag("tie_word_embeddings")
    return family.tied


def _learned(text: Fields, model_type: str) -> int:
    if model_type == "opt":
        return text.whole("max_position_embeddings") + 2
    if model_type == "whisper":
        return text.whole("max_target_positions", default=448)
    return 0


def _per_layer_embeddings(text: Fields, layers: int, hidden: int) -> int:
    width = text.whole("hidden_size_per_layer_input", default=0, low=0)
    if not width:
        return 0
    table = text.whole("vocab_size_per_layer_input", "vocab_size") * layers * width
    return table + layers * (hidden * width * 3)


def _draft(source: Source, layers: tuple[Layer, ...]) -> Draft | None:
    """Next-token-prediction layers; their one layer is like the decoder's last full one."""
    count = source.text.whole(
        "num_nextn_predict_layers",
        "mtp_num_hidden_layers",
        "num_mtp_modules",
        "mtp_transformer_layers",
        default=0,
        low=0,
        high=64,
    )
    if not count or not layers:
        return None
    full = [la for la in layers if any(isinstance(m, (Attention, Mla)) for m in la.mixers)]
    last = (full or list(layers))[-1]
    feeds: tuple[Feed, ...] = last.feeds or next((la.feeds for la in layers if la.feeds), ())
    return Draft(count, Layer(last.mixers, feeds, last.norms, last.extra))


_UNREAD = (
    "ssm",
    "mamba",
    "linear_attn",
    "conv",
    "state",
    "rwkv",
    "retention",
    "recurrent",
    "hyena",
)


def _unread(text: Fields) -> list[str]:
    """Keys of an unknown model that speak of a token mixer which is not attention."""
    read = ("linear_conv", "conv_L", "use_cache")
    found = [
        k for k in text.data if any(u in k.lower() for u in _UNREAD) and not k.startswith(read)
    ]
    found = [k for k in found if text.get(k) is not None]
    return [f"the token mixer that `{k}` describes" for k in found[:3]]
