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
from dataclasses import dataclass
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
SIXTEEN_BITS = ["lm_head", "mlp.gate", "shared_expert_gate", "visual"]
HYBRID_FP8 = {**BLOCK_FP8, "modules_to_not_convert": [*SIXTEEN_BITS, "linear_attn"]}
QWEN35_FP8 = {
    **BLOCK_FP8,
    "modules_to_not_convert": [*SIXTEEN_BITS, "in_proj_a", "in_proj_b", "conv1d"],
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


@dataclass(frozen=True)
class Rebuilt:
    """A checkpoint whose own config.json was not at hand.

    Args:
        stem: The config it starts from.
        changes: What differs.
        known: Where these differences are published.
        assumed: What was taken for granted, and what it rests on.
    """

    stem: str
    changes: dict[str, Any]
    known: str = ""
    assumed: str = ""


_BLOCKS = (
    "linear layers in FP8 blocks of 128, head and routers in 16 bits, as the published config of "
    "{} has them"
)
_QWEN35 = (
    "linear attention in 8 bits but for its two smallest projections and its convolution, as "
    "others describe {}; Qwen3.6-27B-FP8 without its tower was logged at 27.7 GiB, which this gives"
)
_AWQ = (
    "4 bits in groups of 128 with zero points, as the published config of "
    "Qwen/Qwen2.5-32B-Instruct-AWQ has them"
)
_PHI = Rebuilt(
    "microsoft--phi-4",
    PHI_4_MINI,
    known="widths, layers, heads, vocabulary and window of published descriptions",
    assumed="rotary positions on three quarters of each head; embeddings shared with the head",
)
_GLM = (
    "every linear layer but the head and the routers in FP8 with one scale per output row; the "
    "published list of modules in 16 bits was not seen, and may be longer"
)
_RED_HAT = "INT8 with a scale per output row in all linear layers of the blocks, by its model card"
_AMEAD = "4 bits in groups of 128 with zero points, the defaults of the tool that makes such files"
_GLM53 = "an architecture identical to that of GLM-5.2, by its recipe in vllm-project/recipes"
_SUPER = "the same architecture as the FP8 checkpoint of this model; NVIDIA lists both as one model"

DERIVED: dict[str, Rebuilt] = {
    "Qwen/Qwen3-4B": Rebuilt(
        "Qwen--Qwen3-8B",
        QWEN3_4B,
        known="layers and heads of its model card, widths of public code",
    ),
    "Qwen/Qwen3-4B-FP8": Rebuilt(
        "Qwen--Qwen3-8B",
        {**QWEN3_4B, **quantized(BLOCK_FP8)},
        known="layers and heads of the model card, widths of public code",
        assumed=_BLOCKS.format("Qwen/Qwen3-32B-FP8"),
    ),
    "Qwen/Qwen3-32B-AWQ": Rebuilt("Qwen--Qwen3-32B", quantized(AWQ), assumed=_AWQ),
    "Qwen/Qwen2.5-VL-72B-Instruct": Rebuilt(
        "Qwen--Qwen2.5-VL-7B-Instruct",
        QWEN25_VL_72B,
        known="widths, layers and heads of the published config of Qwen/Qwen2.5-72B-Instruct",
        assumed="a vision tower like that of the 7B with an MLP 3,456 wide",
    ),
    "Qwen/Qwen2.5-VL-72B-Instruct-AWQ": Rebuilt(
        "Qwen--Qwen2.5-VL-7B-Instruct",
        {**QWEN25_VL_72B, **quantized({**AWQ, "modules_to_not_convert": ["visual"]})},
        known="widths, layers and heads of the published config of Qwen/Qwen2.5-72B-Instruct",
        assumed=_AWQ + "; a vision tower in 16 bits like that of the 7B with an MLP 3,456 wide",
    ),
    "Qwen/Qwen2.5-VL-7B-Instruct-AWQ": Rebuilt(
        "Qwen--Qwen2.5-VL-7B-Instruct",
        quantized({**AWQ, "modules_to_not_convert": ["visual"]}),
        assumed=_AWQ + "; the vision tower in 16 bits",
    ),
    "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8": Rebuilt(
        "Qwen--Qwen3-235B-A22B-FP8",
        {},
        assumed="architecture and storage of the checkpoint it succeeds, Qwen/Qwen3-235B-A22B-FP8",
    ),
    "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8": Rebuilt(
        "Qwen--Qwen3-Coder-480B-A35B-Instruct",
        quantized(BLOCK_FP8),
        assumed=_BLOCKS.format("Qwen/Qwen3-235B-A22B-FP8"),
    ),
    "Qwen/Qwen3-VL-235B-A22B-Instruct-FP8": Rebuilt(
        "Qwen--Qwen3-VL-235B-A22B-Instruct",
        quantized(HYBRID_FP8),
        assumed=_BLOCKS.format("Qwen/Qwen3-235B-A22B-FP8") + "; the vision tower in 16 bits",
    ),
    "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8": Rebuilt(
        "Qwen--Qwen3-Next-80B-A3B-Instruct",
        quantized(HYBRID_FP8),
        known="input projections of linear attention in 16 bits, by sgl-project/sglang 23973",
        assumed="its output projections in 16 bits as well, which the logged weights of "
        "Qwen/Qwen3-Coder-Next-FP8 come nearest to",
    ),
    "Qwen/Qwen3.5-27B-FP8": Rebuilt(
        "Qwen--Qwen3.5-27B", quantized(QWEN35_FP8), assumed=_QWEN35.format("Qwen3.6 in FP8")
    ),
    "Qwen/Qwen3.6-27B-FP8": Rebuilt(
        "Qwen--Qwen3.5-27B", quantized(QWEN35_FP8), assumed=_QWEN35.format("Qwen3.6 in FP8")
    ),
    "Qwen/Qwen3.5-35B-A3B-FP8": Rebuilt(
        "Qwen--Qwen3.5-35B-A3B", quantized(QWEN35_FP8), assumed=_QWEN35.format("Qwen3.6 in FP8")
    ),
    "Qwen/Qwen3.6-35B-A3B-FP8": Rebuilt(
        "Qwen--Qwen3.5-35B-A3B", quantized(QWEN35_FP8), assumed=_QWEN35.format("Qwen3.6 in FP8")
    ),
    "Qwen/Qwen3.5-122B-A10B-FP8": Rebuilt(
        "Qwen--Qwen3.5-122B-A10B",
        quantized(HYBRID_FP8),
        assumed="linear attention in 16 bits, which a run logged at 59.44 GiB per GPU comes "
        "nearest to; in 8 bits, as its smaller siblings have it, it would be 2 % less",
    ),
    "Qwen/Qwen3.5-397B-A17B-FP8": Rebuilt(
        "Qwen--Qwen3.5-397B-A17B", quantized(QWEN35_FP8), assumed=_QWEN35.format("Qwen3.6 in FP8")
    ),
    "microsoft/Phi-4-mini-instruct": _PHI,
    "microsoft/Phi-4-mini-reasoning": _PHI,
    "nvidia/Llama-3.1-8B-Instruct-FP8": Rebuilt(
        "meta-llama--Meta-Llama-3.1-8B",
        quantized({**TENSOR_FP8, **HEAD}),
        assumed="FP8 per tensor, the head in 16 bits, a KV cache in FP8, as the published "
        "hf_quant_config.json of nvidia/Llama-3.1-70B-Instruct-FP8 has them",
    ),
    "nvidia/Llama-3.3-70B-Instruct-NVFP4": Rebuilt(
        "meta-llama--Meta-Llama-3.1-70B",
        quantized({**NVFP4, **HEAD}),
        known="NVFP4 in the linear layers of the blocks alone, by NVIDIA's cards of such models",
        assumed="a KV cache in FP8, as NVIDIA's other checkpoints ask for",
    ),
    "RedHatAI/Llama-3.2-1B-Instruct-quantized.w8a8": Rebuilt(
        "meta-llama--Llama-3.2-1B", quantized(W8A8), known=_RED_HAT
    ),
    "RedHatAI/Llama-3.2-3B-Instruct-quantized.w8a8": Rebuilt(
        "meta-llama--Llama-3.2-3B",
        quantized(W8A8),
        assumed="INT8 with a scale per output row in all linear layers of the blocks, as the card "
        "of the 1B says of that",
    ),
    "AMead10/Llama-3.2-1B-Instruct-AWQ": Rebuilt(
        "meta-llama--Llama-3.2-1B", quantized(AWQ), assumed=_AMEAD
    ),
    "AMead10/Llama-3.2-3B-Instruct-AWQ": Rebuilt(
        "meta-llama--Llama-3.2-3B", quantized(AWQ), assumed=_AMEAD
    ),
    "zai-org/GLM-4.5-FP8": Rebuilt("zai-org--GLM-4.5", quantized(CHANNEL_FP8), assumed=_GLM),
    "zai-org/GLM-4.6-FP8": Rebuilt("zai-org--GLM-4.5", quantized(CHANNEL_FP8), assumed=_GLM),
    "zai-org/GLM-4.7-FP8": Rebuilt(
        "zai-org--GLM-4.5",
        quantized(CHANNEL_FP8),
        known="widths, layers and experts of a public copy of its config",
        assumed=_GLM,
    ),
    "zai-org/GLM-5.3": Rebuilt("zai-org--GLM-5.2-FP8", {}, known=_GLM53),
    "zai-org/GLM-5.3-BF16": Rebuilt("zai-org--GLM-5.2", {}, known=_GLM53),
    "internlm/Intern-S2-397B": Rebuilt(
        "Qwen--Qwen3.5-397B-A17B",
        {},
        known="a language model of the same dimensions, by the change that brought its recipe to "
        "vllm-project/recipes (pull request 975)",
        assumed="the vision tower of that checkpoint",
    ),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16": Rebuilt(
        "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", {}, known=_SUPER
    ),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-Base-BF16": Rebuilt(
        "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", {}, known=_SUPER
    ),
    "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16": Rebuilt(
        "nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
        {"hf_quant_config": None},
        assumed="the architecture of the NVFP4 checkpoint of the same model, in 16 bits",
    ),
}
"""Checkpoints whose own config was not at hand, each with what it was rebuilt from."""


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
    rebuilt = DERIVED.get(model)
    if rebuilt is not None:
        config = changed(config, rebuilt.changes)
        origin = "the published config.json" if basis == "config" else "published facts"
        basis = "reconstructed"
        source = f"rebuilt from {origin} of {stem.replace('--', '/', 1)}"
        source += f"; {rebuilt.known}" if rebuilt.known else ""
    if alias and context and Architecture.from_config(config).positions != context:
        config, basis = with_context(config, context), "reconstructed"
        source += f"; context of {context:,} tokens as its recipe declares"
    found: dict[str, Any] = {"source": source}
    if basis != "config":
        found["basis"] = basis
    if rebuilt is not None and rebuilt.assumed:
        found["assumed"] = rebuilt.assumed
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
            stem = aliases.get(model) or (DERIVED[model].stem if model in DERIVED else "")
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
