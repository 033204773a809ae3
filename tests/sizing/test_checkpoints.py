"""The facts kept in `recipes/checkpoints` read as the configs they were made from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.loader import builtin_dir, load_catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.errors import CatalogError
from recipes_core.sizing import (
    H200,
    Architecture,
    ConfigError,
    Declared,
    size,
    size_configuration,
)
from recipes_core.sizing.checkpoint import (
    CheckpointDocument,
    checkpoint_path,
    load_checkpoint,
    read_document,
    to_checkpoint,
)
from recipes_core.sizing.declared import active_parameters, memory_findings
from recipes_core.sizing.facts import fold_names, sizing_facts
from recipes_core.sizing.stored import read_stored
from recipes_core.sizing.weights import parameter_count
from scripts.make_checkpoints import DERIVED
from tests.sizing.rows import architecture

FILES = sorted((builtin_dir() / "checkpoints").glob("*/*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_file_is_valid_and_sizes(path: Path) -> None:
    found = to_checkpoint(read_document(path))
    sized = size(found, H200, ["m", "-tp", "8"])
    assert sized.weights
    if isinstance(found, Architecture):
        assert not found.missing
        assert sized.kv_block_size is not None


def test_folded_facts_read_as_the_whole_config(shared: Path) -> None:
    for path in sorted((shared / "hf_configs").glob("*--*.json")):
        config = json.loads(path.read_text())
        one, other = (
            Architecture.from_config(config),
            Architecture.from_config(sizing_facts(config)),
        )
        assert one.layers == other.layers, path.name
        assert (one.ropes, one.head, one.draft) == (other.ropes, other.head, other.draft)


def test_folding_keeps_what_differs_by_layer() -> None:
    names = [f"model.layers.{i}.self_attn.q_proj" for i in (0, 1, 2)] + ["lm_head"]
    assert fold_names(names) == ["lm_head", r"re:.*layers\.(?:0|1|2)\.self_attn\.q_proj(?:\..*)?$"]
    every = [f"model.layers.{i}.mlp.gate" for i in range(40)]
    assert fold_names(every) == [r"re:.*layers\.(?:\d+)\.mlp\.gate(?:\..*)?$"]
    assert fold_names(["model.layers.3.input_layernorm"]) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("source: x\n", "exactly one of"),
        ("source: x\ndeclared_bytes: 5\nconfig: {}\n", "exactly one of"),
        ("source: x\ndeclared_bytes: 0\n", "declared_bytes"),
        ("source: x\ndeclared_bytes: 5\nsize: 3\n", "size"),
        ("source: x\nbasis: declared\nconfig: {}\n", "declared"),
        ("source: x\nassumed: y\nconfig: {}\n", "reconstructed"),
        ("- a\n", "mapping"),
        ("source: [", "YAML"),
    ],
)
def test_wrong_document_names_file_and_key(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(CatalogError, match=problem) as caught:
        read_document(path)
    assert "x.yaml" in str(caught.value)


def test_later_catalog_wins(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / "openai" / "gpt-oss-20b.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("source: me\nbasis: declared\ndeclared_bytes: 7\n")
    builtin = builtin_dir()
    assert load_checkpoint([builtin, tmp_path], "openai/gpt-oss-20b") == Declared(7, "me")
    assert isinstance(load_checkpoint([tmp_path, builtin], "openai/gpt-oss-20b"), Architecture)
    assert load_checkpoint([builtin], "openai/nothing") is None
    assert load_checkpoint([builtin], "../../etc/passwd") is None


def test_same_as_another_and_no_circle(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints" / "a"
    folder.mkdir(parents=True)
    (folder / "one.yaml").write_text("source: x\nsame_as: a/two\n")
    (folder / "two.yaml").write_text("source: x\nbasis: declared\ndeclared_bytes: 9\n")
    (folder / "self.yaml").write_text("source: x\nsame_as: a/self\n")
    assert load_checkpoint([tmp_path], "a/one") == Declared(9, "x")
    assert load_checkpoint([tmp_path], "a/self") is None
    (folder / "ping.yaml").write_text("source: x\nsame_as: a/pong\n")
    (folder / "pong.yaml").write_text("source: x\nsame_as: a/ping\n")
    with pytest.raises(CatalogError, match="circle"):
        load_checkpoint([tmp_path], "a/ping")


def test_rebuilt_config_says_so() -> None:
    base = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "vocab_size": 64}
    config = {**base, "model_type": "llama", "num_attention_heads": 1}
    document = CheckpointDocument(source="x", basis="reconstructed", config=config)
    found = to_checkpoint(document)
    assert any("was not read" in note for note in found.notes)
    assert not found.storage_assumed
    assumed = document.model_copy(update={"assumed": "a head in 16 bits"})
    arch = to_checkpoint(assumed)
    for words in (["m"], ["m", "--dtype", "float16"], ["m", "--quantization", "fp8"]):
        said = [a for a in size(arch, H200, words).assumptions if "was not read" in a]
        assert len(said) == 1, words
        assert said[0].endswith("Assumed: a head in 16 bits.")
    sure, unsure = size(found, H200, ["m"]), size(arch, H200, ["m"])
    assert unsure.weights == sure.weights
    assert unsure.band["weights"][0] < sure.band["weights"][0]
    assert unsure.band["weights"][1] > sure.band["weights"][1]


def test_what_nobody_read_is_said() -> None:
    """A file made from a sibling's config says so, and what was taken for granted."""
    for model, rebuilt in DERIVED.items():
        path = checkpoint_path(builtin_dir(), model)
        if not path.is_file():
            continue
        document = read_document(path)
        assert document.basis == "reconstructed", model
        assert rebuilt.stem.replace("--", "/", 1) in document.source, model
        assert (document.assumed or "") == rebuilt.assumed, model
        assert rebuilt.known in document.source, model
        assert rebuilt.known or rebuilt.assumed, model


