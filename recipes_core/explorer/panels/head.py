"""What stands above the command: the model's name and facts, and how sure the command is."""

from __future__ import annotations

from recipes_core.configuration import Adjustment, Configuration
from recipes_core.deployment import Deployment
from recipes_core.explorer.widgets import escape
from recipes_core.findings import Finding, by_severity
from recipes_core.render.declared import gpus_taken
from recipes_core.render.evidence import preset_covers, standing_of
from recipes_core.selection import Selection
from recipes_core.topology import Pool

AXIS_NAMES = {
    "hardware": "Hardware",
    "variant": "Variant",
    "strategy": "Strategy",
    "nodes": "Nodes",
    "gpus": "GPUs of the node",
    "features": "Feature",
    "fmode": "Feature mode",
    "preset": "Preset",
    "kv_offload": "KV cache offload",
    "kv_instances": "Instances",
    "prefill_nodes": "Prefill nodes",
    "decode_nodes": "Decode nodes",
    "prefill_mode": "Prefill layout",
    "decode_mode": "Decode layout",
    "router": "Router",
    "frontend": "HTTP front end",
    "task": "Task",
    "advanced": "Tuning",
    "": "Link",
}


def tokens(count: int) -> str:
    """A number of tokens as people say it."""
    for size, unit in ((1 << 20, "M"), (1 << 10, "k")):
        if count >= size and count % size == 0:
            return f"{count // size}{unit}"
    return f"{count:,}"


def layout_text(pool: Pool) -> str:
    """Parallel sizes of an engine, in the field's words."""
    sizes = [("TP", pool.tp), ("PP", pool.pp), ("DP", pool.dp)]
    words = [f"{name}={size}" for name, size in sizes if size > 1] or ["TP=1"]
    if pool.expert_parallel:
        words.append("EP")
    return " ".join(words)


def summary(config: Configuration, deployment: Deployment) -> str:
    """One line: hardware, nodes, parallel sizes, precision."""
    profile = config.profile
    copies = config.kv_instances or 1
    there, used = copies * config.gpus_used, copies * gpus_taken(deployment)
    place = f"{there}× {profile.display_name}"
    if used < there:
        place = f"{used} of {there} {profile.display_name}"
    if config.nodes > 1:
        place += f" on {config.nodes} nodes"
    if config.pools:
        layouts = [f"{pool.role} {layout_text(pool)}" for pool in deployment.layouts]
    else:
        layouts = [layout_text(pool) for pool in deployment.layouts[:1]]
    parts = [place, *layouts, config.variant.precision.upper()]
    return " · ".join(parts)


def title_html(config: Configuration, deployment: Deployment) -> str:
    """Name, provider, facts and the recipe's own sentence."""
    recipe, model = config.recipe, config.recipe.model
    size = model.parameter_count or ""
    if size and model.active_parameters and model.active_parameters != size:
        size = f"{size} parameters, {model.active_parameters} active"
    elif size:
        size = f"{size} parameters"
    context = f"{tokens(model.context_length)} context" if model.context_length else ""
    floor = deployment.min_vllm_version
    vllm = (f"vLLM ≥ {floor}" if floor and floor != "nightly" else "vLLM nightly") if floor else ""
    names = {task.id: task.display_name for task in config.catalog.taxonomy.tasks}
    tasks = ", ".join(names.get(task, task) for task in recipe.meta.tasks)
    kind = {"moe": "Mixture of experts", "dense": "Dense"}.get(model.architecture, "")
    facts = "".join(
        f"<span>{escape(fact)}</span>" for fact in (kind, size, context, vllm, tasks) if fact
    )
    lead = recipe.meta.description or ""
    lead_html = f'<p class="rx-lead">{escape(lead)}</p>' if lead else ""
    return (
        f'<div class="rx-title-row"><h1 class="rx-title">{escape(recipe.meta.title)}</h1>'
        f'<span class="rx-provider">{escape(config.model_id)}</span></div>'
        f'<div class="rx-facts">{facts}</div>{lead_html}'
    )


