"""Check ``vllm bench serve`` commands, as far as the tables reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from packaging.version import Version

from recipes_core.findings import Finding
from recipes_core.vllm_cli.check import check_options
from recipes_core.vllm_cli.tables import (
    Release,
    bench_options,
    bench_versions,
    table_for,
)
from recipes_core.vllm_cli.words import split


class _BenchRelease(Release):
    """A release seen from a bench command: the same registries, other flags."""

    def __init__(self, index: int, position: int, command: str) -> None:
        super().__init__(index)
        # Set in place of the cached property: the bench command has flags of its own.
        self.__dict__["options"] = bench_options(position, command)
        self.bench = command


@lru_cache(maxsize=64)
def _bench_release(position: int, command: str) -> _BenchRelease:
    index = table_for(bench_versions()[position]).position
    return _BenchRelease(index, position, command)


def _position(version: str) -> int:
    """The newest bench table that is not newer than a version, else the oldest."""
    wanted = Version(table_for(version).version)
    fitting = [i for i, known in enumerate(bench_versions()) if Version(known) <= wanted]
    return fitting[-1] if fitting else 0


def _about(version: str, position: int) -> Iterator[Finding]:
    read = bench_versions()[position]
    if Version(table_for(version).version) != Version(read):
        text = f"the bench flags of vLLM {version} were not read; checked against those of {read}"
        yield Finding("info", "nearest-table", text)


def check_bench(argv: Sequence[str], version: str) -> list[Finding]:
    """Check a benchmark command against a vLLM version.

    Args:
        argv: ``["vllm", "bench", "serve", …]``; ``$NAME`` is never judged.
        version: As in check_argv.

    Returns:
        Findings; for a bench command whose flags were not read, one that says so.

    Raises:
        ValueError: The version is no version.
    """
    table_for(version)
    command = argv[2] if len(argv) > 2 else ""
    position = _position(version)
    if not bench_options(position, command):
        name = f"vllm bench {command}".strip()
        return [Finding("info", "not-in-tables", f"the flags of {name} were not read")]
    rel = _bench_release(position, command)
    line = split(argv[3:])
    found, left = check_options(line, rel)
    for word in (*line.positionals, *left):
        text = f"{word!r} belongs to no flag of vllm bench {command}"
        found.append(Finding("error", "stray-word", text, word))
    return [*_about(version, position), *found]
