"""What `recipes size` sizes: a checkpoint, a card, a command and a release."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recipes_core.errors import RecipesError, clean, nearest
from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.command_options import UsageError
from recipes_core.sizing.engine_log import EngineLog
from recipes_core.sizing.estimate import Declared
from recipes_core.sizing.hardware import H200, Gpu
from recipes_core.sizing.versions import DEFAULT_VLLM

if TYPE_CHECKING:
    from recipes_core.catalog.catalog import Catalog


@dataclass
class Request:
    """What is to be sized.

    Args:
        checkpoint: What is served.
        gpu: The card.
        argv: The engine's command.
        env: Its environment.
        vllm: The release.
        process: Name of the recipe's process that it is, where it is one.
    """

    checkpoint: Architecture | Declared
    gpu: Gpu
    argv: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    vllm: str = DEFAULT_VLLM
    process: str | None = None


def request_of(
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
        arch, argv = Architecture.from_config(path), ["vllm", "serve", subject, *flags]
        return _of_checkpoint(options, arch, argv, vllm, log)
    return _from_catalog(options, subject, flags, vllm, log)


def _of_checkpoint(
    options: argparse.Namespace,
    checkpoint: Architecture | Declared,
    argv: list[str],
    vllm: str | None,
    log: EngineLog | None,
) -> Request:
    """A checkpoint by itself, under no other flags than those given."""
    environment = _environment(options)
    return Request(checkpoint, _gpu(options, log), argv, environment, vllm or DEFAULT_VLLM)


def _from_catalog(
    options: argparse.Namespace,
    subject: str,
    flags: list[str],
    vllm: str | None,
    log: EngineLog | None,
) -> Request | None:
    """A recipe with its own command, or a checkpoint whose facts are in the catalog."""
    from recipes_core.errors import UnknownRecipeError
    from recipes_core.sizing.checkpoint import load_checkpoint
    from recipes_core.sizing.configuration import roots_of

    catalog = _catalog(options)
    known = load_checkpoint(roots_of(catalog), subject)
    argv = ["vllm", "serve", subject, *flags]
    if log is not None:
        # The log says how the engine was started; the recipe's own command does not matter.
        if known is None:
            return None
        return _of_checkpoint(options, known, argv, vllm, log)
    try:
        return _from_recipe(options, catalog, subject, flags, vllm)
    except UnknownRecipeError:
        if known is None:
            raise
        return _of_checkpoint(options, known, argv, vllm, log)


def _catalog(options: argparse.Namespace) -> Catalog:
    from recipes_core.catalog.loader import load_chosen

    return load_chosen(options.catalog, lambda line: print(line, file=sys.stderr))


def _from_recipe(
    options: argparse.Namespace, catalog: Catalog, subject: str, flags: list[str], vllm: str | None
) -> Request:
    from recipes_core.configuration import configure
    from recipes_core.deployment import deploy
    from recipes_core.sizing import configuration as adapter

    query = options.query
    if options.hardware:
        query = f"{query}&hardware={options.hardware}" if query else f"hardware={options.hardware}"
    config = configure(catalog, subject, query)
    for adjustment in config.adjustments:
        print(clean(f"note: {adjustment.axis}: {adjustment.reason}"), file=sys.stderr)
    deployment = deploy(config)
    known = adapter.checkpoint_of(config)
    if known is None or config.task is not None:
        raise RecipesError(
            f"nothing is known of the checkpoint {config.model_id}; give its config.json: "
            "recipes size config.json"
        )
    tightest = adapter.size_configuration(config, deployment)
    name = tightest.process if tightest is not None else None
    process = next(p for p in deployment.processes if p.is_engine and name in (None, p.name))
    gpu = adapter.gpu_in(config)
    if options.gpu_bytes is not None:
        gpu = _with_bytes(gpu, options.gpu_bytes)
    release = vllm or adapter.version_of(deployment)
    env = {**process.env, **_environment(options)}
    argv = [*process.argv, *flags]
    return Request(known, gpu, argv, env, release, process.name)


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
    """The card that ``--hardware`` names: of the catalog, or in a reader's short form."""
    from recipes_core.catalog.own_hardware import looks_own, parse_hardware
    from recipes_core.sizing.configuration import gpu_of

    catalog = _catalog(options)
    profile = catalog.hardware.get(options.hardware)
    if profile is not None:
        return gpu_of(options.hardware, profile)
    if looks_own(options.hardware):
        own = parse_hardware(catalog, options.hardware)
        return gpu_of(own.id, own.profile)
    near = nearest(options.hardware, catalog.hardware)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"no hardware {options.hardware!r} in the catalog{hint}")


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
