"""Shell text: commands, exports, containers, scripts. The only place where words are quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from recipes_core.deployment.model import Deployment, File, Process
from recipes_core.deployment.names import (
    BARE,
    PLACEHOLDER,
    known_hint,
    names_in_text,
    placeholders_in,
)

_STRICT = re.compile(r"[A-Za-z0-9_./=:@,+%-]+")


@lru_cache(maxsize=8192)
def quote(word: str, strict: bool = False) -> str:
    """A word for a POSIX shell.

    Args:
        word: Any text.
        strict: Quote ``$NAME`` too: a reader typed it, so it is no placeholder of ours.

    Returns:
        The word as it is, or quoted but for the placeholders of ours in it.
    """
    if (_STRICT if strict else BARE).fullmatch(word):
        return word
    if strict or "$" not in word:
        return _single(word) or "''"
    parts = []
    done = 0
    for match in PLACEHOLDER.finditer(word):
        if known_hint(match.group(1)):
            parts += [_single(word[done : match.start()]), f'"{match.group()}"']
            done = match.end()
    return "".join([*parts, _single(word[done:])]) if parts else _single(word)


def _single(text: str) -> str:
    """Text in single quotes, in which a shell expands nothing; nothing of no text."""
    return "'" + text.replace("'", "'\"'\"'") + "'" if text else ""


def _join(lines: Iterable[str], indent: int) -> str:
    return f" \\\n{' ' * indent}".join(lines)


def command_lines(process: Process) -> list[str]:
    """The lines of a process's command: one flag with its values each."""
    lines = process.rendered
    if lines is None:
        first = [quote(word, word in process.typed) for word in process.argv[: process.first]]
        lines = process.rendered = [" ".join(first)]
        lines += [
            quote_words(flag.tokens, source.layer == "reader") for flag, source in process.flags
        ]
    return lines


@lru_cache(maxsize=8192)
def quote_words(words: tuple[str, ...], strict: bool = False) -> str:
    """Words for a POSIX shell, with a space between them."""
    return " ".join([quote(word, strict) for word in words])


def command(process: Process) -> str:
    """The command of a process, without its variables."""
    if process.text is not None:
        return process.text
    return _join(command_lines(process), process.indent)


def exports(env: Mapping[str, str]) -> str:
    """``export`` lines for a process's variables, empty where there are none."""
    return "".join(f"export {name}={quote(value)}\n" for name, value in env.items())


def script(process: Process) -> str:
    """Exports and command, as pasted into a terminal."""
    return exports(process.env) + local_exports(process) + command(process)


def local_exports(process: Process) -> str:
    """``export`` lines for what the reader's machine needs beside; a reader typed the values."""
    return "".join(
        f"export {name}={quote(value, True)}\n" for name, value in process.local_env.items()
    )


def _container_lines(process: Process) -> list[str] | None:
    container = process.container
    if container is None or container.image is None:
        return None
    first, *rest = container.run
    lines = [quote_words(("docker", "run", *first))]
    lines += [quote_words(tuple(words)) for words in rest]
    lines += [_volume(volume, volume in process.typed) for volume in container.volumes]
    lines += [f"-e {quote(f'{name}={value}')}" for name, value in process.env.items()]
    return lines


@lru_cache(maxsize=1024)
def _volume(volume: str, strict: bool = False) -> str:
    shown = volume.replace("$HF_CACHE:", "~/.cache/huggingface:", 1)
    home, tail = ("~", shown[1:]) if shown.startswith("~") else ("", shown)
    return f"-v {home}{quote(tail, strict)}"


def docker_command(process: Process) -> str | None:
    """``docker run`` of an engine's process as text; None where it has no container."""
    lines = _container_lines(process)
    if lines is None or process.container is None:
        return None
    model, *flags = command_lines(process)
    image = quote_words((process.container.image or "", *process.container.entry))
    lines.append(f"{image} {model.split(' ', 2)[2]}")
    return _join([*lines, *flags], 2)


