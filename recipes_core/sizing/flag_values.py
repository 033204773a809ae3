"""Checked values out of a parsed command line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from recipes_core.flags import Flag
from recipes_core.sizing.fields import ConfigError

_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kmgtKMGT]?)(?:i?[bB])?")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LARGEST_PARALLEL = 1 << 16


class Flags:
    """Flags by identity, the last occurrence first, with checked values."""

    def __init__(self, flags: Sequence[Flag]) -> None:
        self.by_name: dict[str, Flag] = {}
        self.dotted: dict[str, dict[str, Any]] = {}
        self.notes: list[str] = []
        for flag in flags:
            head, dot, tail = flag.name.partition(".")
            if dot and flag.values:
                _nest(self.dotted.setdefault(head, {}), tail.split("."), flag.values[0])
            else:
                self.by_name[flag.name] = flag

    def text(self, name: str) -> str | None:
        """The value of a flag, None where it is absent or a placeholder."""
        flag = self.by_name.get(name)
        if flag is None or not flag.values:
            return None
        value = flag.values[0]
        if value.startswith("$"):
            self.notes.append(f"{name} is {value}, not known here; the engine's default is taken.")
            return None
        return value

    def whole(self, name: str, low: int = 1, high: int = _LARGEST_PARALLEL) -> int | None:
        """A whole number, with vLLM's ``32k`` and ``32K`` spellings."""
        value = self.text(name)
        if value is None:
            return None
        number = human(name, value)
        if not low <= number <= high:
            raise ConfigError(name, value, f"is out of bounds; allowed: {low} to {high}")
        return number

    def number(self, name: str, low: float, high: float) -> float | None:
        """A number between ``low`` and ``high``."""
        value = self.text(name)
        if value is None:
            return None
        try:
            number = float(value)
        except ValueError as error:
            raise ConfigError(name, value, "is no number") from error
        if not low <= number <= high:
            raise ConfigError(name, value, f"is out of bounds; allowed: {low:g} to {high:g}")
        return number

    def switch(self, name: str) -> bool | None:
        """True, False (negated) or None (absent)."""
        flag = self.by_name.get(name)
        if flag is None:
            return None
        if flag.values and flag.values[0].lower() in ("false", "0"):
            return flag.negated
        return not flag.negated

    def mapping(self, name: str) -> dict[str, Any]:
        """A JSON value, with ``--name.key value`` forms merged in."""
        result: dict[str, Any] = {}
        value = self.text(name)
        if value is not None:
            try:
                parsed = json.loads(value)
            except json.JSONDecodeError:
                parsed = _pairs(name, value, self.by_name[name].values)
            if not isinstance(parsed, dict):
                raise ConfigError(name, value, "is no JSON object")
            result = parsed
        for key, item in self.dotted.get(name, {}).items():
            result[key] = item
        return result


def _nest(target: dict[str, Any], path: list[str], value: str) -> None:
    for key in path[:-1]:
        inner = target.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        target = inner
    try:
        target[path[-1]] = json.loads(value)
    except json.JSONDecodeError:
        target[path[-1]] = value


def _pairs(name: str, value: str, values: tuple[str, ...]) -> dict[str, Any]:
    """The old ``image=1,video=0`` form."""
    result: dict[str, Any] = {}
    for pair in (p for v in values for p in v.split(",")):
        key, equals, number = pair.partition("=")
        if not equals or not number.strip().isdigit():
            raise ConfigError(name, value, "is neither JSON nor name=number")
        result[key.strip()] = int(number)
    return result


def human(name: str, value: str) -> int:
    """``32k`` is 32,000 and ``32K`` is 32,768, as vLLM reads them.

    Raises:
        ConfigError: It is no such number.
    """
    if re.fullmatch(r"-?\d+", value):
        return int(value)
    match = _HUMAN.fullmatch(value)
    if match is None:
        raise ConfigError(name, value, "is no whole number; 32k, 32K and 32768 are understood")
    digits, unit = match.groups()
    scale = _BINARY.get(unit) or _DECIMAL.get(unit, 1)
    return int(float(digits) * scale)
