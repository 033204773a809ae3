"""Omni tasks, tuning switches, the front end; and whether the memory is enough."""

from __future__ import annotations

from recipes_core.axes import release, task_key
from recipes_core.catalog.documents import OmniTask
from recipes_core.configuration.asking import Asking
from recipes_core.configuration.defaults import declared_frontend
from recipes_core.configuration.extras import ADVANCED, advanced_reason
from recipes_core.configuration.features import choose_features
from recipes_core.configuration.model import Configuration
from recipes_core.configuration.place import BASELINE
from recipes_core.findings import Finding

INSTALLS = ("pip", "docker", "cu130", "cu129")


def choose_task(asking: Asking, config: Configuration) -> None:
    """Choose the task of an omni recipe, which has no layout to choose."""
    omni = asking.recipe.omni
    if omni is None:
        return
    had = {
        "nodes": (1,),
        "gpus": (config.node.gpu_count,),
        "preset": (BASELINE,),
        "kv_offload": ("off", "none"),
    }
    for axis in (
        "strategy", "nodes", "preset", "kv_offload", "kv_instances", "prefill_nodes",
        "decode_nodes", "prefill_mode", "decode_mode", "router", "gpus",
    ):  # fmt: skip
        value = getattr(asking.asked, axis)
        if axis == "preset" and not asking.recipe.presets:
            continue
        if value is not None and value not in had.get(axis, ()):
            asking.adjust(axis, value, None, "an omni recipe is one server and a task")
    choose_features(asking, config)
    keys = {task_key(task): task for task in omni.tasks}
    if not keys:
        return
    key = next(iter(keys))
    if asking.asked.task is not None:
        key = asking.known("task", asking.asked.task, keys, key) or key
    task = keys[key]
    config.task = OmniTask(id=task) if isinstance(task, str) else task


def choose_advanced(asking: Asking, config: Configuration) -> None:
    """Choose the tuning switches that apply."""
    if asking.asked.task is not None and not asking.rules.is_omni:
        asking.adjust("task", asking.asked.task, None, "only omni recipes have tasks")
    known = [*(option.id for option in asking.recipe.advanced_options), *ADVANCED]
    on = []
    for word in asking.asked.advanced:
        name = asking.known("advanced", word, known, None)
        if name is None:
            continue
        reason = advanced_reason(config, name)
        if reason is None:
            on.append(name)
        else:
            asking.adjust("advanced", name, None, reason)
    config.advanced = tuple(on)


def choose_install(asking: Asking, config: Configuration) -> None:
    """Choose the install tab or CUDA release, and the vLLM release to pin."""
    asked = asking.asked.install
    if asked is not None:
        name = asking.known("install", asked, INSTALLS, None)
        if name is not None and name.startswith("cu") and config.profile.brand != "NVIDIA":
            asking.adjust("install", name, None, f"{config.profile.brand} has no CUDA")
            name = None
        config.install = name
    pin = asking.asked.vllm
    if pin is None:
        return
    parsed = release(pin.removeprefix("v"))
    if parsed is None:
        asking.adjust("vllm", pin, None, "not a release such as 0.28.0")
    else:
        config.vllm = str(parsed)


def choose_frontend(asking: Asking, config: Configuration) -> None:
    """Choose the HTTP front end: asked, else declared, else Python."""
    config.frontend = declared_frontend(config)
    asked = asking.asked.frontend
    if asked is not None:
        config.frontend = (
            asking.known("frontend", asked, ("rust", "python"), config.frontend) or config.frontend
        )


def check_memory(asking: Asking, config: Configuration) -> None:
    """Say by how much the declared memory is short, where it is."""
    needed = config.memory_needed_gb
    copies = 2 if config.pools and all(p.nodes == 0 for p in config.pools.values()) else 1
    if config.pools and copies == 1:
        have = min(p.nodes for p in config.pools.values()) * config.node.vram_gb
    else:
        have = config.nodes * config.profile.vram_gb / copies
    if needed > have:
        message = (
            f"the recipe declares {needed:g} GB for {config.variant_id};"
            f" {have:g} GB are there: {needed - have:g} GB are missing"
        )
        config.findings.append(
            Finding("warning", "memory-short", message, "hardware", asking.entry.source)
        )
    if config.nodes > 1 and not config.node.scalable:
        message = f"{config.node.display_name} is not built to be joined with more nodes"
        config.findings.append(
            Finding("warning", "not-scalable", message, "nodes", "taxonomy.yaml")
        )
