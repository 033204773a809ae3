"""`recipes size`: a recipe, a config.json or an engine's log, sized."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace

from recipes_core.errors import RecipesError, clean
from recipes_core.sizing.answers import advice, host_needs
from recipes_core.sizing.command_log import beside_log, log_alone, read_log
from recipes_core.sizing.command_options import UsageError, read_options
from recipes_core.sizing.command_request import Request, request_of
from recipes_core.sizing.engine import EngineArguments
from recipes_core.sizing.estimate import size
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.table import advice_lines, answer_lines, assumption_lines, sizing_lines


def run(args: Sequence[str]) -> int:
    """Runs the command.

    Args:
        args: Words after ``recipes size``.

    Returns:
        0; 1 where nothing can be sized, or where the engine would not start or hold one request;
        2 where the command line is wrong.
    """
    try:
        return _run(*read_options(args))
    except UsageError as error:
        print(clean(f"recipes size: {error}"), file=sys.stderr)
        return 2
    except SystemExit as done:
        return int(done.code or 0)
    except RecipesError as error:
        print(clean(f"recipes size: {error}"), file=sys.stderr)
        return 1


def _run(options: argparse.Namespace, flags: list[str]) -> int:
    log = read_log(options.log) if options.log is not None else None
    request = request_of(options, flags, log)
    if request is None:
        return log_alone(log, as_json=options.json)
    strange = _strange_flags(flags, request.vllm)
    found = size(
        request.checkpoint,
        request.gpu,
        request.argv,
        env=request.env,
        vllm=request.vllm,
        available_kv_bytes=options.available_kv_bytes,
    )
    assumptions = (*found.assumptions, *strange)
    found = replace(found, assumptions=assumptions, process=request.process)
    if log is not None:
        return beside_log(options, request, found, log)
    if options.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2, allow_nan=False))
    else:
        _print(found, request, options)
    return 1 if found.fits is False else 0


def _strange_flags(flags: Sequence[str], vllm: str) -> list[str]:
    """What is said of flags that this release lacks.

    Raises:
        UsageError: No release has such a flag: counted as if it were not there, the figures would
            be those of another command.
    """
    from recipes_core.vllm_cli import check_argv
    from recipes_core.vllm_cli.tables import option_spans

    known = option_spans().keys() | option_spans(omni=True).keys()
    said: list[str] = []
    for finding in check_argv(["vllm", "serve", "model", *flags], {}, vllm):
        if finding.code not in ("unknown-flag", "ambiguous-flag"):
            continue
        name = (finding.where or "").partition("=")[0].replace("_", "-").partition(".")[0]
        if name not in known:
            raise UsageError(finding.message)
        said.append(f"{finding.message}; its effect is counted as where it exists.")
    return said


def _print(found: Sizing, request: Request, options: argparse.Namespace) -> None:
    engine = EngineArguments.from_argv(request.argv, request.env)
    host = host_needs(request.checkpoint, engine)
    sections = {
        "": sizing_lines(found),
        "Answers": answer_lines(found, options.users, options.length, host),
        "Worth trying": advice_lines(advice(found)),
        "Assumed": assumption_lines(found),
    }
    for title, lines in sections.items():
        if not lines:
            continue
        if title:
            print(f"\n{title}")
        for line in lines:
            print(f"  {line}" if title else line)
