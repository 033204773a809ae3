"""What a reader asked, and its query string: floor 2.

Every field is optional; None is "not asked". A Selection says nothing of what is possible: that is
decided in one place, ``recipes_core.configuration``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TOKENS = re.compile(r"auto|-1|[1-9][0-9]{0,11}[kKmMgGtT]?|[0-9]{1,6}\.[0-9]{1,6}[kmgt]")
"""What vLLM reads as a number of tokens: a fraction only before a decimal unit (``1.5k``)."""
MAX_QUERY = 8192
"""Characters of a query string that are read."""


class Unread(NamedTuple):
    """A part of a query that says nothing: an unknown key or a value of the wrong form."""

    key: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """A reader's choices."""

    hardware: str | None = None
    variant: str | None = None
    strategy: str | None = None
    nodes: int | None = None
    features: tuple[str, ...] | None = None
    """The whole enabled set; an empty tuple turns all off."""
    fmode: tuple[tuple[str, str], ...] = ()
    """Feature and mode, in the order asked."""
    preset: str | None = None
    kv_offload: str | None = None
    kv_instances: int | None = None
    prefill_nodes: int | None = None
    """Nodes of the prefill pool; 0 = half of one shared node."""
    decode_nodes: int | None = None
    prefill_mode: str | None = None
    decode_mode: str | None = None
    advanced: tuple[str, ...] = ()
    task: str | None = None
    gpus: int | None = None
    """GPUs of one node to use."""
    frontend: str | None = None
    router: str | None = None
    install: str | None = None
    """``pip``, ``docker``, or a CUDA release such as ``cu129``."""
    vllm: str | None = None
    """vLLM release that pins the install and the image."""
    max_model_len: str | None = None
    """Tokens, a human number such as ``32k``, or ``auto``."""
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    kv_cache_dtype: str | None = None
    gpu_memory_utilization: float | None = None
    served_name: str | None = None
    host: str | None = None
    port: int | None = None
    unread: tuple[Unread, ...] = ()
    """What a query said that could not be read."""

    @classmethod
    def from_query(cls, query: str | Mapping[str, str] | Iterable[tuple[str, str]]) -> Selection:
        """Read a query string (with or without ``?``), a mapping, or pairs.

        Of a key that is given twice the last one counts, the others are listed in ``unread``, as
        are unknown keys and values of the wrong form.
        """
        pairs, unread = _pairs(query)
        values: dict[str, Any] = {}
        for key, text in pairs:
            reader = _READERS.get(key)
            if reader is None:
                if key not in OUTER_KEYS:
                    unread.append(Unread(key, text, f"no such key; known: {', '.join(_READERS)}"))
                continue
            if text == "":
                continue
            if key in values:
                unread.append(Unread(key, "", "given more than once; the last one counts"))
            try:
                values[key] = reader(text)
            except ValueError as error:
                unread.append(Unread(key, text, str(error)))
        return cls(**values, unread=tuple(unread))

    def asked(self) -> dict[str, Any]:
        """The fields that were asked, in the order of the query."""
        found = {}
        for name in QUERY_KEYS:
            value = getattr(self, name)
            if value is not None and (value != () or name == "features"):
                found[name] = value
        return found

    def to_pairs(self) -> list[tuple[str, str]]:
        """Keys and values of the query, in its fixed order."""
        return [(name, _write(name, value)) for name, value in self.asked().items()]

    def to_query(self) -> str:
        """The query string, without ``?``; ``from_query`` reads it back."""
        return "&".join(f"{key}={quote(text, safe=',:/')}" for key, text in self.to_pairs())

    def checked(self) -> Selection:
        """The selection as its own query would be read: what is of the wrong form is unread.

        A query was read that way already; this is for a selection that was made by hand.
        """
        values = self.asked()
        wrong = []
        for name, value in tuple(values.items()):
            text = _write(name, value)
            try:
                values[name] = _READERS[name](text)
            except ValueError as error:
                values[name] = () if name in {"fmode", "advanced"} else None
                wrong.append(Unread(name, text, str(error)))
        if not wrong and all(getattr(self, name) == value for name, value in values.items()):
            return self
        return replace(self, **values, unread=(*self.unread, *wrong))

    def with_(self, **changes: Any) -> Selection:
        """A selection with some fields changed."""
        return replace(self, **changes)


