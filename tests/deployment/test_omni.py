"""Omni recipes: a server and a task, with a request that can be pasted."""

from __future__ import annotations

import re
import subprocess

import pytest

from recipes_core.axes import task_key
from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.catalog.documents import Recipe
from recipes_core.configuration import configure
from recipes_core.deployment import Deployment, ReaderValues, deploy
from recipes_core.link import page_query
from recipes_core.options import options_of
from recipes_core.render.clients import clients_of
from recipes_core.render.json import to_json
from recipes_core.render.slurm import to_slurm
from recipes_core.selection import Selection

from .laws import check_all, value_of


def omni(catalog: Catalog) -> list[tuple[str, str]]:
    return [
        (name, task_key(task))
        for name, entry in catalog.recipes.items()
        if entry.recipe.omni
        for task in entry.recipe.omni.tasks
    ]


def each(catalog: Catalog, **asked: object) -> list[Deployment]:
    return [
        deploy(configure(catalog, name, Selection(task=task, **asked)))  # type: ignore[arg-type]
        for name, task in omni(catalog)
    ]


def test_each_task_has_one_server_that_ends_in_omni(catalog: Catalog) -> None:
    deployments = each(catalog)
    assert len(deployments) > 30
    for deployment in deployments:
        check_all(deployment)
        (process,) = [p for p in deployment.processes if p.is_engine]
        assert deployment.type == "omni"
        assert process.argv[:2] == ["vllm", "serve"]
        assert process.argv[-1] == "--omni"
        task = deployment.configuration.task
        assert task is not None
        assert process.argv[2] == (task.model_id or deployment.configuration.model_id)


def test_every_request_is_shell_and_goes_to_the_server(catalog: Catalog) -> None:
    texts = []
    for deployment in each(catalog):
        process = deployment.processes[0]
        text = clients_of(deployment).curl
        texts.append(text)
        assert f"http://localhost:{process.port}/v1/" in text, text
        assert clients_of(deployment).python is None
    script = "\n".join(f"f{n}() {{\n{text}\n}}" for n, text in enumerate(texts))
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("t2i", "/v1/images/generations"), ("i2i", "/v1/images/edits"), ("t2v", "/v1/videos/sync"),
        ("i2v", "/v1/videos/sync"), ("ti2v", "/v1/videos/sync"), ("t2a", "/v1/audio/generate"),
    ],
)  # fmt: skip
def test_a_task_without_a_request_of_its_own_gets_its_endpoint(
    ours: Catalog, kind: str, path: str
) -> None:
    recipe = ours.recipes["zai-org/GLM-Image"].recipe
    assert recipe.omni is not None
    changed = recipe.model_copy(update={"omni": recipe.omni.model_copy(update={"tasks": (kind,)})})
    entry = RecipeEntry("o/r", changed, "models/o/r.yaml", "test")
    text = clients_of(deploy(configure(ours, entry, "port=9123"))).curl
    assert f"http://localhost:9123{path}" in text
    assert ("/path/to/" in text) is kind.startswith(("i2", "ti2"))


def test_the_port_that_is_asked_reaches_server_container_and_request(catalog: Catalog) -> None:
    for deployment in each(catalog, port=9123):
        (process,) = [p for p in deployment.processes if p.is_engine]
        assert value_of(process, "--port") == "9123"
        assert process.argv.count("--port") == 1
        words = [
            word for line in (process.container.run if process.container else []) for word in line
        ]
        assert "9123:9123" in words or "host" in words or not words
        text = clients_of(deployment).curl
        assert "localhost:9123/" in text
        assert not re.search(r"localhost:(8000|8092)", text)


def test_a_key_and_a_served_name_are_in_the_request(ours: Catalog) -> None:
    config = configure(ours, "IndexTeam/IndexTTS-2.5", "served_name=speech")
    text = clients_of(deploy(config, ReaderValues(api_key_var="MY_KEY"))).curl
    assert '"model": "speech"' in text
    assert 'curl -H "Authorization: Bearer $MY_KEY" ' in text


