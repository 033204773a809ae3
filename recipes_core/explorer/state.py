"""What the explorer shows, without a widget: the choices, what they resolve to, and the way back.

A reader's newest choice wins: where an earlier one stands in its way (a preset, a node count), the
earlier one gives way and the change is told. What is possible is decided by ``configure`` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from traitlets import HasTraits, Int, Unicode

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.own_hardware import parse_hardware
from recipes_core.catalog.search import search
from recipes_core.configuration import Adjustment, Configuration, configure
from recipes_core.deployment import Deployment, ReaderValues, deploy
from recipes_core.errors import RecipesError
from recipes_core.explorer.compared import Compared, compared_in, compared_with
from recipes_core.explorer.history import History, Moment
from recipes_core.explorer.links import link_query, outer_keys, page_query, read_link
from recipes_core.explorer.newest import (
    honoured,
    moved_by,
    placed,
    refused,
    stay,
    ways,
    with_feature,
)
from recipes_core.explorer.shown import Shown
from recipes_core.explorer.values import Kept, kept_from_text, kept_text
from recipes_core.findings import Finding
from recipes_core.selection import MAX_QUERY, Selection

if TYPE_CHECKING:
    from recipes_core.sizing import Sizing


class ExplorerState(HasTraits):
    """The state of one explorer.

    Attributes:
        revision: Rises after each change of configuration or deployment; views observe it.
        compared_revision: Rises after each change of what is compared.
        told: Rises whenever a wish was granted or refused: then ``problem`` and ``notices`` hold
            what is to be said of it, which may be the same as before.
        tab: The panel that is open below the command.
        shown: What is on screen; None where the catalog has nothing to show.
        problem: A sentence about something that could not be done; empty where all is well.
        notices: What the newest choice met with.
    """

    revision = Int(0)
    compared_revision = Int(0)
    told = Int(0)
    tab = Unicode("")

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self.catalog = catalog
        self.selection = Selection()
        self.kept = Kept()
        self.shown: Shown | None = None
        self.problem = ""
        self.notices: list[Adjustment] = []
        self.compared: tuple[Compared, ...] = ()
        self._history = History()

    @property
    def configuration(self) -> Configuration | None:
        """The configuration on screen."""
        return self.shown.configuration if self.shown is not None else None

    @property
    def deployment(self) -> Deployment | None:
        """The deployment on screen."""
        return self.shown.deployment if self.shown is not None else None

    @property
    def tightest(self) -> Sizing | None:
        """The engine on screen that has the least room."""
        return self.shown.tightest if self.shown is not None else None

    @property
    def findings(self) -> list[Finding]:
        """What there is to say of the deployment on screen, its commands checked."""
        return self.shown.findings if self.shown is not None else []

    def tell(self, problem: str) -> None:
        """Say why something could not be done; empty: nothing is in the way any more."""
        if problem or self.problem:
            self.problem = problem
            self.told += 1

    # --- opening ----------------------------------------------------------------------------

    def open_first(self) -> None:
        """Show the recipe that the list has first, for a reader who asked for none."""
        if not self.catalog.recipes:
            self.tell("This catalog has no recipes.")
            return
        self._try(search(self.catalog)[0].id, Selection())

    def open_query(self, query: str) -> None:
        """Open what a link's query asks: ``model=org/repo`` and the axes.

        What cannot be read is told; without a model the newest recipe opens.
        """
        outer, rest, unread = outer_keys(query)
        model = outer.get("model", "").strip()
        selection = Selection.from_query(rest)
        selection = selection.with_(unread=(*selection.unread, *unread))
        if not model:
            self._open_without_model(selection)
        elif not self._try(model, selection):
            problem = self.problem
            self.open_first()
            if self.shown is not None:
                self.tell(problem)
        problems = [self.problem]
        for item in compared_in(outer.get("compare", "")):
            self._add_compared(item)
            problems.append(self.problem)
        self.tell(" ".join(dict.fromkeys(filter(None, problems))))
        self.tab = outer.get("tab", "") if outer.get("tab", "").isidentifier() else ""

    def _open_without_model(self, selection: Selection) -> None:
        self.open_first()
        if self.shown is not None:
            reason = "no model was named, so its other keys say nothing (model=org/repo)"
            asked = list(selection.asked())[:1]
            self.notices = [
                *(Adjustment("", key, None, reason) for key in asked),
                *(Adjustment(u.key, u.value, None, u.reason) for u in selection.unread),
            ]

    def widen(self, catalog: Catalog) -> None:
        """Go on with a larger catalog, unless it lacks the recipe; what is shown stays."""
        config = self.configuration
        if config is not None:
            config = configure(catalog, config.entry.id, config.selection)
            self.shown = Shown(config, self._deploy(config))
        self.catalog = catalog

    def open_link(self, text: str) -> None:
        """Open a pasted link: ours, the peer's, a path ``/org/repo?…``, or a bare id.

        Raises:
            RecipesError: The text names no recipe.
        """
        if len(text) > MAX_QUERY:
            raise RecipesError(f"a link has at most {MAX_QUERY} characters")
        text = text.strip()
        recipe_id, query = read_link(text)
        self._remember()
        selection = self.kept.fill(recipe_id, Selection.from_query(query))
        try:
            self._show(configure(self.catalog, recipe_id, selection))
        finally:
            self._settle()

    def choose(self, recipe_id: str) -> None:
        """Open a recipe from the list, with its own defaults and what the reader keeps.

        The hardware is carried over too, else the reader's own is taken; where the other recipe
        cannot have it, that is told.
        """
        self._remember()
        selection = self.kept.fill(recipe_id, Selection())
        hardware = self.selection.hardware or self.kept.hardware
        with suppress(RecipesError):
            carried = selection.with_(
                **placed(self.catalog, recipe_id, selection, hardware, self.kept)
            )
            told = configure(self.catalog, recipe_id, carried).adjustments
            if all(item.axis == "hardware" for item in told):
                selection = carried
        self._try(recipe_id, selection)
        self._settle()

    def _try(self, recipe_id: str, selection: Selection) -> bool:
        try:
            self._show(configure(self.catalog, recipe_id, selection))
        except RecipesError as error:
            self.tell(str(error))
            return False
        return True

    # --- choices ----------------------------------------------------------------------------

    def ask(self, **changes: Any) -> None:
        """Change some axes; what stands in the way of the newest choice yields."""
        config = self.configuration
        if config is None:
            return
        self._remember()
        asked = self.selection.with_(**changes)
        tried = (
            configure(self.catalog, config.entry, selection)
            for selection in ways(config, asked, changes)
        )
        first = next(tried)
        granted = next((f for f in chain((first,), tried) if not refused(f, changes)), None)
        if granted is not None:
            self._show(granted, moved=moved_by(config, granted, changes))
        else:
            selection, told = stay(config, asked, first, changes)
            self._show(configure(self.catalog, config.entry, selection), moved=told)

    def ask_hardware(self, hardware: str) -> None:
        """Ask for a hardware; for the reader's own on as many nodes as it takes and there are."""
        config = self.configuration
        if config is not None:
            self.ask(**placed(self.catalog, config.entry.id, self.selection, hardware, self.kept))

    def ask_feature(self, name: str, on: bool, mode: str | None = None) -> None:
        """Turn a feature on (in a mode) or off."""
        config = self.configuration
        if config is not None:
            self.ask(**with_feature(config, self.selection, name, on, mode))

    def ask_advanced(self, name: str, on: bool) -> None:
        """Turn a tuning switch on or off."""
        words = [word for word in self.selection.advanced if word != name]
        self.ask(advanced=tuple([*words, name] if on else words))

    def set_values(self, values: ReaderValues) -> None:
        """Fill in the reader's own values everywhere."""
        config = self.configuration
        if config is not None:
            self._remember()
            self.kept = self.kept.with_values(config.model_id, values)
            self.shown = Shown(config, self._deploy(config))
            self._changed()
            self.tell("")

    def reset(self) -> None:
        """Back to the recipe's defaults; the reader's own values stay."""
        if self.configuration is not None:
            self._remember()
            recipe_id = self.configuration.entry.id
            self._try(recipe_id, self.kept.fill(recipe_id, Selection()))

    def forget(self) -> None:
        """Drop all that the reader entered, own hardware too."""
        if self.configuration is not None:
            self._remember()
            self.kept = Kept()
            self._without_own(self.selection.with_(served_name=None, host=None, port=None))

    def drop_hardware(self) -> None:
        """Offer the reader's own GPUs no longer; where they were chosen, the default is."""
        self._remember()
        self.kept = replace(self.kept, hardware=None, nodes=None)
        self._without_own(self.selection)

    def _without_own(self, selection: Selection) -> None:
        config = self.configuration
        if config is not None:
            if config.hardware not in self.catalog.hardware:
                selection = selection.with_(hardware=None, gpus=None)
            self._try(config.entry.id, selection)

    # --- the way back -----------------------------------------------------------------------

    @property
    def can_undo(self) -> bool:
        """Whether there is something to return to."""
        return bool(self._history)

    def undo(self) -> None:
        """Return to what was shown before the newest choice."""
        if self._history:
            moment = self._history.back()
            self.kept = moment.kept
            compared, self.compared = self.compared, moment.compared
            self._try(moment.recipe_id, moment.selection)
            self.compared_revision += compared != self.compared

    def _moment(self) -> Moment | None:
        if self.configuration is None:
            return None
        return Moment(self.configuration.entry.id, self.selection, self.kept, self.compared)

    def _remember(self) -> None:
        self._history.remember(self._moment())

    def _settle(self) -> None:
        self._history.settle(self._moment())

    # --- showing ----------------------------------------------------------------------------

    def _show(self, config: Configuration, moved: Iterable[Adjustment] = ()) -> None:
        self.shown = Shown(config, self._deploy(config))
        self.selection = honoured(config)
        self.kept = self.kept.of(config.entry.id, self.selection)
        own = config.hardware not in self.catalog.hardware
        if own and self.kept.hardware in {None, config.hardware}:
            self.kept = self.kept.with_hardware(config.hardware, config.nodes)
        self.notices, self.problem = [*moved, *config.adjustments], ""
        self._changed()
        self.told += 1

    def _deploy(self, config: Configuration) -> Deployment:
        return deploy(config, self.kept.values_of(config.model_id))

    def _changed(self) -> None:
        self._settle()
        self.revision += 1

    # --- sharing ----------------------------------------------------------------------------

    def query(self) -> str:
        """The query of a link that opens the same configuration."""
        return link_query(self.configuration) if self.configuration is not None else ""

    def page_query(self) -> str:
        """The query of the page's address: the configuration, the open panel, what is compared."""
        config = self.configuration
        return page_query(config, self.compared, self.tab) if config is not None else ""

    # --- comparing --------------------------------------------------------------------------

    def compare_current(self) -> None:
        """Keep the current configuration for comparison."""
        if self.configuration is not None:
            item = Compared.of(self.configuration)
            if item in self.compared:
                self.tell("Not added: this configuration stands in the comparison already.")
                return
            self._remember()
            self._add_compared(item)
            self._settle()

    def open_compared(self, number: int) -> None:
        """Show the compared configuration at a place, from 0."""
        if 0 <= number < len(self.compared):
            item = self.compared[number]
            self._remember()
            self._try(item.recipe_id, Selection.from_query(item.query))
            self._settle()

    def drop_compared(self, number: int) -> None:
        """Stop comparing with the configuration at a place, from 0."""
        if 0 <= number < len(self.compared):
            self._remember()
            self._compare((*self.compared[:number], *self.compared[number + 1 :]))

    def _add_compared(self, item: Compared) -> None:
        try:
            items = compared_with(self.catalog, self.compared, item)
        except RecipesError as error:
            self.tell(str(error))
        else:
            self._compare(items)

    def _compare(self, items: tuple[Compared, ...]) -> None:
        if items != self.compared:
            self.compared = items
            self.compared_revision += 1
            self.tell("")

    def compared_configurations(self) -> list[tuple[Configuration, Deployment]]:
        """What is compared, resolved anew."""
        found = [configure(self.catalog, item.recipe_id, item.query) for item in self.compared]
        return [(config, self._deploy(config)) for config in found]

    # --- what the reader entered ------------------------------------------------------------

    @property
    def values(self) -> ReaderValues:
        """The reader's values in the commands that are shown."""
        config = self.configuration
        return self.kept.values_of(config.model_id) if config is not None else self.kept.shared

    def keep_hardware(self, text: str) -> str:
        """Offer the reader's own GPUs from now on; returns their id.

        Raises:
            RecipesError: The short form cannot be read.
        """
        own = parse_hardware(self.catalog, text).id
        if own != self.kept.hardware:
            self.kept = self.kept.with_hardware(own)
            self.revision += 1
        return own

    def keep_nodes(self, nodes: int | None) -> None:
        """Keep how many nodes of the reader's own hardware there are."""
        self.kept = replace(self.kept, nodes=nodes if nodes and nodes > 1 else None)

    def values_text(self) -> str:
        """What the reader entered as a file to keep; no secret is in it, only variables' names."""
        return kept_text(self.kept)

    def read_values(self, text: str, *, restored: bool = False) -> None:
        """Take what the reader entered from a file of ``values_text``.

        Args:
            text: The file.
            restored: A reload brings it back: what the page's link says of the server stands, and
                there is nothing to undo.

        Raises:
            RecipesError: The text is no such file.
        """
        kept = kept_from_text(text)
        if kept.hardware is not None:
            parse_hardware(self.catalog, kept.hardware)
        if self.configuration is None:
            self.kept = kept
            return
        recipe_id, selection = self.configuration.entry.id, self.selection
        if not restored:
            self._remember()
            selection = selection.with_(served_name=None, host=None, port=None)
        if kept.hardware is None:
            kept = replace(kept, hardware=self.kept.hardware, nodes=self.kept.nodes)
        self.kept = kept
        self._try(recipe_id, kept.fill(recipe_id, selection))
