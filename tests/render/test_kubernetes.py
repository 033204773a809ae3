"""Manifests run the very commands of the deployment, each pod those of its node."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.errors import RenderRefusedError
from recipes_core.render.kubernetes import to_kubernetes
from tests.render.shapes import ERNIE, SHAPES, V32, engines

VALUES = {"IFACE_NAME": "eth0"}


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
    sets = [d for d in found if d["kind"] in {"LeaderWorkerSet", "Deployment"}]
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
