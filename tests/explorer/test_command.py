"""The command card's steps: what to fill in, what to copy together, what is downloaded."""

from __future__ import annotations

import subprocess

import pytest

from recipes_core import ReaderValues, configure, deploy, load_catalog
from recipes_core.explorer.panels.command import MOST_TABS, first_form, mark_changes, steps_of
from recipes_core.render.clients import clients_of
from recipes_core.render.scripts import script_files, scripts_of

V32 = "deepseek-ai/DeepSeek-V3.2"
POOLS = "hardware=h200&strategy=pd_cluster&prefill_nodes=2&decode_nodes=2"
STORE = "hardware=h200&kv_offload=kv_store_distributed_mooncake&kv_instances=2"


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(only=[V32])


def deployed(catalog, query, **values):
    return deploy(configure(catalog, V32, query), ReaderValues(**values))


def step(deployment, name):
    return next(found for found in steps_of(deployment) if found["id"] == name)


def test_the_values_to_give_stand_before_the_commands_until_they_are_given(catalog):
    open_one = deployed(catalog, POOLS)
    text = step(open_one, "values")["blocks"][0]["text"]
    assert "export PREFILL_NODE_1= " in text
    names = {item.name: "10.0.0.1" for item in open_one.placeholders}
    assert {line.split()[1].rstrip("=") for line in text.splitlines()} == set(names)
    filled = deployed(catalog, POOLS, placeholders=names)
    assert "values" not in {found["id"] for found in steps_of(filled)}
    assert "values.sh" not in script_files(filled)


def test_a_process_says_its_place_and_what_it_waits_for(catalog):
    note = step(deployed(catalog, POOLS), "decode-1")["note"]
    assert note.startswith("Step 3 of 5: Decode node 1 of 2.")
    assert "$DECODE_NODE_1" in note
    assert "PREFILL" not in note


def test_two_ways_to_install_are_two_forms(catalog):
    blocks = step(deployed(catalog, POOLS), "install")["blocks"]
    by_form = {
        form: [b["text"] for b in blocks if b["form"] == form] for form in ("shell", "docker")
    }
    assert not [text for text in by_form["shell"] if "docker pull" in text]
    assert [text for text in by_form["docker"] if "docker pull" in text]
    # A router runs beside the containers.
    assert all(any("vllm-router" in text for text in texts) for texts in by_form.values())


def test_the_driver_is_said_once(catalog):
    assert step(deployed(catalog, ""), "install")["note"].count("or newer") == 1


def test_the_form_to_begin_with(catalog):
    assert first_form(deployed(catalog, "hardware=h200")) == "shell"
    assert first_form(deployed(catalog, "hardware=h200&install=docker")) == "docker"
    config = configure(catalog, V32, "hardware=h200")
    deployment = deploy(config)
    deployment.install.tabs["pip"] = None
    assert first_form(deployment) == "docker"


@pytest.mark.parametrize("docker", [False, True])
@pytest.mark.parametrize("query", ["hardware=h200", POOLS, STORE])
def test_every_file_of_a_zip_is_read_by_a_shell(catalog, query, docker):
    deployment = deployed(catalog, query)
    files = script_files(deployment, docker=docker)
    for name, text in files.items():
        done = subprocess.run(
            ["bash", "-n"], check=False, input=text, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{name}: {done.stderr}"
    engines = [
        files[f"{number:02d}-{process.name}.sh"]
        for number, process in enumerate(deployment.processes, 1)
        if process.is_engine
    ]
    assert all(("docker run" in text) is docker for text in engines)


def test_the_first_request_stops_where_the_routers_address_is_missing(catalog):
    text = script_files(deployed(catalog, POOLS))["first-request.sh"]
    done = subprocess.run(["bash"], check=False, input=text, capture_output=True, text=True, env={})
    assert done.returncode
    assert "ROUTER_HOST: address on which the router listens and clients reach it" in done.stderr


def test_the_benchmark_sends_the_servers_key(catalog):
    bench = clients_of(deployed(catalog, "hardware=h200", api_key_var="MY_KEY")).bench
    assert bench.startswith('OPENAI_API_KEY="$MY_KEY" vllm bench serve')
    assert "KEY" not in clients_of(deployed(catalog, "hardware=h200")).bench


def test_stopping_reaches_what_runs_beside_the_engines(catalog):
    stop = step(deployed(catalog, STORE), "stop")
    shell = next(b["text"] for b in stop["blocks"] if b["form"] == "shell").splitlines()
    assert shell[0] == "pkill -INT -f 'vllm serve'"
    assert any("vllm-router" in line for line in shell)
    assert any("mooncake_master" in line for line in shell)
    docker = next(b["text"] for b in stop["blocks"] if b["form"] == "docker")
    assert docker.startswith("docker ps -q --filter ancestor=vllm/vllm-openai")


def test_what_a_choice_took_away_is_named(catalog):
    before = steps_of(deployed(catalog, "hardware=h200"))
    after = steps_of(deployed(catalog, "hardware=h200&features=none"))
    mark_changes(before, after)
    block = next(b for s in after if s.get("main") for b in s["blocks"] if b["form"] == "shell")
    assert "--tool-call-parser" in block["gone"]
    assert "--tensor-parallel-size" not in block["gone"]
    again = steps_of(deployed(catalog, "hardware=h200&features=none"))
    mark_changes(after, again)
    assert not [b for s in again for b in s["blocks"] if "gone" in b]


def test_of_a_thousand_engines_the_first_have_tabs_and_the_rest_stand_in_the_zip(catalog):
    query = f"{STORE.removesuffix('2')}64&strategy=multi_node_tp&nodes=16"
    found = deployed(catalog, query)
    steps = steps_of(found)
    files = script_files(found)
    assert len(found.processes) > 1_000
    engines = {process.name for process in found.processes if process.is_engine}
    assert len([one for one in steps if one["id"] in engines]) == MOST_TABS
    shown = {one["id"] for one in steps}
    assert {process.name for process in found.processes} - engines <= shown
    listed = step(found, "further")["blocks"][0]["text"].split("\n")
    assert len(listed) == len(engines) - MOST_TABS
    assert all(line.removeprefix("# ") in files for line in listed)
    assert list(scripts_of(found)) == sorted(scripts_of(found))


def test_forty_engines_have_all_their_tabs(catalog):
    found = deployed(catalog, f"{STORE.removesuffix('2')}40")
    assert "further" not in {one["id"] for one in steps_of(found)}


def test_one_address_serves_the_router_to_listen_on_and_the_request_to_go_to(catalog):
    deployment = deployed(catalog, POOLS)
    router = deployment.entry
    assert router.argv[router.argv.index("--host") + 1] == "$ROUTER_HOST"
    assert "http://$ROUTER_HOST:" in clients_of(deployment).curl
    hint = next(item.hint for item in deployment.placeholders if item.name == "ROUTER_HOST")
    assert "clients reach it" in hint, "nobody on another machine reaches 0.0.0.0"
    assert "0.0.0.0" not in hint
    filled = deployed(catalog, POOLS, placeholders={"ROUTER_HOST": "0.0.0.0"})
    assert "http://localhost:" in clients_of(filled).curl
