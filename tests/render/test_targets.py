"""Compose, Kubernetes, Slurm and vLLM's config file run the very commands of the deployment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.errors import RenderRefusedError
from recipes_core.flags import parse_args
from recipes_core.render.compose import to_compose
from recipes_core.render.kubernetes import to_kubernetes
from recipes_core.render.machines import machines
from recipes_core.render.slurm import to_slurm
from recipes_core.render.vllm_config import to_vllm_config
from recipes_core.vllm_cli.command import expand_config

V32 = "deepseek-ai/DeepSeek-V3.2"
ERNIE = "baidu/ERNIE-4.5-VL-28B-A3B-PT"
FLASH = "baidu/ERNIE-5.5-Flash"
SHAPES = {
    "one node": (ERNIE, "hardware=h200"),
    "AMD": (ERNIE, "hardware=mi300x"),
    "CPU": ("Qwen/Qwen3-8B", "hardware=xeon6"),
    "two nodes": (V32, "hardware=h200&nodes=2"),
    "four nodes": (V32, "hardware=h200&nodes=4"),
    "pipeline": (V32, "hardware=h200&nodes=4&strategy=multi_node_tp_pp"),
    "three nodes data parallel": (V32, "hardware=h200&nodes=3&strategy=multi_node_dep"),
    "pools": (V32, "hardware=h200&strategy=pd_cluster&prefill_nodes=3&prefill_mode=dep"),
    "halves": (V32, "hardware=b300&strategy=pd_cluster&prefill_nodes=0&decode_nodes=0"),
}
EVERY = {
    **SHAPES,
    "router": (FLASH, "hardware=gb200"),
    "companion": (V32, "hardware=h200&kv_offload=lmcache"),
    "store": (V32, "hardware=h200&nodes=2&kv_offload=kv_store_centralized_mooncake&kv_instances=2"),
}
VALUES = {"IFACE_NAME": "eth0"}


@pytest.fixture(params=list(SHAPES))
def laid(request, lay):
    return lay(*SHAPES[request.param])


@pytest.fixture(params=list(EVERY))
def any_laid(request, lay):
    return lay(*EVERY[request.param])


def engines(laid):
    return [process for process in laid.deployment.processes if process.is_engine]


# --- Compose ----------------------------------------------------------------------------------


def interpolated(value: Any, given: dict[str, str]) -> Any:
    """What Compose makes of a value: ``${NAME:?hint}`` filled in, ``$$`` a dollar."""
    if isinstance(value, dict):
        return {key: interpolated(item, given) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, given) for item in value]
    if not isinstance(value, str):
        return value

    def put(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else given[match[1]]

    return re.sub(r"\$\$|\$\{(\w+)[^}]*\}", put, value)


def test_compose_runs_the_same_arguments_and_variables(laid):
    given = {item.name: f"<{item.name}>" for item in laid.deployment.placeholders}
    given["HF_CACHE"] = "~/.cache/huggingface"
    services = interpolated(yaml.safe_load(to_compose(laid.deployment)), given)["services"]
    for process in engines(laid):
        service = services[process.name]
        filled = [re.sub(r"\$(\w+)", lambda m: given[m[1]], word) for word in process.argv[2:]]
        assert service["command"] == filled
        env = {k: re.sub(r"\$(\w+)", lambda m: given[m[1]], v) for k, v in process.env.items()}
        assert service.get("environment", {}) == env
        assert "~/.cache/huggingface:/root/.cache/huggingface" in service["volumes"]


def test_compose_gives_each_node_a_profile(lay):
    text = to_compose(lay(V32, "hardware=h200&nodes=2").deployment)
    services = yaml.safe_load(text)["services"]
    assert {name: service["profiles"] for name, service in services.items()} == {
        "head": ["head"], "worker-1": ["worker-1"],
    }  # fmt: skip
    assert all(service["network_mode"] == "host" for service in services.values())
    assert "docker compose --profile worker-1 up" in text


def test_compose_asks_for_the_devices_of_the_brand(lay):
    nvidia = yaml.safe_load(to_compose(lay(ERNIE, "hardware=h200").deployment))
    device = nvidia["services"]["serve"]["deploy"]["resources"]["reservations"]["devices"][0]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    amd = yaml.safe_load(to_compose(lay(ERNIE, "hardware=mi300x").deployment))
    assert amd["services"]["serve"]["devices"] == ["/dev/kfd", "/dev/dri"]


def test_compose_keeps_a_dollar_of_a_reader_literal(lay):
    text = to_compose(lay(ERNIE, "hardware=h200&served_name=$HOME").deployment)
    assert yaml.safe_load(text)["services"]["serve"]["command"][-1] == "$$HOME"


@pytest.mark.parametrize("name", ["store", "companion", "router"])
@pytest.mark.parametrize("render", [to_compose, to_kubernetes])
def test_what_has_no_image_is_refused(lay, name, render):
    with pytest.raises(RenderRefusedError, match=r"no image"):
        render(lay(*EVERY[name]).deployment)


# --- Kubernetes -------------------------------------------------------------------------------


def documents(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def templates(document: dict[str, Any]) -> list[dict[str, Any]]:
    spec = document["spec"]
    if document["kind"] == "LeaderWorkerSet":
        inner = spec["leaderWorkerTemplate"]
        return [inner["leaderTemplate"], inner["workerTemplate"]]
    return [spec["template"]] if document["kind"] == "Deployment" else []


def expanded(container: dict[str, Any], env: dict[str, str]) -> list[str]:
    """The arguments that the container's program gets on a pod with these variables."""

    def put(word: str) -> str:
        return re.sub(
            r"\$\$\(|\$\((\w+)\)", lambda m: "$(" if m[1] is None else env.get(m[1], m[0]), word
        )

    words = [put(word) for word in (*container["command"], *container["args"])]
    if words[:2] != ["sh", "-c"]:
        return words
    script = words[2].replace("exec vllm", "printf '%s\\0' vllm", 1)
    out = subprocess.run(["sh", "-c", script], capture_output=True, env=env, check=True).stdout
    return out.decode().split("\0")[:-1]


