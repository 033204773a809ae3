"""An engine's arguments with every default filled in, as vLLM resolves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from recipes_core.sizing.activation import Step
from recipes_core.sizing.architecture import DTYPES, Architecture
from recipes_core.sizing.engine import EngineArguments, default_capture_sizes
from recipes_core.sizing.hardware import GIB, Gpu
from recipes_core.sizing.kv_specs import KvOptions
from recipes_core.sizing.problems import problems_of
from recipes_core.sizing.runners import takes_v2
from recipes_core.sizing.shapes import Mamba2, Moe
from recipes_core.sizing.shards import Shard
from recipes_core.sizing.versions import Rules
from recipes_core.sizing.weights import LoadOptions, Stage, stages

_FALLBACK_LENGTH = 2048


@dataclass(frozen=True)
class Settings:
    """One engine, resolved.

    Args:
        arch: The model under the engine's flags.
        args: The arguments as given.
        rules: The release's rules.
        gpu: The card.
        utilization: Share of the card.
        max_model_len: Longest request.
        tokens: ``max_num_batched_tokens``.
        seqs: ``max_num_seqs``, at most ``tokens``.
        v2: The V2 model runner.
        captures: CUDA graph sizes, 0 without graphs.
        shard: How tensors are cut.
        parts: Pipeline ranks.
        kv: What shapes the cache.
        load: What changes the weights.
        step: Sizes of a step.
        notes: What was assumed.
        problems: Why the engine would refuse to start.
    """

    arch: Architecture
    args: EngineArguments
    rules: Rules
    gpu: Gpu
    utilization: float
    max_model_len: int
    tokens: int
    seqs: int
    v2: bool
    captures: int
    shard: Shard
    parts: tuple[Stage, ...]
    kv: KvOptions
    load: LoadOptions
    step: Step
    notes: tuple[str, ...]
    problems: tuple[str, ...]

    def at_length(self, length: int) -> Settings:
        """The same engine with another ``--max-model-len``."""
        return replace(
            self,
            max_model_len=length,
            kv=replace(self.kv, max_model_len=length),
            step=replace(self.step, max_model_len=length),
        )


def resolve(arch: Architecture, args: EngineArguments, gpu: Gpu, rules: Rules) -> Settings:
    """Fills in what the command leaves to the engine.

    Args:
        arch: The checkpoint.
        args: The command.
        gpu: The card.
        rules: The release.

    Raises:
        ConfigError: A flag does not go with the checkpoint.
    """
    arch = arch.changed(
        quantization=args.quantization, dtype=args.dtype, overrides=args.hf_overrides
    )
    notes = [*args.notes, *rules.notes, *arch.notes]
    tokens, seqs = _batch(args, gpu, rules, notes)
    length = _length(arch, args, notes)
    v2 = _runner(arch, args, rules)
    captures = _captures(args, seqs)
    drafts = _draft_layers(arch, args, notes)
    mode = _mamba_mode(arch, args, rules, notes)
    kv_dtype = _kv_dtype(arch, args, notes)
    block = _block_size(arch, args, gpu, rules, kv_dtype=kv_dtype, notes=notes)
    shard = _shard(arch, args, rules)
    parts = stages(len(arch.layers), args.pp, _partition(args.env))
    mixed = any(isinstance(m, Mamba2) for la in arch.kinds[0] for m in la.mixers)
    asynchronous = args.async_scheduling is not False
    native = _native_length(arch) if arch.positions else None
    kv = KvOptions(
        tp=args.tp,
        dcp=args.dcp * args.pcp,
        kv_dtype=kv_dtype,
        block_size=block,
        max_model_len=length,
        tokens=tokens,
        in_flight=rules.batches_in_flight(args.pp, v2=v2, asynchronous=asynchronous),
        mamba_mode=mode,
        state_dtype=DTYPES.get(args.ssm_dtype, 0) or DTYPES.get(args.mamba_dtype, 0) * mixed,
        conv_dtype=DTYPES.get(args.mamba_dtype, 0),
        spec_tokens=args.spec_tokens,
        hybrid=args.hybrid_manager,
        draft_layers=drafts,
        dsa_packed=gpu.is_nvidia and not gpu.is_blackwell,
    )
    if arch.is_moe and args.cpu_offload:
        notes.append("CPU offload of experts is counted as if every byte asked for were moved.")
    return Settings(
        arch=arch,
        args=args,
        rules=rules,
        gpu=gpu,
        utilization=args.utilization or rules.utilization,
        max_model_len=length,
        tokens=tokens,
        seqs=seqs,
        v2=v2,
        captures=captures,
        shard=shard,
        parts=parts,
        kv=kv,
        load=_load(args, kv),
        step=_step(arch, args, gpu, rules, kv, seqs=seqs, v2=v2),
        notes=tuple(dict.fromkeys(notes)),
        problems=tuple(problems_of(arch, args, shard, length, native)),
    )


def _load(args: EngineArguments, kv: KvOptions) -> LoadOptions:
    """What is loaded beside the decoder's own weights."""
    return LoadOptions(
        tower=not args.multimodal_off,
        tower_replicated=args.tower_replicated,
        loras=args.loras,
        lora_rank=args.lora_rank,
        draft_layers=kv.draft_layers,
        tokens=kv.tokens,
        offload=args.cpu_offload,
    )