OUTER_KEYS = frozenset({"model", "theme", "token", "template", "classic-tree", "tab", "compare"})
"""Keys of a link that belong to the page, not to the configuration."""


def _pairs(
    query: str | Mapping[str, str] | Iterable[tuple[str, str]],
) -> tuple[list[tuple[str, str]], list[Unread]]:
    if not isinstance(query, str):
        items = query.items() if isinstance(query, Mapping) else query
        return [(str(key), str(value)) for key, value in items], []
    unread = []
    text = query.lstrip("?")
    if len(text) > MAX_QUERY:
        unread.append(Unread("", "", f"only the first {MAX_QUERY} characters were read"))
        text = text[:MAX_QUERY]
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=200), unread
    except ValueError:
        unread.append(Unread("", "", "more than 200 keys; none was read"))
        return [], unread


def _word(text: str) -> str:
    if len(text) > 256:
        raise ValueError("longer than 256 characters")
    if _CONTROL.search(text):
        raise ValueError("holds a control character")
    return text.strip() or _refuse("empty")


def _value(text: str) -> str:
    """A word that stands behind a flag, so it may not look like one."""
    word = _word(text)
    return _refuse("begins with '-': vLLM would read a flag") if word.startswith("-") else word


def _refuse(reason: str) -> str:
    raise ValueError(reason)


def _integer(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.strip().isascii() or not text.strip().isdigit():
            raise ValueError(f"not a whole number from {least} to {most}")
        value = int(text) if len(text) < 20 else most + 1
        if not least <= value <= most:
            raise ValueError(f"not a whole number from {least} to {most}")
        return value

    return read


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        raise ValueError("not a share above 0 and up to 1")
    return value


def _words(text: str) -> tuple[str, ...]:
    words = dict.fromkeys(word.strip() for word in _word(text).split(",") if word.strip())
    return tuple(words) or (_refuse("names nothing"),)


def _features(text: str) -> tuple[str, ...]:
    words = _words(text)
    return () if words == ("none",) else words


def _modes(text: str) -> tuple[tuple[str, str], ...]:
    modes: dict[str, str] = {}
    for item in _words(text):
        feature, colon, mode = item.partition(":")
        if not colon or not feature or not mode:
            raise ValueError("not of the form feature:mode")
        if modes.get(feature, mode) != mode:
            raise ValueError(f"two modes of {feature}: one is active at a time")
        modes[feature] = mode
    return tuple(modes.items())


def _tokens(text: str) -> str:
    word = _word(text)
    if not _TOKENS.fullmatch(word):
        raise ValueError("not a number of tokens (such as 32768 or 32k), nor auto")
    return word


_READERS: dict[str, Callable[[str], Any]] = {
    "hardware": _word,
    "variant": _word,
    "strategy": _word,
    "nodes": _integer(1, 9999),
    "features": _features,
    "fmode": _modes,
    "preset": _word,
    "kv_offload": _word,
    "kv_instances": _integer(1, 9999),
    "prefill_nodes": _integer(0, 9999),
    "decode_nodes": _integer(0, 9999),
    "prefill_mode": _word,
    "decode_mode": _word,
    "advanced": _words,
    "task": _word,
    "gpus": _integer(1, 9999),
    "frontend": _word,
    "router": _word,
    "install": _word,
    "vllm": _word,
    "max_model_len": _tokens,
    "max_num_seqs": _integer(1, 1_000_000),
    "max_num_batched_tokens": _integer(1, 100_000_000),
    "kv_cache_dtype": _value,
    "gpu_memory_utilization": _share,
    "served_name": _value,
    "host": _value,
    "port": _integer(1, 65535),
}

QUERY_KEYS: tuple[str, ...] = tuple(_READERS)
"""Keys of a query, in the order in which links have them."""


def _write(name: str, value: Any) -> str:
    if name == "features":
        return ",".join(value) or "none"
    if name == "fmode":
        return ",".join(f"{feature}:{mode}" for feature, mode in value)
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


if {f.name for f in fields(Selection)} != {*_READERS, "unread"}:  # pragma: no cover
    raise AssertionError("Selection and its query keys differ")
