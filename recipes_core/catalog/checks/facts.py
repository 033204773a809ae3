"""Checks of a recipe's facts: ids, versions, memory, dates, presets, features, evidence."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from recipes_core.catalog.catalog import RecipeEntry
from recipes_core.catalog.checks.report import Path_, Report
from recipes_core.catalog.documents import Recipe, Variant

BYTES: dict[str, float] = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "mxfp8": 1.0,
    "int8": 1.0,
    "nvfp4": 0.5,
    "mxfp4": 0.5,
    "fp4": 0.5,
    "int4": 0.5,
}
"""Bytes of one parameter in the peer's rule of thumb, which leaves scales out."""
_SCALE = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_COUNT = re.compile(r"~?\s*([\d.]+)\s*([KMBT])\b", re.IGNORECASE)
_PIN = re.compile(r":v(\d+\.\d+(?:\.\d+)?)(?:[-+].*)?\Z")
_SIZE_IN_KEY = re.compile(r"(?:^|_)(\d+(?:[._]\d+)?)([bmt])(?:_|$)")
_SIZE_IN_NAME = re.compile(r"(?<![A-Za-z\d.])(\d+(?:\.\d+)?)([BMT])(?![A-Za-z\d])")


class Facts(NamedTuple):
    """What the checks of facts need to know beside the catalog."""

    today: datetime.date
    released: tuple[Version, ...]
    """vLLM releases, oldest first; empty = not known, and nothing is said of them."""
    own: bool
    """Whether the recipe is one of ours, which must bring evidence."""


def parameters(text: str | None) -> float | None:
    """The number that a parameter count such as ``30.5B`` says, or None."""
    found = _COUNT.match(text or "")
    return float(found[1]) * _SCALE[found[2].upper()] if found else None


def declared_vram_gb(parameter_count: float, precision: str) -> int | None:
    """The peer's rule for the least memory: parameters × bytes each × 1.2, rounded up.

    Args:
        parameter_count: All parameters of the model, not only the active ones.
        precision: The variant's precision.

    Returns:
        GB, or None for a precision without a fixed width.
    """
    width = BYTES.get(precision.lower())
    return None if width is None else math.ceil(round(parameter_count * width * 1.2 / 1e9, 6))


def variant_parameters(recipe: Recipe, name: str, variant: Variant) -> float | None:
    """Parameters of a variant: by the size in its id or checkpoint's name if it has another."""
    said = _SIZE_IN_KEY.search(name)
    if said:
        return float(said[1].replace("_", ".")) * _SCALE[said[2].upper()]
    if variant.model_id:
        here = _SIZE_IN_NAME.search(variant.model_id.rsplit("/", 1)[-1])
        base = _SIZE_IN_NAME.search(recipe.model.model_id.rsplit("/", 1)[-1])
        if here and (base is None or base.groups() != here.groups()):
            return float(here[1]) * _SCALE[here[2]]
    return parameters(recipe.model.parameter_count)


def _memory(report: Report, recipe: Recipe, name: str, variant: Variant) -> None:
    if variant.vram_minimum_gb == 0 and "omni" not in recipe.meta.tasks:
        where: Path_ = ("variants", name, "vram_minimum_gb")
        report.warn("vram-unknown", "0 GB is no figure: everything would seem to fit", where)
        return
    if variant.vram_source in ("computed", "measured"):
        return
    count = variant_parameters(recipe, name, variant)
    width = BYTES.get(variant.precision.lower())
    if count is None or width is None:
        return
    rule, weights = declared_vram_gb(count, variant.precision), count * width / 1e9
    found = variant.vram_minimum_gb
    where = ("variants", name, "vram_minimum_gb")
    if found < weights * 0.9:
        report.add(
            "info" if variant.vram_source == "declared" else "warning",
            "vram-below-weights",
            f"{found:g} GB (declared) cannot hold about {weights:.0f} GB of weights; if the files "
            "mix precisions, say `vram_source: declared`",
            where,
        )
    elif rule is not None and abs(found - rule) > max(1, 0.02 * rule):
        report.add(
            "info",
            "vram-formula",
            f"{found:g} GB (declared); parameters × bytes × 1.2 says {rule} GB",
            where,
        )


def _floor(report: Report, facts: Facts, text: str, nightly: bool, path: Path_) -> None:
    if text == "nightly":
        report.warn(
            "nightly-version",
            "`nightly` is no version; name the release that will have it, with nightly_required",
            (*path, "min_vllm_version"),
        )
        return
    try:
        floor = Version(text)
    except InvalidVersion:
        report.error("bad-version", f"{text!r} is no version", (*path, "min_vllm_version"))
        return
    if not facts.released:
        return
    newest = facts.released[-1]
    if nightly and floor <= newest:
        first = next(version for version in facts.released if version >= floor)
        report.warn(
            "stale-nightly",
            f"vLLM {first} is released and meets the floor {floor}; no nightly is needed",
            (*path, "nightly_required"),
        )
    if not nightly and floor > newest:
        report.warn(
            "unreleased-floor",
            f"vLLM {floor} is not released (newest known: {newest}); the install would fail",
            (*path, "min_vllm_version"),
        )


def _pinned(image: object) -> Iterator[str]:
    """The versions that an image, or the images of a map, are pinned to."""
    if isinstance(image, dict):
        for item in image.values():
            yield from _pinned(item)
    elif isinstance(image, str):
        found = _PIN.search(image)
        if found:
            yield found[1]


