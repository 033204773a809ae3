"""A first draft of a recipe, with all that a checkpoint's ``config.json`` tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.starter import Draft, Sized, starter_recipe
from recipes_core.sizing import Architecture, ConfigError
from recipes_core.vllm_cli.tables import release, versions


class Drafted(NamedTuple):
    """A draft, and what sizing keeps of the config."""

    draft: Draft
    checkpoint: str | None = None
    """The YAML for ``checkpoints/<org>/<repo>.yaml``; None = no config that can be sized."""
    unsized: str = ""
    """Why a given config could not be sized."""


def draft_recipe(
    recipe_id: str, catalog: Catalog, config: Mapping[str, Any] | None = None
) -> Drafted:
    """Draft a recipe; what nobody knows yet is left out and named in comments.

    Args:
        recipe_id: ``org/repo``.
        catalog: The catalog that it will be stacked on.
        config: The checkpoint's ``config.json``, if at hand.

    Raises:
        RecipesError: The id is malformed or taken, or the config holds what no recipe can say.
    """
    told = config or {}
    sized, unsized = _sized(told)
    draft = starter_recipe(
        recipe_id,
        catalog,
        newest_vllm=versions()[-1],
        first_vllm=_first_release(told),
        config=config,
        sized=sized,
    )
    return Drafted(draft, checkpoint_text(recipe_id, told) if sized else None, unsized)


def checkpoint_text(checkpoint: str, config: Mapping[str, Any]) -> str:
    """What sizing needs of a config, as a catalog keeps it.

    Args:
        checkpoint: ``org/repo``.
        config: Its ``config.json``.
    """
    import yaml

    from recipes_core.sizing.facts import sizing_facts

    facts = {"source": f"the config.json of {checkpoint}", "config": sizing_facts(config)}
    return yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, default_flow_style=None)


def _first_release(config: Mapping[str, Any]) -> str | None:
    """The first release of vLLM that lists the architecture which a config names."""
    names = config.get("architectures")
    if not isinstance(names, list) or not names:
        return None
    for index, version in enumerate(versions()):
        if all(release(index).knows_architecture(str(name)) for name in names):
            return version
    return None


def _sized(config: Mapping[str, Any]) -> tuple[Sized | None, str]:
    """What sizing makes of a config, or why it makes nothing of it."""
    from recipes_core.sizing.declared import active_parameters, loaded_weights
    from recipes_core.sizing.weights import parameter_count

    if not config:
        return None, ""
    try:
        architecture = Architecture.from_config(dict(config))
    except ConfigError as error:
        return None, str(error)
    known = Sized(
        parameter_count(architecture),
        active_parameters(architecture),
        loaded_weights(architecture) / 1e9,
    )
    return known, ""


__all__ = ["Drafted", "checkpoint_text", "draft_recipe"]
