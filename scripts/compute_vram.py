"""Compares `vram_minimum_gb` in recipes with what sizing computes from `recipes/checkpoints`.

    python scripts/compute_vram.py [--recipes DIR] [--write]

Each variant says in `vram_source` where its figure comes from. Where a published config of its
checkpoint is there, the figure is computed: the weights once loaded, and a fifth more, rounded up.
Where none is there, or one that was rebuilt from other facts, it is declared. A figure that is
measured is left alone, as is one that says `declared` although it could be computed: those are
listed, and tests/recipes/test_memory_sources.py knows why each is kept.

Without `--write` it prints what differs and returns 1 if anything does. `--write` edits the lines
of the two keys alone; comments, guides and lists of corrections are for the author.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.loader import load_catalog
from recipes_core.catalog.starter import least_vram_gb
from recipes_core.catalog.yaml_reader import line_of
from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.checkpoint import checkpoint_path, load_checkpoint, read_document
from recipes_core.sizing.declared import GB, loaded_weights

REPO = Path(__file__).resolve().parent.parent
_VALUE = re.compile(r"(?<=: )\S+")


def weights_gb(catalog: Catalog, model_id: str) -> float | None:
    """GB of a checkpoint's weights once loaded.

    Args:
        catalog: A loaded catalog.
        model_id: ``org/repo``.

    Returns:
        None where no published config is at hand, or not all of it could be read.
    """
    roots = tuple(catalog.roots.values())
    arch = load_checkpoint(roots, model_id)
    if not isinstance(arch, Architecture) or arch.missing or arch.rebuilt:
        return None
    path = next(p for root in reversed(roots) if (p := checkpoint_path(root, model_id)).is_file())
    if read_document(path).basis != "config":
        return None
    return loaded_weights(arch) / GB


@dataclass(frozen=True)
class Figure:
    """The memory figure of one variant, and what it could be."""

    catalog: Catalog
    entry: RecipeEntry
    name: str

    @property
    def said(self) -> float:
        """GB in the recipe."""
        return self.entry.recipe.variants[self.name].vram_minimum_gb

    @property
    def source(self) -> str | None:
        """`vram_source` in the recipe."""
        return self.entry.recipe.variants[self.name].vram_source

    @cached_property
    def weights(self) -> float | None:
        """GB of the weights once loaded; None where they cannot be known."""
        variant = self.entry.recipe.variants[self.name]
        # Weights that stay in host memory are no part of the figure, and no config says how many.
        if variant.cpu_offload:
            return None
        return weights_gb(self.catalog, variant.model_id or self.entry.recipe.model.model_id)

    @property
    def computed(self) -> int | None:
        """GB by sizing; None where the checkpoint is not known well enough."""
        return None if self.weights is None else least_vram_gb(self.weights)

    @property
    def kept(self) -> bool:
        """It says that it is declared although it could be computed."""
        return self.source == "declared" and self.computed is not None

    @property
    def wanted(self) -> tuple[float, str]:
        """The figure and its source as they should be."""
        if self.source == "measured" or self.kept:
            return self.said, str(self.source)
        if self.computed is None:
            return self.said, "declared"
        return self.computed, "computed"

    def __str__(self) -> str:
        by = "" if self.weights is None else f" ({self.weights:.1f} GB of weights)"
        gb, source = self.wanted
        return (
            f"{self.entry.id} {self.name}: {self.said:g} GB, {self.source or 'no source'}"
            f" -> {gb:g} GB, {source}{by}"
        )


def figures(catalog: Catalog) -> Iterator[Figure]:
    """Every variant of every recipe."""
    for entry in catalog.recipes.values():
        for name in entry.recipe.variants:
            yield Figure(catalog, entry, name)


def edited(text: str, name: str, gb: float, source: str) -> str:
    """A recipe's text with another figure and source for one variant.

    Args:
        text: The YAML file.
        name: Id of the variant.
        gb: New `vram_minimum_gb`.
        source: New `vram_source`.

    Raises:
        ValueError: The keys do not stand on lines of their own.
    """
    lines = text.splitlines(keepends=True)
    at = line_of(text, ("variants", name, "vram_minimum_gb"))
    if at is None or not lines[at - 1].lstrip().startswith("vram_minimum_gb:"):
        raise ValueError(f"variants.{name}.vram_minimum_gb has no line of its own")
    figure = lines[at - 1]
    indent = figure[: len(figure) - len(figure.lstrip())]
    lines[at - 1] = _VALUE.sub(f"{gb:g}", figure, count=1)
    there = line_of(text, ("variants", name, "vram_source"))
    if there is not None and lines[there - 1].lstrip().startswith("vram_source:"):
        lines[there - 1] = _VALUE.sub(source, lines[there - 1], count=1)
    else:
        lines.insert(at, f"{indent}vram_source: {source}\n")
    return "".join(lines)


def main() -> int:
    """Print what differs, or write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--recipes", type=Path, default=REPO / "recipes")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    catalog = load_catalog(asked.recipes)
    differing = 0
    for figure in figures(catalog):
        if figure.kept:
            print(f"kept: {figure}; {figure.computed} GB by sizing")
        if figure.wanted == (figure.said, figure.source):
            continue
        differing += 1
        print(figure)
        if asked.write:
            path = catalog.roots[figure.entry.root] / figure.entry.source
            text = edited(path.read_text(encoding="utf-8"), figure.name, *figure.wanted)
            path.write_text(text, encoding="utf-8")
    print(f"{differing} differ" + ("; written" if asked.write else ""))
    return 0 if asked.write else int(differing > 0)


if __name__ == "__main__":
    raise SystemExit(main())
