"""Turns one recipe of the peer into facts of ours: prose out, known kinds of faults mended.

Every correction is of a kind that ``recipes check`` would report; each is noted.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from packaging.version import InvalidVersion, Version

from recipes_core.catalog.checks.arguments import SIZES, spelled_with_underscore
from recipes_core.flags import parse_args, split_words

Data = dict[str, Any]

PROSE = frozenset(
    {
        "description",
        "guide",
        "note",
        "notes",
        "known_issues",
        "summary",
        "performance_headline",
        "benchmark",
    }
)
"""Keys whose text is written by people; never taken from elsewhere, never overwritten."""
_ARGUMENTS = ("base_args", "extra_args", "vllm_args", "args")
_KEEP_EMPTY = frozenset({"install", "docker", "pip"})
_PROMPT = re.compile(
    r"""(?P<head>-F\ ['"]prompt=|"(?P<key>input|prompt|instructions)":\ ")
        (?!\$)(?P<text>[^'"\n]+)""",
    re.VERBOSE,
)
_EXAMPLES = {
    "i2v": "The camera moves closer, slowly.",
    "soundeffect": "Waves on pebbles, a gull far away.",
    "speech": "The kettle is on. Tea in five minutes?",
}
_EXAMPLE = "A paper boat drifts along a wet street."


@dataclass
class Context:
    """What corrections need to know.

    Attributes:
        hardware: Hardware ids of our vocabulary.
        released: vLLM releases, oldest first; empty = nothing is said of nightlies.
        ids: Our spelling of each recipe id, by its folded form.
        as_of: Day of the peer's data, named as the source of what it states as verified.
    """

    hardware: frozenset[str]
    released: tuple[Version, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)
    as_of: datetime.date | None = None


def _mappings(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[Data, tuple[str, ...]]]:
    if isinstance(data, dict):
        yield data, path
        for key, value in data.items():
            yield from _mappings(value, (*path, str(key)))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from _mappings(item, (*path, str(index)))


def without_prose(data: Any) -> Any:
    """A copy of the data without text that people wrote, and without what is empty."""
    if isinstance(data, Mapping):
        kept: Data = {}
        for key, value in data.items():
            if key in PROSE:
                continue
            if key in _KEEP_EMPTY:
                kept[key] = without_prose(value) if value else value
                continue
            item = without_prose(value)
            if item is None or item in ({}, []):
                continue
            kept[key] = _plain_request(item, data) if key == "curl" else item
        return kept
    if isinstance(data, list):
        return [without_prose(item) for item in data]
    return data


def _plain_request(curl: str, task: Mapping[str, Any]) -> str:
    """A request whose sentences are ours; its address and fields are facts and stay."""
    hints = f"{task.get('id', '')} {task.get('endpoint', '')} {curl}".lower()
    order = ("soundeffect", "i2v", "speech")
    example = next((_EXAMPLES[word] for word in order if word in hints), _EXAMPLE)

    def ours(found: re.Match[str]) -> str:
        text = example
        if found["key"] == "instructions":
            text = "A low voice, calm and unhurried."
        elif "[S1]" in found["text"]:
            text = "[S1] Is the kettle on? [S2] It is."
        elif not found["text"].isascii():
            text = "茶泡好了。"
        return found["head"] + text

    return _PROMPT.sub(ours, curl)


def _arguments(data: Data, notes: list[str]) -> None:
    """A flag and its value apart; hyphens in the names of flags."""
    for mapping, path in _mappings(data):
        for name in _ARGUMENTS:
            args = mapping.get(name)
            if not isinstance(args, list):
                continue
            words = list(
                split_words([str(a) if not isinstance(a, bool) else _bool(a) for a in args])
            )
            where = ".".join((*path, name))
            if len(words) != len(args):
                notes.append(f"{where}: a flag and its value are two items")
            for index, word in enumerate(words):
                right = spelled_with_underscore(word)
                if right:
                    written = word.partition("=")[0]
                    words[index] = right + word[len(written) :]
                    notes.append(f"{where}: {written} is written {right}")
            mapping[name] = words


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _drop_sizes(mapping: MutableMapping[str, Any], name: str) -> dict[str, str]:
    """Take parallel sizes out of an argument list; give them by flag."""
    kept: list[str] = []
    taken: dict[str, str] = {}
    for flag in parse_args(mapping.get(name, [])):
        if flag.name in SIZES:
            taken[flag.name] = flag.values[0] if flag.values else ""
        else:
            kept.extend(flag.tokens)
    if taken:
        if kept:
            mapping[name] = kept
        else:
            del mapping[name]
    return taken


def _sizes(data: Data, notes: list[str]) -> None:
    """A tensor-parallel size where the layout reads it; other sizes out of the way."""
    tensor = "--tensor-parallel-size"

    def layout() -> Data:
        overrides: Data = data.setdefault("strategy_overrides", {})
        single: Data = overrides.setdefault("single_node_tp", {})
        return single

    for mapping, path in list(_mappings(data)):
        for name in _ARGUMENTS:
            if not isinstance(mapping.get(name), list):
                continue
            taken = _drop_sizes(mapping, name)
            where = ".".join((*path, name))
            size = taken.pop(tensor, "")
            if size.isdigit():
                if path[:1] == ("variants",) and len(path) == 2:
                    mapping.setdefault("tp", int(size))
                    notes.append(f"{where}: {tensor} {size} is now the variant's tp")
                elif path == ("model",):
                    layout().setdefault("tp", int(size))
                    notes.append(f"{where}: {tensor} {size} is now single_node_tp's tp")
                elif path[:1] == ("hardware_overrides",) and len(path) == 2:
                    now = layout().get("tp")
                    by_key = (
                        now if isinstance(now, dict) else {} if now is None else {"default": now}
                    )
                    by_key.setdefault(path[1], int(size))
                    layout()["tp"] = by_key
                    notes.append(f"{where}: {tensor} {size} is now single_node_tp's tp.{path[1]}")
                else:
                    notes.append(f"{where}: {tensor} {size} left out, the layout decides")
            notes.extend(
                f"{where}: {flag} {value} left out, the layout decides"
                for flag, value in taken.items()
            )


def _images(data: Data, notes: list[str]) -> None:
    """An image is a name; the command that fetches it is not part of it."""
    for mapping, path in _mappings(data):
        for key, value in mapping.items():
            if isinstance(value, str) and value.startswith("docker pull "):
                mapping[key] = value.removeprefix("docker pull ").strip()
                notes.append(f"{'.'.join((*path, key))}: the image alone, without `docker pull`")


def _prune(data: Data) -> None:
    """Drop mappings that corrections left empty."""
    for key in [key for key in data if key not in _KEEP_EMPTY]:
        value = data[key]
        if isinstance(value, dict):
            _prune(value)
            if not value:
                del data[key]


def _version(text: Any) -> Version | None:
    try:
        return Version(str(text))
    except InvalidVersion:
        return None


def _nightly(data: Data, context: Context, notes: list[str]) -> None:
    """No nightly where a release meets the floor."""
    if not context.released:
        return
    model = data.get("model", {})
    newest = context.released[-1]
    parts = [("model", model)]
    parts += [(f"variants.{name}", item) for name, item in data.get("variants", {}).items()]
    for where, part in parts:
        floor = _version(part.get("min_vllm_version", model.get("min_vllm_version")))
        if part.get("nightly_required") and floor is not None and floor <= newest:
            del part["nightly_required"]
            notes.append(f"{where}: no nightly, vLLM {floor} is released")


def _hardware(data: Data, context: Context, notes: list[str]) -> None:
    """Support is stated for hardware that exists, and verified with its source."""
    meta = data.get("meta", {})
    hardware = meta.get("hardware", {})
    inert = [name for name in hardware if name not in context.hardware]
    notes.extend(
        f"meta.hardware.{name}: {hardware.pop(name)}, but no such hardware is known"
        for name in inert
    )
    if context.as_of is None:
        return
    source = f"recipes.vllm.ai data, {context.as_of}"
    evidence = meta.setdefault("evidence", {})
    for name, support in hardware.items():
        if support == "verified":
            evidence.setdefault(name, {"source": source})


def _identity(data: Data, recipe_id: str, notes: list[str]) -> None:
    """The model is the path's; another checkpoint belongs to the variants."""
    model = data.get("model", {})
    found = model.get("model_id")
    if not found or found == recipe_id:
        return
    if found.casefold() != recipe_id.casefold():
        for variant in data.get("variants", {}).values():
            variant.setdefault("model_id", found)
        notes.append(f"model.model_id: {found} is now the variants' model_id")
    model["model_id"] = recipe_id


def _meta(data: Data, context: Context, notes: list[str]) -> None:
    meta = data.get("meta", {})
    added, updated = meta.get("date_added"), meta.get("date_updated")
    if added and updated and updated < added:
        meta["date_updated"] = added
        notes.append("meta.date_updated: not before it was added")
    related = meta.get("related_recipes", [])
    right = [context.ids.get(name.casefold(), name) for name in related]
    if context.ids:
        dead = [name for name in right if name.casefold() not in context.ids]
        right = [name for name in right if name not in dead]
        notes.extend(f"meta.related_recipes: {name} is not in the catalog" for name in dead)
    if right != related:
        notes.append("meta.related_recipes: ids as their paths spell them")
        meta["related_recipes"] = right


def own_id(peer_id: str, data: Mapping[str, Any]) -> str:
    """The id under which we keep a recipe: its model's spelling where only the case differs."""
    model_id = str(data.get("model", {}).get("model_id", ""))
    return model_id if model_id.casefold() == peer_id.casefold() else peer_id


def corrected(facts: Data, recipe_id: str, context: Context) -> tuple[Data, list[str]]:
    """Facts of a recipe with the peer's known kinds of faults mended.

    Args:
        facts: Data without prose; it is changed in place.
        recipe_id: Our id of the recipe.
        context: What our vocabulary knows.

    Returns:
        The facts, and a note on each correction.
    """
    notes: list[str] = []
    omni = "omni" in facts and "omni" in facts.get("meta", {}).get("tasks", [])
    steps: Sequence[Callable[[], None]] = (
        lambda: _arguments(facts, notes),
        lambda: None if omni else _sizes(facts, notes),
        lambda: _images(facts, notes),
        lambda: _nightly(facts, context, notes),
        lambda: _hardware(facts, context, notes),
        lambda: _identity(facts, recipe_id, notes),
        lambda: _meta(facts, context, notes),
        lambda: _prune(facts),
    )
    for step in steps:
        step()
    return facts, notes
