"""REPORTS, section 0: the kinds of fault that must be impossible."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.checks import check_catalog
from recipes_core.catalog.emit import dump_yaml
from recipes_core.catalog.loader import load_catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.findings import Finding
from recipes_core.render.markdown import to_markdown
from recipes_core.render.shell import docker_argv, docker_command, script
from recipes_core.selection import Selection
from tests.deployment.laws import check_docker_argv
from tests.deployment.synthetic import recipe

from .reading import first, has, made, sizes, values


def checked(folder: Path, entry: RecipeEntry) -> list[Finding]:
    """What the recipe check says of one recipe, read from a file in our vocabulary."""
    path = folder / entry.source
    path.parent.mkdir(parents=True)
    path.write_text(dump_yaml(entry.recipe.model_dump(exclude_unset=True, mode="json")))
    findings = check_catalog(load_catalog("builtin", folder))
    return [finding for finding in findings if finding.source.endswith(entry.source)]


def test_1_no_layout_asks_for_more_than_is_there(upstream: Catalog) -> None:
    seen = 0
    for entry in upstream.recipes.values():
        rules = rules_of(upstream, entry)
        if rules.is_omni:
            continue
        for variant in entry.recipe.variants:
            for hardware in rules.hardware_options(variant):
                if not hardware.enabled:
                    continue
                for strategy in rules.strategies:
                    for nodes in (2, 4) if strategy.startswith("multi") else (1,):
                        asked = Selection(
                            variant=variant, hardware=hardware.id, strategy=strategy, nodes=nodes
                        )
                        config = configure(upstream, entry, asked)
                        seen += 1
                        node = config.node.gpu_count
                        shared = bool(config.pools) and not sum(
                            p.nodes for p in config.pools.values()
                        )
                        for process in deploy(config).processes:
                            if not process.is_engine:
                                continue
                            size = sizes(process)
                            pool = config.pools.get(process.pool or "")
                            count = max(1, pool.nodes) if pool else config.nodes
                            room = count * (node // 2 if shared else node)
                            if config.node.generation != "cpu":
                                assert size.world <= room, process.argv
                                own = count == 1 or size.local is not None
                                assert size.tp * (size.local or 1) <= node or not own
                            full = count > 1 and not entry.recipe.variants[variant].tp_divides
                            assert size.world == room or not full, process.argv
    assert seen > 8000


def test_2_fp8_blocks_divide(ours: Catalog) -> None:
    for query in (
        "strategy=multi_node_tep&nodes=2",
        "strategy=pd_cluster&prefill_mode=tep&prefill_nodes=2",
    ):
        config = configure(ours, "deepseek-ai/DeepSeek-V4-Pro", f"hardware=h200&{query}")
        engines = [p for p in deploy(config).processes if p.is_engine and p.pool != "decode"]
        assert [sizes(p).tp for p in engines] == [8] * len(engines)
        assert len(engines) == 2


@pytest.mark.parametrize(
    "place",
    ["model__base_args", "variants__default__extra_args", "hardware_overrides"],
)
def test_3_a_size_in_the_wrong_place_is_an_error_and_never_leaks(
    ours: Catalog, tmp_path: Path, place: str
) -> None:
    words = ["--tensor-parallel-size", "4"]
    value = {"hopper": {"extra_args": words}} if place == "hardware_overrides" else words
    entry = recipe(**{place: value})
    assert "size-in-args" in {finding.code for finding in checked(tmp_path, entry)}
    assert first(ours, entry, "hardware=h200&strategy=single_node_dep").world == 8
    assert first(ours, entry, "hardware=h200&strategy=multi_node_dep&nodes=2").world == 16
    single = made(ours, entry, "hardware=h200&strategy=single_node_tp")
    kept = sizes(single.processes[0]).tp == 4
    said = any(f.code == "parallel-size-dropped" for f in single.findings)
    assert kept or said


def test_4_four_nodes_have_a_head_and_three_different_workers(ours: Catalog) -> None:
    for strategy in ("multi_node_tp", "multi_node_tep", "multi_node_dep"):
        entry = recipe(compatible_strategies=[strategy])
        processes = made(ours, entry, f"hardware=h200&nodes=4&strategy={strategy}").processes
        assert [p.role for p in processes] == ["head", "worker", "worker", "worker"]
        assert len({tuple(p.argv) for p in processes}) == 4
        rank = "--node-rank" if strategy != "multi_node_dep" else "--data-parallel-start-rank"
        step = 1 if strategy != "multi_node_dep" else 8
        assert [values(p, rank) for p in processes[1:]] == [[str(step * n)] for n in (1, 2, 3)]


def test_5_the_router_agrees_with_the_pools(upstream: Catalog) -> None:
    query = (
        "hardware=b200&strategy=pd_cluster&prefill_nodes=2&decode_nodes=2"
        "&prefill_mode=tp&decode_mode=tp"
    )
    router = made(upstream, "thinkingmachines/Inkling", query).processes[-1]
    assert len(values(router, "--prefill")) == len(values(router, "--decode")) == 2
    assert values(router, "--intra-node-data-parallel-size") == ["8"]


def test_6_one_flag_has_one_spelling_left(ours: Catalog) -> None:
    entry = recipe(
        model__base_args=["--attention_config.use_fp4_indexer_cache=True"],
        hardware_overrides={
            "hopper": {"extra_args": ["--attention-config.use_fp4_indexer_cache", "False"]}
        },
    )
    (process,) = made(ours, entry, "hardware=h200&strategy=single_node_tp").processes
    assert [w for w in process.argv if "indexer" in w] == [
        "--attention-config.use_fp4_indexer_cache"
    ]
    assert values(process, "--attention-config.use_fp4_indexer_cache") == ["False"]


def test_7_a_vector_holds_one_word_an_item(upstream: Catalog) -> None:
    (process,) = made(upstream, "XiaomiMiMo/MiMo-V2.5-Pro", "strategy=single_node_tp").processes
    assert not [word for word in process.argv if word.startswith("--") and " " in word]
    assert process.argv.count("--max-model-len") == 1
    assert values(process, "--max-model-len") == ["auto"]


def test_8_a_container_runs_without_a_shell_and_nodes_see_each_other(upstream: Catalog) -> None:
    query = "hardware=mi355x&strategy=multi_node_tp&nodes=2"
    deployment = made(upstream, "moonshotai/Kimi-K3", query)
    check_docker_argv(deployment)
    for process in deployment.processes:
        assert "--network host" in (docker_command(process) or "")
        given = dict.fromkeys(docker_argv(process)[1], "x")
        words, _ = docker_argv(process, given)
        assert words is not None
        assert ("--network", "host") in pairwise(words)
        assert "-p" not in words


@pytest.mark.parametrize("place", ["meta__hardware", "strategy_hardware", "hardware_overrides"])
def test_9_an_unknown_hardware_key_is_an_error(tmp_path: Path, place: str) -> None:
    value: object = {"h20": "unsupported"}
    if place == "strategy_hardware":
        value = {"single_node_tp": {"h20": "unsupported"}}
    elif place == "hardware_overrides":
        value = {"h20": {"extra_args": ["--x"]}}
    found = checked(tmp_path, recipe(**{place: value}))
    assert [f for f in found if f.severity == "error" and "h20" in f.message and f.line]


def test_10_the_peers_floors_are_caught(upstream: Catalog) -> None:
    """A flag that the floor's release does not have: each of the report's samples."""
    from recipes_core.vllm_cli.floors import check_floor

    for floor, words in (
        ("0.16.0", ["--language-model-only"]), ("0.21.0", ["--linear-backend", "marlin"]),
        ("0.12.0", ["--attention-backend", "FLASHMLA"]),
    ):  # fmt: skip
        found = check_floor(floor, ["vllm", "serve", "m", *words], {})
        assert any(f.severity == "error" for f in found), (floor, words)


def test_11_the_page_for_agents_has_the_resolvers_command(ours: Catalog) -> None:
    for name in ("deepseek-ai/DeepSeek-V4-Flash", "openai/gpt-oss-120b", "Qwen/Qwen3-8B"):
        config = configure(ours, name)
        deployment = deploy(config)
        page = to_markdown(config, deployment)
        for process in deployment.processes:
            assert script(process) in page
            for word in process.argv:
                if word.startswith("{"):
                    json.loads(word)


def test_no_flag_is_there_twice_in_any_default(upstream: Catalog) -> None:
    for name in upstream.recipes:
        for process in made(upstream, name).processes:
            found = Counter(w for w in process.argv if w.startswith("--"))
            twice = {flag for flag, count in found.items() if count > 1}
            assert twice <= {"--middleware", "--prefill", "--decode"}, (name, twice)
            assert not (has(process, "--enable-x") and has(process, "--no-enable-x"))