def test_each_pod_gets_the_arguments_of_its_node(laid):
    found = documents(to_kubernetes(laid.deployment))
    sets = [d for d in found if d["kind"] == "LeaderWorkerSet" or "vllm" in str(templates(d))]
    sets = [d for d in sets if d["kind"] in {"LeaderWorkerSet", "Deployment"}]
    placed = {}
    for document in sets:
        name = document["metadata"]["name"]
        size = document["spec"].get("leaderWorkerTemplate", {}).get("size", 1)
        for node in range(size):
            template = templates(document)[min(node, len(templates(document)) - 1, 1)]
            container = template["spec"]["containers"][0]
            if container["name"] != "vllm":
                continue
            env = {
                "LWS_LEADER_ADDRESS": f"{name}-0.{name}",
                "LWS_WORKER_INDEX": str(node),
                **VALUES,
            }
            placed[name, node] = expanded(container, env)
    inside = {"PREFILL_DP_RPC_PORT": "13345", "DECODE_DP_RPC_PORT": "13345", **VALUES}
    wanted = []
    for process in engines(laid):
        group = next(
            name for name, node in placed
            if node == process.node and (process.pool is None or name.endswith(process.pool))
        )  # fmt: skip
        pods = {"HEAD_IP": f"{group}-0.{group}", "PREFILL_NODE_1": f"{group}-0.{group}",
                "DECODE_NODE_1": f"{group}-0.{group}", **inside}  # fmt: skip
        wanted.append([re.sub(r"\$(\w+)", lambda m: pods[m[1]], word) for word in process.argv])  # noqa: B023
    assert sorted(placed.values()) == sorted(wanted)


