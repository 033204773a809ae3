"""Files of a site: written whole or not at all, only where they differ, and accounted for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from recipes_core.catalog.pages import is_path_part
from recipes_core.errors import RecipesError

MANIFEST = "manifest.json"


class Entry(NamedTuple):
    """What the manifest says of a file."""

    sha256: str
    bytes: int


class Manifest(NamedTuple):
    """Every file of a site, and what each recipe's files were made from."""

    files: dict[str, Entry]
    inputs: dict[str, str]
    """By recipe id: a digest of all that its files depend on."""


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of an earlier run; None where there is none that can be read."""
    try:
        data = orjson.loads((folder / MANIFEST).read_bytes())
        files = {
            str(path): Entry(str(entry["sha256"]), int(entry["bytes"]))
            for path, entry in data["files"].items()
            if is_safe(str(path))
        }
        return Manifest(files, {str(key): str(value) for key, value in data["inputs"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_manifest(folder: Path, manifest: Manifest, about: Mapping[str, object]) -> None:
    """Write the manifest: in order, with no moment in it, so that equal sites are equal."""
    data = {
        **about,
        "inputs": manifest.inputs,
        "files": {path: entry._asdict() for path, entry in manifest.files.items()},
    }
    option = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    Writer(folder, {}).put(MANIFEST, orjson.dumps(data, option=option))


def is_safe(path: str) -> bool:
    """Whether a path stays inside the site on every file system."""
    return all(is_path_part(part) for part in path.split("/"))


class Writer:
    """Puts files below a folder.

    Args:
        folder: The site.
        known: What an earlier run wrote; a file that is the same still is not written again.
    """

    def __init__(self, folder: Path, known: Mapping[str, Entry]) -> None:
        self.folder = os.fspath(folder)
        self.known = known
        self.entries: dict[str, Entry] = {}
        self.written = 0
        self._made: set[str] = set()

    def put(self, path: str, body: bytes) -> None:
        """Write a file, if it is not there with this very content.

        Raises:
            RecipesError: The path leads out of the site, or another file of the run has it.
        """
        if not is_safe(path):
            raise RecipesError(f"{path!r} cannot be a file of a site")
        if path in self.entries:
            raise RecipesError(f"two files of the site would be {path!r}")
        entry = Entry(hashlib.sha256(body).hexdigest(), len(body))
        self.entries[path] = entry
        place = f"{self.folder}/{path}"
        if self.known.get(path) == entry and digest_of(place) == entry:
            return
        self._write(place, body)
        self.written += 1

    def _write(self, place: str, body: bytes) -> None:
        folder = place.rpartition("/")[0]
        if folder not in self._made:
            os.makedirs(folder, exist_ok=True)
            self._made.add(folder)
        # A reader of the live site sees the old file or the new one, never a part.
        beside = f"{place}.part"
        with open(beside, "wb", buffering=0) as file:
            file.write(body)
        os.replace(beside, place)


def digest_of(place: str) -> Entry | None:
    """What a file on disk is; None where there is none."""
    try:
        with open(place, "rb", buffering=0) as file:
            body = file.readall()
    except OSError:
        return None
    return Entry(hashlib.sha256(body).hexdigest(), len(body))


def unchanged(folder: Path, known: Mapping[str, Entry], paths: Iterable[str]) -> bool:
    """Whether every one of some files is there as the manifest has it."""
    root = os.fspath(folder)
    return all(digest_of(f"{root}/{path}") == known[path] for path in paths)


def prune(folder: Path, gone: Iterable[str]) -> int:
    """Remove files of an earlier run that this one does not have, and folders left empty."""
    count = 0
    parents: set[Path] = set()
    for path in gone:
        place = folder / path
        if place.is_file() or place.is_symlink():
            place.unlink()
            count += 1
        parents.update(place.relative_to(folder).parents)
    for parent in sorted(parents, key=lambda item: len(item.parts), reverse=True):
        if parent.parts and (folder / parent).is_dir() and not any((folder / parent).iterdir()):
            (folder / parent).rmdir()
    return count
