"""What the explorer shows, without a widget: the choices, what they resolve to, and the way back.

A reader's newest choice wins: where an earlier one stands in its way (a preset, a node count), the
earlier one gives way and the change is told. What is possible is decided by ``configure`` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from traitlets import HasTraits, Int, Unicode

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.own_hardware import parse_hardware
from recipes_core.catalog.search import search
from recipes_core.configuration import Adjustment, Configuration, configure
from recipes_core.deployment import Deployment, Process, ReaderValues, deploy
from recipes_core.errors import RecipesError
from recipes_core.explorer.links import MAX_COMPARED, Compared, compared_in, outer_keys, read_link
from recipes_core.explorer.newest import honoured, moved_by, refused, stay, ways
from recipes_core.explorer.values import Kept, kept_from_text, kept_text
from recipes_core.findings import Finding
from recipes_core.link import selection_of
from recipes_core.options import options_of
from recipes_core.selection import MAX_QUERY, Selection

if TYPE_CHECKING:
    from recipes_core.sizing import Sizing

MAX_HISTORY = 100


@dataclass(frozen=True, slots=True)
class _Moment:
    """What undo returns to."""

    recipe_id: str
    selection: Selection
    kept: Kept
    compared: tuple[Compared, ...]


class ExplorerState(HasTraits):
    """The state of one explorer.

    Attributes:
        revision: Rises after each change of configuration or deployment; views observe it.
        problem: A sentence about something that could not be opened; empty where all is well.
        tab: The panel that is open below the command.
    """

    revision = Int(0)
    compared_revision = Int(0)
    problem = Unicode("")
    tab = Unicode("")

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self.catalog = catalog
        self.selection = Selection()
        self.kept = Kept()
        self.configuration: Configuration | None = None
        self.deployment: Deployment | None = None
        self.notices: list[Adjustment] = []
        self.compared: list[Compared] = []
        self.sizing_problem = ""
        self._history: list[_Moment] = []
        self._sizings: list[tuple[Process, Sizing]] | None = None
        self._checked: list[Finding] | None = None

    # --- opening ----------------------------------------------------------------------------

    def open_first(self) -> None:
        """Show the recipe that the list has first, for a reader who asked for none."""
        if not self.catalog.recipes:
            self.problem = "This catalog has no recipes."
            return
        self._try(search(self.catalog)[0].id, Selection())

    def open_query(self, query: str) -> None:
        """Open what a link's query asks: ``model=org/repo`` and the axes.

        What cannot be read is told; without a model the newest recipe opens.
        """
        outer, rest, unread = outer_keys(query)
        model = outer.get("model", "").strip()
        selection = Selection.from_query(rest)
        if unread:
            selection = selection.with_(unread=(*selection.unread, *unread))
        if not model:
            self._open_without_model(selection)
        elif not self._try(model, selection):
            problem = self.problem
            self.open_first()
            if self.configuration is not None:
                self.problem = problem
        for item in compared_in(outer.get("compare", "")):
            self._add_compared(item)
        self.tab = outer.get("tab", "") if outer.get("tab", "").isidentifier() else ""

    def _open_without_model(self, selection: Selection) -> None:
        self.open_first()
        if self.configuration is not None:
            reason = "no model was named, so its other keys say nothing (model=org/repo)"
            asked = selection.asked()
            told = [Adjustment("", next(iter(asked)), None, reason)] if asked else []
            told += [Adjustment(u.key, u.value, None, u.reason) for u in selection.unread]
            self.notices = told

    def widen(self, catalog: Catalog) -> None:
        """Go on with a larger catalog that holds the same recipe; what is shown stays."""
        self.catalog = catalog
        if self.configuration is not None:
            self.configuration = configure(
                catalog, self.configuration.entry.id, self.configuration.selection
            )
            self.deployment = self._deploy(self.configuration)
            self._sizings = self._checked = None

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
        if not self._try(recipe_id, selection):
            self._settle()
            raise RecipesError(self.problem)

    def choose(self, recipe_id: str) -> None:
        """Open a recipe from the list, with its own defaults and what the reader keeps.

        The hardware is carried over too, where the other recipe can have it.
        """
        self._remember()
        selection = self.kept.fill(recipe_id, Selection())
        if self.selection.hardware and self.configuration is not None:
            carried = selection.with_(hardware=self.configuration.hardware)
            try:
                if not configure(self.catalog, recipe_id, carried).adjustments:
                    selection = carried
            except RecipesError as error:
                self.problem = str(error)
        self._try(recipe_id, selection)
        self._settle()

    def _try(self, recipe_id: str, selection: Selection) -> bool:
        try:
            configuration = configure(self.catalog, recipe_id, selection)
            self._show(configuration)
        except RecipesError as error:
            self.problem = str(error)
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
        first: Configuration | None = None
        for selection in ways(config, asked, changes):
            found = configure(self.catalog, config.entry, selection)
            first = first or found
            if not refused(found, changes):
                first = found
                break
        if first is None:
            return
        if refused(first, changes):
            selection, told = stay(config, asked, first, changes)
            first = configure(self.catalog, config.entry, selection)
            self._show(first, moved=told)
        else:
            self._show(first, moved=moved_by(config, first, changes))

    def ask_feature(self, name: str, on: bool, mode: str | None = None) -> None:
        """Turn a feature on (in a mode) or off."""
        config = self.configuration
        if config is None:
            return
        wanted = [feature for feature in config.features if feature != name]
        if on:
            excluded = {
                rival
                for option in options_of(config)["features"]
                if option.id == name or name in option.facts.get("excludes", ())
                for rival in ([option.id] if option.id != name else option.facts["excludes"])
            }
            order = list(config.recipe.features)
            wanted = sorted({*wanted, name} - excluded, key=order.index)
        modes = {**dict(self.selection.fmode)}
        modes.pop(name, None)
        if on and mode is not None:
            modes[name] = mode
        kept = tuple((key, value) for key, value in modes.items() if key in wanted)
        self.ask(features=tuple(wanted), fmode=kept)

    def ask_advanced(self, name: str, on: bool) -> None:
        """Turn a tuning switch on or off."""
        words = [word for word in self.selection.advanced if word != name]
        self.ask(advanced=tuple([*words, name] if on else words))

    def set_values(self, values: ReaderValues) -> None:
        """Fill in the reader's own values everywhere."""
        if self.configuration is not None:
            self._remember()
            self.kept = self.kept.with_values(self.configuration.model_id, values)
            self._redeploy()

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
        self.kept = replace(self.kept, hardware=None)
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
            moment = self._history.pop()
            self.kept = moment.kept
            compared = list(moment.compared) != self.compared
            self.compared = list(moment.compared)
            self._try(moment.recipe_id, moment.selection)
            self.compared_revision += compared

    def _moment(self) -> _Moment | None:
        if self.configuration is None:
            return None
        shown = self.configuration.entry.id
        return _Moment(shown, self.selection, self.kept, tuple(self.compared))

    def _remember(self) -> None:
        moment = self._moment()
        if moment is not None:
            self._settle()
            self._history = [*self._history[1 - MAX_HISTORY :], moment]

    def _settle(self) -> None:
        """Forget a moment that is no different from what is shown: undo has nothing to do there."""
        if self._history and self._history[-1] == self._moment():
            self._history.pop()

    # --- showing ----------------------------------------------------------------------------

    def _show(self, config: Configuration, moved: Iterable[Adjustment] = ()) -> None:
        deployment = self._deploy(config)
        self.configuration = config
        self.deployment = deployment
        self.selection = honoured(config)
        self.kept = self.kept.of(config.entry.id, self.selection)
        if config.hardware not in self.catalog.hardware:
            self.kept = replace(self.kept, hardware=config.hardware)
        self.notices = [*moved, *config.adjustments]
        self.problem = ""
        self._changed()

    def _redeploy(self) -> None:
        if self.configuration is not None:
            self.deployment = self._deploy(self.configuration)
            self._changed()

    def _deploy(self, config: Configuration) -> Deployment:
        return deploy(config, self.kept.values_of(config.model_id))

    def _changed(self) -> None:
        self._settle()
        self._sizings = self._checked = None
        self.revision += 1

    # --- beside the deployment: worked out when it is first asked for -------------------------

    @property
    def sizings(self) -> list[tuple[Process, Sizing]]:
        """The memory of each engine that differs from the others."""
        from recipes_core.sizing.configuration import size_processes

        if self.configuration is None or self.deployment is None:
            return []
        if self._sizings is None:
            try:
                self._sizings = size_processes(self.configuration, self.deployment)
                self.sizing_problem = ""
            except RecipesError as error:
                self._sizings, self.sizing_problem = [], str(error)
        return self._sizings

    @property
    def tightest(self) -> Sizing | None:
        """The engine that has the least room."""
        found = [sized for _, sized in self.sizings]
        return min(
            found, key=lambda s: (s.fits is not False, s.max_concurrency or 0.0), default=None
        )

    @property
    def declared_findings(self) -> list[Finding]:
        """What laying the configuration out found, before any check of the commands."""
        return self.deployment.findings if self.deployment is not None else []

    @property
    def findings(self) -> list[Finding]:
        """The deployment's findings, and what vLLM's own parser would say of its commands."""
        if self.deployment is None:
            return []
        if self._checked is None:
            from recipes_core.render.beside import command_findings

            try:
                self._checked = command_findings(self.deployment)
            except RecipesError as error:
                self._checked = [Finding("error", "vllm-version", str(error), "vllm")]
        return [*self.deployment.findings, *self._checked]

    # --- sharing ----------------------------------------------------------------------------

    def query(self) -> str:
        """The query of a link that opens the same configuration."""
        if self.configuration is None:
            return ""
        parts = [f"model={quote(self.configuration.entry.id, safe='/')}"]
        rest = selection_of(self.configuration, name_hardware=True).to_query()
        return "&".join([*parts, *([rest] if rest else [])])

    def command_line(self) -> str:
        """The ``recipes show`` that prints the same configuration."""
        if self.configuration is None:
            return ""
        from recipes_core.render.shell import quote as quoted

        query = selection_of(self.configuration, name_hardware=True).to_query()
        return f"recipes show {self.configuration.entry.id} --query {quoted(query)}"

    def page_query(self) -> str:
        """The query of the page's address: the configuration, the open panel, what is compared."""
        parts = [self.query()]
        if self.compared:
            listed = ";".join(f"{item.recipe_id}?{item.query}" for item in self.compared)
            parts.append(f"compare={quote(listed, safe='/')}")
        if self.tab:
            parts.append(f"tab={self.tab}")
        return "&".join(filter(None, parts))

    # --- comparing --------------------------------------------------------------------------

    def compare_current(self) -> None:
        """Keep the current configuration for comparison."""
        if self.configuration is not None:
            query = selection_of(self.configuration, name_hardware=True).to_query()
            item = Compared(self.configuration.entry.id, query)
            if item in self.compared:
                self.problem = "Not added: this configuration stands in the comparison already."
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
            del self.compared[number]
            self.problem = ""
            self.compared_revision += 1

    def _add_compared(self, item: Compared) -> None:
        try:
            configure(self.catalog, item.recipe_id, item.query)
        except RecipesError as error:
            self.problem = f"Not compared: {error}"
            return
        if item in self.compared:
            return
        if len(self.compared) >= MAX_COMPARED:
            self.problem = (
                f"Not compared: {item.recipe_id}. {MAX_COMPARED} configurations stand side by side"
                " already; remove one first."
            )
            return
        self.compared.append(item)
        self.problem = ""
        self.compared_revision += 1

    def compared_configurations(self) -> list[tuple[Configuration, Deployment]]:
        """What is compared, resolved anew."""
        found = []
        for item in self.compared:
            config = configure(self.catalog, item.recipe_id, item.query)
            found.append((config, self._deploy(config)))
        return found

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
            self.kept = replace(self.kept, hardware=own)
            self.revision += 1
        return own

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
        history, recipe_id = self._history, self.configuration.entry.id
        self._remember()
        own = self.kept.hardware if kept.hardware is None else kept.hardware
        selection = self.selection
        if not restored:
            selection = selection.with_(served_name=None, host=None, port=None)
        self.kept = replace(kept, hardware=own)
        self._try(recipe_id, kept.fill(recipe_id, selection))
        if restored:
            self._history = history
