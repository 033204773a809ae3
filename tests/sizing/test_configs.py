"""A config.json that is wrong gives a clear error or a stated assumption, never a silent number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipes_core.errors import RecipesError
from recipes_core.sizing import H200, Architecture, ConfigError, size

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
MIXTRAL = {
    **LLAMA,
    "model_type": "mixtral",
    "architectures": ["MixtralForCausalLM"],
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}


def without(key: str) -> dict[str, Any]:
    return {k: v for k, v in LLAMA.items() if k != key}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (without("hidden_size"), "hidden_size"),
        (without("vocab_size"), "vocab_size"),
        (without("num_hidden_layers"), "num_hidden_layers"),
        (without("intermediate_size"), "intermediate_size"),
        ({**LLAMA, "hidden_size": None}, "hidden_size"),
        ({**LLAMA, "hidden_size": -4096}, "hidden_size"),
        ({**LLAMA, "hidden_size": 0}, "hidden_size"),
        ({**LLAMA, "hidden_size": 10**15}, "hidden_size"),
        ({**LLAMA, "hidden_size": "4096"}, "hidden_size"),
        ({**LLAMA, "hidden_size": 4096.5}, "hidden_size"),
        ({**LLAMA, "hidden_size": True}, "hidden_size"),
        ({**LLAMA, "hidden_size": float("nan")}, "hidden_size"),
        ({**LLAMA, "num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({**LLAMA, "num_key_value_heads": 5}, "num_key_value_heads"),
        ({**LLAMA, "num_attention_heads": 33}, "num_attention_heads"),
        ({**LLAMA, "torch_dtype": "int3"}, "torch_dtype"),
        ({**LLAMA, "layer_types": ["full_attention"] * 3}, "layer_types"),
        ({**LLAMA, "layer_types": ["full_attention"] * 33}, "layer_types"),
        ({**LLAMA, "layer_types": ["ful_attention"] * 32}, "layer_types"),
        ({**LLAMA, "layer_types": "full_attention"}, "layer_types"),
        ({**LLAMA, "quantization_config": "fp8"}, "quantization_config"),
        ({**LLAMA, "quantization_config": {"quant_method": "ftp8"}}, "quant_method"),
        ({**LLAMA, "quantization_config": {"quant_method": "awq", "bits": 3}}, "bits"),
        (
            {
                **LLAMA,
                "quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 64]},
            },
            "weight_block_size",
        ),
        ({**LLAMA, "text_config": [1]}, "(whole)"),
        ({**MIXTRAL, "num_experts_per_tok": 9}, "num_experts_per_tok"),
        ({**MIXTRAL, "num_experts_per_tok": 0}, "num_experts_per_tok"),
        ({**LLAMA, "rope_scaling": {"rope_type": "yarn", "factor": -2}}, "factor"),
        ({**LLAMA, "architectures": "LlamaForCausalLM"}, "architectures"),
    ],
)
def test_bad_field_is_named(config: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Architecture.from_config(config)
    assert caught.value.key == key
    assert key in str(caught.value)


def test_error_names_the_nearest_spelling() -> None:
    config = {**without("hidden_size"), "hiden_size": 4096}
    with pytest.raises(ConfigError, match="did you mean `hiden_size`"):
        Architecture.from_config(config)
    with pytest.raises(ConfigError, match="did you mean `full_attention`"):
        Architecture.from_config({**LLAMA, "layer_types": ["ful_attention"] * 32})


def test_error_names_what_was_found_and_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"config\.json: `hidden_size` is -1; allowed: 1 to"):
        Architecture.from_config({**LLAMA, "hidden_size": -1})


def test_error_of_a_long_value_is_short() -> None:
    with pytest.raises(ConfigError) as caught:
        Architecture.from_config({**LLAMA, "hidden_size": "9" * 100_000})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{", "is not JSON"), ("[1]", "an object is needed"), ("\x00", "is not JSON")],
)
def test_file_that_is_no_config(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=problem):
        Architecture.from_config(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        Architecture.from_config(tmp_path / "config.json")


def test_huge_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(17 << 20)
    with pytest.raises(ConfigError, match="larger than 16 MiB"):
        Architecture.from_config(path)


def test_deeply_nested_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("[" * 200_000)
    with pytest.raises(ConfigError, match="is not JSON"):
        Architecture.from_config(path)


def test_missing_dtype_is_an_assumption() -> None:
    arch = Architecture.from_config(without("torch_dtype"))
    assert arch.dtype == "bfloat16"
    assert any("dtype" in note for note in size(arch, H200).assumptions)


def test_missing_context_length_is_an_assumption() -> None:
    found = size(Architecture.from_config(without("max_position_embeddings")), H200)
    assert found.max_model_len == 2048
    assert any("context length" in note for note in found.assumptions)


def test_unknown_architecture_says_what_is_missing() -> None:
    strange = {**LLAMA, "model_type": "newthing", "ssm_state_size": 64}
    found = size(Architecture.from_config(strange), H200)
    assert found.weights is None
    assert found.kv_tokens is None
    assert found.fits is None
    assert any("ssm_state_size" in note for note in found.assumptions)
    assert found.to_json()["per_gpu"]["kv_cache"] is None


def test_unknown_architecture_without_layers_keeps_what_is_known() -> None:
    strange = {"model_type": "newthing", "hidden_size": 64, "vocab_size": 1000}
    found = size(Architecture.from_config(strange), H200)
    assert found.weights is None
    assert found.non_torch is not None
    assert any("num_hidden_layers" in note for note in found.assumptions)


def test_unknown_but_ordinary_decoder_is_read_as_one() -> None:
    arch = Architecture.from_config({**LLAMA, "model_type": "newthing"})
    found = size(arch, H200)
    assert found.weights == pytest.approx(size(Architecture.from_config(LLAMA), H200).weights)
    assert any("not known here" in note for note in found.assumptions)
    low, high = found.band["weights"]
    assert (high - low) / found.weights >= 0.05


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 10**20),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.integers(-2, 3), max_size=3),
    st.dictionaries(st.sampled_from(["factor", "rope_type", "x"]), st.integers(), max_size=2),
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([LLAMA, MIXTRAL]),
    st.dictionaries(
        st.sampled_from(
            [
                *MIXTRAL,
                "sliding_window",
                "layer_types",
                "rope_scaling",
                "head_dim",
                "vision_config",
                "quantization_config",
                "first_k_dense_replace",
                "moe_layer_freq",
                "kv_lora_rank",
                "hybrid_override_pattern",
                "partial_rotary_factor",
            ]
        ),
        VALUES,
        max_size=4,
    ),
)
def test_any_config_is_sized_or_refused(base: dict[str, Any], changes: dict[str, Any]) -> None:
    """Nothing but a `RecipesError` comes out, and no figure is negative or not finite."""
    try:
        found = size(Architecture.from_config({**base, **changes}), H200)
    except RecipesError:
        return
    text = json.dumps(found.to_json(), allow_nan=False)
    assert all(v is None or v >= 0 for k, v in found.per_gpu.items() if k != "free"), text


def test_no_experts_at_all_is_a_dense_model() -> None:
    arch = Architecture.from_config({**MIXTRAL, "num_local_experts": 0})
    assert not arch.is_moe


@pytest.mark.parametrize("kind", ["fp8_per_token_head", "turboquant_4bit_nc", "octave_k3v3"])
def test_cache_type_of_unknown_layout_gives_no_tokens(kind: str) -> None:
    found = size(Architecture.from_config(LLAMA), H200, ["m", "--kv-cache-dtype", kind])
    assert found.weights
    assert (found.kv_tokens, found.fits, found.kv_bytes_per_token) == (None, None, None)
    assert any(kind in note for note in found.assumptions)


def test_cache_type_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="allowed: auto"):
        size(Architecture.from_config(LLAMA), H200, ["m", "--kv-cache-dtype", "fp9"])
