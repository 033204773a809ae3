"""The command card in a browser: what is copied, what is downloaded, what a choice changed."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import choose, settled

POOLS = (
    "model=deepseek-ai/DeepSeek-V4-Pro&hardware=h200&strategy=pd_cluster"
    "&prefill_nodes=2&decode_nodes=2"
)


@pytest.fixture
def card(opened, context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = opened(POOLS)
    settled(page)
    return page


def tab(page, name):
    return page.locator(".rx-command").get_by_role("tab", name=name)


def test_of_several_blocks_each_is_copied_alone(card, watch):
    tab(card, "First request").click()
    expect(card.locator(".rx-command .rx-primary")).to_have_count(0)
    card.get_by_role("button", name="Copy First request by curl").click()
    expect(card.locator(".rx-page [role=status]")).to_have_text("Copied")
    copied = card.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl http://$ROUTER_HOST:$ROUTER_PORT/v1/chat/completions")
    assert "import" not in copied
    assert watch.faults == []


def test_a_refused_copy_leaves_the_text_selected(card):
    card.evaluate("""() => {
        navigator.clipboard.writeText = () => Promise.reject(new Error("no"));
        document.execCommand = () => false;
    }""")
    tab(card, "Values").click()
    card.locator(".rx-command .rx-primary").click()
    expect(card.locator(".rx-command .rx-primary")).to_have_text("Press Ctrl+C")
    assert "export PREFILL_NODE_1=" in card.evaluate("getSelection().toString()")


def test_a_script_is_downloaded_in_the_form_that_is_shown(card):
    for form, word in (("Docker", "docker run"), ("Shell", "vllm serve")):
        card.get_by_role("button", name=form, exact=True).click()
        with card.expect_download() as download:
            card.get_by_role("button", name="Script: download Prefill 1").click()
        text = download.value.path().read_text()
        assert word in text
        assert ("docker run" in text) is (form == "Docker")


def test_what_changed_is_brought_into_view_and_what_went_is_named(card):
    choose(card, "feature_0", "Off")
    expect(card.locator(".rx-foot-text")).to_contain_text("No longer there: --tokenizer-mode")
    expect(card.locator(".rx-foot-text .rx-whole").first).to_have_text("--tokenizer-mode")
    body = card.locator(".rx-command-body")
    body.evaluate("element => (element.scrollTop = 0)")
    choose(card, "feature_0", "On")
    changed = card.locator(".rx-changed").first
    expect(changed).to_contain_text("--tokenizer-mode")
    expect(changed).to_be_in_viewport()
    assert body.evaluate("element => element.scrollTop") > 0


def test_a_command_that_lost_a_choice_says_so(page, dashboard):
    """As on a machine so slow that anywidget gives a part up before it has started."""
    page.add_init_script(
        "const timeout = AbortSignal.timeout.bind(AbortSignal);"
        "AbortSignal.timeout = (ms) => timeout(ms === 2000 ? 0 : ms)"
    )
    page.goto(f"{dashboard}/?model=deepseek-ai/DeepSeek-V3.2&hardware=b200", wait_until="commit")
    choose(page, "hardware", "H100")
    expect(page.locator(".rx-summary")).to_contain_text("H100")
    banner = page.locator(".rx-ended")
    expect(banner).to_contain_text("its command or its link is an older one")
    expect(banner.get_by_role("button", name="Reload")).to_be_visible()


def test_a_command_that_took_each_choice_says_nothing(card):
    for name in ("B200", "H200", "B200"):
        choose(card, "hardware", name)
        expect(card.locator(".rx-summary")).to_contain_text(name)
    card.wait_for_timeout(1500)
    expect(card.locator(".rx-ended")).to_be_hidden()
