"""ENGINE section 2: each axis, its default, its gates; what cannot be had is an Adjustment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import deploy
from recipes_core.errors import RecipesError, UnknownRecipeError
from recipes_core.selection import Selection

Make = Callable[..., Catalog]
MOE = ["single_node_tp", "single_node_tep", "single_node_dep", "multi_node_tp", "multi_node_dep"]


def opened(catalog: Catalog, query: str = "") -> Configuration:
    return configure(catalog, "org/m", query)


def adjusted(config: Configuration) -> list[tuple[str, Any, Any]]:
    return [(a.axis, a.asked, a.got) for a in config.adjustments]


def enabled(config: Configuration) -> list[str]:
    return [o.id for o in config.rules.hardware_options(config.variant_id) if o.enabled]


# --- ids and variants


def test_an_unknown_recipe_names_the_nearest(one: Make) -> None:
    with pytest.raises(UnknownRecipeError, match="org/m"):
        configure(one(), "org/n")


def test_ids_compare_without_case(one: Make) -> None:
    assert configure(one(), "ORG/M").entry.id == "org/m"


def test_a_variants_checkpoint_opens_its_parent_with_that_variant(one: Make) -> None:
    """REPORTS E4: also the default variant's own id."""
    variants = {
        "default": {"precision": "fp8", "vram_minimum_gb": 9, "model_id": "org/m-new"},
        "small": {"precision": "fp8", "vram_minimum_gb": 9, "model_id": "org/m-fp8"},
    }
    catalog = one(variants=variants)
    assert configure(catalog, "org/m-fp8").variant_id == "small"
    assert configure(catalog, "org/m-new").variant_id == "default"


def test_unknown_words_yield_to_the_default_and_are_said(one: Make) -> None:
    """REPORTS E15."""
    config = opened(one(), "variant=fp9&strategy=x&hardware=h999&preset=p&kv_offload=z&nodes=a")
    assert config.hardware == "h200"
    assert {axis for axis, _, _ in adjusted(config)} == {
        "variant", "strategy", "hardware", "preset", "kv_offload", "nodes",
    }  # fmt: skip
    assert all(a.reason for a in config.adjustments)


# --- hardware


def test_nvfp4_needs_blackwell_and_defaults_to_b200(one: Make) -> None:
    config = opened(one(variants={"default": {"precision": "nvfp4", "vram_minimum_gb": 50}}))
    assert config.hardware == "b200"
    assert set(enabled(config)) == {"b200", "gb200", "b300", "gb300"}


def test_precision_hardware_says_which_brand(one: Make) -> None:
    variant = {"precision_hardware": {"brand": "AMD"}}
    config = opened(one(variants={"default": variant}))
    assert config.hardware == "mi300x"
    assert all(name.startswith("mi") for name in enabled(config))


def test_meta_default_hardware_wins_only_where_it_is_enabled(one: Make) -> None:
    """REPORTS E1."""
    assert opened(one(meta={"default_hardware": "b300"})).hardware == "b300"
    unsupported = {"default_hardware": "b300", "hardware": {"b300": "unsupported"}}
    assert opened(one(meta=unsupported)).hardware == "h200"


def test_restricted_hardware_is_offered_where_it_is_named(one: Make) -> None:
    assert "rtx_5090" not in enabled(opened(one()))
    small = {"default": {"vram_minimum_gb": 20}}
    config = opened(one(meta={"hardware": {"rtx_5090": "supported"}}, variants=small))
    assert "rtx_5090" in enabled(config)


def test_unscalable_hardware_that_is_too_small_needs_a_verified_run(one: Make) -> None:
    big = {"default": {"vram_minimum_gb": 40}}
    supported = one(meta={"hardware": {"rtx_5090": "supported"}}, variants=big)
    assert "rtx_5090" not in enabled(opened(supported))
    verified = one(meta={"hardware": {"rtx_5090": "verified"}}, variants=big)
    assert "rtx_5090" in enabled(opened(verified))


@pytest.mark.parametrize(
    ("strategies", "hardware", "gb", "fewest"),
    [
        (MOE, "h100", 200, 3),
        (MOE, "h100", 641, 16),
        (MOE, "h100", 10_300, None),
        (["single_node_tp"], "h100", 640, 8),
        (["single_node_tp"], "h100", 641, None),
        (MOE, "rtx_5090_2x", 40, 2),
        (MOE, "rtx_5090_2x", 80, None),
    ],
)
def test_the_fewest_gpus_are_nodes_only_where_recipe_and_hardware_take_more(
    one: Make, strategies: list[str], hardware: str, gb: int, fewest: int | None
) -> None:
    catalog = one(
        meta={"hardware": {"rtx_5090_2x": "verified"}},
        compatible_strategies=strategies,
        variants={"default": {"vram_minimum_gb": gb}},
    )
    rules = opened(catalog).rules
    assert rules.gpus_needed("default", hardware, catalog.hardware[hardware]) == fewest


