"""Finding a model: a search as one types, filters, and the list."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.own_hardware import admit
from recipes_core.catalog.search import corrected, search
from recipes_core.errors import RecipesError
from recipes_core.explorer.guard import guarded
from recipes_core.explorer.links import read_link
from recipes_core.explorer.machine import Machine, this_machine
from recipes_core.explorer.widgets import Kit, escape, visible
from recipes_core.selection import MAX_QUERY

if TYPE_CHECKING:
    from recipes_core.explorer.state import ExplorerState

ANY = ""
MACHINE, OWN = "\0machine", "\0own"
FITS = (1, 2, 4, 8, 16, 32, 64)
ORDERS: dict[str, tuple[str, Callable[[RecipeEntry], Any]]] = {
    "newest": ("Newest first", lambda _: 0),
    "updated": ("Recently updated first", lambda e: -_day(e)),
    "provider": ("By provider", lambda e: (e.recipe.meta.provider.casefold(), e.id.casefold())),
    "name": ("By name", lambda e: e.id.partition("/")[2].casefold()),
}
"""Label, and what a search's answer is sorted by; the search has the newest first itself."""
FILTERS = {
    "provider": "Provider",
    "fits": "Fits on (memory as the recipe asks)",
    "count": "How many of these GPUs",
    "task": "Task",
    "precision": "Precision",
    "verified": "Verified on",
    "order": "Order",
}
SETTINGS = {"count": 8, "order": "newest"}
"""Fields that narrow nothing, and their value at first."""


