"""The engine arguments that matter for memory, read from the command itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from recipes_core.flags import parse_args
from recipes_core.sizing.fields import ConfigError, nearest
from recipes_core.sizing.flag_values import Flags


@dataclass(frozen=True)
class EngineArguments:
    """What one engine was started with; None means the engine's own default.

    Args:
        model: Checkpoint, empty where the command names none.
        tp: Tensor parallel size.
        pp: Pipeline parallel size.
        dp: Data parallel size.
        dcp: Decode context parallel size.
        pcp: Prefill context parallel size.
        expert_parallel: ``--enable-expert-parallel``.
        nnodes: Nodes of the engine.
        dtype: ``--dtype``.
        quantization: ``--quantization``.
        kv_cache_dtype: ``--kv-cache-dtype``.
        max_model_len: Longest request.
        max_model_len_auto: The engine picks the longest that fits.
        max_num_seqs: Requests per step.
        max_num_batched_tokens: Tokens per step.
        utilization: Share of the GPU.
        eager: No CUDA graphs and no compilation.
        block_size: Tokens per KV block.
        prefix_caching: ``--enable-prefix-caching`` or its negation.
        chunked_prefill: ``--enable-chunked-prefill`` or its negation.
        async_scheduling: ``--async-scheduling`` or its negation.
        mamba_mode: ``--mamba-cache-mode``.
        mamba_dtype: ``--mamba-cache-dtype``.
        ssm_dtype: ``--mamba-ssm-cache-dtype``.
        hybrid_manager: False with ``--disable-hybrid-kv-cache-manager``.
        kv_cache_bytes: ``--kv-cache-memory-bytes``: no profiling.
        blocks_override: ``--num-gpu-blocks-override``.
        cpu_offload: Bytes of weights kept on the host.
        kv_offload: Bytes of KV cache on the host.
        limits: ``--limit-mm-per-prompt`` by modality.
        text_only: ``--language-model-only``.
        tower_replicated: ``--mm-encoder-tp-mode data``.
        skip_mm_profiling: The encoder is not profiled.
        loras: Adapters on the GPU at once.
        lora_rank: Their largest rank.
        spec_method: Speculative method.
        spec_tokens: Speculative tokens per step.
        spec_model: Draft checkpoint.
        hf_overrides: JSON text.
        redundant_experts: Further expert replicas.
        capture_sizes: CUDA graphs captured, None for the default list.
        no_graphs: The cudagraph mode is NONE.
        no_compile: The compilation level is 0.
        not_everywhere: Flags given that the V2 model runner of some release lacks.
        moe_backend: ``--moe-backend``.
        attention_backend: ``--attention-backend``.
        load_format: ``--load-format``.
        external_launcher: Ranks are started by another program, such as torchrun.
        kv_connector: A KV transfer connector is attached.
        env: Environment of the engine.
        notes: Values that could not be used.
    """

    model: str = ""
    tp: int = 1
    pp: int = 1
    dp: int = 1
    dcp: int = 1
    pcp: int = 1
    expert_parallel: bool = False
    nnodes: int = 1
    dtype: str | None = None
    quantization: str | None = None
    kv_cache_dtype: str = "auto"
    max_model_len: int | None = None
    max_model_len_auto: bool = False
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    utilization: float | None = None
    eager: bool = False
    block_size: int | None = None
    prefix_caching: bool | None = None
    chunked_prefill: bool | None = None
    async_scheduling: bool | None = None
    mamba_mode: str | None = None
    mamba_dtype: str = "auto"
    ssm_dtype: str = "auto"
    hybrid_manager: bool = True
    kv_cache_bytes: int | None = None
    blocks_override: int | None = None
    cpu_offload: int = 0
    kv_offload: int = 0
    limits: tuple[tuple[str, int], ...] = ()
    text_only: bool = False
    tower_replicated: bool = False
    skip_mm_profiling: bool = False
    loras: int = 0
    lora_rank: int = 16
    spec_method: str | None = None
    spec_tokens: int = 0
    spec_model: str | None = None
    hf_overrides: str | None = None
    redundant_experts: int = 0
    capture_sizes: int | None = None
    no_graphs: bool = False
    no_compile: bool = False
    not_everywhere: frozenset[str] = frozenset()
    moe_backend: str = "auto"
    attention_backend: str | None = None
    load_format: str | None = None
    external_launcher: bool = False
    kv_connector: bool = False
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_argv(
        cls, argv: Sequence[str], env: Mapping[str, str] | None = None
    ) -> EngineArguments:
        """Reads a command.

        Args:
            argv: ``vllm serve MODEL --flag …``, or flags alone.
            env: The engine's environment.

        Raises:
            ConfigError: A value the engine would refuse. A ``$NAME`` placeholder is no error: the
                engine's default is taken and said.
        """
        words = tuple(argv)
        key = tuple(sorted((env or {}).items()))
        return _read(words, key)

    @property
    def gpus(self) -> int:
        """GPUs of the whole engine."""
        return self.tp * self.pp * self.dp * self.pcp

    @property
    def multimodal_off(self) -> bool:
        """Whether no tower is loaded: every modality is limited to 0."""
        return self.text_only or (bool(self.limits) and all(n == 0 for _, n in self.limits))


def _model(words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The checkpoint, and the words that are flags."""
    for start, word in enumerate(words):
        if word == "serve" and start <= 3:
            rest = words[start + 1 :]
            if rest and not rest[0].startswith("-"):
                return rest[0], rest[1:]
            return "", rest
    if words and not words[0].startswith("-"):
        return words[0], words[1:]
    return "", words


