"""Checks across the files of a catalog: what loads may still be wrong."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.checks.arguments import check_document
from recipes_core.catalog.checks.facts import Facts, check_facts, releases
from recipes_core.catalog.checks.prose import check_prose
from recipes_core.catalog.checks.references import check_references, check_vocabulary
from recipes_core.catalog.checks.report import Report, is_omni
from recipes_core.catalog.loader import is_builtin
from recipes_core.findings import Finding

__all__ = ["check_catalog"]


def _doubles(report: Report, catalog: Catalog) -> None:
    """Slugs and models that two recipes claim."""
    slugs: dict[str, str] = {}
    models: dict[str, str] = {}
    for entry in catalog.recipes.values():
        report.about(entry.root, entry.source)
        slug = entry.recipe.meta.slug
        if slug is not None:
            if slug in slugs:
                report.error(
                    "duplicate-slug", f"{slugs[slug]} has the slug {slug!r} too", ("meta", "slug")
                )
            slugs.setdefault(slug, entry.id)
        model = entry.recipe.model.model_id.casefold()
        if model in models:
            report.warn(
                "duplicate-model", f"{models[model]} serves the same model", ("model", "model_id")
            )
        models.setdefault(model, entry.id)


def check_catalog(
    catalog: Catalog, *, released: Sequence[str] = (), today: datetime.date | None = None
) -> list[Finding]:
    """Check what only shows when files are seen together.

    Args:
        catalog: A loaded catalog.
        released: vLLM releases that are out, such as ``vllm_cli`` knows them; without any,
            nothing is said of stale nightlies and floors that nobody can install.
        today: The day that no date may lie after; today where None.

    Returns:
        The problems of loading, then the findings by file and line. Each has its file and, where
        the file is still there, its line.
    """
    report = Report(catalog)
    known, day = releases(released), today or datetime.date.today()
    root = next(reversed(catalog.roots), "")
    check_vocabulary(report, catalog, root)
    report.about(root, "taxonomy.yaml")
    for name, option in catalog.taxonomy.kv_offload.items():
        check_document(report, option, ("kv_offload", name), sizes=True)
    for name, strategy in catalog.strategies.items():
        report.about(root, f"strategies/{name}.yaml")
        check_document(report, strategy, (), sizes=True)
    for name, store in catalog.kv_stores.items():
        report.about(root, f"kv_store/{name}.yaml")
        check_document(report, store, (), sizes=True)
    for entry in catalog.recipes.values():
        report.about(entry.root, entry.source)
        check_references(report, catalog, entry)
        check_document(report, entry.recipe, (), sizes=not is_omni(entry))
        check_facts(report, entry, Facts(day, known, is_builtin(catalog.roots.get(entry.root))))
        check_prose(report, entry)
    _doubles(report, catalog)
    findings = sorted(report.findings(), key=lambda item: (item.source, item.line or 0))
    return [*catalog.problems, *findings]
