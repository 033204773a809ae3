"""Brings a checkout of the peer's data into a catalog of ours, and keeps up with it.

Only facts are taken: no description, guide or note. A manifest beside the catalog holds a hash of
what was taken and of what was written, per recipe and section, so that a later run can tell what
the peer changed, applies it where our file still says what the import wrote, and only reports it
where somebody has edited ours. Prose and comments of our files are never touched.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ValidationError

from recipes_core.catalog.checks.facts import releases
from recipes_core.catalog.corrections import PROSE, Context, Data, corrected, own_id, without_prose
from recipes_core.catalog.documents import KvStore, Recipe, Strategy, Taxonomy
from recipes_core.catalog.emit import dump_section, dump_yaml
from recipes_core.catalog.loader import catalog_root
from recipes_core.catalog.messages import dotted, faults, shown
from recipes_core.catalog.yaml_reader import lines_of, parse_yaml, read_text
from recipes_core.errors import CatalogError, RecipesError

MANIFEST = "imported.json"
"""File in our catalog that remembers the last import."""
_SPLIT = frozenset({"meta", "model", "variants", "features", "strategy_overrides"})
_OURS_ALONE = frozenset({"presets", "notes", "known_issues", "guide"})

Kind = Literal["new", "changed", "conflict", "gone", "skipped", "vocabulary"]


class Change(NamedTuple):
    """One difference between the peer's data and the last import."""

    kind: Kind
    """``new`` recipe, ``changed`` and taken over, ``conflict`` = changed but ours was edited,
    ``gone`` from the peer, ``skipped`` = not readable, ``vocabulary`` = an id that ours lacks."""
    recipe: str
    """Our id of the recipe, or the vocabulary file."""
    detail: str
    """What it is about."""


@dataclass
class ImportReport:
    """What an import found and did."""

    changes: list[Change] = field(default_factory=list)
    corrections: dict[str, list[str]] = field(default_factory=dict)
    """By recipe: the faults of the peer's data that were mended."""
    unchanged: int = 0
    """Recipes of the peer that are as they were."""
    written: list[str] = field(default_factory=list)
    """Files written, relative to our catalog."""

    def lines(self) -> Iterator[str]:
        """The report as text, a line each."""
        for change in self.changes:
            yield f"{change.kind:10} {change.recipe}: {change.detail}"
        for recipe, notes in self.corrections.items():
            for note in notes:
                yield f"{'corrected':10} {recipe}: {note}"
        yield f"{self.unchanged} recipes unchanged, {len(self.written)} files written"


