"""Reads catalogs from folders and stacks them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import (
    Document,
    KvStore,
    Platform,
    Recipe,
    Strategy,
    Task,
    Taxonomy,
)
from recipes_core.catalog.messages import Fault, dotted, faults
from recipes_core.catalog.yaml_reader import line_of, parse_yaml, read_text
from recipes_core.errors import CatalogError, clean, nearest
from recipes_core.findings import Finding

BUILTIN = "builtin"
"""The word that stands for the catalog that travels with this package."""
CATALOG_VARIABLE = "RECIPES_CATALOG"
VOCABULARY = "taxonomy.yaml"
"""The file without which a catalog has to be stacked on another."""
_TOLD = 5
_PARTS = (VOCABULARY, "platforms.yaml", "strategies", "kv_store", "models")
_REPO_ID = re.compile(r"[A-Za-z0-9][\w.-]*\Z", re.ASCII)

OnError = Literal["raise", "collect"]
_D = TypeVar("_D", bound=BaseModel)


class InvalidDocumentError(CatalogError):
    """A file that is YAML but not the document that it should be.

    Attributes:
        findings: Every fault of the file; the error's own text says them all.
    """

    def __init__(self, found: list[Fault], text: str, label: str) -> None:
        found = sorted(found, key=lambda fault: fault.unknown_key)
        self.findings = [
            Finding(
                "error",
                "unknown-key" if fault.unknown_key else "invalid",
                fault.message,
                dotted(fault.path),
                label,
                line_of(text, fault.path),
            )
            for fault in found
        ]
        first = self.findings[0]
        lines = [first.message]
        for other in self.findings[1:]:
            place = f"line {other.line}: " if other.line else ""
            lines.append(f"{place}{other.where}: {other.message}")
        super().__init__("\n  ".join(lines), label, first.line, first.where)


class _Platforms(Document):
    platforms: tuple[Platform, ...] = ()


def chosen_catalogs(given: Sequence[str | Path] = ()) -> tuple[str | Path, ...]:
    """The catalogs that a person asks for, to be stacked in this order; none = ours.

    Args:
        given: What was named here and now; where nothing was, ``RECIPES_CATALOG`` decides, with
            its folders separated as in ``PATH``.
    """
    return tuple(given) or tuple(
        filter(None, os.environ.get(CATALOG_VARIABLE, "").split(os.pathsep))
    )


def load_chosen(given: Sequence[str | Path], tell: Callable[[str], object]) -> Catalog:
    """The catalogs that a person asks for, without the files that cannot be read.

    One broken recipe takes nothing else away, and it is never left out in silence.

    Args:
        given: As in ``chosen_catalogs``.
        tell: Gets a line for each of the first faults, and one for the rest.

    Raises:
        CatalogError: A folder or a vocabulary cannot be used.
    """
    catalog = load_catalog(*chosen_catalogs(given), on_error="collect")
    broken = [item for item in catalog.problems if item.severity == "error"]
    for finding in broken[:_TOLD]:
        tell(clean(finding))
    if len(broken) > _TOLD:
        tell(f"and {len(broken) - _TOLD} more faults: recipes check")
    return catalog


def label_of(name: str) -> str:
    """How the messages about a catalog's files begin; a catalog is called as it was given."""
    return f"{name}:" if name == BUILTIN else f"{name}/"


