"""Search of a catalog by several words, ranked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from recipes_core.catalog.catalog import Catalog, RecipeEntry

_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")

WEIGHTS: dict[str, int] = {
    "id": 8,
    "title": 8,
    "provider": 5,
    "task": 3,
    "architecture": 2,
    "precision": 2,
    "hardware": 2,
    "checkpoint": 4,
    "description": 1,
}
"""How much a word found in a field counts; a whole word counts twice as much as the
beginning of one, which counts twice as much as its middle."""


class _Row(NamedTuple):
    entry: RecipeEntry
    fields: tuple[tuple[int, str, frozenset[str]], ...]
    """Weight, folded text and its words."""
    everything: str
    exact: frozenset[str]
    """Folded ids that name the recipe as a whole."""


_INDEXES: WeakKeyDictionary[Catalog, list[_Row]] = WeakKeyDictionary()


def fold(text: str) -> str:
    """A text as it is compared: without case, accents or width."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if not unicodedata.combining(character))


def _texts(catalog: Catalog, entry: RecipeEntry) -> dict[str, str]:
    recipe = entry.recipe
    meta, model = recipe.meta, recipe.model
    provider = catalog.taxonomy.providers.get(meta.provider)
    tasks = {task.id: task.display_name for task in catalog.taxonomy.tasks}
    verified = [
        f"{name} {catalog.hardware[name].display_name} {catalog.hardware[name].brand}"
        for name, support in meta.hardware.items()
        if support == "verified" and name in catalog.hardware
    ]
    checkpoints = {v.model_id for v in recipe.variants.values() if v.model_id}
    return {
        "id": entry.id,
        "title": meta.title,
        "provider": f"{meta.provider} {provider.display_name if provider else ''}",
        "task": " ".join(f"{task} {tasks.get(task, '')}" for task in meta.tasks),
        "architecture": f"{model.architecture} {model.parameter_count or ''}",
        "precision": " ".join(v.precision for v in recipe.variants.values()),
        "hardware": " ".join(verified),
        "checkpoint": " ".join(sorted(checkpoints | {model.model_id})),
        "description": meta.description or "",
    }


def _row(catalog: Catalog, entry: RecipeEntry) -> _Row:
    texts = {name: fold(text) for name, text in _texts(catalog, entry).items()}
    fields = tuple(
        (WEIGHTS[name], text, frozenset(_WORD.findall(text))) for name, text in texts.items()
    )
    names = {texts["id"], texts["title"], texts["id"].rsplit("/", 1)[-1]}
    names.update(texts["checkpoint"].split())
    return _Row(entry, fields, "\n".join(texts.values()), frozenset(names))


def _index(catalog: Catalog) -> list[_Row]:
    rows = _INDEXES.get(catalog)
    if rows is None:
        rows = [_row(catalog, entry) for entry in catalog.recipes.values()]
        _INDEXES[catalog] = rows
    return rows


def _score(row: _Row, words: Iterable[str]) -> int:
    """Points of a recipe; 0 where a word is nowhere in it."""
    total = 0
    for word in words:
        if word not in row.everything:
            return 0
        best = 0
        for weight, text, whole in row.fields:
            if word in text:
                points = 4 * weight if word in whole else weight
                if points < 4 * weight and any(part.startswith(word) for part in whole):
                    points = 2 * weight
                best = max(best, points)
        total += best
    return total


def search(
    catalog: Catalog,
    text: str = "",
    *,
    tasks: Collection[str] = (),
    providers: Collection[str] = (),
    precision: str | None = None,
    hardware_verified: str | None = None,
) -> list[RecipeEntry]:
    """The recipes that a text and filters leave, best first.

    Args:
        catalog: Where to look.
        text: Words that must all occur in id, title, provider, task, architecture, precision,
            verified hardware, a checkpoint's id or the description; case and accents do not
            matter. Empty = all recipes.
        tasks: Task ids of which a recipe has at least one; empty = any.
        providers: Providers as recipes name them, one of which it must have; empty = any.
        precision: Precision that one of its variants must have.
        hardware_verified: Hardware id on which it must be verified.

    Returns:
        Entries by points, then newest first, then by id. A text that is an id, a title or the
        name of a checkpoint puts that recipe first.
    """
    asked = fold(text).split()
    phrase = " ".join(asked)
    wanted = None if precision is None else precision.casefold()
    found: list[tuple[int, int, str, RecipeEntry]] = []
    for row in _index(catalog):
        recipe = row.entry.recipe
        meta = recipe.meta
        if tasks and not any(task in tasks for task in meta.tasks):
            continue
        if providers and meta.provider not in providers:
            continue
        if wanted and all(v.precision.casefold() != wanted for v in recipe.variants.values()):
            continue
        if hardware_verified and meta.hardware.get(hardware_verified) != "verified":
            continue
        points = _score(row, asked)
        if asked and not points:
            continue
        if phrase in row.exact:
            points += 1000
        day = meta.date_added.toordinal() if meta.date_added else 0
        found.append((-points, -day, row.entry.id, row.entry))
    return [entry for *_, entry in sorted(found, key=lambda item: item[:3])]
