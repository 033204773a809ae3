"""Check environment variables against a release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from recipes_core.vllm_cli.tables import EnvFact, Release, data, describe_spans, record_spans
from recipes_core.vllm_cli.values import Problem, listing, nearest
from recipes_core.vllm_cli.words import has_placeholder


def check_variable(name: str, value: str, release: Release) -> Iterator[Problem]:
    """Check one variable.

    Args:
        name: The variable.
        value: Its value; one that holds a ``$NAME`` is not judged.
        release: The release to check against.

    Yields:
        Each fault. Only variables that begin with ``VLLM_``, or that vLLM declares in some release,
        can be called unknown: other libraries read others.
    """
    fact = release.env.get(name)
    if fact is not None:
        if fact.deprecated:
            text = f"is on its way out in vLLM {release.version}"
            yield Problem("info", "deprecated-variable", text)
        if not has_placeholder(value):
            yield from _check_value(value, fact, release)
    elif name not in release.env_elsewhere and not name.startswith(release.added.prefixes):
        yield from _unknown(name, release)


def _unknown(name: str, release: Release) -> Iterator[Problem]:
    entry = data()["env"].get(name)
    if entry is not None:
        history = describe_spans(record_spans(entry), release.index)
        text = f"is not read by vLLM {release.version} ({history})"
        yield Problem("warning", "unknown-variable", text)
    elif name.startswith("VLLM_"):
        elsewhere = data()["env_elsewhere"].get(name)
        history = describe_spans(elsewhere, release.index) if elsewhere else ""
        hint = f" ({history})" if history else nearest(name, release.env)
        text = f"is not read by vLLM {release.version}{hint}"
        yield Problem("warning", "unknown-variable", text)
    elif "LLM_" in name:
        close = get_close_matches(name, list(release.env), n=1, cutoff=0.9)
        if close:
            text = f"is no variable of vLLM {release.version}; did you mean {close[0]}?"
            yield Problem("warning", "unknown-variable", text)


def _check_value(value: str, fact: EnvFact, release: Release) -> Iterator[Problem]:
    kind = (fact.type or "").removesuffix(" | None")
    if fact.choices:
        words = value.split(",") if kind.startswith(("list", "set")) else [value]
        # Some of vLLM's lists ignore case and the tables do not say which, so none is held to it.
        allowed = {str(choice).lower() for choice in fact.choices}
        for word in words:
            if word.strip().lower() not in allowed:
                known = listing(sorted(str(choice) for choice in fact.choices), 16)
                text = f"does not take {word!r} in vLLM {release.version}: {known}"
                yield Problem("error", "bad-variable", text)
    elif kind == "int" and not re.fullmatch(r"\s*-?\d+\s*", value):
        yield Problem("error", "bad-variable", f"takes a whole number, not {value!r}")
    elif kind == "float":
        try:
            float(value)
        except ValueError:
            yield Problem("error", "bad-variable", f"takes a number, not {value!r}")
    elif kind == "bool" and value.lower() in {"true", "false", "yes", "no", "on", "off"}:
        digit = "1" if value.lower() in {"true", "yes", "on"} else "0"
        text = f"is a switch: write {digit}; vLLM reads most of them as numbers, not {value!r}"
        yield Problem("warning", "variable-spelling", text)
    elif kind == "bool" and value != "" and not re.fullmatch(r"\s*-?\d+\s*", value):
        yield Problem("error", "bad-variable", f"is a switch: write 0 or 1, not {value!r}")