def _step(
    arch: Architecture,
    args: EngineArguments,
    gpu: Gpu,
    rules: Rules,
    kv: KvOptions,
    *,
    seqs: int,
    v2: bool,
) -> Step:
    """The forward pass that the engine profiles."""
    return Step(
        tokens=kv.tokens,
        seqs=seqs,
        max_model_len=kv.max_model_len,
        block_size=_attention_block(arch, kv),
        v2=v2,
        compiled=not (args.eager or args.no_compile),
        multiprocessors=gpu.multiprocessors,
        encoder=_profiles_encoder(arch, args, rules, v2=v2),
        deep_gemm=deep_gemm(arch, args),
        deep_gemm_bytes=rules.deep_gemm_bytes,
        warm_sampler=v2 and rules.v2_warms_sampler,
        indexer_mib=_env_int(args.env, "VLLM_SPARSE_INDEXER_MAX_LOGITS_MB", 512),
    )


def _batch(args: EngineArguments, gpu: Gpu, rules: Rules, notes: list[str]) -> tuple[int, int]:
    """Tokens and requests per step (`engine/arg_utils.py::get_batch_defaults`)."""
    large = gpu.memory >= 70 * GIB and "a100" not in gpu.id and "gb10" not in gpu.id
    tokens, seqs = (8192, 1024) if large else (2048, 256)
    if large and gpu.memory >= 160 * GIB and rules.large_batches:
        tokens = 16384
        notes.append("GPUs of 160 GiB and more default to 16,384 batched tokens (since 0.28).")
    if args.chunked_prefill is False and args.max_model_len:
        tokens = max(tokens, args.max_model_len)
    tokens = args.max_num_batched_tokens or tokens
    seqs = args.max_num_seqs or seqs
    return tokens, min(seqs, tokens)


def _length(arch: Architecture, args: EngineArguments, notes: list[str]) -> int:
    if args.max_model_len:
        return args.max_model_len
    if arch.positions is None:
        notes.append(f"The config names no context length; {_FALLBACK_LENGTH} is assumed.")
        return _FALLBACK_LENGTH
    return _native_length(arch)


def _native_length(arch: Architecture) -> int:
    """The context that the engine derives from the config: scaled positions, for yarn."""
    text = arch.config.get("text_config") or arch.config
    scaling = text.get("rope_scaling") or text.get("rope_parameters") or {}
    positions = arch.positions or _FALLBACK_LENGTH
    if not isinstance(scaling, Mapping):
        return positions
    form = scaling.get("rope_type") or scaling.get("type")
    factor, original = scaling.get("factor"), scaling.get("original_max_position_embeddings")
    if form == "yarn" and isinstance(factor, (int, float)) and isinstance(original, int):
        return max(positions, int(original * factor)) if original * factor >= 1 else positions
    return positions


def _runner(arch: Architecture, args: EngineArguments, rules: Rules) -> bool:
    """Whether the V2 model runner is used."""
    forced = args.env.get("VLLM_USE_V2_MODEL_RUNNER")
    if forced is not None and not forced.startswith("$"):
        return forced in ("1", "true", "True")
    return takes_v2(rules.runner, arch, args.spec_method, args.not_everywhere)


def _profiles_encoder(arch: Architecture, args: EngineArguments, rules: Rules, *, v2: bool) -> bool:
    """Whether a vision or audio encoder runs in the profile, so that its output is charged."""
    if not arch.multimodal or args.multimodal_off or args.skip_mm_profiling:
        return False
    return rules.v2_encoder or not v2


def _captures(args: EngineArguments, seqs: int) -> int:
    if args.eager or args.no_graphs:
        return 0
    if args.capture_sizes is not None:
        return args.capture_sizes
    return default_capture_sizes(min(2 * seqs, 512))


