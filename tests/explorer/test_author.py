"""Writing a recipe: what the checks say while one types."""

from __future__ import annotations

import html
import json

import pytest

from recipes_core import load_catalog
from recipes_core.explorer.author import Author, check_text
from recipes_core.explorer.frontend import LONGEST, LONGEST_KEPT
from recipes_core.render.drafts import draft_recipe

ID = "my-org/my-model"
GOOD = (
    "meta: {title: T, provider: P, tasks: [text]}\n"
    "model: {model_id: my-org/my-model, min_vllm_version: 0.20.0, architecture: dense}\n"
    "variants:\n  default: {precision: bf16, vram_minimum_gb: 20}\n"
    "compatible_strategies: [single_node_tp]\n"
)
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072, "tie_word_embeddings": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def text():
    return draft_recipe(ID, load_catalog()).draft.text


def test_the_starter_is_found_wanting_only_in_what_nobody_knows_yet(text):
    found = check_text(ID, text).findings
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
    found, config, _ = check_text(ID, "\n".join(lines))
    assert config is None
    fault = next(item for item in found if item.severity == "error")
    assert fault.line == 1
    assert "tasks" in fault.message


def test_a_good_recipe_is_shown_as_the_dashboard_would():
    author = Author(ID, GOOD)
    block = next(s for s in author.command.steps if s.get("main"))["blocks"][0]
    assert block["text"].startswith("vllm serve my-org/my-model")
    assert "T</h1>" in author.title.value
    author._typed("query", "hardware=mi300x")
    assert "MI300X" in author.status.value
    author._typed("text", "meta: [")
    assert "error" in author.findings.value
    assert "the last text that could be read" in author.status.value


@pytest.mark.parametrize(
    "recipe_id", ["", "a", "a/b/c", "../../x", "a/../b", "/etc/passwd", "a/b c"]
)
def test_a_hostile_id_is_refused(recipe_id, text):
    found, config, _ = check_text(recipe_id, text)
    assert config is None
    assert any(item.severity == "error" for item in found)


def test_the_commands_are_judged_as_recipes_check_does():
    text = GOOD.replace("architecture: dense", "architecture: dense, base_args: [--no-such-flag]")
    codes = {item.code for item in check_text(ID, text).findings}
    assert "unknown-flag" in codes


def test_a_finding_shows_what_stands_in_its_line():
    author = Author(ID, GOOD.replace("single_node_tp", "<b>nosuch"))
    assert "<b>nosuch" not in author.findings.value
    assert "<pre>compatible_strategies: [&lt;b&gt;nosuch]</pre>" in author.findings.value


def test_a_config_fills_the_draft_in_and_gives_memory():
    author = Author(ID)
    assert "vram_minimum_gb: 0" in author.text
    author._typed("config", json.dumps(CONFIG))
    assert "parameter_count: 8.03B" in author.text
    assert "Fits" in author.memory.value
    assert "computed" in author.memory.value
    author._typed("query", "hardware=h100")
    sent = []
    author.page.send = lambda message, buffers=None: sent.append(message)
    author._download()
    assert sent[0]["name"] == "my-model.zip"


def test_a_config_never_changes_what_the_author_has_written():
    author = Author(ID, GOOD)
    author._typed("text", GOOD.replace("title: T", "title: Mine"))
    author._typed("config", json.dumps(CONFIG))
    assert "title: Mine" in author.text
    assert "Fits" in author.memory.value


@pytest.mark.parametrize("config", ["{", "[]", "7", '{"model_type": "nosuch"}'])
def test_a_config_that_is_none_is_told_and_changes_nothing(config):
    author = Author(ID, GOOD)
    author._typed("config", config)
    assert "config.json" in author.findings.value
    assert author.text == GOOD


def test_a_text_that_was_cut_is_an_error():
    author = Author(ID, GOOD)
    long = GOOD + "#".ljust(300_000 - len(GOOD), "x")
    author.form._receive(None, {"kind": "field", "name": "text", "value": long}, None)
    assert "Only the first 262,144 of 300,000 characters were read." in author.findings.value


