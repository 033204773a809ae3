"""What the figures of one engine rest on, in words."""

from __future__ import annotations

from recipes_core.sizing.settings import Settings, has_block_fp8_experts
from recipes_core.sizing.weights import checkpoint_bytes

STORED_TOLERANCE = 0.03
"""Share by which files may differ from their config before weights follow the files."""


def assumptions_of(settings: Settings, non_torch_origin: str, *, nccl: bool = True) -> list[str]:
    """What the figures rest on, beyond what resolving already said.

    Args:
        settings: The engine.
        non_torch_origin: Where the memory of libraries comes from.
        nccl: NCCL's memory is charged.
    """
    args, arch, found = settings.args, settings.arch, []
    if not settings.gpu.measured:
        found.append(
            f"No driver figure of a {settings.gpu.id} is known; 0.99 of its catalog memory is "
            "taken."
        )
    grouped = args.tp > 1 or (args.dp > 1 and arch.is_moe)
    if grouped and not nccl:
        found.append(
            "NCCL's memory is left out: no row with an external launcher held any; a real group of "
            "ranks takes about 2 GiB more."
        )
    elif grouped:
        found.append(
            f"Memory of libraries and NCCL is {non_torch_origin}; on this release it was not "
            "measured with real tensor parallel."
            if settings.rules.charges_graphs
            else f"Memory of libraries and NCCL is {non_torch_origin}."
        )
    if not settings.gpu.is_nvidia:
        found.append("Constants were measured on NVIDIA GPUs; ROCm is known to load more.")
    if arch.stored is not None and arch.layers:
        ratio = arch.stored.total / max(checkpoint_bytes(arch), 1)
        if abs(ratio - 1) > STORED_TOLERANCE:
            found.append(
                f"The files hold {ratio:.3f} times what the config describes; weights follow the "
                "files."
            )
    if arch.is_compressed:
        found.append("DeepSeek-V4 is read from source alone; no run of it was measured.")
    if arch.model_type == "whisper":
        found.append("Whisper is read from source alone; no run of it was measured.")
    if settings.load.draft_layers:
        found.append("MTP layers are counted from the config; no run with them was measured.")
    experts = _block_fp8_kernels(settings)
    if experts:
        found.append(experts)
    if settings.step.warm_sampler:
        found.append(
            f"vLLM {settings.rules.name} profiles its V2 sampler with every parameter set; the "
            "copies of the logits that this makes are read in its source, not measured."
        )
    if args.kv_connector:
        found.append("Buffers of the KV connector are not counted.")
    if args.kv_offload:
        found.append(f"{args.kv_offload:,} bytes of host memory are asked for offloaded KV cache.")
    return found


def _block_fp8_kernels(settings: Settings) -> str | None:
    """Which kernels run experts in block FP8, and whether their buffers were measured."""
    if not has_block_fp8_experts(settings.arch):
        return None
    if settings.step.deep_gemm:
        return "Experts in block FP8 run in DeepGEMM, as the command says; its buffers are counted."
    if settings.args.moe_backend not in ("auto", "triton"):
        return (
            f"Buffers of the MoE backend {settings.args.moe_backend} were not measured; those of "
            "Triton's kernels are counted."
        )
    gpu = settings.gpu
    if gpu.is_nvidia and gpu.generation.lower() == "hopper":
        if settings.shard.expert_parallel == 1:
            return (
                "vLLM runs experts in block FP8 in Triton's kernels on Hopper, and these are "
                "counted; VLLM_USE_DEEP_GEMM=1 takes DeepGEMM, whose buffers are larger."
            )
        taken = "FlashInfer's CUTLASS kernels on Hopper with expert parallel"
    elif gpu.is_nvidia and gpu.is_blackwell:
        taken = "FlashInfer's kernels on Blackwell"
    else:
        taken = f"kernels of its own choice on a {gpu.id}"
    return (
        f"vLLM runs experts in block FP8 in {taken}, whose buffers were not measured; those of "
        "Triton's kernels are counted."
    )
