"""Whether an engine starts and holds one request of full length, said once for every surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from recipes_core.sizing.hardware import GIB

if TYPE_CHECKING:
    from recipes_core.sizing.result import Sizing


class Verdict(NamedTuple):
    """What sizing says of an engine.

    Attributes:
        kind: ``fits``; ``short`` of memory; ``refused`` by the engine; ``unknown``.
        word: The verdict in a word or a few.
        detail: What it rests on, without a full stop; may be empty.
    """

    kind: Literal["fits", "short", "refused", "unknown"]
    word: str
    detail: str = ""

    @property
    def text(self) -> str:
        """Word and detail as one sentence without its full stop."""
        return f"{self.word}: {self.detail}" if self.detail else self.word


def verdict_of(sizing: Sizing) -> Verdict:
    """The verdict on an engine; a refusal comes before a lack of memory."""
    if sizing.problems:
        return Verdict("refused", "Would not start", sizing.problems[0].rstrip("."))
    if sizing.fits is None:
        return Verdict("unknown", "Whether it fits is not known")
    if not sizing.fits:
        return Verdict("short", "Does not fit", _missing(sizing))
    return Verdict("fits", "Fits", _held(sizing))


def _missing(sizing: Sizing) -> str:
    """The bytes that one request of full length lacks, or that the weights alone lack."""
    if not sizing.shortfall:
        return ""
    missing = f"{sizing.shortfall / GIB:,.2f} GiB are missing on each GPU"
    if sizing.needed is None or sizing.max_model_len is None:
        return missing
    return f"{missing} for one request of {sizing.max_model_len:,} tokens"


def _held(sizing: Sizing) -> str:
    """Tokens and requests of the cache, over all data-parallel ranks."""
    if sizing.kv_tokens is None or sizing.max_concurrency is None or sizing.max_model_len is None:
        return ""
    held = f"{sizing.kv_tokens:,} tokens of KV cache"
    if sizing.caches > 1:
        together = f"{sizing.kv_tokens * sizing.caches:,} together"
        held += f" on each of {sizing.caches} data-parallel ranks ({together})"
    most = f"{sizing.max_concurrency * sizing.caches:,.2f}"
    return f"{held}, {most} requests of {sizing.max_model_len:,} tokens at once"
