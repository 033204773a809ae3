"""What each axis says: all its choices, why some cannot be had, the value, a line beneath."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from recipes_core.axes import MAX_NODES, Option, rules_of
from recipes_core.catalog.own_hardware import admit
from recipes_core.configuration import BASELINE, MAX_INSTANCES, Configuration
from recipes_core.configuration.extras import advanced_args
from recipes_core.configuration.rest import INSTALLS
from recipes_core.deployment import Deployment
from recipes_core.deployment.install import DRIVERS
from recipes_core.explorer.panels.figures import gb
from recipes_core.explorer.panels.head import nodes_text
from recipes_core.options import options_of
from recipes_core.render.declared import gpus_taken
from recipes_core.render.evidence import is_verified, standing_of

Pairs = list[tuple[str, Any]]
"""Texts and values of a dropdown."""


class Reading(NamedTuple):
    """An axis of a configuration, as it is to be shown."""

    options: Pairs
    """Empty where the configuration has no such axis."""
    value: Any = None
    hint: str = ""
    """The line beneath."""
    label: str = ""
    """Its name, where that is the recipe's."""


Reader = Callable[[Configuration], Reading]
HIDDEN = Reading([])
UNSET = "\0unset"
OFF, ON = "\0off", "\0on"
MAX_REASON = 90
INSTALL_LABELS = {"pip": "pip", "docker": "Docker", "cu130": "CUDA 13.0", "cu129": "CUDA 12.9"}


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


def preset(config: Configuration) -> Reading:
    """Combinations that a recipe's author tuned, with the place and precision of each."""
    options = options_of(config)["preset"]
    if not options:
        return HIDDEN
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
    return Reading(pairs(options, label), config.preset_id or BASELINE, hint)


def task(config: Configuration) -> Reading:
    """What the model is served for."""
    options = options_of(config)["task"]
    if config.task is None:
        return HIDDEN
    return Reading(pairs(options), config.task.key or config.task.id, config.task.description or "")


def variant(config: Configuration) -> Reading:
    """Checkpoints of the model with the memory that each asks for."""

    def label(option: Option) -> str:
        soon = "" if option.facts.get("released", True) else " · weights not public yet"
        name = option.label if option.label != option.facts["precision"].upper() else (
            f"{option.id} · {option.label}")  # fmt: skip
        return f"{name} · {gb(option.facts['vram_minimum_gb'])}{soon}"

    chosen = config.variant
    hint = f"At least {gb(config.memory_needed_gb)} of GPU memory ({chosen.memory_origin})"
    if chosen.description:
        hint += f". {chosen.description}"
    return Reading(pairs(options_of(config)["variant"], label), config.variant_id, hint)


def hardware(config: Configuration, own: str | None, *, several: bool = False) -> Reading:
    """GPUs of one node, the reader's own among them; a dot marks a stated run.

    Args:
        config: What is shown.
        own: The reader's own GPUs.
        several: There are several nodes of them.
    """

    def label(option: Option) -> str:
        facts = option.facts
        dot = "● " if facts.get("verified") else ""
        yours = " · yours" if option.id == own else ""
        count = facts["gpu_count"]
        return f"{dot}{facts['brand']} {option.label} · {count}× {gb(facts['gpu_vram_gb'])}{yours}"

    options = [*options_of(config)["hardware"]]
    if own is not None and own not in {option.id for option in options}:
        options += _own_hardware(config, own, several=several)
    node = config.node
    hint = f"{gb(node.vram_gb)} on each node. " + (
        f"● {standing_of(config).sentence}"
        if is_verified(config)
        else "● marks hardware with a stated run; this has none."
    )
    return Reading(pairs(options, label), config.hardware, hint)


def _own_hardware(config: Configuration, own: str, *, several: bool) -> list[Option]:
    """The reader's own GPUs as an option beside those of the catalog."""
    admitted = admit(config.catalog, own, scalable=several)
    rules = rules_of(admitted.catalog, config.entry)
    found = rules.hardware_options(config.variant_id)
    return [option for option in found if option.id == admitted.hardware]


def gpus(config: Configuration, deployment: Deployment | None) -> Reading:
    """How many GPUs of the node are used."""
    count = config.node.gpu_count
    single = config.strategy is not None and config.strategy.deploy_type == "single_node"
    if count == 1 or not single:
        return HIDDEN
    used = config.profile.gpu_count
    running = gpus_taken(deployment) if deployment is not None else used
    counts = sorted({*(2**n for n in range(8) if 2**n <= count), count, used})
    options: Pairs = [(f"all {n}" if n == count else str(n), n) for n in counts]
    hint = "" if running >= count else f"The engine takes {running}; {count - running} stay free."
    return Reading(options, used, hint)


