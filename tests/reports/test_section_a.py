"""REPORTS A: parallel sizes and clusters, with the report's inputs and the right values.

On the peer's own data the engine must not render the fault; where the data is what is wrong, ours
has to be right.
"""

from __future__ import annotations

import math

import pytest

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import Recipe
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.options import options_of
from recipes_core.render.json import to_json
from recipes_core.selection import Selection
from tests.deployment.synthetic import recipe

from .reading import first, has, made, sizes, values

A1 = [
    ("inclusionAI/Ring-1T-FP8", "default"),
    ("inclusionAI/Ring-2.6-1T", "default"),
    ("inclusionAI/Ling-2.6-1T", "default"),
    ("inclusionAI/Ling-2.6-flash", "default"),
    ("XiaomiMiMo/MiMo-V2-Flash", "default"),
    ("mistralai/Mistral-Large-3-675B-Instruct-2512", "default"),
    ("mistralai/Mistral-Large-3-675B-Instruct-2512", "nvfp4"),
    ("baidu/ERNIE-4.5-VL-28B-A3B-PT", "424b"),
    ("baidu/ERNIE-4.5-VL-28B-A3B-PT", "424b_fp8"),
    ("baidu/ERNIE-4.5-21B-A3B-PT", "300b"),
]


@pytest.mark.parametrize("catalog", ["upstream", "ours"])
@pytest.mark.parametrize(("name", "variant"), A1)
def test_a1_dep_drops_a_size_of_the_arguments(
    request: pytest.FixtureRequest, catalog: str, name: str, variant: str
) -> None:
    data: Catalog = request.getfixturevalue(catalog)
    rules = rules_of(data, data.recipes[name])
    seen = 0
    for hardware in rules.hardware_options(variant):
        for strategy in ("single_node_dep", "multi_node_dep"):
            if not hardware.enabled or strategy not in rules.strategies:
                continue
            nodes = 2 if strategy.startswith("multi") else 1
            asked = Selection(variant=variant, hardware=hardware.id, strategy=strategy, nodes=nodes)
            config = configure(data, name, asked)
            if config.strategy_id != strategy:
                continue
            seen += 1
            size = sizes(deploy(config).processes[0])
            assert size.world == config.nodes * config.profile.gpu_count
            assert size.tp * (size.local or size.dp) == config.profile.gpu_count
    assert seen or "multi_node_dep" not in rules.strategies


def test_a1_ring_has_16_ranks_of_one_gpu(upstream: Catalog) -> None:
    query = "hardware=h200&strategy=multi_node_dep&nodes=2"
    size = first(upstream, "inclusionAI/Ring-1T-FP8", query)
    assert (size.tp, size.dp, size.local) == (1, 16, 8)


M2 = [f"MiniMaxAI/MiniMax-M2{tail}" for tail in ("", ".1", ".5", ".7")]


@pytest.mark.parametrize("name", M2)
def test_a2_two_gpus_on_amd_stay_in_one_layout(ours: Catalog, name: str) -> None:
    amd = "hardware=mi300x"
    rules = rules_of(ours, ours.recipes[name])
    expected = {
        "single_node_tp": (2, 1), "single_node_tep": (8, 1), "single_node_dep": (1, 8),
    }  # fmt: skip
    for strategy, (tp, dp) in expected.items():
        if strategy in rules.strategies:
            size = first(ours, name, f"{amd}&strategy={strategy}")
            assert (size.tp, size.dp) == (tp, dp), strategy
    # 1536 / 16 = 96 is no multiple of 128: TP over two nodes takes two GPUs of each.
    for strategy, world in (("multi_node_tp", 4), ("multi_node_dep", 16)):
        if strategy in rules.strategies:
            assert first(ours, name, f"{amd}&strategy={strategy}&nodes=2").world == world
    for mode in rules.pool_modes():
        query = f"{amd}&strategy=pd_cluster&prefill_mode={mode}&decode_mode={mode}"
        config = configure(ours, name, query)
        if config.pools:
            for process in deploy(config).processes[:2]:
                nodes = config.pools[process.pool or ""].nodes
                assert sizes(process).world == max(1, nodes) * (4 if mode == "tp" else 8)