def closed(schema: Any) -> Any:
    """The schema with every described object closed, so that a misspelt field is an error."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        found.setdefault("additionalProperties", False)
    return found


@pytest.fixture(scope="module")
def lws_validator(shared: Path):
    schema = closed(json.loads((shared / "schemas" / "leaderworkerset_v1.json").read_text()))
    return jsonschema.Draft7Validator(schema)


def test_leader_worker_sets_are_valid(lws_validator, laid):
    for document in documents(to_kubernetes(laid.deployment)):
        if document["kind"] == "LeaderWorkerSet":
            lws_validator.validate(document)
            assert document["apiVersion"] == "leaderworkerset.x-k8s.io/v1"


def test_the_validator_catches_a_misspelt_field(lws_validator, lay):
    document = documents(to_kubernetes(lay(V32, "hardware=h200&nodes=2").deployment))[0]
    template = document["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    template["spec"]["containers"][0]["resource"] = {}
    with pytest.raises(jsonschema.ValidationError):
        lws_validator.validate(document)


def test_a_pod_asks_for_the_gpus_it_uses(laid):
    limits = [
        container["resources"]["limits"]
        for document in documents(to_kubernetes(laid.deployment))
        for template in templates(document)[:1]
        for container in template["spec"]["containers"]
        if "resources" in container
    ]
    gpus = {int(count) for limit in limits for count in limit.values()}
    on_gpus = laid.config.profile.generation != "cpu"
    assert gpus == ({p.layout.gpus_per_node for p in engines(laid)} if on_gpus else set())


def test_the_service_reaches_a_pod(laid):
    found = documents(to_kubernetes(laid.deployment))
    service = next(d for d in found if d["kind"] == "Service")
    selector = service["spec"]["selector"].items()
    pods = [t for d in found for t in templates(d) if selector <= t["metadata"]["labels"].items()]
    assert len(pods) == 1
    target = service["spec"]["ports"][0]["targetPort"]
    ports = [p["containerPort"] for c in pods[0]["spec"]["containers"] for p in c.get("ports", [])]
    assert target in ports


def test_a_pod_listens_on_its_own_address(lay):
    text = to_kubernetes(lay(*SHAPES["pools"]).deployment)
    leader = documents(text)[0]["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    env = {entry["name"]: entry for entry in leader["spec"]["containers"][0]["env"]}
    host = env["VLLM_NIXL_SIDE_CHANNEL_HOST"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert host == "status.podIP"
    assert "CUDA_VISIBLE_DEVICES" not in text
    assert env["IFACE_NAME"]["valueFrom"]["configMapKeyRef"]["key"] == "IFACE_NAME"
    assert "kubectl create configmap deepseek-v3-2-values --from-literal=IFACE_NAME=" in text


def test_secrets_come_from_a_secret_and_folders_from_the_host(lay):
    values = {
        "hf_token_var": "MY_TOKEN",
        "api_key_var": "MY_KEY",
        "cache_folder": "/mnt/cache",
        "model_path": "/models/$x",
    }
    text = to_kubernetes(lay(ERNIE, "hardware=h200", **values).deployment)
    pod = templates(documents(text)[0])[0]["spec"]
    container = pod["containers"][0]
    env = {entry["name"]: entry["valueFrom"]["secretKeyRef"] for entry in container["env"]}
    secret = "ernie-4-5-vl-28b-a3b-pt-secrets"
    assert env == {
        "HF_TOKEN": {"name": secret, "key": "MY_TOKEN"},
        "VLLM_API_KEY": {"name": secret, "key": "MY_KEY"},
    }
    assert f"kubectl create secret generic {secret} --from-literal=MY_TOKEN=…" in text
    paths = [volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume]
    assert paths == ["/mnt/cache", "/models/$x"]
    assert container["args"][0] == "/models/$x"
    assert container["volumeMounts"][-1] == {
        "name": "folder-0", "mountPath": "/models/$x", "readOnly": True,
    }  # fmt: skip


def test_a_model_that_is_no_full_path_cannot_be_mounted(lay):
    with pytest.raises(RenderRefusedError, match="full path"):
        to_kubernetes(lay(ERNIE, "hardware=h200", model_path="./model").deployment)


def test_hardware_without_a_known_resource_name_is_refused(catalog):
    hit = next(
        (config for entry in catalog.recipes.values()
         if (config := configure(catalog, entry, "hardware=ironwood")).hardware == "ironwood"),
        None,
    )  # fmt: skip
    if hit is None:
        pytest.skip("no recipe of ours runs on a TPU")
    with pytest.raises(RenderRefusedError, match="resource name"):
        to_kubernetes(deploy(hit))


# --- Slurm ------------------------------------------------------------------------------------

FAKES = {
    "scontrol": 'printf "%s\\n" $FAKE_HOSTS',
    "srun": 'shift; for id in $FAKE_IDS; do SLURM_NODEID="$id" "$@" || exit; done',
    "xargs": "cat > /dev/null",
}
RECORD = """
# Several run at once: each adds its line in one piece.
own="$FAKE_LOG.of-$$"
{ printf '%s\\0' "$(basename "$0")" "$@"; printf '\\n'; } > "$own"
cat "$own" >> "$FAKE_LOG.$SLURM_NODEID"
"""


@pytest.fixture
def cluster(tmp_path: Path):
    """A PATH on which every program only notes how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    names = ("vllm", "vllm-router", "mooncake_master", "lmcache", "python3")
    for name, body in {**FAKES, **dict.fromkeys(names, RECORD)}.items():
        path = folder / name
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(0o755)
    return folder


