"""The JSON Schema of a recipe file, for editors and other programs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recipes_core.catalog import documents
from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.checks.report import Vocabulary
from recipes_core.catalog.documents import Recipe

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _docstrings() -> dict[str, dict[str, str]]:
    """What stands under each field of each document in the source."""
    found: dict[str, dict[str, str]] = {}
    classes = (
        node
        for path in sorted(Path(documents.__file__).parent.glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    for node in classes:
        fields = found.setdefault(node.name, {})
        for field, text in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                fields[field.target.id] = " ".join(str(text.value.value).split())
    return found


def _branches(schema: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The parts of a property that are of a type, inside ``anyOf`` or by themselves."""
    parts = schema.get("anyOf", [schema])
    return [part for part in parts if part.get("type") == kind]


class _Enums:
    """Puts the ids of a vocabulary where a schema says only ``string``."""

    def __init__(self, definitions: dict[str, Any], recipe: dict[str, Any]) -> None:
        self.of = {**definitions, "Recipe": recipe}

    def _property(self, document: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.of[document]["properties"][name]
        return found

    def value(self, document: str, name: str, words: Iterable[str]) -> None:
        for part in _branches(self._property(document, name), "string"):
            part["enum"] = list(words)

    def items(self, document: str, name: str, words: Iterable[str]) -> None:
        for part in _branches(self._property(document, name), "array"):
            part["items"] = {**part["items"], "enum": list(words)}

    def keys(self, document: str, name: str, words: Iterable[str]) -> None:
        for part in _branches(self._property(document, name), "object"):
            part["propertyNames"] = {"enum": list(words)}

    def inner_keys(self, document: str, name: str, words: Iterable[str]) -> None:
        for part in _branches(self._property(document, name), "object"):
            inner = part["additionalProperties"]
            if "$ref" not in inner:
                inner["propertyNames"] = {"enum": list(words)}


def _fill(enums: _Enums, catalog: Catalog) -> None:
    words = Vocabulary(catalog)
    ids, any_key = words.hardware, words.any_key
    generation = [*words.generations, "nvidia"]
    both = list(dict.fromkeys([*ids, *generation]))
    options = [*words.kv_options, *words.kv_stores]
    strategies = words.strategies
    enums.keys("Meta", "hardware", ids)
    enums.keys("Meta", "evidence", ids)
    enums.value("Meta", "default_hardware", ids)
    enums.items("Meta", "tasks", words.tasks)
    if catalog.taxonomy.providers:
        enums.value("Meta", "provider", catalog.taxonomy.providers)
    if words.platforms:
        enums.value("PlatformUse", "id", words.platforms)
    enums.items("Recipe", "compatible_strategies", strategies)
    enums.value("Recipe", "default_strategy", strategies)
    enums.keys("Recipe", "strategy_hardware", strategies)
    enums.inner_keys("Recipe", "strategy_hardware", any_key)
    enums.keys("Recipe", "strategy_min_gpus", [*strategies, *ids])
    enums.keys("Recipe", "strategy_overrides", strategies)
    enums.keys("Recipe", "hardware_overrides", generation)
    enums.keys("Recipe", "hardware_opt_in_features", ids)
    enums.keys("Recipe", "kv_offload_support", words.kv_options)
    enums.keys("Recipe", "kv_offload_overrides", options)
    enums.inner_keys("Recipe", "kv_offload_overrides", any_key)
    enums.keys("Recipe", "kv_cache_strategy_hardware", words.kv_stores)
    enums.inner_keys("Recipe", "kv_cache_strategy_hardware", any_key)
    enums.keys("Variant", "hardware_overrides", both)
    for name in ("tp", "gpus", "nodes", "cpu_offload"):
        enums.keys("Variant", name, any_key)
    architectures = [f"arch:{name}" for name in sorted(words.architectures)]
    enums.items("Variant", "supported_hardware", [*ids, *architectures])
    enums.keys("StrategyOverride", "tp", any_key)
    enums.keys("StrategyOverride", "hardware_overrides", both)
    enums.keys("PoolOverride", "nodes", any_key)
    enums.keys("PoolOverride", "hardware_overrides", ids)
    for document in ("Feature", "FeatureMode"):
        enums.keys(document, "hardware", any_key)
        enums.keys(document, "hardware_overrides", any_key)
    enums.items("Feature", "strategies", strategies)
    enums.items("DpRouter", "strategies", strategies)
    enums.value("Preset", "hardware", ids)
    enums.value("Preset", "strategy", strategies)
    enums.value("Preset", "kv_offload", ["off", *options])


def recipe_schema(catalog: Catalog) -> dict[str, Any]:
    """The JSON Schema of ``models/<org>/<repo>.yaml`` with the ids of a catalog's vocabulary.

    Args:
        catalog: Its taxonomy, strategies and stores give the ids that are allowed.

    Returns:
        A schema of draft 2020-12. What it cannot say, such as whether a mode exists, is for
        ``recipes check``.
    """
    schema = Recipe.model_json_schema()
    definitions: dict[str, Any] = schema["$defs"]
    for document, fields in _docstrings().items():
        target = schema if document == "Recipe" else definitions.get(document)
        for name, text in fields.items() if target else ():
            found = target["properties"].get(name) if target else None
            if found is not None:
                found["description"] = text
    _fill(_Enums(definitions, schema), catalog)
    return {"$schema": _DIALECT, **schema}
