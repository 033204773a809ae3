"""Read a command that a person pastes: shell text to words and variables.

No shell runs: words are split as POSIX does it, ``$NAME`` stays as it is, and nothing is executed.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import yaml

from recipes_core.findings import Finding

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(?!=)(.*)", re.DOTALL)
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_CONTAINER_SWITCHES = frozenset(
    [
        "--rm",
        "-d",
        "-i",
        "-t",
        "-it",
        "-ti",
        "--privileged",
        "--init",
        "--detach",
        "--interactive",
        "--tty",
        "--read-only",
        "--no-healthcheck",
        "--oom-kill-disable",
        "--sig-proxy",
        "--publish-all",
        "-P",
        "-q",
        "--quiet",
    ]
)
MAX_LENGTH = 100_000
"""Longest text that is read, in characters."""


class Command(NamedTuple):
    """A command, understood."""

    argv: tuple[str, ...]
    """``("vllm", "serve", MODEL, …)`` or ``("vllm", "bench", …)``."""
    env: dict[str, str]
    """Variables that it gets: exported before, assigned in front, or ``-e`` of a container."""
    image: str | None = None
    """The container image; None without a container."""
    findings: tuple[Finding, ...] = ()
    """What could not be read, and what was passed over."""


def split_shell(text: str) -> list[str]:
    """Split shell text into words and operators.

    Raises:
        ValueError: A quote is not closed, or the text is longer than MAX_LENGTH.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the command is longer than {MAX_LENGTH} characters")
    lexer = shlex.shlex(_one_line(text), posix=True, punctuation_chars=";&|<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        raise ValueError("a quote is opened and not closed") from None


def _one_line(text: str) -> str:
    """Join continued lines and drop comments; other line breaks end a command.

    A comment between continued lines, or after the last word of one, ends the command in a shell;
    recipes are printed that way all the same, so here it is dropped and the command goes on where
    the comment ends in a backslash. Inside of quotes everything is text.
    """
    text = re.sub(r"\r\n?", "\n", text)
    out: list[str] = []
    quote, position = "", 0
    while position < len(text):
        char = text[position]
        if char == "\\" and quote != "'":
            continued = _CONTINUED.match(text, position)
            out.append(" " if continued and not quote else text[position : position + 2])
            position = continued.end() if continued and not quote else position + 2
            continue
        if char == "#" and not quote and (not out or out[-1][-1:].isspace()):
            position = _after_comment(text, position)
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "<>":
            _drop_descriptor(out)
        out.append(" ; " if char == "\n" and not quote else char)
        position += 1
    return "".join(out)


def _drop_descriptor(out: list[str]) -> None:
    """Take away the number right before a redirection, as in ``2>``: it is no word."""
    start = len(out)
    while start and out[start - 1].isdigit():
        start -= 1
    if not start or out[start - 1][-1:].isspace():
        del out[start:]


_CONTINUED = re.compile(r"\\[ \t]*\n")


def _after_comment(text: str, start: int) -> int:
    """Where reading goes on after a comment: past its line where it stands alone or continues."""
    end = text.find("\n", start)
    if end < 0:
        return len(text)
    alone = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    continued = text[start:end].rstrip().endswith("\\")
    return end + 1 if alone or continued else end


def _segments(words: Sequence[str]) -> list[list[str]]:
    """The simple commands of a line, without redirections."""
    segments: list[list[str]] = [[]]
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word and all(char in ";&|()" for char in word):
            segments.append([])
        elif word and all(char in "<>&|" for char in word):
            skip = True
        else:
            segments[-1].append(word)
    return [segment for segment in segments if segment]


def _take_assignments(words: list[str], env: dict[str, str]) -> list[str]:
    position = 0
    if words and words[0] in {"export", "env", "set", "sudo"}:
        position = 1
    while position < len(words):
        match = _ASSIGNMENT.fullmatch(words[position])
        if not match:
            break
        env[match[1]] = match[2]
        position += 1
    return words[position:]


def _is_program(word: str, name: str) -> bool:
    return PurePosixPath(word).name == name


def _find_vllm(words: Sequence[str]) -> tuple[str, ...] | None:
    for position, word in enumerate(words):
        rest = words[position + 1 :]
        if _is_program(word, "vllm") and rest[:1] in (["serve"], ["bench"]):
            return ("vllm", *rest)
        if word == "-m" and rest[:1] == ["vllm.entrypoints.openai.api_server"]:
            return ("vllm", "serve", *rest[1:])
    return None


def _container(
    words: Sequence[str], env: dict[str, str], outside: dict[str, str]
) -> tuple[str, list[str]] | None:
    """The image of a ``docker run`` and what follows it; its ``-e`` go into env."""
    if "run" not in words[:3]:
        return None
    position, entrypoint = list(words).index("run") + 1, ""
    while position < len(words) and words[position].startswith("-"):
        flag, equals, value = words[position].partition("=")
        position += 1
        if flag in _CONTAINER_SWITCHES and not equals:
            continue
        if not equals and position < len(words):
            value = words[position]
            position += 1
        if flag in {"-e", "--env"}:
            name, _, content = value.partition("=")
            env[name] = content if "=" in value else outside.get(name, f"${name}")
        elif flag == "--entrypoint":
            entrypoint = value
    if position >= len(words):
        return None
    rest = list(words[position + 1 :])
    found = _find_vllm([entrypoint, *rest] if entrypoint else rest)
    if found is not None:
        return words[position], list(found)
    if rest[:1] == ["serve"]:
        rest = rest[1:]
    return words[position], ["vllm", "serve", *rest]


def parse_command(text: str) -> Command:
    """Read a pasted command.

    Args:
        text: ``vllm serve …`` with quotes, continuation lines, comments, ``export`` lines and
            assignments in front, or ``docker run … IMAGE MODEL …``.

    Returns:
        Its words and variables.

    Raises:
        ValueError: There is no vLLM command in it, or a quote is not closed.
    """
    env: dict[str, str] = {}
    found: tuple[str, ...] | None = None
    image: str | None = None
    passed: list[str] = []
    for words in _segments(split_shell(text)):
        if words[0] in {"$", "%", ">"}:
            words = words[1:]  # noqa: PLW2901 - the prompt was pasted too
        own: dict[str, str] = {}
        rest = _take_assignments(words, own)
        if found is not None:
            passed.append(words[0])
            continue
        if not rest:
            env.update(own)
            continue
        runner = next((word for word in rest[:2] if PurePosixPath(word).name in _CONTAINERS), None)
        container = _container(rest[rest.index(runner) :], own, env) if runner else None
        if container:
            image, argv = container
            found, env = tuple(argv), own
        elif (argv_found := _find_vllm(rest)) is not None:
            assigned = rest[: len(rest) - len(argv_found)]
            _take_assignments([word for word in assigned if "=" in word], own)
            found = argv_found
            env.update(own)
        else:
            passed.append(rest[0])
    if found is None:
        raise ValueError("no vllm serve command is in this text")
    notes = tuple(
        Finding("info", "passed-over", f"{name!r} and its arguments were not read", name)
        for name in dict.fromkeys(passed)
    )
    return Command(found, env, image, notes)


def config_arguments(text: str, options: Collection[str]) -> list[str]:
    """The arguments that a ``--config`` file stands for, as vLLM reads it.

    Args:
        text: YAML: a mapping of flags without their dashes.
        options: The option strings of the release: ``x: false`` becomes ``--no-x`` if there is
            such a flag, and is dropped otherwise.

    Returns:
        Words that stand right after the model: what the command line says itself wins.

    Raises:
        ValueError: It is no YAML, no mapping, too long, or has aliases.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the config file is longer than {MAX_LENGTH} characters")
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            # A few lines of nested aliases would grow to gigabytes.
            raise ValueError("the config file has aliases, which are not read here")
        # vLLM reads it with this loader, in which yes and no are booleans.
        config: Any = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"the config file is no YAML: {error}") from None
    if not isinstance(config, dict):
        raise ValueError("the config file is no mapping of flags to values")
    words: list[str] = []
    for key, value in config.items():
        words += _config_words(str(key), value, options)
    return words


def _config_words(key: str, value: Any, options: Collection[str]) -> list[str]:
    if value is False:
        return [f"--no-{key}"] if f"--no-{key}" in options else []
    if value is True:
        return [f"--{key}"]
    if isinstance(value, list):
        return [f"--{key}", *map(str, value)] if value else []
    if isinstance(value, dict):
        return [f"--{key}", json.dumps(value)]
    return [f"--{key}", str(value)]


def expand_config(
    argv: Sequence[str], read: Callable[[str], str], options: Collection[str]
) -> tuple[str, ...]:
    """Put what ``--config FILE`` holds in place, right after the model.

    Args:
        argv: ``["vllm", "serve", …, "--config", FILE, …]``; without ``--config`` it stays as it is.
        read: Gives the text of a file.
        options: The option strings of the release.

    Raises:
        ValueError: The file name is missing or does not end in .yaml or .yml, or the text is no
            mapping.
        OSError: From read.
    """
    words = list(argv)
    if "--config" not in words:
        return tuple(words)
    at = words.index("--config")
    if at + 1 >= len(words):
        raise ValueError("--config needs a file")
    path = words[at + 1]
    if not path.endswith((".yaml", ".yml")):
        raise ValueError(f"vLLM reads a .yaml or .yml file, not {path!r}")
    extra = config_arguments(read(path), options)
    del words[at : at + 2]
    if "--model" in extra:
        model = extra.index("--model")
        value = extra[model + 1]
        del extra[model : model + 2]
        if len(words) < 3 or words[2].startswith("-"):
            words.insert(2, value)
    start = 3 if len(words) > 2 and not words[2].startswith("-") else 2
    return (*words[:start], *extra, *words[start:])
