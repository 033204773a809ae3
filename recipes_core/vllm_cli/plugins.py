"""What packages beside vLLM add: names and variables that no table of vLLM holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Plugin:
    """What one package adds to ``vllm serve``."""

    name: str
    """The name by which a recipe or a reader asks for it."""
    prefixes: tuple[str, ...] = ()
    """Beginnings of the variables that it reads."""
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names that it registers, by registry, or by flag where vLLM's own list is closed."""


PLUGINS: dict[str, Plugin] = {
    plugin.name: plugin
    for plugin in (
        Plugin("vllm-ascend", ("VLLM_ASCEND_",), {"quantization": ("ascend",)}),
        Plugin("vllm-gaudi", ("VLLM_PROMPT_", "VLLM_DECODE_", "VLLM_SKIP_WARMUP")),
        Plugin(
            "vllm-ernie",
            choices={"reasoning_parser": ("ernie5",), "tool_call_parser": ("ernie5",)},
        ),
        Plugin(
            "vllm-b12x",
            ("VLLM_USE_B12X_", "VLLM_MEMORY_PROFILE_INCLUDE_ATTN"),
            {"attention_backend": ("B12X_MLA_SPARSE",), "moe_backend": ("b12x",)},
        ),
    )
}
"""Packages and builds that are known to add to vLLM; ``vllm-b12x`` is the SM12x build for GB10."""


@dataclass(frozen=True, slots=True)
class Additions:
    """What a set of plugins adds together."""

    prefixes: tuple[str, ...] = ()
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)


@lru_cache(maxsize=64)
def additions(plugins: tuple[str, ...]) -> Additions:
    """Join what some plugins add; a name that is not in PLUGINS adds nothing."""
    prefixes: tuple[str, ...] = ()
    choices: dict[str, tuple[str, ...]] = {}
    for name in filter(PLUGINS.__contains__, plugins):
        prefixes += PLUGINS[name].prefixes
        for kind, names in PLUGINS[name].choices.items():
            choices[kind] = choices.get(kind, ()) + names
    return Additions(prefixes, choices)
