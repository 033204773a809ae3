"""Finding a model: a search as one types, filters, and the list."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.own_hardware import admit
from recipes_core.catalog.search import search
from recipes_core.explorer.guard import guarded
from recipes_core.explorer.machine import this_machine
from recipes_core.explorer.widgets import Kit, escape, visible

if TYPE_CHECKING:
    from recipes_core.explorer.state import ExplorerState

ANY = ""
MACHINE = "\0machine"
FITS = (1, 2, 4, 8, 16, 32, 64)


def fits(catalog: Catalog, entry: RecipeEntry, hardware: str, gpus: int) -> bool:
    """Whether a variant that runs on a hardware needs no more memory than some of its GPUs have.

    Declared figures: the least memory that the recipe asks for, against GB of the GPUs as sold.

    Args:
        catalog: One that knows the hardware.
        entry: The recipe.
        hardware: Id of the hardware.
        gpus: How many of its GPUs there are.
    """
    rules = rules_of(catalog, entry)
    profile = catalog.hardware[hardware]
    have = gpus * profile.gpu_vram_gb
    for name, variant in entry.recipe.variants.items():
        runs = any(o.id == hardware and o.enabled for o in rules.hardware_options(name))
        if runs and rules.memory_needed(variant, hardware, profile) <= have:
            return True
    return False


def has_gpu_tool() -> bool:
    """Whether the machine that runs this page can say which GPUs it has."""
    return any(shutil.which(tool) for tool in ("nvidia-smi", "rocm-smi"))


class FindPanel:
    """Search, filters, list."""

    def __init__(self, kit: Kit, state: ExplorerState) -> None:
        self.state = state
        self.catalog = state.catalog
        self.text = kit.text(
            "Find a model", "rx-search", placeholder="name, task, precision, GPU …"
        )
        self.filters = {
            "task": kit.dropdown("Task"),
            "provider": kit.dropdown("Provider"),
            "precision": kit.dropdown("Precision"),
            "verified": kit.dropdown("Verified on"),
            "fits": kit.dropdown("Fits on (declared memory)"),
            "count": kit.dropdown("How many of these GPUs"),
        }
        self.list = w.Select(
            description="Models", rows=12, layout=kit.layout, style=kit.label_style
        )
        self.list._dom_classes = ("rx-field", "rx-models")
        self.count = kit.html("", "rx-count")
        self.unread = kit.html(_unread_html(self.catalog))
        self.clear = kit.button("Clear all", self.clear_all, "rx-quiet", "rx-hidden")
        self.box = kit.box(
            [
                self.text,
                kit.html(
                    '<button type="button" class="rx-button rx-fold" data-rx-toggle="filters"'
                    ' aria-expanded="false">Filters</button>'
                ),
                kit.box(list(self.filters.values()), "rx-filters"),
                self.count,
                self.clear,
                self.list,
                self.unread,
            ],
            "rx-find",
        )
        self._ids: tuple[tuple[str, str], ...] = ()
        self._quiet = False
        self._offer()
        self.refresh()
        self.text.observe(guarded(lambda _: self.refresh(), kit.on_error), "value")
        for field in self.filters.values():
            field.on_choice(lambda _: self.refresh(), kit.on_error)
            field.observe(guarded(lambda _: self.refresh(), kit.on_error), "value")
        self.list.observe(guarded(self._chosen, kit.on_error), "value")

    def _offer(self) -> None:
        catalog = self.catalog
        recipes = [entry.recipe for entry in catalog.recipes.values()]
        used = {task for recipe in recipes for task in recipe.meta.tasks}
        tasks = [(task.display_name, task.id) for task in catalog.taxonomy.tasks if task.id in used]
        providers = sorted({recipe.meta.provider for recipe in recipes}, key=str.casefold)
        precisions = sorted({v.precision for r in recipes for v in r.variants.values()})
        verified = {h for r in recipes for h, s in r.meta.hardware.items() if s == "verified"}
        boards = [(f"{p.brand} {p.display_name}", h) for h, p in catalog.hardware.items()]
        offers: dict[str, list[tuple[str, Any]]] = {
            "task": tasks,
            "provider": [(name, name) for name in providers],
            "precision": [(name.upper(), name) for name in precisions],
            "verified": [(label, h) for label, h in boards if h in verified],
            "fits": [*([("This machine", MACHINE)] if has_gpu_tool() else []), *boards],
        }
        for name, options in offers.items():
            self.filters[name].show([("Any", ANY), *options], ANY)
        self.filters["count"].show([(str(number), number) for number in FITS], 8)

    def clear_all(self) -> None:
        """No search, no filter."""
        self.text.value = ""
        for name, field in self.filters.items():
            field.value = 8 if name == "count" else ANY

    def matches(self) -> list[RecipeEntry]:
        """What search and filters leave, best first."""
        chosen = {name: field.value for name, field in self.filters.items()}
        found = search(
            self.catalog,
            self.text.value[:200],
            tasks=(chosen["task"],) if chosen["task"] else (),
            providers=(chosen["provider"],) if chosen["provider"] else (),
            precision=chosen["precision"] or None,
            hardware_verified=chosen["verified"] or None,
        )
        if chosen["fits"]:
            found = self._fitting(found, chosen["fits"], chosen["count"])
        return found

    def _fitting(self, entries: list[RecipeEntry], hardware: str, gpus: int) -> list[RecipeEntry]:
        catalog = self.catalog
        if hardware == MACHINE:
            found = this_machine(catalog)
            if found.hardware is None:
                self.state.problem = found.text
                return entries
            admitted = admit(catalog, found.hardware)
            catalog, hardware = admitted.catalog, admitted.hardware
            gpus = catalog.hardware[hardware].gpu_count
        return [entry for entry in entries if fits(catalog, entry, hardware, gpus)]

    def refresh(self) -> None:
        """Show what matches."""
        found = self.matches()
        narrowed = bool(self.text.value.strip()) or any(
            field.value not in {ANY, None} for n, field in self.filters.items() if n != "count"
        )
        if narrowed:
            text = f"{len(found)} of {len(self.catalog.recipes)} models"
            if not found:
                text = "No model matches. Try fewer words or clear the filters."
        else:
            text = f"{len(found)} models, newest first"
        self.count.value = f'<div class="rx-count-row" role="status">{escape(text)}</div>'
        self._toggle_clear(narrowed)
        self._ids = tuple((_label(entry), entry.id) for entry in found)
        self.follow()

    def _toggle_clear(self, on: bool) -> None:
        visible(self.clear, on)

    def follow(self) -> None:
        """Mark the model that is shown, if it is in the list."""
        config = self.state.configuration
        current = config.entry.id if config is not None else None
        self._quiet = True
        try:
            with self.list.hold_sync():
                if self.list.options != self._ids:
                    self.list.options = self._ids
                self.list.value = current if any(i == current for _, i in self._ids) else None
        finally:
            self._quiet = False

    def _chosen(self, change: Any) -> None:
        if not self._quiet and change["new"] is not None:
            self.state.choose(change["new"])


def _label(entry: RecipeEntry) -> str:
    org, _, repo = entry.id.partition("/")
    return f"{repo}  ·  {org}"


def _unread_html(catalog: Catalog) -> str:
    """That files of the catalog are missing from the list, where some are."""
    broken = {problem.source for problem in catalog.problems if problem.severity == "error"}
    if not broken:
        return ""
    text = f"{len(broken)} file{'s' if len(broken) > 1 else ''} of this catalog could not be read"
    return (
        f'<details class="rx-source"><summary>{text}</summary>'
        f"{'<br>'.join(escape(source) for source in sorted(broken)[:20])}<br>"
        "<code>recipes check</code> says why.</details>"
    )
