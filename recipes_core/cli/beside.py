"""What stands beside a configuration: findings of the command check, and memory figures."""

from __future__ import annotations

from typing import Any

from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding


def version_of(deployment: Deployment) -> str:
    """The release that a deployment is checked against: the pinned one, else the newest."""
    from recipes_core.deployment.container import nightly

    config = deployment.configuration
    if config.selection.vllm:
        return config.selection.vllm
    return "nightly" if nightly(config) else "latest"


def command_findings(deployment: Deployment, version: str | None = None) -> list[Finding]:
    """What vLLM's own parser of a release would say of the commands.

    Args:
        deployment: What ``deploy`` made.
        version: A release, ``latest`` or ``nightly``; None = the one that the reader pinned, or
            the newest.

    Raises:
        RecipesError: The version is none.
    """
    from recipes_core.vllm_cli import check

    plugins = deployment.configuration.recipe.model.plugins
    try:
        return check(deployment, version or version_of(deployment), plugins=plugins)
    except ValueError as error:
        raise RecipesError(str(error)) from None


def sizing_json(config: Configuration, deployment: Deployment) -> dict[str, Any] | None:
    """The ``sizing`` object; None where the checkpoint is not known."""
    import recipes_core.sizing as room

    adapter = getattr(room, "size_configuration", None)
    if adapter is None:
        return None
    sized = adapter(config, deployment)
    found: dict[str, Any] | None = sized.to_json() if sized is not None else None
    return found
