"""`recipes size`: a recipe, a config.json or an engine's log, sized."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from recipes_core.errors import RecipesError, nearest
from recipes_core.flags import is_flag
from recipes_core.sizing.answers import advice, host_needs
from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.engine import EngineArguments
from recipes_core.sizing.engine_log import EngineLog, compare_log, parse_engine_log
from recipes_core.sizing.estimate import Declared, size
from recipes_core.sizing.hardware import H200, Gpu
from recipes_core.sizing.result import Sizing
from recipes_core.sizing.table import (
    advice_lines,
    answer_lines,
    assumption_lines,
    difference_lines,
    sizing_lines,
)
from recipes_core.sizing.versions import DEFAULT_VLLM

_LARGEST_LOG = 64 << 20
_EXAMPLES = """\
Any other option is taken for one of vLLM's own flags, such as --tensor-parallel-size 8,
--max-model-len 32768, --kv-cache-dtype fp8, --dtype, --quantization, --max-num-seqs,
--max-num-batched-tokens, --gpu-memory-utilization, --pipeline-parallel-size, --enforce-eager.

  recipes size meta-llama/Llama-3.1-8B-Instruct --hardware h100
  recipes size config.json --hardware h200 --tensor-parallel-size 8 --json
  recipes size config.json --gpu-bytes 85029615042 --vllm 0.19.0 --available-kv-bytes 62400000000
  recipes size --log startup.log

A recipe is sized for the release it pins, else for the newest one; a config.json for the one that
was measured. Exit code 1 where the engine would not start or one request does not fit.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


class UsageError(RecipesError):
    """The command line itself is wrong."""


@dataclass
class Request:
    """What is to be sized.

    Args:
        checkpoint: What is served.
        gpu: The card.
        argv: The engine's command.
        env: Its environment.
        vllm: The release.
        sizing: Already sized, for a recipe whose own command is taken as it is.
    """

    checkpoint: Architecture | Declared
    gpu: Gpu
    argv: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    vllm: str = DEFAULT_VLLM


def _parser() -> _Parser:
    parser = _Parser(
        prog="recipes size",
        description="GPU memory of a recipe or a config.json, to the token.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("subject", nargs="*", metavar="ID|CONFIG", help="recipe, config.json or checkpoint folder")
    add("--query", default="", help="choices of the recipe, such as variant=fp8&strategy=…")
    add("--hardware", metavar="ID", help="GPU of the taxonomy")
    add("--gpu-bytes", type=int, metavar="N", help="physical bytes of one GPU, as its driver says")
    add("--available-kv-bytes", type=int, metavar="N", help="measured budget per GPU")
    add("--vllm", metavar="X", help=f"release (for a config.json: {DEFAULT_VLLM})")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="the engine's environment")
    add("--users", type=int, default=1, metavar="N", help="requests at once, for the answers")
    add("--length", type=int, metavar="L", help="tokens of each request, for the answers")
    add("--log", type=Path, metavar="FILE", help="start-up log to compare with; - for stdin")
    add("--catalog", action="append", default=[], metavar="DIR", help="catalog instead of ours")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="the sizing object")
    shape.add_argument("--table", action="store_true", help="a table for people (the default)")
    return parser


_SWITCHES = frozenset(
    {
        "--enforce-eager",
        "--trust-remote-code",
        "--language-model-only",
        "--async-scheduling",
        "--skip-mm-profiling",
        "--headless",
        "-ep",
        "--kv-sharing-fast-prefill",
    }
)
_SEVERAL = frozenset({"--cudagraph-capture-sizes", "--kv-cache-dtype-skip-layers"})
_SWITCH_PREFIXES = ("--no-", "--enable-", "--disable-")


