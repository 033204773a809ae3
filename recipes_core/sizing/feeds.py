"""Which feed-forward part each layer of a config.json has."""

from __future__ import annotations

from recipes_core.sizing.fields import Fields
from recipes_core.sizing.shapes import Feed, Format, Mlp, Moe
from recipes_core.sizing.source import Source

_ROOMS = ("mlp", "feed_forward", "block_sparse_moe", "mixer", "ffn")
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
_TOP_K = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "top_k_experts",
    "moe_topk",
    "moe_k",
    "experts_per_token",
)
_SHARED_COUNT = (
    "n_shared_experts",
    "num_shared_experts",
    "moe_num_shared_experts",
    "num_shared_expert",
)


def _round_up(value: float, multiple: int) -> int:
    return -(-int(value) // multiple) * multiple


def read_feeds(source: Source) -> list[tuple[Feed, ...]]:
    """The feed-forward parts of each layer, none where it is a mixer alone.

    Raises:
        ConfigError: A size is missing or does not fit the others.
    """
    text, count = source.text, source.layers
    if "block_configs" in text:
        return [_deci(source, i) for i in range(count)]
    if source.model_type in ("mamba", "mamba2", "falcon_mamba"):
        return [()] * count
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        kinds = {"-": "dense", "E": "moe"}
        return [_feed(source, i, kinds.get(letter, "")) for i, letter in enumerate(pattern)]
    blocks = text.items("layers_block_type")
    if blocks is not None and any(b in ("moe", "mlp") for b in blocks):
        kinds = {"mlp": "dense", "moe": "moe"}
        return [_feed(source, i, kinds.get(str(b), "")) for i, b in enumerate(blocks[:count])]
    has_experts = text.get(*_EXPERTS) not in (None, 0) and text.get("enable_moe_block") is not False
    if not has_experts:
        return [_feed(source, i, "dense") for i in range(count)]
    if text.flag("enable_moe_block"):
        return [(*_feed(source, i, "dense"), *_feed(source, i, "moe")) for i in range(count)]
    sparse = _sparse_layers(source)
    return [_feed(source, i, "moe" if sparse[i] else "dense") for i in range(count)]


def _sparse_layers(source: Source) -> list[bool]:
    """Which layers have experts, from whichever of the known keys the config uses."""
    text, count = source.text, source.layers
    kinds = text.items("mlp_layer_types", length=count, exact=True)
    if kinds is not None:
        return [kind == "sparse" for kind in kinds[:count]]
    if "interleave_moe_layer_step" in text:
        step = text.whole("interleave_moe_layer_step")
        return [(i + 1) % step == 0 for i in range(count)]
    if "expert_layer_period" in text:
        period = text.whole("expert_layer_period")
        offset = text.whole("expert_layer_offset", low=0)
        return [i % period == offset for i in range(count)]
    if "moe_layer_start_index" in text or "moe_layer_interval" in text:
        start = text.whole("moe_layer_start_index", default=0, low=0)
        end = text.whole("moe_layer_end_index", default=count - 1, low=-1)
        end = count - 1 if end == -1 else end
        every = text.whole("moe_layer_interval", default=1)
        return [start <= i <= end and (i + 1) % every == 0 for i in range(count)]
    first = text.whole("first_k_dense_replace", default=0, low=0)
    step = text.whole("decoder_sparse_step", default=1, low=0)
    only_dense = set(text.items("mlp_only_layers") or [])
    raw = text.get("moe_layer_freq")
    if isinstance(raw, int) and not isinstance(raw, bool):
        freq = text.whole("moe_layer_freq")
        listed = [i % freq == 0 for i in range(count)]
    else:
        listed = [bool(v) for v in text.per_layer("moe_layer_freq", layers=count, default=1)]
    return [
        i >= first and listed[i] and i not in only_dense and step > 0 and (i + 1) % step == 0
        for i in range(count)
    ]


def _feed(source: Source, layer: int, kind: str) -> tuple[Feed, ...]:
    if kind == "dense":
        return (_dense(source, layer),)
    if kind == "moe":
        return (_moe(source, layer),)
    return ()


def _stored(source: Source, layer: int, *parts: str) -> Format:
    return source.stored(layer, *parts, rooms=_ROOMS)


def _dense(source: Source, layer: int) -> Mlp:
    text, family = source.text, source.family
    names = (
        "intermediate_size_mlp",
        "dense_intermediate_size",
        "intermediate_size",
        "ffn_dim",
        "decoder_ffn_dim",
        "block_ff_dim",
        "n_inner",
    )
    if text.get(*names) is None:
        text.require("intermediate_size")
    inner = _of_layer(source, layer, *names)
    if inner < 1:
        raise text.fail("intermediate_size", f"is {inner}; it must be at least 1")
    if source.model_type == "lfm2" and text.flag("block_auto_adjust_ff_dim", default=True):
        scaled = 2 * inner / 3 * text.number("block_ffn_dim_multiplier", default=1.0)
        inner = _round_up(scaled, text.whole("block_multiple_of", default=256))
    return Mlp(
        inner=inner,
        gated=family.gated,
        bias=text.flag("mlp_bias", default=family.bias),
        up=_stored(source, layer, "gate_proj", "up_proj", "gate_up_proj", "w1"),
        down=_stored(source, layer, "down_proj", "w2"),
    )


def _deci(source: Source, layer: int) -> tuple[Feed, ...]:
    blocks = source.text.items("block_configs", length=source.layers) or []
    part = Fields(blocks[layer], f"{source.text.where}: block_configs[{layer}]").section("ffn")
    if part is None or part.flag("no_op"):
        return ()
    if part.flag("replace_with_linear"):
        source.notes.append(f"Layer {layer}: its MLP-replacing linear is not counted.")
        return ()
    mult = part.number("ffn_mult", default=0.0)
    inner = part.optional("intermediate_size") or _round_up(2 * mult * source.hidden / 3, 256)
    return (
        Mlp(
            inner=inner,
            up=_stored(source, layer, "gate_proj", "up_proj"),
            down=_stored(source, layer, "down_proj"),
        ),
    )


def _of_layer(source: Source, layer: int, *names: str, default: int | None = None) -> int:
    """A number that some configs give per layer, or once."""
    value = source.text.get(*names)
    if isinstance(value, list):
        name = next(n for n in names if source.text.get(n) is not None)
        return source.text.per_layer(name, layers=source.layers, default=0)[layer]
    return source.text.whole(*names, default=default, low=0)


def _shared(source: Source, layer: int, inner: int) -> int:
    """Intermediate size of all shared experts of a layer together."""
    text = source.text
    if source.model_type.startswith("llama4"):
        return inner
    if "shared_expert_intermediate_size" in text:
        return text.whole("shared_expert_intermediate_size", low=0)
    count = _of_layer(source, layer, *_SHARED_COUNT, default=0)
    if "moe_shared_expert_intermediate_size" in text:
        return text.whole("moe_shared_expert_intermediate_size", low=0) * max(count, 1)
    if "shared_intermediate_size" in text:
        return text.whole("shared_intermediate_size", low=0)
    if "share_expert_dim" in text:
        return text.whole("share_expert_dim", low=0)
    return count * inner


def _moe(source: Source, layer: int) -> Moe:
    text, family = source.text, source.family
    experts = _of_layer(source, layer, *_EXPERTS)
    top_k = _of_layer(source, layer, *_TOP_K)
    names = ("moe_intermediate_size", "expert_intermediate_size", "intermediate_size")
    inner = _of_layer(source, layer, *names)
    if not 1 <= top_k <= experts:
        raise text.fail(_TOP_K[0], f"is {top_k}; allowed: 1 to the {experts} experts")
    if inner < 1:
        raise text.fail(names[0], "is 0; experts need an intermediate size")
    rooms = ("experts", "moe") if source.model_type.startswith("gemma4") else _ROOMS
    first = ("gate_proj", "up_proj", "w1")
    routed = source.quant.of(
        *(f"layers.{layer}.{room}.experts.0.{part}" for room in rooms for part in first),
        *(f"layers.{layer}.{room}.experts" for room in rooms),
        expert=True,
    )
    gpt_oss = source.model_type == "gpt_oss"
    return Moe(
        experts=experts,
        top_k=top_k,
        inner=inner,
        gated=family.gated,
        bias=gpt_oss,
        shared=_shared(source, layer, inner),
        shared_gate="shared_expert_intermediate_size" in text,
        router_bytes=4 if family.router32 or text.get("moe_router_dtype") == "float32" else 0,
        router_bias=gpt_oss,
        router=_stored(source, layer, "gate") if family.router_linear else Format(),
        correction=_has_correction(source),
        latent=text.whole("moe_latent_size", "routed_expert_hidden_size", default=0, low=0),
        routed=routed,
        common=_stored(
            source, layer, "shared_experts.up_proj", "shared_expert.up_proj", "shared_expert"
        ),
    )


def _has_correction(source: Source) -> bool:
    text = source.text
    return (
        text.get("topk_method") == "noaux_tc"
        or text.get("scoring_func", "moe_router_activation_func") == "sigmoid"
        or any(text.get(k) is True for k in ("use_routing_bias", "moe_use_aux_free"))
        or source.model_type in ("glm4_moe", "nemotron_h")
    )