def _images(report: Report, recipe: Recipe) -> None:
    """An image that is older than what runs in it."""
    model = recipe.model
    for name, variant in recipe.variants.items():
        path: Path_ = ("variants", name, "docker_image")
        image = variant.docker_image
        if image is None:
            path, image = ("model", "docker_image"), model.docker_image
        floors = [model.min_vllm_version, variant.min_vllm_version]
        floors += [
            feature.min_vllm_version
            for feature in recipe.features.values()
            if feature.variants is None or name in feature.variants
        ]
        needed = releases([floor for floor in floors if floor])
        for version in releases(list(_pinned(image))):
            if needed and version < needed[-1]:
                report.warn(
                    "image-below-floor",
                    f"an image of vLLM {version} serves variant {name!r}, which with its features "
                    f"needs {needed[-1]}",
                    path,
                )


def _dates(report: Report, recipe: Recipe, today: datetime.date) -> None:
    meta = recipe.meta
    dated: list[tuple[Path_, datetime.date | None]] = [
        (("meta", "date_added"), meta.date_added),
        (("meta", "date_updated"), meta.date_updated),
    ]
    dated += [(("meta", "evidence", name, "date"), e.date) for name, e in meta.evidence.items()]
    for name, preset in recipe.presets.items():
        if preset.evidence is not None:
            dated.append((("presets", name, "evidence", "date"), preset.evidence.date))
    for path, date in dated:
        if date is not None and date > today:
            report.error("future-date", f"{date} is still to come (today: {today})", path)
    if meta.date_added and meta.date_updated and meta.date_updated < meta.date_added:
        report.warn(
            "dates-swapped",
            f"updated {meta.date_updated}, before it was added {meta.date_added}",
            ("meta", "date_updated"),
        )


def _presets(report: Report, recipe: Recipe) -> None:
    taken: dict[tuple[str, str, str], str] = {}
    for name, preset in recipe.presets.items():
        for variant in preset.variants if preset.default else ():
            key = (preset.hardware, preset.strategy, variant)
            if key in taken:
                report.error(
                    "two-defaults",
                    f"{taken[key]!r} is the default of {', '.join(key)} already",
                    ("presets", name, "default"),
                )
            taken.setdefault(key, name)
        points = [point.name for point in preset.points]
        for point in {point for point in points if points.count(point) > 1}:
            report.error(
                "duplicate-point", f"two points are called {point!r}", ("presets", name, "points")
            )


def _exclusive(report: Report, recipe: Recipe) -> None:
    """Features that cannot be on together, and are on together unless a reader says otherwise."""
    on = [name for name in recipe.features if name not in recipe.opt_in_features]
    pairs = [
        (name, other)
        for name in on
        for other in recipe.features[name].excludes
        if other in on and (name < other or name not in recipe.features[other].excludes)
    ]
    if "text_only" in on and "encoder_parallel" in on:
        pairs.append(("text_only", "encoder_parallel"))
    for name, other in dict.fromkeys(pairs):
        report.error(
            "both-on",
            f"{name} and {other} exclude each other, yet both are on by default",
            ("features", name),
        )


def _identity(report: Report, entry: RecipeEntry) -> None:
    model_id = entry.recipe.model.model_id
    if model_id == entry.id:
        return
    if model_id.casefold() == entry.id.casefold():
        message = f"{model_id!r} is spelled differently from the path, {entry.id!r}"
    else:
        message = (
            f"{model_id!r} is not the path's {entry.id!r}; put another checkpoint in a variant"
        )
    report.warn("model-id", message, ("model", "model_id"))


def _evidence(report: Report, recipe: Recipe) -> None:
    for name, support in recipe.meta.hardware.items():
        if support == "verified" and name not in recipe.meta.evidence:
            report.warn(
                "no-evidence",
                f"{name} is called verified, but meta.evidence.{name} does not say by which run",
                ("meta", "hardware", name),
            )


def check_facts(report: Report, entry: RecipeEntry, facts: Facts) -> None:
    """Check what a recipe states as fact."""
    recipe = entry.recipe
    _identity(report, entry)
    model = recipe.model
    _floor(report, facts, model.min_vllm_version, model.nightly_required, ("model",))
    for name, variant in recipe.variants.items():
        path = ("variants", name)
        nightly = variant.nightly_required
        if variant.min_vllm_version is not None or nightly:
            floor = variant.min_vllm_version or model.min_vllm_version
            _floor(report, facts, floor, nightly or model.nightly_required, path)
        _memory(report, recipe, name, variant)
    _images(report, recipe)
    _dates(report, recipe, facts.today)
    _presets(report, recipe)
    _exclusive(report, recipe)
    offered = {*recipe.compatible_strategies, *recipe.strategy_hardware}
    known = report.vocabulary.strategies
    if recipe.default_strategy in known and recipe.default_strategy not in offered:
        report.warn(
            "default-strategy",
            f"{recipe.default_strategy!r} is the default but not among compatible_strategies",
            ("default_strategy",),
        )
    if facts.own:
        _evidence(report, recipe)


def releases(texts: Sequence[str]) -> tuple[Version, ...]:
    """Versions from oldest to newest; what is no version is left out."""
    found = []
    for text in texts:
        try:
            found.append(Version(text))
        except InvalidVersion:
            continue
    return tuple(sorted(found))
