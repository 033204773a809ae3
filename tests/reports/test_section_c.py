"""REPORTS C: version floors, install, containers."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from packaging.version import Version

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.deployment.install import NEWEST_RELEASE
from recipes_core.render.shell import docker_argv, docker_command
from recipes_core.selection import Selection
from tests.deployment.laws import check_docker_argv
from tests.deployment.synthetic import recipe

from .reading import made


def test_c1_the_floor_is_the_highest_of_all_that_is_on(ours: Catalog) -> None:
    entry = recipe(
        model__min_vllm_version="0.20.0", variants__default__min_vllm_version="0.25.0",
        features={"late": {"args": ["--x"], "min_vllm_version": "0.31.0"}},
        opt_in_features=["late"],
    )  # fmt: skip
    assert made(ours, entry, "hardware=h200").min_vllm_version == "0.25.0"
    assert made(ours, entry, "hardware=h200&features=late").min_vllm_version == "0.31.0"


def test_c2_a_variant_may_ask_for_a_newer_release(ours: Catalog) -> None:
    """Qwen3.6's NVFP4 files need a kernel of 0.28.0."""
    found = {
        variant: made(ours, "Qwen/Qwen3.6-27B", f"variant={variant}").min_vllm_version
        for variant, document in ours.recipes["Qwen/Qwen3.6-27B"].recipe.variants.items()
        if document.precision == "nvfp4"
    }
    assert found
    assert all(Version(floor or "0") >= Version("0.28.0") for floor in found.values()), found


def test_c3_no_floor_asks_for_a_release_that_is_not_out(ours: Catalog) -> None:
    for name, entry in ours.recipes.items():
        for variant in entry.recipe.variants:
            deployment = made(ours, name, f"variant={variant}")
            floor = deployment.min_vllm_version
            pip = deployment.install.tabs.get("pip")
            if floor is None:
                assert "nightly" in (pip.command if pip else "nightly"), name
            else:
                assert Version(floor) <= Version(NEWEST_RELEASE), (name, floor)


class TestC4:
    """CUDA releases: wheels and image agree, the newest first, and none that is not there."""

    MAP = {"nvidia": {"cu129": "x/vllm:cu129", "cu130": "x/vllm:cu130"}}  # noqa: RUF012

    def test_cuda_13_is_taken_first(self, ours: Catalog) -> None:
        deployment = made(ours, recipe(model__docker_image=self.MAP), "hardware=h200")
        assert deployment.docker_image == "x/vllm:cu130"
        assert "r580" in (deployment.install.driver or "")

    def test_asked_the_older_one_is_taken_everywhere(self, ours: Catalog) -> None:
        entry = recipe(model__docker_image=self.MAP)
        deployment = made(ours, entry, "hardware=h200&install=cu129")
        assert deployment.docker_image == "x/vllm:cu129"
        assert "r575" in (deployment.install.driver or "")
        pip = deployment.install.tabs["pip"]
        assert pip is not None
        assert "cu129" in pip.command

    def test_an_image_for_cuda_13_alone_offers_no_other(self, ours: Catalog) -> None:
        entry = recipe(model__docker_image={"nvidia": {"cu130": "x/vllm:cu130"}})
        deployment = made(ours, entry, "hardware=h200")
        assert deployment.docker_image == "x/vllm:cu130"
        assert "cu129" not in json.dumps([t.command for t in deployment.install.tabs.values() if t])

    @pytest.mark.parametrize(("nightly", "tag"), [(True, ":nightly"), (False, ":latest")])
    def test_a_nightly_is_asked_of_wheel_and_image_alike(
        self, ours: Catalog, nightly: bool, tag: str
    ) -> None:
        deployment = made(ours, recipe(model__nightly_required=nightly), "hardware=h200")
        pip = deployment.install.tabs["pip"]
        assert pip is not None
        assert (deployment.docker_image or "").endswith(tag)
        assert ("--pre" in pip.command) is nightly


def test_c5_packages_are_for_pip_unless_they_say_so(ours: Catalog) -> None:
    """The report: a pip package stood under Docker. The tabs a package belongs to are kept."""
    entry = recipe(
        dependencies=[
            {"command": "uv pip install a"},
            {"command": "uv pip install b", "install_modes": ["pip", "docker"]},
            {"command": "uv pip install c", "brand": "AMD"},
        ]
    )
    deployment = made(ours, entry, "hardware=h200")
    assert [step.command for step in deployment.install.extras] == [
        "uv pip install a", "uv pip install b",
    ]  # fmt: skip
    assert [d.install_modes for d in entry.recipe.dependencies][:2] == [
        ("pip",), ("pip", "docker"),
    ]  # fmt: skip


