"""Which token mixer each layer of a config.json has."""

from __future__ import annotations

from recipes_core.sizing.fields import Fields, nearest, shown, whole
from recipes_core.sizing.recurrent import (
    read_conv,
    read_delta,
    read_kda,
    read_mamba1,
    read_mamba2,
)
from recipes_core.sizing.shapes import (
    Attention,
    CompressedAttention,
    Format,
    Indexer,
    Mixer,
    Mla,
)
from recipes_core.sizing.source import Source

_LAYER_TYPES = {
    "full_attention": "full",
    "global_attention": "full",
    "attention": "full",
    "deepseek_sparse_attention": "full",
    "sliding_attention": "sliding",
    "local_attention": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "delta",
    "mamba": "mamba",
    "conv": "conv",
    "moe": "feed",
    "mlp": "feed",
}


_ATTENTION_ROOMS = ("self_attn", "attn", "mixer", "attention")


def mixer_plan(source: Source) -> list[tuple[str, ...]]:
    """The kinds of mixer in each layer, in order.

    Raises:
        ConfigError: A pattern that is unknown or does not fit the number of layers.
    """
    text, count = source.text, source.layers
    if text.get("compress_ratios") is not None:
        return [("compressed",)] * count
    if source.model_type in ("mamba2", "mamba", "falcon_mamba"):
        return [("mamba",)] * count
    if source.model_type == "falcon_h1":
        return [("full", "mamba")] * count
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        return _letters(source, pattern)
    blocks = text.items("layers_block_type", length=count, exact=True)
    if blocks is not None:
        return [_typed(source, "layers_block_type", b) for b in blocks[:count]]
    linear = text.section("linear_attn_config")
    if linear is not None:
        full = {
            whole(i, linear.where, "full_attn_layers") for i in linear.require("full_attn_layers")
        }
        return [("full",) if i + 1 in full else ("kda",) for i in range(count)]
    if "attn_layer_period" in text:
        period, offset = text.whole("attn_layer_period"), text.whole("attn_layer_offset", low=0)
        return [("full",) if i % period == offset else ("mamba",) for i in range(count)]
    if source.model_type == "lfm2" and "layer_types" not in text:
        full = {whole(i, text.where, "full_attn_idxs", 0) for i in text.require("full_attn_idxs")}
        return [("full",) if i in full else ("conv",) for i in range(count)]
    types = text.items("layer_types", length=count, exact=True)
    if types is not None:
        return _with_window(source, [_typed(source, "layer_types", t) for t in types[:count]])
    if "full_attention_interval" in text:
        every = text.whole("full_attention_interval")
        return [("full",) if (i + 1) % every == 0 else ("delta",) for i in range(count)]
    if "hybrid_layer_pattern" in text:
        kinds = text.per_layer("hybrid_layer_pattern", layers=count, default=0)
        return [("sliding",) if kind else ("full",) for kind in kinds]
    return _windows(source)


def _typed(source: Source, key: str, value: object) -> tuple[str, ...]:
    kind = _LAYER_TYPES.get(str(value))
    if kind is None:
        raise source.text.fail(
            key,
            f"holds {shown(value)}; known: {', '.join(_LAYER_TYPES)}"
            + nearest(str(value), _LAYER_TYPES),
        )
    return (kind,) if kind != "feed" else ()


def _letters(source: Source, pattern: str) -> list[tuple[str, ...]]:
    """Nemotron-H: M is Mamba-2, * attention, - a dense and E an expert feed-forward."""
    if len(pattern) != source.layers or set(pattern) - set("M*-E"):
        raise source.text.fail(
            "hybrid_override_pattern",
            f"is {shown(pattern)}; {source.layers} letters of M * - E are needed",
        )
    return [{"M": ("mamba",), "*": ("full",)}.get(letter, ()) for letter in pattern]