@lru_cache(maxsize=1)
def builtin_dir() -> Path:
    """The folder of our own catalog: inside the installed package, or in a checkout.

    Raises:
        CatalogError: Neither is there.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_data" / "recipes", package.parent / "recipes"):
        if (folder / VOCABULARY).is_file():
            return folder
    raise CatalogError("the built-in catalog is not there; the installation is incomplete", BUILTIN)


def is_builtin(root: Path | None) -> bool:
    """Whether a folder is the one of our own catalog."""
    try:
        return root is not None and root.resolve() == builtin_dir()
    except CatalogError:
        return False


def catalog_root(folder: str | Path) -> Path:
    """The folder that holds a catalog's parts: the given one, or ``recipes`` inside it.

    Raises:
        CatalogError: There is no such folder, or nothing of a catalog in it.
    """
    if str(folder) == BUILTIN:
        return builtin_dir()
    path = Path(folder).expanduser()
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "there is no such folder"
        near = nearest(path.name, _sub_folders(path.parent)) if path.parent.is_dir() else []
        hint = f"; did you mean {path.parent / near[0]}?" if near else ""
        raise CatalogError(f"{what}{hint}", str(folder))
    for root in (path, path / "recipes"):
        if any((root / part).exists() for part in _PARTS):
            return root
    raise CatalogError(f"no catalog here: none of {', '.join(_PARTS)} is in it", str(folder))


def _sub_folders(path: Path) -> list[str]:
    try:
        return [item.name for item in path.iterdir() if item.is_dir()]
    except OSError:
        return []


@dataclass
class _Folder:
    """One catalog while it is read."""

    name: str
    root: Path
    strict: bool
    on_error: OnError
    problems: list[Finding] = field(default_factory=list)

    def label(self, path: Path) -> str:
        """How messages call a file: below the folder as it was given."""
        return label_of(self.name) + path.relative_to(self.root).as_posix()

    def files(self, part: str) -> list[Path]:
        """The YAML files right inside a part, sorted by name."""
        folder = self.root / part
        return sorted(folder.glob("*.yaml")) if folder.is_dir() else []

    def failed(self, error: CatalogError) -> None:
        if self.on_error == "raise":
            raise error
        if isinstance(error, InvalidDocumentError):
            self.problems += error.findings
        else:
            self.problems.append(
                Finding("error", "unreadable", error.message, error.key, error.path, error.line)
            )

    def warn(self, code: str, message: str, path: Path, key: str = "") -> None:
        self.problems.append(Finding("warning", code, message, key, self.label(path)))

    def read(self, path: Path, model: type[_D]) -> _D:
        """The document in a file."""
        label = self.label(path)
        text = read_text(path, label)
        data = parse_yaml(text, label)
        try:
            return model.model_validate(data)
        except ValidationError as error:
            return self._repair(error, model, data, text, label)

    def _repair(
        self,
        error: ValidationError,
        model: type[_D],
        data: Mapping[str, Any],
        text: str,
        label: str,
    ) -> _D:
        """Without the keys that only a newer peer knows, or else our words for what is wrong."""
        found = faults(error, model, data)
        if self.strict or not all(fault.unknown_key for fault in found):
            raise InvalidDocumentError(found, text, label) from None
        kept: Any = deepcopy(dict(data))
        for fault in found:
            holder = kept
            for item in fault.path[:-1]:
                holder = holder[item]
            holder.pop(fault.path[-1], None)
            self.problems.append(
                Finding(
                    "warning",
                    "unknown-key",
                    f"{fault.message}; it was left out",
                    dotted(fault.path),
                    label,
                    line_of(text, fault.path),
                )
            )
        try:
            return model.model_validate(kept)
        except ValidationError as again:
            raise InvalidDocumentError(faults(again, model, kept), text, label) from None

    def optional(self, path: Path, model: type[_D]) -> _D | None:
        """The document in a file; None where it is broken and faults are collected."""
        try:
            return self.read(path, model)
        except CatalogError as error:
            self.failed(error)
            return None

    def recipes(self, only: Container[str] | None = None) -> Iterator[RecipeEntry]:
        """Each recipe that can be read, or those of some ids in lower case."""
        models = self.root / "models"
        for path in sorted(models.rglob("*.y*ml")) if models.is_dir() else ():
            inside = path.relative_to(models)
            if path.suffix != ".yaml" or len(inside.parts) != 2:
                self.warn("misplaced", "is not read: recipes are models/<org>/<repo>.yaml", path)
                continue
            org, repo = inside.parts[0], inside.stem
            if only is not None and f"{org}/{repo}".casefold() not in only:
                continue
            if not (_REPO_ID.match(org) and _REPO_ID.match(repo)):
                self.failed(CatalogError(f"{org}/{repo} is no repository id", self.label(path)))
                continue
            recipe = self.optional(path, Recipe)
            if recipe is not None:
                source = f"models/{inside.as_posix()}"
                yield RecipeEntry(f"{org}/{repo}", recipe, source, self.name)


_K = TypeVar("_K", bound=BaseModel)


def _named(folder: _Folder, part: str, model: type[_K]) -> dict[str, _K]:
    """The documents of a part by their ``name``."""
    found: dict[str, _K] = {}
    for path in folder.files(part):
        document = folder.optional(path, model)
        if document is None:
            continue
        name: str = document.name  # type: ignore[attr-defined]
        if name != path.stem:
            folder.warn("name-differs", f"is {name!r} in a file called {path.name}", path, "name")
        found[name] = document
    return found


def _stack_taxonomy(below: Taxonomy, above: Taxonomy) -> Taxonomy:
    """Two vocabularies as one; entries of the upper one replace those of the same id in place."""
    tasks: dict[str, Task] = {task.id: task for task in (*below.tasks, *above.tasks)}
    return Taxonomy(
        hardware_profiles={**below.hardware_profiles, **above.hardware_profiles},
        tasks=tuple(tasks.values()),
        strategies=tuple(dict.fromkeys((*below.strategies, *above.strategies))),
        kv_offload_groups={**below.kv_offload_groups, **above.kv_offload_groups},
        kv_offload={**below.kv_offload, **above.kv_offload},
        providers={**below.providers, **above.providers},
    )


def _ordered(strategies: dict[str, Strategy], order: tuple[str, ...]) -> dict[str, Strategy]:
    rank = {name: index for index, name in enumerate(order)}
    names = sorted(strategies, key=lambda name: rank.get(name, len(rank)))
    return {name: strategies[name] for name in names}


def load_catalog(
    *dirs: str | Path,
    on_error: OnError = "raise",
    strict: bool | None = None,
    only: Iterable[str] | None = None,
) -> Catalog:
    """Load one catalog, or several as one.

    Args:
        dirs: Folders, the later winning by recipe (ids compare without case) and by vocabulary id.
            ``builtin`` stands for our own; nothing given = ours alone.
        on_error: What a broken recipe, strategy, store or platform file does: ``raise`` stops at
            the first, ``collect`` keeps each in ``Catalog.problems`` and loads the rest. A broken
            vocabulary always stops, for nothing could be resolved without it.
        strict: Whether an unknown key is an error; None = in our own catalog only. Elsewhere it
            is left out, with a warning in ``Catalog.problems``.
        only: Ids of the recipes to read, where a page waits for one of them; None = all.

    Returns:
        The catalog, recipes sorted by id.

    Raises:
        CatalogError: A folder or file cannot be used; it names file, line and key.
    """
    catalog = Catalog(Taxonomy())
    recipes: dict[str, RecipeEntry] = {}
    vocabulary = False
    wanted = None if only is None else {name.casefold() for name in only}
    for given in dirs or (BUILTIN,):
        root = catalog_root(given)
        own = is_builtin(root)
        folder = _Folder(str(given), root, own if strict is None else strict, on_error)
        path = root / VOCABULARY
        if path.exists():
            catalog.taxonomy = _stack_taxonomy(catalog.taxonomy, folder.read(path, Taxonomy))
            vocabulary = True
        path = root / "platforms.yaml"
        if path.exists():
            read = folder.optional(path, _Platforms)
            catalog.platforms |= {p.id: p for p in read.platforms} if read else {}
        catalog.strategies |= _named(folder, "strategies", Strategy)
        catalog.kv_stores |= _named(folder, "kv_store", KvStore)
        for entry in folder.recipes(wanted):
            recipes[entry.id.casefold()] = entry
        catalog.problems += folder.problems
        catalog.roots[folder.name] = root
    if not vocabulary:
        names = ", ".join(map(str, dirs))
        raise CatalogError(
            f"has no taxonomy.yaml; stack it on ours: {BUILTIN} and then this folder", names
        )
    catalog.strategies = _ordered(catalog.strategies, catalog.taxonomy.strategies)
    catalog.recipes = {entry.id: entry for entry in sorted(recipes.values(), key=lambda e: e.id)}
    return catalog
