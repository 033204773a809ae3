"""The axes: a dropdown each, all choices, why some cannot be had, and a hint beneath."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from recipes_core.configuration import Configuration
from recipes_core.configuration.extras import ADVANCED
from recipes_core.explorer.panels import axis_texts as texts
from recipes_core.explorer.panels.axis_texts import OFF, ON, UNSET, Reader
from recipes_core.explorer.widgets import Dropdown, Kit, visible
from recipes_core.options import options_of

if TYPE_CHECKING:
    from recipes_core.explorer.state import ExplorerState


class Axis(NamedTuple):
    """One dropdown and what it shows."""

    name: str
    field: Dropdown
    read: Reader

    def show(self, config: Configuration) -> str:
        """Bring the dropdown up to date; returns the hint."""
        reading = self.read(config)
        visible(self.field, bool(reading.options))
        if not reading.options:
            return ""
        self.field.description = reading.label or self.field.description
        self.field.show(reading.options, reading.value)
        return reading.hint


class AxesPanel:
    """All axes of a configuration."""

    def __init__(self, kit: Kit, state: ExplorerState) -> None:
        self.kit, self.state = kit, state
        self.axes: list[Axis] = []
        recipes = [entry.recipe for entry in state.catalog.recipes.values()]
        self._add("preset", "Preset", texts.preset)
        self._add("task", "Task", texts.task)
        self._add("variant", "Variant", texts.variant)
        self._add(
            "hardware",
            "Hardware",
            lambda c: texts.hardware(c, state.kept.hardware, several=state.kept.nodes is not None),
            state.ask_hardware,
        )
        self._add("gpus", "GPUs of the node", lambda c: texts.gpus(c, state.deployment))
        self._add("strategy", "Strategy", texts.strategy)
        self._add("nodes", "Nodes", texts.nodes)
        for role in ("prefill", "decode"):
            self._add(f"{role}_nodes", f"{role.capitalize()} pool", texts.pool_nodes(role))
            self._add(f"{role}_mode", f"{role.capitalize()} layout", texts.pool_mode(role))
        self._add("router", "Router", texts.router)
        for number in range(max((len(recipe.features) for recipe in recipes), default=0)):
            self._add_feature(number)
        self._add("kv_offload", "KV cache offload", texts.kv_offload)
        self._add("kv_instances", "Instances on the store", texts.instances)
        self.main = kit.box([axis.field for axis in self.axes], "rx-axis-list")
        self.more = kit.box([], "rx-more")
        self.more_built = False
        self.box = kit.box(
            [
                kit.html('<h2 class="rx-h2">Configuration</h2>'),
                self.main,
                kit.button("Tuning, front end, versions", self.toggle_more, "rx-fold"),
                self.more,
            ],
            "rx-axes",
        )

    def _add(
        self, name: str, label: str, read: Reader, ask: Callable[[Any], None] | None = None
    ) -> None:
        """A dropdown; without an ``ask`` it asks for the axis of its name."""
        field = self.kit.dropdown(label, f"rx-axis-{name}")
        field.on_choice(ask or (lambda v: self.state.ask(**{name: v})), self.kit.on_error)
        self.axes.append(Axis(name, field, read))

    def _add_feature(self, number: int) -> None:
        def ask(value: Any) -> None:
            config = self.state.configuration
            if config is not None:
                name = list(config.recipe.features)[number]
                mode = value if value not in {OFF, ON} else None
                self.state.ask_feature(name, value != OFF, mode)

        self._add(f"feature_{number}", "Feature", lambda c: texts.feature(c, number), ask)

    def toggle_more(self) -> None:
        """Unfold the rarer axes; they are built at the first time."""
        if not self.more_built:
            self._build_more()
        opened = "rx-open" in self.more._dom_classes
        self.more._dom_classes = ("rx-more",) if opened else ("rx-more", "rx-open")

    def _build_more(self) -> None:
        recipes = [entry.recipe for entry in self.state.catalog.recipes.values()]
        most = max((len(recipe.advanced_options) for recipe in recipes), default=0)
        before = len(self.axes)
        for number in range(most + len(ADVANCED)):
            self._add_switch(number)
        self._add("frontend", "HTTP front end", texts.frontend)
        self._add(
            "install",
            "Install by",
            texts.install,
            lambda v: self.state.ask(install=None if v == UNSET else v),
        )
        self.more.children = [axis.field for axis in self.axes[before:]]
        self.more_built = True
        if self.state.configuration is not None:
            self.state.revision += 1

    def _add_switch(self, number: int) -> None:
        def ask(value: Any) -> None:
            config = self.state.configuration
            if config is not None:
                self.state.ask_advanced(options_of(config)["advanced"][number].id, value == ON)

        self._add(f"advanced_{number}", "Tuning", lambda c: texts.advanced(c, number), ask)

    def show(self, config: Configuration) -> dict[str, str]:
        """Bring all dropdowns up to date; returns the hints by axis."""
        return {axis.name: axis.show(config) for axis in self.axes}
