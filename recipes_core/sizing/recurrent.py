"""Mixers that keep a state instead of keys and values, from a config.json."""

from __future__ import annotations

from recipes_core.sizing.shapes import (
    GatedDelta,
    Kda,
    Mamba1,
    Mamba2,
    Mixer,
    ShortConv,
)
from recipes_core.sizing.source import Source

_STATE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_LINEAR_ROOMS = ("linear_attn", "mixer", "mamba", "self_attn", "conv")


def _state_bytes(source: Source, default: int) -> int:
    value = source.text.get("mamba_ssm_dtype", "mamba_ssm_cache_dtype")
    return _STATE_BYTES.get(str(value), default)


def read_mamba2(source: Source, layer: int, _kind: str) -> Mixer:
    """A Mamba-2 mixer."""
    text = source.text
    heads = text.whole("mamba_num_heads", "mamba_n_heads", "num_heads")
    head_dim = text.whole("mamba_head_dim", "mamba_d_head", "head_dim")
    groups = text.whole("mamba_n_groups", "n_groups", default=1)
    if heads % groups:
        raise text.fail("n_groups", f"is {groups}; it must divide the {heads} Mamba heads")
    nemotron = source.model_type == "nemotron_h"
    return Mamba2(
        heads=heads,
        head_dim=head_dim,
        state=text.whole("ssm_state_size", "mamba_d_state", "state_size"),
        groups=groups,
        kernel=text.whole("conv_kernel", "mamba_d_conv", default=4, low=2),
        conv_bias=text.flag("use_conv_bias", "mamba_conv_bias", default=True),
        proj_bias=text.flag("mamba_proj_bias", "use_bias"),
        norm=text.flag("mamba_rms_norm", default=source.model_type != "falcon_h1"),
        chunk=text.whole("chunk_size", "mamba_chunk_size", default=256),
        state_bytes=_state_bytes(source, 4) if nemotron else 0,
        inp=source.stored(layer, "in_proj", rooms=_LINEAR_ROOMS),
        out=source.stored(layer, "out_proj", rooms=_LINEAR_ROOMS),
    )


def read_mamba1(source: Source, layer: int, _kind: str) -> Mixer:
    """A Mamba-1 mixer."""
    text = source.text
    rank = text.get("mamba_dt_rank", "time_step_rank")
    auto = -(-source.hidden // 16)
    return Mamba1(
        inner=text.whole("mamba_d_inner", default=0, low=0)
        or text.whole("mamba_expand", "expand", default=2) * source.hidden,
        state=text.whole("mamba_d_state", "state_size", default=16),
        dt_rank=auto if rank in (None, "auto") else text.whole("mamba_dt_rank", "time_step_rank"),
        kernel=text.whole("mamba_d_conv", "conv_kernel", default=4, low=2),
        conv_bias=text.flag("mamba_conv_bias", "use_conv_bias", default=True),
        norms=source.model_type == "jamba",
        inp=source.stored(layer, "in_proj", rooms=_LINEAR_ROOMS),
        out=source.stored(layer, "out_proj", rooms=_LINEAR_ROOMS),
    )


def read_delta(source: Source, layer: int, _kind: str) -> Mixer:
    """A gated DeltaNet mixer."""
    text = source.text
    key_heads = text.whole("linear_num_key_heads")
    value_heads = text.whole("linear_num_value_heads")
    if value_heads % key_heads:
        raise text.fail(
            "linear_num_key_heads", f"is {key_heads}; it must divide the {value_heads} value heads"
        )
    return GatedDelta(
        key_heads=key_heads,
        value_heads=value_heads,
        key_dim=text.whole("linear_key_head_dim"),
        value_dim=text.whole("linear_value_head_dim"),
        kernel=text.whole("linear_conv_kernel_dim", default=4, low=2),
        state_bytes=_state_bytes(source, 0),
        inp=source.stored(layer, "in_proj_qkv", "in_proj_qkvz", rooms=_LINEAR_ROOMS),
        out=source.stored(layer, "out_proj", rooms=_LINEAR_ROOMS),
    )


def read_kda(source: Source, layer: int, _kind: str) -> Mixer:
    """A Kimi delta attention mixer."""
    linear = source.text.section("linear_attn_config")
    if linear is None:
        raise source.text.fail("linear_attn_config", "is missing")
    return Kda(
        heads=linear.whole("num_heads"),
        head_dim=linear.whole("head_dim"),
        kernel=linear.whole("short_conv_kernel_size", default=4, low=2),
        full_rank_gate=linear.flag("use_full_rank_gate"),
        inp=source.stored(layer, "q_proj", rooms=("self_attn",)),
        out=source.stored(layer, "o_proj", rooms=("self_attn",)),
    )


def read_conv(source: Source, layer: int, _kind: str) -> Mixer:
    """A short convolution."""
    text = source.text
    return ShortConv(
        dim=text.whole("conv_dim", default=source.hidden),
        kernel=text.whole("conv_L_cache", default=3, low=2),
        bias=text.flag("conv_bias"),
        inp=source.stored(layer, "in_proj", rooms=_LINEAR_ROOMS),
        out=source.stored(layer, "out_proj", rooms=_LINEAR_ROOMS),
    )