def _apart(parser: argparse.ArgumentParser, args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own words and vLLM's, in any order: a word after one of vLLM's flags is its value."""
    known = parser._option_string_actions
    own: list[str] = []
    flags: list[str] = []
    target, room = own, 0
    for word in args:
        name, equals, _ = word.partition("=")
        if is_flag(word):
            action = known.get(name)
            target = own if action is not None else flags
            switch = name in _SWITCHES or name.startswith(_SWITCH_PREFIXES)
            takes = action.nargs != 0 if action is not None else not switch
            room = 0 if equals or not takes else (len(args) if name in _SEVERAL else 1)
            target.append(word)
        elif room:
            target.append(word)
            room -= 1
        else:
            own.append(word)
    return own, flags


def run(args: Sequence[str]) -> int:
    """Runs the command.

    Args:
        args: Words after ``recipes size``.

    Returns:
        0; 1 where nothing can be sized, or where the engine would not start or hold one request;
        2 where the command line is wrong.
    """
    try:
        parser = _parser()
        own, flags = _apart(parser, args)
        options = parser.parse_args(own)
        if len(options.subject) > 1:
            raise UsageError(f"one recipe or config is sized at a time, not {options.subject}")
        options.subject = options.subject[0] if options.subject else None
        return _run(options, flags)
    except UsageError as error:
        print(f"recipes size: {error}", file=sys.stderr)
        return 2
    except SystemExit as done:
        return int(done.code or 0)
    except RecipesError as error:
        print(f"recipes size: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace, flags: list[str]) -> int:
    _check(options)
    log = _read_log(options.log) if options.log is not None else None
    request = _request(options, flags, log)
    if request is None:
        return _log_alone(log, as_json=options.json)
    strange = _strange_flags(flags, request.vllm)
    found = size(
        request.checkpoint,
        request.gpu,
        request.argv,
        env=request.env,
        vllm=request.vllm,
        available_kv_bytes=options.available_kv_bytes,
    )
    found = replace(found, assumptions=(*found.assumptions, *strange))
    if log is not None:
        return _beside_log(options, request, found, log)
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


def _check(options: argparse.Namespace) -> None:
    if options.subject is None and options.log is None:
        raise UsageError("name a recipe, a config.json or --log FILE; see recipes size --help")
    if options.gpu_bytes is not None and options.gpu_bytes < 1 << 28:
        raise UsageError(f"--gpu-bytes is {options.gpu_bytes}; bytes of a whole GPU are needed")
    if options.users < 1 or (options.length is not None and options.length < 1):
        raise UsageError("--users and --length must be at least 1")


def _request(
    options: argparse.Namespace, flags: list[str], log: EngineLog | None
) -> Request | None:
    """What to size; None for a log whose model has no known config."""
    subject = options.subject or (log.arguments.get("model") if log is not None else None)
    if subject is None:
        return None
    flags = [*(_logged_flags(log) if log is not None else []), *flags]
    vllm = options.vllm or (log.vllm if log is not None else None)
    path = Path(subject)
    if path.suffix == ".json" or path.is_dir():
        arch = Architecture.from_config(path)
        return Request(
            arch,
            _gpu(options, log),
            ["vllm", "serve", subject, *flags],
            _environment(options),
            vllm or DEFAULT_VLLM,
        )
    return _from_catalog(options, subject, flags, vllm, log)


def _from_catalog(
    options: argparse.Namespace,
    subject: str,
    flags: list[str],
    vllm: str | None,
    log: EngineLog | None,
) -> Request | None:
    """A recipe with its own command, or a checkpoint whose facts are in the catalog."""
    from recipes_core.catalog.loader import chosen_catalogs, load_catalog
    from recipes_core.errors import UnknownRecipeError
    from recipes_core.sizing.checkpoint import load_checkpoint
    from recipes_core.sizing.configuration import roots_of

    catalog = load_catalog(*chosen_catalogs(options.catalog or ()))
    known = load_checkpoint(roots_of(catalog), subject)
    if log is not None:
        # The log says how the engine was started; the recipe's own command does not matter.
        if known is None:
            return None
        return Request(
            known,
            _gpu(options, log),
            ["vllm", "serve", subject, *flags],
            _environment(options),
            vllm or DEFAULT_VLLM,
        )
    try:
        return _from_recipe(options, catalog, subject, flags, vllm)
    except UnknownRecipeError:
        if known is None:
            raise
        return Request(
            known,
            _gpu(options, log),
            ["vllm", "serve", subject, *flags],
            _environment(options),
            vllm or DEFAULT_VLLM,
        )


def _from_recipe(
    options: argparse.Namespace, catalog: Any, subject: str, flags: list[str], vllm: str | None
) -> Request:
    from recipes_core.configuration import configure
    from recipes_core.deployment import deploy
    from recipes_core.sizing import configuration as adapter

    query = options.query
    if options.hardware:
        query = f"{query}&hardware={options.hardware}" if query else f"hardware={options.hardware}"
    config = configure(catalog, subject, query)
    for adjustment in config.adjustments:
        print(f"note: {adjustment.axis}: {adjustment.reason}", file=sys.stderr)
    deployment = deploy(config)
    known = adapter.checkpoint_of(
        adapter.roots_of(catalog),
        config.model_id,
        config.recipe.model.parameter_count,
        config.variant,
        config.recipe.model.context_length,
        moe=config.recipe.model.architecture == "moe",
    )
    if known is None or config.task is not None:
        raise RecipesError(
            f"nothing is known of the checkpoint {config.model_id}; give its config.json: "
            "recipes size config.json"
        )
    tightest = adapter.size_configuration(config, deployment)
    name = tightest.process if tightest is not None else None
    process = next(p for p in deployment.processes if p.is_engine and name in (None, p.name))
    gpu = adapter.gpu_of(config.hardware, config.profile)
    if options.gpu_bytes is not None:
        gpu = _with_bytes(gpu, options.gpu_bytes)
    release = vllm or adapter.version_of(deployment)
    env = {**process.env, **_environment(options)}
    return Request(known, gpu, [*process.argv, *flags], env, release)


def _environment(options: argparse.Namespace) -> dict[str, str]:
    """The engine's environment, from ``--env NAME=VALUE``."""
    found: dict[str, str] = {}
    for pair in options.env:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--env is {pair!r}; NAME=VALUE is needed")
        found[name] = value
    return found


def _with_bytes(gpu: Gpu, memory: int) -> Gpu:
    return replace(gpu, memory=memory, measured=True)


def _gpu(options: argparse.Namespace, log: EngineLog | None) -> Gpu:
    """The card: a profile of the taxonomy, given bytes, the log's, or an H200."""
    found = _profile(options) if options.hardware else H200
    total = log.figures.get("gpu_total") if log is not None else None
    if options.gpu_bytes is not None:
        base = found if options.hardware else Gpu("GPU", options.gpu_bytes)
        return _with_bytes(base, options.gpu_bytes)
    if total is not None and not options.hardware:
        return _with_bytes(Gpu("gpu of the log", int(total.value)), int(total.value))
    if not options.hardware:
        print(
            "note: neither --hardware nor --gpu-bytes is given; an H200 is taken", file=sys.stderr
        )
    return found


def _profile(options: argparse.Namespace) -> Gpu:
    from recipes_core.catalog.loader import load_catalog
    from recipes_core.sizing.configuration import gpu_of

    catalog = load_catalog(*options.catalog) if options.catalog else load_catalog()
    profile = catalog.hardware.get(options.hardware)
    if profile is None:
        near = nearest(options.hardware, catalog.hardware)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"no hardware {options.hardware!r} in the catalog{hint}")
    return gpu_of(options.hardware, profile)


