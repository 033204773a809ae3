"""Guides: every command parses, and is what the resolver gives or says that it is not."""

from __future__ import annotations

import re
import subprocess

import pytest

from recipes_core.catalog.catalog import Catalog
from tests.recipes.guides import SHELLS, configurations, fences, serve_commands

WRITTEN = (
    "Qwen/Qwen3-235B-A22B-Instruct-2507",
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3-8B",
    "baidu/ERNIE-4.5-VL-28B-A3B-PT",
    "baidu/ERNIE-5.5-Flash",
    "deepseek-ai/DeepSeek-R1",
    "deepseek-ai/DeepSeek-V3.2",
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.3-70B-Instruct",
    "moonshotai/Kimi-K2-Instruct",
    "openai/gpt-oss-120b",
    "openai/gpt-oss-20b",
)
"""Recipes whose guide was written by hand at length; models for the rest."""


@pytest.mark.parametrize("recipe", WRITTEN)
def test_a_guide_has_what_a_reader_looks_for(ours: Catalog, recipe: str) -> None:
    guide = ours.recipes[recipe].recipe.guide or ""
    headings = re.findall(r"^## (.+)$", guide, re.MULTILINE)
    assert headings[0] == "What it is for"
    assert [heading for heading in headings if heading in WANTED] == list(WANTED)
    prose = re.sub(r"```.*?```", "", guide, flags=re.DOTALL)
    assert 350 <= len(prose.split()) <= 950


WANTED = (
    "What it is for",
    "A launch that works",
    "First request",
    "Tuning",
    "When it goes wrong",
    "Links",
)


def test_every_shell_block_of_the_catalog_is_shell(ours: Catalog) -> None:
    blocks = []
    for entry in ours.recipes.values():
        recipe = entry.recipe
        notes = [note.body for note in (*recipe.notes, *recipe.known_issues)]
        for text in (recipe.guide or "", *notes):
            blocks += [
                f": {entry.id}\n{fence.text}"
                for fence in fences(text)
                if fence.info.split(" ")[0] in SHELLS
            ]
    assert blocks
    for block in blocks:
        run = subprocess.run(
            ["bash", "-n"], input=block, text=True, capture_output=True, check=False
        )
        assert run.returncode == 0, f"{block}\n{run.stderr}"


@pytest.mark.parametrize("recipe", WRITTEN)
def test_a_serve_command_is_a_configuration_or_marked_as_an_example(
    ours: Catalog, recipe: str
) -> None:
    entry = ours.recipes[recipe]
    commands = [
        command
        for fence in fences(entry.recipe.guide or "")
        if fence.info in SHELLS
        for command in serve_commands(fence.text)
    ]
    assert commands, "a guide shows one launch that works"
    for command in commands:
        assert any(command == argv for argv in configurations(ours, entry, command[2])), (
            f"no configuration gives {command}; write `bash example` if it is meant otherwise"
        )
