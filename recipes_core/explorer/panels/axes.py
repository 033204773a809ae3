"""The axes: a dropdown each, all choices, why some cannot be had, and a hint beneath."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from recipes_core.axes import MAX_NODES, Option, rules_of, strategy_nodes
from recipes_core.catalog.own_hardware import admit
from recipes_core.configuration import BASELINE, MAX_INSTANCES, Configuration
from recipes_core.configuration.rest import INSTALLS
from recipes_core.deployment import Deployment
from recipes_core.deployment.install import DRIVERS
from recipes_core.explorer.panels.head import gpus_running
from recipes_core.explorer.widgets import Dropdown, Kit, visible
from recipes_core.options import options_of
from recipes_core.render.evidence import is_verified, standing_of

if TYPE_CHECKING:
    from recipes_core.explorer.state import ExplorerState

Pairs = list[tuple[str, Any]]
Reader = Callable[[Configuration], tuple[Pairs, Any, str]]
"""Options, the value, and the line beneath."""
UNSET = "\0unset"
OFF, ON = "\0off", "\0on"
MAX_REASON = 90
INSTALL_LABELS = {"pip": "pip", "docker": "Docker", "cu130": "CUDA 13.0", "cu129": "CUDA 12.9"}


def gb(amount: float) -> str:
    """GB for a person."""
    return f"{amount:,.0f} GB" if amount >= 10 else f"{amount:,.1f} GB"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"


def _barred(label: str, reason: str | None) -> str:
    return f"✗ {label} — {_cut(reason or 'not available')}"


def pairs(options: Iterable[Option], label: Callable[[Option], str] | None = None) -> Pairs:
    """Texts and ids for a dropdown, those that cannot be had with their reason."""
    found: Pairs = []
    for option in options:
        text = label(option) if label else option.label
        found.append((text if option.enabled else _barred(text, option.reason), option.id))
    return found


class Axis:
    """One dropdown and what it asks."""

    def __init__(
        self,
        name: str,
        field: Dropdown,
        read: Reader,
        ask: Callable[[Any], None],
    ) -> None:
        self.name, self.field, self.read, self.ask = name, field, read, ask

    def show(self, config: Configuration) -> str:
        """Bring the dropdown up to date; returns the hint."""
        options, value, hint = self.read(config)
        on = len(options) > 0
        visible(self.field, on)
        if on:
            self.field.show(options, value)
        return hint if on else ""


class AxesPanel:
    """All axes of a configuration."""

    def __init__(self, kit: Kit, state: ExplorerState) -> None:
        self.kit, self.state = kit, state
        self.axes: list[Axis] = []
        ask = state.ask
        main = [
            self._axis("preset", "Preset", _preset, lambda v: ask(preset=v)),
            self._axis("task", "Task", _task, lambda v: ask(task=v)),
            self._axis("variant", "Variant", _variant, lambda v: ask(variant=v)),
            self._axis(
                "hardware", "Hardware", lambda c: _hardware(c, state.kept.hardware),
                lambda v: ask(hardware=v),
            ),
            self._axis(
                "gpus", "GPUs of the node", lambda c: _gpus(c, state.deployment),
                lambda v: ask(gpus=v),
            ),
            self._axis("strategy", "Strategy", _strategy, lambda v: ask(strategy=v)),
            self._axis("nodes", "Nodes", _nodes, lambda v: ask(nodes=v)),
            *(
                self._pool_axis(role, *row)
                for role in ("prefill", "decode")
                for row in (("nodes", "pool", _pool_nodes), ("mode", "layout", _pool_mode))
            ),
            self._axis("router", "Router", _router, lambda v: ask(router=v)),
        ]  # fmt: skip
        recipes = [entry.recipe for entry in state.catalog.recipes.values()]
        most = max((len(recipe.features) for recipe in recipes), default=0)
        main += [self._feature(number) for number in range(most)]
        main += [
            self._axis("kv_offload", "KV cache offload", _kv_offload, lambda v: ask(kv_offload=v)),
            self._axis(
                "kv_instances", "Instances on the store", _instances, lambda v: ask(kv_instances=v)
            ),
        ]
        self.main = kit.box([axis.field for axis in main], "rx-axis-list")
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

    def _axis(
        self,
        name: str,
        label: str,
        read: Reader,
        ask: Callable[[Any], None],
    ) -> Axis:
        field = self.kit.dropdown(label, f"rx-axis-{name}")
        axis = Axis(name, field, read, ask)
        field.on_choice(ask, self.kit.on_error)
        self.axes.append(axis)
        return axis

    def _pool_axis(self, role: str, what: str, label: str, reader: Callable[[str], Reader]) -> Axis:
        key = f"{role}_{what}"

        def ask(value: Any) -> None:
            self.state.ask(**{key: value})

        return self._axis(key, f"{role.capitalize()} {label}", reader(role), ask)

    def _feature(self, number: int) -> Axis:
        def read(config: Configuration) -> tuple[Pairs, Any, str]:
            return _feature(config, number)

        def ask(value: Any) -> None:
            config = self.state.configuration
            if config is None:
                return
            name = list(config.recipe.features)[number]
            mode = value if value not in {OFF, ON} else None
            self.state.ask_feature(name, value != OFF, mode)

        axis = self._axis(f"feature_{number}", "Feature", read, ask)
        axis.name = f"feature_{number}"
        return axis

    def toggle_more(self) -> None:
        """Unfold the rarer axes; they are built at the first time."""
        if not self.more_built:
            self._build_more()
        opened = "rx-open" in self.more._dom_classes
        self.more._dom_classes = ("rx-more",) if opened else ("rx-more", "rx-open")

    def _build_more(self) -> None:
        ask = self.state.ask
        recipes = [entry.recipe for entry in self.state.catalog.recipes.values()]
        most = max((len(recipe.advanced_options) for recipe in recipes), default=0)
        from recipes_core.axes import ADVANCED

        before = len(self.axes)
        for number in range(most + len(ADVANCED)):
            self._switch(number)
        self._axis("frontend", "HTTP front end", _frontend, lambda v: ask(frontend=v))
        self._axis(
            "install", "Install by", _install, lambda v: ask(install=None if v == UNSET else v)
        )
        self.more.children = [axis.field for axis in self.axes[before:]]
        self.more_built = True
        if self.state.configuration is not None:
            self.state.revision += 1

    def _switch(self, number: int) -> None:
        def read(config: Configuration) -> tuple[Pairs, Any, str]:
            return _advanced(config, number)

        def ask(value: Any) -> None:
            config = self.state.configuration
            if config is not None:
                self.state.ask_advanced(options_of(config)["advanced"][number].id, value == ON)

        self._axis(f"advanced_{number}", "Tuning", read, ask)

    def show(self, config: Configuration) -> dict[str, str]:
        """Bring all dropdowns up to date; returns the hints by axis."""
        hints = {}
        for axis in self.axes:
            label = _own_label(axis.name, config)
            if label and axis.field.description != label:
                axis.field.description = label
            hints[axis.name] = axis.show(config)
        return hints


def _own_label(name: str, config: Configuration) -> str | None:
    kind, _, number = name.rpartition("_")
    if kind == "feature":
        features = options_of(config)["features"]
        return features[int(number)].label if int(number) < len(features) else None
    if kind == "advanced":
        switches = options_of(config)["advanced"]
        return switches[int(number)].label if int(number) < len(switches) else None
    return None


# --- what each axis shows: options, the value, the line beneath ----------------------------------


def _preset(config: Configuration) -> tuple[Pairs, Any, str]:
    options = options_of(config)["preset"]
    if not options:
        return [], None, ""
    variants = config.recipe.variants
    precisions = {variant.precision for variant in variants.values()}

    def label(option: Option) -> str:
        hardware = config.catalog.hardware.get(option.facts.get("hardware", ""))
        place = f"{hardware.display_name} · " if hardware else ""
        dot = "● " if option.facts.get("evidence") else ""
        runs = option.facts.get("variants", ())
        kinds = dict.fromkeys(variants[name].precision.upper() for name in runs)
        kind = f"{'/'.join(kinds)} · " if kinds and len(precisions) > 1 else ""
        return f"{dot}{place}{kind}{option.label}"

    hint = (config.preset.summary or "") if config.preset else "Nothing tuned in advance."
    return pairs(options, label), config.preset_id or BASELINE, hint


def _task(config: Configuration) -> tuple[Pairs, Any, str]:
    options = options_of(config)["task"]
    if config.task is None:
        return [], None, ""
    return pairs(options), config.task.key or config.task.id, config.task.description or ""


def _variant(config: Configuration) -> tuple[Pairs, Any, str]:
    def label(option: Option) -> str:
        soon = "" if option.facts.get("released", True) else " · weights not public yet"
        name = option.label if option.label != option.facts["precision"].upper() else (
            f"{option.id} · {option.label}")  # fmt: skip
        return f"{name} · {gb(option.facts['vram_minimum_gb'])}{soon}"

    variant = config.variant
    hint = f"At least {gb(config.memory_needed_gb)} of GPU memory ({variant.memory_origin})"
    if variant.description:
        hint += f". {variant.description}"
    return pairs(options_of(config)["variant"], label), config.variant_id, hint


def _hardware(config: Configuration, own: str | None) -> tuple[Pairs, Any, str]:
    def label(option: Option) -> str:
        facts = option.facts
        dot = "● " if facts.get("verified") else ""
        yours = " · yours" if option.id == own else ""
        count = facts["gpu_count"]
        return f"{dot}{facts['brand']} {option.label} · {count}× {gb(facts['gpu_vram_gb'])}{yours}"

    options = [*options_of(config)["hardware"]]
    if own is not None and own not in {option.id for option in options}:
        options += _own_hardware(config, own)
    node = config.node
    hint = f"{gb(node.vram_gb)} on each node. " + (
        f"● {standing_of(config).sentence}"
        if is_verified(config)
        else "● marks hardware with a stated run; this has none."
    )
    return pairs(options, label), config.hardware, hint


def _own_hardware(config: Configuration, own: str) -> list[Option]:
    """The reader's own GPUs as an option beside those of the catalog."""
    admitted = admit(config.catalog, own)
    rules = rules_of(admitted.catalog, config.entry)
    found = rules.hardware_options(config.variant_id)
    return [option for option in found if option.id == admitted.hardware]