_LOGGED_FLAGS = {
    "tensor_parallel_size": "--tensor-parallel-size",
    "pipeline_parallel_size": "--pipeline-parallel-size",
    "data_parallel_size": "--data-parallel-size",
    "dtype": "--dtype",
    "quantization": "--quantization",
    "kv_cache_dtype": "--kv-cache-dtype",
    "max_seq_len": "--max-model-len",
    "max_model_len": "--max-model-len",
    "gpu_memory_utilization": "--gpu-memory-utilization",
    "max_num_seqs": "--max-num-seqs",
}


def _logged_flags(log: EngineLog) -> list[str]:
    """The engine's arguments as its log names them."""
    flags: list[str] = []
    for key, flag in _LOGGED_FLAGS.items():
        value = log.arguments.get(key, "None").removeprefix("torch.")
        if value not in ("None", "auto"):
            flags += [flag, value]
    if log.arguments.get("enforce_eager") == "True":
        flags.append("--enforce-eager")
    if log.arguments.get("enable_expert_parallel") == "True":
        flags.append("--enable-expert-parallel")
    share = log.figures.get("utilization")
    if share is not None and "gpu_memory_utilization" not in log.arguments:
        flags += ["--gpu-memory-utilization", f"{share.value:g}"]
    length = log.figures.get("concurrency_length")
    if length is not None and not {"max_seq_len", "max_model_len"} & set(log.arguments):
        flags += ["--max-model-len", f"{int(length.value)}"]
    tokens = log.figures.get("max_num_batched_tokens")
    if tokens is not None:
        flags += ["--max-num-batched-tokens", f"{int(tokens.value)}"]
    return flags


def _read_log(path: Path) -> EngineLog:
    try:
        if str(path) == "-":
            text = sys.stdin.read(_LARGEST_LOG)
        else:
            if path.stat().st_size > _LARGEST_LOG:
                raise RecipesError(f"{path}: is larger than 64 MiB; keep the start-up part alone")
            text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise RecipesError(f"{path}: cannot be read: {error.strerror}") from error
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


def _log_alone(log: EngineLog | None, *, as_json: bool) -> int:
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


def _beside_log(
    options: argparse.Namespace, request: Request, found: Sizing, log: EngineLog
) -> int:
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
