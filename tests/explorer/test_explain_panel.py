"""Paste a command: explained on the screen, escaped, sized, with a way to the nearest recipe."""

from __future__ import annotations

import pytest

from recipes_core import load_catalog
from recipes_core.explorer.frontend import LONGEST
from recipes_core.explorer.panels.explain import ExplainPanel
from recipes_core.explorer.state import ExplorerState
from recipes_core.explorer.widgets import Kit

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def fail(text: str) -> None:
    raise AssertionError(text)


@pytest.fixture
def panel() -> ExplainPanel:
    state = ExplorerState(load_catalog())
    state.open_query("model=openai/gpt-oss-120b&hardware=h200")
    panel = ExplainPanel(Kit(fail), state)
    panel.refresh()
    return panel


def pasted(panel: ExplainPanel, text: str) -> str:
    panel._pasted("command", text)
    return panel.found.value


def test_a_command_is_explained_and_sized(panel: ExplainPanel) -> None:
    found = pasted(panel, f"vllm serve {LLAMA} -tp 2 --max-model-len 8192 --swap-space 4")
    assert "TP 2: 2 GPUs" in found
    assert "Cuts every layer over this many GPUs" in found
    assert "has no --swap-space" in found
    assert "On h200, computed, GiB per GPU: weights 7.5" in found
    assert "requests of 8,192 tokens at once" in found
    assert f"Nearest recipe: {LLAMA}" in found


def test_the_nearest_recipe_opens(panel: ExplainPanel) -> None:
    pasted(panel, f"vllm serve {LLAMA}")
    assert "rx-hidden" not in panel.open._dom_classes
    panel.open.click()
    assert panel.state.configuration.entry.id == LLAMA
    assert pasted(panel, "  ") == ""
    assert "rx-hidden" in panel.open._dom_classes


@pytest.mark.parametrize("text", ["ls -la", "vllm serve 'open", "x" * 200_000])
def test_what_is_no_command_is_said(panel: ExplainPanel, text: str) -> None:
    assert 'role="alert"' in pasted(panel, text)
    assert "rx-hidden" in panel.open._dom_classes


def test_hostile_text_is_shown_and_does_nothing(panel: ExplainPanel) -> None:
    evil = "<img src=x onerror=alert(1)>"
    text = f"A='{evil}' vllm serve '{evil}' --served-model-name '{evil}' '--{evil}' x"
    found = pasted(panel, text)
    assert "<img" not in found
    assert "&lt;img" in found


def test_a_model_that_nobody_knows_has_no_figures(panel: ExplainPanel) -> None:
    assert "Nothing is known" in pasted(panel, "vllm serve me/mine -tp 2")
    assert "not divisible" in pasted(panel, f"vllm serve {LLAMA} -tp 7")


def test_what_is_cut_of_a_long_command_is_said(panel: ExplainPanel) -> None:
    text = f"vllm serve {LLAMA}" + " --middleware a.b" * 300
    assert "The first 200 of 301 flags" not in pasted(panel, text[:60])
    assert "The first 200 of 300 flags and variables are shown." in pasted(panel, text)
    long = f"vllm serve {LLAMA} --chat-template {'x' * LONGEST}"
    message = {"kind": "field", "name": "command", "value": long[:LONGEST], "length": len(long)}
    panel.form._receive(None, message, None)
    assert f"Only the first {LONGEST:,} of {len(long):,} characters were read." in panel.found.value
