"""The page of a configuration: light, whole without JavaScript, and every choice a way on."""

from __future__ import annotations

import html
import random
import re

import pytest

from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.options import options_of
from recipes_core.render import shell
from recipes_core.render.beside import assess
from recipes_core.render.choices import axes_of
from recipes_core.render.evidence import standing_of
from recipes_core.render.page import Addresses, content_policy, to_html
from tests.publish.test_pages import Reader

QUERIES = (
    "",
    "nodes=2",
    "strategy=pd_cluster",
    "kv_offload=kv_store_centralized_mooncake",
    "features=none",
    "hardware=mi300x",
    "hardware=nosuch&variant=nosuch",
)


def page_of(catalog, recipe, query="", **addresses):
    return to_html(*assess(configure(catalog, recipe, query)), Addresses(**addresses))


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def sample(builtin, upstream):
    """Some recipes of both catalogs."""
    pick = random.Random(8)
    rows = [(builtin, name) for name in pick.sample(sorted(builtin.recipes), 12)]
    rows += [(upstream, name) for name in pick.sample(sorted(upstream.recipes), 12)]
    return rows


def test_pages_are_well_formed_light_and_show_their_commands(sample):
    for catalog, recipe in sample:
        for query in QUERIES:
            config, deployment, sizing, findings = assess(configure(catalog, recipe, query))
            text = to_html(config, deployment, sizing, findings)
            reader = read(text)
            assert len(text.encode()) < 150_000, (recipe, query)
            assert len(set(reader.ids)) == len(reader.ids)
            assert reader.scripts == 1
            assert reader.handlers == []
            assert not any(link.startswith(("http:", "//")) for link in reader.links)
            blocks = {
                html.unescape(block) for block in re.findall(r"<code>(.*?)</code>", text, re.S)
            }
            for process in deployment.processes:
                assert shell.script(process) in blocks
            for item in config.adjustments:
                assert html.escape(item.reason, quote=False)[:40] in text.replace("&#39;", "'")


def test_every_choice_is_a_link_or_has_its_reason(sample):
    for catalog, recipe in sample:
        for query in QUERIES:
            config = configure(catalog, recipe, query)
            axes = {axis.id: axis for axis in axes_of(config)}
            for name, options in options_of(config).items():
                if name not in axes:
                    continue
                assert [str(option.id) for option in options] == [
                    choice.id for choice in axes[name].choices
                ]
            for axis in axes.values():
                for choice in axis.choices:
                    assert choice.chosen or choice.query is not None or choice.reason


def test_a_choice_opens_what_it_says(sample):
    """Following any link gives that choice; only what cannot go with it may yield, and says so."""
    followed = 0
    for catalog, recipe in sample:
        for query in QUERIES[:4]:
            config = configure(catalog, recipe, query)
            for axis in axes_of(config):
                for choice in axis.choices:
                    if choice.query is None:
                        continue
                    there = configure(catalog, recipe, choice.query)
                    where = f"{recipe}?{query} {axis.id}={choice.id}: ?{choice.query}"
                    assert axis.id not in {item.axis for item in there.adjustments}, where
                    mine = next(item for item in axes_of(there) if item.id == axis.id)
                    now = next(item for item in mine.choices if item.id == choice.id)
                    assert now.chosen != (choice.chosen and axis.several), where
                    followed += 1
    assert followed > 1000


def test_it_leads_to_the_dashboard_with_the_same_query(builtin):
    recipe = "baidu/ERNIE-5.5-Flash"
    text = page_of(builtin, recipe, "hardware=b200", dashboard="/voila/x.ipynb")
    way = "/voila/x.ipynb?model=baidu%2FERNIE-5.5-Flash&amp;hardware=b200"
    assert f'href="{way}"' in text
    assert "Open in the dashboard" not in page_of(builtin, recipe)


def test_the_form_keeps_the_choices_and_shows_what_was_typed(builtin):
    recipe = "baidu/ERNIE-5.5-Flash"
    text = page_of(builtin, recipe, "hardware=b200&max_model_len=32k")
    assert '<input type="hidden" name="hardware" value="b200">' in text
    assert 'name="max_model_len" value="32k"' in text
    assert "--max-model-len 32k" in text or "--max-model-len 32768" in text


def test_memory_says_where_each_figure_comes_from(builtin):
    text = page_of(builtin, "meta-llama/Llama-3.1-8B-Instruct", "hardware=h100")
    assert "GiB" in text
    assert "computed" in text
    assert "as sold" in text


def test_hostile_text_of_a_recipe_stays_text(builtin):
    from dataclasses import replace

    name = "meta-llama/Llama-3.1-8B-Instruct"
    entry = builtin.recipes[name]
    bad = "</code><script>alert(1)</script>"
    meta = entry.recipe.meta.model_copy(update={"title": bad, "description": bad})
    model = entry.recipe.model.model_copy(update={"base_args": ("--x", bad), "license": bad})
    recipe = entry.recipe.model_copy(update={"meta": meta, "model": model, "guide": bad})
    catalog = replace(builtin, recipes={name: replace(entry, recipe=recipe)}, kept={})
    text = to_html(*assess(configure(catalog, name)))
    assert read(text).scripts == 1
    assert "<script>alert" not in text


def test_the_policy_allows_nothing_from_elsewhere():
    policy = content_policy()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_generated_reported_and_verified_are_told_apart(builtin):
    seen = set()
    for name in builtin.recipes:
        config = configure(builtin, name)
        standing = standing_of(config)
        text = to_html(config, deploy(config))
        assert f'class="badge {standing.state}">{standing.state}<' in text
        assert html.escape(standing.sentence, quote=False) in text.replace("&#39;", "'")
        seen.add(standing.state)
    assert {"generated", "reported"} <= seen


def test_pictures_are_offered_no_value_of_a_language_model_engine(builtin):
    text = page_of(builtin, "Qwen/Qwen-Image", "hardware=h200")
    assert 'name="served_name"' in text
    assert not re.search(r'name="(max_|kv_|gpu_)', text)
    asked = page_of(builtin, "Qwen/Qwen-Image", "hardware=h200&max_model_len=32k")
    assert 'name="max_model_len" value="32k"' in asked
