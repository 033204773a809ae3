"""Writing a recipe: what the checks say while one types."""

from __future__ import annotations

import pytest

from recipes_core import load_catalog
from recipes_core.explorer.author import Author, check_text, starter

ID = "my-org/my-model"


@pytest.fixture(scope="module")
def text():
    return starter(ID, load_catalog())


def test_the_starter_is_found_wanting_only_in_what_nobody_knows_yet(text):
    found, _ = check_text(ID, text)
    assert all(item.severity != "error" or item.where for item in found)
    assert all("Traceback" not in item.message for item in found)


def test_a_misspelt_key_is_named_with_its_line_and_the_right_spelling():
    lines = [
        "meta: {title: T, provider: P, taks: [text]}",
        "model: {model_id: my-org/my-model, min_vllm_version: 0.20.0, architecture: dense}",
        "variants:",
        "  default: {precision: bf16, vram_minimum_gb: 20}",
        "compatible_strategies: [single_node_tp]",
    ]
    found, config = check_text(ID, "\n".join(lines))
    assert config is None
    fault = next(item for item in found if item.severity == "error")
    assert fault.line == 1
    assert "tasks" in fault.message


def test_a_good_recipe_is_shown_as_the_dashboard_would():
    text = (
        "meta: {title: T, provider: P, tasks: [text]}\n"
        "model: {model_id: my-org/my-model, min_vllm_version: 0.20.0, architecture: dense}\n"
        "variants:\n  default: {precision: bf16, vram_minimum_gb: 20}\n"
        "compatible_strategies: [single_node_tp]\n"
    )
    author = Author(ID, text)
    block = next(s for s in author.command.steps if s.get("main"))["blocks"][0]
    assert block["text"].startswith("vllm serve my-org/my-model")
    assert "T</h1>" in author.title.value
    author._typed("query", "hardware=mi300x")
    assert "MI300X" in author.status.value
    author._typed("text", "meta: [")
    assert "error" in author.findings.value


@pytest.mark.parametrize(
    "recipe_id", ["", "a", "a/b/c", "../../x", "a/../b", "/etc/passwd", "a/b c"]
)
def test_a_hostile_id_is_refused(recipe_id, text):
    found, config = check_text(recipe_id, text)
    assert config is None
    assert found == [] or any(item.severity == "error" for item in found)
