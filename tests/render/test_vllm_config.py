"""vLLM reads the very arguments of the deployment from its config file."""

from __future__ import annotations

import pytest
import yaml

from recipes_core.errors import RenderRefusedError
from recipes_core.flags import parse_args
from recipes_core.render.vllm_config import to_vllm_config
from recipes_core.vllm_cli.command import expand_config
from tests.render.shapes import ERNIE, EVERY, V32, engines


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