@pytest.mark.parametrize("name", M2)
def test_a2_the_peers_own_block_never_multiplies(upstream: Catalog, name: str) -> None:
    for query, world in (
        ("strategy=single_node_tp", 2), ("strategy=single_node_tep", 8),
        ("strategy=single_node_dep", 8), ("strategy=multi_node_tp&nodes=2", 16),
        ("strategy=multi_node_dep&nodes=2", 16),
    ):  # fmt: skip
        config = configure(upstream, name, f"hardware=mi300x&{query}")
        if f"strategy={config.strategy_id}" in query:
            assert sizes(deploy(config).processes[0]).world == world, query


def test_a4_head_and_worker_run_tp_8(ours: Catalog) -> None:
    query = "hardware=h200&strategy=multi_node_tep&nodes=2"
    head, worker = made(ours, "deepseek-ai/DeepSeek-V4-Pro", query).processes
    assert (sizes(head).tp, sizes(worker).tp) == (8, 8)
    assert values(head, "--nnodes") == ["2"]


A5 = [
    *(("XiaomiMiMo/MiMo-V2-Flash", "default", h, 4) for h in
      ("h100", "h200", "b200", "b300", "mi300x", "mi325x", "mi355x")),
    *(("baidu/ERNIE-4.5-VL-28B-A3B-PT", v, "h200", 8) for v in ("424b", "424b_fp8")),
    ("baidu/ERNIE-4.5-21B-A3B-PT", "300b", "h200", 8),
    ("mistralai/Ministral-3-8B-Reasoning-2512", "14b", "h200", 2),
    ("mistralai/Mistral-Large-3-675B-Instruct-2512", "nvfp4", "b200", 4),
    ("ByteDance-Seed/Seed-OSS-36B-Instruct", "default", "h200", 8),
]  # fmt: skip


@pytest.mark.parametrize(("name", "variant", "hardware", "tp"), A5)
def test_a5_a_size_of_the_variant_is_kept_or_said(
    upstream: Catalog, name: str, variant: str, hardware: str, tp: int
) -> None:
    """The peer drops it in silence: here it is what the command has, or a finding says why not."""
    query = f"variant={variant}&hardware={hardware}&strategy=single_node_tp&nodes=1"
    deployment = made(upstream, name, query)
    if deployment.configuration.hardware != hardware:
        pytest.skip(f"{name} is not offered on {hardware}")
    kept = sizes(deployment.processes[0]).tp == tp
    said = [f for f in deployment.findings if f.code == "parallel-size-dropped"]
    assert kept or said


@pytest.mark.parametrize("hardware", ["h200", "b200", "mi300x"])
def test_a5_ours_says_it_where_it_is_read(ours: Catalog, hardware: str) -> None:
    query = f"hardware={hardware}&strategy=single_node_tp"
    assert first(ours, "XiaomiMiMo/MiMo-V2-Flash", query).tp == 4


@pytest.mark.parametrize("name", M2)
def test_a6_m2_runs_tp_4_and_the_whole_node_otherwise(ours: Catalog, name: str) -> None:
    """1536 / 8 = 192 is no multiple of 128."""
    assert first(ours, name, "hardware=h200&strategy=single_node_tp").tp == 4
    rules = rules_of(ours, ours.recipes[name])
    for strategy in ("single_node_tep", "single_node_dep"):
        if strategy in rules.strategies:
            assert first(ours, name, f"hardware=h200&strategy={strategy}").world == 8


def test_a7_the_default_of_v4_is_named_and_not_a_matter_of_order(ours: Catalog) -> None:
    for name in ("deepseek-ai/DeepSeek-V4-Pro", "deepseek-ai/DeepSeek-V4-Flash"):
        recipe_ = ours.recipes[name].recipe
        assert recipe_.default_strategy is not None
        turned = recipe_.model_copy(
            update={"compatible_strategies": tuple(reversed(recipe_.compatible_strategies))}
        )
        other = RecipeEntry(name, turned, "models/x.yaml", "test")
        for hardware in ("h200", "b200", "gb200"):
            asked = Selection(hardware=hardware)
            assert (
                configure(ours, name, asked).strategy_id
                == configure(ours, other, asked).strategy_id
            )


