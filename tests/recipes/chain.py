"""From a recipe of the peer to ours in named steps, so that each difference has a reason.

The steps of one recipe: the peer's file in the peer's vocabulary; that file as the importer mends
it, in our vocabulary; that with the keys which the two lists of corrections name taken from ours.
The last has to render as our file does.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.checks.facts import releases
from recipes_core.catalog.corrections import Context, corrected, own_id, without_prose
from recipes_core.catalog.documents import Recipe
from recipes_core.catalog.messages import dotted
from recipes_core.catalog.yaml_reader import parse_yaml, read_text
from recipes_core.vllm_cli import versions
from tests.conftest import REPO

PEERS_DAY = datetime.date(2026, 8, 21)
TESTS = REPO / "tests"
Keys = tuple[str, ...]


def named_corrections() -> dict[str, dict[str, str]]:
    """Every key that a list of corrections names, with its reason, by recipe."""
    found: dict[str, dict[str, str]] = {}
    for path in (TESTS / "catalog/hand_corrections.yaml", TESTS / "recipes/corrections.yaml"):
        found |= yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def facts_of(data: Any, path: Keys = ()) -> dict[Keys, Any]:
    """The facts of a document by their keys; a list is one fact."""
    if not (isinstance(data, Mapping) and data):
        return {path: data}
    found: dict[Keys, Any] = {}
    for key, value in data.items():
        found |= facts_of(value, (*path, str(key)))
    return found


def document(facts: Mapping[Keys, Any]) -> dict[str, Any]:
    """The nested form of facts."""
    root: dict[str, Any] = {}
    for path, value in facts.items():
        holder = root
        for key in path[:-1]:
            inner = holder.get(key)
            holder[key] = holder = inner if isinstance(inner, dict) else {}
        holder[path[-1]] = value
    return root


def with_keys(
    facts: dict[Keys, Any], ours: dict[Keys, Any], keys: Iterable[str]
) -> dict[Keys, Any]:
    """Facts in which the named keys say what ours says, or are gone where ours has none."""
    wanted = {key.partition("[")[0] for key in keys}
    merged = {path: value for path, value in facts.items() if dotted(path) not in wanted}
    changed = {path: value for path, value in ours.items() if dotted(path) in wanted}
    order = [*facts, *(path for path in changed if path not in facts)]
    return {
        path: changed.get(path, merged.get(path))
        for path in order
        if path in changed or path in merged
    }


def upstream_documents(shared: Path) -> dict[str, dict[str, Any]]:
    """The peer's files without prose, by the peer's id."""
    return {
        f"{path.parent.name}/{path.stem}": without_prose(parse_yaml(read_text(path), path.name))
        for path in sorted((shared / "upstream" / "models").glob("*/*.yaml"))
    }


@dataclass(eq=False)
class Chain:
    """One recipe on its way from the peer's file to ours."""

    peer_id: str
    raw: dict[str, Any]
    ours: Catalog
    named: dict[str, str]
    context: Context

    @cached_property
    def id(self) -> str:
        return own_id(self.peer_id, self.raw)

    @cached_property
    def own(self) -> dict[Keys, Any]:
        path = REPO / "recipes" / "models" / f"{self.id}.yaml"
        return facts_of(without_prose(parse_yaml(read_text(path), self.id)))

    @cached_property
    def _corrected(self) -> tuple[dict[str, Any], list[str]]:
        return corrected(deepcopy(self.raw), self.id, self.context)

    @property
    def notes(self) -> list[str]:
        """What the importer mends by itself."""
        return self._corrected[1]

    def _catalog(self, data: dict[str, Any]) -> Catalog:
        entry = RecipeEntry(self.id, Recipe.model_validate(data), f"models/{self.id}.yaml", "chain")
        return replace(self.ours, recipes={self.id: entry}, kept={})

    @cached_property
    def imported(self) -> Catalog:
        """The peer's file as the importer mends it."""
        return self._catalog(self._corrected[0])

    def corrected_by(self, keys: Iterable[str]) -> Catalog:
        """The imported file with these keys as ours has them."""
        return self._catalog(document(with_keys(facts_of(self._corrected[0]), self.own, keys)))

    @cached_property
    def all_named(self) -> Catalog:
        """The imported file with every key that a list of corrections names."""
        return self.corrected_by(self.named)

    @cached_property
    def without_each(self) -> dict[str, Catalog]:
        """The same with one named key, by its name, left as the peer has it.

        Keys without which the file is no recipe are not among them.
        """
        found = {}
        for key in self.named:
            with contextlib.suppress(ValidationError):
                found[key] = self.corrected_by(other for other in self.named if other != key)
        return found


def chains(shared: Path, ours: Catalog) -> dict[str, Chain]:
    """A chain for each recipe of the peer, by the peer's id."""
    context = Context(
        frozenset(ours.hardware),
        releases(versions()),
        {name.casefold(): name for name in ours.recipes},
        PEERS_DAY,
    )
    named = named_corrections()
    found = {}
    for peer_id, raw in upstream_documents(shared).items():
        name = own_id(peer_id, raw)
        found[peer_id] = Chain(peer_id, raw, ours, named.get(name, {}), context)
    return found
