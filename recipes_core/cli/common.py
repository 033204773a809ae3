"""What the subcommands share: options, catalogs, notices on stderr, tables, exit codes."""

from __future__ import annotations

import functools
import inspect
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from recipes_core.errors import RecipesError, clean
from recipes_core.selection import QUERY_KEYS

if TYPE_CHECKING:
    from recipes_core.catalog.catalog import Catalog
    from recipes_core.configuration import Adjustment
    from recipes_core.findings import Finding

F = TypeVar("F", bound=Callable[..., Any])

CatalogOption = Annotated[
    list[str],
    typer.Option(
        "--catalog",
        metavar="DIR",
        help="Recipes in place of ours; repeat to stack, the later wins; 'builtin' = ours."
        " Where none is given, RECIPES_CATALOG.",
    ),
]

AXIS_HELP: dict[str, str] = {
    "hardware": "Hardware id, or your own: 8xA100-80GB, 4xL40S.",
    "variant": "Checkpoint or precision.",
    "strategy": "Parallel layout.",
    "nodes": "Number of nodes.",
    "features": "Comma-separated; the whole set that is on, or 'none'.",
    "fmode": "feature:mode, comma-separated.",
    "preset": "Tuned setting; 'baseline' declines a default one.",
    "kv_offload": "Where KV blocks go beside GPU memory.",
    "kv_instances": "Engines that share a KV store.",
    "prefill_nodes": "Nodes of the prefill pool; 0 = half of one shared node.",
    "decode_nodes": "Nodes of the decode pool.",
    "prefill_mode": "tp, tep or dep.",
    "decode_mode": "tp, tep or dep.",
    "advanced": "Tuning switches, comma-separated.",
    "task": "Task of an omni recipe.",
    "gpus": "GPUs of one node to use.",
    "frontend": "rust or python.",
    "router": "Router of a PD cluster: vllm, smg or dynamo.",
    "install": "pip, docker, or a CUDA release such as cu129.",
    "vllm": "vLLM release: pins the install, and the command is checked against it.",
    "max_model_len": "Tokens, such as 32768 or 32k.",
    "max_num_seqs": "Sequences at once.",
    "max_num_batched_tokens": "Tokens of one step.",
    "kv_cache_dtype": "Such as fp8.",
    "gpu_memory_utilization": "Share of GPU memory, above 0 and up to 1.",
    "served_name": "Model name that clients use.",
    "host": "Address to listen on.",
    "port": "Port to listen on.",
}


def with_axes(function: F) -> F:
    """Add an option for every key of a query; the function gets those given as ``axes``."""
    signature = inspect.signature(function, eval_str=True)
    kept = [item for item in signature.parameters.values() if item.name != "axes"]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None,
                typer.Option(
                    f"--{name.replace('_', '-')}",
                    help=AXIS_HELP.get(name),
                    metavar="X",
                    rich_help_panel="Choices",
                ),
            ],
        )
        for name in QUERY_KEYS
    ]

    @functools.wraps(function)
    def wrapped(**given: Any) -> Any:
        axes = {name: given.pop(name) for name in QUERY_KEYS}
        given["axes"] = {name: value for name, value in axes.items() if value is not None}
        return function(**given)

    wrapped.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    return wrapped  # type: ignore[return-value]


def fail(message: str, code: int = 1) -> NoReturn:
    """Say what is wrong on stderr and leave."""
    note(f"recipes: {message}")
    raise typer.Exit(code)


def failing_politely(function: F) -> F:
    """Turn our own errors into a message and exit code 1, others into a traceback."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RecipesError as error:
            fail(f"error: {error}")
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    return wrapped  # type: ignore[return-value]


def open_catalog(folders: Sequence[str]) -> Catalog:
    """The catalog that ``--catalog`` or ``RECIPES_CATALOG`` names.

    A broken recipe is left out, and said.
    """
    from recipes_core.catalog.loader import load_chosen

    return load_chosen(folders, note)


# --- text for people ----------------------------------------------------------------------------


def say(text: str = "") -> None:
    """A line on stdout."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(clean(text) + "\n")


def tell_adjustments(adjustments: Iterable[Adjustment]) -> int:
    """Name on stderr what was asked and could not be had; returns how many that are."""
    count = 0
    for count, item in enumerate(adjustments, 1):  # noqa: B007
        got = "left out" if item.got is None else f"{_shown(item.got)} is used"
        if item.got is not None and item.got == item.asked:
            got = "kept"
        asked = f"{_shown(item.asked)}: " if item.asked not in {"", None} else ""
        note(f"recipes: adjusted {item.axis or 'query'}: {asked}{got} ({item.reason})")
    return count


def _shown(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def tell_findings(findings: Iterable[Finding]) -> None:
    """The findings on stderr, the worst first."""
    from recipes_core.findings import by_severity

    for finding in by_severity(findings):
        where = f"{finding.where}: " if finding.where else ""
        note(f"recipes: {finding.severity}: {where}{finding.message} [{finding.code}]")


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide


def table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> list[str]:
    """Rows in columns of equal width; on a terminal the last one is wrapped to it."""
    shown = [[clean(cell).replace("\n", " ") for cell in row] for row in rows]
    every = [list(header), *shown] if header else shown
    if not every:
        return []
    widths = [max(width_of(row[i]) for row in every) for i in range(len(every[0]) - 1)]
    columns = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 10_000
    room = max(24, columns - sum(widths) - 2 * len(widths))
    lines = []
    for row in every:
        head = "".join(
            cell + " " * (size - width_of(cell) + 2)
            for cell, size in zip(row, widths, strict=False)
        )
        last = textwrap.wrap(row[-1], room, break_long_words=False) or [""]
        lines.append((head + last[0]).rstrip())
        lines += [" " * (sum(widths) + 2 * len(widths)) + part for part in last[1:]]
    return lines


def placeholders_of(given: Sequence[str]) -> dict[str, str]:
    """``NAME=VALUE`` pairs of ``--set``; a leading ``$`` is forgiven."""
    found = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.lstrip("$").isidentifier():
            fail(f"--set takes NAME=VALUE, not {item!r}", 2)
        found[name.lstrip("$")] = value
    return found


def selection_pairs(query: str | None, axes: Mapping[str, str]) -> list[tuple[str, str]]:
    """A query string and options as pairs; an option replaces the same key of the query."""
    from urllib.parse import parse_qsl

    text = (query or "").partition("?")[2] if "?" in (query or "") else query or ""
    try:
        pairs = parse_qsl(text.partition("#")[0], keep_blank_values=True, max_num_fields=200)
    except ValueError as error:
        fail(f"--query: {error}", 2)
    return [(key, value) for key, value in pairs if key not in axes] + list(axes.items())