def test_a8_the_json_has_every_node(ours: Catalog) -> None:
    entry = recipe(compatible_strategies=["multi_node_tp"])
    config = configure(ours, entry, "hardware=h200&nodes=4")
    processes = to_json(config, deploy(config))["deployment"]["processes"]
    assert [p["node"] for p in processes] == [0, 1, 2, 3]
    assert len({tuple(p["argv"]) for p in processes}) == 4


def test_a9_a_floor_of_gpus_raises_the_nodes_on_its_hardware_alone(upstream: Catalog) -> None:
    config = configure(upstream, "moonshotai/Kimi-K3", "hardware=h100")
    assert config.nodes == 4
    for option in options_of(config)["strategy"]:
        if option.id.startswith("single_node"):
            assert not option.enabled
            assert option.reason
    elsewhere = rules_of(upstream, config.entry)
    assert elsewhere.hardware_floor_nodes("h200", 8) == 1


class TestA10:
    """Pools: how many nodes, which variables, and which of them the router knows."""

    def test_a_role_has_the_nodes_of_one_copy(self, ours: Catalog) -> None:
        entry = recipe(variants__default__vram_minimum_gb=1500)
        config = configure(ours, entry, "hardware=h100&strategy=pd_cluster")
        assert {pool.nodes for pool in config.pools.values()} == {3}

    def test_only_a_role_of_more_nodes_names_its_interface(self, ours: Catalog) -> None:
        query = "hardware=h200&strategy=pd_cluster&prefill_nodes=2&decode_nodes=1"
        deployment = made(ours, recipe(), query)
        for process in deployment.processes[:-1]:
            assert ("GLOO_SOCKET_IFNAME" in process.env) is (process.pool == "prefill")

    def test_a_half_of_a_node_is_said_to_lack_memory(self, ours: Catalog) -> None:
        entry = recipe(variants__default__vram_minimum_gb=800)
        query = "hardware=h200&strategy=pd_cluster&prefill_nodes=0&decode_nodes=0"
        config = configure(ours, entry, query)
        assert "memory-short" in {f.code for f in config.findings}
        enough = recipe(variants__default__vram_minimum_gb=500)
        assert not configure(ours, enough, query).findings

    def test_a_tp_pool_is_its_first_node_and_a_dep_pool_every_node(self, ours: Catalog) -> None:
        query = (
            "hardware=h200&strategy=pd_cluster&prefill_nodes=2&decode_nodes=2"
            "&prefill_mode=tp&decode_mode=dep"
        )
        deployment = made(ours, recipe(), query)
        router = deployment.processes[-1]
        assert values(router, "--prefill") == ["http://$PREFILL_NODE_1:8001"]
        assert values(router, "--decode") == [
            "http://$DECODE_NODE_1:8002", "http://$DECODE_NODE_2:8002",
        ]  # fmt: skip
        assert [p.name for p in deployment.processes] == [
            "prefill-1", "prefill-2", "decode-1", "decode-2", "router",
        ]  # fmt: skip

    def test_inkling_runs_dep_pools_alone_and_no_pipeline(self, upstream: Catalog) -> None:
        rules = rules_of(upstream, upstream.recipes["thinkingmachines/Inkling"])
        assert rules.pool_modes() == ("dep",)
        assert "multi_node_tp_pp" not in rules.strategies

    def test_no_pools_where_nothing_can_be_joined(self, ours: Catalog) -> None:
        query = "hardware=rtx_pro_6000_8x&strategy=pd_cluster&prefill_nodes=1&decode_nodes=1"
        entry = recipe(
            meta__hardware={"rtx_pro_6000_8x": "supported"},
            strategy_hardware={"pd_cluster": {"rtx_pro_6000_8x": "unsupported"}},
        )
        config = configure(ours, entry, query)
        assert not config.pools
        assert "strategy" in {a.axis for a in config.adjustments}


