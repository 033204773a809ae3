"""Search of a catalog by several words, ranked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from difflib import get_close_matches
from typing import NamedTuple
from weakref import WeakKeyDictionary

from recipes_core.catalog.catalog import Catalog, RecipeEntry

_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")
_BETWEEN = re.compile(r"[\W_]+")
_DASHES = {ord(dash): "-" for dash in "\u2010\u2011\u2012\u2013\u2014\u2212"}
NEAR = 0.75
"""How alike a word and a name are before the one is taken for a slip of the other."""
NAMES = ("id", "title", "provider", "checkpoint")
"""Fields that hold names."""

WEIGHTS: dict[str, int] = {
    "id": 8,
    "title": 8,
    "provider": 5,
    "task": 3,
    "architecture": 2,
    "precision": 2,
    "hardware": 2,
    "checkpoint": 4,
    "about": 1,
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
    joined: str
    """Its names from each of their words on, without what stands between words; a line each."""


_INDEXES: WeakKeyDictionary[Catalog, list[_Row]] = WeakKeyDictionary()


def fold(text: str) -> str:
    """A text as it is compared: without case, accents or width, and with one kind of dash."""
    plain = unicodedata.normalize("NFKD", text.casefold()).translate(_DASHES)
    return "".join(character for character in plain if not unicodedata.combining(character))


def _texts(catalog: Catalog, entry: RecipeEntry) -> dict[str, str]:
    recipe = entry.recipe
    meta, model = recipe.meta, recipe.model
    provider = catalog.taxonomy.providers.get(meta.provider)
    tasks = {task.id: task for task in catalog.taxonomy.tasks}
    done = [tasks[task] for task in meta.tasks if task in tasks]
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
        "task": " ".join((*meta.tasks, *(task.display_name for task in done))),
        "architecture": f"{model.architecture} {model.parameter_count or ''}",
        "precision": " ".join(v.precision for v in recipe.variants.values()),
        "hardware": " ".join(verified),
        "checkpoint": " ".join(sorted(checkpoints | {model.model_id})),
        "about": " ".join((meta.description or "", *(task.description or "" for task in done))),
    }


def _row(catalog: Catalog, entry: RecipeEntry) -> _Row:
    texts = {name: fold(text) for name, text in _texts(catalog, entry).items()}
    fields = tuple(
        (WEIGHTS[name], text, frozenset(_WORD.findall(text))) for name, text in texts.items()
    )
    names = {texts["id"], texts["title"], texts["id"].rsplit("/", 1)[-1]}
    names.update(texts["checkpoint"].split())
    joined = {part for name in NAMES for part in _joined(texts[name])}
    return _Row(
        entry, fields, "\n".join(texts.values()), frozenset(names), "\n".join(("", *sorted(joined)))
    )


def _joined(name: str) -> list[str]:
    """A name from each of its words on, without what stands between: so gptoss finds gpt-oss."""
    words = _WORD.findall(name)
    return [_BETWEEN.sub("", "".join(words[start:])) for start in range(len(words))]


def _index(catalog: Catalog) -> list[_Row]:
    rows = _INDEXES.get(catalog)
    if rows is None:
        rows = [_row(catalog, entry) for entry in catalog.recipes.values()]
        _INDEXES[catalog] = rows
    return rows


class _Word:
    """One word that is looked for.

    A number is not found inside another, so that 7b is neither 27b nor 1.7b.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        inside = r"(?<!\d)(?<!\d\.)" if text[0].isdigit() else ""
        self.pattern = re.compile(inside + re.escape(text))
        self.joined = f"\n{_BETWEEN.sub('', text)}"

    def points(self, row: _Row) -> int:
        """Points of a recipe for this word; 0 where it is nowhere in it."""
        if not self.pattern.search(row.everything):
            return WEIGHTS["id"] if self.joined in row.joined else 0
        best = 0
        for weight, text, whole in row.fields:
            if self.text in whole:
                best = max(best, 4 * weight)
            elif self.pattern.search(text):
                starts = any(part.startswith(self.text) for part in whole)
                best = max(best, (2 if starts else 1) * weight)
        return best


def _words(text: str) -> list[_Word]:
    bare = (word.strip(".,;:()\"'") for word in fold(text).split())
    return [_Word(word) for word in bare if _WORD.search(word)]


def _score(row: _Row, words: list[_Word], whole: str) -> int:
    """Points of a recipe; 0 where a word is nowhere in it."""
    points = [word.points(row) for word in words]
    if not all(points):
        return 0
    return sum(points) + (WEIGHTS["id"] if whole and f"\n{whole}" in row.joined else 0)


def corrected(catalog: Catalog, text: str) -> str | None:
    """A text with the nearest name in place of each word that no recipe has.

    Args:
        catalog: Where to look.
        text: What was searched for.

    Returns:
        None where nothing is put right: every word is known, or one has no name near it. A number
        is never taken for another.
    """
    rows = _index(catalog)
    known = {word for row in rows for name in row.exact for word in _WORD.findall(name)}
    asked = _WORD.findall(fold(text))
    right = {}
    for word in asked:
        if not any(_Word(word).points(row) for row in rows):
            alike = (name for name in known if _digits(name) == _digits(word))
            near = get_close_matches(word, sorted(alike), 1, NEAR)
            if not near:
                return None
            right[word] = near[0]
    return " ".join(right.get(word, word) for word in asked) if right else None


def _digits(word: str) -> str:
    return re.sub(r"\D", "", word)


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
            verified hardware, a checkpoint's id or the description; case, accents and what
            stands between the parts of a name do not matter. Empty = all recipes.
        tasks: Task ids of which a recipe has at least one; empty = any.
        providers: Providers as recipes name them, one of which it must have; empty = any.
        precision: Precision that one of its variants must have.
        hardware_verified: Hardware id on which it must be verified.

    Returns:
        Entries by points, then newest first, then by id. A text that is an id, a title or the
        name of a checkpoint puts that recipe first.
    """
    asked = _words(text)
    phrase = " ".join(fold(text).split())
    whole = _BETWEEN.sub("", phrase)
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
        points = _score(row, asked, whole)
        if phrase and not points:
            continue
        if phrase in row.exact:
            points += 1000
        day = meta.date_added.toordinal() if meta.date_added else 0
        found.append((-points, -day, row.entry.id, row.entry))
    return [entry for *_, entry in sorted(found, key=lambda item: item[:3])]
