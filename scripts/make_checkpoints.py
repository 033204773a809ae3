"""Makes `recipes/checkpoints/<org>/<repo>.yaml` from a folder of config.json files.

    python scripts/make_checkpoints.py CONFIGS [--recipes DIR]... [--only org/repo]...

CONFIGS holds one `<org>--<repo>.json` per checkpoint, `ALIASES.json` (checkpoint id to the stem of
a file with the same architecture and storage) and `PROVENANCE.json`. A file is written for each
checkpoint that a recipe serves and for which a config or an alias is there. Existing files are
replaced, since they hold facts alone.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

from recipes_core.catalog.yaml_reader import parse_yaml
from recipes_core.sizing.architecture import Architecture
from recipes_core.sizing.checkpoint import CheckpointDocument, checkpoint_path, to_checkpoint
from recipes_core.sizing.facts import sizing_facts

REPO = Path(__file__).resolve().parent.parent
WITH_TOWER = {
    # The id's own file has no vision_config; this one has it.
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "variant--Llama-4-Scout-17B-16E-Instruct-vision",
}
OTHER_STORAGE = {
    # The file at hand is a 16-bit view; the published checkpoint is stored in FP8.
    "mistralai/Ministral-3-3B-Instruct-2512",
}
QUANTIZED_BESIDE = {
    # The quantization stands in a file of its own, which was not at hand; as in its siblings.
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8": {
        "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}
    },
}
NAMED = (
    "google/gemma-3-27b-it",
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.3-70B-Instruct",
    "openai/gpt-oss-20b",
    "openai/gpt-oss-120b",
    "deepseek-ai/DeepSeek-V3.2",
    "deepseek-ai/DeepSeek-R1",
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3-235B-A22B-Instruct-2507",
    "moonshotai/Kimi-K2-Instruct",
)


BLOCK_FP8 = {
    "quant_method": "fp8",
    "activation_scheme": "dynamic",
    "weight_block_size": [128, 128],
    "modules_to_not_convert": ["lm_head", "mlp.gate"],
}
HYBRID_FP8 = {
    **BLOCK_FP8,
    # That linear attention stays in 16 bits is what the logged weights of two runs say.
    "modules_to_not_convert": [
        "lm_head",
        "mlp.gate",
        "shared_expert_gate",
        "linear_attn",
        "visual",
    ],
}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
W8A8 = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "ignore": ["lm_head"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True},
        }
    },
}
CHANNEL_FP8 = {
    "quant_method": "compressed-tensors",
    "format": "float-quantized",
    "ignore": ["lm_head", "re:.*mlp\\.gate$"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "float", "strategy": "channel"},
        }
    },
}
TENSOR_FP8 = {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}
NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}
HEAD = {"exclude_modules": ["lm_head"]}
QWEN3_4B = {
    "hidden_size": 2560,
    "intermediate_size": 9728,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": True,
}
QWEN25_VL_72B = {
    "hidden_size": 8192,
    "intermediate_size": 29568,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vision_config": {"intermediate_size": 3456, "out_hidden_size": 8192},
}
PHI_4_MINI = {
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 32,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "vocab_size": 200064,
    "max_position_embeddings": 131072,
    "original_max_position_embeddings": 4096,
    "partial_rotary_factor": 0.75,
    "rope_scaling": {"rope_type": "longrope", "type": "longrope"},
    "sliding_window": 262144,
    "tie_word_embeddings": True,
}


def quantized(config: dict[str, Any]) -> dict[str, Any]:
    return {"quantization_config": config}


DERIVED: dict[str, tuple[str, dict[str, Any]]] = {
    "Qwen/Qwen3-4B": ("Qwen--Qwen3-8B", QWEN3_4B),
    "Qwen/Qwen3-4B-FP8": ("Qwen--Qwen3-8B", {**QWEN3_4B, **quantized(BLOCK_FP8)}),
    "Qwen/Qwen3-32B-AWQ": ("Qwen--Qwen3-32B", quantized(AWQ)),
    "Qwen/Qwen2.5-VL-72B-Instruct": ("Qwen--Qwen2.5-VL-7B-Instruct", QWEN25_VL_72B),
    "Qwen/Qwen2.5-VL-72B-Instruct-AWQ": (
        "Qwen--Qwen2.5-VL-7B-Instruct",
        {**QWEN25_VL_72B, **quantized({**AWQ, "modules_to_not_convert": ["visual"]})},
    ),
    "Qwen/Qwen2.5-VL-7B-Instruct-AWQ": (
        "Qwen--Qwen2.5-VL-7B-Instruct",
        quantized({**AWQ, "modules_to_not_convert": ["visual"]}),
    ),
    "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8": ("Qwen--Qwen3-235B-A22B-FP8", {}),
    "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8": (
        "Qwen--Qwen3-Coder-480B-A35B-Instruct",
        quantized(BLOCK_FP8),
    ),
    "Qwen/Qwen3-VL-235B-A22B-Instruct-FP8": (
        "Qwen--Qwen3-VL-235B-A22B-Instruct",
        quantized(HYBRID_FP8),
    ),
    "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8": (
        "Qwen--Qwen3-Next-80B-A3B-Instruct",
        quantized(HYBRID_FP8),
    ),
    "Qwen/Qwen3.5-27B-FP8": ("Qwen--Qwen3.5-27B", quantized(HYBRID_FP8)),
    "Qwen/Qwen3.6-27B-FP8": ("Qwen--Qwen3.5-27B", quantized(HYBRID_FP8)),
    "Qwen/Qwen3.5-35B-A3B-FP8": ("Qwen--Qwen3.5-35B-A3B", quantized(HYBRID_FP8)),
    "Qwen/Qwen3.6-35B-A3B-FP8": ("Qwen--Qwen3.5-35B-A3B", quantized(HYBRID_FP8)),
    "Qwen/Qwen3.5-122B-A10B-FP8": ("Qwen--Qwen3.5-122B-A10B", quantized(HYBRID_FP8)),
    "Qwen/Qwen3.5-397B-A17B-FP8": ("Qwen--Qwen3.5-397B-A17B", quantized(HYBRID_FP8)),
    "microsoft/Phi-4-mini-instruct": ("microsoft--phi-4", PHI_4_MINI),
    "microsoft/Phi-4-mini-reasoning": ("microsoft--phi-4", PHI_4_MINI),
    "nvidia/Llama-3.1-8B-Instruct-FP8": (
        "meta-llama--Meta-Llama-3.1-8B",
        quantized({**TENSOR_FP8, **HEAD}),
    ),
    "nvidia/Llama-3.3-70B-Instruct-NVFP4": (
        "meta-llama--Meta-Llama-3.1-70B",
        quantized({**NVFP4, **HEAD}),
    ),
    "RedHatAI/Llama-3.2-1B-Instruct-quantized.w8a8": (
        "meta-llama--Llama-3.2-1B",
        quantized(W8A8),
    ),
    "RedHatAI/Llama-3.2-3B-Instruct-quantized.w8a8": (
        "meta-llama--Llama-3.2-3B",
        quantized(W8A8),
    ),
    "AMead10/Llama-3.2-1B-Instruct-AWQ": ("meta-llama--Llama-3.2-1B", quantized(AWQ)),
    "AMead10/Llama-3.2-3B-Instruct-AWQ": ("meta-llama--Llama-3.2-3B", quantized(AWQ)),
    "zai-org/GLM-4.5-FP8": ("zai-org--GLM-4.5", quantized(CHANNEL_FP8)),
    "zai-org/GLM-4.6-FP8": ("zai-org--GLM-4.5", quantized(CHANNEL_FP8)),
    "zai-org/GLM-4.7-FP8": ("zai-org--GLM-4.5", quantized(CHANNEL_FP8)),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16": (
        "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
        {},
    ),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-Base-BF16": (
        "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
        {},
    ),
    "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16": (
        "nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
        {"hf_quant_config": None},
    ),
}
"""Checkpoints whose own config was not at hand: a sibling's, and what is published to differ."""


