"""GPUs, nodes, and strategy."""

from __future__ import annotations

from recipes_core.axes import MAX_NODES, strategy_nodes
from recipes_core.catalog.documents import HardwareProfile, Preset
from recipes_core.catalog.hardware_keys import pick
from recipes_core.configuration.asking import Asking
from recipes_core.configuration.model import Configuration
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding


def choose_layout(asking: Asking, config: Configuration, preset: Preset | None) -> None:
    """Choose nodes, strategy, and the GPUs that are used of a node."""
    rules, node = asking.rules, config.node
    default_nodes = (preset.nodes if preset else None) or rules.default_nodes(
        config.variant_id, config.hardware, node
    )
    nodes = _asked_nodes(asking, default_nodes, preset)
    if preset is not None:
        if preset.nodes is None:
            nodes = _preset_nodes(asking, nodes, _least_nodes(asking, preset.strategy, config))
        strategy = preset.strategy
        if asking.asked.strategy is not None and asking.asked.strategy != strategy:
            asking.adjust("strategy", asking.asked.strategy, strategy, "the preset sets it")
    else:
        nodes, strategy = _strategy(asking, config, nodes)
    config.strategy_id = strategy
    config.strategy = rules.strategies[strategy]
    kind = strategy_nodes(config.strategy)
    if kind == "pools" and nodes != 1:
        if asking.asked.nodes is not None:
            reason = "each pool has its own nodes: prefill_nodes, decode_nodes"
            asking.adjust("nodes", asking.asked.nodes, 1, reason)
        nodes = 1
    config.nodes = nodes
    config.profile = _gpus(asking, config, preset, kind)


def _least_nodes(asking: Asking, strategy: str, config: Configuration) -> int:
    gate = asking.rules.gate(strategy, config.hardware, config.node)
    multi = asking.rules.strategies[strategy].deploy_type == "multi_node"
    return max(gate.min_nodes, 2) if multi else 1


def _preset_nodes(asking: Asking, nodes: int, least: int) -> int:
    if asking.asked.nodes is not None and nodes < least:
        asking.adjust("nodes", nodes, least, "the preset's strategy needs so many")
    return max(nodes, least)


def _asked_nodes(asking: Asking, default: int, preset: Preset | None) -> int:
    asked = asking.asked.nodes
    if asked is None:
        return default
    if preset is not None and asked != default:
        asking.adjust("nodes", asked, default, "the preset sets it")
        return default
    if asked > MAX_NODES:
        asking.adjust("nodes", asked, MAX_NODES, f"at most {MAX_NODES} nodes")
        return MAX_NODES
    return asked


def _strategy(asking: Asking, config: Configuration, nodes: int) -> tuple[int, str]:
    """The node count and the strategy; nodes yield only where no strategy fits them."""
    rules, hardware, node = asking.rules, config.hardware, config.node
    default = rules.default_strategy(hardware, node, nodes)
    if default is None:
        near = sorted(range(1, MAX_NODES + 1), key=lambda count: abs(count - nodes))
        for count in near:
            default = rules.default_strategy(hardware, node, count)
            if default is not None:
                if asking.asked.nodes is not None:
                    reason = f"no strategy of this recipe runs on {nodes} nodes here"
                    asking.adjust("nodes", nodes, count, reason)
                nodes = count
                break
    if default is None:
        default = _rejected_default(asking, config)
    asked = asking.asked.strategy
    if asked is None:
        return nodes, default
    name = next((key for key in rules.strategies if key.casefold() == asked.casefold()), None)
    if name is None:
        if asked in asking.catalog.strategies:
            asking.adjust("strategy", asked, default, "this recipe does not offer it")
        else:
            asking.known("strategy", asked, rules.strategies, default)
        return nodes, default
    refusal = rules.strategy_reason(name, hardware, node, nodes)
    if refusal is not None:
        if name != default:
            asking.adjust("strategy", name, default, refusal)
        return nodes, default
    return nodes, name


def _rejected_default(asking: Asking, config: Configuration) -> str:
    name = asking.rules.recommended(1)
    if name is None:
        raise RecipesError(f"{asking.entry.id}: the recipe offers no strategy of this catalog")
    reason = asking.rules.strategy_reason(name, config.hardware, config.node, 1)
    message = f"no strategy of this recipe is reachable here; {name}: {reason}"
    config.findings.append(
        Finding("error", "strategy-unreachable", message, "strategy", asking.entry.source)
    )
    return name


def _gpus(
    asking: Asking, config: Configuration, preset: Preset | None, kind: str
) -> HardwareProfile:
    node = config.node
    asked = asking.asked.gpus
    count = usual_gpus(config, preset)
    if asked is None or asked == count:
        return part_of(node, count)
    if kind != "single":
        asking.adjust("gpus", asked, None, "fewer GPUs are taken of one node only")
    elif asked > node.gpu_count:
        asking.adjust("gpus", asked, count, f"a node has {node.gpu_count}")
    elif preset is not None and preset.gpus is not None:
        asking.adjust("gpus", asked, count, "the preset sets it")
    else:
        count = _enough_gpus(asking, config, node, asked)
    return part_of(node, count)


def _enough_gpus(asking: Asking, config: Configuration, node: HardwareProfile, asked: int) -> int:
    needed = asking.rules.memory_needed(config.variant, config.hardware, node)
    have = asked * node.gpu_vram_gb
    if needed <= have or needed > node.vram_gb:
        return asked
    enough = next(
        count
        for count in (1, 2, 4, 8, 16, 32, 64, node.gpu_count)
        if count <= node.gpu_count and count * node.gpu_vram_gb >= needed
    )
    origin = config.variant.memory_origin
    reason = f"needs {needed:g} GB ({origin}), {asked}× {node.display_name} have {have:g} GB"
    asking.adjust("gpus", asked, enough, reason)
    return enough


def usual_gpus(config: Configuration, preset: Preset | None = None) -> int:
    """GPUs of a node that are used where none are asked: as many as suffice, else all."""
    node, preset = config.node, preset or config.preset
    declared = preset.gpus if preset else None
    single = config.strategy is not None and config.strategy.deploy_type == "single_node"
    if single and declared is None:
        declared = pick(config.variant.gpus, config.hardware, node)
    return min(declared or node.gpu_count, node.gpu_count)


def part_of(node: HardwareProfile, count: int) -> HardwareProfile:
    """A node of which only some GPUs are used."""
    if count >= node.gpu_count:
        return node
    return node.model_copy(update={"gpu_count": count, "vram_gb": node.gpu_vram_gb * count})
