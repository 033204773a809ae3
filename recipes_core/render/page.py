"""The HTML page of one configuration: everything on it works without JavaScript."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote as url_quote

from recipes_core.applies import notes_of
from recipes_core.configuration import Configuration
from recipes_core.deployment.model import Deployment, Process
from recipes_core.findings import Finding, by_severity
from recipes_core.link import json_query, page_query, selection_of
from recipes_core.render.choices import axes_of
from recipes_core.render.clients import clients_of
from recipes_core.render.declared import gpus_taken
from recipes_core.render.evidence import standing_of
from recipes_core.render.serve import process_title
from recipes_core.render.shell import docker_command, heredoc, script
from recipes_core.render.text import shifted
from recipes_core.selection import Selection

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markdown_it.token import Token
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
NUMBERS: dict[str, tuple[str, str]] = {
    "max_model_len": ("Longest context", "tokens, such as 32k, or auto"),
    "max_num_seqs": ("Sequences at once", "whole number"),
    "max_num_batched_tokens": ("Tokens per batch", "whole number"),
    "gpu_memory_utilization": ("Share of GPU memory", "0.05 to 1"),
    "kv_cache_dtype": ("KV cache type", "auto, fp8, bfloat16 …"),
    "served_name": ("Served model name", "name that requests use"),
    "port": ("Port", "1 to 65535"),
    "gpus": ("GPUs of one node", "whole number"),
    "vllm": ("vLLM release", "such as 0.33.0"),
}
"""Values that a reader types: label and what is allowed."""
OF_LANGUAGE = frozenset(
    {"max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization",
     "kv_cache_dtype"}
)  # fmt: skip
"""Those of a language model engine, which what makes pictures, video or sound is not."""
MEMORY_PARTS: dict[str, str] = {
    "weights": "Weights",
    "activation": "Activations",
    "non_torch": "Outside PyTorch",
    "cuda_graphs": "CUDA graphs",
    "kv_cache": "KV cache",
    "outside_budget": "Outside the budget",
    "free": "Free",
}


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the pages are: each link of a page is made here."""

    root: str = "/"
    """Address or path of the list of recipes, with a slash at its end."""
    dashboard: str | None = None
    """Address of the dashboard; None where there is none to open."""

    def page(self, recipe: str, query: str = "", suffix: str = "") -> str:
        """Address of a recipe in one form: nothing, ``.md`` or ``.json``."""
        tail = f"?{query}" if query else ""
        return f"{self.root}{url_quote(recipe)}{suffix}{tail}"

    def in_dashboard(self, recipe: str, query: str) -> str | None:
        """The same configuration in the dashboard."""
        if self.dashboard is None:
            return None
        mark = "&" if "?" in self.dashboard else "?"
        tail = f"&{query}" if query else ""
        return f"{self.dashboard}{mark}model={url_quote(recipe, safe='')}{tail}"


class Asset(NamedTuple):
    """A style sheet or script that stands inside a page."""

    text: str
    source: str
    """Its hash as a content security policy names it."""


@lru_cache(maxsize=8)
def asset(name: str) -> Asset:
    """One of the files beside the templates."""
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    return Asset(text, csp_hash(text))