def test_no_gpus_suffice_where_a_variant_does_not_run(one: Make) -> None:
    catalog = one(variants={"default": {"precision": "nvfp4", "vram_minimum_gb": 50}})
    rules = opened(catalog).rules
    assert rules.gpus_needed("default", "h100", catalog.hardware["h100"]) is None


@pytest.mark.parametrize(
    ("strategies", "query", "most"),
    [
        (MOE, "hardware=h100", 16),
        (["single_node_tp"], "hardware=h100", 1),
        (["single_node_tp", "pd_cluster"], "hardware=h100&strategy=pd_cluster", 16),
        (MOE, "hardware=rtx_5090_2x", 1),
        (MOE, "hardware=rtx_5090_2x&nodes=3&strategy=multi_node_tp", 3),
        (MOE, "hardware=4xL40S", 1),
        (MOE, "hardware=4xL40S&nodes=2&strategy=multi_node_tp", 16),
    ],
)
def test_an_engine_spans_nodes_only_where_recipe_and_hardware_take_more(
    one: Make, strategies: list[str], query: str, most: int
) -> None:
    catalog = one(
        meta={"hardware": {"rtx_5090_2x": "verified"}},
        compatible_strategies=strategies,
        variants={"default": {"vram_minimum_gb": 40}},
    )
    assert opened(catalog, query).most_nodes == most


@pytest.mark.parametrize(
    ("source", "said"), [(None, "declared"), ("computed", "computed"), ("measured", "measured")]
)
def test_a_refusal_for_memory_says_where_its_figure_comes_from(
    one: Make, source: str | None, said: str
) -> None:
    catalog = one(variants={"default": {"vram_source": source}})
    for query, room in (("hardware=2xT4", "has 32 GB"), ("hardware=h200&gpus=1", "1× H200 have")):
        reasons = [item.reason for item in opened(catalog, query).adjustments]
        assert any(f"needs 300 GB ({said}), {room}" in reason for reason in reasons), reasons


def test_an_architecture_selector(one: Make) -> None:
    """REPORTS B9: gfx950 only."""
    config = opened(one(variants={"default": {"supported_hardware": ["arch:gfx950"]}}))
    assert set(enabled(config)) == {"mi350x", "mi355x"}


def test_no_hardware_at_all_is_an_error(one: Make) -> None:
    with pytest.raises(RecipesError, match="runs on no hardware"):
        opened(one(variants={"default": {"supported_hardware": []}}))


# --- nodes


@pytest.mark.parametrize(
    ("gb", "hardware", "nodes"),
    [(600, "h100", 1), (641, "h100", 2), (1281, "h100", 3), (5871, "b300", 3)],
)
def test_nodes_follow_the_memory(one: Make, gb: int, hardware: str, nodes: int) -> None:
    """REPORTS A14: the peer takes two and lacks memory."""
    catalog = one(compatible_strategies=MOE, variants={"default": {"vram_minimum_gb": gb}})
    config = opened(catalog, f"hardware={hardware}")
    assert config.nodes == nodes
    assert config.strategy_id == ("single_node_tp" if nodes == 1 else "multi_node_tp")
    assert not config.adjustments


def test_a_gpu_floor_raises_the_nodes_of_that_hardware_alone(one: Make) -> None:
    """REPORTS A9."""
    catalog = one(compatible_strategies=MOE, strategy_min_gpus={"h100": 32})
    assert opened(catalog, "hardware=h100").nodes == 4
    assert opened(catalog, "hardware=h200").nodes == 1


def test_asked_nodes_that_only_lack_memory_are_rendered_with_a_finding(one: Make) -> None:
    """REPORTS D5."""
    catalog = one(compatible_strategies=MOE, variants={"default": {"vram_minimum_gb": 900}})
    config = opened(catalog, "hardware=h100&nodes=1")
    assert config.nodes == 1
    assert not config.adjustments
    assert [f.code for f in config.findings] == ["memory-short"]
    assert "260 GB are missing" in config.findings[0].message


def test_a_selection_made_by_hand_cannot_break_the_layout(one: Make) -> None:
    config = configure(one(), "org/m", Selection(nodes=0, gpus=-2, port=0))
    assert [axis for axis, _, _ in adjusted(config)] == ["nodes", "gpus", "port"]
    assert len(deploy(config).processes) == 1


def test_at_most_sixteen_nodes(one: Make) -> None:
    config = opened(one(compatible_strategies=MOE), "nodes=17")
    assert config.nodes == 16
    assert adjusted(config) == [("nodes", 17, 16)]


# --- strategy


