"""One reader's way through the whole screen, in each theme and width."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Watch, choose, relayed, settled

LOG = """INFO 11-30 Model loading took 80.50 GiB memory and 5.1 seconds
INFO 11-30 Available KV cache memory: 60.00 GiB
INFO 11-30 GPU KV cache size: 500,000 tokens
"""


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    from tests.browser.conftest import dashboard_with

    with dashboard_with("builtin", tmp_path_factory.mktemp("ours") / "log") as url:
        yield url


@pytest.mark.parametrize(
    ("theme", "width", "height"),
    [("light", 1440, 900), ("dark", 1440, 900), ("light", 390, 844), ("dark", 390, 844)],
)
def test_find_change_read_compare_share_reopen(browser, ours, theme, width, height):
    page = browser.new_page(viewport={"width": width, "height": height})
    watch = Watch(page)
    page.goto(f"{ours}/?theme={theme}")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    if width < 700:
        page.get_by_role("button", name="Models").click()
    # Find a model.
    page.locator(".rx-search input").fill("DeepSeek-V3.2")
    expect(page.locator(".rx-models option").first).to_contain_text("DeepSeek-V3.2")
    page.locator(".rx-models select").select_option(index=0)
    expect(page.locator(".rx-title")).to_contain_text("DeepSeek-V3.2")
    compare = page.get_by_role("tab", name="Compare", exact=True)
    compare.click()
    page.get_by_role("button", name="Add what is shown now").click()
    # Change five axes.
    choose(page, "hardware", "B200")
    expect(page.locator(".rx-summary")).to_contain_text("B200")
    choose(page, "strategy", "Data + Expert Parallel")
    expect(page.locator(".rx-command .rx-code")).to_contain_text("--data-parallel-size 8")
    choose(page, "feature_1", "Off")
    expect(page.locator(".rx-command .rx-code")).not_to_contain_text("--reasoning-parser")
    choose(page, "variant", "nvfp4")
    expect(page.locator(".rx-summary")).to_contain_text("NVFP4")
    choose(page, "gpus", "4")
    expect(page.locator(".rx-summary")).to_contain_text("4× B200")
    # Read memory, and move a dial.
    page.get_by_role("tab", name="GPU memory").click()
    share = page.get_by_label("Share of each GPU")
    expect(share).to_be_visible()
    expect(page.locator(".rx-panel-place")).to_contain_text("GPU")
    share.fill("18")
    expect(page.locator(".rx-command .rx-code")).to_contain_text("--gpu-memory-utilization 0.8")
    # Compare.
    compare.click()
    page.get_by_role("button", name="Add what is shown now").click()
    expect(page.locator(".rx-compare th[scope=col]")).to_have_count(2)
    expect(page.locator(".rx-compare")).to_contain_text("--gpu-memory-utilization")
    # Share, and open it again in a new browser.
    expect(page).to_have_url(re.compile("tab=compare"))
    text = page.locator(".rx-command .rx-code").inner_text()
    other = browser.new_page(viewport={"width": width, "height": height})
    again = Watch(other)
    other.goto(page.url)
    other.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(other)
    assert other.locator(".rx-command .rx-code").inner_text() == text
    assert other.url == page.url
    expect(other.locator(".rx-compare th[scope=col]")).to_have_count(2)
    # Nothing stands out of a phone's screen, and the command is on the first screen.
    wide = other.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0
    top = other.locator(".rx-command").bounding_box()["y"]
    assert top < height * 0.75
    for one in (watch, again):
        assert one.faults == []
        assert one.outside == []
    page.close()
    other.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_no_name_in_the_list_of_models_is_cut(browser, dashboard, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(f"{dashboard}/")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    if width < 700:
        page.get_by_role("button", name="Models").click()
    longest = page.locator(".rx-models option", has_text="Nano-Omni-30B-A3B-Reasoning-BF16")
    expect(longest).to_contain_text("nvidia")
    cut = page.locator(".rx-models option").evaluate_all(
        "all => all.filter(o => o.scrollWidth > o.clientWidth).map(o => o.text)"
    )
    assert cut == []
    assert longest.evaluate("o => getComputedStyle(o).textOverflow") == "clip"
    page.close()


def test_own_values_are_filled_in_and_survive_a_reload(page, ours):
    page.goto(f"{ours}/?model=deepseek-ai/DeepSeek-V3.2&strategy=multi_node_tp&nodes=2&tab=yours")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    field = page.get_by_label("$HEAD_IP")
    field.fill("10.0.0.5")
    field.press("Tab")
    code = page.locator(".rx-command .rx-code")
    expect(code).to_contain_text("10.0.0.5")
    page.reload()
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    expect(code).to_contain_text("10.0.0.5", timeout=15_000)
    own = page.get_by_label("GPUs of one node")
    own.fill("8xA100-80GB")
    own.press("Tab")
    expect(page.locator(".rx-summary")).to_contain_text("A100")
    own.fill("8xNoSuchCard")
    own.press("Tab")
    expect(page.locator(".rx-notice[role=alert]")).to_contain_text("NoSuchCard")


def test_a_pasted_log_stands_beside_our_figures(page, ours):
    page.goto(f"{ours}/?model=deepseek-ai/DeepSeek-V3.2&hardware=b200&tab=fit")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    field = page.get_by_label("Paste a start-up log of this engine")
    field.fill(LOG)
    field.press("Tab")
    table = page.get_by_role("region", name="The log beside our figures")
    expect(table).to_contain_text("80.50 GiB")
    users = page.get_by_role("textbox", name="Requests at once")
    users.fill("many")
    users.press("Tab")
    expect(page.locator(".rx-notice[role=alert]")).to_contain_text("Not a whole number")
    field.fill(LOG.ljust(11 << 20, "x"))
    field.press("Tab")
    told = "Only the first 262,144 of 11,534,336 characters were read."
    expect(page.locator(".rx-panel-place")).to_contain_text(told)
    expect(table).to_contain_text("80.50 GiB")


def test_the_link_to_share_is_that_of_the_browser_behind_a_proxy(page, ours):
    with relayed(ours) as address:
        page.goto(f"{address}/?model=deepseek-ai/DeepSeek-V3.2&hardware=b200&tab=share")
        page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
        settled(page)
        link = page.get_by_role("region", name="This page")
        expect(link).to_contain_text(f"{address}/?model=deepseek-ai/DeepSeek-V3.2")
        page.goto("about:blank")


def test_on_a_phone_a_comparison_keeps_its_group_titles_and_where_it_was_scrolled(page, ours):
    page.set_viewport_size({"width": 390, "height": 844})
    kept = ";".join(f"deepseek-ai/DeepSeek-V3.2?hardware={h}" for h in ("h200", "b200", "b300"))
    page.goto(f"{ours}/?model=deepseek-ai/DeepSeek-V3.2&tab=compare&compare={quote(kept)}")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    table = page.get_by_role("region", name="Configurations side by side")
    table.evaluate("element => (element.scrollLeft = 120)")
    title = table.get_by_text("Memory", exact=True)
    left = title.bounding_box()["x"] - table.bounding_box()["x"]
    assert 0 <= left < 40
    page.get_by_label("Rows").select_option("Differences only")
    expect(table).not_to_contain_text("Model")
    assert table.evaluate("element => element.scrollLeft") == 120


def test_what_is_unfolded_and_where_one_stands_survives_a_change(page, ours):
    kept = "deepseek-ai/DeepSeek-V3.2?hardware=h200;openai/gpt-oss-120b?hardware=h100"
    page.goto(f"{ours}/?model=deepseek-ai/DeepSeek-V3.2&tab=memory&compare={quote(kept)}")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    equations = page.locator("details", has_text="Equations")
    equations.locator("summary").click()
    seqs = page.get_by_label("Requests at once")
    seqs.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".rx-command .rx-code")).to_contain_text("--max-num-seqs 512")
    expect(seqs).to_be_focused()
    expect(equations).to_have_attribute("open", "")
    equations.locator("summary").click()
    page.get_by_role("tab", name="Compare", exact=True).click()
    drop = page.get_by_role("button", name="Remove column 2")
    drop.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".rx-compare th[scope=col]")).to_have_count(1)
    expect(page.get_by_role("button", name="Remove column 1")).to_be_focused()


def test_a_link_of_the_peer_opens_the_same_configuration(page, ours):
    page.goto(f"{ours}/?tab=share")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    link = page.get_by_label("Paste a link")
    link.fill("https://recipes.vllm.ai/openai/gpt-oss-120b?hardware=h100")
    link.press("Tab")
    expect(page.locator(".rx-summary")).to_contain_text("H100")
    expect(page.locator(".rx-provider")).to_have_text("openai/gpt-oss-120b")
