"""What a site consists of: the files of each recipe, and the lists over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.pages import Page
from recipes_core.catalog.schema import recipe_schema
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import Deployment, ReaderValues, deploy
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding
from recipes_core.publish import feeds, peer, site
from recipes_core.publish.files import Manifest, is_safe
from recipes_core.publish.plan import planned
from recipes_core.render.beside import assess, command_findings, figures, findings_key
from recipes_core.render.json import points_json, to_json
from recipes_core.render.listing import llms_txt, models_json, vocabulary_json
from recipes_core.render.markdown import to_markdown
from recipes_core.render.output_schema import output_schema
from recipes_core.selection import Selection


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


@dataclass(slots=True)
class Work:
    """What every worker shares; it is inherited, never sent."""

    catalog: Catalog
    target: Path
    options: Options
    old: Manifest
    pages_of: dict[str, list[Page]]
    digests: dict[str, str]


def _dumps(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def recipe_files(work: Work, entry: RecipeEntry) -> Iterator[tuple[str, bytes]]:
    """The files of a recipe by path: those of its pages, and its presets."""
    pages = work.pages_of[entry.id]
    for page in pages:
        yield from _page_files(work, page, pages)
    for key in entry.recipe.presets:
        config = configure(work.catalog, entry, Selection(preset=key))
        yield f"{entry.id}/presets/{key}.json", _preset(work, config)


def _preset(work: Work, config: Configuration) -> bytes:
    """The JSON of a preset, with each of its operating points."""
    points = points_json(config, work.options.values)
    return _dumps(_document(work, config) | {"points": points})


def _document(work: Work, config: Configuration) -> dict[str, Any]:
    """A configuration in our own shape."""
    values = work.options.values
    if not work.options.facts:
        return to_json(config, deploy(config, values))
    config, deployment, sizing, findings = assess(config, values)
    return to_json(config, deployment, sizing, findings)


def _page_files(work: Work, page: Page, siblings: Sequence[Page]) -> Iterator[tuple[str, bytes]]:
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
    yield f"{page.id}/configuration.json", _dumps(_document(work, base))
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


def catalog_lists(work: Work) -> Iterator[tuple[str, bytes]]:
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


def page_lists(work: Work, shown: set[str]) -> Iterator[tuple[str, bytes]]:
    """The files that name pages: only those that were made."""
    catalog, base_url = work.catalog, work.options.base_url
    yield "models.json", _dumps([row for row in models_json(catalog) if row["hf_id"] in shown])
    yield "llms-full.txt", _full_text(work, shown)
    pages = [page for pages in work.pages_of.values() for page in pages if page.id in shown]
    if base_url:
        yield "sitemap.xml", feeds.sitemap(pages, base_url)
        yield "feed.xml", feeds.feed(catalog, base_url)
        yield "robots.txt", f"User-agent: *\nAllow: /\nSitemap: {base_url}/sitemap.xml\n".encode()


def _full_text(work: Work, shown: set[str]) -> bytes:
    """Every recipe's page as Markdown, one after the other."""
    parts = [
        (work.target / f"{recipe}.md").read_bytes().strip()
        for recipe in work.catalog.recipes
        if recipe in shown
    ]
    return b"\n\n---\n\n".join(parts) + b"\n"
