"""One GPU as far as memory goes."""

from __future__ import annotations

from dataclasses import dataclass

from recipes_core.axes import MAX_NODES

GIB = 1 << 30

_SMS = {"h100": 132, "h200": 132, "a100": 108, "b200": 148, "gb200": 148, "h20": 78}
_SMS_BY_GENERATION = {"hopper": 132, "blackwell": 148, "ampere": 108, "ada": 128}
_SHARE_OF_CATALOG = 0.99
"""Of the catalog's GB, read as GiB: 79.19 of 80, 139.80 of 141, 178.36 of 180 (measured)."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU.

    Args:
        id: As in the taxonomy, such as ``h200``.
        memory: Bytes the driver reports, what the engine multiplies by its utilization.
        brand: ``NVIDIA``, ``AMD`` and so on.
        generation: ``hopper``, ``blackwell`` and so on.
        measured: ``memory`` was read from a real card.
        per_node: GPUs in one node.
        most_nodes: Nodes that one engine may span.
    """

    id: str
    memory: int
    brand: str = "NVIDIA"
    generation: str = "hopper"
    measured: bool = True
    per_node: int = 8
    most_nodes: int = MAX_NODES

    @classmethod
    def from_catalog(
        cls,
        gpu_id: str,
        vram_gb: float,
        *,
        gpu_bytes: int | None = None,
        brand: str = "NVIDIA",
        generation: str = "",
        per_node: int = 1,
        most_nodes: int = MAX_NODES,
    ) -> Gpu:
        """A GPU of the taxonomy.

        Args:
            gpu_id: Its id.
            vram_gb: Catalog memory of one GPU, in GB.
            gpu_bytes: What a driver reported, where a card was read.
            brand: Its brand.
            generation: Its generation.
            per_node: GPUs in one node.
            most_nodes: Nodes that one engine may span.
        """
        if gpu_bytes is not None:
            return cls(gpu_id, gpu_bytes, brand, generation, True, per_node, most_nodes)
        guess = int(vram_gb * GIB * _SHARE_OF_CATALOG)
        return cls(gpu_id, guess, brand, generation, False, per_node, most_nodes)

    @property
    def multiprocessors(self) -> int:
        """Streaming multiprocessors: the sampler's kernel takes a buffer for each."""
        return _SMS.get(self.id, _SMS_BY_GENERATION.get(self.generation.lower(), 132))

    @property
    def is_blackwell(self) -> bool:
        """Whether it is of the Blackwell generation."""
        return self.generation.lower() == "blackwell"

    @property
    def is_nvidia(self) -> bool:
        """Whether it is made by NVIDIA."""
        return self.brand.upper() == "NVIDIA"


H100 = Gpu("h100", 85029615042)
H200 = Gpu("h200", 150109880320)
B200 = Gpu("b200", 191512591728, generation="blackwell")
MI300X = Gpu("mi300x", int(191.98 * GIB), brand="AMD", generation="amd")