def test_another_id_drafts_anew_until_the_author_has_written_something():
    author = Author(ID)
    author._typed("recipe_id", "Qwen/Qwen9-8B")
    assert "model_id: Qwen/Qwen9-8B" in author.text
    author._typed("recipe_id", "Qwen/Qwen3-32B")
    known = load_catalog().recipes["Qwen/Qwen3-32B"]
    assert known.recipe.meta.title in author.text
    author._typed("text", author.text + "# mine\n")
    author._typed("recipe_id", "Qwen/Qwen9-8B")
    assert author.text.endswith("# mine\n")
    author._typed("text", "")
    assert "model_id: Qwen/Qwen9-8B" in author.text


def test_a_reload_takes_up_what_was_written():
    author = Author(ID)
    author._typed("text", GOOD)
    author._typed("config", json.dumps(CONFIG))
    other = Author(ID)
    other._restore(author.page.values)
    assert (other.text, other.recipe_id, other.facts) == (GOOD, ID, CONFIG)
    assert other.page.store != "values"
    for junk in ("", "{}", "[]", '{"text": 1}'):
        other.page._receive(None, {"kind": "restore", "value": junk}, None)
    assert other.text == GOOD


def test_a_reload_takes_up_as_much_as_the_fields_hold():
    author = Author(ID)
    config = json.dumps({**CONFIG, "note": '"' * ((LONGEST - 700) // 2)})
    long = GOOD + "#" + '"é\n# x' * 40_000
    assert len(config) < LONGEST
    author._typed("text", long[:LONGEST])
    author._typed("config", config)
    assert len(author.page.values) > 2 * LONGEST
    other = Author(ID)
    other.page._receive(None, {"kind": "restore", "value": author.page.values}, None)
    assert (other.text, other.config) == (author.text, config)


def test_what_is_too_long_to_be_taken_up_is_told_and_changes_nothing():
    author = Author(ID, GOOD)
    kept = json.dumps({"recipe_id": ID, "query": "", "config": "", "text": "x" * LONGEST_KEPT})
    author.page._receive(None, {"kind": "restore", "value": kept}, None)
    assert author.text == GOOD
    assert f"sent {len(kept):,} characters" in author.findings.value
    assert "at most 3,000,000 are read" in author.findings.value


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("recipe=x", "'recipe': no such key; known: theme, token"),
        ("theme=dark&model=org/repo&x=1", "'model', 'x': no such key; known: theme, token"),
        ("recipe=x&" * 1000, "more than 200 keys; none was read"),
        ("a" * 9000, "only the first 8192 characters were read"),
        ("%3Cimg%20src=x%3E=1", "&lt;img src"),
    ],
)
def test_what_an_address_asks_in_vain_is_told_with_what_is_allowed(monkeypatch, address, told):
    monkeypatch.setenv("QUERY_STRING", address)
    author = Author(ID, GOOD)
    shown = html.unescape(author.findings.value) if "&" not in told else author.findings.value
    assert told in shown
    assert "opened by the field Recipe" in author.findings.value
    assert "<img" not in author.findings.value
    author._typed("query", "hardware=h200")
    assert "the page" in author.findings.value, "a notice stays while one works"


def test_an_address_with_the_pages_own_keys_gives_no_notice():
    quiet = Author(ID, GOOD, address="theme=dark&token=secret").findings.value
    assert quiet == Author(ID, GOOD, address="").findings.value


def test_the_catalogs_of_the_variable_lie_below(monkeypatch, tmp_path):
    path = tmp_path / "models" / "my-org" / "there.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(GOOD)
    monkeypatch.setenv("RECIPES_CATALOG", f"builtin:{tmp_path}")
    assert Author("my-org/there").text == GOOD


def test_the_previews_scripts_can_be_downloaded():
    author = Author(ID, GOOD)
    sent = []
    author.page.send = lambda message, buffers=None: sent.append(message)
    author._asked(None, {"kind": "script", "id": "serve"}, None)
    author._asked(None, {"kind": "zip"}, None)
    assert [message["name"] for message in sent] == ["serve.sh", "my-org--my-model.zip"]
