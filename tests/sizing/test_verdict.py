"""Whether an engine fits is said in one wording, wherever it is asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recipes_core import configure, deploy, load_catalog
from recipes_core.deployment import Deployment
from recipes_core.explorer.panels.explain import memory_html
from recipes_core.explorer.panels.fit import matrix_html
from recipes_core.explorer.panels.memory import verdict_html
from recipes_core.render.beside import figures
from recipes_core.render.comparison import compare
from recipes_core.sizing import H100, size
from recipes_core.sizing.configuration import size_configuration
from recipes_core.sizing.table import sizing_lines
from tests.sizing.rows import architecture

KIMI = "moonshotai/Kimi-K2.5"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def test_each_kind_of_verdict(shared: Path) -> None:
    arch = architecture(shared, LLAMA)
    roomy = size(arch, H100, ["m", "--max-model-len", "8192"]).verdict
    assert roomy.kind == "fits"
    assert re.fullmatch(
        r"Fits: [\d,]+ tokens of KV cache, [\d.]+ requests of 8,192 tokens at once", roomy.text
    )
    ranks = size(arch, H100, ["m", "--max-model-len", "8192", "-dp", "4"])
    assert f"on each of 4 data-parallel ranks ({ranks.kv_tokens * 4:,} together)" in (
        ranks.verdict.text
    )
    short = size(arch, H100, ["m", "--gpu-memory-utilization", "0.3"]).verdict
    assert short.kind == "short"
    assert "missing on each GPU for one request of 131,072 tokens" in short.text
    refused = size(arch, H100, ["m", "-tp", "3"]).verdict
    assert refused.kind == "refused"
    assert refused.text == "Would not start: 32 attention heads are not divisible by TP 3"


@pytest.mark.parametrize("query", ["hardware=h200", "hardware=b200&gpus=4"])
def test_screen_comparison_json_and_terminal_say_the_same(query: str) -> None:
    config = configure(load_catalog(only=[KIMI]), KIMI, query)
    deployment = deploy(config)
    sized = size_configuration(config, deployment)
    assert sized is not None
    text = sized.verdict.text
    assert f"{text}." in verdict_html(deployment, sized)
    assert f"{text}." in memory_html(sized)
    assert f"{text}." in sizing_lines(sized)
    assert figures(config, deployment).sizing["verdict"] == text
    assert _compared(deployment).startswith(sized.verdict.word)
    assert _compared(deployment).endswith("(computed)")


def _compared(deployment: Deployment) -> str:
    rows = compare([(deployment.configuration, deployment)]).rows
    return next(row.cells[0] for row in rows if row.label == "Verdict")


def test_what_is_declared_is_set_against_the_gpus_that_the_engine_takes() -> None:
    asr = "Qwen/Qwen3-ASR-1.7B"
    config = configure(load_catalog(only=[asr]), asr, "hardware=h200")
    assert config.gpus_used == 8
    deployment = deploy(config)
    sized = size_configuration(config, deployment)
    for text in (verdict_html(deployment, sized), matrix_html(config), _compared(deployment)):
        assert "Enough as declared" in text
        assert "1× H200 has 141 GB" in text
        assert "not known (" not in text


def test_each_pool_has_to_hold_what_is_declared() -> None:
    v32 = "deepseek-ai/DeepSeek-V3.2"
    config = configure(load_catalog(only=[v32]), v32, "hardware=h200&strategy=pd_cluster")
    assert config.gpus_used == 16
    assert "8× H200 have 1,128 GB" in verdict_html(deploy(config), None)


def test_a_pipeline_that_wants_more_than_one_gpu_is_promised_none() -> None:
    wan = "Wan-AI/Wan2.2-T2V-A14B-Diffusers"
    config = configure(load_catalog(only=[wan]), wan, "hardware=h200")
    html = verdict_html(deploy(config), None)
    assert "rx-yes" not in html
    assert "One GPU is not enough as declared" in html
    assert "One GPU is not enough as declared" in matrix_html(config)
    assert "One GPU is not enough as declared" in _compared(deploy(config))
    small = configure(load_catalog(only=[wan]), wan, "hardware=h200&task=ti2v")
    assert "Enough as declared" in verdict_html(deploy(small), None)