def docker_argv(
    process: Process, placeholders: Mapping[str, str] | None = None
) -> tuple[list[str] | None, list[str]]:
    """``docker run`` as an argument vector that runs without a shell.

    Returns:
        The vector, or None while a placeholder in it has no value, and the names of those.
    """
    container = process.container
    if container is None or container.image is None:
        return None, []
    words = ["docker", "run"]
    for line in container.run:
        words += line
    for volume in container.volumes:
        words += ["-v", volume]
    for name, value in process.env.items():
        words += ["-e", f"{name}={value}"]
    words += [container.image, *container.entry, *process.argv[2:]]
    given = placeholders or {}
    reader = process.typed | {
        word for flag, source in process.flags if source.layer == "reader" for word in flag.tokens
    }
    needs = [
        name
        for name in placeholders_in(word for word in words if word not in reader)
        if name not in given
    ]
    if needs:
        return None, needs
    for name, value in given.items():
        pattern = re.compile(rf"\${name}(?![A-Za-z0-9_])")
        words = [
            word if word in reader else pattern.sub(lambda _, text=value: text, word)  # type: ignore[misc]
            for word in words
        ]
    return words, []


def heredoc(file: File) -> str:
    """A command that writes a file; ``$NAME`` in it is filled in by the shell."""
    body = json.dumps(file.content, indent=2, ensure_ascii=False)
    return f'cat > "{file.path}" <<EOF\n{_heredoc_safe(body)}\nEOF'


def _heredoc_safe(body: str) -> str:
    """The body with everything but ``$NAME`` kept from the shell."""
    body = body.replace("\\", "\\\\").replace("`", "\\`")
    return re.sub(r"\$(?![A-Za-z_])", r"\\$", body)


HEAD = "#!/usr/bin/env bash\nset -euo pipefail\n"
"""Begins a file to download: it stops at the first fault."""


def needed_names(deployment: Deployment, process: Process) -> list[str]:
    """Names of the values that a process and the files that it reads still need, in order."""
    texts = [process.text or ""]
    for file in _files_of(deployment, process):
        texts += [file.path, *map(str, file.content.values())]
    words = [*_expanded(process), *process.env.values()]
    return list(placeholders_in(words) | names_in_text(texts))


def _files_of(deployment: Deployment, process: Process) -> list[File]:
    return [file for file in deployment.files if process.name in file.used_by]


def guarded_script(deployment: Deployment, process: Process, *, docker: bool = False) -> str:
    """A file to download: it stops at the first fault, and at a placeholder without a value.

    Args:
        deployment: What ``deploy`` made.
        process: One of its processes.
        docker: Run it in its container, where it has one.
    """
    label = f"# {process.label}".replace("\n", " ") + "\n" if process.label else ""
    files = "".join(f"{heredoc(file)}\n" for file in _files_of(deployment, process))
    text = (docker_command(process) if docker else None) or script(process)
    guards = guards_of(deployment, needed_names(deployment, process))
    return f"{HEAD}{label}{guards}{files}{text}\n"


def guards_of(deployment: Deployment, names: Iterable[str]) -> str:
    """Lines that stop a script where a value is missing, and say which."""
    hints = {item.name: item.hint for item in deployment.placeholders}
    return "".join(f': "${{{name}:?{_hint(hints.get(name, name))}}}"\n' for name in names)


def open_values(deployment: Deployment) -> str:
    """``export`` lines for a reader to fill in, one for each value that is still to be given."""
    missing = deployment.missing
    width = max((len(item.name) for item in missing), default=0)
    return "".join(
        f"export {item.name}={' ' * (width - len(item.name))}  # {_hint(item.hint)}\n"
        for item in missing
    )


def _expanded(process: Process) -> Iterator[str]:
    """The words of a command in which a shell expands ``$NAME``: all but the reader's own."""
    for line in process.lines():
        if not line.reader:
            yield from line.words


def _hint(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9 .,:()_/-]", " ", text)
