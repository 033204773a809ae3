"""ENGINE section 4: the size table, and how a size in an argument list meets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import Deployment, deploy
from recipes_core.flags import parse_args

Make = Callable[..., Catalog]
ALL = [
    "single_node_tp", "single_node_tep", "single_node_dep", "single_node_dpa_tp", "multi_node_tp",
    "multi_node_tep", "multi_node_dep", "multi_node_tp_pp", "multi_node_tp_dp", "pd_cluster",
]  # fmt: skip
SHORT = {
    "--tensor-parallel-size": "tp",
    "--pipeline-parallel-size": "pp",
    "--data-parallel-size": "dp",
    "--data-parallel-size-local": "local",
    "--data-parallel-start-rank": "start",
    "--nnodes": "nnodes",
    "--node-rank": "rank",
}


def made(catalog: Catalog, query: str) -> Deployment:
    return deploy(configure(catalog, "org/m", query))


def sizes(argv: list[str]) -> dict[str, int]:
    return {
        SHORT[flag.name]: int(flag.values[0]) for flag in parse_args(argv[3:]) if flag.name in SHORT
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("strategy=single_node_tp", [{"tp": 8}]),
        ("strategy=single_node_tep", [{"tp": 8}]),
        ("strategy=single_node_dep", [{"dp": 8}]),
        ("strategy=single_node_dpa_tp", [{"dp": 8}]),
        ("strategy=single_node_dep&hardware=gb200", [{"dp": 4}]),
        (
            "strategy=multi_node_tp&nodes=3",
            [{"tp": 24, "nnodes": 3, "rank": rank} for rank in range(3)],
        ),
        (
            "strategy=multi_node_dep&nodes=2",
            [{"dp": 16, "local": 8}, {"dp": 16, "local": 8, "start": 8}],
        ),
        (
            "strategy=multi_node_tp_pp&nodes=2",
            [{"tp": 8, "pp": 2, "nnodes": 2, "rank": rank} for rank in range(2)],
        ),
        (
            "strategy=multi_node_tp_dp&nodes=2",
            [{"tp": 8, "dp": 2, "local": 1}, {"tp": 8, "dp": 2, "local": 1, "start": 1}],
        ),
    ],
)
def test_the_table(one: Make, query: str, expected: list[dict[str, int]]) -> None:
    """REPORTS A8: one command for each node, each with its own rank."""
    deployment = made(one(compatible_strategies=ALL), query)
    engines = [sizes(p.argv) for p in deployment.processes if p.is_engine]
    assert engines == expected


def test_followers_are_headless_and_only_they(one: Make) -> None:
    deployment = made(one(compatible_strategies=ALL), "strategy=multi_node_tp&nodes=3")
    headless = ["--headless" in p.argv for p in deployment.processes]
    assert headless == [False, True, True]


@pytest.mark.parametrize(
    ("variant", "override", "hardware", "tp"),
    [
        ({"vram_minimum_gb": 60}, {}, "h100", 1),
        ({"vram_minimum_gb": 90}, {}, "h100", 8),
        ({"tp": 2}, {}, "h100", 2),
        ({"tp": {"amd": 4, "default": 2}}, {}, "mi300x", 4),
        ({}, {"tp": {"amd": 2}}, "mi300x", 2),
        ({"tp": 16}, {}, "h100", 8),
        ({"tp": 4}, {"tp": 8}, "h100", 4),
    ],
)
def test_single_node_tp(
    one: Make, variant: dict[str, Any], override: dict[str, Any], hardware: str, tp: int
) -> None:
    """REPORTS A2, A5, A6: declared where it belongs, capped at the node."""
    catalog = one(variants={"default": variant}, strategy_overrides={"single_node_tp": override})
    assert sizes(made(catalog, f"hardware={hardware}").processes[0].argv) == {"tp": tp}


@pytest.mark.parametrize("place", ["model", "variant"])
def test_a_size_in_base_arguments_never_multiplies(one: Make, place: str) -> None:
    """REPORTS A1: Ring-1T-FP8 asks for TP 8 in its base arguments."""
    words = ["--tensor-parallel-size", "8"]
    change: dict[str, Any] = (
        {"model": {"base_args": words}}
        if place == "model"
        else {"variants": {"default": {"extra_args": words}}}
    )
    deployment = made(one(compatible_strategies=ALL, **change), "strategy=multi_node_dep&nodes=2")
    assert sizes(deployment.processes[0].argv) == {"dp": 16, "local": 8}
    assert "parallel-size-dropped" in {f.code for f in deployment.findings}


def generation(words: list[str]) -> dict[str, Any]:
    return {"hardware_overrides": {"amd": {"extra_args": words}}}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("strategy=single_node_tp", {"tp": 2}),
        ("strategy=single_node_tep", {"tp": 8}),
        ("strategy=single_node_dep", {"tp": 2, "dp": 4}),
        ("strategy=multi_node_tp&nodes=2", {"tp": 16, "nnodes": 2, "rank": 0}),
        ("strategy=multi_node_dep&nodes=2", {"tp": 2, "dp": 8, "local": 4}),
    ],
)
def test_a_size_in_a_later_layer(one: Make, query: str, expected: dict[str, int]) -> None:
    """REPORTS A2: the amd block of MiniMax-M2 has TP 2, and 8 GPUs stay 8 GPUs."""
    catalog = one(compatible_strategies=ALL, **generation(["-tp", "2"]))
    assert sizes(made(catalog, f"hardware=mi300x&{query}").processes[0].argv) == expected


def test_a_later_data_parallel_size_is_dropped(one: Make) -> None:
    catalog = one(compatible_strategies=ALL, **generation(["--data-parallel-size", "4"]))
    deployment = made(catalog, "hardware=mi300x&strategy=single_node_dep")
    assert sizes(deployment.processes[0].argv) == {"dp": 8}
    assert [f.where for f in deployment.findings] == ["--data-parallel-size"]


@pytest.mark.parametrize(
    ("query", "tp", "per_node"),
    [
        ("strategy=multi_node_tep&nodes=2", 8, 4),
        ("strategy=multi_node_tp&nodes=2", 8, 4),
        ("strategy=single_node_tp", 8, 8),
        ("strategy=pd_cluster&prefill_nodes=2&decode_nodes=2&prefill_mode=tep", 8, 4),
    ],
)
def test_fp8_blocks_must_divide(one: Make, query: str, tp: int, per_node: int) -> None:
    """REPORTS A4: 3072/16 is no multiple of 128, so never TP 16 for DeepSeek-V4-Pro."""
    catalog = one(
        compatible_strategies=ALL,
        variants={"default": {"vram_minimum_gb": 900, "tp_divides": 24}},
    )
    deployment = made(catalog, f"hardware=h200&{query}")
    pool = deployment.layouts[0]
    assert (pool.tp, pool.gpus_per_node) == (tp, per_node)
    assert all(sizes(p.argv).get("tp", tp) == tp for p in deployment.role("head", "worker"))


def test_a_gpu_count_of_the_variant_stands_for_the_nodes(one: Make) -> None:
    """The second seed: every command runs on the smallest sufficient GPU count."""
    variants = {"default": {"gpus": {"b300": 2, "gb200": 4}}}
    catalog = one(compatible_strategies=ALL, variants=variants)
    deployment = made(catalog, "hardware=b300&strategy=single_node_dep")
    assert sizes(deployment.processes[0].argv) == {"dp": 2}


# --- pools


def pools(one: Make, query: str, **changes: Any) -> Deployment:
    catalog = one(compatible_strategies=ALL, **changes)
    return made(catalog, f"strategy=pd_cluster&{query}")


def test_pools_have_as_many_nodes_as_hold_a_copy(one: Make) -> None:
    """REPORTS A10."""
    deployment = pools(one, "hardware=h100", variants={"default": {"vram_minimum_gb": 700}})
    assert [p.nodes for p in deployment.layouts] == [2, 2]


def test_a_dep_pool_has_a_process_for_each_node(one: Make) -> None:
    deployment = pools(one, "decode_mode=dep&decode_nodes=2&prefill_nodes=1")
    first, second = deployment.role("decode")
    assert sizes(first.argv) == {"dp": 16, "local": 8, "start": 0}
    assert sizes(second.argv) == {"dp": 16, "local": 8, "start": 8}
    assert "--data-parallel-hybrid-lb" in second.argv
    assert second.env["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "$DECODE_NODE_2"
    assert second.env["GLOO_SOCKET_IFNAME"] == "$IFACE_NAME"
    assert "GLOO_SOCKET_IFNAME" not in deployment.role("prefill")[0].env


@pytest.mark.parametrize("mode", ["tp", "tep", "dep"])
def test_halves_of_one_node(one: Make, mode: str) -> None:
    query = f"prefill_nodes=0&decode_nodes=0&prefill_mode={mode}&decode_mode={mode}"
    deployment = pools(one, query)
    assert [p.gpus for p in deployment.layouts] == [4, 4]
    prefill, decode = deployment.role("prefill", "decode")
    assert prefill.env["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"
    assert decode.env["CUDA_VISIBLE_DEVICES"] == "4,5,6,7"


def test_a_node_of_one_gpu_has_no_halves(one: Make) -> None:
    meta = {"hardware": {"dgx_spark_gb10": "verified"}}
    deployment = pools(one, "hardware=dgx_spark_gb10&prefill_nodes=0&decode_nodes=0", meta=meta)
    adjustments = deployment.configuration.adjustments
    assert {a.axis for a in adjustments} == {"prefill_nodes", "decode_nodes"}


def test_the_router_follows_the_snapped_mode(one: Make) -> None:
    """REPORTS A11: Inkling on B200, pools asked as TP, snapped to DEP."""
    deployment = pools(
        one,
        "hardware=b200&prefill_nodes=2&decode_nodes=2&prefill_mode=tp&decode_mode=tp",
        strategy_overrides={
            "pd_cluster": {
                "pool_modes": ["dep"],
                "prefill": {"parallelism": "dep"},
                "decode": {"parallelism": "dep"},
            }
        },
    )
    (router,) = deployment.role("router")
    assert [w for w in router.argv if w.startswith("http")] == [
        "http://$PREFILL_NODE_1:8001", "http://$PREFILL_NODE_2:8001",
        "http://$DECODE_NODE_1:8002", "http://$DECODE_NODE_2:8002",
    ]  # fmt: skip
    assert router.argv[-2:] == ["--intra-node-data-parallel-size", "8"]


def test_the_router_follows_the_pools_ports(one: Make) -> None:
    """REPORTS A12."""
    override = {
        "pd_cluster": {
            "prefill": {"vllm_args": ["--port", "8101"]},
            "decode": {"vllm_args": ["--port", "8102"]},
        }
    }
    (router,) = pools(one, "", strategy_overrides=override).role("router")
    assert "http://$PREFILL_NODE_1:8101" in router.argv
    assert "http://$DECODE_NODE_1:8102" in router.argv


def test_pools_of_different_local_sizes_give_a_warning(one: Make) -> None:
    """REPORTS A13."""
    deployment = pools(one, "prefill_mode=tep&decode_mode=dep&decode_nodes=2")
    assert "router-pools-differ" in {f.code for f in deployment.findings}
