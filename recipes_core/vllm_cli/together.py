"""Faults of a command that no single flag shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recipes_core.findings import Finding
from recipes_core.vllm_cli.hints import FIELD_REQUIRES, REQUIRES
from recipes_core.vllm_cli.tables import Release
from recipes_core.vllm_cli.values import dotted_value, load_json
from recipes_core.vllm_cli.words import Item, Line


def check_together(items: Sequence[Item], rel: Release) -> Iterator[Finding]:
    """Faults that only show side by side: repeats, JSON that is replaced, a missing companion."""
    plain: dict[str, Item] = {}
    dotted: dict[str, str] = {}
    present: set[str] = set()
    for item in items:
        fact = rel.options.get(item.option)
        if fact is None:
            continue
        name = fact.name
        off = item.option in fact.negations
        (present.discard if off else present.add)(name)
        if item.path:
            if name in plain or dotted.setdefault(name, item.option) != item.option:
                text = (
                    f"{item.written} replaces what {name} says elsewhere, without a merge: "
                    "write all of it as one JSON, or all of it dotted under one name"
                )
                yield Finding("warning", "json-overridden", text, name)
        elif name in plain and fact.kind != "append":
            text = f"{name} is given twice: the last one counts"
            yield Finding("warning", "duplicate-flag", text, name)
        if not item.path:
            if name in dotted:
                text = f"the dotted {dotted[name]} flags replace this {name}, they are not merged"
                yield Finding("warning", "json-overridden", text, name)
            plain[name] = item
    yield from _incomplete(items, rel)
    for flag, needed in REQUIRES:
        if flag in present and needed not in present and needed in rel.options:
            yield Finding("error", "missing-flag", f"{flag} is refused without {needed}", flag)


def _incomplete(items: Sequence[Item], rel: Release) -> Iterator[Finding]:
    """JSON flags that lack a field which another one of theirs asks for."""
    keys: dict[str, set[str]] = {}
    for item in items:
        fact = rel.options.get(item.option)
        if fact is None or fact.name not in FIELD_REQUIRES or not item.all_values:
            continue
        try:
            value = dotted_value(item) if item.path else load_json(item.all_values[0])
        except ValueError:
            continue
        if isinstance(value, dict):
            keys.setdefault(fact.name, set()).update(value)
    for name, found in keys.items():
        field, needed = FIELD_REQUIRES[name]
        if field in found and needed not in found:
            yield Finding(
                "error", "missing-field", f"{name} is refused: {field} needs {needed}", name
            )


def check_model(line: Line, left: Sequence[str]) -> Iterator[Finding]:
    """Faults of the words that belong to no flag: there should be one, the model."""
    words = (*line.positionals, *left)
    options = {item.option for item in line.items}
    given = "--model" in options
    if given:
        text = "write the model right after vllm serve: --model is on its way out"
        yield Finding("warning", "model-as-flag", text, "--model")
    for word in words[0 if given else 1 :]:
        text = f"{word!r} belongs to no flag, and vllm serve takes one model"
        yield Finding("error", "stray-word", text, word)
    if not words and not given and "--config" not in options:
        text = "no model is named, so vLLM serves a small default model"
        yield Finding("warning", "no-model", text)
