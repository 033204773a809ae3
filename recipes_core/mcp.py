"""The same questions for agents: a Model Context Protocol server over stdio, read-only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import load_chosen
from recipes_core.catalog.search import search as search_catalog
from recipes_core.configuration import Configuration, configure
from recipes_core.errors import RecipesError, UnknownRecipeError
from recipes_core.render.beside import NOT_SIZED, assess
from recipes_core.render.declared import gpus_taken
from recipes_core.render.json import to_json
from recipes_core.render.listing import search_json
from recipes_core.render.markdown import to_markdown
from recipes_core.vllm_cli import explain

if TYPE_CHECKING:
    from mcp.server import MCPServer

MOST = 50
INSTRUCTIONS = (
    "Exact vLLM serving commands. Search for a model, show a configuration (commands as text and"
    " as argument vectors, install steps, every choice with the reason where it cannot be had),"
    " size its GPU memory, check a command against a vLLM release. What was asked and could not"
    " be had is under `adjustments`: read it before you use a command. Every command"
    " is generated from rules: `verified: true` means that somebody states a run of the model on"
    " that hardware, and `evidence` who, and whether the run itself is documented."
)
Recipe = Annotated[str, Field(description="Recipe id, org/repo, or the id of a checkpoint.")]
Query = Annotated[
    str,
    Field(
        description="Choices as a query string, such as hardware=h200&strategy=multi_node_tp"
        "&nodes=2&features=tool_calling&max_model_len=32k. Unset choices take their defaults."
    ),
]


class Tools:
    """The four questions, over one catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def search(
        self,
        text: Annotated[str, Field(description="Words that must all occur; empty = all.")] = "",
        hardware_verified: Annotated[
            str | None, Field(description="Only recipes verified on this hardware id.")
        ] = None,
        precision: Annotated[
            str | None, Field(description="Only recipes with a variant of this precision.")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=MOST)] = 10,
    ) -> dict[str, Any]:
        """Find recipes by model, provider, task, precision or checkpoint; best first."""
        found = search_catalog(
            self.catalog, text, precision=precision, hardware_verified=hardware_verified
        )
        return {"total": len(found), "recipes": search_json(found[:limit])}

    def show(
        self,
        recipe: Recipe,
        query: Query = "",
        form: Annotated[
            Literal["json", "markdown"], Field(description="Data, or a page to read.")
        ] = "json",
        strict: Annotated[
            bool, Field(description="Refuse instead of adjusting what cannot be had.")
        ] = False,
    ) -> dict[str, Any]:
        """The commands, install steps, options, memory and findings of one configuration."""
        config = self._configure(recipe, query)
        if strict and config.adjustments:
            reasons = "; ".join(
                f"{a.axis or 'query'} {a.asked}: {a.reason}" for a in config.adjustments
            )
            raise RecipesError(f"not as asked: {reasons}")
        config, deployment, sizing, findings = assess(config)
        if form == "markdown":
            return {"markdown": to_markdown(config, deployment, findings=findings)}
        return to_json(config, deployment, sizing, findings)

    def size(self, recipe: Recipe, query: Query = "") -> dict[str, Any]:
        """GPU memory of one configuration: weights, KV cache, tokens, and whether it fits."""
        config, deployment, sizing, findings = assess(self._configure(recipe, query))
        gpus = gpus_taken(deployment)
        declared = {
            "needed_gb": config.memory_needed_gb,
            "gpus": gpus,
            "there_gb": config.node.gpu_vram_gb * gpus,
            "basis": config.variant.memory_origin,
        }
        return {
            "recipe": config.entry.id,
            "hardware": config.hardware,
            "variant": config.variant_id,
            "strategy": config.strategy_id,
            "adjustments": [item._asdict() for item in config.adjustments],
            "declared": declared,
            "sizing": sizing,
            "not_sized": next((f.message for f in findings if f.code == NOT_SIZED), None),
        }

    def check(
        self,
        command: Annotated[str, Field(description="A `vllm serve` command as pasted in a shell.")],
        vllm: Annotated[
            str | None,
            Field(description="A release, latest or nightly; else the image's, else the newest."),
        ] = None,
    ) -> dict[str, Any]:
        """What a vLLM release's own parser would say of a command; nothing is run."""
        try:
            found = explain(command, vllm)
        except ValueError as error:
            raise RecipesError(str(error)) from None
        return {
            "vllm": found.version,
            "argv": list(found.argv),
            "env": found.env,
            "accepted": not any(item.severity == "error" for item in found.findings),
            "findings": [item._asdict() for item in found.findings],
            "layout": found.layout._asdict(),
            "least_vllm": found.floor.version if found.floor else None,
        }

    def _configure(self, recipe: str, query: str) -> Configuration:
        try:
            return configure(self.catalog, recipe, query)
        except UnknownRecipeError as error:
            if error.nearest:
                raise
            found = [entry.id for entry in search_catalog(self.catalog, recipe)[:3]]
            raise UnknownRecipeError(recipe, found) from None


def make_server(catalog: Catalog) -> MCPServer:
    """A server with the four tools, ready to run on any transport."""
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    import recipes_core

    tools = Tools(catalog)
    server = MCPServer("recipes", instructions=INSTRUCTIONS, version=recipes_core.__version__)
    harmless = ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    for tool in (tools.search, tools.show, tools.size, tools.check):
        server.tool(annotations=harmless)(_telling(tool))
    return server


def _telling(tool: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A tool whose refusals reach the agent; the SDK hides the text of other exceptions."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    def told(*args: Any, **arguments: Any) -> dict[str, Any]:
        try:
            return tool(*args, **arguments)
        except RecipesError as error:
            raise ToolError(str(error)) from None

    return told


def run(folders: Sequence[str] = ()) -> None:
    """Serve on stdin and stdout until the client closes them.

    Args:
        folders: Catalogs to stack; none = those of ``RECIPES_CATALOG``, or ours.

    Raises:
        RecipesError: The SDK is not installed, or a catalog cannot be used.
    """
    try:
        server = make_server(load_chosen(folders, lambda line: print(line, file=sys.stderr)))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise RecipesError(
            "agents are answered by the package `mcp`; install it with"
            " `pip install 'recipes-core[mcp]'`"
        ) from None
    server.run("stdio")
