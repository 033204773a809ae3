"""Preset, variant, and hardware: the axes that nothing stands above."""

from __future__ import annotations

from recipes_core.catalog.documents import Preset
from recipes_core.catalog.own_hardware import admit
from recipes_core.configuration.asking import Asking
from recipes_core.errors import RecipesError

BASELINE = "baseline"
"""The word that declines a default preset."""


def asked_preset(asking: Asking) -> str | None:
    """The preset that was asked, if the recipe has it."""
    asked = asking.asked.preset
    if asked is None or asked == BASELINE:
        return None
    if not asking.recipe.presets:
        asking.adjust("preset", asked, None, "this recipe has no presets")
        return None
    return asking.known("preset", asked, asking.recipe.presets, None)


def choose_variant(asking: Asking, preset: Preset | None) -> str:
    """The variant: asked, else the one that the id named, else the default."""
    default = asking.by_id or asking.rules.default_variant()
    asked = asking.asked.variant
    if preset is not None:
        qualified = [name for name in preset.variants if name in asking.recipe.variants]
        default = default if default in qualified else (qualified or [default])[0]
    if asked is None:
        return default
    name = asking.known("variant", asked, asking.recipe.variants, default)
    if name is None:
        return default
    if preset is not None and name not in preset.variants:
        reason = f"the preset is qualified on {', '.join(preset.variants)}"
        asking.adjust("variant", name, default, reason)
        return default
    return name


def preset_runs(asking: Asking, preset: Preset, variant: str) -> bool:
    """Whether hardware and strategy of a preset can be had for a variant."""
    return preset.strategy in asking.rules.strategies and any(
        option.id == preset.hardware and option.enabled
        for option in asking.rules.hardware_options(variant)
    )


def choose_hardware(asking: Asking, variant: str, preset: Preset | None) -> str:
    """The hardware: the preset's, else asked, else the default of the variant."""
    options = {option.id: option for option in asking.rules.hardware_options(variant)}
    default = preset.hardware if preset else asking.rules.default_hardware(variant)
    if default is None:
        raise RecipesError(
            f"{asking.entry.id}: variant {variant} runs on no hardware of this catalog"
        )
    asked = asking.asked.hardware
    if asked is None:
        return default
    name: str | None = next((key for key in options if key.casefold() == asked.casefold()), None)
    if name is None:
        if asked.casefold() in {key.casefold() for key in asking.catalog.hardware}:
            reason = "this recipe does not offer it"
            asking.adjust("hardware", asked, default, reason)
        elif (fault := admit(asking.catalog, asked).fault) is not None:
            asking.adjust("hardware", asked, default, fault)
        else:
            asking.known("hardware", asked, options, default)
        return default
    if not options[name].enabled:
        asking.adjust("hardware", name, default, options[name].reason or "")
        return default
    if preset is not None and name != default:
        asking.adjust("hardware", name, default, f"the preset is for {default}")
        return default
    return name
