"""The reader's own values as a file: addresses, folders, and names of secret variables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from recipes_core.deployment import ReaderValues
from recipes_core.errors import RecipesError

VALUE_FIELDS = ("model_path", "hf_token_var", "api_key_var", "cache_folder")


def values_text(values: ReaderValues) -> str:
    """The values as a file to keep; no secret is in it, only names of variables."""
    kept = {key: value for key, value in asdict(values).items() if value}
    return json.dumps(kept, indent=2, ensure_ascii=False) + "\n"


def values_from_text(text: str) -> ReaderValues:
    """The reader's values in a file.

    Raises:
        RecipesError: It is not JSON, or holds something that is no such value.
    """
    if len(text) > 65_536:
        raise RecipesError("a file of values has at most 65,536 characters")
    try:
        data = json.loads(text)
    except ValueError as error:
        raise RecipesError(f"not a file of values: {error}") from None
    if not isinstance(data, dict):
        raise RecipesError("not a file of values: it should be an object")
    unknown = set(data) - {*VALUE_FIELDS, "placeholders"}
    if unknown:
        allowed = ", ".join(("placeholders", *VALUE_FIELDS))
        raise RecipesError(f"unknown value {sorted(unknown)[0]!r}; allowed: {allowed}")
    return make_values(data.get("placeholders") or {}, {k: data.get(k) for k in VALUE_FIELDS})


def make_values(placeholders: Mapping[str, object], fields: Mapping[str, object]) -> ReaderValues:
    """The reader's values from what was typed; empty fields are left out.

    Raises:
        RecipesError: A variable's name is none, or a value holds a line break.
    """
    if not isinstance(placeholders, Mapping):
        raise RecipesError("placeholders should be an object of names and values")
    cleaned: dict[str, str] = {}
    for name, value in {**placeholders, **fields}.items():
        text = "" if value is None else str(value).strip()
        if len(text) > 1024 or any(ord(char) < 32 or ord(char) == 127 for char in text):
            raise RecipesError(f"{name}: one line of at most 1024 characters, please")
        if text:
            cleaned[name] = text
    given = {name: cleaned[name] for name in placeholders if name in cleaned}
    rest = {name: cleaned.get(name) for name in VALUE_FIELDS}
    try:
        return ReaderValues(placeholders=given, **rest)
    except ValueError as error:
        raise RecipesError(str(error)) from None
