"""What is wrong with a recipe beyond its file: its commands, and those of its guide."""

from __future__ import annotations

from collections.abc import Iterator

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.loader import label_of
from recipes_core.configuration import configure
from recipes_core.deployment import Deployment, deploy
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding
from recipes_core.render.beside import command_findings, floor_findings
from recipes_core.render.guides import guide_findings
from recipes_core.selection import Selection


def rendered_findings(catalog: Catalog, entry: RecipeEntry) -> Iterator[Finding]:
    """Each variant's default command at the recipe's own floor and at the newest release.

    Args:
        catalog: The catalog that the recipe is in.
        entry: The recipe.

    Yields:
        Findings whose source is the recipe's file; those of the guide's commands come last.
    """
    place = f"{label_of(entry.root)}{entry.source}"
    for name in entry.recipe.variants:
        try:
            config = configure(catalog, entry, Selection(variant=name))
            deployment = deploy(config)
        except RecipesError as error:
            yield Finding("error", "unresolved", str(error), f"variants.{name}", place)
            continue
        for finding in _at(deployment):
            where = f"variants.{name}: {finding.where}".rstrip(": ")
            yield finding._replace(where=where, source=place)
    yield from guide_findings(catalog, entry, place)


def _at(deployment: Deployment) -> Iterator[Finding]:
    found = [*deployment.findings, *floor_findings(deployment)]
    newest = [item for item in command_findings(deployment) if item.severity != "info"]
    if any(item.code == "ignored-flag" for item in newest) and deployment.min_vllm_version:
        at_floor = command_findings(deployment, deployment.min_vllm_version)
        dead = {item.where for item in at_floor if item.code == "ignored-flag"}
        newest = [_of_older_use(item, deployment, dead) for item in newest]
    yield from dict.fromkeys([*found, *newest])


def _of_older_use(finding: Finding, deployment: Deployment, dead: set[str]) -> Finding:
    """A flag that only newer releases ignore is of use at the floor: a remark, no fault."""
    if finding.code != "ignored-flag" or finding.where in dead:
        return finding
    message = f"{finding.message}; {deployment.min_vllm_version}, the floor, still reads it"
    return finding._replace(severity="info", message=message)


__all__ = ["rendered_findings"]
