"""Resolve, size and check vLLM serving recipes.

    from recipes_core import check, command, configure, deploy, load_catalog, size_configuration

    config = configure(load_catalog(), "openai/gpt-oss-120b", "hardware=h200")
    deployment = deploy(config)
    print(command(deployment.processes[0]))
    print(size_configuration(config, deployment).log_lines, check(deployment, "latest"))

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recipes_core.catalog.catalog import Catalog as Catalog
    from recipes_core.catalog.loader import load_catalog as load_catalog
    from recipes_core.configuration import Adjustment as Adjustment
    from recipes_core.configuration import Configuration as Configuration
    from recipes_core.configuration import configure as configure
    from recipes_core.deployment import Deployment as Deployment
    from recipes_core.deployment import ReaderValues as ReaderValues
    from recipes_core.deployment import deploy as deploy
    from recipes_core.errors import CatalogError as CatalogError
    from recipes_core.errors import RecipesError as RecipesError
    from recipes_core.errors import UnknownRecipeError as UnknownRecipeError
    from recipes_core.findings import Finding as Finding
    from recipes_core.options import options_of as options_of
    from recipes_core.render.json import json_bytes as json_bytes
    from recipes_core.render.json import to_json as to_json
    from recipes_core.render.markdown import to_markdown as to_markdown
    from recipes_core.render.shell import command as command
    from recipes_core.render.shell import docker_command as docker_command
    from recipes_core.render.shell import script as script
    from recipes_core.selection import Selection as Selection
    from recipes_core.sizing.configuration import size_configuration as size_configuration
    from recipes_core.vllm_cli import check as check

__version__ = "0.1.0"

_PLACES = {
    "Adjustment": "configuration",
    "Catalog": "catalog.catalog",
    "CatalogError": "errors",
    "Configuration": "configuration",
    "Deployment": "deployment",
    "Finding": "findings",
    "ReaderValues": "deployment",
    "RecipesError": "errors",
    "Selection": "selection",
    "UnknownRecipeError": "errors",
    "check": "vllm_cli",
    "command": "render.shell",
    "configure": "configuration",
    "deploy": "deployment",
    "docker_command": "render.shell",
    "json_bytes": "render.json",
    "load_catalog": "catalog.loader",
    "options_of": "options",
    "script": "render.shell",
    "size_configuration": "sizing.configuration",
    "to_json": "render.json",
    "to_markdown": "render.markdown",
}

__all__ = sorted((*_PLACES, "__version__"))  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'recipes_core' has no attribute {name!r}")
    value = getattr(import_module(f"recipes_core.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