def test_logged_weights_of_a_rebuilt_checkpoint() -> None:
    """27.66 to 27.69 GiB without its tower on 0.20 (vllm-project/vllm pull request 41000)."""
    arch = load_checkpoint([builtin_dir()], "Qwen/Qwen3.6-27B-FP8")
    found = size(arch, H200, ["m", "--language-model-only"], vllm="0.20.0")
    assert found.weights / (1 << 30) == pytest.approx(27.67, rel=0.003)


def _safetensors(path: Path, tensors: dict[str, tuple[str, int]]) -> None:
    header, offset = {}, 0
    for name, (dtype, size_) in tensors.items():
        header[name] = {"dtype": dtype, "shape": [size_], "data_offsets": [offset, offset + size_]}
        offset += size_
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\0" * offset)


def test_folder_with_safetensors_is_read(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "vocab_size": 512,
        "torch_dtype": "bfloat16",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    _safetensors(tmp_path / "a.safetensors", {"x": ("BF16", 4000), "y": ("F8_E4M3", 600)})
    _safetensors(tmp_path / "b.safetensors", {"z": ("BF16", 400)})
    arch = Architecture.from_config(tmp_path)
    assert dict(arch.stored.by_dtype) == {"bfloat16": 4400, "float8_e4m3": 600}
    found = size(arch, H200)
    assert any("times what the config describes" in a for a in found.assumptions)
    index = {"metadata": {"total_size": 12345}, "weight_map": {"x": "gone.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert read_stored(tmp_path).total == 12345
    (tmp_path / "c.safetensors").write_bytes(b"\xff" * 16)
    (tmp_path / "model.safetensors.index.json").unlink()
    with pytest.raises(ConfigError, match=r"c\.safetensors"):
        read_stored(tmp_path)


@pytest.mark.parametrize(
    ("recipe", "query"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "hardware=h100"),
        ("openai/gpt-oss-120b", "hardware=h200"),
        ("deepseek-ai/DeepSeek-V3.2", "hardware=h200"),
        ("deepseek-ai/DeepSeek-V3.2", "hardware=h200&strategy=single_node_dep"),
    ],
)
def test_command_and_memory_never_disagree(recipe: str, query: str) -> None:
    """The sizes read from the command are those of the layout that made it."""
    config = configure(load_catalog(), recipe, query)
    deployment = deploy(config)
    found = size_configuration(config, deployment)
    args, layout = found.settings.args, deployment.layouts[0]
    assert (args.tp, args.pp, args.dp) == (layout.tp, layout.pp, layout.dp)
    assert args.model == config.model_id
    assert found.to_json()["process"] == deployment.processes[0].name


def test_every_recipe_is_sized_or_nothing(ours: Catalog) -> None:
    counts = {"computed": 0, "declared": 0, None: 0}
    for recipe_id, entry in ours.recipes.items():
        for variant in entry.recipe.variants:
            config = configure(ours, recipe_id, f"variant={variant}")
            found = size_configuration(config, deploy(config))
            counts[found.basis if found else None] += 1
            if found is not None:
                json.dumps(found.to_json(), allow_nan=False)
    print(counts)
    assert counts["computed"] >= 90


def test_declared_memory_is_compared_with_the_weights(tmp_path: Path) -> None:
    catalog = load_catalog()
    for finding in memory_findings(catalog):
        assert finding.severity in ("warning", "info")
        assert finding.line
    recipe = builtin_dir() / "models" / "meta-llama" / "Llama-3.1-8B-Instruct.yaml"
    target = tmp_path / "models" / "meta-llama" / recipe.name
    target.parent.mkdir(parents=True)
    text = recipe.read_text()
    declared = catalog.recipes["meta-llama/Llama-3.1-8B-Instruct"].recipe.variants["default"]
    said = f"vram_minimum_gb: {declared.vram_minimum_gb:g}"
    assert said in text
    for changed, code in (("12", "vram-below-weights"), ("400", "vram-far-above-weights")):
        target.write_text(text.replace(said, f"vram_minimum_gb: {changed}", 1))
        found = list(memory_findings(load_catalog("builtin", tmp_path)))
        mine = [f for f in found if "Llama-3.1-8B-Instruct" in f.source]
        assert code in {f.code for f in mine if "default" in f.where}


def test_parameters_are_those_that_models_are_named_by(shared: Path) -> None:
    for model, total, active in (
        ("deepseek-ai/DeepSeek-V3", 671, 38),
        ("Qwen/Qwen3-30B-A3B", 30.5, 3.3),
        ("openai/gpt-oss-120b", 117, 5.7),
        ("moonshotai/Kimi-K2-Instruct", 1026, 33),
        ("zai-org/GLM-4.5", 353, 34),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", 120.7, 12.8),
        ("meta-llama/Llama-3.1-8B-Instruct", 8.03, 8.03),
    ):
        arch = architecture(shared, model)
        assert parameter_count(arch) / 1e9 == pytest.approx(total, rel=0.01)
        assert active_parameters(arch) / 1e9 == pytest.approx(active, rel=0.03)


def test_a_folder_of_ones_own_knows_the_checkpoints_of_the_package(ours: Catalog) -> None:
    """And a node is whole to sizing where only a part of its GPUs is used."""
    config = configure(ours, "openai/gpt-oss-120b", "hardware=h200&gpus=2")
    alone = replace(ours, roots={"mine": Path("/nonexistent")}, kept={})
    own = configure(alone, config.entry, config.selection)
    sized = size_configuration(own, deploy(own))
    assert sized is not None
    assert (sized.basis, own.profile.gpu_count, sized.gpu.per_node) == ("computed", 2, 8)
