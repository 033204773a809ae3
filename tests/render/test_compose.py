"""A Compose file runs the very commands of the deployment."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from recipes_core.errors import RenderRefusedError
from recipes_core.render.compose import to_compose
from recipes_core.render.kubernetes import to_kubernetes
from tests.render.shapes import ERNIE, EVERY, V32, engines


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