def clusters(catalog: Catalog) -> list[str]:
    rules = rules_of(catalog, recipe())
    multi = [f"strategy={name}&nodes=2" for name in rules.strategies if name.startswith("multi")]
    return [*multi, "strategy=pd_cluster"]


@pytest.mark.parametrize("hardware", ["h200", "mi355x"])
def test_c6_nodes_see_each_other(ours: Catalog, hardware: str) -> None:
    for query in clusters(ours):
        for process in made(ours, recipe(), f"hardware={hardware}&{query}").processes:
            if process.is_engine:
                text = docker_command(process) or ""
                assert "--network host" in text, query
                assert not re.search(r" -p \d", text), query


class TestC7:
    """Containers: vectors without a shell, TPU's flags once, and values in quotes."""

    @pytest.mark.parametrize("hardware", ["h200", "mi300x", "xeon6", "arc_pro_b60"])
    def test_a_vector_has_no_home_and_no_variable(self, ours: Catalog, hardware: str) -> None:
        deployment = made(ours, recipe(), f"hardware={hardware}&strategy=single_node_tp")
        check_docker_argv(deployment)

    def test_what_is_missing_is_listed(self, ours: Catalog) -> None:
        query = "hardware=h200&strategy=multi_node_tp&nodes=2"
        for process in made(ours, recipe(), query).processes:
            words, needs = docker_argv(process)
            assert words is None
            assert {"HEAD_IP", "IFACE_NAME", "HF_CACHE"} <= set(needs)

    def test_a_tpu_has_each_flag_once(self, upstream: Catalog) -> None:
        seen = 0
        for name, entry in upstream.recipes.items():
            tpus = [
                name
                for name, profile in upstream.hardware.items()
                if profile.generation == "tpu" and name in entry.recipe.meta.hardware
            ]
            for hardware in tpus:
                config = configure(upstream, name, Selection(hardware=hardware))
                if config.hardware != hardware:
                    continue
                for process in deploy(config).processes:
                    text = docker_command(process) or ""
                    seen += 1
                    assert text.count("--privileged") == 1
                    assert text.count("--network host") == 1
                    assert " -p " not in text
        assert seen

    def test_values_of_variables_are_quoted(self, ours: Catalog) -> None:
        entry = recipe(model__base_env={"A": "x y", "B": '{"a":1}', "C": "it's", "D": "$(id)"})
        (process,) = made(ours, entry, "hardware=h200&strategy=single_node_tp").processes
        text = docker_command(process) or ""
        shown = f'docker() {{ printf "%s\\0" "$@"; }}; HOME=/root; {text}'
        done = subprocess.run(["bash", "-c", shown], capture_output=True, text=True, check=True)
        words = done.stdout.split("\0")
        for name, value in process.env.items():
            assert f"{name}={value}" in words


def test_c8_ascend_gets_no_image_of_another_brand(ours: Catalog) -> None:
    entry = recipe(meta__hardware={"ascend_950dt": "supported"})
    deployment = made(ours, entry, "hardware=ascend_950dt")
    assert deployment.docker_image is None
    assert "no-image" in {finding.code for finding in deployment.findings}
    assert all(docker_command(process) is None for process in deployment.processes)


def test_c11_every_omni_server_is_vllm_serve_omni(ours: Catalog) -> None:
    seen = 0
    for name, entry in ours.recipes.items():
        if rules_of(ours, entry).is_omni:
            (process,) = [p for p in made(ours, name).processes if p.is_engine]
            assert process.argv[:2] == ["vllm", "serve"]
            assert process.argv.count("--omni") == 1
            seen += 1
    assert seen > 15


def test_g12_each_node_has_its_own_variables_and_container(ours: Catalog) -> None:
    """The peer gives one set of variables for a cluster, and no container for most processes."""
    query = "hardware=h200&strategy=pd_cluster&decode_mode=dep&decode_nodes=2&prefill_nodes=1"
    engines = [p for p in made(ours, recipe(), query).processes if p.is_engine]
    hosts = [p.env["VLLM_NIXL_SIDE_CHANNEL_HOST"] for p in engines]
    assert hosts == ["$PREFILL_NODE_1", "$DECODE_NODE_1", "$DECODE_NODE_2"]
    assert all(docker_command(process) for process in engines)
