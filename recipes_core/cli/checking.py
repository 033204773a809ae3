"""``recipes check``: a catalog's files, and the commands that its recipes render."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from recipes_core.catalog.loader import (
    BUILTIN,
    VOCABULARY,
    catalog_root,
    chosen_catalogs,
    label_of,
    load_catalog,
)
from recipes_core.cli.common import say
from recipes_core.errors import clean
from recipes_core.findings import Finding
from recipes_core.render.judging import rendered_findings


def run(folder: str | None, below: Sequence[str], *, commands: bool, as_json: bool) -> None:
    """Print the findings, errors first and apart; leaves with 1 if there is an error.

    Args:
        folder: The catalog to judge; None = all that were chosen.
        below: The catalogs that it is stacked on; none = ours where it has no vocabulary.
        commands: Also check the commands that the recipes render.
        as_json: Print JSON.
    """
    from recipes_core.catalog.checks import check_catalog
    from recipes_core.sizing.declared import memory_findings
    from recipes_core.vllm_cli import versions

    catalog = load_catalog(*_stack(folder, below), on_error="collect")
    findings = check_catalog(catalog, released=versions())
    findings += memory_findings(catalog)
    judged = [e for e in catalog.recipes.values() if folder is None or e.root == folder]
    if commands:
        for entry in judged:
            findings += rendered_findings(catalog, entry)
    findings = [f for f in dict.fromkeys(findings) if _is_of(f, folder)]
    errors = [finding for finding in findings if finding.severity == "error"]
    if as_json:
        say(json.dumps([finding._asdict() for finding in findings], ensure_ascii=False))
    else:
        _print(len(judged), findings)
    if errors:
        raise typer.Exit(1)


def _stack(folder: str | None, below: Sequence[str]) -> tuple[str | Path, ...]:
    """The catalogs to load so that one of them can be judged."""
    if folder is None:
        return chosen_catalogs(below)
    if not below and not (catalog_root(folder) / VOCABULARY).exists():
        below = (BUILTIN,)
    return (*below, folder)


def _is_of(finding: Finding, folder: str | None) -> bool:
    """Whether a finding speaks of a catalog's files; None = of any."""
    return folder is None or finding.source.startswith(label_of(folder))


def _print(count: int, findings: Sequence[Finding]) -> None:
    titles = (("error", "Errors"), ("warning", "Warnings"), ("info", "Remarks"))
    counts = []
    for severity, title in titles:
        found = [finding for finding in findings if finding.severity == severity]
        counts.append(f"{len(found)} {title.lower()}")
        if found:
            say(f"{title}:")
            for finding in found:
                say(f"  {clean(finding)}")
            say()
    say(f"{count} {'recipe' if count == 1 else 'recipes'}: {', '.join(counts)}")
