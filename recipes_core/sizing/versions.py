"""What changed between vLLM releases and matters for memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from packaging.version import InvalidVersion, Version

from recipes_core.sizing.fields import ConfigError
from recipes_core.sizing.runners import RunnerRule, runner_rule

DEFAULT_VLLM = "0.25.0"
"""The release that our measurements were made on."""

NEWEST_VLLM = "0.33.0"
"""The newest release whose rules were read: what is installed where no release is pinned."""

OLDEST, NEWEST_READ = Version("0.11"), Version(NEWEST_VLLM)


@dataclass(frozen=True, slots=True)
class Rules:
    """How one vLLM release accounts for memory.

    Args:
        name: The release, as asked.
        utilization: Default of ``--gpu-memory-utilization`` (its own parser: 0.92 since 0.20.0).
        charges_graphs: The CUDA-graph estimate is taken off the KV cache (since 0.20.0).
        runner: When the V2 model runner is chosen by itself; None where it never is (until 0.22.0).
        v2_encoder: The V2 runner profiles a vision or audio encoder (since 0.27.0).
        v2_charges_graphs: The V2 runner estimates its CUDA graphs beforehand (since 0.29.0).
        v2_warms_sampler: The V2 runner profiles its sampler with every parameter set (0.33.0).
        tokens_from_blocks: The log's tokens are blocks of one group (up to 0.20.0), not
            concurrency times the context.
        reserves_in_flight: Sliding layers make room for all batches in flight (since 0.26.0).
        whole_units: Weights are loaded without splitting large blocks (since 0.21.0).
        absorbed: MLA keeps an absorbed copy of its up projection in 16 bits too (seen on 0.19).
        mxfp4_pad: Padding of gpt-oss's experts (0.19 pads more than 0.25).
        mode_all: ``--mamba-cache-mode all`` exists (until 0.31).
        deep_gemm_bytes: DeepGEMM's first buffer counts 8-bit elements, not 16-bit (since 0.31.0).
        large_batches: GPUs of 160 GiB and more have larger default batches (since 0.28.0).
        mla_blocks_of_64: MLA on Hopper keeps blocks of 64 tokens (logs up to 0.16).
        measured: Rows of this release were measured.
    """

    name: str
    utilization: float
    charges_graphs: bool
    runner: RunnerRule | None
    v2_encoder: bool
    v2_charges_graphs: bool
    v2_warms_sampler: bool
    tokens_from_blocks: bool
    reserves_in_flight: bool
    whole_units: bool
    absorbed: bool
    mxfp4_pad: tuple[int, int]
    mode_all: bool
    deep_gemm_bytes: bool
    large_batches: bool
    mla_blocks_of_64: bool
    measured: bool
    version: Version

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said about this release."""
        if self.version < OLDEST:
            return (f"vLLM {self.name} is older than 0.11, the oldest whose rules are known here.",)
        if self.version > NEWEST_READ:
            return (f"vLLM {self.name} is newer than 0.33.0; the rules of 0.33.0 are used.",)
        if not self.measured:
            constants = "0.25.0" if self.charges_graphs else "0.19.0"
            return (
                f"No run of vLLM {self.name} was measured: its rules are read in the source, and "
                f"the constants (libraries, CUDA graphs, small buffers) are those of {constants}, "
                "so the bands are wider than for that release.",
            )
        return ()

    @property
    def is_close(self) -> bool:
        """Whether runs of this release or one that accounts like it were measured."""
        return self.measured or self.version < Version("0.20.0")

    def batches_in_flight(self, pp: int, *, v2: bool, asynchronous: bool) -> int:
        """Batches whose tokens sliding layers make room for (`VllmConfig.max_concurrent_batches`).

        Args:
            pp: Pipeline parallel size.
            v2: The V2 model runner.
            asynchronous: Async scheduling.
        """
        if not self.reserves_in_flight:
            return 1
        if asynchronous and v2:
            return pp + 1
        return 2 if asynchronous and pp <= 1 else pp


@lru_cache(maxsize=64)
def rules(vllm: str) -> Rules:
    """The rules of a release.

    Args:
        vllm: Such as ``0.25.0`` or ``v0.18.2rc1``.

    Raises:
        ConfigError: It is no version.
    """
    try:
        version = Version(vllm.removeprefix("v"))
    except InvalidVersion as error:
        raise ConfigError("--vllm", vllm, "is no version; write it like 0.25.0") from error
    release = Version(version.base_version)
    new = release >= Version("0.20.0")
    return Rules(
        name=str(version),
        utilization=0.92 if new else 0.9,
        charges_graphs=new,
        runner=runner_rule(release),
        v2_encoder=release >= Version("0.27.0"),
        v2_charges_graphs=release >= Version("0.29.0"),
        v2_warms_sampler=release >= Version("0.33.0"),
        tokens_from_blocks=release <= Version("0.20.0"),
        reserves_in_flight=release >= Version("0.26.0"),
        whole_units=release >= Version("0.21.0"),
        absorbed=not new,
        mxfp4_pad=(64, 1) if new else (128, 256),
        mode_all=release < Version("0.32.0"),
        deep_gemm_bytes=release >= Version("0.31.0"),
        large_batches=release >= Version("0.28.0"),
        mla_blocks_of_64=release < Version("0.17"),
        measured=release in (Version("0.19.0"), Version("0.25.0")),
        version=version,
    )
