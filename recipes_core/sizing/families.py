"""Facts of vLLM's model code that no config.json states, by `model_type`.

Sizes never come from here: only how the code of one family uses them, such as which norms it
has or in which precision its router runs. Read from vLLM 0.25's model files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

QkNorm = Literal["none", "head", "full", "weightless", "config"]


@dataclass(frozen=True, slots=True)
class Family:
    """How one family's code differs from the plain Llama decoder.

    Args:
        tied: Word embeddings are tied when the config does not say.
        qkv_bias: q, k, v have biases when the config does not say.
        norms: Norm vectors of the hidden size per layer.
        norm_bias: Norms have biases (LayerNorm).
        qk_norm: Norm of queries and keys; ``config`` reads `use_qk_norm`.
        rebinds: The MLP's code lets go of gate and up before the down projection.
        held: Hidden-wide tensors alive in the MLP, in bytes per element of ``hidden`` at 16 bits.
        router32: The router runs in 32 bits.
        gated: Gate and up projections, else up alone.
        bias: Linear layers have biases.
        v2_moe: Runs on the V2 model runner although it is a mixture of experts.
        router_linear: The router is an ordinary linear, quantized with the others.
        full_window: `sliding_window` counts only with `use_sliding_window: true`.
        known: False for what this table does not list.
    """

    tied: bool = False
    qkv_bias: bool = False
    norms: int = 2
    norm_bias: bool = False
    qk_norm: QkNorm = "none"
    rebinds: bool = False
    held: int = 8
    router32: bool = False
    gated: bool = True
    bias: bool = False
    v2_moe: bool = False
    router_linear: bool = False
    full_window: bool = False
    known: bool = True


_LLAMA = Family(rebinds=True, held=6)
_KEEP = Family()
_QWEN2 = Family(qkv_bias=True, full_window=True)
_QWEN3 = Family(qk_norm="head", full_window=True)
_GEMMA = Family(tied=True, held=10)
_GEMMA3 = replace(_GEMMA, norms=4, qk_norm="head")
_PLAIN_OLD = Family(norm_bias=True, gated=False, bias=True, qkv_bias=True)

_FAMILIES: dict[str, Family] = {
    "llama": _LLAMA,
    "llama4_text": replace(_LLAMA, qk_norm="weightless"),
    "mistral": _LLAMA,
    "ministral3": _LLAMA,
    "mixtral": _LLAMA,
    "phi3": _LLAMA,
    "nemotron-nas": _LLAMA,
    "smollm3": _LLAMA,
    "bailing_moe": _LLAMA,
    "falcon_h1": replace(_LLAMA, held=10),
    "phi": replace(_PLAIN_OLD, norms=1),
    "opt": _PLAIN_OLD,
    "whisper": replace(_PLAIN_OLD, norms=3, tied=True),
    "qwen2": _QWEN2,
    "qwen2_moe": replace(_QWEN2, v2_moe=True),
    "qwen2_vl": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_moe": replace(_QWEN3, router_linear=True),
    "qwen3_vl_text": _QWEN3,
    "qwen3_vl_moe_text": _QWEN3,
    "qwen3_next": _QWEN3,
    "qwen3_5_text": _QWEN3,
    "qwen3_5_moe_text": _QWEN3,
    "gemma": _GEMMA,
    "gemma2": replace(_GEMMA, norms=4),
    "gemma3_text": _GEMMA3,
    "gemma4_text": _GEMMA3,
    "cohere": replace(_GEMMA, norms=1, qk_norm="config"),
    "cohere2": replace(_GEMMA, norms=1, qk_norm="config"),
    "granite": _KEEP,
    "granitemoe": replace(_KEEP, v2_moe=True),
    "granitemoehybrid": _KEEP,
    "olmo2": Family(held=6, qk_norm="full"),
    "olmo3": Family(held=6, qk_norm="full"),
    "exaone4": Family(qk_norm="head"),
    "seed_oss": Family(qkv_bias=True),
    "lfm2": _QWEN3,
    "hunyuan_v1_moe": Family(qk_norm="config"),
    "ernie4_5": _KEEP,
    "ernie4_5_moe": Family(router32=True),
    "deepseek_v2": replace(_KEEP, v2_moe=True),
    "deepseek_v3": _KEEP,
    "kimi_k2": _KEEP,
    "deepseek_v32": _KEEP,
    "deepseek_v4": _KEEP,
    "deepseek_ref": _KEEP,
    "kimi_linear": _KEEP,
    "glm4_moe": Family(qk_norm="config", router32=True),
    "glm4_moe_lite": Family(router32=True),
    "glm_moe_dsa": Family(router32=True),
    "minimax_m2": Family(qk_norm="config", router32=True),
    "minimax_m3": Family(qk_norm="config", router32=True),
    "mimo_v2_flash": _KEEP,
    "gpt_oss": Family(qkv_bias=True),
    "jamba": _LLAMA,
    "nemotron_h": Family(gated=False),
    "mamba": _KEEP,
    "mamba2": _KEEP,
    "step3p7": _KEEP,
    "sarvam_mla": _KEEP,
}

_BY_CLASS = {"SarvamMLAForCausalLM": "sarvam_mla", "MiMoForCausalLM": "qwen2"}

_UNKNOWN = Family(known=False)


def family_of(model_type: str, architecture: str) -> Family:
    """The facts for a `model_type`, or for its class where the config has no type.

    Args:
        model_type: Of the language model, so of `text_config` where there is one.
        architecture: The class name vLLM loads.
    """
    return _FAMILIES.get(model_type or _BY_CLASS.get(architecture, ""), _UNKNOWN)
