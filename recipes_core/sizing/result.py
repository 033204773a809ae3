"""What sizing found, as one object and as the JSON that clients read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from recipes_core.sizing.hardware import GIB, Gpu
from recipes_core.sizing.kv_cache import KvPlan
from recipes_core.sizing.settings import Settings
from recipes_core.sizing.verdict import Verdict, verdict_of

if TYPE_CHECKING:
    from recipes_core.sizing.estimate import Rank


@dataclass(frozen=True)
class Sizing:
    """The memory of one engine on its fullest GPU, in bytes.

    A figure that cannot be known is None; `assumptions` says why.

    Args:
        vllm: Release.
        basis: ``measured`` (a budget was given), ``computed`` or ``declared``.
        gpu: The card.
        utilization: Share of the card.
        weights: Model weights, as the engine logs them.
        activation: Largest step.
        non_torch: Libraries and NCCL.
        graphs: Charged for CUDA graphs.
        available: Left for the KV cache; negative where the rest already exceeds the share.
        outside: Held above the share.
        free: Left on the card for others.
        band: Lowest and highest bytes of each part.
        kv_bytes_per_token: Of context, over all layers of the rank.
        kv_block_size: Tokens per block.
        kv_blocks: Blocks of the cache.
        kv_tokens: Logged tokens.
        max_concurrency: Logged concurrency.
        max_model_len: Longest request.
        fits: It starts and holds one request of full length.
        shortfall: Bytes that are missing for that.
        needed: Bytes of cache that one request of full length needs.
        assumptions: What the figures rest on.
        problems: Why the engine would refuse to start.
        settings: The resolved engine.
        plan: Layout of the cache.
        ranks: All pipeline ranks.
        process: Name of the process in its deployment, where it is part of one.
    """

    vllm: str
    basis: Literal["measured", "computed", "declared"]
    gpu: Gpu
    utilization: float
    weights: int | None
    activation: int | None
    non_torch: int | None
    graphs: int | None
    available: int | None
    outside: int | None
    free: int | None
    band: dict[str, tuple[int, int]]
    kv_bytes_per_token: int | None
    kv_block_size: int | None
    kv_blocks: int | None
    kv_tokens: int | None
    max_concurrency: float | None
    max_model_len: int | None
    fits: bool | None
    shortfall: int | None
    needed: int | None
    assumptions: tuple[str, ...]
    problems: tuple[str, ...]
    settings: Settings | None
    plan: KvPlan | None
    ranks: tuple[Rank, ...]
    process: str | None = None

    @property
    def requested(self) -> int:
        """The engine's share of the card."""
        return math.ceil(self.utilization * self.gpu.memory)

    @property
    def caches(self) -> int:
        """Caches of this kind that the engine has: one for each data parallel rank.

        `kv_tokens` and `max_concurrency` are those of one, as each rank logs them.
        """
        return self.settings.args.dp if self.settings is not None else 1

    @property
    def verdict(self) -> Verdict:
        """Whether it starts and holds one request, in words."""
        return verdict_of(self)

    @property
    def log_lines(self) -> tuple[str, ...]:
        """What the engine is predicted to print at start."""
        lines: list[str] = []
        if self.weights is not None and self.basis != "declared":
            lines.append(f"Model loading took {self.weights / GIB:.2f} GiB memory")
        if self.available is not None:
            lines.append(f"Available KV cache memory: {max(0, self.available) / GIB:.2f} GiB")
        if self.kv_tokens is not None and self.max_concurrency is not None:
            length = self.max_model_len or 0
            lines += [
                f"GPU KV cache size: {self.kv_tokens:,} tokens",
                f"Maximum concurrency for {length:,} tokens per request: "
                f"{self.max_concurrency:.2f}x",
            ]
        return tuple(lines)

    @property
    def per_gpu(self) -> dict[str, int | None]:
        """Bytes of each part on the fullest GPU."""
        kv = None if self.available is None else max(0, self.available)
        return {
            "weights": self.weights,
            "activation": self.activation,
            "non_torch": self.non_torch,
            "cuda_graphs": self.graphs,
            "kv_cache": kv,
            "outside_budget": self.outside,
            "free": self.free,
        }

    def to_json(self) -> dict[str, Any]:
        """The `sizing` object: fixed names first, further ones after."""
        return {
            "vllm": self.vllm,
            "basis": self.basis,
            "gpu_total_bytes": self.gpu.memory,
            "gpu_memory_utilization": self.utilization,
            "per_gpu": self.per_gpu,
            "band": {"weights": None, "kv_cache": None}
            | {name: list(pair) for name, pair in self.band.items()},
            "kv_bytes_per_token": self.kv_bytes_per_token,
            "kv_block_size": self.kv_block_size,
            "kv_tokens": self.kv_tokens,
            "max_concurrency": self.max_concurrency,
            "max_model_len": self.max_model_len,
            "fits": self.fits,
            "shortfall_bytes": self.shortfall,
            "log_lines": list(self.log_lines),
            "assumptions": list(self.assumptions),
            "problems": list(self.problems),
            "verdict": self.verdict.text,
            "requested_bytes": self.requested,
            "needed_kv_bytes": self.needed,
            "process": self.process,
            **self._engine(),
        }

    def _engine(self) -> dict[str, Any]:
        """How the engine was resolved."""
        settings, plan = self.settings, self.plan
        if settings is None:
            return {}
        args = settings.args
        found: dict[str, Any] = {
            "engine": {
                "tensor_parallel_size": args.tp,
                "pipeline_parallel_size": args.pp,
                "data_parallel_size": args.dp,
                "expert_parallel": args.expert_parallel,
                "dtype": settings.arch.dtype,
                "kv_cache_dtype": settings.kv.kv_dtype,
                "max_num_seqs": settings.seqs,
                "max_num_batched_tokens": settings.tokens,
                "model_runner": "V2" if settings.v2 else "V1",
                "cuda_graph_sizes": settings.captures,
            },
        }
        if plan is not None:
            found["kv_blocks"] = self.kv_blocks
            found["kv_groups"] = [
                {
                    "kind": group.spec.kind,
                    "layers": sum(group.layers),
                    "block_size": group.spec.block,
                    "page_bytes": group.spec.page,
                    "window": group.spec.window or None,
                }
                for group in plan.groups
            ]
        if self.ranks:
            found["weight_parts"] = self.ranks[0].weights.parameters
        return found
