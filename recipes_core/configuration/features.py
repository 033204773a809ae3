"""The default preset, features, and their modes."""

from __future__ import annotations

from collections.abc import Iterable

from recipes_core.configuration.asking import Asking
from recipes_core.configuration.defaults import default_mode, default_preset
from recipes_core.configuration.extras import allowed_modes, default_features, feature_reason
from recipes_core.configuration.layout import part_of
from recipes_core.configuration.model import Configuration

EXCLUSIVE: dict[str, str] = {"encoder_parallel": "text_only"}
"""A feature and the one that it yields to, in every recipe."""


AROUND_POOLS = ("prefill_nodes", "decode_nodes", "prefill_mode", "decode_mode", "router")


def apply_preset(asking: Asking, config: Configuration, asked: str | None) -> None:
    """Apply the asked preset, or the default one where nothing beside it is asked."""
    name = asked
    if name is None and asking.asked.preset is None and not _asks_beside(asking):
        name = default_preset(config)
        config.preset_by_default = name is not None
    if name is None:
        return
    config.preset_id = name
    config.preset = asking.recipe.presets[name]
    if config.preset.gpus and config.preset_by_default:
        config.profile = part_of(config.node, config.preset.gpus)


def _asks_beside(asking: Asking) -> bool:
    """Whether a reader asked for something that a default preset would have to override."""
    asked = asking.asked
    return (
        asked.features is not None
        or bool(asked.fmode)
        or asked.kv_offload is not None
        or asked.gpus is not None
        or bool(asked.advanced)
        or any(getattr(asked, axis) is not None for axis in AROUND_POOLS)
    )


def choose_features(asking: Asking, config: Configuration) -> None:
    """Choose the features that are on and the mode of each."""
    preset = config.preset
    asked = asking.asked.features
    if asked is not None:
        wanted = _asked_features(asking, asked)
        if preset is not None and set(wanted) != set(preset.features):
            reason = "features were asked: the preset's evidence no longer covers the command"
            asking.adjust("preset", config.preset_id, config.preset_id, reason)
    elif preset is not None:
        wanted = preset.features
    else:
        wanted = default_features(config)
    on: list[str] = []
    for name in _without_excluded(asking, wanted, asked is not None):
        refusal = feature_reason(config, name)
        if refusal is None:
            on.append(name)
        elif asked is not None:
            asking.adjust("features", name, None, refusal)
    config.features = tuple(on)
    _modes(asking, config)


def _asked_features(asking: Asking, asked: tuple[str, ...]) -> tuple[str, ...]:
    found = []
    for word in asked:
        if asking.recipe.features:
            name = asking.known("features", word, asking.recipe.features, None)
        else:
            asking.adjust("features", word, None, "this recipe has no features")
            name = None
        if name is not None:
            found.append(name)
    return tuple(dict.fromkeys(found))


def _without_excluded(asking: Asking, wanted: Iterable[str], asked: bool) -> list[str]:
    names = list(wanted)
    for name in list(names):
        if name not in names:
            continue
        winner = EXCLUSIVE.get(name)
        rivals = [winner] if winner in names else []
        rivals += [
            other
            for other in names[: names.index(name)]
            if name in asking.recipe.features[other].excludes
            or other in asking.recipe.features[name].excludes
        ]
        if rivals:
            names.remove(name)
            if asked:
                asking.adjust("features", name, None, f"excluded by {rivals[0]}")
    return names


def _modes(asking: Asking, config: Configuration) -> None:
    asked = dict(asking.asked.fmode)
    for name in config.features:
        feature = asking.recipe.features[name]
        want = asked.pop(name, None)
        if not feature.modes:
            if want is not None:
                asking.adjust("fmode", f"{name}:{want}", None, f"{name} has no modes")
            continue
        allowed = allowed_modes(config, feature)
        default = default_mode(config, name, allowed)
        if want is None or want == default:
            got = default
        elif want in allowed:
            got = want
            _preset_mode(asking, config, name, want, default)
        else:
            why = (
                f"not with variant {config.variant_id} on {config.profile.display_name}"
                if want in feature.modes
                else f"unknown mode; {name} has {', '.join(feature.modes)}"
            )
            asking.adjust("fmode", f"{name}:{want}", f"{name}:{default}", why)
            got = default
        config.feature_modes[name] = got
    for name, want in asked.items():
        why = "the feature is off" if name in asking.recipe.features else "no such feature"
        asking.adjust("fmode", f"{name}:{want}", None, why)


def _preset_mode(asking: Asking, config: Configuration, name: str, want: str, default: str) -> None:
    if config.preset is not None and name in config.preset.feature_modes:
        reason = (
            f"{name}:{want} was asked in place of {default}:"
            " the preset's evidence no longer covers the command"
        )
        asking.adjust("preset", config.preset_id, config.preset_id, reason)
