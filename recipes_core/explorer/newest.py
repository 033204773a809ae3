"""The newest choice wins: what gives way to it, what is told, and what is asked no more.

What is possible is decided by ``configure`` alone; this only says what to ask it, in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import BASELINE, Adjustment, Configuration, configure
from recipes_core.explorer.values import Kept
from recipes_core.options import options_of
from recipes_core.selection import Selection


def ways(
    config: Configuration, asked: Selection, changes: Mapping[str, Any]
) -> Iterator[Selection]:
    """Selections that hold the newest choice, the one that gives up least first."""
    yield asked
    if "preset" in changes and changes["preset"] not in {None, BASELINE}:
        kept = Selection(
            **{key: getattr(asked, key) for key in ("preset", "install", "vllm", *_READER_FIELDS)}
        )
        yield kept
        return
    starts = [asked]
    if config.preset_id is not None and "preset" not in changes:
        starts += [replace(asked, preset=None), replace(asked, preset=BASELINE)]
        yield from starts[1:]
    if changes.get("strategy") is not None:
        least = next(
            (o.facts.get("min_nodes", 1) for o in options_of(config)["strategy"]
             if o.id == changes["strategy"]), 1
        )  # fmt: skip
        for start in starts:
            for nodes in (1, max(2, least)):
                yield replace(start, nodes=nodes, gpus=None)
    if changes.get("nodes") is not None or changes.get("gpus") is not None:
        for start in starts:
            yield replace(start, strategy=None)
            yield replace(start, strategy=None, gpus=changes.get("gpus"),
                          nodes=changes.get("nodes"))  # fmt: skip


def placed(
    catalog: Catalog, recipe: str, asked: Selection, hardware: str | None, kept: Kept
) -> dict[str, Any]:
    """What to ask for a hardware; of the reader's own as many nodes as it takes and there are.

    Args:
        catalog: The catalog.
        recipe: The recipe's id.
        asked: The choices before.
        hardware: Where it is to run; None leaves it to the recipe.
        kept: What the reader has.

    Raises:
        RecipesError: There is no such recipe.
    """
    if hardware is None or hardware != kept.hardware:
        return {"hardware": hardware}
    wish = asked.nodes
    for nodes in (wish, *range(2, (kept.nodes or 1) + 1)):
        there = {"hardware": hardware, "nodes": nodes, "gpus": None}
        found = configure(catalog, recipe, asked.with_(**there))
        room = found.gpus_used * found.node.gpu_vram_gb
        if found.hardware == hardware and (nodes == wish or found.memory_needed_gb <= room):
            return there
    return {"hardware": hardware, "nodes": wish, "gpus": None}


_READER_FIELDS = ("served_name", "host", "port")


def with_feature(
    config: Configuration, asked: Selection, name: str, on: bool, mode: str | None = None
) -> dict[str, Any]:
    """What to ask so that a feature is on, or off; those that it cannot be beside give way.

    Args:
        config: What is shown.
        asked: The reader's choices.
        name: The feature.
        on: Whether it is to be on.
        mode: Its mode; None = the recipe's.
    """
    wanted = [feature for feature in config.features if feature != name]
    modes = {key: value for key, value in asked.fmode if key != name}
    if on:
        order = list(config.recipe.features)
        wanted = sorted({*wanted, name} - _rivals(config, name), key=order.index)
        if mode is not None:
            modes[name] = mode
    kept = tuple((key, value) for key, value in modes.items() if key in wanted)
    return {"features": tuple(wanted), "fmode": kept}


def _rivals(config: Configuration, name: str) -> set[str]:
    """Features that exclude a feature, or that it excludes."""
    excludes = {o.id: o.facts.get("excludes", ()) for o in options_of(config)["features"]}
    return {*excludes.get(name, ()), *(other for other, out in excludes.items() if name in out)}


def refused(config: Configuration, changes: Mapping[str, Any]) -> bool:
    """Whether a choice that was made just now could not be had."""
    return any(
        adjustment.axis in changes and changes[adjustment.axis] is not None
        for adjustment in config.adjustments
    )


_SHOWN: dict[str, Callable[[Configuration], Any]] = {
    "preset": lambda c: c.preset_id,
    "variant": lambda c: c.variant_id,
    "hardware": lambda c: c.hardware,
    "nodes": lambda c: c.nodes,
    "strategy": lambda c: c.strategy_id,
    "kv_offload": lambda c: c.kv_offload,
}


def stay(
    config: Configuration, asked: Selection, refused: Configuration, changes: Mapping[str, Any]
) -> tuple[Selection, list[Adjustment]]:
    """What to ask where a choice among names was refused: that which was there before.

    A number that was refused becomes the nearest that can be had instead.

    Args:
        config: What was shown before.
        asked: What was asked.
        refused: What came of it.
        changes: The newest choice.

    Returns:
        The selection, and why the choice was refused.
    """
    told = [
        adjustment._replace(got=_SHOWN[adjustment.axis](config))
        for adjustment in refused.adjustments
        if adjustment.axis in changes and adjustment.axis in _SHOWN and adjustment.axis != "nodes"
    ]
    axes = {item.axis for item in told}
    if "hardware" in axes:
        axes |= {"nodes", "gpus"} & set(changes)
    shown = honoured(config)
    return asked.with_(**{axis: getattr(shown, axis) for axis in axes}), told


def moved_by(
    before: Configuration, after: Configuration, changes: Mapping[str, Any]
) -> Iterator[Adjustment]:
    """Other axes that an earlier choice had set and that gave way to the newest."""
    told = {adjustment.axis for adjustment in after.adjustments}
    for axis, read in _SHOWN.items():
        was, now = read(before), read(after)
        asked_before = getattr(before.selection, axis) is not None
        if axis in changes or axis in told or was == now or not asked_before:
            continue
        yield Adjustment(axis, was, now, f"gave way to the choice of {', '.join(changes)}")


def honoured(config: Configuration) -> Selection:
    """What was asked and could be had; what was refused is not asked again."""
    refused = {adjustment.axis for adjustment in config.adjustments}
    changes: dict[str, Any] = {"unread": ()}
    for axis in refused & set(config.selection.asked()):
        if axis == "features":
            changes["features"] = config.features
        elif axis == "fmode":
            changes["fmode"] = tuple(
                pair
                for pair in config.selection.fmode
                if config.feature_modes.get(pair[0]) == pair[1]
            )
        elif axis == "advanced":
            changes["advanced"] = config.advanced
        elif axis != "preset" or config.preset_id != config.selection.preset:
            changes[axis] = None
    return config.selection.with_(**changes)
