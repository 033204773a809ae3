"""A catalog as lists: models, vocabulary, groups by provider, and the index for language models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import BaseModel

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.pages import Page, pages
from recipes_core.render.text import inline


def models_json(catalog: Catalog) -> list[dict[str, Any]]:
    """``/models.json``: every id that has a page, with its addresses."""
    return [_model_row(page) for page in pages(catalog)]


def _model_row(page: Page) -> dict[str, Any]:
    meta = page.entry.recipe.meta
    row: dict[str, Any] = {
        "hf_id": page.id,
        "title": meta.title,
        "provider": meta.provider,
        "url": f"/{page.entry.id}",
        "json": f"/{page.id}.json",
    }
    if page.derived:
        row |= {"derived_from": page.entry.id, "variant": page.variant}
    return row


def vocabulary_json(catalog: Catalog) -> dict[str, Any]:
    """The vocabulary's files by path: taxonomy, platforms, strategies and KV stores."""
    strategies = {name: _plain(item) for name, item in catalog.strategies.items()}
    stores = {name: _plain(item) for name, item in catalog.kv_stores.items()}
    found: dict[str, Any] = {
        "taxonomy.json": _plain(catalog.taxonomy),
        "platforms.json": {name: _plain(item) for name, item in catalog.platforms.items()},
        "strategies.json": strategies,
        "kv_store.json": stores,
    }
    found |= {f"strategies/{name}.json": item for name, item in strategies.items()}
    found |= {f"kv_store/{name}.json": item for name, item in stores.items()}
    return found


def _plain(document: BaseModel) -> dict[str, Any]:
    return document.model_dump(mode="json", exclude_unset=True)


class Row(NamedTuple):
    """A recipe in a list."""

    id: str
    title: str
    detail: str
    words: str
    """What a filter looks at, in lower case."""


def row_of(catalog: Catalog, entry: RecipeEntry) -> Row:
    """A recipe with what tells it from its neighbours."""
    meta, model = entry.recipe.meta, entry.recipe.model
    names = {task.id: task.display_name for task in catalog.taxonomy.tasks}
    size = model.parameter_count or ""
    if size and model.active_parameters:
        size = f"{size} ({model.active_parameters} active)"
    tasks = ", ".join(names.get(task, task) for task in meta.tasks)
    variants = entry.recipe.variants.values()
    words = [
        entry.id, meta.title, meta.provider, tasks, *meta.tasks, model.architecture,
        *(variant.precision for variant in variants),
        *(variant.model_id for variant in variants if variant.model_id),
    ]  # fmt: skip
    detail = " · ".join(part for part in (entry.id, size, tasks) if part)
    return Row(entry.id, meta.title, detail, " ".join(words).lower())


def groups_of(
    catalog: Catalog, entries: Iterable[RecipeEntry] | None = None
) -> list[tuple[str, list[Row]]]:
    """Recipes by provider, providers by name; a search result keeps its order in each group."""
    groups: dict[str, list[Row]] = {}
    for entry in catalog.recipes.values() if entries is None else entries:
        provider = entry.recipe.meta.provider
        shown = catalog.taxonomy.providers.get(provider)
        name = shown.display_name if shown else provider
        groups.setdefault(name, []).append(row_of(catalog, entry))
    if entries is None:
        return sorted(groups.items(), key=lambda group: group[0].casefold())
    return list(groups.items())


def search_json(entries: Iterable[RecipeEntry]) -> list[dict[str, Any]]:
    """Search results, best first."""
    found = []
    for entry in entries:
        meta = entry.recipe.meta
        found.append(
            {
                "hf_id": entry.id,
                "title": meta.title,
                "provider": meta.provider,
                "tasks": list(meta.tasks),
                "precisions": list(
                    dict.fromkeys(v.precision for v in entry.recipe.variants.values())
                ),
                "verified_on": [
                    name for name, state in meta.hardware.items() if state == "verified"
                ],
                "description": meta.description,
                "url": f"/{entry.id}",
                "json": f"/{entry.id}.json",
            }
        )
    return found


LLMS_HEAD = """# vLLM serving recipes

> The exact `vllm serve` commands of {count} models: choose hardware, variant and strategy, and get
> commands as text and as argument vectors, install steps, and GPU memory.

Each recipe is a Markdown page (`.md`) and JSON (`.json`). {how}
`generated` = computed from the recipe's rules, as every command is; `verified` = a run of the model
on that hardware is stated, and `evidence` says by whom and whether the run itself is documented.
"""
LLMS_LIVE = (
    "Both take a query string with `hardware`, `variant`, `strategy`, `nodes`, `features`,"
    " `preset` and more; what cannot be had yields to the default and is listed under"
    " adjustments, or is refused with `strict=1`."
)
LLMS_STATIC = (
    "Other hardware and strategies stand under `<id>/hw/<hardware>.json` and"
    " `<id>/hw/<hardware>/strategies/<strategy>.json`, as the JSON of a recipe lists them."
)


def llms_txt(catalog: Catalog, root: str = "/", *, live: bool = True) -> str:
    """The index for language models.

    Args:
        catalog: Whose recipes are listed.
        root: What stands before each path, with a slash at its end.
        live: Whether pages take a query string.
    """
    how = LLMS_LIVE if live else LLMS_STATIC
    lines = [LLMS_HEAD.format(count=len(catalog.recipes), how=how)]
    for provider, rows in groups_of(catalog):
        lines.append(f"## {inline(provider)}\n")
        for row in rows:
            about = catalog.recipes[row.id].recipe.meta.description
            tail = f": {inline(about)}" if about else ""
            lines.append(f"- [{inline(row.title)}]({root}{row.id}.md){tail}")
        lines.append("")
    lines += [
        "## Data\n",
        f"- [All models]({root}models.json)",
        f"- [Hardware, tasks and KV offload]({root}taxonomy.json)",
        f"- [Strategies]({root}strategies.json)",
        f"- [Schema of a configuration's JSON]({root}configuration.schema.json)",
        f"- [Schema of a recipe file]({root}recipe.schema.json)",
    ]
    return "\n".join(lines) + "\n"
