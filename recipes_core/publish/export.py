"""export(): a catalog as files, recipe by recipe on every processor, and only what changed."""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import recipes_core
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.pages import Page
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding
from recipes_core.publish.contents import Options, Work, catalog_lists, page_lists, recipe_files
from recipes_core.publish.files import (
    MANIFEST,
    Entry,
    Manifest,
    Writer,
    prune,
    read_manifest,
    unchanged,
    write_manifest,
)
from recipes_core.publish.plan import site_pages
from recipes_core.render.json import SCHEMA_VERSION

Progress = Callable[[int, int], None]


class Report(NamedTuple):
    """What an export did."""

    files: int
    written: int
    removed: int
    recipes_made: int
    """Recipes whose files were made anew; the others were as they should be."""
    renderings: int
    bytes: int
    seconds: float
    skipped: tuple[Finding, ...]
    """Recipes that have no page, with the reason."""


class _Done(NamedTuple):
    """What a worker hands back of one recipe."""

    recipe: str
    made: bool
    entries: dict[str, Entry]
    written: int
    problem: str | None


@dataclass(slots=True)
class _Tally:
    """What the workers did so far."""

    files: dict[str, Entry] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    skipped: list[Finding] = field(default_factory=list)
    written: int = 0
    made: int = 0

    def add(self, work: Work, done: _Done) -> None:
        """Count one recipe in.

        Raises:
            RecipesError: A file of it has a path that another recipe took.
        """
        clash = self.files.keys() & done.entries.keys()
        if clash:
            raise RecipesError(f"two recipes would write {min(clash)!r}")
        self.files |= done.entries
        self.written += done.written
        self.made += done.made
        if done.problem is None:
            self.inputs[done.recipe] = work.digests[done.recipe]
        else:
            source = work.catalog.recipes[done.recipe].source
            self.skipped.append(Finding("error", "not-exported", done.problem, "", source))


