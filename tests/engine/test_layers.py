"""ENGINE section 3: the layers in their order; each adds a flag, some rewrite a shared one."""

from __future__ import annotations

from collections.abc import Callable

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import Process, deploy

Make = Callable[..., Catalog]
GENERIC = {"hopper": {"extra_args": ["--gen", "1"], "extra_env": {"GEN": "1"}}}


def process(catalog: Catalog, query: str = "", role: str = "serve") -> Process:
    return deploy(configure(catalog, "org/m", query)).role(role)[0]


def layered(one: Make) -> Catalog:
    return one(
        strategies={"single_node_tp": {"vllm_args": ["--strategy"], "env": {"STRATEGY": "1"}}},
        model={"base_args": ["--base"], "base_env": {"BASE": "1", "SHARED": "base"}},
        variants={
            "default": {
                "extra_args": ["--variant"],
                "extra_env": {"VARIANT": "1"},
                "hardware_overrides": {
                    "h200": {"extra_args": ["--variant-exact"], "extra_env": {"VEXACT": "1"}},
                    "hopper": {"extra_args": ["--variant-generation"]},
                },
            }
        },
        hardware_overrides={"hopper": {"extra_args": ["--recipe-generation"]}},
        strategy_overrides={
            "single_node_tp": {
                "extra_args": ["--override"],
                "vllm_args": ["--override-2"],
                "env": {"OVERRIDE": "1"},
                "hardware_overrides": {"h200": {"extra_args": ["--override-exact"]}},
            }
        },
        features={"f": {"args": ["--feature"], "env": {"FEATURE": "1", "SHARED": "feature"}}},
    )


def test_arguments_in_the_order_of_the_rule_book(one: Make) -> None:
    words = process(layered(one), "advanced=max_num_seqs_256&kv_offload=simple&port=9000").argv[3:]
    flags = [word for word in words if word.startswith("--")]
    assert flags == [
        "--base", "--variant", "--variant-exact", "--strategy", "--tensor-parallel-size",
        "--override", "--override-2", "--recipe-generation", "--variant-generation",
        "--override-exact", "--max-num-seqs", "--feature", "--kv-transfer-config", "--port",
    ]  # fmt: skip


def test_a_variable_keeps_its_first_place_with_its_last_value(one: Make) -> None:
    env = process(layered(one)).env
    assert list(env) == [
        "BASE", "SHARED", "VARIANT", "VEXACT", "STRATEGY", "OVERRIDE", "FEATURE",
    ]  # fmt: skip
    assert env["SHARED"] == "feature"


def test_a_strategys_generation_block_replaces_the_recipes_and_the_variants(one: Make) -> None:
    catalog = one(
        hardware_overrides={"hopper": {"extra_args": ["--recipe"], "extra_env": {"R": "1"}}},
        strategy_overrides={
            "single_node_tp": {"hardware_overrides": {"hopper": {"extra_args": ["--own"]}}}
        },
    )
    found = process(catalog)
    assert "--own" in found.argv
    assert "--recipe" not in found.argv
    assert "R" not in found.env


def test_nvidia_stands_for_a_generation_that_is_not_named(one: Make) -> None:
    catalog = one(hardware_overrides={"nvidia": {"extra_args": ["--nv"]}, "amd": {}})
    assert "--nv" in process(catalog, "hardware=h200").argv
    assert "--nv" not in process(catalog, "hardware=mi300x").argv


def test_a_features_hardware_override_replaces_its_arguments(one: Make) -> None:
    """REPORTS B11."""
    feature = {
        "args": ["--tokens", "2", "--more"],
        "hardware_overrides": {"hopper": {"args": ["--tokens", "1"]}},
    }
    argv = process(one(features={"spec": feature})).argv
    assert argv[argv.index("--tokens") + 1] == "1"
    assert "--more" not in argv


def test_what_a_gate_drops_takes_all_of_it_along(one: Make) -> None:
    catalog = one(kv_offload_support={"offloading_fs": "verified"})
    assert "PYTHONHASHSEED" in process(catalog, "kv_offload=offloading_fs").env
    pools = one(
        compatible_strategies=["single_node_tp", "pd_cluster"],
        kv_offload_support={"offloading_fs": "verified"},
    )
    query = "strategy=pd_cluster&kv_offload=offloading_fs"
    deployment = deploy(configure(pools, "org/m", query))
    assert all("PYTHONHASHSEED" not in p.env for p in deployment.processes)
    assert not deployment.role("companion")


def test_the_rust_front_end_sets_its_variable(one: Make) -> None:
    assert process(one(), "frontend=rust").env == {"VLLM_USE_RUST_FRONTEND": "1"}
    catalog = one(model={"base_env": {"VLLM_USE_RUST_FRONTEND": "1"}})
    assert process(catalog, "frontend=python").env == {"VLLM_USE_RUST_FRONTEND": "0"}


def test_every_flag_and_variable_says_where_it_comes_from(one: Make) -> None:
    found = process(layered(one), "port=9000").provenance()
    assert found["--base"] == ("recipe", "models/org/m.yaml", "model.base_args")
    assert found["--tensor-parallel-size"].source == "strategies/single_node_tp.yaml"
    assert found["--override-exact"].key.endswith("hardware_overrides.h200.extra_args")
    assert found["--port"] == ("reader", "reader", "port")
    assert found["$SHARED"].key == "features.f.env"


def test_env_of_pools_drops_what_only_joined_trays_can_use(one: Make) -> None:
    """REPORTS B10."""
    catalog = one(
        compatible_strategies=["single_node_tp", "pd_cluster"],
        strategy_overrides={"pd_cluster": {"env": {"NCCL_NVLS_ENABLE": "1"}}},
    )
    query = "strategy=pd_cluster&hardware={}"
    assert "NCCL_NVLS_ENABLE" not in process(catalog, query.format("b200"), "prefill").env
    assert "NCCL_NVLS_ENABLE" in process(catalog, query.format("gb200"), "prefill").env