def test_a_recipes_own_port_is_the_servers(ours: Catalog) -> None:
    (process,) = deploy(configure(ours, "IndexTeam/IndexTTS-2.5")).processes
    assert process.port == 8092
    assert process.container is not None
    assert ["--privileged", "--ipc=host", "-p", "8092:8092"] in process.container.run


def test_every_task_is_an_option_with_its_axes(ours: Catalog) -> None:
    config = configure(ours, "Lightricks/LTX-2.5-Diffusers")
    omni = config.recipe.omni
    assert omni is not None
    options = options_of(config)["task"]
    assert [option.id for option in options] == [task_key(task) for task in omni.tasks]
    assert [option.default for option in options] == [True] + [False] * 7
    axes = {axis.id: {option.id for option in axis.options} for axis in omni.task_axes}
    places = [tuple(option.facts["axes"].values()) for option in options]
    assert len(set(places)) == len(options)
    for option in options:
        assert {axis: value in axes[axis] for axis, value in option.facts["axes"].items()} == (
            dict.fromkeys(axes, True)
        )


def test_a_task_brings_its_checkpoint_its_layers_and_its_memory(upstream: Catalog) -> None:
    wan = "Wan-AI/Wan2.2-T2V-A14B-Diffusers"
    served = {}
    for task, needed in (("t2v", 152), ("i2v", 40), ("ti2v", 20)):
        config = configure(upstream, wan, f"task={task}&hardware=h100")
        served[task] = deploy(config).processes[0].argv[2]
        assert config.memory_needed_gb == needed
    assert len(set(served.values())) == 3


def test_memory_that_a_task_lacks_is_said(upstream: Catalog) -> None:
    config = configure(upstream, "Wan-AI/Wan2.2-T2V-A14B-Diffusers", "task=t2v&hardware=rtx_5090")
    short = [f for f in config.findings if f.code == "memory-short"]
    adjusted = [a for a in config.adjustments if a.axis == "hardware"]
    assert short or adjusted


def test_the_memory_of_a_task_may_differ_by_hardware(ours: Catalog) -> None:
    recipe = ours.recipes["zai-org/GLM-Image"].recipe.model_dump(exclude_unset=True, mode="json")
    recipe["omni"]["tasks"] = [
        {"id": "t2i", "vram_minimum_gb": 70,
         "hardware_overrides": {"h200": {"vram_minimum_gb": 120, "extra_args": ["--vae-use-tiling"],
                                         "extra_env": {"TILED": "1"}}}},
    ]  # fmt: skip
    entry = RecipeEntry("o/r", Recipe.model_validate(recipe), "models/o/r.yaml", "test")
    for hardware, needed in (("h100", 70), ("h200", 120)):
        config = configure(ours, entry, f"hardware={hardware}")
        (process,) = deploy(config).processes
        assert config.memory_needed_gb == needed
        assert ("--vae-use-tiling" in process.argv) is (hardware == "h200")
        assert ("TILED" in process.env) is (hardware == "h200")


@pytest.mark.parametrize(
    "asked",
    ["strategy=single_node_tp", "nodes=2", "kv_offload=simple", "router=smg", "prefill_nodes=2",
     "gpus=2", "preset=x", "task=nothing"],
)  # fmt: skip
def test_what_an_omni_recipe_has_not_is_adjusted(ours: Catalog, asked: str) -> None:
    config = configure(ours, "zai-org/GLM-Image", asked)
    assert [a.axis for a in config.adjustments] == [asked.partition("=")[0]]
    check_all(deploy(config))
    assert not configure(ours, "zai-org/GLM-Image", page_query(config)).adjustments


def test_no_parallel_sizes_are_claimed_for_a_server_that_has_no_strategy(catalog: Catalog) -> None:
    """Its own arguments decide; a size of ours beside them was never given to it."""
    for deployment in each(catalog):
        document = to_json(deployment.configuration, deployment)
        assert document["configuration"]["topology"] == []
        assert [process.layout for process in deployment.processes] == [None]
        assert f"--gpus-per-node={deployment.configuration.profile.gpu_count}" in to_slurm(
            deployment
        )
