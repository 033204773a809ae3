"""Agents over the Model Context Protocol: a real client speaks to the real process."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp.client.session import ClientSession  # noqa: E402
from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402

from recipes_core.catalog.loader import load_catalog  # noqa: E402
from recipes_core.configuration import configure  # noqa: E402
from recipes_core.deployment import deploy  # noqa: E402
from recipes_core.errors import RecipesError  # noqa: E402
from recipes_core.mcp import Tools  # noqa: E402

REPO = Path(__file__).resolve().parent.parent
MODEL = "Qwen/Qwen3-32B"


@pytest.fixture(scope="module")
def talk() -> dict[str, Any]:
    """One conversation over stdio: the tools, and an answer of each."""

    async def run() -> dict[str, Any]:
        code = "from recipes_core import mcp; mcp.run()"
        parameters = StdioServerParameters(
            command=sys.executable, args=["-c", code], env={"PYTHONPATH": str(REPO)}
        )
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            hello = await session.initialize()
            tools = await session.list_tools()
            asked = {
                "search": {"text": "qwen3 32b"},
                "show": {"recipe": MODEL, "query": "hardware=h200&nodes=99"},
                "size": {"recipe": MODEL, "query": "hardware=h200"},
                "check": {"command": "vllm serve m --tensor-parallel-sise 8"},
                "unknown": {"recipe": "Qwen/Qwen3-32"},
            }
            answers = {
                name: await session.call_tool("show" if name == "unknown" else name, arguments)
                for name, arguments in asked.items()
            }
            return {"hello": hello, "tools": tools.tools, **answers}

    return asyncio.run(asyncio.wait_for(run(), 60))


def data(result: Any) -> dict[str, Any]:
    assert not result.is_error, result
    found: dict[str, Any] = result.structured_content or json.loads(result.content[0].text)
    return found


def test_it_lists_four_read_only_tools(talk):
    assert sorted(tool.name for tool in talk["tools"]) == ["check", "search", "show", "size"]
    for tool in talk["tools"]:
        assert tool.annotations.read_only_hint is True
        assert tool.description
        assert "self" not in tool.input_schema["properties"]


def test_search_finds_the_model_first(talk):
    assert data(talk["search"])["recipes"][0]["hf_id"] == MODEL


def test_show_gives_vectors_that_the_core_gives_and_says_what_it_adjusted(talk):
    shown = data(talk["show"])
    config = configure(load_catalog(), MODEL, "hardware=h200&nodes=99")
    vectors = [process.argv for process in deploy(config).processes]
    assert [process["argv"] for process in shown["deployment"]["processes"]] == vectors
    assert [item["axis"] for item in shown["adjustments"]] == ["nodes"]


def test_size_says_what_is_declared_and_what_is_there(talk):
    sized = data(talk["size"])
    assert sized["hardware"] == "h200"
    assert sized["declared"]["there_gb"] >= sized["declared"]["needed_gb"] > 0


def test_check_names_the_right_spelling(talk):
    checked = data(talk["check"])
    assert checked["accepted"] is False
    assert any("--tensor-parallel-size" in item["message"] for item in checked["findings"])


def test_an_unknown_recipe_is_an_error_that_names_the_nearest(talk):
    answer = talk["unknown"]
    assert answer.is_error
    assert MODEL in answer.content[0].text


def test_strict_refuses_what_cannot_be_had():
    tools = Tools(load_catalog())
    with pytest.raises(RecipesError, match="no_such_card"):
        tools.show(MODEL, "hardware=no_such_card", strict=True)
    assert "# " in tools.show(MODEL, "hardware=h200", form="markdown")["markdown"]
