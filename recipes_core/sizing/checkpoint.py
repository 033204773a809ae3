"""The files of `recipes/checkpoints/`: what sizing needs to know of one checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from recipes_core.catalog.loader import InvalidDocumentError
from recipes_core.catalog.messages import faults
from recipes_core.catalog.yaml_reader import parse_yaml, read_text
from recipes_core.errors import CatalogError
from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.estimate import Declared
from recipes_core.sizing.stored import Stored

FOLDER = "checkpoints"
REBUILT = "The config.json of this checkpoint was not read"
"""How the note of a rebuilt architecture begins."""


class CheckpointDocument(BaseModel):
    """One checkpoint: facts only, no prose.

    Either `config` (or `same_as`, for a checkpoint with the architecture and storage of another
    one) or `declared_bytes` must be there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """Where the facts come from."""
    basis: Literal["config", "reconstructed", "declared"] = "config"
    """A published config.json, one rebuilt from published facts, or declared bytes alone."""
    assumed: str | None = None
    """What was taken for granted where a config is rebuilt; its bands are wider then."""
    same_as: str | None = None
    """Another checkpoint in this folder whose architecture and storage are the same."""
    config: dict[str, Any] | None = None
    """The keys of config.json that decide sizes."""
    stored_bytes: dict[str, int] = Field(default_factory=dict)
    """Bytes of all tensors on disk by element type, from the safetensors headers."""
    declared_bytes: int | None = Field(default=None, ge=1)
    """Bytes of all weights, where no config is public."""
    context_length: int | None = Field(default=None, ge=1)
    """Native context in tokens, where no config says it."""
    moe: bool = False
    """Mixture of experts, where no config says it."""

    @model_validator(mode="after")
    def _has_a_size(self) -> CheckpointDocument:
        given = [self.config is not None, self.same_as is not None, bool(self.declared_bytes)]
        if sum(given) != 1:
            raise ValueError("exactly one of config, same_as and declared_bytes must be there")
        if self.basis == "declared" and not self.declared_bytes:
            raise ValueError("basis declared needs declared_bytes")
        if self.assumed is not None and self.basis != "reconstructed":
            raise ValueError("assumed goes with basis reconstructed")
        return self


def checkpoint_path(root: Path, model_id: str) -> Path:
    """Where a catalog keeps the facts of a checkpoint.

    Args:
        root: Folder of the catalog.
        model_id: ``org/repo``.
    """
    org, _, repo = model_id.partition("/")
    return root / FOLDER / org / f"{repo}.yaml"


def read_document(path: Path, name: str = "") -> CheckpointDocument:
    """One file of the folder.

    Args:
        path: The file.
        name: How errors call it.

    Raises:
        CatalogError: It cannot be read, is not YAML or not such a document.
    """
    label = name or str(path)
    text = read_text(path, label)
    data = parse_yaml(text, label)
    try:
        return CheckpointDocument.model_validate(data)
    except ValidationError as error:
        raise InvalidDocumentError(faults(error, CheckpointDocument, data), text, label) from error


def load_checkpoint(roots: Iterable[Path], model_id: str) -> Architecture | Declared | None:
    """What is known of a checkpoint, from the last catalog that has it.

    Args:
        roots: Folders of catalogs, the later wins.
        model_id: ``org/repo``.

    Returns:
        None where no catalog has a file for it.

    Raises:
        CatalogError: The file is damaged.
        ConfigError: Its config cannot be sized.
    """
    folders = tuple(roots)
    if model_id.count("/") != 1 or ".." in model_id:
        return None
    for root in reversed(folders):
        path = checkpoint_path(root, model_id)
        if path.is_file():
            return _load(path, path.stat().st_mtime_ns, folders)
    return None


@lru_cache(maxsize=512)
def _load(path: Path, _changed: int, roots: tuple[Path, ...]) -> Architecture | Declared | None:
    name = f"{FOLDER}/{path.parent.name}/{path.name}"
    document = read_document(path, name)
    if document.same_as is None:
        return to_checkpoint(document)
    target = next(
        (p for root in reversed(roots) if (p := checkpoint_path(root, document.same_as)).is_file()),
        None,
    )
    if target is None or target == path:
        return None
    if read_document(target).same_as is not None:
        raise CatalogError(
            f"names {document.same_as}, which itself names another: a chain or a circle",
            name,
            key="same_as",
        )
    return load_checkpoint(roots, document.same_as)


def to_checkpoint(document: CheckpointDocument) -> Architecture | Declared:
    """The architecture or the declared bytes that a document holds.

    Raises:
        ConfigError: Its config cannot be sized.
    """
    if document.config is None:
        return Declared(
            document.declared_bytes or 0,
            document.source,
            positions=document.context_length,
            moe=document.moe,
        )
    arch = Architecture.from_config(document.config)
    if document.basis == "reconstructed":
        note = f"{REBUILT}; used is: {_sentence(document.source)}"
        if document.assumed:
            note += f" Assumed: {_sentence(document.assumed)}"
        arch = _with(
            arch,
            notes=(*arch.notes, note),
            rebuilt=note,
            storage_assumed=document.assumed is not None,
        )
    if document.stored_bytes:
        stored = Stored(tuple(sorted(document.stored_bytes.items())), "headers")
        arch = _with(arch, stored=stored)
    return arch


def _sentence(text: str) -> str:
    return f"{text.strip().rstrip('.')}."


def _with(arch: Architecture, **changes: Any) -> Architecture:
    from dataclasses import replace

    return replace(arch, **changes)
