"""What the figures of one engine rest on, in words."""

from __future__ import annotations

from recipes_core.sizing.settings import Settings
from recipes_core.sizing.shapes import Moe
from recipes_core.sizing.weights import checkpoint_bytes

STORED_TOLERANCE = 0.03
"""Share by which files may differ from their config before weights follow the files."""


def assumptions_of(settings: Settings, non_torch_origin: str) -> list[str]:
    """What the figures rest on, beyond what resolving already said."""
    args, arch, found = settings.args, settings.arch, []
    if not settings.gpu.measured:
        found.append(
            f"No driver figure of a {settings.gpu.id} is known; 0.99 of its catalog memory is "
            "taken."
        )
    if (args.tp > 1 and not args.external_launcher) or (args.dp > 1 and arch.is_moe):
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
    if args.external_launcher and args.tp > 1:
        found.append("Ranks of an external launcher were measured alone; NCCL may take 2 GiB more.")
    if _could_use_deep_gemm(settings):
        found.append(
            "Experts in block FP8 are counted without DeepGEMM's larger buffers; set "
            "VLLM_USE_DEEP_GEMM=1 to count them."
        )
    if args.kv_connector:
        found.append("Buffers of the KV connector are not counted.")
    if args.kv_offload:
        found.append(f"{args.kv_offload:,} bytes of host memory are asked for offloaded KV cache.")
    return found


def _could_use_deep_gemm(settings: Settings) -> bool:
    """Whether DeepGEMM would change the figures but was not counted."""
    if settings.step.deep_gemm or settings.args.env.get("VLLM_USE_DEEP_GEMM") == "0":
        return False
    feeds = (f for la in settings.arch.kinds[0] for f in la.feeds)
    return any(isinstance(f, Moe) and f.routed.kind == "fp8_block" for f in feeds)