def _hash(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _sections(data: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe in the pieces that are compared, such as ``model.base_args``, ``variants.fp8``."""
    pieces: dict[str, Any] = {}
    for key, value in data.items():
        if key in _SPLIT and isinstance(value, Mapping):
            pieces.update({f"{key}.{name}": item for name, item in value.items()})
        else:
            pieces[key] = value
    return pieces


def leaves(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Each fact of a document by its key in dotted form; a list is one fact."""
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    else:
        yield dotted(path), data


def difference(ours: Any, theirs: Any) -> list[str]:
    """What differs between two pieces of data, a line per key: ``- ours`` and ``+ theirs``."""
    before, after = dict(leaves(ours)), dict(leaves(theirs))
    lines: list[str] = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if isinstance(old, list | None) and isinstance(new, list | None):
            gone = [str(word) for word in old or [] if word not in (new or [])]
            come = [str(word) for word in new or [] if word not in (old or [])]
            words = [f"- {' '.join(gone)}"] * bool(gone) + [f"+ {' '.join(come)}"] * bool(come)
            lines.append(f"{key}: {', '.join(words) or 'another order'}")
        else:
            lines.append(f"{key}: {shown(old)} -> {shown(new)}")
    return lines


def _with_prose(new: Any, old: Any) -> Any:
    """New facts with the prose that stood at the same places."""
    if not isinstance(new, dict) or not isinstance(old, Mapping):
        return _tasks_with_prose(new, old)
    merged = {key: _with_prose(value, old.get(key)) for key, value in new.items()}
    kept = {key: old[key] for key in old if key in PROSE or (key == "label" and key not in new)}
    return merged | kept


def _without_own_labels(ours: Any, theirs: Any) -> Any:
    """Our data without the labels that the peer's has not got at the same place."""
    if not isinstance(ours, Mapping):
        return ours
    other = theirs if isinstance(theirs, Mapping) else {}
    return {
        key: _without_own_labels(value, other.get(key))
        for key, value in ours.items()
        if key != "label" or key in other
    }


def _tasks_with_prose(new: Any, old: Any) -> Any:
    """Lists of things with an id keep the prose of the thing of the same id."""
    if not (isinstance(new, list) and isinstance(old, list)):
        return new

    def name(item: Any) -> Any:
        return item.get("key") or item.get("id") or item.get("command")

    known = {name(item): item for item in old if isinstance(item, Mapping)}
    return [
        _with_prose(item, known.get(name(item))) if isinstance(item, dict) else item for item in new
    ]


def _replace(data: Data, section: str, value: Any) -> None:
    """Set or, with None, remove a section of a recipe."""
    key, dot, name = section.partition(".")
    if not dot:
        if value is None:
            data.pop(key, None)
        else:
            data[key] = _with_prose(value, data.get(key))
        return
    holder: Data = data.setdefault(key, {})
    if value is None:
        holder.pop(name, None)
    else:
        holder[name] = _with_prose(value, holder.get(name))


def _splice(text: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """A file's text with only those top-level keys written anew that differ."""
    starts = {path[0]: line for path, line in lines_of(text).items() if len(path) == 1}
    rows = text.splitlines(keepends=True)
    order = sorted(starts, key=lambda key: starts[key])
    pieces = ["".join(rows[: starts[order[0]] - 1])] if order else []
    for key, following in zip(order, [*order[1:], None], strict=True):
        end = starts[following] - 1 if following is not None else len(rows)
        piece = "".join(rows[starts[key] - 1 : end])
        if key not in new:
            continue
        if old[str(key)] != new[str(key)]:
            body = piece.rstrip("\n ")
            gap = piece[len(body) :].count("\n") - 1
            piece = dump_section(str(key), new[str(key)]) + "\n" * max(gap, 0)
        pieces.append(piece)
    result = "".join(pieces)
    added = {key: value for key, value in new.items() if key not in starts}
    return result.rstrip("\n") + "\n\n" + dump_yaml(added) if added else result


def _valid(data: Data, recipe: str, report: ImportReport) -> Data | None:
    """The data without keys that we do not know; None where it is no recipe."""
    try:
        Recipe.model_validate(data)
    except ValidationError as error:
        found = faults(error, Recipe, data)
        if not all(fault.unknown_key for fault in found):
            text = "; ".join(f"{dotted(f.path)} {f.message}" for f in found if not f.unknown_key)
            report.changes.append(Change("skipped", recipe, text))
            return None
        for fault in found:
            holder: Any = data
            for item in fault.path[:-1]:
                holder = holder[item]
            holder.pop(fault.path[-1], None)
            note = f"{dotted(fault.path)}: a key that we do not know was left out"
            report.corrections.setdefault(recipe, []).append(note)
    return data


class _Importer:
    def __init__(self, source: Path, into: Path, context: Context) -> None:
        self.source, self.into, self.context = source, into, context
        self.report = ImportReport()
        self.files: dict[Path, str] = {}
        path = into / MANIFEST
        stored = json.loads(read_text(path)) if path.exists() else {}
        self.manifest: dict[str, Any] = stored.get("recipes", {})

    def own_files(self) -> dict[str, Path]:
        """Our recipe files by folded id."""
        models = self.into / "models"
        return {
            f"{path.parent.name}/{path.stem}".casefold(): path for path in models.glob("*/*.yaml")
        }

    def peer(self) -> Iterator[tuple[str, Data]]:
        """Each recipe of the peer that can be read: our id, and its data without prose."""
        for path in sorted((self.source / "models").glob("*/*.yaml")):
            peer_id = f"{path.parent.name}/{path.stem}"
            try:
                data = without_prose(parse_yaml(read_text(path), path.name))
            except CatalogError as error:
                self.report.changes.append(Change("skipped", peer_id, str(error)))
                continue
            yield own_id(peer_id, data), data

    def run(self) -> None:
        peers = dict(self.peer())
        self.context.ids = {
            **{name.casefold(): name for name in peers},
            **{f: f"{p.parent.name}/{p.stem}" for f, p in self.own_files().items()},
        }
        own = self.own_files()
        for name, raw in peers.items():
            self.recipe(name, raw, own.get(name.casefold()))
        for name in [name for name in self.manifest if name not in peers]:
            self.report.changes.append(Change("gone", name, "the peer has it no more"))
            del self.manifest[name]

    def recipe(self, name: str, raw: Data, path: Path | None) -> None:
        peer_hash = _hash(raw)
        known = self.manifest.get(name)
        if known and known["peer"] == peer_hash and path is not None:
            self.report.unchanged += 1
            return
        facts, notes = corrected(deepcopy(raw), name, self.context)
        valid = _valid(facts, name, self.report)
        if valid is None:
            return
        if notes:
            self.report.corrections.setdefault(name, []).extend(notes)
        if path is not None:
            self._first_seen(valid, parse_yaml(read_text(path), name))
        sections = {key: _hash(value) for key, value in _sections(valid).items()}
        if path is None:
            target = self.into / "models" / f"{name}.yaml"
            self.files[target] = dump_yaml(valid)
            hardware = ", ".join(valid.get("meta", {}).get("hardware", {})) or "no hardware named"
            self.report.changes.append(Change("new", name, hardware))
        elif known:
            self.merge(name, path, valid, sections, known["sections"])
        self.manifest[name] = {"peer": peer_hash, "sections": sections}

    @staticmethod
    def _first_seen(facts: Data, ours: Mapping[str, Any]) -> None:
        """Leave what is stated already with the day on which it was first seen."""
        evidence: Data = facts.get("meta", {}).get("evidence", {})
        stated = ours.get("meta", {}).get("evidence", {})
        evidence.update({name: stated[name] for name in evidence if name in stated})

    def merge(
        self,
        name: str,
        path: Path,
        facts: Data,
        sections: Mapping[str, str],
        known: Mapping[str, str],
    ) -> None:
        """Take over what the peer changed, section by section."""
        text = read_text(path)
        ours = dict(parse_yaml(text, name))
        merged = deepcopy(ours)
        theirs = _sections(facts)
        here = {
            section: _without_own_labels(value, theirs.get(section))
            for section, value in _sections(without_prose(ours)).items()
        }
        for section in dict.fromkeys((*known, *sections)):
            if known.get(section) == sections.get(section) or section in _OURS_ALONE:
                continue
            new = theirs.get(section)
            lines = difference({section: here.get(section)}, {section: new})
            if not lines:
                continue
            untouched = (
                section not in here
                if section not in known
                else (section in here and _hash(here[section]) == known[section])
            )
            kind: Kind = "changed" if untouched else "conflict"
            self.report.changes.extend(Change(kind, name, line) for line in lines)
            if untouched:
                _replace(merged, section, new)
        if merged != ours:
            self.files[path] = _splice(text, ours, merged)

    def vocabulary(self) -> None:
        """Vocabulary that ours has not got: taken over whole, or named where ours has its own."""
        for part, model in (("taxonomy.yaml", Taxonomy), ("platforms.yaml", None)):
            self.vocabulary_file(self.source / part, self.into / part, model)
        for folder, kind in (("strategies", Strategy), ("kv_store", KvStore)):
            for path in sorted((self.source / folder).glob("*.yaml")):
                self.vocabulary_file(path, self.into / folder / path.name, kind)

    def vocabulary_file(self, path: Path, target: Path, model: type[BaseModel] | None) -> None:
        if not path.is_file():
            return
        data = without_prose(parse_yaml(read_text(path), path.name))
        label = target.relative_to(self.into).as_posix()
        if not target.exists():
            self.files[target] = dump_yaml(data, model or Recipe)
            self.report.changes.append(Change("new", label, "taken over"))
            return
        ours = parse_yaml(read_text(target), label)
        for key, value in data.items():
            if isinstance(value, Mapping) and label == "taxonomy.yaml":
                self.report.changes.extend(
                    Change("vocabulary", label, f"{key}.{name} is not in ours")
                    for name in value
                    if name not in ours.get(key, {})
                )

    def write(self, as_of: datetime.date) -> None:
        for path, text in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        rows = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(entry, sort_keys=True, separators=(',', ':'))}"
            for name, entry in sorted(self.manifest.items())
        )
        head = json.dumps({"as_of": str(as_of)})[:-1]
        text = f'{head}, "recipes": {{\n{rows}\n}}}}\n'
        (self.into / MANIFEST).write_text(text, encoding="utf-8")


def import_catalog(
    source: str | Path,
    into: str | Path,
    *,
    as_of: datetime.date,
    released: Sequence[str] = (),
    write: bool = True,
) -> ImportReport:
    """Take the peer's facts over into a catalog of ours, or only what changed since last time.

    Args:
        source: A checkout of the peer's data.
        into: Our catalog; an empty or missing folder becomes one.
        as_of: Day of the checkout; named as the source of what the peer states as verified.
        released: vLLM releases that are out, to drop nightlies that are needed no more.
        write: False = report only.

    Returns:
        What is new, what changed, what was corrected and which files were written.

    Raises:
        CatalogError: ``source`` is no catalog.
        RecipesError: ``into`` is the same folder.
    """
    root, target = catalog_root(source), Path(into)
    if root.resolve() == target.resolve():
        raise RecipesError(f"{into} cannot be imported into itself")
    own_vocabulary = target / "taxonomy.yaml"
    taxonomy = own_vocabulary if own_vocabulary.is_file() else root / "taxonomy.yaml"
    known = parse_yaml(read_text(taxonomy), taxonomy.name) if taxonomy.is_file() else {}
    hardware = frozenset(known.get("hardware_profiles", {}))
    importer = _Importer(root, target, Context(hardware, releases(released), as_of=as_of))
    importer.vocabulary()
    importer.run()
    report = importer.report
    report.written = [path.relative_to(target).as_posix() for path in importer.files]
    if write:
        target.mkdir(parents=True, exist_ok=True)
        importer.write(as_of)
    else:
        report.written = []
    return report
