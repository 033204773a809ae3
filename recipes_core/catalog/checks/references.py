"""Checks that every id that a recipe uses is known, and that every hardware key is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.checks.report import Path_, Report
from recipes_core.catalog.documents import (
    Feature,
    FeatureMode,
    Image,
    Omni,
    Preset,
    Recipe,
    StrategyOverride,
    Variant,
    When,
)
from recipes_core.errors import nearest

_IMAGE = re.compile(r"[a-z0-9][\w.-]*(:\d+)?(/[\w.-]+)*(:[\w.-]+)?(@sha256:[0-9a-f]{64})?\Z")

ANY = "an id, a generation, a brand or `default`"
ID = "an exact hardware id"
GENERATION = "a generation, or `nvidia` for what no generation's key covers"
BOTH = "an exact hardware id, a generation, or `nvidia`"


def _readable(report: Report, keys: Iterable[str], reads: str, path: Path_) -> None:
    """Note hardware keys that do not exist, and those that exist but are not read there."""
    vocabulary = report.vocabulary
    allowed = {
        ANY: vocabulary.any_key,
        ID: vocabulary.hardware,
        GENERATION: [*vocabulary.generations, "nvidia"],
        BOTH: [*vocabulary.hardware, *vocabulary.generations, "nvidia"],
    }[reads]
    for key in keys:
        if key in allowed:
            continue
        here = (*path, key)
        if key in vocabulary.any_key:
            report.error("inert-key", f"{key!r} is never read here: this map goes by {reads}", here)
        else:
            report.known("hardware", key, allowed, here)


def _sizes(report: Report, value: Any, path: Path_) -> None:
    if isinstance(value, dict):
        _readable(report, value, ANY, path)


def _image(report: Report, image: Image | None, path: Path_) -> None:
    if isinstance(image, dict):
        for brand, item in image.items():
            report.known("brand", brand, report.vocabulary.brands, (*path, brand))
            for key, name in item.items() if isinstance(item, dict) else ():
                _image(report, name, (*path, brand, key))
            if isinstance(item, str):
                _image(report, item, (*path, brand))
    elif image is not None and not _IMAGE.match(image):
        report.error("bad-image", f"{image!r} is no name of an image", path)


def _each(
    report: Report, kind: str, words: Iterable[str] | None, allowed: Iterable[str], path: Path_
) -> None:
    known = list(allowed)
    for index, word in enumerate(words or ()):
        report.known(kind, word, known, (*path, index))


def _keys(
    report: Report, kind: str, words: Iterable[str], allowed: Iterable[str], path: Path_
) -> None:
    known = list(allowed)
    for word in words:
        report.known(kind, word, known, (*path, word))


def _variant(report: Report, recipe: Recipe, variant: Variant, path: Path_) -> None:
    vocabulary = report.vocabulary
    _readable(report, variant.hardware_overrides, BOTH, (*path, "hardware_overrides"))
    for key, override in variant.hardware_overrides.items():
        here = (*path, "hardware_overrides", key, "docker_image")
        _image(report, override.docker_image, here)
        if override.docker_image is not None and key not in vocabulary.hardware:
            report.error("inert-key", f"an image goes by {ID}, not by {key!r}", here)
    _sizes(report, variant.tp, (*path, "tp"))
    for name in ("gpus", "nodes", "cpu_offload"):
        _readable(report, getattr(variant, name), ANY, (*path, name))
    _image(report, variant.docker_image, (*path, "docker_image"))
    wanted = variant.precision_hardware
    if wanted and wanted.brand:
        names = [*vocabulary.brand_names, *vocabulary.brands]
        report.known("brand", wanted.brand, names, (*path, "precision_hardware", "brand"))
    if wanted and wanted.generation:
        here = (*path, "precision_hardware", "generation")
        report.known("generation", wanted.generation, vocabulary.generations, here)
    architectures = [f"arch:{arch}" for arch in sorted(vocabulary.architectures)]
    for index, selector in enumerate(variant.supported_hardware or ()):
        here = (*path, "supported_hardware", index)
        if selector.startswith("arch:") and vocabulary.architectures:
            report.known("architecture", selector, architectures, here)
        elif not selector.startswith("arch:"):
            report.known("hardware", selector, vocabulary.hardware, here)
    for name, mode in variant.default_modes.items():
        _mode(report, recipe, name, mode, (*path, "default_modes", name))


def _mode(report: Report, recipe: Recipe, feature: str, mode: str, path: Path_) -> None:
    if report.known("feature", feature, recipe.features, path):
        report.known("mode", mode, recipe.features[feature].modes, path)


def _feature_part(report: Report, recipe: Recipe, part: Feature | FeatureMode, path: Path_) -> None:
    _readable(report, part.hardware, ANY, (*path, "hardware"))
    _readable(report, part.hardware_overrides, ANY, (*path, "hardware_overrides"))
    _each(report, "variant", part.variants, recipe.variants, (*path, "variants"))


def _feature(report: Report, recipe: Recipe, name: str, feature: Feature) -> None:
    path: Path_ = ("features", name)
    _feature_part(report, recipe, feature, path)
    _each(
        report,
        "strategy",
        feature.strategies,
        report.vocabulary.strategies,
        (*path, "strategies"),
    )
    for mode_id, mode in feature.modes.items():
        _feature_part(report, recipe, mode, (*path, "modes", mode_id))
    if feature.default_mode is not None:
        report.known("mode", feature.default_mode, feature.modes, (*path, "default_mode"))
    others = [other for other in recipe.features if other != name]
    _each(report, "feature", feature.excludes, others, (*path, "excludes"))


def _strategy_override(report: Report, override: StrategyOverride, path: Path_) -> None:
    _sizes(report, override.tp, (*path, "tp"))
    _readable(report, override.hardware_overrides, BOTH, (*path, "hardware_overrides"))
    for name in ("prefill", "decode"):
        role = getattr(override, name)
        if role is not None:
            _sizes(report, role.nodes, (*path, name, "nodes"))
            _readable(report, role.hardware_overrides, ID, (*path, name, "hardware_overrides"))


def _preset(report: Report, catalog: Catalog, recipe: Recipe, preset: Preset, path: Path_) -> None:
    vocabulary = report.vocabulary
    report.known("hardware", preset.hardware, vocabulary.hardware, (*path, "hardware"))
    report.known("strategy", preset.strategy, vocabulary.strategies, (*path, "strategy"))
    _each(report, "variant", preset.variants, recipe.variants, (*path, "variants"))
    _each(report, "feature", preset.features, recipe.features, (*path, "features"))
    for feature, mode in preset.feature_modes.items():
        here = (*path, "feature_modes", feature)
        per_variant = mode if isinstance(mode, dict) else {"": mode}
        for variant, name in per_variant.items():
            if variant:
                report.known("variant", variant, preset.variants, (*here, variant))
            _mode(report, recipe, feature, name, here)
    for role, pool in preset.pools.items():
        _sizes(report, pool.nodes, (*path, "pools", role, "nodes"))
        _readable(report, pool.hardware_overrides, ID, (*path, "pools", role, "hardware_overrides"))
    options = ["off", *vocabulary.kv_options, *vocabulary.kv_stores]
    if preset.kv_offload is not None:
        report.known("kv-option", preset.kv_offload, options, (*path, "kv_offload"))
    strategy = catalog.strategies.get(preset.strategy)
    nodes = preset.nodes
    kind = strategy.deploy_type if strategy else "pd_cluster"
    if nodes and kind != "pd_cluster" and (kind == "single_node") != (nodes == 1):
        report.error(
            "preset-nodes", f"{nodes} nodes do not go with {preset.strategy}", (*path, "nodes")
        )
    profile = catalog.hardware.get(preset.hardware)
    if profile and preset.gpus and preset.gpus > profile.gpu_count:
        report.error(
            "preset-gpus",
            f"a {profile.display_name} node has {profile.gpu_count} GPUs, not {preset.gpus}",
            (*path, "gpus"),
        )


def _when(report: Report, recipe: Recipe, when: When, path: Path_) -> None:
    vocabulary = report.vocabulary
    precisions = {variant.precision for variant in recipe.variants.values()}
    known: Mapping[str, Iterable[str]] = {
        "hardware": vocabulary.hardware,
        "generation": vocabulary.generations,
        "brand": [*vocabulary.brand_names, *vocabulary.brands],
        "strategy": vocabulary.strategies,
        "variant": recipe.variants,
        "preset": [*recipe.presets, "baseline"],
        "feature": recipe.features,
        "precision": precisions,
        "kv_offload": ["off", *vocabulary.kv_options, *vocabulary.kv_stores],
    }
    for axis, allowed in known.items():
        words = getattr(when, axis)
        for word in (words,) if isinstance(words, str) else words or ():
            report.known(axis.replace("kv_offload", "kv-option"), word, allowed, (*path, axis))


def _omni(report: Report, omni: Omni) -> None:
    axes = {axis.id: {option.id for option in axis.options} for axis in omni.task_axes}
    seen: set[str] = set()
    for index, task in enumerate(omni.tasks):
        path: Path_ = ("omni", "tasks", index)
        key = task if isinstance(task, str) else task.key or task.id
        if key in seen:
            report.error("duplicate-task", f"two tasks are called {key!r}; give each a key", path)
        seen.add(key)
        if isinstance(task, str):
            continue
        _readable(report, task.hardware_overrides, ID, (*path, "hardware_overrides"))
        for axis, option in task.axes.items():
            here = (*path, "axes", axis)
            if report.known("axis", axis, axes, here, noun="task axis"):
                report.known("axis-option", option, sorted(axes[axis]), here, noun="option")


def _top(report: Report, catalog: Catalog, recipe: Recipe) -> None:
    """The maps at the top of a recipe."""
    _layouts(report, recipe)
    _readable(report, recipe.hardware_overrides, GENERATION, ("hardware_overrides",))
    _kv_maps(report, recipe)
    _opt_ins(report, recipe)
    names = [*report.vocabulary.brand_names, *report.vocabulary.brands]
    for index, dependency in enumerate(recipe.dependencies):
        if dependency.brand is not None:
            report.known("brand", dependency.brand, names, ("dependencies", index, "brand"))
    for group in ("notes", "known_issues"):
        for index, note in enumerate(getattr(recipe, group)):
            if note.when is not None:
                _when(report, recipe, note.when, (group, index, "when"))
    for name, preset in recipe.presets.items():
        _preset(report, catalog, recipe, preset, ("presets", name))


def _layouts(report: Report, recipe: Recipe) -> None:
    """What a recipe says of strategies."""
    strategies = report.vocabulary.strategies
    _each(report, "strategy", recipe.compatible_strategies, strategies, ("compatible_strategies",))
    if recipe.default_strategy is not None:
        report.known("strategy", recipe.default_strategy, strategies, ("default_strategy",))
    _keys(report, "strategy", recipe.strategy_hardware, strategies, ("strategy_hardware",))
    for name, keys in recipe.strategy_hardware.items():
        _readable(report, keys, ANY, ("strategy_hardware", name))
    floors = [*strategies, *report.vocabulary.hardware]
    for name in recipe.strategy_min_gpus:
        report.known(
            "hardware",
            name,
            floors,
            ("strategy_min_gpus", name),
            noun="strategy or hardware",
        )
    _keys(report, "strategy", recipe.strategy_overrides, strategies, ("strategy_overrides",))
    for name, override in recipe.strategy_overrides.items():
        _strategy_override(report, override, ("strategy_overrides", name))
    if recipe.dp_router is not None:
        path: Path_ = ("dp_router", "strategies")
        _each(report, "strategy", recipe.dp_router.strategies, strategies, path)


def _kv_maps(report: Report, recipe: Recipe) -> None:
    """What a recipe says of KV options and stores."""
    options, stores = report.vocabulary.kv_options, report.vocabulary.kv_stores
    _keys(report, "kv-option", recipe.kv_offload_support, options, ("kv_offload_support",))
    both = [*options, *stores]
    _keys(report, "kv-option", recipe.kv_offload_overrides, both, ("kv_offload_overrides",))
    for name, overrides in recipe.kv_offload_overrides.items():
        _readable(report, overrides, ANY, ("kv_offload_overrides", name))
    cache: Path_ = ("kv_cache_strategy_hardware",)
    _keys(report, "kv-option", recipe.kv_cache_strategy_hardware, stores, cache)
    for name, keys in recipe.kv_cache_strategy_hardware.items():
        _readable(report, keys, ANY, (*cache, name))


def _opt_ins(report: Report, recipe: Recipe) -> None:
    """Features that are off until a reader turns them on."""
    opt_in: Path_ = ("opt_in_features",)
    _each(report, "feature", recipe.opt_in_features, recipe.features, opt_in)
    gated: Path_ = ("hardware_opt_in_features",)
    _readable(report, recipe.hardware_opt_in_features, ID, gated)
    for name, features in recipe.hardware_opt_in_features.items():
        _each(report, "feature", features, recipe.features, (*gated, name))


def _meta(report: Report, catalog: Catalog, entry: RecipeEntry) -> None:
    meta, vocabulary = entry.recipe.meta, report.vocabulary
    _readable(report, meta.hardware, ID, ("meta", "hardware"))
    _readable(report, meta.evidence, ID, ("meta", "evidence"))
    for name in meta.evidence:
        if meta.hardware.get(name) != "verified":
            report.warn(
                "evidence-unused",
                f"there is evidence for {name!r}, but its support is not `verified`",
                ("meta", "evidence", name),
            )
    if meta.default_hardware is not None:
        path: Path_ = ("meta", "default_hardware")
        report.known("hardware", meta.default_hardware, vocabulary.hardware, path)
        if meta.hardware.get(meta.default_hardware) == "unsupported":
            report.error("default-unsupported", "the default hardware is marked unsupported", path)
    _each(report, "task", meta.tasks, vocabulary.tasks, ("meta", "tasks"))
    for index, use in enumerate(meta.platforms):
        path = ("meta", "platforms", index, "id")
        report.known("platform", use.id, vocabulary.platforms, path)
    providers = catalog.taxonomy.providers
    if providers:
        path = ("meta", "provider")
        report.known("provider", meta.provider, providers, path)
    for index, related in enumerate(meta.related_recipes):
        path = ("meta", "related_recipes", index)
        if related == entry.id:
            report.warn("related-self", "a recipe is not related to itself", path)
        elif related not in catalog.recipes:
            near = nearest(related, catalog.recipes)
            hint = f"; did you mean {near[0]}?" if near else ""
            report.warn("related-dead", f"no recipe {related!r} in the catalog{hint}", path)


def check_references(report: Report, catalog: Catalog, entry: RecipeEntry) -> None:
    """Check every id in a recipe: hardware, strategies, features, modes, variants, options."""
    recipe = entry.recipe
    _meta(report, catalog, entry)
    _image(report, recipe.model.docker_image, ("model", "docker_image"))
    if "default" not in recipe.variants:
        report.error("no-default", "a recipe needs a variant called `default`", ("variants",))
    for name, variant in recipe.variants.items():
        _variant(report, recipe, variant, ("variants", name))
    for name, feature in recipe.features.items():
        _feature(report, recipe, name, feature)
    if recipe.omni is not None:
        _omni(report, recipe.omni)
    _top(report, catalog, recipe)


def check_vocabulary(report: Report, catalog: Catalog, root: str) -> None:
    """Check the ids inside the vocabulary itself."""
    vocabulary = report.vocabulary
    report.about(root, "taxonomy.yaml")
    for index, name in enumerate(catalog.taxonomy.strategies):
        path: Path_ = ("strategies", index)
        report.known("strategy", name, catalog.strategies, path)
    for name, option in catalog.taxonomy.kv_offload.items():
        path = ("kv_offload", name)
        if option.group is not None:
            groups = catalog.taxonomy.kv_offload_groups
            report.known("group", option.group, groups, (*path, "group"))
        names = [*vocabulary.brand_names, *vocabulary.brands]
        _each(report, "brand", option.brands, names, (*path, "brands"))
        _each(report, "strategy", option.strategies, vocabulary.strategies, (*path, "strategies"))
    for name, strategy in catalog.strategies.items():
        report.about(root, f"strategies/{name}.yaml")
        _readable(report, strategy.hardware_overrides, ANY, ("hardware_overrides",))
        for role in ("prefill", "decode"):
            pool = getattr(strategy, role)
            if pool is not None:
                _readable(report, pool.hardware_overrides, ID, (role, "hardware_overrides"))
