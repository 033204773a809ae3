"""Search by several words, ranked."""

from __future__ import annotations

import pytest

from recipes_core import load_catalog
from recipes_core.catalog.search import corrected, fold, search


def ids(found):
    return [entry.id for entry in found]


def test_all_words_must_match_wherever_they_stand(upstream):
    found = search(upstream, "deepseek fp8 h200")
    assert found
    for entry in found:
        assert entry.id.startswith("deepseek-ai/")
        assert entry.recipe.meta.hardware["h200"] == "verified"
        assert any(v.precision == "fp8" for v in entry.recipe.variants.values())
    assert search(upstream, "deepseek llama") == []


def test_an_empty_text_gives_every_recipe(upstream):
    assert len(search(upstream)) == len(search(upstream, "   ")) == 173


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Qwen3-32B", "Qwen/Qwen3-32B"),
        ("qwen/qwen3-8b", "Qwen/Qwen3-8B"),
        ("DEEPSEEK-R1", "deepseek-ai/DeepSeek-R1"),
        ("llama 8b instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("nvidia/MiniMax-M2.5-NVFP4", "MiniMaxAI/MiniMax-M2.5"),
        ("  gpt-oss   20b ", "openai/gpt-oss-20b"),
    ],
)
def test_a_name_puts_its_recipe_first(upstream, text, first):
    assert ids(search(upstream, text))[0] == first


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("gptoss", "openai/gpt-oss-120b"),
        ("llama4", "meta-llama/Llama-4-Scout-17B-16E-Instruct"),
        ("kimi\N{NON-BREAKING HYPHEN}linear", "moonshotai/Kimi-Linear-48B-A3B-Instruct"),
        ("deepseekv3.2", "deepseek-ai/DeepSeek-V3.2"),
        ("internvl3.5", "OpenGVLab/InternVL3_5-8B"),
        ("DeepSeek-R1,", "deepseek-ai/DeepSeek-R1"),
    ],
)
def test_what_stands_between_the_parts_of_a_name_does_not_matter(upstream, text, first):
    assert ids(search(upstream, text))[0] == first


def test_words_that_make_a_name_together_come_before_words_from_anywhere(upstream):
    found = ids(search(upstream, "qwen 3"))
    assert all("/Qwen3" in recipe_id for recipe_id in found[:10])
    assert "Qwen/Qwen2.5-32B" in found[10:]


def test_a_size_is_not_found_inside_another(upstream):
    found = ids(search(upstream, "7b"))
    assert found
    assert not any("27B" in recipe_id or "1.7B" in recipe_id for recipe_id in found)
    assert ids(search(upstream, "a3b qwen3 30b")) == ["Qwen/Qwen3-30B-A3B"]


def test_what_a_task_is_said_to_be_is_found():
    found = search(load_catalog("builtin"), "vision")
    known = {entry.id for entry in found}
    assert {"Qwen/Qwen3-VL-30B-A3B-Instruct", "Qwen/Qwen2.5-VL-7B-Instruct"} <= known
    assert "openai/gpt-oss-120b" not in known


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("deepsek", "deepseek"),
        ("Mixtral fp8", "mistral fp8"),
        ("deepsek-v3.2", "deepseek v3.2"),
        ("nemotrn 30b", "nemotron 30b"),
        ("90b", None),
        ("v9.9", None),
        ("\u5c0f\u7c73", None),
        ("deepseek llama", None),
        ("", None),
        ("(", None),
    ],
)
def test_a_slip_is_put_right_by_the_nearest_name_and_a_number_never(upstream, text, right):
    assert corrected(upstream, text) == right
    if right:
        assert search(upstream, right)


def test_a_whole_word_counts_more_than_a_part(folder):
    folder.add("org/larger", meta__title="Supermoe thing")
    folder.add("org/smaller", meta__title="Moe thing")
    assert ids(search(folder.load(), "moe")) == ["org/smaller", "org/larger"]


def test_filters_narrow_and_combine(upstream):
    found = search(upstream, tasks=["embedding"])
    assert {task for entry in found for task in entry.recipe.meta.tasks} == {"embedding"}
    found = search(upstream, "moe", providers=["Qwen"], hardware_verified="mi300x")
    assert found
    for entry in found:
        assert entry.recipe.meta.provider == "Qwen"
        assert entry.recipe.meta.hardware["mi300x"] == "verified"
        assert entry.recipe.model.architecture == "moe"
    assert search(upstream, precision="NVFP4")
    assert search(upstream, precision="fp3") == []
    assert search(upstream, hardware_verified="nowhere") == []


def test_accents_and_case_do_not_matter(folder):
    folder.add(meta__title="Modèle Ünïque")
    assert ids(search(folder.load(), "MODELE unique")) == ["org/repo"]
    assert fold("ﬁne") == "fine"


@pytest.mark.parametrize("text", ["(", "*.", "\\", "<img src=x>", "'; drop", "\x00", "é" * 500])
def test_any_text_is_only_a_text(upstream, text):
    assert isinstance(search(upstream, text), list)


def test_newest_first_among_equals(folder):
    folder.add("org/a", meta__date_added="2026-01-01")
    folder.add("org/b", meta__date_added="2026-02-01")
    folder.add("org/c")
    assert ids(search(folder.load())) == ["org/b", "org/a", "org/c"]
