"""The Markdown page of one configuration, laid out as the rule book's two sample pages are.

Sections and their order are fixed; a section without content is left out. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable

from recipes_core.applies import notes_of
from recipes_core.axes import task_key
from recipes_core.catalog.documents import Evidence, Note
from recipes_core.configuration import Adjustment, Configuration
from recipes_core.configuration.extras import default_features
from recipes_core.deployment.container import nightly
from recipes_core.deployment.install import OPTIONAL
from recipes_core.deployment.model import Deployment
from recipes_core.findings import Finding, by_severity
from recipes_core.link import json_query, page_query, preset_query
from recipes_core.render.evidence import preset_covers, standing_of
from recipes_core.render.serve import process_title, serve_blocks
from recipes_core.render.text import code, codes, fence, inline, shifted

__all__ = ["configuration_line", "process_title", "to_markdown"]


def to_markdown(
    config: Configuration,
    deployment: Deployment,
    base_url: str | None = None,
    *,
    findings: Iterable[Finding] = (),
) -> str:
    """The page of a configuration.

    Args:
        config: What ``configure`` returned.
        deployment: What ``deploy`` made of it.
        base_url: Address of the site, without which links begin at its root: ``/org/repo``.
        findings: Findings beside the deployment's own, such as those of the command check.

    Returns:
        Markdown that ends with a newline.
    """
    base = (base_url or "").rstrip("/")
    blocks = [f"# {inline(config.entry.id)} — vLLM serving recipe"]
    if config.recipe.meta.description:
        blocks.append(f"> {inline(config.recipe.meta.description)}")
    blocks.append(configuration_line(config))
    blocks.append(_standing(config))
    blocks += _used_gpus(config)
    blocks += _notices(config.adjustments, [*deployment.findings, *findings])
    blocks.append(_links(config, base))
    blocks.append(
        "Commands on this page belong to the configuration named above; where the guide shows"
        " another command, these are the ones to run."
    )
    blocks += _others(config)
    blocks += _install(config, deployment)
    blocks += ["## Serve", *serve_blocks(deployment)]
    blocks += _preset(config, deployment, base)
    blocks += _notes("Notes for this configuration", config.recipe.notes, config)
    blocks += _notes("Known issues", config.recipe.known_issues, config)
    blocks += _guide(config)
    return "\n\n".join(blocks) + "\n"


def configuration_line(config: Configuration) -> str:
    """The line that names every choice: hardware, strategy, variant, and what else is set."""
    node, variant = config.node, config.variant
    parts = [f"hardware {code(config.hardware)} ({node.gpu_count}× {inline(node.display_name)})"]
    if config.strategy is not None:
        name = inline(config.strategy.display_name)
        parts.append(f"strategy {code(config.strategy_id)} ({name})")
    label = " · ".join(
        filter(None, (inline(variant.label or ""), inline(variant.precision.upper())))
    )
    parts.append(f"variant {code(config.variant_id)} ({label})")
    if config.nodes > 1:
        parts.append(f"nodes {code(config.nodes)}")
    if config.features:
        parts.append(f"features {codes(config.features)}")
    if config.preset_id is not None:
        parts.append(f"preset {code(config.preset_id)}")
    if config.kv_offload is not None:
        parts.append(f"kv_offload {code(config.kv_offload)}")
    if config.task is not None:
        parts.append(f"task {code(task_key(config.task))}")
    return f"Configuration: {' · '.join(parts)}"


def _standing(config: Configuration) -> str:
    """How sure the command is, in a word and a sentence."""
    standing = standing_of(config)
    return f"Status: {standing.state}. {inline(standing.sentence)}"


def _used_gpus(config: Configuration) -> list[str]:
    used, there = config.profile.gpu_count, config.node.gpu_count
    if used >= there:
        return []
    return [f"Uses {used} of the node's {there} GPUs; the others stay free."]


def _notices(adjustments: Iterable[Adjustment], findings: Iterable[Finding]) -> list[str]:
    """What was asked and is not so, and what is wrong or worth knowing, as quoted lists."""
    blocks = []
    lines = [f"> - {code(a.axis or 'query')}: {_asked(a)}. {inline(a.reason)}" for a in adjustments]
    if lines:
        blocks.append("\n".join(["> **Not as asked:**", ">", *lines]))
    lines = [
        f"> - {f.severity} {code(f.code)}: {inline(f.message)}"
        for f in by_severity(dict.fromkeys(findings))
    ]
    if lines:
        blocks.append("\n".join(["> **Before you run it:**", ">", *lines]))
    return blocks


def _asked(adjustment: Adjustment) -> str:
    asked = _value(adjustment.asked)
    if adjustment.got is None:
        return f"{asked} was asked and left out" if asked else "left out"
    if adjustment.got == adjustment.asked:
        return f"{asked} is kept"
    return f"{asked} was asked, {_value(adjustment.got)} is used"


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return codes(value)
    text = str(value)
    return code(text) if text.strip() else ""


def _links(config: Configuration, base: str) -> str:
    page = f"{base}/{config.entry.id}"
    query = page_query(config)
    return (
        f"- Interactive page: {page}{'?' + query if query else ''}\n"
        f"- This configuration as JSON: {page}.json?{json_query(config)}"
    )


# --- other configurations -------------------------------------------------------------------


def _others(config: Configuration) -> list[str]:
    rules = config.rules
    hardware = [o.id for o in rules.hardware_options(config.variant_id) if o.enabled]
    lines = [
        f"- `hardware`: {codes(hardware)}",
        f"- `variant`: {codes(config.recipe.variants)}",
    ]
    if rules.strategies and not rules.is_omni:
        hint = " (multi-node strategies also need `nodes=<n>`)" if rules.multi_node_offered else ""
        lines.append(f"- `strategy`: {codes(rules.strategies)}{hint}")
    if config.recipe.features:
        lines.append(_feature_line(config))
    if config.recipe.omni is not None and rules.is_omni:
        lines.append(f"- `task`: {codes(task_key(task) for task in config.recipe.omni.tasks)}")
    if config.recipe.presets:
        lines.append(
            "- `preset`: a setting that was tuned as a whole (`baseline` declines a default one)."
            " It brings its own hardware and strategy:"
        )
        lines += [_preset_line(config, key) for key in config.recipe.presets]
    return [
        "## Other configurations",
        "Each of these is a key of the query string, here as on the page. What is unknown or does"
        " not fit yields to the recipe's default and is named above, under the Configuration line.",
        "\n".join(lines),
    ]


def _feature_line(config: Configuration) -> str:
    default = default_features(config)
    shown = codes(default) if default else "none"
    advice = " Use `features=none` to turn them all off." if config.recipe.presets else ""
    stop = "." if advice else ""
    return (
        f"- `features`: comma-separated list of {codes(config.recipe.features)}"
        f" (default: {shown}){stop}{advice}"
    )


def _preset_line(config: Configuration, key: str) -> str:
    preset = config.recipe.presets[key]
    strategy = config.catalog.strategies.get(preset.strategy)
    name = (strategy.short_name or strategy.display_name) if strategy else preset.strategy
    kind = "default" if preset.default else "opt-in"
    where = f"{inline(preset.hardware)} · {inline(name)} · {kind}"
    return f"  - {code(key)} — {inline(preset.label)} ({where}): {code(preset_query(config, key))}"


# --- install ----------------------------------------------------------------------------------


def _install(config: Configuration, deployment: Deployment) -> list[str]:
    install = deployment.install
    blocks = ["## Install"]
    if deployment.min_vllm_version:
        blocks.append(f"Requires vLLM >= {inline(deployment.min_vllm_version)}.")
    if nightly(config) and config.vllm is None:
        blocks.append("No release serves it yet: a nightly build of vLLM is needed.")
    hidden = config.recipe.model.install
    for tab, step in install.tabs.items():
        if step is None:
            reason = install.reasons.get(tab)
            if reason and hidden.get(tab) is not False:  # type: ignore[call-overload]
                blocks.append(f"No {tab} install: {inline(reason)}.")
            continue
        if step.note:
            blocks.append(inline(step.note))
        if tab == "docker" and step.command == f"docker pull {deployment.docker_image}":
            blocks.append(f"Docker image: {code(deployment.docker_image)}")
        else:
            blocks.append(fence(step.command))
    own = {process.install for process in deployment.processes if process.install}
    for step in install.extras:
        if step.command not in own:
            way = "" if step.pip else " with Docker"
            blocks.append(f"{_extra_title(step.note, way)}:")
            blocks.append(fence(step.command))
    if install.driver and install.tabs.get("docker") is not None:
        blocks.append(f"Driver of the host: {inline(install.driver)}.")
    return blocks


def _extra_title(note: str | None, way: str) -> str:
    text = inline(note or "").removesuffix(".")
    if text.startswith(OPTIONAL):
        rest = text.removeprefix(OPTIONAL).removeprefix(": ")
        return f"Optional{way} ({rest})" if rest else f"Optional{way}"
    return f"Also needed{way} ({text})" if text else f"Also needed{way}"


# --- preset, notes, guide -----------------------------------------------------------------------


def _preset(config: Configuration, deployment: Deployment, base: str) -> list[str]:
    preset, key = config.preset, config.preset_id
    if preset is None or key is None:
        return []
    applied = (
        "applied by default on this hardware and strategy (`preset=baseline` drops it)"
        if preset.default
        else f"opt-in (`preset={inline(key)}` applies it)"
    )
    strategy = config.catalog.strategies.get(preset.strategy)
    name = f" ({inline(strategy.display_name)})" if strategy else ""
    variants = "variants" if len(preset.variants) > 1 else "variant"
    lines = [
        f"- Key: {code(key)} · {applied}",
        f"- Qualified on: hardware {code(preset.hardware)} · strategy {code(preset.strategy)}{name}"
        f" · {variants} {codes(preset.variants)}",
    ]
    choices = [f"{code(feature)} on" for feature in preset.features]
    if preset.kv_offload:
        choices.append(f"`kv_offload` {code(preset.kv_offload)}")
    if choices:
        implied = ", ".join(choices)
        there = set(preset.features) <= set(config.features) and (
            preset.kv_offload in {None, config.kv_offload}
        )
        where = "already in the command above" if there else "the command above was asked otherwise"
        lines.append(f"- Builder choices it implies ({where}): {implied}")
    evidence = _evidence(preset.evidence)
    if preset.evidence is not None and not preset_covers(config, deployment):
        evidence += ". It does not cover the command above, which differs from the preset's own"
    lines.append(f"- Evidence: {evidence}")
    for point in preset.points:
        load = f", {point.concurrency} requests at once" if point.concurrency else ""
        note = f": {inline(point.note)}" if point.note else ""
        args = f" adds {code(' '.join(point.args))}" if point.args else ""
        lines.append(f"- Point {code(point.name)}{load}{args}{note}")
    page = f"{base}/{config.entry.id}/presets/{key}.json"
    lines.append(f"- Every point rendered as JSON: {page}")
    blocks = [f"## Tuned preset: {inline(preset.label)}"]
    if preset.summary:
        blocks.append(inline(preset.summary))
    return [*blocks, "\n".join(lines)]


def _evidence(evidence: Evidence | None) -> str:
    if evidence is None:
        return "no run is on record; sizes and arguments are computed from the recipe's tables"
    parts = ["measured"]
    if evidence.date is not None:
        parts.append(f"on {evidence.date.isoformat()}")
    if evidence.vllm is not None:
        parts.append(f"with vLLM {inline(evidence.vllm)}")
    figures = "; ".join(f"{inline(k)}: {inline(v)}" for k, v in evidence.figures.items())
    return (
        f"{' '.join(parts)}{f' ({figures})' if figures else ''}, source: {inline(evidence.source)}"
    )


def _notes(heading: str, notes: Iterable[Note], config: Configuration) -> list[str]:
    found = notes_of(notes, config)
    blocks = [f"## {heading}"] if found else []
    for note in found:
        blocks += [f"### {inline(note.title)}", shifted(note.body, 3).strip()]
    return blocks


def _guide(config: Configuration) -> list[str]:
    guide = config.recipe.guide
    if not guide or not guide.strip():
        return []
    return [
        "## Guide",
        "> General reading on this model. A command in it may be for other hardware or another"
        " layout; what fits this configuration stands under Serve.",
        shifted(guide, 1).strip(),
    ]
