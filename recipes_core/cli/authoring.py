"""``recipes import``, ``new`` and ``schema``: what a maintainer of a catalog uses."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path

import typer

from recipes_core.cli.common import fail, note, open_catalog, say
from recipes_core.errors import clean


def take_over(source: Path, into: Path, as_of: str | None, *, write: bool) -> None:
    """Import a peer's facts and print what changed."""
    from recipes_core.catalog.importer import import_catalog
    from recipes_core.vllm_cli import versions

    try:
        day = datetime.date.fromisoformat(as_of) if as_of else datetime.date.today()
    except ValueError:
        fail(f"--as-of takes a date such as 2026-08-21, not {as_of!r}", 2)
    report = import_catalog(source, into, as_of=day, released=versions(), write=write)
    for line in report.lines():
        say(clean(line))
    if any(change.kind in {"conflict", "skipped"} for change in report.changes):
        raise typer.Exit(1)


def draft(recipe: str, config: Path | None, into: Path | None, folders: Sequence[str]) -> None:
    """Draft a recipe: on stdout, or as a file of a catalog that is then checked."""
    from recipes_core.render.drafts import draft_recipe

    catalog = open_catalog(folders)
    facts = None
    if config is not None:
        try:
            facts = json.loads(config.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            fail(f"error: {config}: {error}")
        if not isinstance(facts, dict):
            fail(f"error: {config}: holds no object, as a config.json does")
    drafted = draft_recipe(recipe, catalog, facts)
    made = drafted.draft
    if drafted.unsized:
        note(f"not sized: {clean(drafted.unsized)}")
    if into is None:
        say(made.text.rstrip("\n"))
    else:
        path = into / "models" / f"{made.recipe_id}.yaml"
        if path.exists():
            fail(f"error: {path} is there already")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made.text, encoding="utf-8")
        note(f"wrote {path}")
        if drafted.checkpoint is not None:
            _keep_checkpoint(into, made.recipe_id, drafted.checkpoint)
    for line in made.unknown:
        note(f"to do: {line}")
    if into is not None:
        _check(into, made.recipe_id, folders)


def _keep_checkpoint(into: Path, checkpoint: str, text: str) -> None:
    """Write what sizing needs of a config beside the recipes, unless it is there."""
    from recipes_core.sizing.checkpoint import checkpoint_path

    path = checkpoint_path(into, checkpoint)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    note(f"wrote {path}")


def _check(into: Path, recipe: str, folders: Sequence[str]) -> None:
    from recipes_core.catalog.checks import check_catalog
    from recipes_core.catalog.loader import BUILTIN, chosen_catalogs, load_catalog
    from recipes_core.vllm_cli import versions

    catalog = load_catalog(*(chosen_catalogs(folders) or (BUILTIN,)), str(into), on_error="collect")
    mine = f"models/{recipe}.yaml"
    found = [f for f in check_catalog(catalog, released=versions()) if f.source.endswith(mine)]
    for finding in found:
        note(str(finding))
    if any(finding.severity == "error" for finding in found):
        raise typer.Exit(1)


def print_schema(folders: Sequence[str], *, output: bool) -> None:
    """Print a JSON Schema: of a recipe file, or of a configuration's JSON."""
    if output:
        from recipes_core.render.output_schema import output_schema

        found = output_schema()
    else:
        from recipes_core.catalog.schema import recipe_schema

        found = recipe_schema(open_catalog(folders))
    say(json.dumps(found, indent=2, ensure_ascii=False))
