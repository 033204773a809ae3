"""A reader's own hardware: short forms, files, and that it works wherever a profile does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipes_core.catalog.loader import load_catalog
from recipes_core.catalog.own_hardware import (
    admit,
    cards,
    looks_own,
    parse_hardware,
    read_hardware_file,
    with_hardware,
)
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.errors import CatalogError, RecipesError
from recipes_core.link import json_query
from recipes_core.options import options_of

LLAMA = "meta-llama/Llama-3.3-70B-Instruct"


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


@pytest.mark.parametrize(
    ("text", "id_", "gpus", "gb", "generation"),
    [
        ("8xA100-80GB", "8xA100-80GB", 8, 80, "ampere"),
        ("8 x a100 80gb", "8xA100-80GB", 8, 80, "ampere"),
        ("4xL40S", "4xL40S", 4, 48, "ada"),
        ("L40S", "1xL40S", 1, 48, "ada"),
        ("2×RTX 4090", "2xRTX4090", 2, 24, "ada"),
        ("1xNVIDIA Tesla T4", "1xT4", 1, 16, "turing"),
        ("2xA100-64GB", "2xA100-64GB", 2, 64, "ampere"),
        ("4xMI250", "4xMI250", 8, 64, "amd"),
        ("4xH100", "4xH100", 4, 80, "hopper"),
        ("8xH20-96GB", "8xH20-96GB", 8, 96, "hopper"),
        ("3xrtx5090", "3xRTX5090", 3, 32, "blackwell"),
    ],
)
def test_reads_short_forms(catalog, text, id_, gpus, gb, generation):
    found = parse_hardware(catalog, text)
    assert (found.id, found.profile.gpu_count, found.profile.gpu_vram_gb) == (id_, gpus, gb)
    assert found.profile.generation == generation
    assert parse_hardware(catalog, found.id) == found


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("8xH100-80GB", "h100"),
        ("8xh200", "h200"),
        ("4xGB200", "gb200"),
        ("2xRTX 5090", "rtx_5090_2x"),
    ],
)
def test_a_form_that_is_a_profile_is_that_profile(catalog, text, id_):
    assert parse_hardware(catalog, text) == (id_, catalog.hardware[id_])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("8xA100", "say 8xA100-40GB or 8xA100-80GB"),
        ("8xL40Z", "did you mean L40"),
        ("8xFOO-48GB", "hardware file"),
        ("0xL40S", "from 1 to 128"),
        ("200xL40S", "from 1 to 128"),
        ("8xA100-9000GB", "up to 2048 GB"),
        ("8x", "of the form 8xA100-80GB"),
    ],
)
def test_faults_say_what_to_write(catalog, text, says):
    with pytest.raises(RecipesError, match=says):
        parse_hardware(catalog, text)


def test_each_card_reads_back(catalog):
    for name, card in cards().items():
        for size in card.gb:
            found = parse_hardware(catalog, f"2x{name}-{size}GB")
            assert found.profile.gpu_vram_gb == size
            assert found.profile.gpu_count == 2 * card.gpus
        for size, physical in card.gpu_bytes.items():
            assert 0.9 * size < physical / 2**30 < size


def test_only_forms_look_like_forms():
    assert all(map(looks_own, ["8xA100-80GB", "4xfoo", "foo-80GB", "L40S"]))
    assert not any(map(looks_own, ["h200", "nosuch", "", "rtx_5090_2x", "8x", "x"]))


def test_it_works_wherever_a_profile_does(catalog):
    config = configure(catalog, LLAMA, "hardware=8xA100-80GB")
    assert config.adjustments == []
    assert (config.hardware, config.profile.gpu_count) == ("8xA100-80GB", 8)
    option = next(o for o in options_of(config)["hardware"] if o.id == "8xA100-80GB")
    assert option.enabled
    argv = deploy(config).processes[0].argv
    assert argv[argv.index("--tensor-parallel-size") + 1] == "8"
    assert json_query(config) == "hardware=8xA100-80GB"


def test_what_does_not_fit_is_an_adjustment_with_the_figures(catalog):
    config = configure(catalog, "deepseek-ai/DeepSeek-V3.2", "hardware=4xL40S")
    (adjustment,) = config.adjustments
    assert (adjustment.axis, adjustment.asked, adjustment.got) == ("hardware", "4xL40S", "h200")
    assert "has 192 GB" in adjustment.reason


def test_more_such_nodes_are_taken_where_they_are_asked_and_the_link_opens_them(catalog):
    config = configure(catalog, "deepseek-ai/DeepSeek-V3.2", "hardware=8xA100-80GB&nodes=2")
    assert (config.hardware, config.nodes, config.adjustments) == ("8xA100-80GB", 2, [])
    again = configure(catalog, "deepseek-ai/DeepSeek-V3.2", json_query(config))
    assert deploy(again).processes[1].argv == deploy(config).processes[1].argv


def test_an_unknown_card_is_an_adjustment_that_says_what_is_known(catalog):
    config = configure(catalog, LLAMA, "hardware=8xA100")
    (adjustment,) = config.adjustments
    assert "8xA100-40GB or 8xA100-80GB" in adjustment.reason


def test_precision_gates_hold_for_it(catalog):
    entry = next(
        e for e in catalog.recipes.values()
        if any(v.precision == "nvfp4" and v.precision_hardware is None
               for v in e.recipe.variants.values())
    )  # fmt: skip
    name = next(n for n, v in entry.recipe.variants.items() if v.precision == "nvfp4")
    config = configure(catalog, entry, f"variant={name}&hardware=8xA100-80GB")
    assert config.adjustments[0].reason == "NVFP4 needs NVIDIA Blackwell"


def test_the_catalog_stays_as_it_is_and_is_made_once(catalog):
    before = dict(catalog.hardware)
    first, second = (admit(catalog, "4xL40S") for _ in range(2))
    assert first.catalog is second.catalog
    assert "4xL40S" in first.catalog.hardware
    assert catalog.hardware == before
    assert first.catalog.recipes is catalog.recipes
    for number in range(1, 129):
        admit(catalog, f"{number}xL40S")
    assert len(catalog.kept["own hardware"]) <= 64  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["box.yaml", "box.json"])
def test_a_file_says_any_hardware(catalog, tmp_path: Path, name):
    facts = {
        "name": "Lab box", "brand": "nvidia", "generation": "ada", "gpu_count": 3, "vram_gb": 48,
        "gpu_bytes": 47695611789,
    }  # fmt: skip
    path = tmp_path / name
    path.write_text(json.dumps(facts))
    key, profile = read_hardware_file(path)
    assert (key, profile.brand, profile.vram_gb) == ("lab_box", "NVIDIA", 144)
    own = with_hardware(catalog, key, profile)
    config = configure(own, "Qwen/Qwen3-8B", f"hardware={key}")
    assert (config.hardware, config.adjustments) == ("lab_box", [])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("brand: NVIDIA\ngpu_count: 2\n", "vram_gb"),
        ("brand: NVIDIA\ngpu_count: 0\nvram_gb: 48\n", "gpu_count"),
        ("brand: NVIDIA\ngpu_count: 2\nvram_gb: 48\nvrm: 1\n", "vrm"),
        ("- a\n", "box.yaml"),
        ("brand: [\n", "box.yaml"),
    ],
)
def test_a_bad_file_names_the_key(tmp_path: Path, text, says):
    path = tmp_path / "box.yaml"
    path.write_text(text)
    with pytest.raises(CatalogError, match=says):
        read_hardware_file(path)


def test_a_missing_file_is_said(tmp_path: Path):
    with pytest.raises(CatalogError, match="nosuch"):
        read_hardware_file(tmp_path / "nosuch.yaml")


def test_an_uneven_count_of_gpus_is_a_warning(catalog):
    found = deploy(configure(catalog, LLAMA, "hardware=3xH100")).findings
    assert [finding.code for finding in found] == ["tp-uneven"]
    assert "gpus=2 uses 2 of a node" in found[0].message
    assert deploy(configure(catalog, LLAMA, "hardware=4xH100")).findings == []
