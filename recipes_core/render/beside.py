"""What stands beside a deployment: memory figures, and findings of the command check."""

from __future__ import annotations

from typing import Any, NamedTuple

from recipes_core.configuration import Configuration
from recipes_core.deployment import Deployment, ReaderValues, deploy
from recipes_core.deployment.container import nightly
from recipes_core.errors import RecipesError
from recipes_core.findings import Finding
from recipes_core.layers import named_plugins, plugins_of
from recipes_core.render.declared import too_few_gpus

NOT_SIZED = "not-sized"
"""Code of the finding that stands in for memory figures that could not be computed."""

REFUSED = "does-not-start"
"""Code of the findings that say why an engine would refuse a command that its parser takes."""


class Assessed(NamedTuple):
    """A configuration with everything that our pages say of it."""

    config: Configuration
    deployment: Deployment
    sizing: dict[str, Any] | None
    findings: list[Finding]
    """Beside the deployment's own."""


def assess(config: Configuration, values: ReaderValues | None = None) -> Assessed:
    """Lay a configuration out, size it, and check its commands.

    Args:
        config: What ``configure`` returned.
        values: What the reader fills in.

    Raises:
        RecipesError: The vLLM version that was asked is none.
    """
    deployment = deploy(config, values)
    sizing, unsized = figures(config, deployment)
    return Assessed(config, deployment, sizing, [*command_findings(deployment), *unsized])


def version_of(deployment: Deployment) -> str:
    """The release that a deployment is checked against: the pinned one, else the newest.

    A plugin that a recipe names follows one release, so its commands are checked at their floor.
    """
    config = deployment.configuration
    if config.vllm:
        return config.vllm
    if deployment.min_vllm_version and named_plugins(config):
        return deployment.min_vllm_version
    return "nightly" if nightly(config) else "latest"


def command_findings(deployment: Deployment, version: str | None = None) -> list[Finding]:
    """What vLLM's own parser of a release would say of the commands, and its engine at start.

    Args:
        deployment: What ``deploy`` made.
        version: A release, ``latest`` or ``nightly``; None = the pinned one, or the newest.

    Raises:
        RecipesError: The version is none.
    """
    from recipes_core.vllm_cli import check

    plugins = plugins_of(deployment.configuration)
    try:
        found = check(deployment, version or version_of(deployment), plugins=plugins)
    except ValueError as error:
        raise RecipesError(str(error)) from None
    return [*found, *_refusals(deployment)]


def _refusals(deployment: Deployment) -> list[Finding]:
    """What the sizes of model, ranks and node forbid, once for all engines of a kind."""
    from recipes_core.sizing.configuration import size_processes

    try:
        sized = size_processes(deployment.configuration, deployment)
    except RecipesError:
        # `figures` says so; the check of the command has named the value.
        return []
    problems = dict.fromkeys(problem for _, sizing in sized for problem in sizing.problems)
    missing = too_few_gpus(deployment)
    if missing is not None:
        problems[missing] = None
    return [Finding("error", REFUSED, f"the engine would not start: {text}") for text in problems]


def floor_findings(deployment: Deployment) -> list[Finding]:
    """Where a command needs a newer vLLM than the deployment's floor says."""
    from recipes_core.vllm_cli import check_floor

    floor, plugins = deployment.min_vllm_version, plugins_of(deployment.configuration)
    if floor is None:
        return []
    found: dict[Finding, None] = {}
    for process in deployment.processes:
        if process.is_engine:
            found |= dict.fromkeys(check_floor(floor, process.argv, process.env, plugins=plugins))
    return list(found)


def findings_key(deployment: Deployment) -> tuple[object, ...]:
    """What ``command_findings`` depends on: deployments of one key have the same findings."""
    commands = [
        (*process.argv, *process.env.items())
        for process in deployment.processes
        if process.is_engine
    ]
    plugins = plugins_of(deployment.configuration)
    return (version_of(deployment), plugins, too_few_gpus(deployment), *commands)


class Figures(NamedTuple):
    """The ``sizing`` object, and what there is to say where a command could not be sized."""

    sizing: dict[str, Any] | None
    findings: tuple[Finding, ...] = ()


def figures(config: Configuration, deployment: Deployment) -> Figures:
    """The memory of a deployment's tightest engine.

    A command that sizing cannot read is a command all the same: it is shown, with a finding.

    Returns:
        No sizing where nothing is known of the checkpoint or where a value cannot be read.
    """
    from recipes_core.sizing import size_configuration

    try:
        sized = size_configuration(config, deployment)
    except RecipesError as error:
        text = f"the memory cannot be computed: {error}"
        return Figures(None, (Finding("warning", NOT_SIZED, text),))
    return Figures(sized.to_json() if sized is not None else None)
