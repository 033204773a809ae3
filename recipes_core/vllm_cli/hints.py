"""What to write in place of flags that are gone, and which flags do nothing any more."""

from __future__ import annotations

REPLACEMENTS: dict[str, str] = {
    "--device": "leave it out: vLLM finds the platform itself",
    "--disable-log-requests": "leave it out: requests are not logged unless --enable-log-requests",
    "--disable-mm-preprocessor-cache": "write --mm-processor-cache-gb 0",
    "--cuda-graph-sizes": "write --cudagraph-capture-sizes",
    "--enable-multimodal-encoder-data-parallel": "write --mm-encoder-tp-mode data",
    "--enable-reasoning": "leave it out: --reasoning-parser is enough",
    "--eplb-log-balancedness": "write --eplb-config.log_balancedness",
    "--eplb-step-interval": "write --eplb-config.step_interval",
    "--eplb-window-size": "write --eplb-config.window_size",
    "--guided-decoding-backend": "write --structured-outputs-config.backend",
    "--guided-decoding-disable-additional-properties": (
        "write --structured-outputs-config.disable_additional_properties"
    ),
    "--guided-decoding-disable-any-whitespace": (
        "write --structured-outputs-config.disable_any_whitespace"
    ),
    "--guided-decoding-disable-fallback": "write --structured-outputs-config.disable_fallback",
    "--num-redundant-experts": "write --eplb-config.num_redundant_experts",
    "--num-scheduler-steps": "leave it out: the V1 engine schedules every step",
    "--override-pooler-config": "write --pooler-config",
    "--rope-scaling": "write --hf-overrides with rope_parameters (or rope_scaling on old releases)",
    "--rope-theta": "write --hf-overrides with rope_parameters (or rope_theta on old releases)",
    "--swap-space": "leave it out: the V1 engine does not swap KV cache to the host",
    "--task": "write --runner, and --convert to adapt a generative model",
    "--use-v2-block-manager": "leave it out",
}
"""Flag that some release no longer has: what to do now."""

INERT: dict[str, tuple[str, str]] = {
    "--disable-cascade-attn": ("0.32.0", "cascade attention is gone"),
    "--mamba-cache-mode": ("0.33.0", "Mamba prefix caching follows --enable-prefix-caching"),
    "--use-v2-block-manager": ("0.8.5", "there is only one block manager"),
}
"""Flag that is accepted but does nothing: since when, and why (``engine/arg_utils.py``)."""

REQUIRES: tuple[tuple[str, str], ...] = (
    ("--enable-auto-tool-choice", "--tool-call-parser"),
    ("--enable-log-outputs", "--enable-log-requests"),
)
"""A switch that is refused without another flag (``validate_parsed_serve_args``)."""

FIELD_REQUIRES: dict[str, tuple[str, str]] = {
    "--ec-transfer-config": ("ec_connector", "ec_role"),
    "--kv-transfer-config": ("kv_connector", "kv_role"),
}
"""A field of a JSON flag that is refused without another (``__post_init__`` of its class)."""

FIELD_REPLACEMENTS: dict[tuple[str, str], str] = {
    ("AttentionConfig", "use_fp4_indexer_cache"): (
        "write indexer_kv_dtype mxfp4 for true, and nothing for false"
    ),
}
"""Field of a JSON flag that is gone: what to do now (``vllm/config/attention.py``, 0.28)."""