def export(
    catalog: Catalog,
    folder: str | Path,
    options: Options | None = None,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Write a catalog as a static site.

    Args:
        catalog: What is written.
        folder: An empty or new folder, or a site that an earlier export wrote.
        options: How.
        jobs: Processes; None = one for each processor.
        progress: Told after each recipe how many of how many are done.

    Raises:
        RecipesError: The folder holds something else, or a file name would lead out of it.
    """
    started = time.perf_counter()
    chosen = options or Options()
    target = Path(folder)
    old = _open(target)
    pages_of = site_pages(catalog)
    work = Work(catalog, target, chosen, old, pages_of, _digests(catalog, chosen, pages_of))
    done = _Tally()
    results = _run(work, jobs)
    next(results)
    # The workers are busy by now, and this process would only wait for them.
    lists = list(catalog_lists(work))
    for count, result in enumerate(filter(None, results), 1):
        done.add(work, result)
        if progress is not None:
            progress(count, len(catalog.recipes))
    files = done.files
    renderings = sum(path.endswith(".json") for path in files)
    writer = Writer(target, old.files)
    shown = {page.id for pages in pages_of.values() for page in pages if f"{page.id}.json" in files}
    for path, body in (*lists, *page_lists(work, shown)):
        writer.put(path, body)
    files |= writer.entries
    removed = prune(target, old.files.keys() - files.keys())
    _write_manifest(target, Manifest(files, done.inputs), chosen)
    return Report(
        files=len(files) + 1,
        written=done.written + writer.written,
        removed=removed,
        recipes_made=done.made,
        renderings=renderings,
        bytes=sum(entry.bytes for entry in files.values()),
        seconds=time.perf_counter() - started,
        skipped=tuple(done.skipped),
    )


def _open(target: Path) -> Manifest:
    """The manifest of a site that is there, or an empty one for a folder that may become one."""
    if target.exists() and not target.is_dir():
        raise RecipesError(f"{target} is not a folder")
    if target.is_dir() and any(target.iterdir()):
        found = read_manifest(target)
        if found is None:
            raise RecipesError(
                f"{target} holds files but no {MANIFEST} of an earlier export; name a new folder,"
                " or empty this one"
            )
        return found
    target.mkdir(parents=True, exist_ok=True)
    return Manifest({}, {})


def _write_manifest(target: Path, manifest: Manifest, options: Options) -> None:
    about = {
        "schema_version": SCHEMA_VERSION,
        "generator": f"recipes-core {recipes_core.__version__}",
        "base_url": options.base_url,
    }
    write_manifest(target, manifest, about)


def _digests(catalog: Catalog, options: Options, pages_of: dict[str, list[Page]]) -> dict[str, str]:
    """By recipe a digest of all that its files are made from: itself, vocabulary, and code."""
    common = hashlib.sha256(repr(options).encode())
    for path in sorted(Path(recipes_core.__file__).parent.rglob("*")):
        if path.suffix in {".py", ".html", ".css", ".js", ".json", ".yaml"} and "_data" not in (
            path.parts
        ):
            common.update(path.read_bytes())
    for document in (
        catalog.taxonomy, *catalog.strategies.values(), *catalog.kv_stores.values(),
    ):  # fmt: skip
        common.update(document.model_dump_json().encode())
    for root in catalog.roots.values():
        # Sizes come from these files, which a catalog does not hold in memory.
        for path in sorted(root.glob("checkpoints/*/*.yaml")):
            common.update(path.read_bytes())
    found = {}
    for entry in catalog.recipes.values():
        digest = common.copy()
        digest.update(entry.recipe.model_dump_json().encode())
        digest.update(repr([(page.id, page.variant) for page in pages_of[entry.id]]).encode())
        found[entry.id] = digest.hexdigest()
    return found


# --- workers ------------------------------------------------------------------------------------

_WORK: list[Work] = []


def _processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _run(work: Work, jobs: int | None) -> Iterator[_Done | None]:
    """None once the work has begun, then one result for each recipe, as they come."""
    recipes = list(work.catalog.recipes)
    count = min(jobs or _processors(), len(recipes))
    _WORK.append(work)
    try:
        if count < 2 or "fork" not in multiprocessing.get_all_start_methods():
            yield None
            yield from map(_one, recipes)
            return
        # Documents are shared with the workers as they are: nothing is copied while they only
        # read, so the collector must not touch every object's header.
        gc.freeze()
        with multiprocessing.get_context("fork").Pool(count, gc.disable) as pool:
            # The largest recipes come first, lest one worker end long after the others.
            order = sorted(recipes, key=lambda name: -_weight(work.catalog.recipes[name]))
            results = pool.imap_unordered(_one, order, chunksize=2)
            yield None
            yield from results
    finally:
        gc.unfreeze()
        _WORK.pop()


def _weight(entry: RecipeEntry) -> int:
    recipe = entry.recipe
    return len(recipe.variants) * (1 + len(recipe.compatible_strategies))


def _one(recipe: str) -> _Done:
    """Make the files of a recipe, unless they are there and nothing that they come from changed."""
    work = _WORK[-1]
    mine = _paths_of(work, recipe)
    if (
        mine
        and work.old.inputs.get(recipe) == work.digests[recipe]
        and unchanged(work.target, work.old.files, mine)
    ):
        return _Done(recipe, False, {path: work.old.files[path] for path in mine}, 0, None)
    writer = Writer(work.target, work.old.files)
    try:
        for path, body in recipe_files(work, work.catalog.recipes[recipe]):
            writer.put(path, body)
    except RecipesError as error:
        return _Done(recipe, True, writer.entries, writer.written, str(error))
    return _Done(recipe, True, writer.entries, writer.written, None)


def _paths_of(work: Work, recipe: str) -> list[str]:
    """The files that an earlier run wrote for a recipe."""
    heads = tuple(head for page in work.pages_of[recipe] for head in (f"{page.id}.", f"{page.id}/"))
    mine = [path for path in work.old.files if path.startswith(heads)]
    return [path for path in mine if _belongs(path, recipe, work)]


def _belongs(path: str, recipe: str, work: Work) -> bool:
    """Whether a file is of this recipe and not of one whose id begins alike."""
    stem = "/".join(path.split("/")[:2])
    owners = {page.id for page in work.pages_of[recipe]}
    return any(stem == owner or stem in {f"{owner}.json", f"{owner}.md"} for owner in owners)