def _draft_layers(arch: Architecture, args: EngineArguments, notes: list[str]) -> int:
    """Next-token-prediction layers that are loaded for speculative decoding."""
    if not args.spec_method or args.spec_method == "ngram":
        return 0
    if args.spec_method == "mtp":
        if arch.draft is None:
            notes.append("MTP is asked for, but the config names no such layers: none counted.")
            return 0
        return 1
    notes.append(
        f"The draft model of the speculative method {args.spec_method} is not counted: its "
        "config is not at hand."
    )
    return 0


def _mamba_mode(arch: Architecture, args: EngineArguments, rules: Rules, notes: list[str]) -> str:
    """How recurrent states are cached; off by default (measured on 0.25)."""
    if not arch.is_hybrid or not args.prefix_caching:
        return "none"
    if args.mamba_mode and args.mamba_mode != "none":
        return args.mamba_mode
    mamba2 = any(isinstance(m, Mamba2) for la in arch.kinds[0] for m in la.mixers)
    mode = "all" if mamba2 and rules.mode_all else "align"
    notes.append(f"Prefix caching on a hybrid model caches its states in mode `{mode}`.")
    return mode


def _kv_dtype(arch: Architecture, args: EngineArguments, notes: list[str]) -> str:
    asked = args.kv_cache_dtype
    if asked != "auto":
        return asked
    if arch.checkpoint_kv_cache is not None:
        kind = arch.checkpoint_kv_cache
        notes.append(f"The checkpoint asks for a KV cache in {kind}; `auto` follows it.")
        return kind
    return arch.dtype


def _block_size(
    arch: Architecture,
    args: EngineArguments,
    gpu: Gpu,
    rules: Rules,
    *,
    kv_dtype: str,
    notes: list[str],
) -> int:
    """Tokens per block before alignment: by the attention backend."""
    if args.block_size:
        return args.block_size
    if arch.has_indexer:
        return 64
    if arch.is_compressed:
        return 256
    if arch.is_mla and not arch.is_hybrid:
        if gpu.is_blackwell:
            notes.append("MLA on Blackwell keeps blocks of 32 tokens (read off two logs).")
            return 32
        if kv_dtype.startswith("fp8") or rules.mla_blocks_of_64:
            return 64
    return 16


def _attention_block(arch: Architecture, kv: KvOptions) -> int:
    """Block size of the attention layers after alignment with recurrent states."""
    if not (arch.is_hybrid and arch.is_mla):
        return kv.block_size
    from recipes_core.sizing.kv_cache import kv_plan

    plan = kv_plan(arch, kv, (Stage(0, len(arch.layers)),))
    return plan.block_size if plan is not None else kv.block_size


def _shard(arch: Architecture, args: EngineArguments, rules: Rules) -> Shard:
    """How tensors are cut; without expert parallel, experts are shared by TP x DP ranks."""
    world = args.tp * args.dp * args.pcp
    spread = args.expert_parallel and world > 1
    return Shard(
        tp=args.tp,
        expert_tp=1 if spread else (world if arch.is_moe else args.tp),
        expert_parallel=world if spread else 1,
        dtype=arch.dtype_bytes,
        absorbed=rules.absorbed,
        mxfp4_pad=rules.mxfp4_pad,
        redundant_experts=args.redundant_experts if spread else 0,
    )


def _partition(env: Mapping[str, str]) -> tuple[int, ...]:
    text = env.get("VLLM_PP_LAYER_PARTITION", "")
    parts = [p.strip() for p in text.split(",")]
    return tuple(int(p) for p in parts) if all(p.isdigit() for p in parts) else ()


def _env_int(env: Mapping[str, str], name: str, default: int) -> int:
    value = env.get(name, "")
    return int(value) if value.isdigit() else default


def has_block_fp8_experts(arch: Architecture) -> bool:
    """Whether experts are stored in FP8 with a scale per block."""
    return any(
        isinstance(f, Moe) and f.routed.kind == "fp8_block"
        for la in arch.kinds[0]
        for f in la.feeds
    )


def deep_gemm(arch: Architecture, args: EngineArguments) -> bool:
    """Whether block-FP8 experts run in DeepGEMM, whose buffers are larger.

    Only where the command says so: `fused_moe/oracle/fp8.py` of 0.19 to 0.33 takes Triton's
    kernels on Hopper, FlashInfer's with expert parallel and on Blackwell. Either variable that is
    set takes DeepGEMM, unless one of them is off.
    """
    if args.moe_backend != "auto":
        return args.moe_backend == "deep_gemm" and has_block_fp8_experts(arch)
    given = [args.env.get(name) for name in ("VLLM_USE_DEEP_GEMM", "VLLM_MOE_USE_DEEP_GEMM")]
    asked = [value for value in given if value is not None and not value.startswith("$")]
    return bool(asked) and "0" not in asked and has_block_fp8_experts(arch)
