"""The checkpoints and precisions of a model, and what each needs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt

from recipes_core.catalog.documents.base import (
    Args,
    Bool,
    Document,
    Env,
    Evidence,
    HardwareKey,
    HardwareOverride,
    Image,
    RequestKind,
    SizeOrMap,
    Version,
)


class PrecisionHardware(Document):
    """The hardware that can compute in a variant's precision."""

    brand: str | None = None
    generation: str | None = None


class MemoryBudget(Document):
    """GPU-resident memory of a variant whose weights partly live in host memory."""

    gpu_resident_gb: float
    """GB that must fit the GPUs."""
    host_gb: float | None = None
    """GB of host memory that the rest takes."""
    note: str | None = None


class Variant(Document):
    """One checkpoint or precision of a model."""

    precision: str
    """``bf16``, ``fp8``, ``nvfp4``, ``int4`` …"""
    vram_minimum_gb: float = Field(ge=0)
    """Least memory, all GPUs together, in GB."""
    vram_source: Literal["computed", "measured", "declared"] | None = None
    """Where ``vram_minimum_gb`` comes from; absent = declared."""
    model_id: str | None = None
    """Checkpoint, where it is not the recipe's own."""
    label: str | None = None
    description: str | None = None
    min_vllm_version: Version | None = None
    nightly_required: Bool = False
    docker_image: Image | None = None
    plugins: tuple[str, ...] = ()
    """vLLM plugins that this checkpoint needs, beside the model's."""
    extra_args: Args = ()
    extra_env: Env = {}
    hardware_overrides: dict[HardwareKey, HardwareOverride] = {}
    """By exact hardware id, or by generation (then with the recipe's own)."""
    tp: SizeOrMap | None = None
    """Tensor-parallel size under single_node_tp."""
    gpus: dict[HardwareKey, int] = {}
    """GPUs of one node that suffice, per hardware; the rest of the node stays free."""
    nodes: dict[HardwareKey, int] = {}
    """Nodes that are needed, per hardware, where they are known better than by memory."""
    tp_divides: PositiveInt | dict[Literal["tp", "tep"], PositiveInt] | None = None
    """A tensor-parallel size must divide this number (FP8 blocks of the narrowest layer).

    One number for all shapes, or one by shape: under TEP experts stay whole.
    """
    precision_hardware: PrecisionHardware | None = None
    supported_hardware: tuple[str, ...] | None = None
    """Ids or ``arch:<compute_arch>``; absent = all."""
    default_modes: dict[str, str] = {}
    """Feature to mode: forces the feature on, in that mode."""
    cpu_offload: dict[HardwareKey, MemoryBudget] = {}
    """Memory budgets where weights are offloaded to the CPU, per hardware."""
    released: Bool = True
    """False: announced, weights not public yet."""
    request: RequestKind | None = None
    """What the first request to this checkpoint asks; absent = as the model says."""
    evidence: tuple[Evidence, ...] = ()

    @property
    def memory_origin(self) -> str:
        """Where ``vram_minimum_gb`` comes from: computed, measured or declared."""
        return self.vram_source or "declared"
