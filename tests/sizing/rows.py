"""Reads the measured rows and sizes each of them."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from recipes_core.sizing import H100, H200, Architecture, Sizing, size

GIB = 1 << 30
TEXT_TO_VISION = {
    # The config of this id was published without its vision_config; the run loaded the tower.
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "variant/Llama-4-Scout-17B-16E-Instruct-vision",
}


def config_path(shared: Path, model: str) -> Path:
    """The config.json of a checkpoint, by its own name or by an alias."""
    folder = shared / "hf_configs"
    own = folder / f"{model.replace('/', '--')}.json"
    if own.is_file():
        return own
    aliases = json.loads((folder / "ALIASES.json").read_text())
    return folder / f"{aliases[model]}.json"


@lru_cache(maxsize=256)
def architecture(shared: Path, model: str) -> Architecture:
    return Architecture.from_config(config_path(shared, model))


@dataclass(frozen=True)
class Errors:
    """One measured run beside its prediction; percent, GiB and logged counts."""

    name: str
    weights: float
    activation: float
    kv: float
    exact: bool
    tokens_off: float

    def line(self) -> str:
        tokens = "exact" if self.exact else f"{self.tokens_off:.2f} %"
        return (
            f"{self.name:58s} weights {self.weights:+8.4f} %"
            f"  activation {self.activation:+7.3f} GiB  KV {self.kv:+8.4f} %  tokens {tokens}"
        )


def command(arguments: dict[str, Any]) -> list[str]:
    """The engine arguments of a row as a command."""
    words = ["vllm", "serve", "model"]
    for key, value in arguments.items():
        flag = f"--{key.replace('_', '-')}"
        if key == "enforce_eager" and value is False:
            continue
        if value is True:
            words.append(flag)
        elif value is False:
            words.append(f"--no-{flag[2:]}")
        else:
            words += [flag, json.dumps(value) if isinstance(value, dict) else str(value)]
    return words


def h200_rows(shared: Path) -> list[dict[str, Any]]:
    lines = (shared / "ground_truth" / "h200_vllm_0.25.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["ok"]]


def size_h200(shared: Path, row: dict[str, Any], **more: Any) -> Sizing:
    """Sizes one H200 row from its config and flags alone."""
    env: dict[str, str] = {}
    arguments = dict(row["engine_args"])
    if "v1runner" in row["id"]:
        env["VLLM_USE_V2_MODEL_RUNNER"] = "0"
    if "llmclass" in row["id"]:
        # Started through the offline class, whose default is 16,384 tokens per step.
        arguments["max_num_batched_tokens"] = 16384
    if row["id"].startswith("b91"):
        # The one run with it; the README of the rows says so.
        env["VLLM_USE_DEEP_GEMM"] = "1"
    return size(
        architecture(shared, row["model"]),
        H200,
        command(arguments),
        env=env,
        **more,
    )


def h200_errors(shared: Path) -> list[Errors]:
    found = []
    for row in h200_rows(shared):
        measured = row["measured"]
        predicted = size_h200(shared, row)
        given = size_h200(shared, row, available_kv_bytes=measured["available_kv_bytes"])
        exact = (
            given.kv_tokens == measured["kv_tokens"]
            and given.max_concurrency == measured["max_concurrency"]
            and given.kv_blocks == measured["num_gpu_blocks"]
            and given.kv_block_size == measured["block_size"]
            and len(given.plan.groups) == len(measured["kv_groups"])
        )
        found.append(
            Errors(
                name=row["id"],
                weights=(predicted.weights / measured["model_weights_bytes"] - 1) * 100,
                activation=(predicted.activation - measured["peak_activation_bytes"]) / GIB,
                kv=(predicted.available / measured["available_kv_bytes"] - 1) * 100,
                exact=exact,
                tokens_off=abs(given.kv_tokens / measured["kv_tokens"] - 1) * 100,
            )
        )
    return found


def h100_rows(shared: Path) -> list[dict[str, str]]:
    with (shared / "ground_truth" / "h100_vllm_0.19.csv").open() as file:
        return list(csv.DictReader(file))


def size_h100(shared: Path, row: dict[str, str], **more: Any) -> Sizing:
    model = TEXT_TO_VISION.get(row["model"], row["model"])
    words = ["vllm", "serve", row["model"], "-tp", row["tp"], "-pp", row["pp"]]
    words += ["--gpu-memory-utilization", row["util"], "--max-model-len", row["max_len"]]
    words += ["--dtype", row["dtype"], "--kv-cache-dtype", row["kv_dtype"]]
    if row["quant"] == "fp8":
        words += ["--quantization", "fp8"]
    return size(architecture(shared, model), H100, words, vllm=row["vllm"], **more)


def h100_errors(shared: Path) -> list[Errors]:
    """The logged figures are those of the first pipeline rank, rounded to 0.01 GiB."""
    found = []
    for row in h100_rows(shared):
        first = size_h100(shared, row).ranks[0]
        logged = float(row["kv_gib"])
        low, high = (
            size_h100(shared, row, available_kv_bytes=int((logged + d) * GIB)).kv_tokens
            for d in (-0.005, 0.005)
        )
        tokens = int(row["kv_tokens"])
        off = max(low / tokens - 1, 1 - high / tokens, 0) * 100
        found.append(
            Errors(
                name=f"{row['model']} tp{row['tp']} pp{row['pp']} {row['dtype']} {row['kv_dtype']}",
                weights=(first.weights.total / GIB / float(row["weights_gib"]) - 1) * 100,
                activation=first.activation.peak / GIB - float(row["act_gib"]),
                kv=(first.available / GIB / logged - 1) * 100,
                exact=off == 0,
                tokens_off=off,
            )
        )
    return found