def test_a11_every_rank_follows_the_snapped_mode(upstream: Catalog) -> None:
    query = (
        "hardware=b200&strategy=pd_cluster&prefill_nodes=2&decode_nodes=2"
        "&prefill_mode=tp&decode_mode=tp"
    )
    deployment = made(upstream, "thinkingmachines/Inkling", query)
    second = next(p for p in deployment.processes if p.name == "decode-2")
    assert sizes(second).dp == 16
    assert second.env["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "$DECODE_NODE_2"
    config = deployment.configuration
    assert {a.axis for a in config.adjustments} == {"prefill_mode", "decode_mode"}


def test_a12_ports_follow_overrides_of_the_peers_recipe(upstream: Catalog) -> None:
    entry = upstream.recipes["deepseek-ai/DeepSeek-V4-Flash"]
    data = entry.recipe.model_dump(exclude_unset=True)
    pools = data.setdefault("strategy_overrides", {}).setdefault("pd_cluster", {})
    for role, port in (("prefill", "8101"), ("decode", "8102")):
        part = pools.setdefault(role, {})
        part["vllm_args"] = (*part.get("vllm_args", ()), "--port", port)
    changed = RecipeEntry(entry.id, Recipe.model_validate(data), entry.source, "test")
    router = made(upstream, changed, "hardware=h200&strategy=pd_cluster").processes[-1]
    urls = values(router, "--prefill") + values(router, "--decode")
    assert {url.rsplit(":", 1)[1] for url in urls} == {"8101", "8102"}


def test_a13_one_size_for_pools_that_differ_is_warned_of(upstream: Catalog) -> None:
    query = (
        "hardware=h200&strategy=pd_cluster&prefill_mode=tep&prefill_nodes=2"
        "&decode_mode=dep&decode_nodes=2"
    )
    deployment = made(upstream, "deepseek-ai/DeepSeek-V4-Pro", query)
    (finding,) = [f for f in deployment.findings if f.code == "router-pools-differ"]
    assert finding.severity == "warning"


A14_NODES = [
    "inclusionAI/Ring-2.6-1T", "inclusionAI/Ling-2.6-1T", "inclusionAI/Ring-1T-FP8",
    "mindlab-research/Macaron-V1-Coding-Venti", "Qwen/Qwen3-Coder-480B-A35B-Instruct",
    "Qwen/Qwen3.8-2.4T-A95B", "moonshotai/Kimi-K2-Instruct",
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "zai-org/GLM-5", "zai-org/GLM-5.1",
]  # fmt: skip


@pytest.mark.parametrize("name", A14_NODES)
def test_a14_a_default_that_one_node_cannot_hold_takes_more(upstream: Catalog, name: str) -> None:
    config = configure(upstream, name)
    needed = config.memory_needed_gb
    assert config.nodes == max(1, math.ceil(needed / config.node.vram_gb))
    assert config.nodes * config.node.vram_gb >= needed


def test_a14_no_recommendation_of_ours_lacks_memory(ours: Catalog) -> None:
    """The peer: 39 of 2,601. Only where no node can be added may memory lack, and it is said."""
    lacking = []
    for name, entry in ours.recipes.items():
        rules = rules_of(ours, entry)
        if rules.is_omni:
            continue
        for variant in entry.recipe.variants:
            for hardware in rules.hardware_options(variant):
                if not hardware.enabled:
                    continue
                asked = Selection(variant=variant, hardware=hardware.id)
                config = configure(ours, entry, asked)
                have = config.nodes * config.node.vram_gb
                if config.memory_needed_gb > have and not config.pools:
                    said = any(f.code == "memory-short" for f in config.findings)
                    lacking.append((name, variant, hardware.id, config.nodes, said))
    assert all(said for *_, said in lacking), lacking
    joined = [row for row in lacking if row[3] > 1]
    assert not joined, joined


@pytest.mark.parametrize(
    ("name", "query", "nodes"),
    [
        ("Qwen/Qwen3.8-2.4T-A95B", "", 3), ("moonshotai/Kimi-K3", "hardware=gb200", 3),
        ("zai-org/GLM-5", "hardware=h100", 3),
    ],
)  # fmt: skip
def test_a14_the_samples_of_the_report(
    upstream: Catalog, name: str, query: str, nodes: int
) -> None:
    config = configure(upstream, name, query)
    assert config.nodes >= nodes
    assert config.nodes * config.node.vram_gb >= config.memory_needed_gb


def test_a14_mimo_pro_can_run_its_default(ours: Catalog) -> None:
    config = configure(ours, "XiaomiMiMo/MiMo-V2.5-Pro")
    assert config.nodes * config.node.vram_gb >= config.memory_needed_gb
    assert not [f for f in config.findings if f.code == "memory-short"]
    assert all(not has(p, "--headless") or p.node for p in deploy(config).processes)
