"""The reader's own values: filled in everywhere, secrets by the name of a variable only."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import ReaderValues, deploy
from recipes_core.render.clients import clients_of
from recipes_core.render.json import to_json
from recipes_core.render.shell import docker_argv, docker_command, guarded_script, script

Make = Callable[..., Catalog]


def test_a_secret_is_the_name_of_a_variable(one: Make) -> None:
    values = ReaderValues(hf_token_var="MY_TOKEN", api_key_var="MY_KEY")
    deployment = deploy(configure(one(), "org/m"), values)
    (serve,) = deployment.processes
    assert "export HF_TOKEN=$MY_TOKEN" in script(serve)
    assert "-e VLLM_API_KEY=$MY_KEY" in (docker_command(serve) or "")
    assert '"Authorization: Bearer $MY_KEY"' in clients_of(deployment).curl
    assert "os.environ['MY_KEY']" in clients_of(deployment).python
    assert {p.name for p in deployment.placeholders} >= {"MY_TOKEN", "MY_KEY"}
    assert serve.provenance()["$HF_TOKEN"].layer == "reader"


@pytest.mark.parametrize("name", ["hf_abcdef 123", "x;y", "a-b", "$(id)"])
def test_what_is_no_name_of_a_variable_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name of a variable"):
        ReaderValues(hf_token_var=name)


def test_a_model_path_that_looks_like_a_flag_is_refused() -> None:
    with pytest.raises(ValueError, match="read a flag"):
        ReaderValues(model_path="--help")


def test_a_local_model_and_cache_folder(one: Make) -> None:
    values = ReaderValues(model_path="/models/my model", cache_folder="/big disk/$hf")
    deployment = deploy(configure(one(), "org/m"), values)
    (serve,) = deployment.processes
    assert serve.argv[2] == "/models/my model"
    assert "vllm serve '/models/my model'" in script(serve)
    assert "export HF_HOME='/big disk/$hf'" in script(serve)
    vector, needs = docker_argv(serve, {})
    assert needs == []
    assert "/big disk/$hf:/root/.cache/huggingface" in (vector or [])
    assert "-v '/big disk/$hf:/root/.cache/huggingface'" in (docker_command(serve) or "")
    text = docker_command(serve) or ""
    assert "-v '/models/my model:/models/my model:ro'" in text
    assert "HF_HOME" not in text


def test_addresses_are_filled_in_everywhere_at_once(one: Make) -> None:
    catalog = one(compatible_strategies=["single_node_tp", "multi_node_tp"])
    values = ReaderValues(placeholders={"HEAD_IP": "10.0.0.1", "IFACE_NAME": "eth0"})
    deployment = deploy(configure(catalog, "org/m", "nodes=2"), values)
    for process in deployment.processes:
        assert "10.0.0.1" in process.argv
        assert process.env["NCCL_SOCKET_IFNAME"] == "eth0"
        assert "$HEAD_IP" not in script(process)
    assert clients_of(deployment).curl.startswith("curl http://10.0.0.1:8000/")
    document = to_json(deployment.configuration, deployment)
    assert {p["name"]: p["value"] for p in document["deployment"]["placeholders"]} == {
        "HEAD_IP": "10.0.0.1",
        "IFACE_NAME": "eth0",
    }


def test_a_longer_name_is_another_placeholder(one: Make) -> None:
    catalog = one(model={"base_env": {"A": "$HEAD_IP/$HEAD_IP_2"}})
    values = ReaderValues(placeholders={"HEAD_IP": "1.2.3.4"})
    (serve,) = deploy(configure(catalog, "org/m"), values).processes
    assert serve.env["A"] == "1.2.3.4/$HEAD_IP_2"


def test_a_script_to_download_guards_each_placeholder(one: Make) -> None:
    catalog = one(compatible_strategies=["single_node_tp", "multi_node_tp"])
    deployment = deploy(configure(catalog, "org/m", "nodes=2"))
    text = guarded_script(deployment, deployment.processes[0])
    assert text.startswith("#!/usr/bin/env bash\nset -euo pipefail\n")
    assert ': "${HEAD_IP:?address of the head node' in text


def test_docker_runs_without_a_shell_once_all_is_known(one: Make) -> None:
    """REPORTS C7."""
    deployment = deploy(configure(one(), "org/m"))
    (serve,) = deployment.processes
    assert docker_argv(serve, {}) == (None, ["HF_CACHE"])
    vector, needs = docker_argv(serve, {"HF_CACHE": "/root/.cache/huggingface"})
    assert needs == []
    assert vector is not None
    assert not any("~" in word or "$" in word for word in vector)
    assert vector[:2] == ["docker", "run"]
