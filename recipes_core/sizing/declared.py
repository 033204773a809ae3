"""Compares the memory that recipes declare with what their checkpoints really take."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.loader import BUILTIN
from recipes_core.catalog.yaml_reader import line_of, read_text
from recipes_core.findings import Finding
from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.checkpoint import load_checkpoint
from recipes_core.sizing.shapes import Moe
from recipes_core.sizing.shards import Shard
from recipes_core.sizing.weights import (
    Allocator,
    LoadOptions,
    Stage,
    parameter_count,
    rank_weights,
)

_ROOMY = 2.0
GB = 10**9


def loaded_weights(arch: Architecture) -> int:
    """Bytes of the weights once loaded, all together on one GPU."""
    shard = Shard(dtype=arch.dtype_bytes)
    whole = Stage(0, len(arch.layers))
    return rank_weights(arch, shard, whole, Allocator(), LoadOptions()).total


@lru_cache(maxsize=256)
def active_parameters(arch: Architecture) -> int:
    """Parameters that one token passes through: of the routed experts only the chosen ones."""
    idle = 0
    for layer in arch.layers:
        for feed in layer.feeds:
            if isinstance(feed, Moe):
                width = feed.latent or arch.hidden
                one = (3 if feed.gated else 2) * width * feed.inner
                idle += (feed.experts - feed.top_k) * one
    return parameter_count(arch) - idle


def _place(catalog: Catalog, entry: RecipeEntry, variant: str) -> tuple[str, int | None]:
    """The file as messages call it, and the line of the figure."""
    root = catalog.roots.get(entry.root)
    label = (
        f"{entry.root}:{entry.source}" if entry.root == BUILTIN else f"{entry.root}/{entry.source}"
    )
    if root is None or not (root / entry.source).is_file():
        return label, None
    text = read_text(root / entry.source, label)
    return label, line_of(text, ("variants", variant, "vram_minimum_gb"))


def memory_findings(catalog: Catalog) -> Iterator[Finding]:
    """What is wrong with the `vram_minimum_gb` of variants whose checkpoints are known.

    Args:
        catalog: A loaded catalog.

    Yields:
        A warning where the weights alone are larger (a remark where the config was rebuilt), a
        remark where more than twice their size is asked for. A damaged checkpoint file raises, as
        it does when it is used.
    """
    roots = tuple(catalog.roots.values())
    for entry in catalog.recipes.values():
        for name, variant in entry.recipe.variants.items():
            model = variant.model_id or entry.recipe.model.model_id
            arch = load_checkpoint(roots, model)
            if not isinstance(arch, Architecture) or arch.missing or variant.vram_minimum_gb <= 0:
                continue
            weights, said = loaded_weights(arch) / GB, variant.vram_minimum_gb
            where = f"variants.{name}.vram_minimum_gb"
            source, line = _place(catalog, entry, name)
            if said < weights and not variant.cpu_offload:
                yield Finding(
                    "info" if arch.rebuilt else "warning",
                    "vram-below-weights",
                    f"is {said:g} GB, but the weights of {model} alone take {weights:.1f} GB "
                    "(computed from its config)",
                    where,
                    source,
                    line,
                )
            elif said > _ROOMY * weights + 16:
                yield Finding(
                    "info",
                    "vram-far-above-weights",
                    f"is {said:g} GB, {said / weights:.1f} times the {weights:.1f} GB that the "
                    f"weights of {model} take (computed from its config)",
                    where,
                    source,
                    line,
                )
