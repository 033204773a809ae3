"""Writing a recipe in a browser: checked while one types, nothing lost, nothing for axe to find."""

from __future__ import annotations

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import Watch, dashboard_with
from tests.explorer.test_author import CONFIG


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    with dashboard_with("builtin", tmp_path_factory.mktemp("author") / "log") as url:
        yield url


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_an_author_is_checked_while_typing_and_loses_nothing(browser, ours, theme, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    watch = Watch(page)
    page.goto(f"{ours}/voila/render/write_a_recipe.ipynb?theme={theme}", wait_until="commit")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    config = page.get_by_label("config.json")
    config.fill(json.dumps(CONFIG))
    config.press("Tab")
    text = page.get_by_label("YAML", exact=True)
    expect(text).to_have_value(re.compile("parameter_count: 8.03B"))
    expect(page.locator(".rx-author-shown")).to_contain_text("Fits")
    wrong = text.input_value().replace("architecture: dense", "architecure: dense")
    text.fill(wrong)
    # Nobody has left the field yet.
    expect(page.locator(".rx-notice").nth(1)).to_contain_text("did you mean 'architecture'?")
    expect(page.locator(".rx-page [role=status]")).to_have_text("2 errors")
    expect(text).to_be_focused()
    found = Axe().run(page, context=".rx-root").response["violations"]
    assert [(v["id"], v["nodes"][0]["target"]) for v in found if v["impact"] != "minor"] == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    page.reload()
    page.wait_for_selector(".rx-form textarea", timeout=60_000)
    expect(page.get_by_label("YAML", exact=True)).to_have_value(wrong)
    assert watch.faults == []
    assert watch.outside == []
    page.close()


def put(field, text):
    """Paste a text: to type as much takes a browser half a minute."""
    field.evaluate("(field, text) => { field.value = text; }", text)
    for event in ("input", "change"):
        field.dispatch_event(event)


def test_a_long_draft_is_there_after_a_reload_and_an_unknown_key_is_told(browser, ours):
    page = browser.new_page()
    watch = Watch(page)
    page.goto(f"{ours}/voila/render/write_a_recipe.ipynb?recipe=x", wait_until="commit")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    expect(page.locator(".rx-author-shown")).to_contain_text("'recipe': no such key; known: theme")
    text = page.get_by_label("YAML", exact=True)
    long = text.input_value() + '# "padding"\n' * 19_000
    config = page.get_by_label("config.json")
    put(config, json.dumps({**CONFIG, "note": "n" * 200_000}))
    expect(page.locator(".rx-author-shown")).to_contain_text("Fits")
    put(text, long)
    kept = "sessionStorage.getItem('recipes-explorer:author').length"
    page.wait_for_function(f"{kept} > {200_000 + len(long)}", timeout=30_000)
    page.reload()
    page.wait_for_selector(".rx-form textarea", timeout=60_000)
    expect(page.get_by_label("YAML", exact=True)).to_have_value(long, timeout=30_000)
    assert watch.faults == []
    page.close()
