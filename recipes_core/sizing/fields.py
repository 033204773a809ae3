"""Reads single values out of a config.json, and says exactly what is wrong with a bad one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recipes_core.errors import RecipesError

LARGEST = 1 << 34
"""No length or count in any model configuration comes near this; more is a mistake."""


class ConfigError(RecipesError, ValueError):
    """A model configuration that cannot be sized as it stands.

    Args:
        where: The file or section, such as ``config.json: text_config``.
        key: The key at fault.
        problem: What was found and what is allowed.
    """

    def __init__(self, where: str, key: str, problem: str) -> None:
        self.where = where
        self.key = key
        self.problem = problem
        super().__init__(f"{where}: `{key}` {problem}")


def shown(value: object) -> str:
    """A found value, short enough for an error message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Fields:
    """One section of a config.json with checked access.

    A key that is missing and one that is null are the same: Hugging Face writes both.

    Args:
        data: The section.
        where: How to name it in an error.
    """

    def __init__(self, data: Mapping[str, Any], where: str) -> None:
        if not isinstance(data, Mapping):
            raise ConfigError(where, "(whole)", f"is {shown(data)}; an object is needed")
        self.data = data
        self.where = where

    def __contains__(self, name: str) -> bool:
        return self.data.get(name) is not None

    def get(self, *names: str) -> Any:
        """The first of ``names`` that has a value, else None."""
        for name in names:
            value = self.data.get(name)
            if value is not None:
                return value
        return None

    def fail(self, key: str, problem: str) -> ConfigError:
        """An error about ``key`` in this section."""
        return ConfigError(self.where, key, problem)

    def require(self, *names: str) -> Any:
        """The first of ``names`` that has a value.

        Raises:
            ConfigError: None of them is there; the nearest spelling that is there is named.
        """
        value = self.get(*names)
        if value is not None:
            return value
        near = difflib.get_close_matches(names[0], list(self.data), n=1, cutoff=0.8)
        hint = f"; did you mean `{near[0]}`?" if near and near[0] not in names else ""
        other = f" (or {', '.join(f'`{n}`' for n in names[1:])})" if len(names) > 1 else ""
        raise self.fail(names[0], f"is missing or null{other}{hint}")

    def whole(
        self, *names: str, default: int | None = None, low: int = 1, high: int = LARGEST
    ) -> int:
        """A whole number between ``low`` and ``high``.

        Args:
            names: Spellings of the key, the first found wins.
            default: Used where none has a value; without it the key is required.
            low: Smallest value allowed.
            high: Largest value allowed.

        Raises:
            ConfigError: Missing without a default, not a whole number, or out of bounds.
        """
        value = self.get(*names)
        if value is None:
            if default is not None:
                return default
            value = self.require(*names)
        name = next(n for n in names if self.data.get(n) is not None)
        return whole(value, self.where, name, low, high)

    def optional(self, *names: str, low: int = 1, high: int = LARGEST) -> int | None:
        """Like `whole`, with None where the key has no value."""
        return self.whole(*names, low=low, high=high) if self.get(*names) is not None else None

    def number(
        self, *names: str, default: float, low: float = 0.0, high: float = float(LARGEST)
    ) -> float:
        """A finite number between ``low`` and ``high``, ``default`` where there is none."""
        value = self.get(*names)
        if value is None:
            return default
        name = next(n for n in names if self.data.get(n) is not None)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fail(name, f"is {shown(value)}; a number is needed")
        if not low <= value <= high:
            raise self.fail(name, f"is {shown(value)}; allowed: {low:g} to {high:g}")
        return float(value)

    def flag(self, *names: str, default: bool = False) -> bool:
        """A true or false value, ``default`` where there is none."""
        value = self.get(*names)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if value in (0, 1):
            return bool(value)
        raise self.fail(names[0], f"is {shown(value)}; true or false is needed")

    def text(self, *names: str, default: str = "") -> str:
        """A string, ``default`` where there is none."""
        value = self.get(*names)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.fail(names[0], f"is {shown(value)}; a text is needed")
        return value

    def section(self, name: str) -> Fields | None:
        """A nested object, None where there is none."""
        value = self.get(name)
        return None if value is None else Fields(value, f"{self.where}: {name}")

    def items(
        self, *names: str, length: int | None = None, exact: bool = False
    ) -> list[Any] | None:
        """A list, None where there is none.

        Args:
            names: Spellings of the key.
            length: How many entries there must be, at least.
            exact: More are wrong too.

        Raises:
            ConfigError: Not a list, or of the wrong length.
        """
        value = self.get(*names)
        if value is None:
            return None
        name = next(n for n in names if self.data.get(n) is not None)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self.fail(name, f"is {shown(value)}; a list is needed")
        if length is not None and (len(value) < length or (exact and len(value) > length)):
            raise self.fail(name, f"has {len(value)} entries; `num_hidden_layers` is {length}")
        return list(value)

    def per_layer(self, *names: str, layers: int, default: int, low: int = 0) -> list[int]:
        """One whole number per layer, from a list or from one number that holds for all."""
        value = self.get(*names)
        if value is None:
            return [default] * layers
        name = next(n for n in names if self.data.get(n) is not None)
        if isinstance(value, Sequence) and not isinstance(value, str):
            entries = self.items(name, length=layers) or []
            return [whole(entry, self.where, name, low) for entry in entries[:layers]]
        return [whole(value, self.where, name, low)] * layers


def whole(value: object, where: str, key: str, low: int = 1, high: int = LARGEST) -> int:
    """``value`` as a whole number between ``low`` and ``high``.

    Raises:
        ConfigError: It is something else.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(where, key, f"is {shown(value)}; a whole number is needed")
    if not low <= value <= high:
        raise ConfigError(where, key, f"is {shown(value)}; allowed: {low} to {high}")
    return value


def nearest(word: str, allowed: Iterable[str]) -> str:
    """A hint that names the allowed word most like ``word``, or nothing."""
    near = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else ""
