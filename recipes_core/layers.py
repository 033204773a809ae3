"""The layers of one engine's arguments and variables, in the order of the rule book (floor 3).

An engine is the whole deployment (role ``serve``) or one pool of it (``prefill``, ``decode``). The
parallel sizes stand between ``before`` and ``after``; they are not here, but in ``topology``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from recipes_core.catalog.documents import (
    Feature,
    FeatureHardwareOverride,
    FeatureMode,
    PoolOverride,
    StrategyOverride,
)
from recipes_core.catalog.hardware_keys import generic, pick
from recipes_core.configuration import Configuration
from recipes_core.configuration.extras import advanced_args
from recipes_core.flags import Provenance

ArgLayer = tuple[Sequence[str], Provenance]
EnvLayer = tuple[dict[str, str], Provenance]
POOL_DROPPED_ENV = frozenset(
    {
        "VLLM_USE_NCCL_SYMM_MEM",
        "NCCL_CUMEM_ENABLE",
        "NCCL_MNNVL_ENABLE",
        "NCCL_NVLS_ENABLE",
        "UCX_NET_DEVICES",
    }
)
"""Variables that only trays joined by NVLink across nodes can use."""
POOL_FULL_ENV_HARDWARE = frozenset({"gb200", "gb300"})


class Layers(NamedTuple):
    """One engine's layers, lowest first."""

    before: list[ArgLayer]
    """Up to the strategy's own arguments."""
    after: list[ArgLayer]
    """From the recipe's changes under the strategy on."""
    env: list[EnvLayer]


def engine_layers(config: Configuration, role: str = "serve") -> Layers:
    """The layers of an engine.

    Args:
        config: The configuration.
        role: ``serve``, or a pool: ``prefill`` or ``decode``.
    """
    if config.rules.is_omni:
        return _omni_layers(config)
    before, env = _base(config)
    _exact_variant(config, before, env)
    after: list[ArgLayer] = []
    pool = role if role in config.pools else None
    _strategy(config, pool, before, env)
    _kv_env(config, env)
    override = config.recipe.strategy_overrides.get(config.strategy_id or "")
    if override is not None:
        _override(config, override, pool, after, env)
    _hardware(config, override, pool, after, env)
    if config.preset is not None:
        _preset(config, pool, after, env)
    _choices(config, pool, after, env)
    _reader(config, after)
    return Layers(before, after, env)


def plugins_of(config: Configuration) -> tuple[str, ...]:
    """The vLLM plugins that count for a configuration: what is named, then the hardware's."""
    return tuple(dict.fromkeys((*named_plugins(config), *config.profile.plugins)))


def named_plugins(config: Configuration) -> tuple[str, ...]:
    """The vLLM plugins that a recipe names for a configuration; each follows one release."""
    recipe, variant = config.recipe, config.variant
    override = recipe.strategy_overrides.get(config.strategy_id or "")
    roles = [getattr(override, pool) for pool in config.pools] if override else []
    found = [*recipe.model.plugins, *variant.plugins]
    for part in (recipe, variant, config.strategy, override, *roles):
        if part is None:
            continue
        exact = part.hardware_overrides.get(config.hardware)
        kind = generic(part.hardware_overrides, config.profile)
        found += exact.plugins if exact is not None else ()
        found += kind[1].plugins if kind is not None else ()
    return tuple(dict.fromkeys(found))


def _recipe(config: Configuration, key: str, layer: str = "recipe") -> Provenance:
    return Provenance(layer, config.entry.source, key)


class _Extras(Protocol):
    @property
    def extra_args(self) -> Sequence[str]: ...
    @property
    def extra_env(self) -> dict[str, str]: ...


def _add(layer: _Extras, source: Provenance, args: list[ArgLayer], env: list[EnvLayer]) -> None:
    if layer.extra_args:
        args.append((layer.extra_args, source._replace(key=f"{source.key}.extra_args")))
    if layer.extra_env:
        env.append((layer.extra_env, source._replace(key=f"{source.key}.extra_env")))


def _base(config: Configuration) -> tuple[list[ArgLayer], list[EnvLayer]]:
    """What the recipe and the variant say wherever they run."""
    model = config.recipe.model
    args: list[ArgLayer] = []
    env: list[EnvLayer] = []
    if model.base_args:
        args.append((model.base_args, _recipe(config, "model.base_args")))
    if model.base_env:
        env.append((model.base_env, _recipe(config, "model.base_env")))
    source = _recipe(config, f"variants.{config.variant_id}", "variant")
    _add(config.variant, source, args, env)
    return args, env