def test_the_strategies_of_one_node_and_of_many(one: Make) -> None:
    catalog = one(compatible_strategies=MOE)
    config = opened(catalog, "strategy=multi_node_tp")
    assert config.strategy_id == "single_node_tp"
    assert "needs nodes=2" in config.adjustments[0].reason
    assert opened(catalog, "nodes=2&strategy=single_node_tp").strategy_id == "multi_node_tp"
    assert opened(catalog, "nodes=2&strategy=multi_node_dep").strategy_id == "multi_node_dep"


def test_the_default_strategy_and_its_sibling(one: Make) -> None:
    catalog = one(compatible_strategies=MOE, default_strategy="single_node_dep")
    assert opened(catalog).strategy_id == "single_node_dep"
    assert opened(catalog, "nodes=2").strategy_id == "multi_node_dep"


@pytest.mark.parametrize(
    ("gates", "hardware", "ok"),
    [
        ({"hopper": "unsupported"}, "h200", False),
        ({"hopper": "unsupported", "h200": "supported"}, "h200", True),
        ({"nvidia": "unsupported"}, "mi300x", True),
        ({"default": "unsupported"}, "mi300x", False),
    ],
)
def test_strategy_hardware_goes_from_exact_to_default(
    one: Make, gates: dict[str, str], hardware: str, ok: bool
) -> None:
    catalog = one(compatible_strategies=MOE, strategy_hardware={"single_node_dep": gates})
    config = opened(catalog, f"hardware={hardware}&strategy=single_node_dep")
    assert (config.strategy_id == "single_node_dep") == ok


def test_a_strategy_that_only_some_hardware_grants(one: Make) -> None:
    catalog = one(strategy_hardware={"single_node_tep": {"gb200": "supported"}})
    assert (
        opened(catalog, "hardware=gb200&strategy=single_node_tep").strategy_id == "single_node_tep"
    )
    assert opened(catalog, "strategy=single_node_tep").strategy_id == "single_node_tp"


# --- GPUs of one node


def test_fewer_gpus_of_the_node(one: Make) -> None:
    catalog = one(variants={"default": {"vram_minimum_gb": 100}})
    config = opened(catalog, "hardware=h100&gpus=2")
    assert (config.profile.gpu_count, config.adjustments) == (2, [])


def test_too_few_gpus_are_raised_to_the_least_that_fit_with_the_figures(one: Make) -> None:
    config = opened(one(), "hardware=h100&gpus=2")
    assert adjusted(config) == [("gpus", 2, 4)]
    assert "300 GB" in config.adjustments[0].reason
    assert "160 GB" in config.adjustments[0].reason


def test_more_gpus_than_there_are(one: Make) -> None:
    assert adjusted(opened(one(), "gpus=9")) == [("gpus", 9, 8)]


def test_gpus_that_a_layout_leaves_idle_are_said(one: Make) -> None:
    small = one(variants={"default": {"vram_minimum_gb": 20}})
    (finding,) = deploy(opened(small, "hardware=h100&gpus=2")).findings
    assert (finding.code, finding.severity) == ("idle-gpus", "info")
    assert "2 GPUs were asked, and single_node_tp uses 1" in finding.message
    assert deploy(opened(small, "hardware=h100&gpus=1")).findings == []
    assert deploy(opened(small, "hardware=h100")).findings == []


# --- features


FEATURES = {
    "tool_calling": {"args": ["--a"]},
    "text_only": {"args": ["--language-model-only"]},
    "encoder_parallel": {"args": ["--mm-encoder-tp-mode", "data"]},
    "spec": {
        "modes": {
            "mtp": {"args": ["--mtp"], "variants": ["default"]},
            "eagle": {"args": ["--eagle"], "hardware": {"amd": "unsupported"}},
        },
        "default_mode": "mtp",
    },
}


def test_on_by_default_is_what_is_not_opt_in(one: Make) -> None:
    catalog = one(
        features=FEATURES,
        opt_in_features=["text_only", "spec"],
        hardware_opt_in_features={"gb200": ["encoder_parallel"]},
    )
    assert opened(catalog).features == ("tool_calling", "encoder_parallel")
    assert opened(catalog, "hardware=gb200").features == ("tool_calling",)
    assert opened(catalog, "features=spec,tool_calling").features == ("spec", "tool_calling")
    assert opened(catalog, "features=none").features == ()


def test_text_only_and_encoder_parallel_exclude_each_other(one: Make) -> None:
    """REPORTS B24."""
    config = opened(one(features=FEATURES), "features=encoder_parallel,text_only")
    assert config.features == ("text_only",)
    assert adjusted(config) == [("features", "encoder_parallel", None)]


def test_a_feature_may_exclude_others_and_the_first_named_stays(one: Make) -> None:
    features = {"a": {"args": ["--a"], "excludes": ["b"]}, "b": {"args": ["--b"]}}
    catalog = one(features=features, opt_in_features=["a", "b"])
    assert opened(catalog, "features=b,a").features == ("b",)
    assert opened(catalog, "features=a,b").features == ("a",)


