"""Turns what pydantic says of a document into words for the person who wrote the file."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from recipes_core.errors import nearest

_QUOTED = re.compile(r"'([^']*)'")
_UNKNOWN = "extra_forbidden"
_EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "date_type": "a date such as 2026-11-30",
    "date_parsing": "a date such as 2026-11-30",
    "date_from_datetime_parsing": "a date such as 2026-11-30",
    "date_from_datetime_inexact": "a date such as 2026-11-30",
    "none_required": "nothing",
}


class Fault(NamedTuple):
    """One fault of a document."""

    path: tuple[str | int, ...]
    """Keys and positions that lead to it in the file."""
    message: str
    unknown_key: bool
    """Whether it is only a key that the document does not know."""


def dotted(path: Iterable[str | int]) -> str:
    """A path as people write it: ``variants.default.extra_args[2]``."""
    text = ""
    for item in path:
        text += f"[{item}]" if isinstance(item, int) else f".{item}" if text else item
    return text


def _data_path(
    loc: Sequence[str | int], data: Any, missing: bool
) -> tuple[tuple[str | int, ...], bool]:
    """The part of a pydantic location that is a path in the data, and whether all of it is.

    Locations also hold the names of union branches; these are no keys of the file.
    """
    path: list[str | int] = []
    for index, item in enumerate(loc):
        last = index == len(loc) - 1
        is_key = isinstance(data, dict) and item in data
        if is_key or (isinstance(data, list) and isinstance(item, int) and item < len(data)):
            path.append(item)
            data = data[item]
        elif last and missing:
            path.append(item)
            return tuple(path), True
    return tuple(path), bool(loc) and bool(path) and path[-1] == loc[-1]


def _expand(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _expand(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [kind for arg in get_args(annotation) for kind in _expand(arg)]
    return [annotation]


def allowed_keys(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The keys that a document takes at a path, in order; empty where any key is taken."""
    kinds: list[Any] = [model]
    for item in path:
        following: list[Any] = []
        for kind in kinds:
            origin, args = get_origin(kind), get_args(kind)
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                field = kind.model_fields.get(str(item))
                if field is not None:
                    following += _expand(field.annotation)
            elif origin is dict:
                following += _expand(args[1])
            elif origin is tuple:
                following += _expand(args[0])
        kinds = following
    keys: list[str] = []
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            keys += [name for name in kind.model_fields if name not in keys]
        elif get_origin(kind) is dict:
            choices = _expand(get_args(kind)[0])
            if get_origin(choices[0]) is Literal:
                keys += [str(choice) for choice in get_args(choices[0])]
    return keys


def shown(value: Any, limit: int = 60) -> str:
    """A value as an error quotes it: short, and what a container is instead of all it holds."""
    if isinstance(value, dict):
        return (
            f"a mapping with {', '.join(map(repr, list(value)[:3]))}"
            if value
            else "an empty mapping"
        )
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    if not isinstance(value, str | bool):
        text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _unknown(model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    allowed = allowed_keys(model, path[:-1])
    near = nearest(str(path[-1]), allowed)
    hint = f" did you mean {near[0]!r}?" if near else ""
    return f"unknown key {path[-1]!r};{hint} allowed: {', '.join(allowed)}"


def _phrase(error: Mapping[str, Any], model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    kind, found, ctx = error["type"], error["input"], error.get("ctx", {})
    if kind == _UNKNOWN:
        return _unknown(model, path)
    if kind == "missing":
        return "is required and not there"
    if kind == "literal_error":
        choices = _QUOTED.findall(ctx["expected"])
        near = nearest(str(found), choices)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"is {shown(found)}; allowed: {', '.join(choices) or ctx['expected']}{hint}"
    if kind == "string_pattern_mismatch":
        return f"is {shown(found)}; allowed: a release such as 0.11.0, or nightly"
    if kind in ("greater_than_equal", "greater_than"):
        bound = ctx.get("ge", ctx.get("gt"))
        sign = "at least" if "ge" in ctx else "more than"
        return f"is {shown(found)}; allowed: {sign} {bound}"
    if kind in _EXPECTED:
        return f"is {shown(found)}; allowed: {_EXPECTED[kind]}"
    return f"is {shown(found)}; {error['msg'][:1].lower()}{error['msg'][1:]}"


def faults(error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]) -> list[Fault]:
    """The faults of a document, one per place in the file.

    Args:
        error: What pydantic raised.
        model: The document that the data was read as.
        data: The data of the file.

    Returns:
        Faults in the file's order of keys as pydantic met them. Of a value that may have several
        shapes, what the wrong shapes complain about is left out when another shape came further.
    """
    placed = []
    for item in error.errors(include_url=False):
        path, whole = _data_path(item["loc"], data, item["type"] == "missing")
        placed.append((path, whole, item))
    deepest = {path for path, _, _ in placed}
    merged: dict[tuple[str | int, ...], list[Mapping[str, Any]]] = {}
    for path, whole, item in placed:
        further = any(len(p) > len(path) and p[: len(path)] == path for p in deepest)
        if not whole and further and item["type"] in _EXPECTED:
            continue
        merged.setdefault(path, []).append(item)
    found = []
    for path, items in merged.items():
        shapes = [_EXPECTED[i["type"]] for i in items if i["type"] in _EXPECTED]
        if len(items) > 1 and len(shapes) == len(items):
            choices = " or ".join(dict.fromkeys(shapes))
            message = f"is {shown(items[0]['input'])}; allowed: {choices}"
        else:
            message = _phrase(items[0], model, path)
        found.append(Fault(path, message, items[0]["type"] == _UNKNOWN))
    return found
