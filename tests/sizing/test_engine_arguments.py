"""Everything that matters for memory is read from the command itself."""

from __future__ import annotations

import pytest

from recipes_core.sizing import ConfigError, EngineArguments


def read(command: str, **env: str) -> EngineArguments:
    return EngineArguments.from_argv(command.split(), env)


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        ("vllm serve m -tp 4", "tp", 4),
        ("vllm serve m --tensor-parallel-size=4", "tp", 4),
        ("vllm serve m --tensor_parallel_size 4", "tp", 4),
        ("vllm serve m -pp 2", "pp", 2),
        ("vllm serve m -dp 8", "dp", 8),
        ("vllm serve m -dcp 2", "dcp", 2),
        ("vllm serve m --max-model-len 32k", "max_model_len", 32_000),
        ("vllm serve m --max-model-len 32K", "max_model_len", 32_768),
        ("vllm serve m --max-model-len auto", "max_model_len_auto", True),
        ("vllm serve m --max-model-len -1", "max_model_len_auto", True),
        ("vllm serve m --kv-cache-memory-bytes 20G", "kv_cache_bytes", 20 << 30),
        ("vllm serve m --enforce-eager", "eager", True),
        ("vllm serve m --no-enable-prefix-caching", "prefix_caching", False),
        ("vllm serve m --enable-prefix-caching", "prefix_caching", True),
        ("vllm serve m --no-async-scheduling", "async_scheduling", False),
        ("vllm serve m --disable-hybrid-kv-cache-manager", "hybrid_manager", False),
        ("vllm serve m --cpu-offload-gb 10", "cpu_offload", 10 << 30),
        ("vllm serve m --enable-lora --max-loras 4", "loras", 4),
        ("vllm serve m --max-loras 4", "loras", 0),
        ("vllm serve m --language-model-only", "multimodal_off", True),
        ('vllm serve m --limit-mm-per-prompt {"image":0}', "multimodal_off", True),
        ("vllm serve m --limit-mm-per-prompt.image 0", "multimodal_off", True),
        ("vllm serve m --limit-mm-per-prompt image=0,video=0", "multimodal_off", True),
        ('vllm serve m --limit-mm-per-prompt {"image":2}', "multimodal_off", False),
        ("vllm serve m --limit-mm-per-prompt.image.count 0", "multimodal_off", True),
        ("vllm serve m --mm-encoder-tp-mode data", "tower_replicated", True),
        ('vllm serve m -sc {"method":"mtp","num_speculative_tokens":3}', "spec_tokens", 3),
        ('vllm serve m --speculative-config {"method":"deepseek_mtp"}', "spec_method", "mtp"),
        ("vllm serve m --speculative-config.method eagle3", "spec_method", "eagle3"),
        ('vllm serve m -cc {"cudagraph_mode":"NONE"}', "no_graphs", True),
        ("vllm serve m -cc.cudagraph_mode NONE", "no_graphs", True),
        ('vllm serve m -cc {"cudagraph_capture_sizes":[1,2,4]}', "capture_sizes", 3),
        ("vllm serve m --max-cudagraph-capture-size 128", "capture_sizes", 19),
        ("vllm serve m -O0", "no_compile", True),
        ("vllm serve m -tp 2 -tp 4", "tp", 4),
        ("vllm serve m --enable-dbo", "not_everywhere", {"--enable-dbo"}),
        ("-tp 2", "tp", 2),
        ("org/repo -tp 2", "model", "org/repo"),
        ("vllm serve org/repo -tp 2", "model", "org/repo"),
        ("vllm serve --model org/repo", "model", "org/repo"),
        ("$CONDA/bin/vllm serve org/repo", "model", "org/repo"),
        ("vllm serve m --gpu-memory-utilization 0.5", "utilization", 0.5),
    ],
)
def test_value(command: str, name: str, value: object) -> None:
    assert getattr(read(command), name) == value


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve m --tensor-parallel-size two",
        "vllm serve m --tensor-parallel-size 0",
        "vllm serve m --tensor-parallel-size -2",
        "vllm serve m --gpu-memory-utilization 1.5",
        "vllm serve m --gpu-memory-utilization nan",
        "vllm serve m --max-model-len lots",
        "vllm serve m --hf-overrides {bad",
        "vllm serve m --limit-mm-per-prompt image=many",
        'vllm serve m --limit-mm-per-prompt {"image":-1}',
        "vllm serve m --mamba-cache-mode alle",
        "vllm serve m --speculative-config [1]",
    ],
)
def test_value_that_the_engine_refuses(command: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(command)
    assert "--" in caught.value.where


def test_placeholder_leaves_the_default_and_is_said() -> None:
    found = read("vllm serve m --max-model-len $LENGTH --tensor-parallel-size $TP")
    assert found.max_model_len is None
    assert found.tp == 1
    assert any("$LENGTH" in note for note in found.notes)


def test_default_capture_list_is_vllms() -> None:
    from recipes_core.sizing.engine import default_capture_sizes

    assert default_capture_sizes(512) == 51
    assert default_capture_sizes(128) == 19
    assert default_capture_sizes(4) == 3