def csp_hash(text: str) -> str:
    """A content security policy's name for an inline style or script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def content_policy(*more_styles: str) -> str:
    """The policy of our pages: nothing from elsewhere, no script or style but our own."""
    styles = " ".join((asset("page.css").source, *more_styles))
    return (
        f"default-src 'none'; style-src {styles}; script-src {asset('copy.js').source};"
        " form-action 'self'; base-uri 'none'"
    )


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates, every value in them escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["asset"] = lambda name: asset(name).text
    made.filters["gib"] = gib
    made.filters["commas"] = lambda number: f"{number:,}"
    return made


def template(name: str) -> Template:
    """A template, compiled once."""
    return environment().get_template(name)


def gib(count: float | None) -> str:
    """Bytes for a person."""
    return "unknown" if count is None else f"{count / 2**30:,.2f} GiB"


def to_html(
    config: Configuration,
    deployment: Deployment,
    sizing: Mapping[str, Any] | None = None,
    findings: Iterable[Finding] = (),
    addresses: Addresses | None = None,
) -> str:
    """The page of a configuration.

    Args:
        config: What ``configure`` returned.
        deployment: What ``deploy`` made of it.
        sizing: The ``sizing`` object of its JSON, where it was computed.
        findings: Findings beside the deployment's own.
        addresses: Where the links of the page lead.
    """
    places = addresses or Addresses()
    recipe = config.recipe
    query = page_query(config)
    entry = config.entry.id
    return template("page.html").render(
        title=recipe.meta.title,
        id=entry,
        root=places.root,
        description=recipe.meta.description,
        facts=facts_of(config),
        status=standing_of(config),
        summary=summary_of(config, gpus_taken(deployment)),
        adjustments=config.adjustments,
        findings=by_severity(dict.fromkeys((*deployment.findings, *findings))),
        axes=axes_of(config),
        numbers=_numbers(config),
        hidden=_hidden(selection_of(config)),
        page=lambda other: places.page(entry, other),
        links=links_of(config, places),
        dashboard=places.in_dashboard(entry, query),
        processes_shown=[part_of(deployment, process) for process in deployment.processes],
        files=[(file.path, heredoc(file), file.used_by) for file in deployment.files],
        placeholders=deployment.missing,
        install=deployment.install,
        min_vllm_version=deployment.min_vllm_version,
        docker_image=deployment.docker_image,
        memory=memory_of(config, sizing, gpus_taken(deployment)),
        clients=clients_of(deployment),
        why=why_of(deployment),
        preset=config.preset,
        preset_id=config.preset_id,
        notes=[(note.title, markdown_html(note.body)) for note in notes_of(recipe.notes, config)],
        issues=[
            (note.title, markdown_html(note.body)) for note in notes_of(recipe.known_issues, config)
        ],
        guide=markdown_html(recipe.guide, 1) if recipe.guide else None,
    )


def facts_of(config: Configuration) -> list[tuple[str, str]]:
    """What a reader wants to know of a model before anything else."""
    model, meta, variant = config.recipe.model, config.recipe.meta, config.variant
    names = {task.id: task.display_name for task in config.catalog.taxonomy.tasks}
    size = model.parameter_count
    if size and model.active_parameters:
        size = f"{size} total, {model.active_parameters} active"
    rows = [
        ("Checkpoint", config.model_id),
        ("Size", size),
        ("Architecture", {"moe": "Mixture of experts", "dense": "Dense"}[model.architecture]),
        ("Context", f"{model.context_length:,} tokens" if model.context_length else None),
        ("Precision", variant.precision.upper()),
        ("Tasks", ", ".join(names.get(task, task) for task in meta.tasks)),
        ("License", model.license),
    ]
    return [(label, text) for label, text in rows if text]


def summary_of(config: Configuration, gpus: int) -> str:
    """The configuration in one line; ``gpus`` are those that it takes."""
    node = config.node
    parts = [f"{config.profile.gpu_count} × {node.display_name}"]
    if config.nodes > 1:
        parts[0] = f"{config.nodes} nodes of {parts[0]}"
    elif not config.pools and gpus < node.gpu_count:
        parts[0] = f"{gpus} of the node's {node.gpu_count} × {node.display_name}"
    if config.pools:
        parts += [
            f"{role} {_nodes(pool.nodes)} {pool.mode.upper()}"
            for role, pool in config.pools.items()
        ]
    if config.strategy is not None:
        parts.append(config.strategy.display_name)
    parts.append(config.variant.precision.upper())
    if config.kv_offload:
        parts.append(config.kv_offload)
    return " · ".join(parts)


def _nodes(count: int) -> str:
    return f"{count} node{'s' if count > 1 else ''}" if count else "half a node"


def links_of(config: Configuration, places: Addresses) -> list[tuple[str, str]]:
    """The same configuration in other forms."""
    return [
        ("Markdown", places.page(config.entry.id, page_query(config), ".md")),
        ("JSON", places.page(config.entry.id, json_query(config), ".json")),
    ]


def part_of(deployment: Deployment, process: Process) -> dict[str, Any]:
    """One process as a page shows it."""
    container = process.container
    when = {"before": "start before vLLM", "after": "start after vLLM"}.get(process.start)
    return {
        "name": process.name,
        "title": process_title(deployment, process),
        "when": when if not process.is_engine else None,
        "about": process.description,
        "install": process.install if not process.is_engine else None,
        "script": script(process),
        "docker": docker_command(process),
        "no_docker": container.reason if container is not None else None,
    }


def why_of(deployment: Deployment) -> list[tuple[str, str, str, str]]:
    """Flag or variable, layer, file and key, of every engine that differs."""
    rows: dict[tuple[str, str, str, str], None] = {}
    for process in deployment.processes:
        if process.is_engine:
            for name, source in process.provenance().items():
                rows[(name, source.layer, source.source, source.key)] = None
    return list(rows)


class MemoryRow(NamedTuple):
    """A part of a GPU's memory."""

    key: str
    label: str
    size: int | None
    band: tuple[int, int] | None
    share: float
    """Of the whole GPU, in thousandths."""
    start: float
    """Where the part begins in a bar of a thousand."""