def _with_window(source: Source, plan: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Sliding layers without a window are full."""
    window = source.text.get("sliding_window")
    if window is None and ("sliding",) in plan:
        source.notes.append("Sliding layers are named, but no `sliding_window`: taken as full.")
        return [("full",) if kinds == ("sliding",) else kinds for kinds in plan]
    return plan


def _windows(source: Source) -> list[tuple[str, ...]]:
    """Layers of a model that names no layer types: by its family's habit."""
    text, count, kind = source.text, source.layers, source.model_type
    if "attention_chunk_size" in text and kind.startswith("llama4"):
        every = text.items("no_rope_layers", length=count) or []
        if every:
            return [("chunked",) if flag else ("full",) for flag in every[:count]]
        return [("full",) if (i + 1) % 4 == 0 else ("chunked",) for i in range(count)]
    window = text.get("sliding_window")
    if window is None or text.get("use_sliding_window") is False:
        return [("full",)] * count
    if source.family.full_window and not text.flag("use_sliding_window"):
        return [("full",)] * count
    if kind in ("gemma2", "gpt_oss"):
        return [("full",) if i % 2 else ("sliding",) for i in range(count)]
    pattern = text.get("sliding_window_pattern")
    if pattern is None and kind.startswith("gemma3"):
        pattern = 6
    if isinstance(pattern, str) and pattern:
        return [
            ("full",) if pattern[i % len(pattern)] == "G" else ("sliding",) for i in range(count)
        ]
    if pattern is not None:
        every_n = text.whole("sliding_window_pattern", default=6)
        return [("full",) if (i + 1) % every_n == 0 else ("sliding",) for i in range(count)]
    return [("sliding",)] * count


def read_mixers(source: Source) -> list[tuple[Mixer, ...]]:
    """The token mixers of each layer.

    Raises:
        ConfigError: A size is missing or does not fit the others.
    """
    plan = mixer_plan(source)
    if "block_configs" in source.text:
        return _deci_attention(source)
    makers = {
        "full": _mla if "kv_lora_rank" in source.text else _attention,
        "sliding": _attention,
        "chunked": _attention,
        "compressed": _compressed,
        "delta": read_delta,
        "kda": read_kda,
        "conv": read_conv,
        "mamba": read_mamba1 if _is_mamba1(source) else read_mamba2,
    }
    cache: dict[tuple[object, ...], Mixer] = {}
    result: list[tuple[Mixer, ...]] = []
    for index, kinds in enumerate(plan):
        row: list[Mixer] = []
        for kind in kinds:
            mixer = makers[kind](source, index, kind)
            row.append(cache.setdefault((kind, mixer), mixer))
        result.append(tuple(row))
    return result


def _is_mamba1(source: Source) -> bool:
    return source.model_type in ("jamba", "mamba", "falcon_mamba")


def _attention(source: Source, layer: int, kind: str) -> Mixer:
    text, family = source.text, source.family
    swa = kind == "sliding"
    heads = (
        text.whole("swa_num_attention_heads", "num_attention_heads")
        if swa
        else text.whole("num_attention_heads", "decoder_attention_heads", "n_head")
    )
    names = ("swa_num_key_value_heads", "num_key_value_heads") if swa else ("num_key_value_heads",)
    if kind == "full" and "num_global_key_value_heads" in text:
        names = ("num_global_key_value_heads", *names)
    kv_heads = text.whole(*names, default=heads)
    head_dim = _head_dim(source, heads, swa=swa, full=kind == "full")
    value = ("swa_v_head_dim", "v_head_dim") if swa else ("v_head_dim",)
    if heads % kv_heads:
        raise text.fail(names[-1], f"is {kv_heads}; it must divide `num_attention_heads`, {heads}")
    norm = family.qk_norm
    if norm == "config":
        norm = (
            ("full" if text.get("qk_norm_type") == "per_layer" else "head")
            if text.flag("use_qk_norm")
            else "none"
        )
    bias = text.flag("attention_bias", "use_qkv_bias", "qkv_bias", default=family.qkv_bias)
    out_bias = text.flag("attention_out_bias", default=family.bias)
    if source.model_type == "gpt_oss":
        out_bias = bias
    return Attention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        v_head_dim=text.whole(*value, default=head_dim),
        window=text.whole("sliding_window") if swa else None,
        chunk=text.whole("attention_chunk_size") if kind == "chunked" else None,
        qkv_bias=bias,
        out_bias=out_bias,
        sinks=source.model_type == "gpt_oss" or (swa and text.flag("add_swa_attention_sink_bias")),
        qk_norm=norm,
        gate=text.flag("attn_output_gate", "attention_output_gate", default=_gated(source)),
        cached=layer < source.layers - text.whole("num_kv_shared_layers", default=0, low=0),
        qkv=source.stored(layer, "q_proj", "qkv_proj", rooms=_ATTENTION_ROOMS),
        out=source.stored(layer, "o_proj", rooms=_ATTENTION_ROOMS),
    )


