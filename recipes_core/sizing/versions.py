"""What changed between vLLM releases and matters for memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from packaging.version import InvalidVersion, Version

from recipes_core.sizing.fields import ConfigError

DEFAULT_VLLM = "0.25.0"
"""The release that our measurements were made on."""

OLDEST, NEWEST_READ = Version("0.11"), Version("0.33.0")


@dataclass(frozen=True, slots=True)
class Rules:
    """How one vLLM release accounts for memory.

    Args:
        name: The release, as asked.
        utilization: Default of ``--gpu-memory-utilization`` (its own parser: 0.92 since 0.20.0).
        charges_graphs: The CUDA-graph estimate is taken off the KV cache (since 0.20.0).
        v2_runner: The V2 model runner is chosen by itself where it can run (since 0.22.0).
        tokens_from_blocks: The log's tokens are blocks of one group (up to 0.20.0), not
            concurrency times the context.
        in_flight: Batches in flight that sliding layers make room for (2 since 0.26.0, async).
        whole_units: Weights are loaded without splitting large blocks (seen on 0.25, not on 0.19).
        absorbed: MLA keeps an absorbed copy of its up projection in 16 bits too (seen on 0.19).
        mxfp4_pad: Padding of gpt-oss's experts (0.19 pads more than 0.25).
        mode_all: ``--mamba-cache-mode all`` exists (until 0.31).
        deep_gemm: DeepGEMM's larger buffers are seen with sparse attention (on 0.25, not on 0.18).
        large_batches: GPUs of 160 GiB and more have larger default batches (read in 0.33).
        mla_blocks_of_64: MLA on Hopper keeps blocks of 64 tokens (logs up to 0.16).
        measured: Rows of this release were measured.
    """

    name: str
    utilization: float
    charges_graphs: bool
    v2_runner: bool
    tokens_from_blocks: bool
    in_flight: int
    whole_units: bool
    absorbed: bool
    mxfp4_pad: tuple[int, int]
    mode_all: bool
    deep_gemm: bool
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
            return (
                f"No run of vLLM {self.name} was measured; its rules are read from its source, "
                "the constants are those of 0.19 or 0.25.",
            )
        return ()


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
        v2_runner=release >= Version("0.22.0"),
        tokens_from_blocks=release <= Version("0.20.0"),
        in_flight=2 if release >= Version("0.26.0") else 1,
        whole_units=new,
        absorbed=not new,
        mxfp4_pad=(64, 1) if new else (128, 256),
        mode_all=release < Version("0.32.0"),
        deep_gemm=new,
        large_batches=release > Version("0.25.0"),
        mla_blocks_of_64=release < Version("0.17"),
        measured=release in (Version("0.19.0"), Version("0.25.0")),
        version=version,
    )
