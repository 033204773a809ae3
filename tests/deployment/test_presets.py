"""Every preset renders, alone and with each other axis changed; what contradicts it is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import Evidence, Preset, Recipe
from recipes_core.catalog.loader import load_catalog
from recipes_core.configuration import BASELINE, Configuration, configure
from recipes_core.configuration.extras import default_features
from recipes_core.deployment import deploy
from recipes_core.deployment.points import point_deployments
from recipes_core.explorer.panels.head import status
from recipes_core.link import page_query, preset_query
from recipes_core.render.evidence import preset_covers
from recipes_core.render.json import points_json, to_json
from recipes_core.render.markdown import to_markdown
from recipes_core.render.shell import command
from recipes_core.selection import Selection

from .laws import check_all

OURS = load_catalog()
PRESETS = [(name, key) for name, e in OURS.recipes.items() for key in e.recipe.presets]
EVERY_PRESET = pytest.mark.parametrize(("recipe", "key"), PRESETS)


def test_there_are_presets() -> None:
    assert len(PRESETS) >= 21


def render(config: Configuration) -> list[list[str]]:
    deployment = deploy(config)
    check_all(deployment)
    assert to_json(config, deployment)["configuration"]["preset"] == config.preset_id
    return [process.argv for process in deployment.processes]


@EVERY_PRESET
def test_alone_it_is_what_it_says(ours: Catalog, recipe: str, key: str) -> None:
    preset = ours.recipes[recipe].recipe.presets[key]
    for variant in preset.variants:
        config = configure(ours, recipe, Selection(preset=key, variant=variant))
        assert not config.adjustments
        assert (config.hardware, config.strategy_id) == (preset.hardware, preset.strategy)
        assert config.preset_id == key
        assert preset.nodes in {None, config.nodes}
        assert preset.gpus in {None, config.profile.gpu_count}
        assert set(config.features) <= set(preset.features)
        assert render(config)
    assert configure(ours, recipe, Selection(preset=key)).variant_id == preset.variants[0]


@EVERY_PRESET
def test_its_link_opens_it(ours: Catalog, recipe: str, key: str) -> None:
    first = configure(ours, recipe, Selection(preset=key))
    for query in (preset_query(first, key), page_query(first)):
        again = configure(ours, recipe, query)
        assert not again.adjustments
        assert (again.preset_id, render(again)) == (key, render(first))


@EVERY_PRESET
def test_a_default_one_applies_by_itself_and_is_declined(
    ours: Catalog, recipe: str, key: str
) -> None:
    preset = ours.recipes[recipe].recipe.presets[key]
    beside = Selection(
        hardware=preset.hardware, strategy=preset.strategy, nodes=preset.nodes,
        variant=preset.variants[0],
    )  # fmt: skip
    config = configure(ours, recipe, beside)
    assert (config.preset_id == key) is preset.default
    assert config.preset_by_default is (config.preset_id is not None)
    declined = configure(ours, recipe, replace(beside, preset=BASELINE))
    assert declined.preset is None
    assert not declined.adjustments
    assert set(declined.features) <= set(default_features(declined))
    render(declined)


def others(catalog: Catalog, entry: RecipeEntry, preset: Preset) -> list[tuple[str, Selection]]:
    """Each other axis with each of its other values."""
    rules = rules_of(catalog, entry)
    recipe = entry.recipe
    found: list[tuple[str, dict[str, Any]]] = []
    found += [("hardware", {"hardware": h}) for h in rules.offered_hardware()]
    found += [("strategy", {"strategy": s}) for s in rules.strategies]
    found += [("variant", {"variant": v}) for v in recipe.variants]
    found += [("nodes", {"nodes": n}) for n in (1, 2, 4)]
    found += [("gpus", {"gpus": n}) for n in (1, 2, 8)]
    found += [("features", {"features": names}) for names in ((), tuple(recipe.features))]
    found += [
        ("fmode", {"fmode": ((name, mode),)})
        for name, feature in recipe.features.items() for mode in feature.modes
    ]  # fmt: skip
    kv = (*catalog.taxonomy.kv_offload, *catalog.kv_stores, "off")
    found += [("kv_offload", {"kv_offload": name}) for name in kv]
    found += [("router", {"router": name}) for name in ("vllm", "smg", "dynamo")]
    found += [("prefill_nodes", {"prefill_nodes": n}) for n in (1, 2)]
    found += [("decode_mode", {"decode_mode": mode}) for mode in ("tp", "dep")]
    found += [("frontend", {"frontend": "rust"}), ("advanced", {"advanced": ("gpu_mem_095",)})]
    found += [("max_model_len", {"max_model_len": "4096"}), ("port", {"port": 9000})]
    return [(axis, Selection(**values)) for axis, values in found]


FIXED = ("hardware", "strategy", "nodes", "gpus", "prefill_nodes", "decode_mode")
"""Axes that a preset sets: what contradicts it is adjusted."""


@EVERY_PRESET
def test_with_another_axis_changed(ours: Catalog, recipe: str, key: str) -> None:
    entry = ours.recipes[recipe]
    preset = entry.recipe.presets[key]
    alone = configure(ours, recipe, Selection(preset=key))
    for axis, beside in others(ours, entry, preset):
        config = configure(ours, recipe, replace(beside, preset=key))
        render(config)
        assert config.preset_id == key
        assert (config.hardware, config.strategy_id) == (preset.hardware, preset.strategy)
        assert config.variant_id in preset.variants
        said = {adjustment.axis for adjustment in config.adjustments}
        asked = getattr(beside, axis)
        if axis in FIXED:
            got = {
                "hardware": config.hardware, "strategy": config.strategy_id, "nodes": config.nodes,
                "gpus": config.profile.gpu_count,
                "prefill_nodes": config.pools["prefill"].nodes if config.pools else None,
                "decode_mode": config.pools["decode"].mode if config.pools else None,
            }[axis]  # fmt: skip
            assert (axis in said) is (asked != got), (axis, asked, got, config.adjustments)
        if axis == "features" and config.features != alone.features:
            (adjustment,) = (a for a in config.adjustments if a.axis == "preset")
            assert "no longer covers" in adjustment.reason
        if axis == "fmode" and config.feature_modes != alone.feature_modes:
            assert "preset" in said


def synthetic(**changes: Any) -> tuple[Catalog, RecipeEntry]:
    """A recipe with presets of every kind, in our vocabulary."""
    data: dict[str, Any] = {
        "meta": {"title": "T", "provider": "P", "tasks": ["text"]},
        "model": {"model_id": "o/r", "min_vllm_version": "0.20.0", "architecture": "moe"},
        "variants": {
            "default": {"precision": "fp8", "vram_minimum_gb": 200},
            "small": {"precision": "fp8", "vram_minimum_gb": 40, "model_id": "o/small"},
        },
        "features": {
            "spec_decoding": {
                "modes": {
                    "one": {"args": ["--speculative-config", '{"num_speculative_tokens":1}']},
                    "two": {"args": ["--speculative-config", '{"num_speculative_tokens":2}']},
                },
            },
            "reasoning": {"args": ["--reasoning-parser", "qwen3"]},
        },
        "opt_in_features": ["spec_decoding"],
        "compatible_strategies": [
            "single_node_tp", "single_node_dep", "multi_node_dep", "pd_cluster",
        ],
        "presets": {
            "quick": {
                "label": "Quick", "hardware": "h200", "strategy": "single_node_tp",
                "variants": ["default", "small"], "gpus": 4, "default": True,
                "features": ["spec_decoding"],
                "feature_modes": {"spec_decoding": {"default": "two", "small": "one"}},
                "args": ["--max-num-seqs", "8"], "env": {"QUICK": "yes"},
                "points": [
                    {"name": "one user", "args": ["--max-num-seqs", "1"], "concurrency": 1},
                    {"name": "some", "args": ["--max-num-seqs", "16"], "env": {"SOME": "1"},
                     "note": "for a team"},
                ],
            },
            "wide": {
                "label": "Wide", "hardware": "h200", "strategy": "multi_node_dep", "nodes": 3,
                "args": ["--max-num-batched-tokens", "8192"],
            },
            "split": {
                "label": "Split", "hardware": "h200", "strategy": "pd_cluster", "default": True,
                "pools": {
                    "prefill": {"nodes": 2, "parallelism": "dep"},
                    "decode": {"nodes": 1, "parallelism": "tp", "vllm_args": ["--enforce-eager"]},
                },
                "kv_offload": "kv_store_distributed_mooncake",
                "router": {"policy": "cache_aware"},
                "min_vllm_version": "0.31.0",
            },
        },
    }  # fmt: skip
    data |= changes
    recipe = Recipe.model_validate(data)
    return OURS, RecipeEntry("o/r", recipe, "models/o/r.yaml", "test")


def test_a_mode_may_differ_by_variant() -> None:
    catalog, entry = synthetic()
    for variant, tokens in (("default", "2"), ("small", "1")):
        config = configure(catalog, entry, Selection(preset="quick", variant=variant))
        (process,) = deploy(config).processes
        assert f'"num_speculative_tokens":{tokens}' in command(process)
        assert process.env["QUICK"] == "yes"
        assert "--max-num-seqs 8" in command(process)
        assert config.profile.gpu_count == 4


def test_nodes_arguments_pools_store_and_router_come_from_it() -> None:
    catalog, entry = synthetic()
    wide = configure(catalog, entry, Selection(preset="wide"))
    assert (wide.nodes, len(deploy(wide).processes)) == (3, 3)
    split = configure(catalog, entry, Selection(preset="split"))
    deployment = deploy(split)
    assert {role: tuple(pool) for role, pool in split.pools.items()} == {
        "prefill": (2, "dep"), "decode": (1, "tp"),
    }  # fmt: skip
    assert split.kv_offload == "kv_store_distributed_mooncake"
    assert deployment.min_vllm_version == "0.31.0"
    router = next(p for p in deployment.processes if p.role == "router")
    assert router.argv[router.argv.index("--policy") + 1] == "cache_aware"
    decode = next(p for p in deployment.processes if p.role == "decode")
    assert "--enforce-eager" in decode.argv
    check_all(deployment)


@pytest.mark.parametrize(
    ("axis", "asked", "got"),
    [
        ("hardware", "b200", "h200"), ("strategy", "single_node_dep", "single_node_tp"),
        ("gpus", 8, 4), ("nodes", 2, 1),
    ],
)  # fmt: skip
def test_what_contradicts_it_yields_and_is_said(axis: str, asked: Any, got: Any) -> None:
    catalog, entry = synthetic()
    config = configure(catalog, entry, Selection(preset="quick", **{axis: asked}))
    (adjustment,) = config.adjustments
    assert (adjustment.axis, adjustment.asked, adjustment.got) == (axis, asked, got)
    assert "preset" in adjustment.reason


def test_an_explicit_feature_list_wins_and_the_evidence_is_void() -> None:
    catalog, entry = synthetic()
    config = configure(catalog, entry, Selection(preset="quick", features=("reasoning",)))
    assert config.features == ("reasoning",)
    assert config.preset_id == "quick"
    (adjustment,) = config.adjustments
    assert "no longer covers" in adjustment.reason


@pytest.mark.parametrize(
    "beside",
    [
        {"features": ()}, {"fmode": (("spec_decoding", "one"),)}, {"kv_offload": "off"},
        {"gpus": 8}, {"advanced": ("gpu_mem_095",)},
    ],
)  # fmt: skip
def test_a_default_preset_steps_back_where_something_is_asked(beside: dict[str, Any]) -> None:
    catalog, entry = synthetic()
    alone = Selection(hardware="h200", strategy="single_node_tp")
    assert configure(catalog, entry, alone).preset_id == "quick"
    assert configure(catalog, entry, replace(alone, **beside)).preset_id is None


def test_a_default_preset_of_pools_steps_back_where_a_pool_is_asked() -> None:
    catalog, entry = synthetic()
    asked = Selection(hardware="h200", strategy="pd_cluster", decode_nodes=3)
    config = configure(catalog, entry, asked)
    assert (config.preset_id, config.pools["decode"].nodes) == (None, 3)
    assert page_query(config).count("decode_nodes=3") == 1
    again = configure(catalog, entry, page_query(config))
    assert (again.preset_id, again.pools) == (None, config.pools)


def test_a_preset_whose_variant_does_not_run_there_yields() -> None:
    variants = {
        "default": {"precision": "fp8", "vram_minimum_gb": 200, "supported_hardware": ["b200"]}
    }
    catalog, entry = synthetic(variants=variants)
    config = configure(catalog, entry, Selection(preset="quick"))
    assert config.preset is None
    assert [a.axis for a in config.adjustments] == ["preset"]


def test_each_operating_point_is_rendered_on_its_own() -> None:
    catalog, entry = synthetic()
    config = configure(catalog, entry, Selection(preset="quick"))
    points = point_deployments(config)
    assert [point.name for point, _ in points] == ["one user", "some"]
    found = [
        (d.processes[0].argv[d.processes[0].argv.index("--max-num-seqs") + 1], d.processes[0].env)
        for _, d in points
    ]
    assert [seqs for seqs, _ in found] == ["1", "16"]
    assert [env.get("SOME") for _, env in found] == [None, "1"]
    assert all(env["QUICK"] == "yes" for _, env in found)
    assert deploy(config).processes[0].argv.count("8") == 1, "the preset itself is as it was"
    for _, deployment in points:
        check_all(deployment)
    documents = points_json(config)
    assert [document["concurrency"] for document in documents] == [1, None]
    assert documents[1]["note"] == "for a team"
    source = documents[0]["deployment"]["processes"][0]["provenance"]["--max-num-seqs"]
    assert source["key"] == "presets.quick.points.one user"


def test_without_a_preset_there_are_no_points() -> None:
    catalog, entry = synthetic()
    assert point_deployments(configure(catalog, entry, Selection(preset=BASELINE))) == []


MEASURED: dict[str, Any] = {"source": "https://example.org/run", "date": "2026-11-01"}


@pytest.mark.parametrize(
    ("beside", "covered"),
    [
        ({}, True), ({"port": 9000, "served_name": "mine"}, True), ({"gpus": 4}, True),
        ({"features": ("spec_decoding",)}, True), ({"features": ()}, False),
        ({"fmode": (("spec_decoding", "one"),)}, False), ({"kv_offload": "simple"}, False),
        ({"advanced": ("gpu_mem_095",)}, False), ({"max_model_len": "4096"}, False),
        ({"frontend": "rust"}, False),
    ],
)  # fmt: skip
def test_evidence_is_claimed_for_the_presets_own_command_alone(
    beside: dict[str, Any], covered: bool
) -> None:
    catalog, entry = synthetic()
    quick = entry.recipe.presets["quick"].model_copy(
        update={"evidence": Evidence.model_validate(MEASURED)}
    )
    presets = dict(entry.recipe.presets) | {"quick": quick}
    entry = replace(entry, recipe=entry.recipe.model_copy(update={"presets": presets}))
    config = configure(catalog, entry, Selection(preset="quick", **beside))
    deployment = deploy(config)
    assert preset_covers(config, deployment) is covered
    page = to_markdown(config, deployment)
    (line,) = (line for line in page.split("\n") if line.startswith("- Evidence: "))
    assert ("does not cover the command above" in line) is not covered
    assert ("Preset measured" in status(config, deployment)[1]) is covered
    implied = next(line for line in page.split("\n") if line.startswith("- Builder choices"))
    assert ("already in the command above" in implied) is ("spec_decoding" in config.features)
