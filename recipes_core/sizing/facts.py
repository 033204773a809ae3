"""The part of a config.json that decides sizes, short enough to keep in a catalog."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from recipes_core.sizing.architecture import Architecture

_DROP = frozenset(
    """
    _name_or_path activation_function add_cross_attention attention_dropout
    attention_multiplier attention_value_scale attn_logit_softcapping attn_pdrop
    audio_token_id auto_map aux_loss_alpha bad_words_ids begin_suppress_tokens
    block_norm_eps boa_token_id boi_token_id boi_token_index bos_token_id
    cache_implementation chunk_size_feed_forward cross_attention_hidden_size
    decoder_start_token_id diversity_penalty do_sample early_stopping embd_pdrop
    embedding_multiplier encoder_no_repeat_ngram_size eoa_token_id eoa_token_index
    eoi_token_id eoi_token_index eos_token_id ep_size exponential_decay_length_penalty
    final_logit_softcapping finetuning_task forced_bos_token_id forced_eos_token_id
    fullatt_block_indexes generation_config hc_eps hc_sinkhorn_iters hidden_act
    hidden_activation hidden_dropout id2label ignore_index image_grid_pinpoints
    image_token_id image_token_index initializer_range is_decoder is_encoder_decoder
    label2id layer_norm_eps layer_norm_epsilon layernorm_epsilon length_penalty
    logit_scale logits_scaling mamba_hidden_act max_length max_window_layers
    media_placeholder_token_id min_length mlp_hidden_act n_group no_repeat_ngram_size
    norm_eps norm_topk_prob num_beam_groups num_beams num_logits_to_keep
    num_return_sequences output_attentions output_hidden_states output_router_logits
    output_scores pad_token_id prefix pretraining_tp problem_type projector_hidden_act
    pruned_heads query_pre_attn_scalar remove_invalid_values repetition_penalty
    rescale_prenorm_residual resid_pdrop residual_in_fp32 residual_multiplier return_dict
    rms_norm_eps routed_scaling_factor router_aux_loss_coef sep_token_id seq_aux
    suppress_tokens swiglu_alpha swiglu_limit task_specific_params temperature
    tf_legacy_loss tie_encoder_decoder time_step_floor time_step_limit time_step_max
    time_step_min tokenizer_class tokens_per_second top_k top_p topk_group torchscript
    transformers_version typical_p use_bfloat16 use_cache use_mamba_kernels video_token_id
    video_token_index vision_end_token_id vision_start_token_id vision_token_id
    window_size
    """.split()  # noqa: SIM905 - a wall of quotes would be harder to read
)
"""Keys that say nothing about sizes."""


_LAYER = re.compile(
    r"^(?:model\.|language_model\.|backbone\.)*layers\.(?P<number>\d+)(?P<tail>.*)$"
)
_LISTS = ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers")
_QUANTIZATION = ("quantization_config", "hf_quant_config")
_NORM = re.compile(r"norm(\.\w+)?$|\.norm$|embed_tokens$|e_score_correction_bias$")


def sizing_facts(config: Mapping[str, Any]) -> dict[str, Any]:
    """What `recipes/checkpoints` keeps of a config.json.

    Args:
        config: A whole config.json.

    Returns:
        A smaller config that reads as the same architecture: keys that say nothing about sizes
        are gone, and lists of modules by layer are folded into patterns.

    Raises:
        ConfigError: The config cannot be sized.
    """
    slim = _without_noise(config)
    folded = _folded(slim)
    whole = Architecture.from_config(config)
    return folded if _same(whole, Architecture.from_config(folded)) else slim


def _same(one: Architecture, other: Architecture) -> bool:
    names: tuple[str, ...] = (
        "layers",
        "vocab",
        "hidden",
        "dtype",
        "positions",
        "tied",
        "ropes",
        "head",
        "tower",
    )
    names += ("draft", "checkpoint_kv_cache", "quant_method", "extra_elements", "model_type")
    return all(getattr(one, n) == getattr(other, n) for n in names)


def _without_noise(config: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in config.items():
        if key in _DROP or value is None:
            continue
        if isinstance(value, Mapping) and key not in _QUANTIZATION:
            kept[key] = _without_noise(value)
        else:
            kept[key] = value
    return kept


def _folded(config: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the quantization's lists of modules folded."""
    result = dict(config)
    for key in ("text_config", "quantization_config", "hf_quant_config", "quantization"):
        value = result.get(key)
        if not isinstance(value, Mapping):
            continue
        inner = _folded(value)
        for name in _LISTS:
            if isinstance(inner.get(name), list):
                inner[name] = fold_names(inner[name])
        layers = inner.get("quantized_layers")
        if isinstance(layers, Mapping):
            inner["quantized_layers"] = _fold_layers(layers)
            inner.pop("config_groups", None)
        inner.pop("producer", None)
        result[key] = inner
    return result


def _fold_layers(layers: Mapping[str, Any]) -> dict[str, Any]:
    by_algo: dict[str, list[str]] = {}
    for name, entry in layers.items():
        algo = entry.get("quant_algo") if isinstance(entry, Mapping) else entry
        by_algo.setdefault(str(algo), []).append(str(name))
    return {
        name: {"quant_algo": algo} for algo, names in by_algo.items() for name in fold_names(names)
    }


def fold_names(names: Iterable[str]) -> list[str]:
    """One pattern for each module that is listed layer by layer.

    Args:
        names: Module names, with or without a layer number.

    Returns:
        Names without a number as they are, patterns for the rest; names of norms, which are never
        quantized, are left out.
    """
    groups: dict[str, set[int]] = {}
    kept: dict[str, None] = {}
    for name in names:
        found = None if name.startswith("re:") else _LAYER.match(name)
        if _NORM.search(name):
            continue
        if found is None:
            kept[name] = None
        else:
            groups.setdefault(found["tail"], set()).add(int(found["number"]))
    by_layers: dict[tuple[int, ...], list[str]] = {}
    for tail, numbers in groups.items():
        by_layers.setdefault(tuple(sorted(numbers)), []).append(tail)
    for run, tails in by_layers.items():
        choice = "|".join(_number_pattern(run))
        for tail in tails:
            stem = re.escape(tail).replace(r"\*", ".*")
            kept[rf"re:.*layers\.(?:{choice}){stem}(?:\..*)?$"] = None
    return list(kept)


def _number_pattern(numbers: tuple[int, ...]) -> list[str]:
    """The numbers themselves; for a long run, any number but the few before it."""
    first = numbers[0]
    if len(numbers) > 10 and first <= 10 and numbers == tuple(range(first, first + len(numbers))):
        before = "|".join(str(n) for n in range(first))
        return [rf"(?!(?:{before})\b)\d+" if before else r"\d+"]
    return [str(n) for n in numbers]
