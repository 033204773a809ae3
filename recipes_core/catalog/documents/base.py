"""What every document is made of: words, keys and versions, and the pieces that several share."""

from __future__ import annotations

import datetime
import shlex
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema


class Document(BaseModel):
    """A frozen piece of a catalog; a key that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value) if isinstance(value, int | float) else value


def _one_command(value: str) -> str:
    try:
        shlex.split(value)
    except ValueError as error:
        raise ValueError(f"a shell cannot read this command: {error}") from None
    return value


_WRITTEN = {"type": ["string", "number", "boolean"]}
Word = Annotated[str, BeforeValidator(_text), WithJsonSchema(_WRITTEN)]
"""A word of a command line or a value; a number or a boolean counts as its text."""
Bool = Annotated[bool, Field(strict=True)]
"""true or false; ``yes`` and ``on`` are words in YAML 1.2, and a fault here."""
Command = Annotated[str, AfterValidator(_one_command)]
"""One command as a shell reads it: its quotes close."""
Args = tuple[Word, ...]
Env = dict[str, Word]
HardwareKey = str
"""A hardware id, a generation, a brand in lower case, or ``default``."""
Support = Literal["verified", "supported", "unsupported"]
PoolMode = Literal["tp", "tep", "dep"]
RequestKind = Literal["chat", "completions", "embeddings", "rerank", "transcriptions"]
"""Endpoint of a first request; transcriptions take a file, the others JSON."""
Frontend = Literal["rust", "python"]
SizeOrMap = int | dict[HardwareKey, int]
Image = str | dict[str, str | dict[str, str]]
"""An image for NVIDIA, or images by brand, and below a brand by CUDA release (``cu130``)."""
Version = Annotated[
    str, Field(pattern=r"^(nightly|\d+\.\d+(\.\d+)?([abrc.+-].*)?)$"), BeforeValidator(_text)
]
"""A vLLM release, or ``nightly`` where no release will do."""
Selector = str | tuple[str, ...]


class Evidence(Document):
    """Where a claim comes from: a run that somebody really made."""

    source: str
    """Address or name of the report."""
    date: datetime.date | None = None
    """Day of the run."""
    vllm: Version | None = None
    """vLLM version of the run."""
    figures: dict[str, Word] = {}
    """What was measured, with units in the key or the value."""


class HardwareOverride(Document):
    """What one kind of hardware adds to a layer."""

    extra_args: Args = ()
    extra_env: Env = {}
    docker_image: Image | None = None
    """Image for exactly this hardware (variants only)."""
    plugins: tuple[str, ...] = ()
    """vLLM plugins that this hardware's image or arguments bring, beside the model's."""
    default_frontend: Frontend | None = None
    """HTTP front end on this hardware."""


class FeatureHardwareOverride(Document):
    """What a feature passes on one kind of hardware, in place of its own arguments."""

    args: Args = ()
    env: Env = {}


class Companion(Document):
    """A process beside the engine on the same node."""

    label: str
    command: Command
    """Shell text, as pasted."""
    start: Literal["before", "after"] = "before"
    install: str | None = None
    description: str | None = None
    port: int | None = None