def _day(entry: RecipeEntry) -> int:
    day = entry.recipe.meta.date_updated or entry.recipe.meta.date_added
    return day.toordinal() if day else 0


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
        self.filters = {name: kit.dropdown(label) for name, label in FILTERS.items()}
        self.own = kit.text("Your GPUs", placeholder="8xA100-80GB, 4xL40S")
        self.own.continuous_update = False
        provider, *folded = self.filters.values()
        folded.insert(1, self.own)
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
                provider,
                kit.html(
                    '<button type="button" class="rx-button rx-fold" data-rx-toggle="filters"'
                    ' aria-expanded="false">Filters</button>'
                ),
                kit.box(folded, "rx-filters"),
                self.count,
                self.clear,
                self.list,
                self.unread,
            ],
            "rx-find",
        )
        self.machine: Machine | None = None
        self._ids: tuple[tuple[str, str], ...] = ()
        self._quiet = False
        self._offer()
        self.refresh()
        self.own.observe(guarded(self._own, kit.on_error), "value")
        for field in (self.text, *self.filters.values()):
            field.observe(guarded(lambda _: self.refresh(), kit.on_error), "value")
        self.list.observe(guarded(self._chosen, kit.on_error), "value")

    def _offer(self) -> None:
        catalog = self.catalog
        recipes = [entry.recipe for entry in catalog.recipes.values()]
        used = {task for recipe in recipes for task in recipe.meta.tasks}
        tasks = [(task.display_name, task.id) for task in catalog.taxonomy.tasks if task.id in used]
        of = Counter(recipe.meta.provider for recipe in recipes)
        precisions = sorted({v.precision for r in recipes for v in r.variants.values()})
        verified = {h for r in recipes for h, s in r.meta.hardware.items() if s == "verified"}
        named = {h for r in recipes for h in r.meta.hardware}
        boards = [
            (f"{profile.brand} {profile.display_name}", hardware)
            for hardware, profile in catalog.hardware.items()
            if not profile.restricted or hardware in named
        ]
        offers: dict[str, list[tuple[str, Any]]] = {
            "task": tasks,
            "provider": [(f"{n} ({of[n]})", n) for n in sorted(of, key=str.casefold)],
            "precision": [(name.upper(), name) for name in precisions],
            "verified": [(label, h) for label, h in boards if h in verified],
            "fits": [
                *([("This machine", MACHINE)] if has_gpu_tool() else []),
                ("Your own GPUs …", OWN),
                *boards,
            ],
        }
        for name, options in offers.items():
            self.filters[name].show([("Any", ANY), *options], ANY)
        self.filters["count"].show([(str(n), n) for n in FITS], SETTINGS["count"])
        orders = [(label, name) for name, (label, _) in ORDERS.items()]
        self.filters["order"].show(orders, SETTINGS["order"])

    def clear_all(self) -> None:
        """No search, no filter."""
        self.text.value = ""
        for name, field in self.filters.items():
            if name != "order":
                field.value = SETTINGS.get(name, ANY)

    def asked(self) -> str:
        """What is searched for; of a pasted link the model that it names."""
        text: str = self.text.value.strip()[:MAX_QUERY]
        if "/" in text and not re.search(r"\s", text):
            with suppress(RecipesError):
                text = read_link(text)[0]
        return text[:200]

    def matches(self, text: str, without: str = "") -> list[RecipeEntry]:
        """What a text and the filters, all or all but one, leave in the chosen order."""
        chosen = {name: field.value for name, field in self.filters.items()}
        if without:
            chosen[without] = ANY
        found = search(
            self.catalog,
            text,
            tasks=(chosen["task"],) if chosen["task"] else (),
            providers=(chosen["provider"],) if chosen["provider"] else (),
            precision=chosen["precision"] or None,
            hardware_verified=chosen["verified"] or None,
        )
        if chosen["fits"]:
            found = self._fitting(found, chosen["fits"], chosen["count"])
        return sorted(found, key=ORDERS[chosen["order"]][1])

    def _fitting(self, entries: list[RecipeEntry], chosen: str, gpus: int) -> list[RecipeEntry]:
        catalog, hardware = self.catalog, self._form(chosen)
        if hardware is None:
            return entries
        nodes = (self.state.kept.nodes or 1) if chosen == OWN else 1
        if chosen in {MACHINE, OWN}:
            admitted = admit(catalog, hardware, scalable=nodes > 1)
            catalog, hardware = admitted.catalog, admitted.hardware
        node = catalog.hardware[hardware]
        if not self._counted(chosen):
            gpus = nodes * node.gpu_count
        return [e for e in entries if rules_of(catalog, e).fits(hardware, node, gpus)]

    def _counted(self, chosen: str) -> bool:
        """Whether the reader says how many GPUs: a workstation has its own, and no more."""
        profile = self.catalog.hardware.get(chosen)
        return profile is not None and profile.scalable

    def _named_only(self, chosen: str) -> bool:
        """Whether only recipes that name a hardware are offered on it."""
        profile = self.catalog.hardware.get(chosen)
        return profile is not None and profile.restricted

    def _form(self, chosen: str) -> str | None:
        """The hardware that is meant; None where it is not known, so that nothing is left out."""
        if chosen == OWN:
            return self.state.kept.hardware
        if chosen == MACHINE:
            # Asked once: the tool takes seconds, and a search asks at each keystroke.
            self.machine = self.machine or this_machine(self.catalog)
            return self.machine.hardware
        return chosen

    def _own(self, change: Any) -> None:
        if self._quiet or not change["new"].strip():
            return
        try:
            self.state.keep_hardware(change["new"])
        finally:
            self.refresh()

    def refresh(self) -> None:
        """Show what matches."""
        text = self.asked()
        found = self.matches(text)
        instead = None if found else corrected(self.catalog, text)
        if instead is not None:
            found = self.matches(instead)
        filtered = [
            name
            for name, field in self.filters.items()
            if name not in SETTINGS and field.value != ANY
        ]
        narrowed = bool(text or filtered)
        fits_on = self.filters["fits"].value
        visible(self.own, fits_on == OWN)
        visible(self.filters["count"], self._counted(fits_on))
        visible(self.clear, narrowed)
        visible(self.list, bool(found))
        said = self._said(found, filtered, text, instead) if narrowed else self._all_said(found)
        if self._named_only(fits_on):
            said += (
                " Only recipes that name this hardware count here; “Your own GPUs” compares the"
                " memory alone."
            )
        # By the text a page knows whether the list is already that of the newest keystroke.
        of = escape(self.text.value[:200])
        self.count.value = (
            f'<div class="rx-count-row" role="status" data-rx-of="{of}">{escape(said)}</div>'
        )
        self._ids = tuple((_label(entry), entry.id) for entry in found)
        self.follow()

    def _all_said(self, found: list[RecipeEntry]) -> str:
        order = ORDERS[self.filters["order"].value][0]
        return f"{len(found)} models, {order[0].lower()}{order[1:]}."

    def _said(
        self, found: list[RecipeEntry], filtered: list[str], text: str, instead: str | None
    ) -> str:
        """How many are left, on which GPUs, and what to give up where there is none."""
        chosen = self.filters["fits"].value
        on = ""
        if chosen == MACHINE and self.machine is not None:
            on = f", {self.machine.text}"
        elif chosen == OWN:
            kept = self.state.kept
            own = f"{kept.hardware} on {kept.nodes} nodes" if kept.nodes else kept.hardware
            on = f" on {own}" if own else "; say which GPUs you have, such as 4xL40S"
        words = f"No model matches “{text[:60]}”"
        if found:
            many = f"{len(found)} of {len(self.catalog.recipes)} models{on}."
            return f"{words}. For “{instead}”: {many}" if instead else many
        if filtered and search(self.catalog, instead or text):
            return f"No model matches. {self._without(filtered, instead or text)}"
        return (
            f"{words}. Names, providers, tasks, precisions, verified GPUs and descriptions are"
            " searched; try fewer words, or part of one."
        )

    def _without(self, filtered: list[str], text: str) -> str:
        """What each filter takes away, where it is the only one to be given up."""
        left = {name: len(self.matches(text, without=name)) for name in filtered}
        each = [
            f"{many} would without “{FILTERS[name].partition(' (')[0]}”"
            for name, many in left.items()
            if many
        ]
        return f"{', '.join(each) or f'{len(search(self.catalog, text))} would without any'}."

    def follow(self) -> None:
        """Mark the model that is shown, if it is in the list."""
        config = self.state.configuration
        current = config.entry.id if config is not None else None
        self._quiet = True
        try:
            self.own.value = self.state.kept.hardware or self.own.value
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
    """Model and organisation, which goes onto a line of its own where both have no room."""
    org, _, repo = entry.id.partition("/")
    whole = org.replace("-", "\N{NON-BREAKING HYPHEN}")
    return f"{repo}\N{ZERO WIDTH SPACE} · {whole}"


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
