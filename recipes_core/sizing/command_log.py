"""A start-up log beside what is computed, for `recipes size --log`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from recipes_core.errors import RecipesError
from recipes_core.sizing.command_request import Request
from recipes_core.sizing.engine_log import EngineLog, compare_log, parse_engine_log
from recipes_core.sizing.estimate import size
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.table import difference_lines

_LARGEST_LOG = 64 << 20


def read_log(path: Path) -> EngineLog:
    """What a start-up log says.

    Args:
        path: The file; ``-`` for stdin.

    Raises:
        RecipesError: It cannot be read, is too large, or holds no line of a start-up.
    """
    try:
        if str(path) == "-":
            text = sys.stdin.read(_LARGEST_LOG + 1)
            size = len(text)
        else:
            size = path.stat().st_size
            text = path.read_text("utf-8", "replace") if size <= _LARGEST_LOG else ""
    except OSError as error:
        raise RecipesError(f"{path}: cannot be read: {error.strerror}") from error
    if size > _LARGEST_LOG:
        raise RecipesError(f"{path}: is larger than 64 MiB; keep the start-up part alone")
    log = parse_engine_log(text)
    if log.is_empty:
        raise RecipesError(
            f"{path}: holds no line of a vLLM start-up, such as 'Available KV cache memory: …'"
        )
    return log


def _log_json(log: EngineLog) -> dict[str, Any]:
    def entry(logged: Any) -> dict[str, Any]:
        return {"value": logged.value, "line": logged.line}

    return {
        "vllm": log.vllm,
        "arguments": log.arguments,
        "weights_bytes": [entry(e) for e in log.weights],
        "available_kv_bytes": [entry(e) for e in log.available_kv],
        **{name: entry(e) for name, e in log.figures.items()},
    }


def log_alone(log: EngineLog | None, *, as_json: bool) -> int:
    """A log whose model is not known: its figures alone."""
    if log is None:
        return 1
    if as_json:
        print(json.dumps({"log": _log_json(log), "sizing": None, "differences": []}, indent=2))
    else:
        for name, value in _log_json(log).items():
            print(f"{name}: {value}")
    print(
        "note: no config of this model is known; name a config.json to compare with",
        file=sys.stderr,
    )
    return 0


def beside_log(options: argparse.Namespace, request: Request, found: Sizing, log: EngineLog) -> int:
    """The log's figures beside ours."""
    at_logged = None
    if log.available_kv and log.available_kv[0].value >= 1:
        at_logged = size(
            request.checkpoint,
            request.gpu,
            request.argv,
            env=request.env,
            vllm=request.vllm,
            available_kv_bytes=int(log.available_kv[0].value),
        )
    differences = compare_log(log, found, at_logged)
    if options.json:
        rows = [
            {
                "name": d.name,
                "unit": d.unit,
                "logged": d.logged,
                "ours": d.ours,
                "line": d.line,
                "verdict": d.verdict,
                "explanation": d.explanation,
            }
            for d in differences
        ]
        whole = {"log": _log_json(log), "sizing": found.to_json(), "differences": rows}
        print(json.dumps(whole, ensure_ascii=False, indent=2))
        return 0
    print("\n".join([f"vLLM {found.vllm} on {found.gpu.id}", "", *difference_lines(differences)]))
    return 0
