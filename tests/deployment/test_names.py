"""What is said of a value that the reader fills in survives the shell text it stands in."""

from __future__ import annotations

from recipes_core import configure, deploy, load_catalog
from recipes_core.deployment.names import HINTS
from recipes_core.render.shell import open_values

V32 = "deepseek-ai/DeepSeek-V3.2"


def test_hints_stand_whole_beside_their_variables() -> None:
    query = "hardware=h200&strategy=pd_cluster&kv_offload=kv_store_centralized_mooncake"
    deployment = deploy(configure(load_catalog(only=[V32]), V32, query))
    text = open_values(deployment)
    assert len(deployment.missing) == 9
    for item in deployment.missing:
        assert f"# {item.hint}\n" in text


def test_no_hint_holds_what_a_shell_would_read() -> None:
    assert not [hint for hint in HINTS.values() if set("'\"`$\\!") & set(hint)]