def _gated(source: Source) -> bool:
    return source.model_type == "qwen3_next"


def _head_dim(source: Source, heads: int, *, swa: bool, full: bool) -> int:
    text = source.text
    names: tuple[str, ...] = ("head_dim", "attention_head_dim", "kv_channels")
    if swa:
        names = ("swa_head_dim", *names)
    if full and "global_head_dim" in text:
        names = ("global_head_dim", *names)
    if text.get(*names) is not None:
        return text.whole(*names, high=1 << 16)
    if source.hidden % heads:
        raise text.fail(
            "num_attention_heads",
            f"is {heads}, which does not divide `hidden_size` {source.hidden}, and there is no "
            "`head_dim`",
        )
    return source.hidden // heads


def _indexer(source: Source, layer: int) -> Indexer | None:
    text = source.text
    if "index_topk" not in text:
        return None
    kinds = text.items("indexer_types", length=source.layers)
    if kinds is not None and kinds[layer] != "full":
        return None
    return Indexer(
        heads=text.whole("index_n_heads"),
        dim=text.whole("index_head_dim", default=128),
        topk=text.whole("index_topk"),
        query=source.stored(layer, "indexer.wq_b", rooms=("self_attn", "attn")),
    )


def _mla(source: Source, layer: int, _kind: str) -> Mixer:
    text = source.text
    rooms = _ATTENTION_ROOMS

    def fmt(*parts: str) -> Format:
        return source.stored(layer, *parts, rooms=rooms)

    return Mla(
        heads=text.whole("num_attention_heads"),
        q_rank=text.whole("q_lora_rank", default=0, low=0),
        kv_rank=text.whole("kv_lora_rank"),
        nope=text.whole("qk_nope_head_dim"),
        rope=text.whole("qk_rope_head_dim", low=0),
        value=text.whole("v_head_dim"),
        gate=text.flag("mla_use_output_gate"),
        indexer=_indexer(source, layer),
        a=fmt("q_a_proj", "kv_a_proj_with_mqa"),
        q=fmt("q_b_proj", "q_proj"),
        kv=fmt("kv_b_proj"),
        out=fmt("o_proj"),
    )


def _compressed(source: Source, layer: int, _kind: str) -> Mixer:
    text = source.text
    ratios = text.per_layer("compress_ratios", layers=source.layers, default=0)
    ratio = ratios[layer]
    indexer = _indexer(source, layer) if ratio == 4 else None
    return CompressedAttention(
        heads=text.whole("num_attention_heads"),
        head_dim=text.whole("head_dim"),
        rope=text.whole("qk_rope_head_dim"),
        q_rank=text.whole("q_lora_rank"),
        out_groups=text.whole("o_groups"),
        out_rank=text.whole("o_lora_rank"),
        ratio=ratio,
        window=text.whole("sliding_window"),
        indexer=indexer,
        linear=source.stored(layer, "wq_b", "q_b_proj", rooms=("attn", "self_attn")),
    )


def _deci_attention(source: Source) -> list[tuple[Mixer, ...]]:
    """DeciLM: each block says how many query heads share a key head, or has no attention."""
    text = source.text
    heads = text.whole("num_attention_heads")
    head_dim = _head_dim(source, heads, swa=False, full=True)
    result: list[tuple[Mixer, ...]] = []
    for layer, block in enumerate(text.items("block_configs", length=source.layers) or []):
        part = Fields(block, f"{text.where}: block_configs[{layer}]").section("attention")
        if part is None or part.flag("no_op") or part.flag("replace_with_linear"):
            if part is not None and part.flag("replace_with_linear"):
                source.notes.append(
                    f"Layer {layer}: its attention-replacing linear is not counted."
                )
            result.append(())
            continue
        share = part.whole("n_heads_in_group")
        if heads % share:
            raise part.fail("n_heads_in_group", f"is {share}; it must divide {heads} heads")
        result.append(
            (
                Attention(
                    heads=heads,
                    kv_heads=heads // share,
                    head_dim=head_dim,
                    v_head_dim=head_dim,
                    qkv=source.stored(layer, "q_proj", rooms=_ATTENTION_ROOMS),
                    out=source.stored(layer, "o_proj", rooms=_ATTENTION_ROOMS),
                ),
            )
        )
    return result[: source.layers]