def _exact_variant(config: Configuration, args: list[ArgLayer], env: list[EnvLayer]) -> None:
    """What the variant says of exactly this hardware."""
    exact = config.variant.hardware_overrides.get(config.hardware)
    if exact is not None:
        key = f"variants.{config.variant_id}.hardware_overrides.{config.hardware}"
        _add(exact, _recipe(config, key, "variant hardware"), args, env)


def _strategy(
    config: Configuration, pool: str | None, args: list[ArgLayer], env: list[EnvLayer]
) -> None:
    strategy = config.strategy
    if strategy is None:
        return
    part: PoolOverride | None = getattr(strategy, pool) if pool else None
    source = Provenance("strategy", f"strategies/{strategy.name}.yaml", "")
    prefix = f"{pool}." if part is not None else ""
    own_args = part.vllm_args + part.extra_args if part is not None else strategy.vllm_args
    if own_args:
        args.append((own_args, source._replace(key=f"{prefix}vllm_args")))
    own_env = part.env | part.extra_env if part is not None else strategy.env
    if own_env:
        env.append((own_env, source._replace(key=f"{prefix}env")))
    found = pick(strategy.hardware_overrides, config.hardware, config.profile)
    if found is not None:
        _add(found, source._replace(key="hardware_overrides"), args, env)


def _kv_env(config: Configuration, env: list[EnvLayer]) -> None:
    option = config.catalog.taxonomy.kv_offload.get(config.kv_offload or "")
    if option is not None and option.env:
        key = f"kv_offload.{config.kv_offload}.env"
        env.append((option.env, Provenance("kv offload", "taxonomy.yaml", key)))
    if config.kv_store is not None and config.kv_store.vllm.env:
        source = Provenance("kv store", f"kv_store/{config.kv_store.name}.yaml", "vllm.env")
        env.append((config.kv_store.vllm.env, source))


def _override(
    config: Configuration,
    override: StrategyOverride,
    pool: str | None,
    args: list[ArgLayer],
    env: list[EnvLayer],
) -> None:
    key = f"strategy_overrides.{config.strategy_id}"
    role: PoolOverride | None = getattr(override, pool) if pool else None
    for name in ("extra_args", "vllm_args"):
        if getattr(override, name):
            source = _recipe(config, f"{key}.{name}", "strategy override")
            args.append((getattr(override, name), source))
    if role is not None:
        for name in ("vllm_args", "extra_args"):
            if getattr(role, name):
                source = _recipe(config, f"{key}.{pool}.{name}", "strategy override")
                args.append((getattr(role, name), source))
    for name in ("env", "extra_env"):
        for part, prefix in ((override, key), (role, f"{key}.{pool}")):
            if part is not None and getattr(part, name):
                source = _recipe(config, f"{prefix}.{name}", "strategy override")
                env.append((getattr(part, name), source))


def _hardware(
    config: Configuration,
    override: StrategyOverride | None,
    pool: str | None,
    args: list[ArgLayer],
    env: list[EnvLayer],
) -> None:
    """Generation layers (the strategy's replaces the recipe's and variant's), then exact ids."""
    profile = config.profile
    key = f"strategy_overrides.{config.strategy_id}"
    own = generic(override.hardware_overrides, profile) if override else None
    if own is not None:
        source = _recipe(config, f"{key}.hardware_overrides.{own[0]}", "hardware")
        _add(own[1], source, args, env)
    else:
        _generation(config, args, env)
    role: PoolOverride | None = getattr(override, pool) if pool and override else None
    for part, prefix in ((override, key), (role, f"{key}.{pool}")):
        exact = part.hardware_overrides.get(config.hardware) if part is not None else None
        if exact is not None:
            place = f"{prefix}.hardware_overrides.{config.hardware}"
            _add(exact, _recipe(config, place, "hardware"), args, env)


def _generation(config: Configuration, args: list[ArgLayer], env: list[EnvLayer]) -> None:
    parts = (
        (config.recipe.hardware_overrides, "hardware_overrides"),
        (config.variant.hardware_overrides, f"variants.{config.variant_id}.hardware_overrides"),
    )
    for overrides, prefix in parts:
        found = generic(overrides, config.profile)
        if found is not None:
            _add(found[1], _recipe(config, f"{prefix}.{found[0]}", "hardware"), args, env)


