"""Front ends, long contexts, architectures, offloaded weights, NPUs: the layers of ENGINE 7."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.configuration.extras import default_features
from recipes_core.deployment import deploy
from recipes_core.render.shell import docker_argv, docker_command
from recipes_core.selection import Selection

from .laws import check_all, value_of
from .synthetic import recipe

RUST = "VLLM_USE_RUST_FRONTEND"


class TestFrontend:
    """Explicit, then strategy on this hardware, then recipe on this hardware, then the model."""

    @pytest.mark.parametrize(
        ("layers", "expected"),
        [
            ({}, None),
            ({"model__default_frontend": "rust"}, "rust"),
            ({"model__default_frontend": "rust",
              "hardware_overrides": {"hopper": {"default_frontend": "python"}}}, "python"),
            ({"hardware_overrides": {"hopper": {"default_frontend": "python"}},
              "strategy_overrides__single_node_tp":
                  {"hardware_overrides": {"h200": {"default_frontend": "rust"}}}}, "rust"),
            ({"model__default_frontend": "rust",
              "strategy_overrides__single_node_tp": {"default_frontend": "python"}}, "python"),
            ({"model__default_frontend": "python",
              "strategy_overrides__single_node_dep": {"default_frontend": "rust"}}, "python"),
        ],
    )  # fmt: skip
    def test_precedence(self, ours: Catalog, layers: dict[str, Any], expected: str | None) -> None:
        config = configure(ours, recipe(**layers), "hardware=h200&strategy=single_node_tp")
        (process,) = deploy(config).processes
        assert config.frontend == expected
        assert process.env.get(RUST) == ("1" if expected == "rust" else None)

    @pytest.mark.parametrize(("default", "asked", "value"), [
        ("rust", "python", None), ("python", "rust", "1"), ("rust", "rust", "1"),
    ])  # fmt: skip
    def test_what_is_asked_wins(
        self, ours: Catalog, default: str, asked: str, value: str | None
    ) -> None:
        entry = recipe(model__default_frontend=default)
        config = configure(ours, entry, Selection(hardware="h200", frontend=asked))
        (process,) = deploy(config).processes
        assert config.frontend == asked
        assert process.env.get(RUST) == value

    def test_a_recipe_that_sets_the_variable_itself_is_overruled(self, ours: Catalog) -> None:
        entry = recipe(model__base_env={RUST: "1"})
        assert deploy(configure(ours, entry, "frontend=python")).processes[0].env[RUST] == "0"
        assert deploy(configure(ours, entry)).processes[0].env[RUST] == "1"

    def test_an_unknown_one_is_said(self, ours: Catalog) -> None:
        config = configure(ours, recipe(), "frontend=go")
        assert [a.axis for a in config.adjustments] == ["frontend"]


class TestLongContext:
    FEATURE: dict[str, Any] = {  # noqa: RUF012
        "args": ["--hf-overrides", '{"rope_parameters":{"rope_type":"yarn","factor":4.0}}',
                 "--max-model-len", "131072"],
        "env": {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"},
    }  # fmt: skip

    def test_it_is_never_on_by_itself(self, ours: Catalog) -> None:
        entry = recipe(features__long_context=self.FEATURE)
        assert configure(ours, entry).features == ()
        assert "long_context" not in default_features(configure(ours, entry))

    def test_asked_it_stretches_the_positions(self, ours: Catalog) -> None:
        entry = recipe(
            features__long_context=self.FEATURE, model__base_args=["--max-model-len", "32768"]
        )
        (process,) = deploy(configure(ours, entry, "features=long_context")).processes
        assert value_of(process, "--max-model-len") == "131072"
        assert process.argv.count("--max-model-len") == 1
        overrides = json.loads(value_of(process, "--hf-overrides") or "")
        assert overrides["rope_parameters"]["rope_type"] == "yarn"
        assert process.env["VLLM_ALLOW_LONG_MAX_MODEL_LEN"] == "1"
        assert not any(word.startswith("--rope-scaling") for word in process.argv)

    def test_no_recipe_of_ours_has_it_by_default_or_scales_the_old_way(self, ours: Catalog) -> None:
        having = [n for n, e in ours.recipes.items() if "long_context" in e.recipe.features]
        assert having
        for name in having:
            assert "long_context" not in configure(ours, name).features
            config = configure(ours, name, "features=long_context")
            argv = deploy(config).processes[0].argv
            assert config.features == ("long_context",)
            assert "--rope-scaling" not in argv


class TestFeatureVariables:
    FEATURES: dict[str, Any] = {  # noqa: RUF012
        "fast": {
            "env": {"A": "feature", "B": "feature"},
            "default_mode": "one",
            "modes": {"one": {"env": {"B": "one"}, "args": ["--one"]},
                      "two": {"env": {"C": "two"}, "args": ["--two"]}},
            "hardware_overrides": {"amd": {"args": ["--amd"], "env": {"A": "amd"}}},
        },
    }  # fmt: skip

    def test_they_come_last_and_a_modes_after_its_features(self, ours: Catalog) -> None:
        entry = recipe(features=self.FEATURES, model__base_env={"A": "base", "Z": "base"})
        env = deploy(configure(ours, entry, "hardware=h200")).processes[0].env
        assert list(env.items())[:3] == [("A", "feature"), ("Z", "base"), ("B", "one")]
        other = deploy(configure(ours, entry, "hardware=h200&fmode=fast:two")).processes[0].env
        assert (other["B"], other["C"]) == ("feature", "two")

    def test_those_of_a_hardware_override_are_added(self, ours: Catalog) -> None:
        entry = recipe(features=self.FEATURES)
        (process,) = deploy(configure(ours, entry, "hardware=mi300x")).processes
        assert process.env["A"] == "amd"
        assert "--amd" in process.argv

    def test_a_feature_that_is_off_leaves_nothing(self, ours: Catalog) -> None:
        entry = recipe(features=self.FEATURES)
        (process,) = deploy(configure(ours, entry, "features=none")).processes
        assert not {"A", "B", "C"} & process.env.keys()


class TestArchitectures:
    def test_a_selector_names_every_hardware_of_an_architecture(self, ours: Catalog) -> None:
        entry = recipe(variants__default__supported_hardware=["arch:sm_100", "mi300x"])
        options = rules_of(ours, entry).hardware_options("default")
        enabled = {option.id for option in options if option.enabled}
        assert enabled == {"mi300x"} | {
            name for name, profile in ours.hardware.items()
            if profile.compute_arch == "sm_100" and not profile.restricted
        }  # fmt: skip
        assert {"b200", "gb200"} <= enabled
        refused = next(option for option in options if option.id == "h100")
        assert refused.reason == "this variant does not support it"

    def test_asked_elsewhere_it_is_adjusted(self, ours: Catalog) -> None:
        entry = recipe(variants__default__supported_hardware=["arch:sm_90"])
        config = configure(ours, entry, "hardware=b200")
        assert ours.hardware[config.hardware].compute_arch == "sm_90"
        assert [a.axis for a in config.adjustments] == ["hardware"]


class TestOffloadedWeights:
    """What stays on the GPUs decides nodes, sizes and fit, in place of the whole checkpoint."""

    BUDGET: dict[str, Any] = {  # noqa: RUF012
        "h200": {"gpu_resident_gb": 120, "host_gb": 900, "note": "experts on the host"}
    }

    def entry(self) -> Any:
        return recipe(
            variants__default__vram_minimum_gb=1400, variants__default__cpu_offload=self.BUDGET
        )

    def test_the_budget_counts_where_it_is_declared(self, ours: Catalog) -> None:
        here = configure(ours, self.entry(), "hardware=h200")
        assert (here.nodes, here.memory_needed_gb) == (1, 120)
        assert not here.findings
        assert here.strategy_id == "single_node_tp"
        assert value_of(deploy(here).processes[0], "--tensor-parallel-size") == "1"
        there = configure(ours, self.entry(), "hardware=h100")
        assert (there.nodes, there.memory_needed_gb) == (3, 1400)

    def test_an_unscalable_card_that_only_the_budget_fits_is_offered(self, ours: Catalog) -> None:
        budget = {"rtx_5090": {"gpu_resident_gb": 20, "host_gb": 190}}
        named = {"rtx_5090": "supported", "rtx_5090_2x": "supported"}
        entry = recipe(meta__hardware=named, variants__default__cpu_offload=budget)
        options = {o.id: o for o in rules_of(ours, entry).hardware_options("default")}
        assert options["rtx_5090"].enabled
        assert not options["rtx_5090_2x"].enabled
        assert "needs 200 GB" in (options["rtx_5090_2x"].reason or "")

    def test_a_budget_that_is_too_small_is_said(self, ours: Catalog) -> None:
        entry = recipe(variants__default__cpu_offload={"h200": {"gpu_resident_gb": 2000}})
        config = configure(ours, entry, "hardware=h200&nodes=1&strategy=single_node_tp")
        (finding,) = [f for f in config.findings if f.code == "memory-short"]
        assert "872 GB are missing" in finding.message


class TestAscend:
    """An NPU is a device file; the host's driver is mounted; no image is guessed."""

    def entry(self, **changes: Any) -> Any:
        return recipe(
            meta__hardware={"ascend_950dt": "supported", "ascend_910c": "supported"},
            variants__default__precision="int8",
            **changes,
        )

    PINNED: dict[str, Any] = {  # noqa: RUF012
        "variants__default__docker_image": {"huawei": "quay.io/ascend/vllm-ascend:v0.23.0-a5"}
    }

    @pytest.mark.parametrize(("hardware", "npus"), [("ascend_950dt", 8), ("ascend_910c", 16)])
    def test_each_npu_and_the_driver_are_named(
        self, ours: Catalog, hardware: str, npus: int
    ) -> None:
        config = configure(ours, self.entry(**self.PINNED), f"hardware={hardware}")
        deployment = deploy(config)
        check_all(deployment)
        (process,) = deployment.processes
        words, _ = docker_argv(process, {"HF_CACHE": "/data"})
        assert words is not None
        assert "--gpus" not in words
        devices = [value for flag, value in pairwise(words) if flag == "--device"]
        assert devices == [
            *(f"/dev/davinci{number}" for number in range(npus)),
            "/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc",
        ]  # fmt: skip
        for path in (
            "/usr/local/dcmi",
            "/usr/local/Ascend/driver/lib64/",
            "/etc/ascend_install.info",
        ):
            assert f"{path}:{path}" in words
        image = words.index("quay.io/ascend/vllm-ascend:v0.23.0-a5")
        assert words[image + 1 : image + 4] == ["vllm", "serve", "o/r"]
        assert "vllm-ascend:v0.23.0-a5 vllm serve o/r" in (docker_command(process) or "")

    def test_it_is_installed_by_its_container_alone(self, ours: Catalog) -> None:
        deployment = deploy(configure(ours, self.entry(**self.PINNED), "hardware=ascend_950dt"))
        tabs = deployment.install.tabs
        assert tabs["pip"] is None
        assert "Ascend" in deployment.install.reasons["pip"]
        step = tabs["docker"]
        assert step is not None
        assert step.command == "docker pull quay.io/ascend/vllm-ascend:v0.23.0-a5"
        assert "npu-smi info" in (step.note or "")

    @pytest.mark.parametrize("image", [None, "vllm/vllm-openai:v0.33.0", {"amd": "x/rocm"}])
    def test_without_a_pinned_image_it_is_refused(self, ours: Catalog, image: Any) -> None:
        entry = self.entry(variants__default__docker_image=image)
        deployment = deploy(configure(ours, entry, "hardware=ascend_950dt"))
        (process,) = deployment.processes
        assert docker_command(process) is None
        assert docker_argv(process) == (None, [])
        assert process.container is not None
        assert "Huawei" in (process.container.reason or "")
        (finding,) = [f for f in deployment.findings if f.code == "no-image"]
        assert finding.severity == "error"
        assert deployment.docker_image is None

    def test_more_nodes_share_the_hosts_network(self, ours: Catalog) -> None:
        config = configure(
            ours, self.entry(**self.PINNED), "hardware=ascend_950dt&strategy=multi_node_tp&nodes=2"
        )
        for process in deploy(config).processes:
            assert "--network host" in (docker_command(process) or "")
            assert "-p 8000" not in (docker_command(process) or "")
