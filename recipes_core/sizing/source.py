"""A config.json while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from recipes_core.sizing.families import Family
from recipes_core.sizing.fields import Fields
from recipes_core.sizing.quantization import Quantization
from recipes_core.sizing.shapes import (
    Format,
)


@dataclass
class Source:
    """A config.json being read.

    Args:
        root: The whole config.
        text: Its language part, the same object in a text model.
        model_type: Of the language part.
        family: What its code does.
        quant: How its linears are stored.
        hidden: Width of the model.
        layers: Number of decoder layers.
        notes: Assumptions, in words.
        missing: What could not be read.
    """

    root: Fields
    text: Fields
    model_type: str
    family: Family
    quant: Quantization
    hidden: int
    layers: int
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def stored(self, layer: int, *parts: str, rooms: tuple[str, ...]) -> Format:
        """The storage of one linear of a layer, by all its possible module names."""
        if self.quant.method is None:
            return self.quant.default
        names = [f"layers.{layer}.{room}.{part}" for room in rooms for part in parts]
        return self.quant.of(*names)
