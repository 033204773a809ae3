"""What may be added to a layout, and why it cannot be had: features, KV offload, tuning switches.

Answers depend on the recipe and on what is chosen already, never on what was asked.
"""

from __future__ import annotations

from recipes_core.axes import Rules
from recipes_core.catalog.documents import Feature, HardwareProfile, KvOffloadOption, KvStore
from recipes_core.catalog.hardware_keys import pick
from recipes_core.configuration.model import Configuration

ADVANCED: dict[str, tuple[str, tuple[str, ...]]] = {
    "max_batched_8k": ("Batches of 8192 tokens", ("--max-num-batched-tokens", "8192")),
    "max_num_seqs_256": ("At most 256 sequences", ("--max-num-seqs", "256")),
    "gpu_mem_095": ("95% of GPU memory", ("--gpu-memory-utilization", "0.95")),
    "max_model_len_auto": ("Longest context that fits", ("--max-model-len", "auto")),
    "dcp_8": ("Decode context parallel 8", ("--decode-context-parallel-size", "8")),
    "no_flashinfer_autotune": ("No FlashInfer tuning", ("--no-enable-flashinfer-autotune",)),
    "ep_weight_filter": ("Load only local experts", ("--enable-ep-weight-filter",)),
}


def default_features(config: Configuration) -> tuple[str, ...]:
    """The features that are on where none are asked, in the recipe's order."""
    recipe, modes = config.recipe, config.variant.default_modes
    off = {
        *recipe.opt_in_features,
        *recipe.hardware_opt_in_features.get(config.hardware, ()),
        "long_context",
    }
    return tuple(name for name in recipe.features if name not in off or name in modes)


def feature_reason(config: Configuration, name: str) -> str | None:
    """Why a feature adds nothing here; None where it does."""
    feature = config.recipe.features[name]
    strategy, variant, profile = config.strategy_id, config.variant_id, config.profile
    if feature.strategies is not None and strategy not in feature.strategies:
        return f"not with {strategy}; works with {', '.join(feature.strategies)}"
    if pick(feature.hardware, config.hardware, profile) == "unsupported":
        return f"not supported on {profile.display_name}"
    if feature.variants is not None and variant not in feature.variants:
        return f"not with variant {variant}; works with {', '.join(feature.variants)}"
    if feature.modes and not allowed_modes(config, feature):
        return "none of its modes works with this variant and hardware"
    return None


def allowed_modes(config: Configuration, feature: Feature) -> tuple[str, ...]:
    """The modes of a feature that work with the variant on the hardware."""
    return tuple(
        name
        for name, mode in feature.modes.items()
        if (mode.variants is None or config.variant_id in mode.variants)
        and pick(mode.hardware, config.hardware, config.profile) != "unsupported"
    )


def kv_reason(config: Configuration, name: str) -> str | None:
    """Why a KV-offload option or store cannot be had here; None where it can."""
    store = config.catalog.kv_stores.get(name)
    if store is not None:
        return store_reason(config.rules, store, config.hardware, config.profile)
    return _offload_reason(config, name, config.catalog.taxonomy.kv_offload[name])


def _offload_reason(config: Configuration, name: str, option: KvOffloadOption) -> str | None:
    support = config.recipe.kv_offload_support.get(name)
    if support == "unsupported":
        return "the recipe says that it does not work"
    if option.requires_opt_in and support != "verified":
        return "not verified for this recipe"
    if option.brands is not None and config.profile.brand not in option.brands:
        return f"needs {' or '.join(option.brands)}"
    if option.strategies is not None and config.strategy_id not in option.strategies:
        return f"not with {config.strategy_id}; works with {', '.join(option.strategies)}"
    if config.strategy is not None and config.strategy.deploy_type == "pd_cluster":
        return "pools move their KV cache themselves; a store can be added to them"
    return None


def store_reason(
    rules: Rules, store: KvStore, hardware: str, profile: HardwareProfile
) -> str | None:
    """Why a store cannot be had on a hardware; None where it can."""
    if profile.brand not in {"NVIDIA", "AMD"}:
        return "needs NVIDIA or AMD"
    if not profile.scalable:
        return "no node can be added to this hardware"
    states = rules.recipe.kv_cache_strategy_hardware.get(store.name, {})
    if pick(states, hardware, profile) == "unsupported":
        return f"not supported on {profile.display_name}"
    return None


def advanced_reason(config: Configuration, name: str) -> str | None:
    """Why a tuning switch does not apply here; None where it does."""
    model = config.recipe.model
    if name == "dcp_8" and not model.supports_dcp:
        return "this model does not support decode context parallelism"
    if name == "no_flashinfer_autotune" and not model.flashinfer_autotune:
        return "FlashInfer tuning does not run for this model"
    if name == "ep_weight_filter":
        shape = config.strategy.name.rsplit("_", 1)[-1] if config.strategy else ""
        if shape not in {"tep", "dep"}:
            return "needs expert parallelism (TEP or DEP)"
    return None


def advanced_args(config: Configuration, name: str) -> tuple[str, ...] | None:
    """The arguments of a tuning switch; None for an unknown one."""
    for own in config.recipe.advanced_options:
        if own.id == name:
            return own.args
    return ADVANCED[name][1] if name in ADVANCED else None
