"""Bytes of a checkpoint on disk, from its safetensors headers or index."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recipes_core.sizing.fields import ConfigError

_LARGEST_HEADER = 100 << 20
_NAMES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0",
    "I64": "int64",
    "I32": "int32",
    "I8": "int8",
    "U8": "uint8",
}


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that a checkpoint stores.

    Args:
        by_dtype: Bytes by element type; under ``all`` where only the total is known.
        source: ``headers``, ``index`` or ``declared``.
    """

    by_dtype: tuple[tuple[str, int], ...]
    source: str

    @property
    def total(self) -> int:
        """All bytes together: what is downloaded, but for the tokenizer."""
        return sum(size for _, size in self.by_dtype)


def read_stored(folder: Path) -> Stored | None:
    """Sums the safetensors of a checkpoint folder.

    Headers are exact and give the types; the index gives the total alone.

    Args:
        folder: Of the checkpoint.

    Returns:
        None where the folder holds neither.

    Raises:
        ConfigError: A file is damaged.
    """
    files = sorted(folder.glob("*.safetensors"))
    index = folder / "model.safetensors.index.json"
    listed = _index(index) if index.is_file() else None
    present = {file.name for file in files}
    if files and (listed is None or listed[1] <= present):
        wanted = files if listed is None else [f for f in files if f.name in listed[1]]
        sums: dict[str, int] = {}
        for file in wanted:
            for dtype, size in _header(file).items():
                sums[dtype] = sums.get(dtype, 0) + size
        return Stored(tuple(sorted(sums.items())), "headers")
    if listed is not None and listed[0]:
        return Stored((("all", listed[0]),), "index")
    return None


def _index(path: Path) -> tuple[int, set[str]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        total = int(data.get("metadata", {}).get("total_size", 0))
        return total, {str(name) for name in data.get("weight_map", {}).values()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ConfigError(str(path), "(whole)", f"is no safetensors index: {error}") from error


def _header(path: Path) -> dict[str, int]:
    """Bytes by type of one file."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _LARGEST_HEADER:
                raise ConfigError(str(path), "(header)", f"claims {length} bytes; too many")
            header: dict[str, Any] = json.loads(file.read(length))
        sums: dict[str, int] = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            dtype = _NAMES.get(entry["dtype"], str(entry["dtype"]).lower())
            sums[dtype] = sums.get(dtype, 0) + int(end) - int(begin)
    except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(str(path), "(header)", f"is damaged: {error}") from error
    return sums
