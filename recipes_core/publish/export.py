"""export(): a catalog as files, recipe by recipe on every processor, and only what changed."""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

import recipes_core
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.pages import Page
from recipes_core.catalog.schema import recipe_schema
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import Deployment, ReaderValues, deploy
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding
from recipes_core.publish import feeds, peer, site
from recipes_core.publish.files import (
    MANIFEST,
    Entry,
    Manifest,
    Writer,
    is_safe,
    prune,
    read_manifest,
    unchanged,
    write_manifest,
)
from recipes_core.publish.plan import planned, site_pages
from recipes_core.render.beside import assess, command_findings, figures, findings_key
from recipes_core.render.json import SCHEMA_VERSION, points_json, to_json
from recipes_core.render.listing import llms_txt, models_json, vocabulary_json
from recipes_core.render.markdown import to_markdown
from recipes_core.render.output_schema import output_schema
from recipes_core.selection import Selection

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How a site is made."""

    base_url: str | None = None
    """Address of the site; without it links are relative, and there is no sitemap and no feed."""
    dashboard: str | None = None
    """Address of the dashboard that pages link to."""
    facts: bool = True
    """Sizes and findings in every rendering."""
    values: ReaderValues = field(default_factory=ReaderValues)
    """Placeholders that are the same for all readers of the site."""

    def __post_init__(self) -> None:
        if self.base_url is not None:
            parts = urlsplit(self.base_url)
            if parts.scheme not in {"http", "https"} or not parts.netloc or parts.fragment:
                raise RecipesError(f"{self.base_url!r} is no http(s) address of a site")
            object.__setattr__(self, "base_url", self.base_url.rstrip("/"))


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
    work = _Work(catalog, target, chosen, old, pages_of, _digests(catalog, chosen, pages_of))
    files: dict[str, Entry] = {}
    inputs: dict[str, str] = {}
    skipped = []
    written = made = 0
    results = _run(work, jobs)
    next(results)
    # The workers are busy by now, and this process would only wait for them.
    lists = list(_lists(work))
    for count, done in enumerate(filter(None, results), 1):
        clash = files.keys() & done.entries.keys()
        if clash:
            raise RecipesError(f"two recipes would write {min(clash)!r}")
        files |= done.entries
        written += done.written
        made += done.made
        if done.problem is None:
            inputs[done.recipe] = work.digests[done.recipe]
        else:
            source = catalog.recipes[done.recipe].source
            skipped.append(Finding("error", "not-exported", done.problem, "", source))
        if progress is not None:
            progress(count, len(catalog.recipes))
    renderings = sum(path.endswith(".json") for path in files)
    writer = Writer(target, old.files)
    shown = {page.id for pages in pages_of.values() for page in pages if f"{page.id}.json" in files}
    for path, body in (*lists, *_lists_of_what_is_there(work, shown)):
        writer.put(path, body)
    files |= writer.entries
    removed = prune(target, old.files.keys() - files.keys())
    _write_manifest(target, Manifest(files, inputs), chosen)
    size = sum(entry.bytes for entry in files.values())
    seconds = time.perf_counter() - started
    return Report(
        len(files) + 1, written + writer.written, removed, made, renderings, size, seconds,
        tuple(skipped),
    )  # fmt: skip


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


@dataclass(slots=True)
class _Work:
    """What every worker shares; it is inherited, never sent."""

    catalog: Catalog
    target: Path
    options: Options
    old: Manifest
    pages_of: dict[str, list[Page]]
    digests: dict[str, str]


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

_WORK: list[_Work] = []


def _processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _run(work: _Work, jobs: int | None) -> Iterator[_Done | None]:
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
        for path, body in _files(work, work.catalog.recipes[recipe]):
            writer.put(path, body)
    except RecipesError as error:
        return _Done(recipe, True, writer.entries, writer.written, str(error))
    return _Done(recipe, True, writer.entries, writer.written, None)


def _paths_of(work: _Work, recipe: str) -> list[str]:
    """The files that an earlier run wrote for a recipe."""
    heads = tuple(head for page in work.pages_of[recipe] for head in (f"{page.id}.", f"{page.id}/"))
    mine = [path for path in work.old.files if path.startswith(heads)]
    return [path for path in mine if _belongs(path, recipe, work)]


def _belongs(path: str, recipe: str, work: _Work) -> bool:
    """Whether a file is of this recipe and not of one whose id begins alike."""
    stem = "/".join(path.split("/")[:2])
    owners = {page.id for page in work.pages_of[recipe]}
    return any(stem == owner or stem in {f"{owner}.json", f"{owner}.md"} for owner in owners)


# --- the files of one recipe --------------------------------------------------------------------


def _dumps(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _files(work: _Work, entry: RecipeEntry) -> Iterator[tuple[str, bytes]]:
    pages = work.pages_of[entry.id]
    for page in pages:
        yield from _page_files(work, page, pages)
    for key in entry.recipe.presets:
        config = configure(work.catalog, entry, Selection(preset=key))
        yield f"{entry.id}/presets/{key}.json", _preset(work, config)


def _preset(work: _Work, config: Configuration) -> bytes:
    """The JSON of a preset, with each of its operating points."""
    points = points_json(config, work.options.values)
    return _dumps(_document(work, config) | {"points": points})


def _whole(work: _Work, config: Configuration) -> bytes:
    """The JSON of a configuration in our own shape."""
    return _dumps(_document(work, config))


def _document(work: _Work, config: Configuration) -> dict[str, Any]:
    values = work.options.values
    if not work.options.facts:
        return to_json(config, deploy(config, values))
    config, deployment, sizing, findings = assess(config, values)
    return to_json(config, deployment, sizing, findings)


def _page_files(work: _Work, page: Page, siblings: Sequence[Page]) -> Iterator[tuple[str, bytes]]:
    options = work.options
    base = configure(work.catalog, page.entry, Selection(variant=page.variant))
    shown = []
    leads: dict[str, str] = {}
    checked: dict[Any, tuple[Finding, ...]] = {}
    recommended = None
    for plan in planned(base, page):
        made = peer.Rendered(deploy(plan.config, options.values))
        body = peer.rendering(made)
        sizing, findings = None, tuple(made.deployment.findings)
        if options.facts:
            sizing, unsized = figures(plan.config, made.deployment)
            findings += (*_checked(made.deployment, checked), *unsized)
            body |= {"sizing": sizing, "findings": [item._asdict() for item in findings]}
        if plan.path == f"{page.id}/hw/{plan.config.hardware}.json":
            body = peer.lead(made, body, plan.alternatives)
            leads[plan.config.hardware] = f"/{plan.path}"
            if plan.config.hardware == base.hardware:
                recommended = body
        yield plan.path, _dumps(body)
        shown.append(site.Shown(plan, made, sizing, findings))
    deployment = deploy(base, options.values)
    first = None
    if recommended is not None and not base.rules.is_omni:
        first = recommended | {"by_hardware": leads}
    yield f"{page.id}.json", _dumps(peer.recipe_page(page, deployment.install, first, siblings))
    said = _checked(deployment, checked) if options.facts else ()
    text = to_markdown(base, deployment, options.base_url, findings=said)
    yield f"{page.id}.md", text.encode()
    yield f"{page.id}/configuration.json", _whole(work, base)
    html = site.recipe_html(
        page, base, shown, siblings, base_url=options.base_url, dashboard=options.dashboard
    )
    yield f"{page.id}/index.html", html.encode()


def _checked(deployment: Deployment, known: dict[Any, tuple[Finding, ...]]) -> tuple[Finding, ...]:
    """Findings of the command check; hardware that gets the same commands gets the same ones."""
    key = findings_key(deployment)
    found = known.get(key)
    if found is None:
        found = known[key] = tuple(command_findings(deployment))
    return found


# --- the lists ----------------------------------------------------------------------------------


def _lists(work: _Work) -> Iterator[tuple[str, bytes]]:
    """The files that need nothing but the catalog."""
    catalog, base_url = work.catalog, work.options.base_url
    root = f"{base_url}/" if base_url else "/"
    for path, value in vocabulary_json(catalog).items():
        if is_safe(path):
            yield path, _dumps(value)
    yield "recipe.schema.json", _dumps(recipe_schema(catalog))
    yield "configuration.schema.json", _dumps(output_schema())
    yield "llms.txt", llms_txt(catalog, root, live=False).encode()
    yield "index.html", site.index_html(catalog, base_url).encode()


def _lists_of_what_is_there(work: _Work, shown: set[str]) -> Iterator[tuple[str, bytes]]:
    """The files that name pages: only those that were made."""
    catalog, base_url = work.catalog, work.options.base_url
    yield "models.json", _dumps([row for row in models_json(catalog) if row["hf_id"] in shown])
    yield "llms-full.txt", _full_text(work, shown)
    pages = [page for pages in work.pages_of.values() for page in pages if page.id in shown]
    if base_url:
        yield "sitemap.xml", feeds.sitemap(pages, base_url)
        yield "feed.xml", feeds.feed(catalog, base_url)
        yield "robots.txt", f"User-agent: *\nAllow: /\nSitemap: {base_url}/sitemap.xml\n".encode()


def _full_text(work: _Work, shown: set[str]) -> bytes:
    """Every recipe's page as Markdown, one after the other."""
    parts = [
        (work.target / f"{recipe}.md").read_bytes().strip()
        for recipe in work.catalog.recipes
        if recipe in shown
    ]
    return b"\n\n---\n\n".join(parts) + b"\n"
