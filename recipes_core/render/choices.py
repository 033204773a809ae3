"""Links from one configuration to its neighbours: the query that each choice of each axis opens.

Nothing is decided here: a query is what a reader would ask next, and ``configure`` answers it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from recipes_core.axes import Option, strategy_nodes
from recipes_core.configuration import BASELINE, EXCLUSIVE, Configuration, default_preset
from recipes_core.link import preset_query, selection_of
from recipes_core.options import options_of
from recipes_core.selection import Selection

LABELS = {
    "variant": "Variant",
    "hardware": "Hardware",
    "strategy": "Strategy",
    "nodes": "Nodes",
    "preset": "Preset",
    "features": "Features",
    "feature_modes": "Feature modes",
    "kv_offload": "KV cache offload",
    "pool_modes": "Pools",
    "router": "Router",
    "task": "Task",
    "frontend": "HTTP front end",
    "advanced": "Tuning switches",
}
"""Axes in the order of the page, with their headings."""
SEVERAL = frozenset({"features", "advanced"})
"""Axes of which any number may be on."""

OMNI = frozenset({"variant", "hardware", "features", "feature_modes", "task", "frontend"})
"""Axes of an omni recipe: it is one server and a task."""


class Choice(NamedTuple):
    """One option of an axis as a page shows it."""

    id: str
    label: str
    detail: str
    query: str | None
    """What opens it; None where it is the present one or cannot be had."""
    chosen: bool
    reason: str | None
    verified: bool = False
    far: bool = False
    """Of less interest here: a page may fold it away."""


class Axis(NamedTuple):
    """A row of choices."""

    id: str
    label: str
    choices: tuple[Choice, ...]
    several: bool

    @property
    def open(self) -> list[Choice]:
        """What can be had and stands in sight."""
        return [choice for choice in self.choices if _is_open(choice) and not choice.far]

    @property
    def far(self) -> list[Choice]:
        """What can be had but belongs elsewhere, such as presets for other hardware."""
        return [choice for choice in self.choices if _is_open(choice) and choice.far]

    @property
    def shut(self) -> list[Choice]:
        """What cannot be had, with its reason."""
        return [choice for choice in self.choices if not _is_open(choice)]


def _is_open(choice: Choice) -> bool:
    return choice.chosen or choice.query is not None


def axes_of(config: Configuration) -> list[Axis]:
    """Every axis that leaves a choice, with a query for each option that can be had."""
    options = options_of(config)
    least = selection_of(config)
    found = []
    for axis, label in LABELS.items():
        if config.rules.is_omni and axis not in OMNI:
            continue
        rows = options.get(axis, ())
        if axis == "pool_modes":
            found += _pool_axes(config, least, rows)
            continue
        if axis == "nodes" and (config.pools or sum(option.enabled for option in rows) < 2):
            continue
        choices = tuple(_choice(config, least, axis, option) for option in rows)
        if len(choices) > (0 if axis in SEVERAL else 1):
            found.append(Axis(axis, label, choices, axis in SEVERAL))
    return found


def _pool_axes(config: Configuration, least: Selection, rows: tuple[Option, ...]) -> list[Axis]:
    axes = []
    for role, pool in config.pools.items():
        choices = [
            Choice(
                str(option.id), option.label, "",
                least.with_(**{f"{role}_mode": option.id}).to_query()
                if option.enabled and option.id != pool.mode
                else None,
                option.id == pool.mode, option.reason,
            )
            for option in rows
        ]  # fmt: skip
        axes.append(Axis(f"{role}_mode", f"{role.capitalize()} pool", tuple(choices), False))
        sizes = [
            Choice(
                str(count), f"{count} node{'s' if count > 1 else ''}" if count else "Half a node",
                "", least.with_(**{f"{role}_nodes": count}).to_query()
                if count != pool.nodes else None, count == pool.nodes, None,
            )
            for count in sorted({1, 2, 4, 8, pool.nodes})
        ]  # fmt: skip
        axes.append(Axis(f"{role}_nodes", f"{role.capitalize()} nodes", tuple(sizes), False))
    return axes


def _choice(config: Configuration, least: Selection, axis: str, option: Option) -> Choice:
    chosen = _is_chosen(config, axis, option)
    reason = option.reason
    wanted = _asked(config, least, axis, option, chosen)
    if axis == "strategy" and option.facts.get("supported") and option.facts.get("reachable"):
        reason = None
    if axis == "nodes" and reason is None:
        lead = config.rules.default_strategy(config.hardware, config.node, option.id)
        if option.id > 1 and strategy_nodes(config.rules.strategies[str(lead)]) == "pools":
            reason = "no strategy of this recipe joins nodes, but pools, which have their own"
    query = None if reason is not None or (chosen and axis not in SEVERAL) else wanted.to_query()
    far = axis == "preset" and option.facts.get("hardware", config.hardware) != config.hardware
    return Choice(
        str(option.id), _label(config, axis, option), _detail(config, axis, option), query, chosen,
        reason, bool(option.facts.get("verified")), far and not chosen,
    )  # fmt: skip


def _label(config: Configuration, axis: str, option: Option) -> str:
    if axis == "nodes":
        return str(option.id)
    if axis == "feature_modes" and len(config.feature_modes) > 1:
        feature = config.recipe.features[option.facts["feature"]]
        return f"{feature.label or option.facts['feature']}: {option.label}"
    return option.label


def _is_chosen(config: Configuration, axis: str, option: Option) -> bool:
    present: dict[str, Any] = {
        "variant": config.variant_id,
        "hardware": config.hardware,
        "strategy": config.strategy_id,
        "nodes": config.nodes,
        "preset": config.preset_id or BASELINE,
        "kv_offload": config.kv_offload or "off",
        "router": config.router,
        "frontend": config.frontend or "python",
        "task": (config.task.key or config.task.id) if config.task else None,
    }
    if axis == "features":
        return option.id in config.features
    if axis == "advanced":
        return option.id in config.advanced
    if axis == "feature_modes":
        feature, mode = option.facts["feature"], option.facts["mode"]
        return bool(config.feature_modes.get(feature) == mode)
    return bool(present[axis] == option.id)


def _detail(config: Configuration, axis: str, option: Option) -> str:
    facts = option.facts
    if axis == "hardware":
        return f"{facts['gpu_count']} × {facts['gpu_vram_gb']:g} GB"
    if axis == "variant" and facts.get("vram_minimum_gb"):
        return f"{facts['vram_minimum_gb']:g} GB declared"
    if axis == "strategy":
        gate = config.rules.gate(str(option.id), config.hardware, config.node)
        kind = strategy_nodes(config.rules.strategies[str(option.id)])
        if kind == "multi":
            return f"{max(2, gate.min_nodes)} nodes or more"
        return {"single": "one node", "pools": "two pools"}[kind]
    if axis == "preset" and facts:
        strategy = config.catalog.strategies.get(facts["strategy"])
        name = (strategy.short_name or strategy.display_name) if strategy else facts["strategy"]
        profile = config.catalog.hardware.get(facts["hardware"])
        where = profile.display_name if profile else facts["hardware"]
        optional = ["opt-in"] if facts["opt_in"] else []
        return " · ".join([where, name, *facts["variants"], *optional])
    if axis == "nodes" and option.id == config.nodes:
        return f"{option.id * config.profile.gpu_count} GPUs"
    return ""


def _asked(
    config: Configuration, least: Selection, axis: str, option: Option, chosen: bool
) -> Selection:
    """The selection that a click on an option asks for."""
    value = option.id
    if axis == "variant":
        return _for_variant(config, least, value, option)
    if axis == "hardware":
        default = config.rules.default_hardware(config.variant_id)
        free = _without_preset(config, least)
        return free.with_(hardware=None if value == default else value)
    if axis == "strategy":
        return _for_strategy(config, _without_preset(config, least), value)
    if axis == "nodes":
        free = _without_preset(config, least)
        kind = "multi" if value > 1 else "single"
        keeps = config.strategy is not None and strategy_nodes(config.strategy) == kind
        return free.with_(nodes=value, strategy=free.strategy if keeps else None)
    if axis == "features":
        return _for_features(config, least, value, chosen)
    if axis == "feature_modes":
        feature = option.facts["feature"]
        modes = dict(least.fmode) | {feature: option.facts["mode"]}
        features = least.features
        if feature not in config.features:
            features = (*config.features, feature)
        return _with_preset(config, least.with_(fmode=tuple(modes.items()), features=features))
    if axis == "preset":
        if value != BASELINE:
            return Selection.from_query(preset_query(config, value))
        declined = BASELINE if default_preset(config) is not None else None
        return _without_preset(config, least).with_(preset=declined)
    if axis == "advanced":
        on = [name for name in config.advanced if name != value]
        return least.with_(advanced=tuple(on if chosen else [*on, value]))
    return least.with_(**{axis: value})


def _without_preset(config: Configuration, least: Selection) -> Selection:
    """What is asked besides the preset; what it implied goes with it."""
    if config.preset_id is None:
        return least.with_(preset=None)
    return least.with_(preset=None, strategy=None, features=None, fmode=(), kv_offload=None)


def _for_variant(config: Configuration, least: Selection, value: str, option: Option) -> Selection:
    asked = least.with_(variant=None if option.default else value)
    runs = {item.id for item in config.rules.hardware_options(value) if item.enabled}
    if config.hardware not in runs:
        asked = asked.with_(hardware=None)
    preset = config.preset
    if preset is not None and (value not in preset.variants or config.hardware not in runs):
        asked = _without_preset(config, asked)
    return asked


def _for_strategy(config: Configuration, least: Selection, value: str) -> Selection:
    rules, node = config.rules, config.node
    kind = strategy_nodes(rules.strategies[value])
    least_nodes = max(2, rules.gate(value, config.hardware, node).min_nodes)
    nodes = {"single": 1, "multi": max(least_nodes, config.nodes)}.get(kind)
    if nodes == rules.default_nodes(config.variant_id, config.hardware, node):
        nodes = None
    return least.with_(
        strategy=value, nodes=nodes, prefill_nodes=None, decode_nodes=None, prefill_mode=None,
        decode_mode=None, router=None,
    )  # fmt: skip


def _for_features(config: Configuration, least: Selection, value: str, chosen: bool) -> Selection:
    on = [name for name in config.features if name != value]
    if not chosen:
        recipe = config.recipe.features
        rivals = {*recipe[value].excludes, EXCLUSIVE.get(value)}
        rivals |= {
            name for name in on if value in recipe[name].excludes or EXCLUSIVE.get(name) == value
        }
        order = list(recipe)
        on = sorted([*(name for name in on if name not in rivals), value], key=order.index)
    modes = tuple((name, mode) for name, mode in least.fmode if name in on)
    return _with_preset(config, least.with_(features=tuple(on), fmode=modes))


def _with_preset(config: Configuration, asked: Selection) -> Selection:
    """The preset by name: beside features, a default one would no longer apply by itself."""
    return asked if config.preset_id is None else asked.with_(preset=config.preset_id)
