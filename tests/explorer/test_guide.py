"""The guide: nothing of it runs, its links lead somewhere, its code can be copied."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from recipes_core import configure, load_catalog
from recipes_core.explorer.panels.guide import guide_html

V32 = "deepseek-ai/DeepSeek-V3.2"
GUIDE = """# First steps: `serve`

[there](#first-steps-serve), [other](/openai/gpt-oss-120b?hardware=b200),
[file](../pictures/a&b.md), [out](https://docs.vllm.ai/), [bad](javascript:alert(1))
<img src=x onerror=alert(1)> ![a picture](https://pictures.example/a.png)
[![a badge](https://pictures.example/b.svg)](https://docs.vllm.ai/)

## Twice

## Twice

```bash
echo '</pre><script>'
```
"""


@pytest.fixture(scope="module")
def html():
    catalog = load_catalog(only=[V32, "openai/gpt-oss-120b"])
    config = configure(catalog, V32)
    recipe = config.recipe.model_copy(update={"guide": GUIDE})
    return guide_html(SimpleNamespace(recipe=recipe, catalog=catalog, **_applies(config)))


def _applies(config):
    return {name: getattr(config, name) for name in ("hardware", "profile", "strategy_id")}


def test_a_heading_is_where_its_link_leads(html):
    assert '<h2 id="rx-guide-first-steps-serve">' in html
    link = re.search('<a href="#rx-guide-first-steps-serve"([^>]*)>there</a>', html)
    assert link is not None
    assert "target" not in link[1]


def test_another_recipe_opens_in_the_explorer_beside_this_one(html):
    address = "?model=openai/gpt-oss-120b&amp;hardware=b200"
    assert f'<a href="{address}" target="_blank"' in html


def test_what_has_nothing_to_open_stays_text(html):
    assert 'file <span class="rx-source">(../pictures/a&amp;b.md)</span>' in html
    assert 'href="javascript' not in html
    assert "<img" not in html
    assert "<script" not in html


def test_a_picture_is_a_link_for_a_page_asks_nobody(html):
    assert "<img" not in html
    link = '<a href="https://pictures.example/a.png" target="_blank" rel="noopener noreferrer">'
    assert f"{link}a picture</a>" in html
    assert ">a badge</a>" in html
    assert "b.svg" not in html


def test_headings_of_the_same_words_are_told_apart(html):
    assert re.findall('id="(rx-guide-twice[^"]*)"', html) == ["rx-guide-twice", "rx-guide-twice-1"]


def test_outward_links_leave_the_session_open(html):
    assert '<a href="https://docs.vllm.ai/" target="_blank" rel="noopener noreferrer">' in html


def test_an_address_stands_in_one_list_of_links():
    catalog = load_catalog(only=["moonshotai/Kimi-K2.5"])
    config = configure(catalog, "moonshotai/Kimi-K2.5")
    html = guide_html(config)
    addresses = [url for url in config.recipe.meta.links.values() if url.startswith("https://")]
    assert addresses
    assert all(html.count(f'href="{url}"') == 1 for url in addresses)
    assert html.count(">Links</") == 1


def test_each_block_of_code_has_its_button(html):
    assert html.count("data-rx-copy") == html.count("<pre") == 1
