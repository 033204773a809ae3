"""The JSON API has the peer's paths and shape, and its values are those of the Deployment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recipes_core.catalog.pages import pages
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.publish.plan import planned, site_pages
from recipes_core.render import shell
from recipes_core.selection import Selection

COMMON = ("hardware", "strategy", "variant", "node_count", "deploy_type", "env", "docker_image")
SHAPES = {
    "single_node": {"command", "argv", "docker_command", "docker_argv"},
    "multi_node": {
        f"{side}_{kind}"
        for side in ("head", "worker")
        for kind in ("command", "argv", "docker_command", "docker_argv")
    }
    | {f"worker_{kind}s" for kind in ("command", "argv", "docker_command", "docker_argv")},
    "pd_cluster": {"prefill", "decode", "router", "router_config"},
    "kv_store_lb": {
        "serving_strategy", "kv_min_vllm_version", "instances", "vllm_command", "vllm_argv",
        "vllm_docker_command", "vllm_docker_argv", "vllm_install", "master", "store", "router",
        "mooncake_config",
    },
}  # fmt: skip
POOL = {
    "command", "argv", "env", "nodes", "parallelism", "tp", "dpLocal", "dpSize", "poolGpus",
    "docker_command", "docker_argv",
}  # fmt: skip


def read(site: Path, path: str) -> Any:
    return json.loads((site / path.lstrip("/")).read_text(encoding="utf-8"))


def renderings(site: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(site.glob("*/*/hw/**/*.json"))]


@pytest.mark.parametrize("kind", SHAPES)
def test_each_kind_has_its_keys_after_the_common_ones(site, kind):
    mine = [item for item in renderings(site) if item["deploy_type"] == kind]
    assert mine
    for item in mine:
        assert tuple(item)[: len(COMMON)] == COMMON
        assert SHAPES[kind] <= item.keys()
        assert all(isinstance(value, str) for value in item["env"].values())
        if kind == "pd_cluster":
            assert item["prefill"].keys() >= POOL
            assert item["decode"].keys() >= POOL
            assert {"command", "install"} <= item["router"].keys()


def test_every_follower_has_a_command_of_its_own(site):
    for item in renderings(site):
        if item["deploy_type"] == "multi_node":
            assert len(item["worker_commands"]) == item["node_count"] - 1
            assert item["worker_command"] == item["worker_commands"][0]
            commands = [item["head_command"], *item["worker_commands"]]
            assert len(set(commands)) == item["node_count"]


def test_docker_vectors_hold_nothing_that_needs_a_shell(site):
    for item in renderings(site):
        if item["deploy_type"] == "single_node":
            assert item["docker_argv"] is None or not any(
                "$" in word or word.startswith("~") for word in item["docker_argv"]
            )
            assert item["docker_argv"] is not None or "HF_CACHE" in item["docker_needs"]


def test_a_recipe_begins_with_the_three_keys_and_lists_its_hardware(site, few):
    page = read(site, "deepseek-ai/DeepSeek-R1.json")
    assert list(page)[:3] == ["hf_id", "meta", "recommended_command"]
    assert not {"dependencies", "strategy_overrides", "compatible_strategies"} & page.keys()
    assert "default_strategy" not in page
    assert {"pip", "docker", "extras"} <= page["model"]["install"].keys()
    lead = page["recommended_command"]
    assert {"strategy_spec", "hardware_profile", "alternatives", "by_hardware"} <= lead.keys()
    enabled = [
        option.id
        for option in configure(few, "deepseek-ai/DeepSeek-R1").rules.hardware_options("default")
        if option.enabled
    ]
    assert list(lead["by_hardware"]) == enabled
    for hardware, path in lead["by_hardware"].items():
        there = read(site, path)
        assert there["hardware"] == hardware
        for strategy, other in there["alternatives"].items():
            assert read(site, other)["strategy"] == strategy
            assert read(site, other)["hardware"] == hardware


def test_omni_recipes_have_no_recommended_command_but_their_tasks(site):
    page = read(site, "Qwen/Qwen-Image.json")
    assert "recommended_command" not in page
    assert list(page)[:2] == ["hf_id", "meta"]
    assert any(item["deploy_type"] == "omni" for item in renderings(site))


def test_a_variant_stands_under_the_id_of_its_checkpoint(site):
    parent = read(site, "deepseek-ai/DeepSeek-R1.json")
    mine = next(
        row for row in read(site, "models.json")
        if row.get("derived_from") == "deepseek-ai/DeepSeek-R1" and row["variant"] != "default"
    )  # fmt: skip
    assert mine["url"] == "/deepseek-ai/DeepSeek-R1"
    page = read(site, mine["json"])
    assert page["meta"]["derived_from"] == "deepseek-ai/DeepSeek-R1"
    name = page["meta"]["variant"]
    assert parent["variants"][name]["json"] == mine["json"]
    assert page["variants"]["default"]["precision"] == parent["variants"][name]["precision"]
    assert page["recommended_command"]["variant"] == name


def test_the_values_are_those_of_the_deployment(site, few):
    for page in pages(few):
        base = configure(few, page.entry, Selection(variant=page.variant))
        for plan in planned(base, page):
            item = read(site, plan.path)
            made = deploy(plan.config)
            engine = next(process for process in made.processes if process.is_engine)
            prefix = {"multi_node": "head_", "kv_store_lb": "vllm_"}.get(made.type, "")
            side = item["prefill"] if made.type == "pd_cluster" else item
            assert side[f"{prefix}argv"] == engine.argv
            assert side[f"{prefix}command"] == shell.command(engine)
            assert side[f"{prefix}docker_command"] == shell.docker_command(engine)


def test_no_plan_was_adjusted_and_no_two_share_a_file(upstream):
    """Upstream as a whole: at least as many renderings as the peer's builder makes, 15,727."""
    seen = set()
    for mine in site_pages(upstream).values():
        for page in mine:
            base = configure(upstream, page.entry, Selection(variant=page.variant))
            for plan in planned(base, page):
                assert plan.config.adjustments == [], plan.path
                assert plan.path.casefold() not in seen
                seen.add(plan.path.casefold())
    assert len(seen) >= 15_727


def test_memory_that_the_default_nodes_lack_is_given_more_nodes(upstream):
    """REPORTS A14: the peer takes two nodes whatever the model needs."""
    entry = upstream.recipes["zai-org/GLM-5"]
    page = next(page for page in pages(upstream) if page.entry is entry)
    base = configure(upstream, entry, Selection(variant=page.variant))
    for plan in planned(base, page):
        config = plan.config
        if config.strategy is not None and config.strategy.deploy_type == "multi_node":
            assert config.nodes * config.profile.vram_gb >= config.memory_needed_gb, plan.path


def test_the_vocabulary_is_there_as_json(site, few):
    assert read(site, "taxonomy.json")["hardware_profiles"].keys() == few.hardware.keys()
    for name in few.strategies:
        assert read(site, f"strategies/{name}.json") == read(site, "strategies.json")[name]
    for name in few.kv_stores:
        assert read(site, f"kv_store/{name}.json") == read(site, "kv_store.json")[name]
    assert isinstance(read(site, "platforms.json"), dict)
