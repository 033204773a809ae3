"""Every option of every axis of a configuration, enabled or with the reason (floor 3).

The lists depend on the configuration alone and are kept, so a page and its JSON ask again for free.
"""

from __future__ import annotations

from typing import Any

from recipes_core.axes import MAX_NODES, POOL_MODES, Option, task_key
from recipes_core.configuration import (
    BASELINE,
    EXCLUSIVE,
    ROUTERS,
    Configuration,
    declared_frontend,
    default_mode,
    default_pool_mode,
    default_preset,
    router_reason,
)
from recipes_core.configuration.extras import (
    ADVANCED,
    advanced_reason,
    allowed_modes,
    default_features,
    feature_reason,
    kv_reason,
)

AXES = (
    "variant", "hardware", "nodes", "strategy", "features", "feature_modes", "kv_offload",
    "preset", "pool_modes", "router", "frontend", "task", "advanced",
)  # fmt: skip
ROUTER_LABELS = {"vllm": "vLLM Router", "smg": "Shepherd Model Gateway", "dynamo": "Dynamo"}


def options_of(config: Configuration) -> dict[str, tuple[Option, ...]]:
    """The options of each axis, in the order of the page."""
    kept: dict[str, tuple[Option, ...]] = config.rules.keep(
        options_key(config), lambda: _options(config)
    )
    return kept


def options_json(config: Configuration) -> dict[str, list[dict[str, Any]]]:
    """The options as the JSON of a configuration has them; shared, so not to be changed."""
    return config.rules.keep(
        ("json", *options_key(config)),
        lambda: {
            axis: [option.to_json() for option in options]
            for axis, options in options_of(config).items()
        },
    )


def options_key(config: Configuration) -> tuple[Any, ...]:
    """The choices on which the options depend."""
    return (
        "options", config.variant_id, config.hardware, config.profile.gpu_count, config.nodes,
        config.strategy_id, config.preset_id, config.kv_store is not None,
        tuple(pool.mode for pool in config.pools.values()),
    )  # fmt: skip


def _options(config: Configuration) -> dict[str, tuple[Option, ...]]:
    rules = config.rules
    found: dict[str, tuple[Option, ...]] = {
        "variant": rules.variant_options(),
        "hardware": rules.hardware_options(config.variant_id),
        "nodes": _nodes(config),
        "strategy": rules.strategy_options(config.hardware, config.node, config.nodes),
        "features": _features(config),
        "feature_modes": _modes(config),
        "kv_offload": _kv_offload(config),
        "preset": _presets(config),
        "pool_modes": _pool_modes(config),
        "router": _routers(config),
        "frontend": _frontends(config),
        "task": _tasks(config),
        "advanced": _advanced(config),
    }
    return found


def _nodes(config: Configuration) -> tuple[Option, ...]:
    rules, node = config.rules, config.node
    if rules.is_omni:
        return (Option(1, "1 node", True, None, True),)
    default = rules.default_nodes(config.variant_id, config.hardware, node)
    options = []
    for count in range(1, MAX_NODES + 1):
        usable = rules.default_strategy(config.hardware, node, count) is not None
        reason = None if usable else f"no strategy of this recipe runs on {count} of them"
        gpus = count * node.gpu_count
        label = f"{count} node{'s' if count > 1 else ''} · {gpus} GPU{'s' if gpus > 1 else ''}"
        options.append(Option(count, label, usable, reason, count == default))
    return tuple(options)


def _name(text: str) -> str:
    return text.replace("_", " ").capitalize()


def _features(config: Configuration) -> tuple[Option, ...]:
    default = default_features(config)
    options = []
    for name, feature in config.recipe.features.items():
        reason = feature_reason(config, name)
        rivals = [*feature.excludes, *([EXCLUSIVE[name]] if name in EXCLUSIVE else [])]
        facts = {"excludes": [rival for rival in rivals if rival in config.recipe.features]}
        label = feature.label or _name(name)
        options.append(Option(name, label, reason is None, reason, name in default, facts))
    return tuple(options)


