"""Whether a note, known issue, or install step applies to a configuration (floor 3)."""

from __future__ import annotations

from collections.abc import Iterable

from recipes_core.catalog.documents import Note, Selector, When
from recipes_core.configuration import BASELINE, Configuration


def applies(when: When | None, config: Configuration) -> bool:
    """Whether every axis that a ``when`` names matches; absent = always.

    A value matches without case. ``feature`` matches what is on and adds something, by name or as
    ``name:mode``; ``preset: baseline`` matches where none is applied, ``kv_offload: off`` where
    nothing is offloaded.

    Args:
        when: The condition, or None.
        config: What ``configure`` returned.
    """
    if when is None:
        return True
    profile = config.profile
    return (
        _matches(when.hardware, (config.hardware,))
        and _matches(when.generation, (profile.generation,))
        and _matches(when.brand, (profile.brand,))
        and _matches(when.strategy, (config.strategy_id,))
        and _matches(when.variant, (config.variant_id,))
        and _matches(when.preset, (config.preset_id or BASELINE,))
        and _matches(when.feature, _features(config))
        and _matches(when.precision, (config.variant.precision,))
        and _matches(when.kv_offload, (config.kv_offload or "off",))
    )


def notes_of(notes: Iterable[Note], config: Configuration) -> list[Note]:
    """The notes that apply to a configuration, in the recipe's order."""
    return [note for note in notes if applies(note.when, config)]


def _features(config: Configuration) -> list[str]:
    modes = config.feature_modes
    return [*config.features, *(f"{name}:{mode}" for name, mode in modes.items())]


def _matches(selector: Selector | None, values: Iterable[str | None]) -> bool:
    if selector is None:
        return True
    wanted = (selector,) if isinstance(selector, str) else selector
    folded = {word.casefold() for word in wanted}
    return any(value is not None and value.casefold() in folded for value in values)
