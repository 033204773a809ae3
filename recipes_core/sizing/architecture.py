"""A model's architecture, read from the `config.json` of its checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from recipes_core.sizing.families import Family
from recipes_core.sizing.fields import ConfigError, shown
from recipes_core.sizing.shapes import (
    PLAIN,
    Attention,
    CompressedAttention,
    Draft,
    Format,
    GatedDelta,
    Kda,
    Layer,
    Mamba1,
    Mamba2,
    Mla,
    Moe,
    RopeTable,
    ShortConv,
    Tower,
)
from recipes_core.sizing.stored import Stored, read_stored

DTYPES = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4}
"""Bytes per element of the types a model can run in."""


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
        rebuilt: What the config was rebuilt from; empty where a published one was read.
        storage_assumed: Part of that was taken for granted.
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
    rebuilt: str = ""
    storage_assumed: bool = False
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
        from recipes_core.sizing.reading import load_config, merged, read_architecture

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
        whole = merged(config, overrides) if overrides else config
        return read_architecture(whole, where, quantization, dtype, stored)

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
        from recipes_core.sizing.reading import changed_architecture

        return changed_architecture(self, None if same_quant else quantization, dtype, overrides)

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
