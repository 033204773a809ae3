"""configure(): one valid configuration, its options and its adjustments. Every decision is here.

What was asked and cannot be had yields to the default, never silently: each such case is an
Adjustment that the page, the Markdown, the JSON and the command line show.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.own_hardware import admit
from recipes_core.configuration.around import (
    MAX_INSTANCES,
    ROUTERS,
    choose_kv_offload,
    choose_pools,
)
from recipes_core.configuration.asking import Asking
from recipes_core.configuration.defaults import (
    connector_names,
    declared_frontend,
    default_mode,
    default_pool_mode,
    default_pool_nodes,
    default_preset,
    pool_override,
    router_reason,
)
from recipes_core.configuration.features import (
    AROUND_POOLS,
    EXCLUSIVE,
    apply_preset,
    choose_features,
)
from recipes_core.configuration.layout import choose_layout, usual_gpus
from recipes_core.configuration.model import Adjustment, Configuration, PoolChoice
from recipes_core.configuration.place import (
    BASELINE,
    asked_preset,
    choose_hardware,
    choose_variant,
    preset_runs,
)
from recipes_core.configuration.rest import (
    check_memory,
    choose_advanced,
    choose_frontend,
    choose_install,
    choose_task,
)
from recipes_core.selection import Selection

__all__ = [
    "AROUND_POOLS",
    "BASELINE",
    "EXCLUSIVE",
    "MAX_INSTANCES",
    "ROUTERS",
    "Adjustment",
    "Configuration",
    "PoolChoice",
    "configure",
    "connector_names",
    "declared_frontend",
    "default_mode",
    "default_pool_mode",
    "default_pool_nodes",
    "default_preset",
    "pool_override",
    "router_reason",
    "usual_gpus",
    "with_changes",
]


def configure(
    catalog: Catalog, recipe: str | RecipeEntry, selection: Selection | str | None = None
) -> Configuration:
    """Resolve what was asked into one valid configuration.

    Args:
        catalog: The vocabulary and the recipes.
        recipe: An id (``org/repo``, in any case; a variant's checkpoint opens its parent) or an
            entry of the catalog.
        selection: What was asked, or its query string.

    Raises:
        UnknownRecipeError: No recipe has that id.
        RecipesError: The recipe runs on no hardware of the catalog.
    """
    if isinstance(recipe, str):
        entry, by_id = catalog.find(recipe)
    else:
        entry, by_id = recipe, None
    if not isinstance(selection, Selection):
        selection = Selection.from_query(selection or "")
    selection = selection.checked()
    if selection.hardware is not None:
        pools = selection.prefill_nodes or selection.decode_nodes
        more_nodes = (selection.nodes or 1) > 1 or bool(pools)
        admitted = admit(catalog, selection.hardware, scalable=more_nodes)
        if admitted.catalog is not catalog or admitted.hardware != selection.hardware:
            catalog, selection = admitted.catalog, selection.with_(hardware=admitted.hardware)
    return _resolve(Asking(catalog, entry, selection, by_id))


def _resolve(asking: Asking) -> Configuration:
    preset_id = asked_preset(asking)
    preset = asking.recipe.presets[preset_id] if preset_id else None
    variant_id = choose_variant(asking, preset)
    if preset is not None and not preset_runs(asking, preset, variant_id):
        reason = f"it needs {preset.hardware}, where variant {variant_id} does not run"
        asking.adjust("preset", preset_id, None, reason)
        preset_id, preset = None, None
    variant = asking.recipe.variants[variant_id]
    hardware = choose_hardware(asking, variant_id, preset)
    node = asking.catalog.hardware[hardware]
    config = Configuration(
        asking.catalog, asking.entry, asking.rules, asking.asked, variant_id, variant, hardware,
        node, node, adjustments=asking.adjustments,
    )  # fmt: skip
    if asking.rules.is_omni:
        choose_task(asking, config)
    else:
        choose_layout(asking, config, preset)
        apply_preset(asking, config, preset_id)
        choose_features(asking, config)
        choose_kv_offload(asking, config)
        choose_pools(asking, config)
    choose_advanced(asking, config)
    choose_frontend(asking, config)
    choose_install(asking, config)
    check_memory(asking, config)
    return config


def with_changes(config: Configuration, **changes: Any) -> Configuration:
    """The configuration of the same recipe with some axes asked otherwise."""
    return configure(config.catalog, config.entry, replace(config.selection, **changes))
