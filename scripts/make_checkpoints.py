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


class _Dumper(yaml.SafeDumper):
    """Lists of plain values on one line."""


def _flow_list(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.Node:
    plain = all(isinstance(v, (int, float, str)) for v in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=plain)


_Dumper.add_representer(list, _flow_list)


def served(folder: Path) -> set[str]:
    """Every checkpoint that the recipes of a catalog serve."""
    found: set[str] = set()
    for path in sorted((folder / "models").glob("*/*.yaml")):
        data = parse_yaml(path.read_text(encoding="utf-8"), str(path))
        model = data.get("model") or {}
        found.add(str(model.get("model_id") or f"{path.parent.name}/{path.stem}"))
        for variant in (data.get("variants") or {}).values():
            if isinstance(variant, dict) and variant.get("model_id"):
                found.add(str(variant["model_id"]))
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


def document(model: str, stem: str, configs: Path, provenance: dict[str, str]) -> dict[str, Any]:
    """The content of one file."""
    config = json.loads((configs / f"{stem}.json").read_text(encoding="utf-8"))
    basis = basis_of(stem, provenance)
    if model in QUANTIZED_BESIDE:
        config["hf_quant_config"] = QUANTIZED_BESIDE[model]
        basis = "reconstructed"
    alias = stem != model.replace("/", "--")
    found: dict[str, Any] = {"source": source_of(model, stem, basis, alias)}
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
    wanted = set(NAMED).union(*(served(folder) for folder in [options.into, *options.recipes]))
    if options.only:
        wanted = set(options.only)
    missing = []
    for model in sorted(wanted):
        stem = WITH_TOWER.get(model) or model.replace("/", "--")
        if not (options.configs / f"{stem}.json").is_file():
            stem = aliases.get(model, "")
        if not stem or model in OTHER_STORAGE:
            missing.append(model)
            continue
        path = checkpoint_path(options.into, model)
        write(path, document(model, stem, options.configs, provenance))
    print(f"{len(wanted) - len(missing)} written, {len(missing)} without a config:")
    print("\n".join(f"  {model}" for model in missing))


if __name__ == "__main__":
    main()