def _modes(config: Configuration) -> tuple[Option, ...]:
    options = []
    for name, feature in config.recipe.features.items():
        allowed = allowed_modes(config, feature)
        default = default_mode(config, name, allowed) if allowed else None
        for key, mode in feature.modes.items():
            reason = None
            if key not in allowed:
                reason = f"not with variant {config.variant_id} on {config.profile.display_name}"
            facts = {"feature": name, "mode": key}
            options.append(
                Option(f"{name}:{key}", mode.label or _name(key), key in allowed, reason,
                       key == default, facts)
            )  # fmt: skip
    return tuple(options)


def _kv_offload(config: Configuration) -> tuple[Option, ...]:
    if config.strategy_id is None:
        return ()
    options = [Option("off", "Off", True, None, True)]
    rows = [
        (name, item.label or item.display_name, item.group)
        for name, item in config.catalog.taxonomy.kv_offload.items()
    ]
    rows += [
        (name, store.label or store.display_name, "mooncake")
        for name, store in config.catalog.kv_stores.items()
    ]
    for name, label, group in rows:
        reason = kv_reason(config, name)
        options.append(Option(name, label, reason is None, reason, False, {"group": group}))
    return tuple(options)


def _presets(config: Configuration) -> tuple[Option, ...]:
    default = default_preset(config)
    options = []
    enabled = {
        name: {option.id for option in config.rules.hardware_options(name) if option.enabled}
        for name in config.recipe.variants
    }
    for name, preset in config.recipe.presets.items():
        usable = any(preset.hardware in enabled.get(variant, ()) for variant in preset.variants)
        reason = None if usable else f"{preset.hardware} is not available in this catalog"
        facts = {
            "hardware": preset.hardware,
            "strategy": preset.strategy,
            "variants": list(preset.variants),
            "opt_in": not preset.default,
            "evidence": preset.evidence is not None,
        }
        options.append(Option(name, preset.label, usable, reason, name == default, facts))
    if options:
        options.append(Option(BASELINE, "Baseline (no preset)", True, None, default is None))
    return tuple(options)


def _pool_modes(config: Configuration) -> tuple[Option, ...]:
    if config.strategy is None or config.strategy.deploy_type != "pd_cluster":
        return ()
    allowed = config.rules.pool_modes() or ("tp",)
    defaults = {role: default_pool_mode(config, role) for role in ("prefill", "decode")}
    return tuple(
        Option(
            mode,
            mode.upper(),
            mode in allowed,
            None if mode in allowed else f"this recipe's pools run as {', '.join(allowed)}",
            mode == defaults["prefill"],
            {"default_for": [role for role, value in defaults.items() if value == mode]},
        )
        for mode in POOL_MODES
    )


def _routers(config: Configuration) -> tuple[Option, ...]:
    if config.strategy is None or config.strategy.deploy_type != "pd_cluster":
        return ()
    options = []
    for name in ROUTERS:
        reason = router_reason(config, name)
        options.append(Option(name, ROUTER_LABELS[name], reason is None, reason, name == "vllm"))
    return tuple(options)


def _frontends(config: Configuration) -> tuple[Option, ...]:
    default = declared_frontend(config) or "python"
    return tuple(
        Option(name, label, True, None, name == default)
        for name, label in (("python", "Python"), ("rust", "Rust"))
    )


def _tasks(config: Configuration) -> tuple[Option, ...]:
    omni = config.recipe.omni
    if omni is None or not config.rules.is_omni:
        return ()
    options = []
    for number, task in enumerate(omni.tasks):
        key = task_key(task)
        label = (None if isinstance(task, str) else task.label) or key
        facts = {} if isinstance(task, str) else {"axes": dict(task.axes)}
        options.append(Option(key, label, True, None, number == 0, facts))
    return tuple(options)


def _advanced(config: Configuration) -> tuple[Option, ...]:
    rows = [
        (option.id, option.label or _name(option.id)) for option in config.recipe.advanced_options
    ]
    rows += [(name, label) for name, (label, _) in ADVANCED.items()]
    options = []
    for name, label in dict(rows).items():
        reason = advanced_reason(config, name)
        options.append(Option(name, label, reason is None, reason, False))
    return tuple(options)
