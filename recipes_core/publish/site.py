"""The HTML pages of a static site: switched by radio buttons and CSS, with no script needed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from markupsafe import Markup

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.pages import Page
from recipes_core.configuration import Configuration
from recipes_core.configuration.extras import store_reason
from recipes_core.deployment.model import Deployment, Process
from recipes_core.publish.peer import Rendered, Texts
from recipes_core.publish.plan import Planned
from recipes_core.render.declared import gpus_taken, verdict_beside
from recipes_core.render.listing import groups_of
from recipes_core.render.page import (
    content_policy,
    csp_hash,
    facts_of,
    markdown_html,
    template,
)
from recipes_core.render.serve import process_title
from recipes_core.render.shell import exports, heredoc
from recipes_core.sizing.verdict import Verdict


class Shown(NamedTuple):
    """A planned rendering that was made."""

    planned: Planned
    made: Rendered
    sizing: dict[str, Any] | None
    findings: tuple[Any, ...]


@dataclass(slots=True)
class Panel:
    """What one or several choices show: the same commands, said once."""

    rules: list[tuple[str, str]] = field(default_factory=list)
    """Hardware and strategy under which it is on screen."""
    files: list[tuple[str, str]] = field(default_factory=list)
    """Hardware's name and the way to the JSON, for each."""
    reason: str | None = None
    """Why there is nothing, where there is nothing."""
    processes: list[dict[str, Any]] = field(default_factory=list)
    placeholders: Sequence[Any] = ()
    heredocs: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    findings: Sequence[Any] = ()
    install: Markup | None = None
    summary: str = ""

    @property
    def names(self) -> str:
        """The hardware that it is for."""
        return ", ".join(label for label, _ in self.files)

    @property
    def links(self) -> Markup:
        """Links to the JSON of each hardware."""
        link = Markup('<a href="{}">{}</a>')
        return Markup(", ").join(link.format(way, label) for label, way in self.files)


def relative(page: str, path: str) -> str:
    """The way from a page ``<page>/index.html`` to a path of the site."""
    return "../" * (page.count("/") + 1) + path


def recipe_html(
    page: Page, base: Configuration, shown: Sequence[Shown], siblings: Iterable[Page],
    *, base_url: str | None, dashboard: str | None,
) -> str:  # fmt: skip
    """A recipe's page: hardware and strategy are radio buttons, variants are links.

    Args:
        page: The id and its variant.
        base: The variant on its default hardware.
        shown: Every rendering of the page.
        siblings: All pages of the recipe.
        base_url: Address of the site, for the canonical link; None = none.
        dashboard: Address of the dashboard; None = no link to it.
    """
    hardware = list(dict.fromkeys(item.planned.config.hardware for item in shown))
    seconds = list(dict.fromkeys(_seconds(base, shown)))
    h_of = {name: f"h{place}" for place, name in enumerate(hardware)}
    s_of = {name: f"s{place}" for place, name in enumerate(seconds)}
    panels = _panels(page, base, shown, h_of, s_of)
    rules = _style(panels)
    recipe = page.entry.recipe
    first = next((item for item in shown if item.planned.config.hardware == base.hardware), None)
    mark = "&" if dashboard and "?" in dashboard else "?"
    return template("recipe.html").render(
        title=recipe.meta.title,
        id=page.id,
        recipe=page.entry.id,
        description=recipe.meta.description,
        policy=content_policy(csp_hash(rules)),
        rules=rules,
        canonical=f"{base_url}/{page.id}/" if base_url else None,
        root=relative(page.id, ""),
        up=lambda path: relative(page.id, path),
        facts=facts_of(base),
        variants=_variants(page, siblings),
        hardware=_hardware(base, hardware, h_of),
        shut=[o for o in base.rules.hardware_options(page.variant) if not o.enabled],
        seconds=[(s_of[name], _second_label(base, name)) for name in seconds],
        second_name="Task" if base.rules.is_omni else "Strategy",
        checked={h_of.get(base.hardware), s_of.get(first.planned.second) if first else None},
        panels=panels,
        memory=[_memory_row(item) for item in shown if _leads(item)],
        dashboard=f"{dashboard}{mark}model={page.entry.id}" if dashboard else None,
        guide=markdown_html(recipe.guide, 1) if recipe.guide else None,
    )


