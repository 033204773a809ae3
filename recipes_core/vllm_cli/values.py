"""Check the value of one flag, or of one field of a JSON flag, against a release."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from recipes_core.vllm_cli.hints import FIELD_REPLACEMENTS
from recipes_core.vllm_cli.tables import FieldFact, FlagFact, Release, data, describe_spans
from recipes_core.vllm_cli.words import Item, has_placeholder

REGISTRIES: dict[str, str] = {
    "--all2all-backend": "all2all_backend",
    "--attention-backend": "attention_backend",
    "--convert": "convert",
    "--distributed-executor-backend": "distributed_executor_backend",
    "--dtype": "dtype",
    "--kv-cache-dtype": "kv_cache_dtype",
    "--linear-backend": "linear_backend",
    "--load-format": "load_format",
    "--moe-backend": "moe_backend",
    "--quantization": "quantization",
    "--reasoning-parser": "reasoning_parser",
    "--runner": "runner",
    "--tokenizer-mode": "tokenizer_mode",
    "--tool-call-parser": "tool_call_parser",
}
"""Flags whose values are names in a registry: the parser lets wrong ones pass, the engine not."""

FIELD_REGISTRIES: dict[tuple[str, str], str] = {
    ("AttentionConfig", "backend"): "attention_backend",
    ("ECTransferConfig", "ec_connector"): "ec_connector",
    ("KVTransferConfig", "kv_connector"): "kv_connector",
    ("SpeculativeConfig", "attention_backend"): "attention_backend",
    ("SpeculativeConfig", "method"): "speculative_method",
    ("SpeculativeConfig", "quantization"): "quantization",
}

CONFIGS: dict[str, str] = {"--speculative-config": "SpeculativeConfig"}
"""JSON flags that the parser takes as they are: their class checks them when the engine starts."""

SHARES: frozenset[str] = frozenset({"--gpu-memory-utilization"})
"""Flags whose value is a share above 0 and at most 1: the config class refuses another."""

PLUGIN_FLAGS: dict[str, str] = {
    "reasoning_parser": "--reasoning-parser-plugin",
    "tool_call_parser": "--tool-parser-plugin",
}
"""A flag that registers more names, so that a name outside of the registry may be right."""

FIELD_PLUGINS: dict[str, str] = {
    "kv_connector": "kv_connector_module_path",
    "ec_connector": "ec_connector_module_path",
}

ENUMS: dict[str, frozenset[str]] = {
    "CUDAGraphMode": frozenset(
        {"NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"}
    ),
    "CompilationMode": frozenset(
        {"NONE", "STOCK_TORCH_COMPILE", "DYNAMO_TRACE_ONCE", "VLLM_COMPILE"}
    ),
}
"""Members of enum fields, which the tables lack (``vllm/config/compilation.py``, 0.23 to 0.33)."""

_OMNI_OWN = frozenset({"quantization", "load_format"})
"""Registries that vllm-omni replaces by its own for diffusion models; they were not read."""
_FOLD = frozenset({"moe_backend", "linear_backend"})
_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])$")
_UNQUOTED_HUMAN = re.compile(r'("(?:[^"\\]|\\.)*")|\b(\d+)(?:\.\d+)?[kKmMgGtT]\b')
_STRING_BOOLS = frozenset({"true", "false", "True", "False"})


class Problem(NamedTuple):
    """A fault of one value, without the flag that it belongs to."""

    severity: str
    code: str
    text: str
    where: str = ""
    """The field inside of a JSON value, dotted; empty for the value itself."""


def nearest(word: str, known: Collection[str]) -> str:
    """``; did you mean …?`` with the nearest right spelling, or nothing."""
    folded = {name.lower().replace("_", "-"): name for name in known}
    close = get_close_matches(word.lower().replace("_", "-"), list(folded), n=1, cutoff=0.72)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def listing(known: Sequence[str], limit: int = 12) -> str:
    """Some names as text."""
    names = ", ".join(known[:limit])
    return names if len(known) <= limit else f"{names} … ({len(known)} in all)"


def _history(kind: str, word: str, release: Release) -> str:
    spans = data()["choices"].get(kind, {}).get(word)
    text = describe_spans(spans, release.index) if spans else ""
    return f" ({text})" if text else ""


def _fold(kind: str, word: str) -> str:
    if kind in _FOLD:
        return word.lower().replace("-", "_")
    return word.upper() if kind == "attention_backend" else word


def check_registry(kind: str, word: str, release: Release) -> Problem | None:
    """Check a name against a registry of a release; None if it is there or cannot be judged."""
    known = () if release.omni and kind in _OMNI_OWN else release.choices(kind)
    if not known or _fold(kind, word) in known or "." in word:
        # A dotted name is a class that the user brings along.
        return None
    if word.lower() in {"none", "auto", ""}:
        return None
    history = _history(kind, word, release)
    hint = "" if history else nearest(word, known) or f"; it has {listing(known)}"
    text = f"does not take {word!r} in vLLM {release.version}{history}{hint}"
    return Problem("error", "bad-choice", text)


def _number_problem(kind: str, word: str) -> str | None:
    if kind == "int":
        return None if re.fullmatch(r"\s*[+-]?\d+(_\d+)*\s*", word) else "a whole number"
    if kind == "float":
        try:
            float(word)
        except ValueError:
            return "a number"
        return None
    if kind == "human_readable_int_or_auto" and word.lower() in {"auto", "-1"}:
        return None
    match = _HUMAN.fullmatch(word)
    if match and match[2].isupper() and "." in match[1]:
        return (
            f"a whole number before the binary suffix {match[2]}, or {match[1]}{match[2].lower()}"
        )
    if match or re.fullmatch(r"[+-]?\d+", word):
        return None
    auto = " or auto" if kind.endswith("auto") else ""
    return f"a whole number, with k, m, g, t or K, M, G, T after it if you like{auto}"


_NUMBERS = frozenset({"int", "float", "human_readable_int", "human_readable_int_or_auto"})


def load_json(text: str) -> Any:
    """Read JSON as vLLM does: ``80m`` and ``8K`` outside of strings count as numbers.

    Raises:
        ValueError: It is no JSON, or nested too deep.
    """
    try:
        try:
            return json.loads(text)
        except ValueError:
            plain = _UNQUOTED_HUMAN.sub(lambda m: m[1] or m[2], text)
            if plain == text:
                raise
            return json.loads(plain)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def dotted_value(item: Item) -> dict[str, object]:
    """The object that a dotted flag stands for: ``--x.a.b 1`` is ``{"a": {"b": 1}}``."""
    keys = list(item.path)
    text = item.attached or ""
    value: object
    if keys[-1].endswith("+"):
        keys[-1], value = keys[-1][:-1], text.split(",")
    else:
        try:
            value = load_json(text)
        except ValueError:
            value = text
    for key in reversed(keys[1:]):
        value = {key: value}
    return {keys[0]: value}


def check_value(fact: FlagFact, word: str, release: Release) -> Iterator[Problem]:
    """Check one value of a flag.

    Args:
        fact: The flag.
        word: The value, not quoted.
        release: The release to check against.

    Yields:
        Each fault; nothing for a value that holds a ``$NAME`` still to be filled in.
    """
    if has_placeholder(word) and not word.lstrip().startswith(("{", "[")):
        return
    if fact.none_ok and word in {"", "None"}:
        return
    if fact.type in _NUMBERS:
        wanted = _number_problem(fact.type, word)
        if wanted:
            yield Problem("error", "bad-value", f"takes {wanted}, not {word!r}")
            return
        if fact.name in SHARES and not 0 < float(word) <= 1:
            text = f"takes a share above 0 and at most 1, not {word}"
            yield Problem("error", "bad-value", text)
    if fact.choices:
        # The backends' conversion folds case and dashes before the choices are compared.
        folded = word.lower().replace("-", "_") if fact.type == "<lambda>" else word
        added = release.added.choices.get(fact.name.lstrip("-").replace("-", "_"), ())
        if folded not in fact.choices and folded not in added:
            hint = nearest(word, fact.choices)
            allowed = listing(sorted(fact.choices), 16)
            text = f"does not take {word!r} in vLLM {release.version}: {allowed}{hint}"
            yield Problem("error", "bad-choice", text)
        return
    if fact.name in REGISTRIES:
        problem = check_registry(REGISTRIES[fact.name], word, release)
        if problem:
            yield problem
    elif fact.name == "--lora-modules" and "=" not in word and not word.startswith("{"):
        yield Problem("error", "bad-value", f"takes NAME=PATH or JSON, not {word!r}")
    elif _takes_json(fact, word):
        yield from _check_json(fact, word, release)


def _takes_json(fact: FlagFact, word: str) -> bool:
    if fact.type == "json_or_str":
        return re.fullmatch(r"\s*\{.*\}\s*", word, re.DOTALL) is not None
    return fact.type in {"json", "from_cli", "from_json"} or fact.name in CONFIGS


def _check_json(fact: FlagFact, word: str, release: Release) -> Iterator[Problem]:
    try:
        value = load_json(word)
    except ValueError as error:
        if not has_placeholder(word):
            shown = word if len(word) <= 60 else word[:57] + "…"
            yield Problem("error", "bad-json", f"takes JSON; {shown!r} is none: {error}")
        return
    yield from check_json_value(fact, value, release)


def check_json_value(fact: FlagFact, value: Any, release: Release) -> Iterator[Problem]:
    """Check the decoded value of a JSON flag, field by field where its class is known."""
    config = fact.config or CONFIGS.get(fact.name)
    fields = release.config(config) if config else {}
    if not config or not fields:
        yield from _free_json(value, "")
    elif isinstance(value, dict):
        yield from check_fields(config, value, release, "")
    else:
        yield Problem("error", "bad-json", f"takes a JSON object, not {json.dumps(value)[:40]}")


def _free_json(value: Any, path: str) -> Iterator[Problem]:
    """A switch that is written as a string is true whatever it says, where no class converts it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _free_json(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _free_json(inner, path)
    elif isinstance(value, str) and value in _STRING_BOOLS:
        text = f'holds the string "{value}", which counts as true: leave out the quotes'
        yield Problem("warning", "string-boolean", text, path)


def _nested(fact: FieldFact, release: Release) -> str | None:
    name = (fact.type or "").removesuffix(" | None")
    return name if name[:1].isupper() and release.config(name) else None


def check_fields(
    config: str, value: dict[str, Any], release: Release, path: str
) -> Iterator[Problem]:
    """Check an object against the fields of a config class.

    Args:
        config: Class name, such as ``KVTransferConfig``.
        value: The decoded object.
        release: The release to check against.
        path: Dotted keys that lead to the object; empty at the top.

    Yields:
        Each fault, with its dotted key.
    """
    fields = release.config(config)
    for key, inner in value.items():
        here = f"{path}.{key}" if path else key
        fact = fields.get(key)
        if fact is None:
            spans = _field_spans(config, key)
            history = describe_spans(spans, release.index)
            hint = f" ({history})" if history else nearest(key, fields)
            if spans and spans[0] < release.index and (config, key) in FIELD_REPLACEMENTS:
                hint += f": {FIELD_REPLACEMENTS[config, key]}"
            text = f"is no field of {config} in vLLM {release.version}{hint}"
            yield Problem("error", "unknown-field", text, here)
            continue
        nested = _nested(fact, release)
        if nested and isinstance(inner, dict):
            yield from check_fields(nested, inner, release, here)
        elif not (isinstance(inner, str) and has_placeholder(inner)):
            yield from _check_field(config, key, value, release, here)


def _field_spans(config: str, key: str) -> list[int]:
    entry = data()["configs"].get(config, {}).get(key)
    return sorted(i for where, _ in entry["r"] for i in where) if entry else []


def _check_field(
    config: str, key: str, whole: dict[str, Any], release: Release, here: str
) -> Iterator[Problem]:
    fact, inner = release.config(config)[key], whole[key]
    kind = FIELD_REGISTRIES.get((config, key))
    if kind and isinstance(inner, str):
        if not whole.get(FIELD_PLUGINS.get(kind, "")):
            problem = check_registry(kind, inner, release)
            if problem:
                yield problem._replace(where=here)
    elif fact.choices:
        if inner is not None and inner not in fact.choices:
            allowed = listing([json.dumps(choice) for choice in fact.choices], 16)
            hint = nearest(inner, [str(c) for c in fact.choices]) if isinstance(inner, str) else ""
            text = f"takes {allowed} in vLLM {release.version}, not {json.dumps(inner)}{hint}"
            yield Problem("error", "bad-choice", text, here)
    elif fact.type in ENUMS and isinstance(inner, str):
        if inner.upper() not in ENUMS[fact.type]:
            allowed = listing(sorted(ENUMS[fact.type]))
            text = f"takes {allowed}, not {inner!r}{nearest(inner, ENUMS[fact.type])}"
            yield Problem("error", "bad-choice", text, here)
    else:
        wanted = _type_problem(fact.type, inner)
        if wanted:
            text = f"takes {wanted}, not {json.dumps(inner)[:40]}"
            yield Problem("error", "bad-value", text, here)
        elif (fact.type or "").startswith(("dict", "list")):
            yield from _free_json(inner, here)
        if config == "KVTransferConfig" and key == "kv_connector_extra_config":
            yield from _check_connectors(inner, release, here)


def _check_connectors(inner: Any, release: Release, path: str) -> Iterator[Problem]:
    """The connectors that a MultiConnector joins are transfer configs of their own."""
    connectors = inner.get("connectors") if isinstance(inner, dict) else None
    for position, one in enumerate(connectors if isinstance(connectors, list) else ()):
        if isinstance(one, dict):
            here = f"{path}.connectors.{position}"
            yield from check_fields("KVTransferConfig", one, release, here)


_SCALARS: dict[str, tuple[str, tuple[type, ...]]] = {
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "bool": ("true or false", (bool,)),
    "str": ("a string", (str,)),
}


def _type_problem(kind: str | None, value: Any) -> str | None:
    """What a field wants instead of a value; None if the value passes or cannot be judged.

    The classes convert as pydantic does: ``"3"`` is a number, ``"false"`` and ``0`` are switches.
    """
    options = (kind or "").split(" | ")
    if any(option not in _SCALARS and option != "None" for option in options):
        return None
    wanted = [option for option in options if option != "None"]
    if value is None:
        return None if "None" in options or not wanted else _SCALARS[wanted[0]][0]
    for option in wanted:
        if _fits(option, value):
            return None
    return " or ".join(_SCALARS[option][0] for option in wanted) if wanted else None


def _fits(option: str, value: Any) -> bool:
    if option == "bool":
        lax = {"true", "false", "1", "0", "on", "off", "yes", "no", "t", "f", "y", "n"}
        return isinstance(value, bool) or value in (0, 1) or str(value).lower() in lax
    if option in {"int", "float"} and isinstance(value, str):
        return _number_problem(option, value) is None or _HUMAN.fullmatch(value) is not None
    if option == "int" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _SCALARS[option][1])
