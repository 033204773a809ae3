"""Collects findings about the files of a catalog and gives each its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import HardwareProfile
from recipes_core.catalog.messages import dotted
from recipes_core.catalog.yaml_reader import lines_of, read_text
from recipes_core.errors import CatalogError, nearest
from recipes_core.findings import Finding, Severity

Path_ = tuple[str | int, ...]


class _Place(NamedTuple):
    root: str
    source: str


class Vocabulary:
    """The ids that a catalog knows, sorted by what they name."""

    def __init__(self, catalog: Catalog) -> None:
        profiles: Mapping[str, HardwareProfile] = catalog.hardware
        self.hardware = list(profiles)
        self.generations = list(dict.fromkeys(p.generation for p in profiles.values()))
        self.brand_names = list(dict.fromkeys(p.brand for p in profiles.values()))
        self.brands = [brand.lower() for brand in self.brand_names]
        self.architectures = {p.compute_arch for p in profiles.values() if p.compute_arch}
        self.strategies = list(dict.fromkeys((*catalog.taxonomy.strategies, *catalog.strategies)))
        self.kv_options = list(catalog.taxonomy.kv_offload)
        self.kv_stores = list(catalog.kv_stores)
        self.tasks = [task.id for task in catalog.taxonomy.tasks]
        self.platforms = list(catalog.platforms)
        self.any_key = list(
            dict.fromkeys((*self.hardware, *self.generations, *self.brands, "default"))
        )


class Report:
    """Findings in the order in which they were made, with the file that each is about."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.vocabulary = Vocabulary(catalog)
        self._found: list[tuple[Severity, str, str, Path_, _Place]] = []
        self._place = _Place("", "")

    def about(self, root: str, source: str) -> None:
        """Say which file the next findings are about."""
        self._place = _Place(root, source)

    def add(self, severity: Severity, code: str, message: str, path: Path_ = ()) -> None:
        """Note a finding at a path of the current file."""
        self._found.append((severity, code, message, path, self._place))

    def error(self, code: str, message: str, path: Path_ = ()) -> None:
        """Note what must be mended."""
        self.add("error", code, message, path)

    def warn(self, code: str, message: str, path: Path_ = ()) -> None:
        """Note what should be mended."""
        self.add("warning", code, message, path)

    def known(
        self, kind: str, word: str, allowed: Iterable[str], path: Path_, *, noun: str = ""
    ) -> bool:
        """Note an error unless a word is one of those that are known; say whether it is.

        Args:
            kind: What the word names, such as ``hardware``; the code is ``unknown-<kind>``.
            word: The word found.
            allowed: What is known.
            path: Where it stands.
            noun: How the message calls it; the kind where empty.
        """
        allowed = list(allowed)
        if word in allowed:
            return True
        near = nearest(word, allowed)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(allowed[:12]) + (" …" if len(allowed) > 12 else "")
        self.error(
            f"unknown-{kind}",
            f"unknown {noun or kind} {word!r}{hint} (known: {listed or 'none'})",
            path,
        )
        return False

    def findings(self) -> Iterator[Finding]:
        """Every finding, with the line on which its key stands."""
        lines: dict[_Place, dict[Path_, int]] = {}
        for severity, code, message, path, place in self._found:
            if place not in lines:
                lines[place] = self._lines(place)
            known, around = lines[place], path
            while around and around not in known:
                around = around[:-1]
            prefix = f"{place.root}:" if place.root == "builtin" else f"{place.root}/"
            source = prefix + place.source if place.root else place.source
            yield Finding(severity, code, message, dotted(path), source, known.get(around))

    def _lines(self, place: _Place) -> dict[Path_, int]:
        root: Path | None = self.catalog.roots.get(place.root)
        if root is None or not place.source:
            return {}
        try:
            return lines_of(read_text(root / place.source))
        except CatalogError:
            return {}


def is_omni(entry: RecipeEntry) -> bool:
    """Whether vLLM-Omni serves the recipe, where no strategy lays an engine out."""
    return "omni" in entry.recipe.meta.tasks and entry.recipe.omni is not None