def _leads(item: Shown) -> bool:
    return item.planned.path.rpartition("/")[0].endswith("/hw")


def _seconds(base: Configuration, shown: Sequence[Shown]) -> list[str]:
    offered = [*base.rules.strategies, *base.catalog.kv_stores]
    there = dict.fromkeys(item.planned.second for item in shown)
    if base.rules.is_omni:
        return list(there)
    return [name for name in offered if name in there]


def _second_label(base: Configuration, name: str) -> str:
    strategy = base.rules.strategies.get(name)
    if strategy is not None:
        return strategy.display_name
    store = base.catalog.kv_stores.get(name)
    if store is not None:
        return store.display_name
    return name or "Serve"


def _variants(page: Page, siblings: Iterable[Page]) -> list[tuple[str, str, bool]]:
    """Label, way and whether it is this one, for each variant of the recipe."""
    recipe = page.entry.recipe
    pages: dict[str, Page] = {}
    for other in siblings:
        pages.setdefault(other.variant, other)
    pages[page.variant] = page
    found = []
    for name, variant in recipe.variants.items():
        if name in pages:
            label = " · ".join(filter(None, (variant.label, variant.precision.upper())))
            way = relative(page.id, f"{pages[name].id}/index.html")
            found.append((label, way, name == page.variant))
    return found


def _hardware(
    base: Configuration, names: Iterable[str], ids: dict[str, str]
) -> list[dict[str, Any]]:
    options = {option.id: option for option in base.rules.hardware_options(base.variant_id)}
    return [
        {
            "key": ids[name],
            "label": options[name].label,
            "detail": f"{options[name].facts['gpu_count']} × "
            f"{options[name].facts['gpu_vram_gb']:g} GB",
            "verified": options[name].facts["verified"],
        }
        for name in names
    ]


def _panels(
    page: Page,
    base: Configuration,
    shown: Sequence[Shown],
    h_of: dict[str, str],
    s_of: dict[str, str],
) -> list[Panel]:
    """One panel for each distinct set of commands, then one for each reason for having none."""
    panels: dict[Any, Panel] = {}
    there = set()
    for item in shown:
        config, second = item.planned.config, item.planned.second
        key = _key(item)
        panel = panels.get(key)
        if panel is None:
            panel = panels[key] = _panel(item, _second_label(base, second))
        there.add((config.hardware, second))
        panel.rules.append((h_of[config.hardware], s_of[second]))
        way = relative(page.id, item.planned.path)
        panel.files.append((config.node.display_name, way))
    for name, hardware in h_of.items():
        for second, place in s_of.items():
            if (name, second) not in there:
                reason = _missing(base, name, second)
                panels.setdefault(reason, Panel(reason=reason)).rules.append((hardware, place))
    return list(panels.values())


def _key(item: Shown) -> bytes:
    """A digest of what a panel says, its hardware apart."""
    digest = hashlib.blake2b(digest_size=16)
    made = item.made
    for process, texts in zip(made.deployment.processes, made.texts, strict=True):
        words = (process.name, exports(process.env), texts.command, texts.docker_command or "")
        digest.update("\0".join(words).encode())
    for file in made.deployment.files:
        digest.update(repr(file).encode())
    pip = made.deployment.install.tabs.get("pip")
    digest.update(repr((item.planned.second, pip, item.findings)).encode())
    return digest.digest()