def _preset(
    config: Configuration, pool: str | None, args: list[ArgLayer], env: list[EnvLayer]
) -> None:
    preset = config.preset
    if preset is None:
        return
    key = f"presets.{config.preset_id}"
    role = preset.pools.get(pool) if pool else None  # type: ignore[call-overload]
    if preset.args:
        args.append((preset.args, _recipe(config, f"{key}.args", "preset")))
    if preset.env:
        env.append((preset.env, _recipe(config, f"{key}.env", "preset")))
    if role is not None:
        source = _recipe(config, f"{key}.pools.{pool}", "preset")
        args.extend((part, source) for part in (role.vllm_args, role.extra_args) if part)
        env.extend((part, source) for part in (role.env, role.extra_env) if part)
    point = config.point
    if point is not None:
        source = _recipe(config, f"{key}.points.{point.name}", "preset")
        args.append((point.args, source))
        env.append((point.env, source))


def _choices(
    config: Configuration, pool: str | None, args: list[ArgLayer], env: list[EnvLayer]
) -> None:
    for name in config.advanced:
        words = advanced_args(config, name)
        if words:
            args.append((words, Provenance("advanced", "reader", f"advanced={name}")))
    _features(config, args, env)
    args.extend(_kv_args(config, pool))


def _features(config: Configuration, args: list[ArgLayer], env: list[EnvLayer]) -> None:
    for name in config.features:
        feature: Feature = config.recipe.features[name]
        key = f"features.{name}"
        parts: list[tuple[str, Feature | FeatureMode]] = [(key, feature)]
        mode = config.feature_modes.get(name)
        if mode is not None:
            parts.append((f"{key}.modes.{mode}", feature.modes[mode]))
        for place, part in parts:
            found: Feature | FeatureMode | FeatureHardwareOverride = part
            replaced = pick(part.hardware_overrides, config.hardware, config.profile)
            where = place
            if replaced is not None:
                found, where = replaced, f"{place}.hardware_overrides"
            if found.args:
                args.append((found.args, _recipe(config, f"{where}.args", "feature")))
            own = replaced.env if replaced is not None else {}
            source = _recipe(config, f"{where}.env", "feature")
            env.extend((variables, source) for variables in (part.env, own) if variables)


def _kv_args(config: Configuration, pool: str | None) -> Iterator[ArgLayer]:
    store = config.kv_store
    if store is not None:
        source = Provenance("kv store", f"kv_store/{store.name}.yaml", "vllm.vllm_args")
        if pool is not None:
            yield getattr(store.pd, pool).args, source._replace(key=f"pd.{pool}.args")
        else:
            yield store.vllm.vllm_args, source
        return
    name = config.kv_offload
    if name is None:
        return
    own = pick(config.recipe.kv_offload_overrides.get(name, {}), config.hardware, config.profile)
    if own is not None:
        yield own.args, _recipe(config, f"kv_offload_overrides.{name}", "kv offload")
    else:
        option = config.catalog.taxonomy.kv_offload[name]
        yield option.args, Provenance("kv offload", "taxonomy.yaml", f"kv_offload.{name}.args")


READER_FLAGS: tuple[tuple[str, str], ...] = (
    ("max_model_len", "--max-model-len"),
    ("max_num_seqs", "--max-num-seqs"),
    ("max_num_batched_tokens", "--max-num-batched-tokens"),
    ("kv_cache_dtype", "--kv-cache-dtype"),
    ("gpu_memory_utilization", "--gpu-memory-utilization"),
    ("served_name", "--served-model-name"),
    ("host", "--host"),
    ("port", "--port"),
)
"""The reader's own values: the last layer of all."""


def _reader(config: Configuration, args: list[ArgLayer]) -> None:
    for name, flag in READER_FLAGS:
        value = getattr(config.selection, name)
        if value is not None and not (name == "port" and config.pools):
            args.append(((flag, str(value)), Provenance("reader", "reader", name)))


def _omni_layers(config: Configuration) -> Layers:
    recipe, task = config.recipe, config.task
    args, env = _base(config)
    if task is not None:
        source = _recipe(config, f"omni.tasks.{task.key or task.id}", "task")
        _add(task, source, args, env)
        there = task.hardware_overrides.get(config.hardware)
        if there is not None:
            key = f"{source.key}.hardware_overrides.{config.hardware}"
            _add(there, source._replace(key=key), args, env)
    _exact_variant(config, args, env)
    _generation(config, args, env)
    _choices(config, None, args, env)
    if recipe.omni is not None and recipe.omni.port is not None:
        args.append((("--port", str(recipe.omni.port)), _recipe(config, "omni.port", "task")))
    _reader(config, args)
    args.append((("--omni",), _recipe(config, "omni", "task")))
    return Layers(args, [], env)
