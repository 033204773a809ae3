"""Which renderings of a recipe a static site holds, and at which path each stands."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from recipes_core.axes import MAX_NODES, strategy_nodes, task_key
from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.pages import Page, is_path_part, pages
from recipes_core.configuration import Configuration, configure
from recipes_core.selection import Selection

MOST_POOL_NODES = 4
"""Nodes of one pool above which a site holds no rendering."""
STORE_BRANDS = frozenset({"NVIDIA", "AMD"})


@dataclass(slots=True)
class Planned:
    """One configuration of a page, with the file that it goes to."""

    path: str
    """Below the site, without a leading slash."""
    second: str
    """Strategy, KV store or omni task: what a page offers beside hardware and variant."""
    config: Configuration
    alternatives: dict[str, str] = field(default_factory=dict)
    """Paths of the other strategies on the same hardware; of the recommended rendering only."""


def site_pages(catalog: Catalog) -> dict[str, list[Page]]:
    """The pages of each recipe, by its id: its own, then one for each further variant.

    A variant has the id of its checkpoint, or stands below the recipe where that id is taken.
    """
    found: dict[str, list[Page]] = {}
    for page in pages(catalog):
        found.setdefault(page.entry.id, []).append(page)
    for entry in catalog.recipes.values():
        mine = found[entry.id]
        there = {page.variant for page in mine}
        mine += [
            Page(f"{entry.id}/variants/{name}", entry, name, True)
            for name in entry.recipe.variants
            if name not in there and is_path_part(name)
        ]
    return found


def planned(base: Configuration, page: Page) -> Iterator[Planned]:
    """The renderings of a page, the recommended one of each hardware before its alternatives.

    Hardware comes in the taxonomy's order: all that is enabled for the variant.

    Args:
        base: The page's variant on its default hardware.
        page: The page.
    """
    lay_out = _tasks if base.rules.is_omni else _strategies
    for option in base.rules.hardware_options(page.variant):
        if option.enabled:
            asked = Selection(variant=page.variant, hardware=option.id)
            lead = configure(base.catalog, page.entry, asked)
            folder = page.id if option.id == base.hardware else f"{page.id}/hw/{option.id}"
            yield from lay_out(lead, asked, f"{page.id}/hw/{option.id}.json", folder)


def _tasks(lead: Configuration, asked: Selection, place: str, folder: str) -> Iterator[Planned]:
    """An omni recipe has one server and a task in place of strategies."""
    tasks = [task_key(task) for task in lead.recipe.omni.tasks] if lead.recipe.omni else []
    first, *others = tasks or [""]
    paths = {name: f"{folder}/tasks/{name}.json" for name in others if is_path_part(name)}
    yield Planned(place, first, lead, {name: f"/{path}" for name, path in paths.items()})
    for name, path in paths.items():
        config = configure(lead.catalog, lead.entry, asked.with_(task=name))
        yield Planned(path, name, config)


def _strategies(
    lead: Configuration, asked: Selection, place: str, folder: str
) -> Iterator[Planned]:
    others: dict[str, Configuration] = {}
    for name in lead.rules.strategies:
        if name != lead.strategy_id:
            found = _with_strategy(lead, asked, name)
            if found is not None:
                others[name] = found
    if lead.node.scalable and lead.node.brand in STORE_BRANDS:
        for store in lead.catalog.kv_stores:
            found = configure(lead.catalog, lead.entry, asked.with_(kv_offload=store))
            if found.kv_offload == store and found.kv_instances is not None:
                others[store] = found
    paths = {name: f"{folder}/strategies/{name}.json" for name in others}
    alternatives = {name: f"/{path}" for name, path in paths.items()}
    yield Planned(place, lead.strategy_id or "", lead, alternatives)
    for name, config in others.items():
        yield Planned(paths[name], name, config)


def _with_strategy(lead: Configuration, asked: Selection, name: str) -> Configuration | None:
    """The configuration with another strategy, or None where a site does not hold it."""
    rules, node = lead.rules, lead.node
    gate = rules.gate(name, lead.hardware, node)
    if not (gate.supported and gate.reachable):
        return None
    kind = strategy_nodes(rules.strategies[name])
    if kind == "multi":
        needed = math.ceil(lead.memory_needed_gb / node.vram_gb) if node.scalable else 1
        wanted = asked.with_(nodes=min(MAX_NODES, max(2, gate.min_nodes, needed)))
    elif kind == "pools":
        share = lead.memory_needed_gb / node.vram_gb
        each = 0 if node.gpu_count > 1 and 2 * share <= 1 else max(1, math.ceil(share))
        if each > MOST_POOL_NODES:
            return None
        wanted = asked.with_(prefill_nodes=each, decode_nodes=each)
    else:
        wanted = asked.with_(nodes=1)
    found = configure(lead.catalog, lead.entry, wanted.with_(strategy=name))
    return found if found.strategy_id == name else None