def _gpus(config: Configuration, deployment: Deployment | None) -> tuple[Pairs, Any, str]:
    count = config.node.gpu_count
    single = config.strategy is not None and config.strategy.deploy_type == "single_node"
    if count == 1 or not single:
        return [], None, ""
    used = config.profile.gpu_count
    running = gpus_running(deployment) if deployment is not None else used
    counts = sorted({*(2**n for n in range(8) if 2**n <= count), count, used})
    options: Pairs = [(f"all {n}" if n == count else str(n), n) for n in counts]
    hint = "" if running >= count else f"The engine takes {running}; {count - running} stay free."
    return options, used, hint


def _strategy(config: Configuration) -> tuple[Pairs, Any, str]:
    def label(option: Option) -> str:
        favours = option.facts.get("orientation")
        return f"{option.label} · {favours}" if favours else option.label

    options = options_of(config)["strategy"]
    if not options or config.strategy is None:
        return [], None, ""
    found: Pairs = []
    for option in options:
        if option.enabled:
            found.append((label(option), option.id))
        elif option.facts["supported"] and option.facts["reachable"]:
            kind = strategy_nodes(config.rules.strategies[option.id])
            nodes = max(2, option.facts["min_nodes"]) if kind == "multi" else 1
            place = f"{nodes} nodes" if nodes > 1 else "1 node"
            found.append((f"{label(option)} · sets {place}", option.id))
        else:
            found += pairs([option], label)
    return found, config.strategy_id, config.strategy.description or ""


