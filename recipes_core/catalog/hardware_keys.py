"""Maps by hardware, as recipes write them: which of their keys holds for a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from recipes_core.catalog.documents import HardwareProfile

T = TypeVar("T")


def pick(mapping: Mapping[str, T], hardware: str, profile: HardwareProfile) -> T | None:
    """The value for a hardware: exact id, else generation, else brand, else ``default``."""
    if not mapping:
        return None
    for key in (hardware, profile.generation, profile.brand.lower(), "default"):
        if key in mapping:
            return mapping[key]
    return None


def generic(mapping: Mapping[str, T], profile: HardwareProfile) -> tuple[str, T] | None:
    """The value for a hardware's generation, else NVIDIA's, with its key."""
    if profile.generation in mapping:
        return profile.generation, mapping[profile.generation]
    if profile.brand == "NVIDIA" and "nvidia" in mapping:
        return "nvidia", mapping["nvidia"]
    return None