@lru_cache(maxsize=2048)
def _read(words: tuple[str, ...], env: tuple[tuple[str, str], ...]) -> EngineArguments:
    model, rest = _model(words)
    flags = Flags(parse_args(rest))
    spec = flags.mapping("--speculative-config")
    compilation = flags.mapping("--compilation-config")
    level = flags.text("--optimization-level")
    sizes = _capture_sizes(flags, compilation)
    length, auto = _length(flags)
    lora = flags.switch("--enable-lora")
    overrides = flags.mapping("--hf-overrides")
    offload = flags.number("--cpu-offload-gb", 0, 1 << 20) or 0.0
    kv_offload = flags.number("--kv-offloading-size", 0, 1 << 20) or 0.0
    eplb = flags.mapping("--eplb-config")
    redundant = flags.whole("--num-redundant-experts", 0)
    if redundant is None:
        redundant = _count(eplb, "num_redundant_experts", "--eplb-config")
    values: dict[str, Any] = {
        "model": flags.text("--model") or model,
        "tp": flags.whole("--tensor-parallel-size") or 1,
        "pp": flags.whole("--pipeline-parallel-size") or 1,
        "dp": flags.whole("--data-parallel-size") or 1,
        "dcp": flags.whole("--decode-context-parallel-size") or 1,
        "pcp": flags.whole("--prefill-context-parallel-size") or 1,
        "expert_parallel": bool(flags.switch("--enable-expert-parallel")),
        "nnodes": flags.whole("--nnodes") or 1,
        "dtype": flags.text("--dtype"),
        "quantization": flags.text("--quantization"),
        "kv_cache_dtype": flags.text("--kv-cache-dtype") or "auto",
        "max_model_len": length,
        "max_model_len_auto": auto,
        "max_num_seqs": flags.whole("--max-num-seqs", 1, 1 << 20),
        "max_num_batched_tokens": flags.whole("--max-num-batched-tokens", 1, 1 << 30),
        "utilization": flags.number("--gpu-memory-utilization", 0.0001, 1.0),
        "eager": bool(flags.switch("--enforce-eager")),
        "block_size": flags.whole("--block-size", 1, 1 << 20),
        "prefix_caching": _switched(flags, "--enable-prefix-caching", "--disable-prefix-caching"),
        "chunked_prefill": flags.switch("--enable-chunked-prefill"),
        "async_scheduling": flags.switch("--async-scheduling"),
        "mamba_mode": _choice(flags, "--mamba-cache-mode", ("none", "align", "all")),
        "mamba_dtype": flags.text("--mamba-cache-dtype") or "auto",
        "ssm_dtype": flags.text("--mamba-ssm-cache-dtype") or "auto",
        "hybrid_manager": not flags.switch("--disable-hybrid-kv-cache-manager"),
        "kv_cache_bytes": flags.whole("--kv-cache-memory-bytes", 1, 1 << 50)
        or flags.whole("--kv-cache-memory", 1, 1 << 50),
        "blocks_override": flags.whole("--num-gpu-blocks-override", 1, 1 << 40),
        "cpu_offload": int(offload * (1 << 30)),
        "kv_offload": int(kv_offload * (1 << 30)),
        "limits": _limits(flags),
        "text_only": bool(flags.switch("--language-model-only")),
        "tower_replicated": flags.text("--mm-encoder-tp-mode") == "data",
        "skip_mm_profiling": bool(flags.switch("--skip-mm-profiling")),
        "loras": (flags.whole("--max-loras") or 1) if lora else 0,
        "lora_rank": flags.whole("--max-lora-rank") or 16,
        "spec_method": _spec_method(spec),
        "spec_tokens": _count(spec, "num_speculative_tokens", "--speculative-config"),
        "spec_model": str(spec["model"]) if spec.get("model") else None,
        "hf_overrides": json.dumps(overrides, sort_keys=True) if overrides else None,
        "redundant_experts": redundant,
        "capture_sizes": sizes,
        "no_graphs": str(compilation.get("cudagraph_mode", "")).upper() == "NONE",
        "no_compile": level == "0" or str(compilation.get("level", "")) == "0",
        "not_everywhere": _not_everywhere(flags),
        "moe_backend": flags.text("--moe-backend") or "auto",
        "attention_backend": flags.text("--attention-backend"),
        "load_format": flags.text("--load-format"),
        "external_launcher": flags.text("--distributed-executor-backend") == "external_launcher",
        "kv_connector": bool(flags.mapping("--kv-transfer-config")),
        "env": dict(env),
    }
    return EngineArguments(**values, notes=tuple(flags.notes))


