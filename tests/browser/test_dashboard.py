"""The dashboard in a browser: links, choices, notices, and nothing from another machine."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import choose

V32 = "model=deepseek-ai/DeepSeek-V3.2"


def test_a_deep_link_opens_its_configuration_and_a_choice_changes_the_command(opened, watch):
    page = opened(f"{V32}&hardware=b200")
    command = page.locator(".rx-command .rx-code")
    expect(command).to_contain_text("vllm serve deepseek-ai/DeepSeek-V3.2")
    expect(command).to_contain_text("--tensor-parallel-size 8")
    expect(page.locator(".rx-summary")).to_contain_text("8× B200")
    choose(page, "hardware", "H100")
    expect(page.locator(".rx-summary")).to_contain_text("H100")
    choose(page, "strategy", "Data + Expert")
    expect(command).to_contain_text("--data-parallel-size 8")
    expect(page.locator(".rx-changed").first).to_be_visible()
    expect(page).to_have_url(re.compile("hardware=h100.*strategy=single_node_dep"))
    assert watch.faults == []
    assert watch.outside == []


def test_the_address_opens_the_same_state_in_a_new_browser(opened, browser):
    page = opened(f"{V32}&hardware=b200&strategy=pd_cluster&decode_nodes=2")
    expect(page).to_have_url(re.compile("decode_nodes=2"))
    text = page.locator(".rx-command .rx-code").inner_text()
    other = browser.new_page()
    other.goto(page.url)
    other.wait_for_selector(".rx-command .rx-code", timeout=45_000)
    assert other.locator(".rx-command .rx-code").inner_text() == text
    assert other.locator(".rx-command .rx-tab").all_inner_texts() == (
        page.locator(".rx-command .rx-tab").all_inner_texts()
    )
    other.close()


def test_what_a_link_cannot_have_is_told(opened, watch):
    page = opened("model=deepseek-ai/DeepSeek-V3.9&hardware=b200")
    alert = page.locator(".rx-notice[role=alert]")
    expect(alert).to_contain_text("no recipe 'deepseek-ai/DeepSeek-V3.9'")
    expect(alert).to_contain_text("Did you mean")
    page = opened(f"{V32}&hardware=h900")
    expect(page.locator(".rx-notice").first).to_contain_text("h900")
    assert watch.faults == []


def test_foreign_text_in_a_link_stays_text(opened, watch):
    page = opened("model=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&hardware=%3Cscript%3E")
    expect(page.locator(".rx-notice[role=alert]")).to_contain_text("<img src=x")
    assert page.locator(".rx-root img, .rx-root script").count() == 0
    assert watch.faults == []


def test_search_finds_and_opens_a_model(opened, watch):
    page = opened(V32)
    page.locator(".rx-search input").press_sequentially("gpt-oss 120", delay=15)
    options = page.locator(".rx-models option")
    expect(options.first).to_contain_text("gpt-oss-120b")
    page.locator(".rx-models select").select_option(index=0)
    expect(page.locator(".rx-title")).to_contain_text("GPT-OSS")
    expect(page).to_have_url(re.compile("model=openai/gpt-oss-120b"))
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".rx-title")).to_contain_text("DeepSeek-V3.2")
    page.locator(".rx-search input").fill("no such model anywhere")
    expect(page.locator(".rx-count")).to_contain_text("No model matches")
    assert watch.faults == []


def test_copy_and_download(opened, page, context):
    page = opened(f"{V32}&strategy=pd_cluster")
    page.evaluate("navigator.clipboard = undefined")
    with page.expect_download() as download:
        page.get_by_role("button", name="Script: download Prefill").click()
    text = download.value.path().read_text()
    assert text.startswith("#!/usr/bin/env bash\nset -euo pipefail")
    assert "vllm serve deepseek-ai/DeepSeek-V3.2" in text
    with page.expect_download() as download:
        page.get_by_role("button", name="All (.zip): download every script and file").click()
    assert download.value.suggested_filename == "deepseek-ai--DeepSeek-V3.2.zip"
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy Prefill").click()
    expect(page.locator(".rx-page [role=status]")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == page.locator(".rx-command .rx-code").inner_text().strip()