def _panel(item: Shown, label: str) -> Panel:
    deployment = item.made.deployment
    return Panel(
        processes=[
            _process(item.made, process, texts)
            for process, texts in zip(deployment.processes, item.made.texts, strict=True)
        ],
        placeholders=deployment.missing,
        heredocs=[(file.path, heredoc(file), file.used_by) for file in deployment.files],
        findings=item.findings,
        install=_install(deployment),
        summary=label,
    )


_INSTALLS: dict[str, Markup] = {}


def _install(deployment: Deployment) -> Markup:
    """The install steps; a recipe has few distinct ones."""
    parts = (deployment.install, deployment.min_vllm_version, deployment.docker_image)
    key = repr(parts)
    found = _INSTALLS.get(key)
    if found is None:
        if len(_INSTALLS) > 64:
            _INSTALLS.clear()
        made = template("parts.html").module.install(*parts)  # type: ignore[attr-defined]
        found = _INSTALLS[key] = made
    return found


def _process(made: Rendered, process: Process, texts: Texts) -> dict[str, Any]:
    when = {"before": "start before vLLM", "after": "start after vLLM"}.get(process.start)
    container = process.container
    return {
        "title": process_title(made.deployment, process),
        "when": when if not process.is_engine else None,
        "about": process.description,
        "install": process.install if not process.is_engine else None,
        "script": exports(process.env) + texts.command,
        "docker": texts.docker_command,
        "no_docker": container.reason if container is not None else None,
    }


def _missing(base: Configuration, hardware: str, second: str) -> str:
    rules, profile = base.rules, base.catalog.hardware[hardware]
    if second in rules.strategies:
        gate = rules.gate(second, hardware, profile)
        reason = rules.strategy_reason(second, hardware, profile, max(1, gate.min_nodes))
        if reason is None or "nodes=" in reason:
            reason = "needs more nodes than this site lays out"
        return f"{rules.strategies[second].display_name}: {reason}."
    store = base.catalog.kv_stores.get(second)
    if store is not None and base.strategy_id is not None:
        reason = store_reason(rules, store, hardware, profile)
        return f"{store.display_name}: {reason or 'pools have their own connector'}."
    return "This cannot be had here."


def _style(panels: Sequence[Panel]) -> str:
    """The rules that put a panel on screen; without ``:has`` all stand one below the other."""
    lines = ["@supports selector(:has(*)){", ".panel{display:none}"]
    for place, panel in enumerate(panels):
        chosen = ",".join(
            f"main:has(#{h}:checked):has(#{s}:checked) #p{place}" for h, s in panel.rules
        )
        lines.append(f"{chosen}{{display:block}}")
    return "\n".join([*lines, "}"])


def _in_columns(verdict: Verdict, basis: str) -> bool:
    """Whether a verdict rests on figures that the table's other columns have."""
    return verdict.kind == "fits" or (verdict.kind == "short" and basis == "declared")


def _memory_row(item: Shown) -> dict[str, Any]:
    config, sizing = item.planned.config, item.sizing
    gpus = gpus_taken(item.made.deployment)
    verdict, basis = verdict_beside(item.made.deployment, sizing)
    return {
        "hardware": config.node.display_name,
        "gpus": gpus,
        "nodes": config.nodes,
        "there": config.node.gpu_vram_gb * gpus,
        "declared": config.memory_needed_gb,
        "sizing": sizing,
        "verdict": verdict.word,
        "detail": "" if _in_columns(verdict, basis) else verdict.detail,
        "basis": basis,
    }


def index_html(catalog: Catalog, base_url: str | None) -> str:
    """The list of all recipes; a script filters it, without one it is a list."""
    total = len(catalog.recipes)
    return template("index.html").render(
        heading="vLLM serving recipes",
        lead="Pick a model: its page has the exact commands for each hardware and strategy.",
        base_url=base_url,
        policy=content_policy(),
        root="",
        search="index.html",
        asked="",
        count=f"{total} of {total}",
        live=False,
        near=(),
        groups=groups_of(catalog),
        href=lambda recipe: f"{recipe}/index.html",
    )