def _nodes(config: Configuration) -> tuple[Pairs, Any, str]:
    if config.pools or config.rules.is_omni:
        return [], None, ""
    have = config.nodes * config.profile.vram_gb
    return pairs(options_of(config)["nodes"]), config.nodes, f"{gb(have)} in all"


def _pool_nodes(role: str) -> Reader:
    def read(config: Configuration) -> tuple[Pairs, Any, str]:
        if role not in config.pools:
            return [], None, ""
        gpus = config.node.gpu_count
        options: Pairs = [("half of one shared node", 0)] if gpus > 1 else []
        options += [
            (f"{n} node{'s' if n > 1 else ''} · {n * gpus} GPUs", n)
            for n in range(1, MAX_NODES + 1)
        ]
        return options, config.pools[role].nodes, ""

    return read


def _pool_mode(role: str) -> Reader:
    def read(config: Configuration) -> tuple[Pairs, Any, str]:
        if role not in config.pools:
            return [], None, ""
        return pairs(options_of(config)["pool_modes"]), config.pools[role].mode, ""

    return read


def _router(config: Configuration) -> tuple[Pairs, Any, str]:
    return pairs(options_of(config)["router"]), config.router, ""


def _feature(config: Configuration, number: int) -> tuple[Pairs, Any, str]:
    options = options_of(config)
    if number >= len(options["features"]):
        return [], None, ""
    option = options["features"][number]
    feature = config.recipe.features[option.id]
    on = option.id in config.features
    modes = [mode for mode in options["feature_modes"] if mode.facts["feature"] == option.id]
    usual = " (default)"
    found: Pairs = [(f"Off{'' if option.default else usual}", OFF)]
    if not option.enabled:
        found.append((_barred("On", option.reason), ON))
        return found, OFF, f"✗ {option.reason}"
    if not modes:
        found.append((f"On{usual if option.default else ''}", ON))
        return found, ON if on else OFF, feature.description or ""
    for mode in modes:
        text = f"{mode.label}{usual if option.default and mode.default else ''}"
        found.append((text if mode.enabled else _barred(text, mode.reason), mode.facts["mode"]))
    value = config.feature_modes.get(option.id, OFF) if on else OFF
    active = feature.modes.get(value)
    return found, value, (active.description if active else None) or feature.description or ""


