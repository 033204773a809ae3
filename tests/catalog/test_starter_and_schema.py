"""A draft from a config, and the schema that editors read."""

from __future__ import annotations

import datetime
import json

import jsonschema
import pytest

from recipes_core.catalog.checks import check_catalog
from recipes_core.catalog.loader import load_catalog
from recipes_core.catalog.schema import recipe_schema
from recipes_core.catalog.starter import Sized, is_moe, precision_of, starter_recipe
from recipes_core.catalog.yaml_reader import parse_yaml, read_text
from recipes_core.errors import RecipesError

DAY = datetime.date(2026, 11, 30)
CONFIG = {
    "architectures": ["XForCausalLM"],
    "torch_dtype": "bfloat16",
    "max_position_embeddings": 32768,
    "num_experts": 64,
    "auto_map": {"AutoModel": "x"},
}


def test_a_draft_holds_what_the_config_tells(folder):
    catalog = folder.load()
    sized = Sized(parameters=30.5e9, active_parameters=3.3e9, weights_gb=61.0)
    draft = starter_recipe(
        "org/new-30B", catalog, newest_vllm="0.33.0", config=CONFIG, sized=sized, today=DAY
    )
    folder.write("models/org/new-30B.yaml", draft.text)
    recipe = folder.load(strict=True).recipes["org/new-30B"].recipe
    assert recipe.model.architecture == "moe"
    assert recipe.model.context_length == 32768
    assert recipe.model.parameter_count == "30.5B"
    assert recipe.model.base_args == ("--trust-remote-code",)
    assert recipe.variants["default"].precision == "bf16"
    assert recipe.variants["default"].vram_minimum_gb == 74
    assert recipe.variants["default"].vram_source == "computed"
    assert "single_node_tep" in recipe.compatible_strategies
    assert recipe.meta.hardware == {}


def test_a_draft_without_a_config_guesses_nothing_in_silence(folder):
    draft = starter_recipe("org/new", folder.load(), newest_vllm="0.33.0", today=DAY)
    keys = [line.split(":")[0] for line in draft.unknown]
    assert "variants.default.precision" in keys
    assert "variants.default.vram_minimum_gb" in keys
    assert all(f"# {line}" in draft.text for line in draft.unknown)
    folder.write("models/org/new.yaml", draft.text)
    assert "vram-unknown" in {f.code for f in check_catalog(folder.load(), today=DAY)}


def test_a_provider_is_the_one_that_its_organization_has(folder):
    folder.add("org/old", meta__provider="The Org")
    draft = starter_recipe("ORG/new", folder.load(), newest_vllm="0.33.0", today=DAY)
    assert "provider: The Org" in draft.text


def test_a_taken_or_malformed_id_is_refused(folder):
    folder.add("org/repo")
    with pytest.raises(RecipesError, match="org/repo has a recipe already"):
        starter_recipe("Org/Repo", folder.load(), newest_vllm="0.33.0")
    for bad in ("repo", "a/b/c", "../etc/passwd", "a/$(x)", ""):
        with pytest.raises(RecipesError, match="no repository id"):
            starter_recipe(bad, folder.load(), newest_vllm="0.33.0")


def test_a_config_that_lies_about_its_types_is_refused(folder):
    with pytest.raises(RecipesError, match=r"config.json: model.context_length is -5"):
        starter_recipe(
            "org/new", folder.load(), newest_vllm="0.33.0", config={"max_position_embeddings": -5}
        )


@pytest.mark.parametrize(
    ("stem", "precision", "moe"),
    [
        ("Qwen--Qwen3-8B", "bf16", False),
        ("Qwen--Qwen3-30B-A3B-FP8", "fp8", True),
        ("openai--gpt-oss-120b", "mxfp4", True),
        ("nvidia--MiniMax-M2.5-NVFP4", "nvfp4", True),
        ("variant--Llama-3.1-8B-AWQ-int4", "int4", False),
        ("variant--Llama-3.1-70B-W8A8-int8-ct", "int8", False),
        ("moonshotai--Kimi-K2.5", "int4", True),
        ("openai--whisper-large-v3", "fp16", False),
    ],
)
def test_precision_and_experts_of_real_configs(shared, stem, precision, moe):
    config = json.loads((shared / "hf_configs" / f"{stem}.json").read_text())
    assert precision_of(config) == precision
    assert is_moe(config) is moe


def _plain(data):
    return json.loads(json.dumps(data, default=str))


def test_every_recipe_of_ours_fits_the_schema():
    catalog = load_catalog()
    schema = recipe_schema(catalog)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    root = catalog.roots["builtin"]
    for entry in catalog.recipes.values():
        data = _plain(parse_yaml(read_text(root / entry.source), entry.source))
        assert [error.message for error in validator.iter_errors(data)] == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("meta__hardware", {"h20": "verified"}),
        ("meta__tasks", ["txt"]),
        ("compatible_strategies", ["one"]),
        ("hardware_overrides", {"h100": {}}),
        ("variants__default__tp", {"h9": 1}),
        ("meta__titel", "x"),
        ("model__architecture", "mo"),
    ],
)
def test_the_schema_refuses_what_the_checks_refuse(folder, key, value):
    path = folder.add(**{key: value})
    schema = recipe_schema(folder.load(on_error="collect"))
    data = _plain(parse_yaml(read_text(path), "x"))
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(data))


def test_the_schema_explains_fields_in_the_words_of_the_source(folder):
    schema = recipe_schema(folder.load())
    variant = schema["$defs"]["Variant"]["properties"]
    assert "GB" in variant["vram_minimum_gb"]["description"]
