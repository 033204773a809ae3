"""Accuracy on measured runs; run with ``-s`` to see the errors row by row.

The constants were fitted on these rows, so this is a guard against regressions and no proof for
models that are not among them.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from tests.sizing.rows import Errors, h100_errors, h200_errors, h200_rows, size_h200


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(abs(v) for v in values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def report(title: str, errors: list[Errors]) -> None:
    print(f"\n{title}: {len(errors)} rows")
    for error in errors:
        print(error.line())
    for name in ("weights", "activation", "kv"):
        values = [getattr(e, name) for e in errors]
        print(
            f"{name:10s} median {percentile(values, 0.5):.4f}  p90 {percentile(values, 0.9):.4f}"
            f"  worst {percentile(values, 1):.4f}"
        )
    print(f"tokens exact {sum(e.exact for e in errors)} of {len(errors)}")


@pytest.fixture(scope="module")
def h200(shared: Path) -> list[Errors]:
    errors = h200_errors(shared)
    report("H200, vLLM 0.25.0", errors)
    return errors


@pytest.fixture(scope="module")
def h100(shared: Path) -> list[Errors]:
    errors = h100_errors(shared)
    report("H100, vLLM 0.19.0", errors)
    return errors


def test_h200_cache_is_exact_from_available_bytes(h200: list[Errors]) -> None:
    assert len(h200) == 90
    assert [e.name for e in h200 if not e.exact] == []


def test_h200_weights(h200: list[Errors]) -> None:
    values = [e.weights for e in h200]
    assert percentile(values, 0.5) <= 0.0005
    assert percentile(values, 0.9) <= 0.06
    assert percentile(values, 1) <= 0.65


def test_h200_activation(h200: list[Errors]) -> None:
    values = [abs(e.activation) for e in h200]
    assert statistics.median(values) <= 0.002
    assert sum(v <= 0.1 for v in values) / len(values) >= 0.98


def test_h200_predicted_kv(h200: list[Errors]) -> None:
    values = [e.kv for e in h200]
    assert percentile(values, 0.5) <= 0.005
    assert percentile(values, 0.9) <= 0.12
    assert sum(abs(v) <= 1.5 for v in values) / len(values) >= 0.98


def test_h200_engine_is_resolved_as_vllm_does(shared: Path) -> None:
    for row in h200_rows(shared):
        resolved, found = row["resolved"], size_h200(shared, row).settings
        assert found.v2 == resolved["v2_runner"], row["id"]
        assert found.seqs == resolved["max_num_seqs"], row["id"]
        assert found.tokens == resolved["max_num_batched_tokens"], row["id"]
        assert found.max_model_len == resolved["max_model_len_final"], row["id"]
        assert found.kv.mamba_mode == row["measured"]["mamba_cache_mode"], row["id"]
        assert found.utilization == resolved["gpu_memory_utilization"], row["id"]
        assert found.captures == (resolved["cg_sizes"] or [0])[0], row["id"]
        assert not found.problems, row["id"]


def test_h100_weights(h100: list[Errors]) -> None:
    values = [e.weights for e in h100]
    assert len(values) == 48
    assert percentile(values, 0.5) <= 0.02
    assert percentile(values, 0.9) <= 0.75
    assert percentile(values, 1) <= 1.4


def test_h100_predicted_kv(h100: list[Errors]) -> None:
    values = [e.kv for e in h100]
    assert percentile(values, 0.5) <= 0.08
    assert percentile(values, 0.9) <= 0.35


def test_h100_tokens_from_logged_bytes(h100: list[Errors]) -> None:
    assert sum(e.exact for e in h100) / len(h100) >= 0.95
    assert max(e.tokens_off for e in h100) <= 1.5


def test_every_measured_figure_lies_in_its_band(shared: Path) -> None:
    names = {
        "weights": "model_weights_bytes",
        "activation": "peak_activation_bytes",
        "non_torch": "non_torch_bytes",
        "kv_cache": "available_kv_bytes",
    }
    outside = []
    for row in h200_rows(shared):
        found = size_h200(shared, row)
        for part, measured in names.items():
            low, high = found.band[part]
            if not low <= row["measured"][measured] <= high:
                outside.append(f"{row['id']}: {part}")
    assert len(outside) <= 4, outside
