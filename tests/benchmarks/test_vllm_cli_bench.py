"""How long the table takes to load, and a deployment to check (budgets: 20 ms and 1 ms)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_benchmark.fixture import BenchmarkFixture

from recipes_core.vllm_cli import check, check_argv, min_version, tables
from recipes_core.vllm_cli.check import judge, judge_variable

ARGV = [
    "vllm", "serve", "deepseek-ai/DeepSeek-V3.1", "--trust-remote-code",
    "--tensor-parallel-size", "8", "--nnodes", "2", "--node-rank", "0", "--master-addr",
    "$HEAD_IP", "--enable-expert-parallel", "--kv-cache-dtype", "fp8", "--max-model-len",
    "131072", "--max-num-seqs", "256", "--gpu-memory-utilization", "0.9",
    "--enable-auto-tool-choice", "--tool-call-parser", "deepseek_v31", "--reasoning-parser",
    "deepseek_v3", "--kv-transfer-config",
    '{"kv_connector":"NixlConnector","kv_role":"kv_both"}', "--speculative-config",
    '{"method":"mtp","num_speculative_tokens":1}', "--attention-config.backend=FLASHMLA",
    "--compilation-config.cudagraph_mode", "FULL_DECODE_ONLY",
]  # fmt: skip
ENV = {"VLLM_USE_DEEP_GEMM": "1", "NCCL_CUMEM_ENABLE": "1", "VLLM_ENGINE_READY_TIMEOUT_S": "3600"}


@dataclass
class Process:
    argv: list[str]
    role: str
    env: dict[str, str] = field(default_factory=lambda: dict(ENV))


@dataclass
class Deployment:
    processes: list[Process]


def test_load_the_table_and_one_release(benchmark: BenchmarkFixture) -> None:
    def load() -> int:
        tables.data.cache_clear()
        tables.versions.cache_clear()
        fresh = tables.Release(len(tables.versions()) - 1)
        return len(fresh.options) + len(fresh.env)

    assert benchmark(load) > 700


def test_check_a_deployment_of_eight_processes(benchmark: BenchmarkFixture) -> None:
    deployment = Deployment([Process([*ARGV, "--seed", str(n)], "head") for n in range(8)])
    assert benchmark(check, deployment, "0.33.0") == []


def test_check_a_command_that_was_never_seen(benchmark: BenchmarkFixture) -> None:
    def fresh() -> list[object]:
        judge.cache_clear()
        judge_variable.cache_clear()
        return list(check_argv(ARGV, ENV, "0.33.0"))

    assert benchmark(fresh) == []


def test_compute_a_floor(benchmark: BenchmarkFixture) -> None:
    assert benchmark(min_version, ARGV, ENV).version is not None