def _count(mapping: Mapping[str, Any], key: str, flag: str) -> int:
    """A count inside a JSON flag, 0 where it is absent."""
    value = mapping.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 4096:
        raise ConfigError(flag, key, f"is {value!r}; allowed: 0 to 4096")
    return value


def _switched(flags: Flags, name: str, opposite: str) -> bool | None:
    found = flags.switch(name)
    if found is None and flags.switch(opposite):
        return False
    return found


def _choice(flags: Flags, name: str, allowed: tuple[str, ...]) -> str | None:
    value = flags.text(name)
    if value is not None and value not in allowed:
        hint = nearest(value, allowed)
        raise ConfigError(name, value, f"is not allowed: {', '.join(allowed)}{hint}")
    return value


def _length(flags: Flags) -> tuple[int | None, bool]:
    value = flags.text("--max-model-len")
    if value is None:
        return None, False
    if value in ("auto", "-1"):
        return None, True
    return flags.whole("--max-model-len", 1, 1 << 34), False


def _limits(flags: Flags) -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    for modality, limit in flags.mapping("--limit-mm-per-prompt").items():
        count = limit.get("count", 1) if isinstance(limit, dict) else limit
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ConfigError("--limit-mm-per-prompt", modality, f"is {limit!r}; a count is needed")
        found.append((str(modality), count))
    return tuple(sorted(found))


def _spec_method(spec: dict[str, Any]) -> str | None:
    if not spec:
        return None
    method = str(spec.get("method") or "").lower()
    if method:
        return "mtp" if method.endswith("_mtp") else method
    return "draft_model" if spec.get("model") else "ngram"


def _capture_sizes(flags: Flags, compilation: dict[str, Any]) -> int | None:
    """How many CUDA graph sizes are captured, None for the engine's own list."""
    listed = compilation.get("cudagraph_capture_sizes")
    if isinstance(listed, list):
        return len(listed)
    flag = flags.by_name.get("--cudagraph-capture-sizes")
    if flag is not None and flag.values:
        return len(flag.values)
    largest = flags.whole("--max-cudagraph-capture-size", 1, 1 << 16)
    if largest is None and isinstance(compilation.get("max_cudagraph_capture_size"), int):
        largest = int(compilation["max_cudagraph_capture_size"])
    return default_capture_sizes(largest) if largest else None


def default_capture_sizes(largest: int) -> int:
    """How many sizes vLLM captures up to ``largest``: 1, 2, 4, steps of 8, then of 16."""
    few = sum(1 for size in (1, 2, 4) if size <= largest)
    eights = len(range(8, min(largest + 1, 256), 8))
    sixteens = len(range(256, largest + 1, 16))
    return few + eights + sixteens


def _not_everywhere(flags: Flags) -> frozenset[str]:
    """Flags of the command that the V2 model runner of some release cannot follow."""
    found = {
        name
        for name in ("--enable-dbo", "--enable-elastic-ep", "--kv-sharing-fast-prefill")
        if flags.switch(name)
    }
    found |= {
        name
        for name in ("--logits-processors", "--enable-prompt-embeds", "--ec-transfer-config")
        if name in flags.by_name and flags.switch(name) is not False
    }
    mode = flags.text("--logprobs-mode")
    if mode and mode.endswith("_logits"):
        found.add("--logprobs-mode")
    return frozenset(found)