def _kv_offload(config: Configuration) -> tuple[Pairs, Any, str]:
    name = config.kv_offload
    hint = ""
    if config.kv_store is not None:
        hint = config.kv_store.description or ""
    elif name is not None:
        hint = config.catalog.taxonomy.kv_offload[name].description or ""
    return pairs(options_of(config)["kv_offload"]), name or "off", hint


def _instances(config: Configuration) -> tuple[Pairs, Any, str]:
    if config.kv_instances is None:
        return [], None, ""
    counts = sorted({*range(1, 17), config.kv_instances, MAX_INSTANCES})
    return [(str(n), n) for n in counts], config.kv_instances, "Engines behind one router"


def _advanced(config: Configuration, number: int) -> tuple[Pairs, Any, str]:
    options = options_of(config)["advanced"]
    if number >= len(options):
        return [], None, ""
    option = options[number]
    on = ("On", ON) if option.enabled else (_barred("On", option.reason), ON)
    args = config.rules.advanced_args(option.id)
    hint = " ".join(args or ()) if option.enabled else f"✗ {option.reason}"
    return [("Off", OFF), on], ON if option.id in config.advanced else OFF, hint


def _frontend(config: Configuration) -> tuple[Pairs, Any, str]:
    return pairs(options_of(config)["frontend"]), config.frontend or "python", ""


def _install(config: Configuration) -> tuple[Pairs, Any, str]:
    options: Pairs = [("as the recipe says", UNSET)]
    for name in INSTALLS:
        label = INSTALL_LABELS.get(name, name)
        if name in DRIVERS and config.profile.brand != "NVIDIA":
            label = _barred(label, f"{config.profile.brand} has no CUDA")
        options.append((label, name))
    hint = DRIVERS.get(config.install or "", "")
    return options, config.install or UNSET, hint
