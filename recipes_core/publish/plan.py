"""Which renderings of a recipe a static site holds, and at which path each stands."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from recipes_core.axes import MAX_NODES, strategy_nodes
from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.pages import Page
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
    config: Configuration
    alternatives: dict[str, str] = field(default_factory=dict)
    """Paths of the other strategies on the same hardware; of the recommended rendering only."""


def planned(catalog: Catalog, page: Page) -> Iterator[Planned]:
    """The renderings of a page, the recommended one of each hardware before its alternatives.

    Hardware comes in the taxonomy's order: all that is enabled for the variant. Omni recipes have
    one server and a task instead of strategies, so there is nothing to lay out.
    """
    base = configure(catalog, page.entry, Selection(variant=page.variant))
    if base.rules.is_omni:
        return
    for option in base.rules.hardware_options(page.variant):
        if option.enabled:
            yield from _on_hardware(base, page, option.id)


def _on_hardware(base: Configuration, page: Page, hardware: str) -> Iterator[Planned]:
    asked = Selection(variant=page.variant, hardware=hardware)
    lead = base if hardware == base.hardware else configure(base.catalog, page.entry, asked)
    others: dict[str, Configuration] = {}
    for name in base.rules.strategies:
        if name != lead.strategy_id:
            found = _with_strategy(lead, asked, name)
            if found is not None:
                others[name] = found
    if lead.node.scalable and lead.node.brand in STORE_BRANDS:
        for store in base.catalog.kv_stores:
            found = configure(base.catalog, page.entry, asked.with_(kv_offload=store))
            if found.kv_offload == store and found.kv_instances is not None:
                others[store] = found
    place = f"{page.id}/hw/{hardware}"
    folder = f"{page.id}/strategies" if hardware == base.hardware else f"{place}/strategies"
    paths = {name: f"{folder}/{name}.json" for name in others}
    yield Planned(f"{place}.json", lead, {name: f"/{path}" for name, path in paths.items()})
    for name, config in others.items():
        yield Planned(paths[name], config)


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