def strategy(config: Configuration) -> Reading:
    """How the model is spread over GPUs; one that needs other nodes says that it sets them."""

    def label(option: Option) -> str:
        favours = option.facts.get("orientation")
        return f"{option.label} · {favours}" if favours else option.label

    options = options_of(config)["strategy"]
    if not options or config.strategy is None:
        return HIDDEN
    found: Pairs = []
    for option in options:
        nodes = config.rules.nodes_of(option.id, config.hardware, config.node, config.nodes)
        if option.enabled or nodes is None:
            found += pairs([option], label)
        else:
            found.append((f"{label(option)} · sets {nodes_text(nodes)}", option.id))
    return Reading(found, config.strategy_id, config.strategy.description or "")


def nodes(config: Configuration) -> Reading:
    """How many nodes there are."""
    if config.pools or config.rules.is_omni:
        return HIDDEN
    have = config.nodes * config.profile.vram_gb
    return Reading(pairs(options_of(config)["nodes"]), config.nodes, f"{gb(have)} in all")


def pool_nodes(role: str) -> Reader:
    """Nodes of the prefill or the decode pool."""

    def read(config: Configuration) -> Reading:
        if role not in config.pools:
            return HIDDEN
        gpus = config.node.gpu_count
        options: Pairs = [("half of one shared node", 0)] if gpus > 1 else []
        options += [
            (f"{n} node{'s' if n > 1 else ''} · {n * gpus} GPUs", n)
            for n in range(1, MAX_NODES + 1)
        ]
        return Reading(options, config.pools[role].nodes)

    return read


def pool_mode(role: str) -> Reader:
    """How the prefill or the decode pool spreads the model."""

    def read(config: Configuration) -> Reading:
        if role not in config.pools:
            return HIDDEN
        return Reading(pairs(options_of(config)["pool_modes"]), config.pools[role].mode)

    return read


def router(config: Configuration) -> Reading:
    """What stands before the pools."""
    return Reading(pairs(options_of(config)["router"]), config.router)


def feature(config: Configuration, number: int) -> Reading:
    """A feature of the recipe, by its place, with its modes where it has any."""
    options = options_of(config)
    if number >= len(options["features"]):
        return HIDDEN
    option = options["features"][number]
    declared = config.recipe.features[option.id]
    on = option.id in config.features
    modes = [mode for mode in options["feature_modes"] if mode.facts["feature"] == option.id]
    usual = " (default)"
    found: Pairs = [(f"Off{'' if option.default else usual}", OFF)]
    if not option.enabled:
        found.append((_barred("On", option.reason), ON))
        return Reading(found, OFF, f"✗ {option.reason}", option.label)
    if not modes:
        found.append((f"On{usual if option.default else ''}", ON))
        return Reading(found, ON if on else OFF, declared.description or "", option.label)
    for mode in modes:
        text = f"{mode.label}{usual if option.default and mode.default else ''}"
        found.append((text if mode.enabled else _barred(text, mode.reason), mode.facts["mode"]))
    value = config.feature_modes.get(option.id, OFF) if on else OFF
    active = declared.modes.get(value)
    hint = (active.description if active else None) or declared.description or ""
    return Reading(found, value, hint, option.label)


def kv_offload(config: Configuration) -> Reading:
    """Where KV cache goes beyond the GPUs."""
    name = config.kv_offload
    hint = ""
    if config.kv_store is not None:
        hint = config.kv_store.description or ""
    elif name is not None:
        hint = config.catalog.taxonomy.kv_offload[name].description or ""
    return Reading(pairs(options_of(config)["kv_offload"]), name or "off", hint)


def instances(config: Configuration) -> Reading:
    """Engines that share a KV store."""
    if config.kv_instances is None:
        return HIDDEN
    counts = sorted({*range(1, 17), config.kv_instances, MAX_INSTANCES})
    return Reading([(str(n), n) for n in counts], config.kv_instances, "Engines behind one router")


def advanced(config: Configuration, number: int) -> Reading:
    """A tuning switch, by its place, with the flags that it adds."""
    options = options_of(config)["advanced"]
    if number >= len(options):
        return HIDDEN
    option = options[number]
    on = ("On", ON) if option.enabled else (_barred("On", option.reason), ON)
    args = advanced_args(config, option.id)
    hint = " ".join(args or ()) if option.enabled else f"✗ {option.reason}"
    value = ON if option.id in config.advanced else OFF
    return Reading([("Off", OFF), on], value, hint, option.label)


def frontend(config: Configuration) -> Reading:
    """Which HTTP front end the server runs."""
    return Reading(pairs(options_of(config)["frontend"]), config.frontend or "python")


def install(config: Configuration) -> Reading:
    """How the software gets onto the machine."""
    options: Pairs = [("as the recipe says", UNSET)]
    for name in INSTALLS:
        label = INSTALL_LABELS.get(name, name)
        if name in DRIVERS and config.profile.brand != "NVIDIA":
            label = _barred(label, f"{config.profile.brand} has no CUDA")
        options.append((label, name))
    hint = DRIVERS.get(config.install or "", "")
    return Reading(options, config.install or UNSET, hint)
