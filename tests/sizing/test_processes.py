"""The engines of a deployment: each kind is sized once, whatever tells its members apart."""

from __future__ import annotations

import pytest

from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.sizing.configuration import size_processes

STORES = "kv_offload=kv_store_centralized_mooncake&kv_instances=5&strategy=multi_node_dep&nodes=3"


@pytest.mark.parametrize(
    ("recipe", "query", "engines", "kinds"),
    [
        ("openai/gpt-oss-120b", f"{STORES}&hardware=h200", 15, 1),
        ("deepseek-ai/DeepSeek-V3.2", "strategy=multi_node_tep&nodes=2&hardware=h200", 2, 1),
        ("deepseek-ai/DeepSeek-V3.2", "strategy=pd_cluster&hardware=b200", 2, 2),
    ],
)
def test_engines_of_one_kind_are_sized_once(upstream, recipe, query, engines, kinds):
    config = configure(upstream, recipe, query)
    assert not config.adjustments
    deployment = deploy(config)
    assert sum(process.is_engine for process in deployment.processes) == engines
    assert len(size_processes(config, deployment)) == kinds