class _Dumper(yaml.SafeDumper):
    """Lists of plain values on one line."""


def _flow_list(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.Node:
    plain = all(isinstance(v, (int, float, str)) for v in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=plain)


_Dumper.add_representer(list, _flow_list)


def served(folder: Path) -> dict[str, int | None]:
    """Every checkpoint that the recipes of a catalog serve, with its declared context."""
    found: dict[str, int | None] = {}
    for path in sorted((folder / "models").glob("*/*.yaml")):
        data = parse_yaml(path.read_text(encoding="utf-8"), str(path))
        model = data.get("model") or {}
        context = model.get("context_length")
        found[str(model.get("model_id") or f"{path.parent.name}/{path.stem}")] = context
        for variant in (data.get("variants") or {}).values():
            if isinstance(variant, dict) and variant.get("model_id"):
                found.setdefault(str(variant["model_id"]), context)
    return found


def basis_of(stem: str, provenance: dict[str, str]) -> str:
    """Whether a config was published as it is or rebuilt."""
    text = provenance.get(stem, "")
    whole = text.startswith("real HF config.json") and "reconstructed" not in text
    return "config" if whole and " + " not in text else "reconstructed"


def source_of(model: str, stem: str, basis: str, alias: bool) -> str:
    """One line that says where the facts come from."""
    config = "the published config.json" if basis == "config" else "published facts of the config"
    own = stem.replace("--", "/", 1)
    if alias and not stem.startswith("variant--"):
        return f"{config} of {own}, which has the same architecture and storage"
    return f"{config} of {model}"


def changed(config: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A config with other values; nested objects are merged, None removes a key."""
    result = dict(config)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = changed(result[key], value)
        else:
            result[key] = value
    return result


def with_context(config: dict[str, Any], context: int) -> dict[str, Any]:
    """A sibling's config with the context that the recipe declares."""
    text = config.get("text_config")
    if isinstance(text, dict):
        return {**config, "text_config": with_context(text, context)}
    return {**config, "max_position_embeddings": context}


def document(
    model: str, stem: str, configs: Path, provenance: dict[str, str], context: int | None
) -> dict[str, Any]:
    """The content of one file."""
    config = json.loads((configs / f"{stem}.json").read_text(encoding="utf-8"))
    basis = basis_of(stem, provenance)
    if model in QUANTIZED_BESIDE:
        config["hf_quant_config"] = QUANTIZED_BESIDE[model]
        basis = "reconstructed"
    alias = stem != model.replace("/", "--")
    source = source_of(model, stem, basis, alias)
    if model in DERIVED:
        config = changed(config, DERIVED[model][1])
        basis = "reconstructed"
        source = f"the config of {stem.replace('--', '/', 1)} with what is published to differ"
    if alias and context and Architecture.from_config(config).positions != context:
        config, basis = with_context(config, context), "reconstructed"
        source += f"; context of {context:,} tokens as its recipe declares"
    found: dict[str, Any] = {"source": source}
    if basis != "config":
        found["basis"] = basis
    found["config"] = sizing_facts(config)
    return found


def write(path: Path, content: dict[str, Any]) -> None:
    """Writes a file after checking that it reads back."""
    text = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=98, allow_unicode=True)
    to_checkpoint(CheckpointDocument.model_validate(parse_yaml(text, str(path))))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", type=Path)
    parser.add_argument("--recipes", type=Path, action="append", default=[])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--into", type=Path, default=REPO / "recipes")
    options = parser.parse_args()
    aliases = json.loads((options.configs / "ALIASES.json").read_text(encoding="utf-8"))
    provenance = json.loads((options.configs / "PROVENANCE.json").read_text(encoding="utf-8"))
    wanted: dict[str, int | None] = dict.fromkeys(NAMED)
    for folder in [*options.recipes, options.into]:
        wanted.update(served(folder))
    if options.only:
        wanted = {model: wanted.get(model) for model in options.only}
    missing = []
    for model in sorted(wanted):
        stem = WITH_TOWER.get(model) or model.replace("/", "--")
        if not (options.configs / f"{stem}.json").is_file():
            stem = aliases.get(model) or DERIVED.get(model, ("",))[0]
        if not stem or model in OTHER_STORAGE:
            missing.append(model)
            continue
        path = checkpoint_path(options.into, model)
        content = document(model, stem, options.configs, provenance, wanted[model])
        write(path, content)
    print(f"{len(wanted) - len(missing)} written, {len(missing)} without a config:")
    print("\n".join(f"  {model}" for model in missing))


if __name__ == "__main__":
    main()
