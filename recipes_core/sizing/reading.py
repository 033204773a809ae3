"""Reads a whole config.json into an `Architecture`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from recipes_core.sizing.architecture import DTYPES, Architecture
from recipes_core.sizing.families import Family, family_of
from recipes_core.sizing.feeds import read_feeds
from recipes_core.sizing.fields import ConfigError, Fields, nearest, shown
from recipes_core.sizing.layers import read_mixers
from recipes_core.sizing.quantization import online, read_quantization
from recipes_core.sizing.rope import read_rope_tables
from recipes_core.sizing.shapes import (
    PLAIN,
    Attention,
    Draft,
    Feed,
    Layer,
    Mixer,
    Mla,
)
from recipes_core.sizing.source import Source
from recipes_core.sizing.stored import Stored
from recipes_core.sizing.towers import read_tower

_LARGEST_CONFIG = 16 << 20
_MANY_LAYERS = 4096


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


def merged(config: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """``--hf-overrides``: nested objects are merged, everything else is replaced."""
    result = dict(config)
    for key, value in overrides.items():
        old = result.get(key)
        both = isinstance(value, Mapping) and isinstance(old, Mapping)
        result[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return result


@lru_cache(maxsize=256)
def changed_architecture(
    base: Architecture, quantization: str | None, dtype: str | None, overrides: str | None
) -> Architecture:
    """A checkpoint under other engine flags; equal requests give the same object.

    Raises:
        ConfigError: The overrides are no JSON object, or do not go with the checkpoint.
    """
    config = base.config
    if overrides:
        try:
            parsed = json.loads(overrides)
        except json.JSONDecodeError as error:
            raise ConfigError("--hf-overrides", overrides, f"is not JSON: {error}") from error
        if not isinstance(parsed, Mapping):
            raise ConfigError("--hf-overrides", overrides, "is no JSON object")
        config = merged(config, parsed)
    found = read_architecture(config, "config.json", quantization, dtype, base.stored)
    if not base.rebuilt:
        return found
    return replace(
        found,
        notes=(*found.notes, base.rebuilt),
        rebuilt=base.rebuilt,
        storage_assumed=base.storage_assumed,
    )


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


def read_architecture(
    config: Mapping[str, Any],
    where: str,
    quantization: str | None,
    dtype: str | None,
    stored: Stored | None,
) -> Architecture:
    """An architecture from a parsed config.json.

    Args:
        config: The whole config.
        where: How errors call it.
        quantization: ``--quantization``, where it changes the checkpoint.
        dtype: ``--dtype``.
        stored: Bytes of the files, where they were read.

    Raises:
        ConfigError: A field of a known model type is missing, wrong or in conflict.
    """
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
    layers, missing = _read_layers(source, name)
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


def _read_layers(source: Source, name: str) -> tuple[tuple[Layer, ...], list[str]]:
    """The layers, and what of a model type that is not known could not be read."""
    missing: list[str] = []
    layers: tuple[Layer, ...] = ()
    try:
        source.layers = _layer_count(source.text)
        layers = _layers(source)
    except ConfigError as error:
        if source.family.known:
            raise
        missing.append(f"the layers: {error}")
    if not source.family.known:
        shown = source.model_type or name or "(unnamed)"
        source.notes.append(
            f"The model type {shown} is not known here; it is read as a plain decoder."
        )
        missing += _unread(source.text)
    return layers, missing


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
