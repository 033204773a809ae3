"""GPU memory of one engine, figure by figure, as vLLM's own log will print it.

`size()` takes a checkpoint, a GPU and the engine's own command. Nothing here reads widgets or the
network, and nothing imports pandas.
"""

from typing import TYPE_CHECKING, Any

from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.engine import EngineArguments
from recipes_core.sizing.estimate import Declared, size
from recipes_core.sizing.fields import ConfigError
from recipes_core.sizing.hardware import B200, H100, H200, MI300X, Gpu
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.versions import DEFAULT_VLLM

__all__ = [
    "B200",
    "DEFAULT_VLLM",
    "H100",
    "H200",
    "MI300X",
    "Architecture",
    "ConfigError",
    "Declared",
    "EngineArguments",
    "Gpu",
    "Sizing",
    "size",
    "size_configuration",
]


if TYPE_CHECKING:
    from recipes_core.sizing.configuration import size_configuration as size_configuration


def __getattr__(name: str) -> Any:
    """`size_configuration`, loaded when first used: it brings in the whole engine."""
    if name == "size_configuration":
        from recipes_core.sizing.configuration import size_configuration

        return size_configuration
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
