"""Writes the YAML of a catalog in one tidy, stable style.

Keys stand in the order of the documents, sections of a recipe are set apart by an empty line, an
argument list has one word per line, and short lists of ids stay on theirs. What is written reads
back as the same data.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from pydantic import BaseModel

from recipes_core.catalog.documents import Recipe
from recipes_core.catalog.messages import allowed_keys
from recipes_core.catalog.yaml_reader import scalar

_WIDTH = 100
_APART = frozenset(
    {
        "model",
        "variants",
        "features",
        "compatible_strategies",
        "hardware_overrides",
        "strategy_overrides",
        "kv_offload_support",
        "dependencies",
        "omni",
        "presets",
        "notes",
        "known_issues",
        "guide",
        "hardware_profiles",
        "tasks",
        "strategies",
        "kv_offload_groups",
        "kv_offload",
        "providers",
    }
)
_ARGUMENTS = frozenset({"base_args", "extra_args", "vllm_args", "args"})
_ONE_LINE = frozenset({"evidence"})


class _Flow(list[Any]):
    """A list that stays on its line."""


class _FlowMap(dict[str, Any]):
    """A mapping that stays on its line."""


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)

    def write_folded(self, text: str) -> None:
        wide, self.best_width = self.best_width, _WIDTH
        super().write_folded(text)
        self.best_width = wide

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif not isinstance(scalar(text), str):
        # PyYAML quotes what YAML 1.1 would misread; this is what 1.2 would, such as 0528.
        style = "'"
    elif len(text) > _WIDTH - 20 and " " in text and text[:1] not in "{[-":
        style = ">"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _string)
_Dumper.add_representer(
    _Flow,
    lambda dumper, items: dumper.represent_sequence(
        "tag:yaml.org,2002:seq", items, flow_style=True
    ),
)
_Dumper.add_representer(
    _FlowMap,
    lambda dumper, items: dumper.represent_mapping("tag:yaml.org,2002:map", items, flow_style=True),
)


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | datetime.date) or value is None


def _short(items: Sequence[Any]) -> bool:
    return sum(len(str(item)) + 2 for item in items) < _WIDTH - 30


def _styled(value: Any, model: type[BaseModel], path: tuple[str | int, ...]) -> Any:
    if isinstance(value, Mapping):
        order = {key: index for index, key in enumerate(allowed_keys(model, path))}
        keys = sorted(value, key=lambda key: order.get(key, len(order)))
        items = {str(key): _styled(value[key], model, (*path, key)) for key in keys}
        one_line = len(path) >= 2 and path[-2] in _ONE_LINE
        if one_line and all(map(_scalar, items.values())) and _short([*items, *items.values()]):
            return _FlowMap(items)
        return items
    if isinstance(value, list | tuple):
        listed = [_styled(item, model, (*path, index)) for index, item in enumerate(value)]
        name = next((part for part in reversed(path) if isinstance(part, str)), "")
        flow = name not in _ARGUMENTS and all(map(_scalar, listed)) and _short(listed)
        return _Flow(listed) if flow else listed
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value


def dump_section(key: str, value: Any, model: type[BaseModel] = Recipe) -> str:
    """The YAML of one top-level key.

    Args:
        key: The key.
        value: Its data.
        model: The document whose order of keys is followed.

    Returns:
        Lines that end in a newline.
    """
    data = {key: _styled(value, model, (key,))}
    return yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=10**6,
        default_flow_style=False,
    )


def dump_yaml(data: Mapping[str, Any], model: type[BaseModel] = Recipe) -> str:
    """The YAML of a whole document, keys in the order of the model.

    Args:
        data: What the file says.
        model: The document that it is.

    Returns:
        The file's text.
    """
    order = {key: index for index, key in enumerate(allowed_keys(model, ()))}
    parts: list[str] = []
    for key in sorted(data, key=lambda key: order.get(key, len(order))):
        if parts and key in _APART:
            parts.append("\n")
        parts.append(dump_section(key, data[key], model))
    return "".join(parts)