def status(config: Configuration, deployment: Deployment) -> tuple[str, str]:
    """How sure the command is: a CSS class and a few words."""
    if any(f.code in {"memory-short", "strategy-unreachable"} for f in deployment.findings):
        return "rx-short", "Does not fit as declared"
    name = f"{config.profile.brand} {config.profile.display_name}"
    if config.preset is not None:
        if config.preset.evidence is not None and preset_covers(config, deployment):
            return "rx-verified", f"Preset measured on {name}"
        return "", "Preset, computed"
    standing = standing_of(config)
    return f"rx-{standing.state}", standing.label


def status_html(config: Configuration, deployment: Deployment) -> str:
    """The status line."""
    kind, text = status(config, deployment)
    return (
        f'<div class="rx-status"><span class="rx-badge {kind}">{escape(text)}</span>'
        f'<span class="rx-summary">{escape(summary(config, deployment))}</span></div>'
    )


def _asked(adjustment: Adjustment) -> str:
    name = AXIS_NAMES.get(adjustment.axis, adjustment.axis)
    asked = "" if adjustment.asked in {None, ""} else f" <code>{escape(adjustment.asked)}</code>"
    got = "" if adjustment.got is None else f" → <code>{escape(adjustment.got)}</code>"
    return f"<b>{escape(name)}</b>{asked}{got}: {escape(adjustment.reason)}"


def nodes_text(count: int) -> str:
    """A number of nodes."""
    return f"{count} node{'s' if count > 1 else ''}"


def _instead(adjustment: Adjustment, config: Configuration | None) -> str:
    """A button that takes a refused strategy, where other nodes are all that it needs."""
    asked = adjustment.asked
    if config is None or adjustment.axis != "strategy" or asked not in config.rules.strategies:
        return ""
    nodes = config.rules.nodes_of(asked, config.hardware, config.node, config.nodes)
    if nodes is None or asked == config.strategy_id:
        return ""
    name = config.rules.strategies[asked].display_name
    return (
        '<button type="button" class="rx-button" data-rx-send="open"'
        f' data-rx-value="{escape(Selection(strategy=asked).to_query())}">'
        f"{escape(name)} on {nodes_text(nodes)}</button>"
    )


def told_text(notices: list[Adjustment], problem: str) -> str:
    """What the newest choice met with, in words."""
    rows = [problem] if problem else []
    for item in notices:
        asked = "" if item.asked in {None, ""} else f" {item.asked}"
        rows.append(f"{AXIS_NAMES.get(item.axis, item.axis)}{asked}: {item.reason}")
    return " · ".join(rows)


def notices_html(
    notices: list[Adjustment],
    findings: list[Finding],
    problem: str = "",
    most: int = 6,
    config: Configuration | None = None,
) -> str:
    """What was asked and could not be had, and what is wrong with the command.

    Args:
        notices: What could not be had.
        findings: What is wrong with the command.
        problem: A sentence that stands first.
        most: Rows that are shown; the others are folded.
        config: What came of it; with it a refused choice has a button where one can take it.
    """
    rows = []
    if problem:
        rows.append(f'<div class="rx-notice rx-error" role="alert">{escape(problem)}</div>')
    rows += [
        f'<div class="rx-notice">{_asked(item)} {_instead(item, config)}</div>' for item in notices
    ]
    for finding in by_severity(findings):
        kind = {"error": " rx-error", "info": " rx-info"}.get(finding.severity, "")
        where = f" <code>{escape(finding.where)}</code>" if finding.where[:1] in {"-", "$"} else ""
        rows.append(f'<div class="rx-notice{kind}">{escape(finding.message)}{where}</div>')
    if len(rows) > most:
        more = "".join(rows[most - 1 :])
        count = len(rows) - most + 1
        rows = rows[: most - 1]
        rows.append(f"<details><summary>{count} more notices</summary>{more}</details>")
    return f'<div class="rx-notices">{"".join(rows)}</div>' if rows else ""
