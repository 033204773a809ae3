"""GPU memory of one engine, figure by figure, as vLLM's own log will print it.

`size()` takes a checkpoint, a GPU and the engine's own command. Nothing here reads widgets or the
network, and nothing imports pandas.
"""

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
]