def test_exactly_one_mode_is_active(one: Make) -> None:
    """REPORTS E9."""
    catalog = one(features=FEATURES, opt_in_features=["spec"])
    assert opened(catalog, "features=spec").feature_modes == {"spec": "mtp"}
    config = opened(catalog, "features=spec&fmode=spec:eagle")
    assert config.feature_modes == {"spec": "eagle"}
    config = opened(catalog, "features=spec&fmode=spec:eagle&hardware=mi300x")
    assert config.feature_modes == {"spec": "mtp"}
    assert adjusted(config) == [("fmode", "spec:eagle", "spec:mtp")]


def test_a_variants_mode_forces_the_feature_on(one: Make) -> None:
    variants = {"default": {"default_modes": {"spec": "eagle"}}}
    catalog = one(features=FEATURES, opt_in_features=["spec"], variants=variants)
    assert opened(catalog).feature_modes == {"spec": "eagle"}


def test_a_gated_feature_adds_nothing_and_is_said_only_if_asked(one: Make) -> None:
    features = {"dcp": {"args": ["--x"], "strategies": ["multi_node_tp"]}}
    catalog = one(features=features)
    assert opened(catalog).features == ()
    assert not opened(catalog).adjustments
    assert adjusted(opened(catalog, "features=dcp")) == [("features", "dcp", None)]


# --- KV offload


def test_options_that_need_opting_in(one: Make) -> None:
    assert opened(one(), "kv_offload=offloading_cpu").kv_offload is None
    verified = one(kv_offload_support={"offloading_cpu": "verified"})
    assert opened(verified, "kv_offload=offloading_cpu").kv_offload == "offloading_cpu"


def test_a_store_has_instances(one: Make) -> None:
    config = opened(one(), "kv_offload=kv_store_centralized_mooncake")
    assert config.kv_instances == 2
    config = opened(one(), "kv_offload=kv_store_distributed_mooncake&kv_instances=3")
    assert config.kv_instances == 3
    assert adjusted(opened(one(), "kv_instances=3")) == [("kv_instances", 3, None)]
    for refused in ("nosuch", "offloading_cpu"):
        config = opened(one(), f"kv_offload={refused}&kv_instances=3")
        assert [axis for axis, _, _ in adjusted(config)] == ["kv_offload", "kv_instances"]


# --- front end


def test_the_front_end_goes_from_asked_to_python(one: Make) -> None:
    assert opened(one()).frontend is None
    model = one(model={"default_frontend": "rust"})
    assert opened(model).frontend == "rust"
    assert opened(model, "frontend=python").frontend == "python"
    recipe = one(hardware_overrides={"amd": {"default_frontend": "rust"}})
    assert opened(recipe, "hardware=mi300x").frontend == "rust"
    assert opened(recipe).frontend is None


# --- install


def test_a_release_that_is_none_is_not_pinned(one: Make) -> None:
    config = opened(one(), "vllm=newest&install=conda")
    assert (config.vllm, config.install) == (None, None)
    assert {axis for axis, _, _ in adjusted(config)} == {"vllm", "install"}


def test_a_pin_reaches_install_and_image_and_the_floor_is_checked(one: Make) -> None:
    deployment = deploy(opened(one(), "vllm=v0.19.0"))
    step = deployment.install.tabs["pip"]
    assert step is not None
    assert "vllm==0.19.0" in step.command
    assert deployment.docker_image == "vllm/vllm-openai:v0.19.0"
    assert [f.code for f in deployment.findings] == ["below-floor"]


def test_what_cannot_be_pinned_is_said(one: Make) -> None:
    own = one(
        model={
            "docker_image": {"nvidia": "org/own:tag", "amd": "vllm/vllm-openai-rocm:x"},
            "install": {"pip": {"command": "uv pip install org-vllm"}},
        }
    )
    (finding,) = deploy(opened(own, "vllm=0.28.0&hardware=h200")).findings
    assert (finding.code, finding.severity) == ("not-pinned", "warning")
    assert "the recipe's own pip command and the image org/own:tag" in finding.message
    (finding,) = deploy(opened(own, "vllm=0.28.0&hardware=mi300x")).findings
    assert "org/own" not in finding.message
    assert deploy(opened(own, "hardware=h200")).findings == []
    tpu = one(meta={"hardware": {"trillium": "verified"}})
    finding = deploy(opened(tpu, "vllm=0.28.0&hardware=trillium")).findings[-1]
    assert "the image vllm/vllm-tpu:latest" in finding.message


def test_cuda_releases_are_for_nvidia(one: Make) -> None:
    assert opened(one(), "install=cu129").install == "cu129"
    assert adjusted(opened(one(), "install=cu129&hardware=mi300x")) == [("install", "cu129", None)]