def test_each_node_of_an_allocation_runs_its_part(any_laid, cluster: Path, tmp_path: Path):
    nodes = machines(any_laid.deployment)
    hosts = [f"host{number}" for number in range(len(nodes))]
    env = {
        "PATH": f"{cluster}:{os.environ['PATH']}",
        "FAKE_HOSTS": " ".join(hosts),
        "FAKE_IDS": " ".join(map(str, range(len(nodes)))),
        "FAKE_LOG": str(tmp_path / "log"),
        "SLURM_JOB_NODELIST": "x",
    }
    given = {name: host for node, host in zip(nodes, hosts, strict=True) for name in node.addresses}
    for item in any_laid.deployment.placeholders:
        if item.name not in given:
            given[item.name] = env[item.name] = (
                str(tmp_path / item.name) if item.name.endswith("PATH") else f"v{len(env)}"
            )
    # A node's script goes on as soon as one process ends; the pipe closes when all have.
    subprocess.run(
        ["bash", "-c", to_slurm(any_laid.deployment)],
        env=env,
        check=True,
        stdout=subprocess.PIPE,
        timeout=60,
    )
    for number, node in enumerate(nodes):
        noted = (tmp_path / f"log.{number}").read_text().split("\n")[:-1]
        calls = sorted(line.split("\0")[:-1] for line in noted)
        argvs = [
            [re.sub(r"\$(\w+)", lambda m: given[m[1]], word) for word in process.argv]
            for process in node.processes
        ]
        assert calls == sorted(argvs)
    for file in any_laid.deployment.files:
        path = re.sub(r"\$(\w+)", lambda m: given[m[1]], file.path)
        assert json.loads(Path(path).read_text()).keys() == file.content.keys()


def test_slurm_scripts_pass_shellcheck(any_laid, tmp_path: Path):
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    path = tmp_path / "job.sh"
    path.write_text(to_slurm(any_laid.deployment))
    done = subprocess.run(
        ["shellcheck", "--severity=warning", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_slurm_stops_at_a_placeholder_without_a_value(lay, cluster: Path):
    text = to_slurm(lay(V32, "hardware=h200&nodes=2").deployment)
    env = {
        "PATH": f"{cluster}:{os.environ['PATH']}",
        "SLURM_JOB_NODELIST": "x",
        "FAKE_HOSTS": "a b",
    }
    done = subprocess.run(
        ["bash", "-c", text], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "IFACE_NAME: network interface" in done.stderr


def test_slurm_asks_for_the_nodes_and_gpus_that_are_used(lay):
    text = to_slurm(lay(V32, "hardware=h200&nodes=4").deployment)
    assert "#SBATCH --nodes=4\n" in text
    assert "#SBATCH --gpus-per-node=8\n" in text
    assert "#SBATCH --gpus-per-node=1\n" in to_slurm(lay(ERNIE, "hardware=h200").deployment)
    assert "gpus-per-node" not in to_slurm(lay("Qwen/Qwen3-8B", "hardware=xeon6").deployment)


# --- vLLM's config file -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["one node", "AMD", "CPU", "router", "companion"])
def test_vllm_reads_the_same_arguments_from_its_file(lay, name):
    laid = lay(*EVERY[name])
    process = engines(laid)[0]
    text = to_vllm_config(laid.deployment)
    words = expand_config(["vllm", "serve", "--config", "x.yaml"], lambda _: text, ())
    assert list(words[:3]) == process.argv[:3]
    read, rendered = (parse_args(argv[3:]) for argv in (words, process.argv))
    assert [flag[:2] for flag in read] == [flag[:2] for flag in rendered]


def test_the_file_of_each_node_is_a_document(lay):
    given = {"HEAD_IP": "10.0.0.1", "IFACE_NAME": "eth0"}
    laid = lay(V32, "hardware=h200&nodes=3", placeholders=given)
    texts = to_vllm_config(laid.deployment).split("---\n")
    assert len(texts) == 3
    for process, text in zip(engines(laid), texts, strict=True):
        read = yaml.safe_load(text)
        assert read["node-rank"] == process.node
        assert read["master-addr"] == "10.0.0.1"
        assert "export GLOO_SOCKET_IFNAME=eth0" in text
    alone = to_vllm_config(laid.deployment, "worker-2")
    assert yaml.safe_load(alone) == yaml.safe_load(texts[2])


def test_an_open_placeholder_is_refused_where_nobody_expands_it(lay):
    with pytest.raises(RenderRefusedError, match=r"--set HEAD_IP="):
        to_vllm_config(lay(V32, "hardware=h200&nodes=2").deployment)


def test_an_unknown_engine_is_refused(lay):
    with pytest.raises(RenderRefusedError, match="there are serve"):
        to_vllm_config(lay(ERNIE).deployment, "worker-1")
