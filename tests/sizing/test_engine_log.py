# ruff: noqa: E501 - lines of logs are as long as they are
"""Start-up logs of several releases are read, and our figures stand beside theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipes_core.sizing import H100, Sizing, size
from recipes_core.sizing.answers import longest_context
from recipes_core.sizing.engine_log import compare_log, other_engine, parse_engine_log
from tests.sizing.rows import GIB, architecture

OLD = """\
INFO 10-02 09:00:00 [api_server.py:1839] vLLM API server version 0.11.0
(EngineCore_DP0 pid=7) INFO 10-02 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: \
model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, \
tensor_parallel_size=2, pipeline_parallel_size=1, quantization=None, enforce_eager=False, \
kv_cache_dtype=auto
\x1b[1;36m(Worker_TP0 pid=9)\x1b[0;0m INFO [gpu_model_runner.py:2653] Model loading took 7.5123 GiB \
and 3.1 seconds
(Worker_TP1 pid=10) INFO [gpu_model_runner.py:2653] Model loading took 7.5123 GiB and 3.2 seconds
(Worker_TP0 pid=9) INFO [gpu_worker.py:298] Available KV cache memory: 63.76 GiB
(Worker_TP1 pid=10) INFO [gpu_worker.py:298] Available KV cache memory: 63.80 GiB
(EngineCore_DP0 pid=7) INFO [kv_cache_utils.py:1087] GPU KV cache size: 1,044,688 tokens
(EngineCore_DP0 pid=7) INFO [kv_cache_utils.py:1091] Maximum concurrency for 8,192 tokens per \
request: 127.53x
(Worker_TP0 pid=9) INFO [gpu_model_runner.py:3480] Graph capturing finished in 9 secs, took 0.76 GiB
"""

PROFILE = """\
Free memory on device (78.6/79.19 GiB) on startup. Desired GPU memory utilization is \
(0.95, 75.23 GiB). torch peak memory increase: 1.89GiB; non-torch forward increase memory: 0.25GiB; \
weights memory: 14.99GiB.
Model loading took 14.99 GiB memory and 2.2 seconds
Chunked prefill is enabled with max_num_batched_tokens=8192.
Available KV cache memory: 58.11 GiB
GPU KV cache size: 476,016 tokens, Maximum concurrency for 8,192 tokens per request: 58.11x
"""

REFUSED = """\
ValueError: To serve at least one request with the models's max seq len (262144), (70.79 GiB KV \
cache is needed, which is larger than the available KV cache memory (49.0 GiB). Based on the \
available memory, the estimated maximum model length is 58368. Try increasing \
`gpu_memory_utilization` or decreasing `max_model_len`.
"""


def test_log_of_0_11() -> None:
    log = parse_engine_log(OLD)
    assert log.vllm == "0.11.0"
    assert log.arguments["model"] == "meta-llama/Llama-3.1-8B-Instruct"
    assert log.arguments["tensor_parallel_size"] == "2"
    assert log.arguments["max_seq_len"] == "8192"
    assert [w.value / GIB for w in log.weights] == pytest.approx([7.5123, 7.5123])
    assert [a.value / GIB for a in log.available_kv] == pytest.approx([63.76, 63.80])
    assert log.figures["kv_tokens"].value == 1_044_688
    assert log.figures["max_concurrency"].value == 127.53
    assert log.figures["concurrency_length"].value == 8192
    assert log.figures["cuda_graphs"].value == pytest.approx(0.76 * GIB)
    assert OLD.splitlines()[log.available_kv[0].line - 1].endswith("63.76 GiB")


def test_profile_lines_and_one_line_of_newer_releases() -> None:
    log = parse_engine_log(PROFILE)
    assert log.figures["activation"].value == pytest.approx(1.89 * GIB)
    assert log.figures["non_torch"].value == pytest.approx(0.25 * GIB)
    assert log.figures["gpu_total"].value == pytest.approx(79.19 * GIB)
    assert log.figures["utilization"].value == 0.95
    assert log.figures["kv_tokens"].value == 476_016
    assert log.figures["max_concurrency"].value == 58.11
    assert log.figures["max_num_batched_tokens"].value == 8192


def test_refusal() -> None:
    log = parse_engine_log(REFUSED)
    assert log.figures["needed_kv"].value == pytest.approx(70.79 * GIB)
    assert log.figures["estimated_length"].value == 58_368


def test_text_that_is_no_log() -> None:
    assert parse_engine_log("").is_empty
    assert parse_engine_log("hello\n" * 10).is_empty
    assert parse_engine_log("GPU KV cache size: many tokens").is_empty


def test_long_line_is_cut_and_not_scanned_forever() -> None:
    assert parse_engine_log("(" * 2_000_000 + "\n" + PROFILE).figures["kv_tokens"].value == 476_016


def test_figures_beside_ours(shared: Path) -> None:
    arch = architecture(shared, "meta-llama/Llama-3.1-8B-Instruct")
    words = ["m", "--gpu-memory-utilization", "0.95", "--max-model-len", "8192"]
    log = parse_engine_log(PROFILE)
    ours = size(arch, H100, words, vllm="0.19.0")
    given = size(
        arch, H100, words, vllm="0.19.0", available_kv_bytes=int(log.available_kv[0].value)
    )
    found = {d.name: d for d in compare_log(log, ours, given)}
    assert found["weights"].verdict == "equal"
    assert found["activation"].verdict in ("equal", "near")
    assert found["kv_tokens"].verdict in ("equal", "near")
    assert abs(found["kv_tokens"].percent) < 0.1
    assert found["kv_tokens at the logged bytes"].verdict == "equal"
    assert all(d.explanation for d in found.values() if d.verdict != "equal")


def test_difference_that_cannot_be_explained_by_rounding(shared: Path) -> None:
    arch = architecture(shared, "meta-llama/Llama-3.1-8B-Instruct")
    words = [
        "m",
        "--gpu-memory-utilization",
        "0.95",
        "--max-model-len",
        "8192",
        "--quantization",
        "fp8",
    ]
    ours = size(arch, H100, words, vllm="0.19.0")
    found = {d.name: d for d in compare_log(parse_engine_log(PROFILE), ours)}
    assert found["weights"].verdict == "apart"
    assert "quantization" in found["weights"].explanation


@pytest.mark.parametrize(
    "line",
    [
        "Model loading took 14.99 GiB memory and 2.2 seconds",
        "Model loading took 14.9900 GiB and 2.2 seconds",
        "Loading model weights took 14.9900 GB",
        "(Worker pid=1) INFO 11-30 12:00:00 [gpu_model_runner.py:5] Model loading took 15349.8 MiB",
    ],
)
def test_weights_line_of_many_releases(line: str) -> None:
    assert parse_engine_log(line).weights[0].value / GIB == pytest.approx(14.99, abs=0.001)


def test_negative_available_memory() -> None:
    log = parse_engine_log("Available KV cache memory: -3.10 GiB")
    assert log.available_kv[0].value == pytest.approx(-3.10 * GIB)


def test_how_a_logs_engine_was_started_otherwise_is_told(shared: Path) -> None:
    arch = architecture(shared, "meta-llama/Llama-3.1-8B-Instruct")
    flags = ["vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "4096"]
    sized = size(arch, H100, flags, vllm="0.19.0")
    found = {
        item.name: (item.logged, item.ours) for item in other_engine(parse_engine_log(OLD), sized)
    }
    assert found == {
        "vllm": ("0.11.0", "0.19.0"),
        "tensor_parallel_size": ("2", "1"),
        "max_model_len": ("8192", "4096"),
    }
    lengths = [d for d in compare_log(parse_engine_log(OLD), sized) if d.name == "max_concurrency"]
    assert "requests of 8,192 tokens, ours for 4,096" in lengths[0].explanation
    own = OLD.replace("model='meta-llama/Llama-3.1-8B-Instruct'", "model='/data/llama'")
    assert "model" not in {item.name for item in other_engine(parse_engine_log(own), sized)}


def test_an_engine_is_not_another_for_the_length_of_its_numbers(shared: Path) -> None:
    arch = architecture(shared, "meta-llama/Llama-4-Scout-17B-16E-Instruct")
    sized = size(arch, H100, ["m", "-tp", "8", "--max-model-len", "10485760"], vllm="0.25.0")
    printed = parse_engine_log("\n".join(sized.log_lines))
    assert other_engine(printed, sized) == []
    rounded = f"INFO non-default args: {{'gpu_memory_utilization': '{sized.utilization:.4f}'}}"
    assert parse_engine_log(rounded).arguments == {"gpu_memory_utilization": "0.9200"}
    assert other_engine(parse_engine_log(rounded), sized) == []


@pytest.mark.parametrize(
    "text",
    [
        "Available KV cache memory: " + "9" * 5000 + " GiB",
        "GPU KV cache size: " + "9" * 400 + " tokens",
        "0," * 100_000,
        "1" * 19_000 + " GiB KV cache is needed",
        "Graph capturing finished " * 8000,
        "engine max_seq_len=" + "9" * 400 + " tensor_parallel_size=-3\nModel loading took 5 GiB",
    ],
)
def test_a_log_of_nonsense_breaks_nothing(shared: Path, text: str) -> None:
    sized = size(architecture(shared, "meta-llama/Llama-3.1-8B-Instruct"), H100, ["m"])
    log = parse_engine_log(text)
    compare_log(log, sized)
    other_engine(log, sized)
    assert all(entry.value < 1e60 for entry in (*log.available_kv, *log.figures.values()))


def test_a_refusal_for_want_of_cache_stands_beside_ours(shared: Path) -> None:
    arch = architecture(shared, "meta-llama/Llama-3.1-8B-Instruct")
    log = parse_engine_log(REFUSED.replace("262144", "131072").replace("70.79", "16.0"))
    assert log.available_kv[0].value == 49 * GIB
    ours = size(arch, H100, ["m"])
    given = size(arch, H100, ["m"], available_kv_bytes=49 * GIB)
    found = {d.name: d for d in compare_log(log, ours, given)}
    assert found["needed_kv"].verdict == "equal"
    assert found["available_kv"].logged == 49 * GIB
    longest = found["longest context at the logged bytes"]
    assert longest.ours == longest_context(given)
    shorter = size(arch, H100, ["m", "--max-model-len", "8192"])
    told = {d.name: d for d in compare_log(log, shorter)}["needed_kv"]
    assert "requests of 131,072 tokens, ours for 8,192" in told.explanation
    assert {item.name for item in other_engine(log, shorter)} == {"max_model_len"}


def test_memory_that_ran_out_and_another_card_are_told(shared: Path) -> None:
    arch = architecture(shared, "meta-llama/Llama-3.1-8B-Instruct")
    log = parse_engine_log(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
        "total capacity of 39.39 GiB of which 1.20 GiB is free."
    )
    found = {d.name: d for d in compare_log(log, size(arch, H100, ["m"]))}
    assert found["gpu_total"].verdict == "apart"
    assert found["out_of_memory"].logged == 2 * GIB
    assert "--gpu-memory-utilization" in found["out_of_memory"].explanation


def test_what_follows_from_the_cache_has_the_caches_band(shared: Path) -> None:
    arch = architecture(shared, "meta-llama/Llama-3.1-8B-Instruct")
    ours = size(arch, H100, ["m", "--max-model-len", "8192"])
    low, high = ours.band["kv_cache"]
    for size_, verdict in (((low + ours.available) // 2, "near"), (high + GIB, "apart")):
        there = size(arch, H100, ["m", "--max-model-len", "8192"], available_kv_bytes=size_)
        found = {d.name: d.verdict for d in compare_log(parse_engine_log(_printed(there)), ours)}
        assert found["available_kv"] == verdict
        assert found["kv_tokens"] == verdict
        assert found["max_concurrency"] == verdict


def _printed(sizing: Sizing) -> str:
    return "\n".join(sizing.log_lines)