def memory_of(config: Configuration, sizing: Mapping[str, Any] | None, gpus: int) -> dict[str, Any]:
    """The memory of the fullest GPU: computed or measured where it is known, else declared."""
    declared = {
        "needed": config.memory_needed_gb,
        "there": config.node.gpu_vram_gb * gpus,
        "gpus": gpus,
        "source": config.variant.memory_origin,
    }
    if sizing is None:
        return {"declared": declared, "sizing": None, "rows": []}
    total = sizing["gpu_total_bytes"] or 0
    rows, start = [], 0.0
    for key, label in MEMORY_PARTS.items():
        size = sizing["per_gpu"].get(key)
        band = sizing.get("band", {}).get(key)
        share = 1000 * (size or 0) / total if total else 0.0
        rows.append(MemoryRow(key, label, size, tuple(band) if band else None, share, start))
        start += share
    return {"declared": declared, "sizing": sizing, "rows": rows}


def _numbers(config: Configuration) -> list[tuple[str, str, str, str]]:
    asked = config.selection
    found = []
    for key, (label, hint) in NUMBERS.items():
        value = getattr(asked, key)
        if value is None and key in OF_LANGUAGE and config.rules.is_omni:
            continue
        found.append((key, label, hint, "" if value is None else str(value)))
    return found


def _hidden(least: Selection) -> list[tuple[str, str]]:
    return [(key, value) for key, value in least.to_pairs() if key not in NUMBERS]


@lru_cache(maxsize=64)
def markdown_html(text: str, levels: int = 2) -> Markup:
    """An author's Markdown as HTML that cannot run anything.

    Args:
        text: Markdown; a tag in it is shown as text.
        levels: How far its headings are moved down.
    """
    return harmless_html(text, levels)


def harmless_html(
    text: str, levels: int, change: Callable[[list[Token]], None] | None = None
) -> Markup:
    """``markdown_html`` with a page's own changes to the parsed text.

    Args:
        text: Markdown; a tag in it is shown as text, a picture as a link to it.
        levels: How far its headings are moved down.
        change: May add ids to headings, targets to links and classes to spans; all else that it
            adds is taken out again.
    """
    import nh3
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(shifted(text, levels))
    for token in tokens:
        token.children = token.children and list(_unfetched(token.children))
    if change is not None:
        change(tokens)
    html = parser.renderer.render(tokens, parser.options, {})
    allowed = {name: set(names) for name, names in nh3.ALLOWED_ATTRIBUTES.items()}
    for tag, name in (*((f"h{n}", "id") for n in range(1, 7)), ("a", "target"), ("span", "class")):
        allowed.setdefault(tag, set()).add(name)
    return Markup(nh3.clean(html, attributes=allowed))  # noqa: S704 - cleaned by nh3 in the same line


def _unfetched(parts: Iterable[Token]) -> Iterator[Token]:
    """A line's parts with pictures as links: to show one, a browser would ask its server for it."""
    from markdown_it.token import Token

    linked = False
    for part in parts:
        if part.type in {"link_open", "link_close"}:
            linked = part.type == "link_open"
        if part.type != "image":
            yield part
            continue
        words = Token("text", "", 0, content=part.content or "picture")
        if linked:
            yield words
        else:
            address = part.attrGet("src") or ""
            yield Token("link_open", "a", 1, attrs={"href": address})
            yield words
            yield Token("link_close", "a", -1)
