"""Search by several words, ranked."""

from __future__ import annotations

import pytest

from recipes_core.catalog.search import fold, search


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
