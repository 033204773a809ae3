"""Every panel without a serious fault for assistive technology, and everything by keyboard."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from recipes_core.explorer.panels.details import PANELS
from tests.browser.conftest import settled

V32 = "model=deepseek-ai/DeepSeek-V3.2"
OPEN = ("serious", "critical", "moderate")


def faults(page):
    """Violations inside the explorer; voila's own frame around it is not ours."""
    answer = Axe().run(page, context=".rx-root").response
    assert len(answer["passes"]) > 10, "axe looked at nothing"
    found = answer["violations"]
    return [
        (item["impact"], item["id"], [node["target"] for node in item["nodes"]][:3])
        for item in found
        if item["impact"] in OPEN
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_panel_has_a_fault_that_axe_knows(opened, theme, watch):
    page = opened(f"{V32}&hardware=b200&strategy=pd_cluster&nodes=99&theme={theme}")
    found = {}
    for name, (title, _) in PANELS.items():
        page.get_by_role("tab", name=title, exact=True).click()
        settled(page)
        if faults(page):
            found[name] = faults(page)
    assert found == {}
    assert watch.faults == []


def test_the_whole_page_has_no_serious_fault(opened):
    page = opened(V32)
    settled(page)
    found = Axe().run(page).response["violations"]
    grave = [(v["id"], v["nodes"][0]["target"]) for v in found if v["impact"] in OPEN[:2]]
    assert grave == []


def test_every_control_is_reached_by_tab_and_has_a_name(opened):
    page = opened(f"{V32}&hardware=b200&tab=share")
    settled(page)
    wanted = page.evaluate(
        """() => {
          const kinds = '.rx-root :is(button, select, input, textarea, a[href])';
          return [...document.querySelectorAll(kinds)]
            .filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0)
            .map((e, n) => { e.dataset.place = n; return n; }).length;
        }"""
    )
    page.evaluate("document.activeElement.blur(); window.getSelection().removeAllRanges()")
    seen, unnamed = set(), []
    for _ in range(wanted * 2 + 20):
        page.keyboard.press("Tab")
        place, name = page.evaluate(
            """() => { const e = document.activeElement;
              const label = e.getAttribute('aria-label') || e.labels?.[0]?.textContent
                || e.textContent || e.title;
              return [e.dataset.place ?? null, (label || '').trim()]; }"""
        )
        if place is not None:
            seen.add(place)
            if not name:
                unnamed.append(page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))
        if len(seen) == wanted:
            break
    assert unnamed == []
    assert len(seen) == wanted


def test_tabs_move_by_arrow_keys_and_search_has_a_shortcut(opened, watch):
    page = opened(f"{V32}&strategy=pd_cluster")
    settled(page)
    page.locator(".rx-command .rx-tab[aria-selected=true]").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".rx-command .rx-tab[aria-selected=true]")).to_contain_text("Decode")
    expect(page.locator(".rx-command .rx-code")).to_contain_text("8002")
    page.locator(".rx-panel-tabs .rx-tab[aria-selected=true]").focus()
    page.keyboard.press("End")
    expect(page.locator(".rx-panel-tabs .rx-tab[aria-selected=true]")).to_have_text(
        "Share & export"
    )
    page.keyboard.press("/")
    expect(page.locator(".rx-search input")).to_be_focused()
    assert watch.faults == []


def test_a_model_is_found_and_opened_by_keys_alone(opened, watch):
    page = opened(V32)
    settled(page)
    page.keyboard.press("/")
    # Enter comes at once, while the list is still that of an earlier keystroke.
    page.keyboard.type("gpt-oss 120")
    page.keyboard.press("Enter")
    expect(page.locator(".rx-title")).to_contain_text("GPT-OSS")
    expect(page.locator(".rx-search input")).to_be_focused()
    page.locator(".rx-search input").fill("deepseek")
    expect(page.locator(".rx-models option").first).to_contain_text("DeepSeek")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".rx-models select")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".rx-title")).to_contain_text("DeepSeek")
    assert watch.faults == []


def test_a_refusal_is_said_and_shown_where_the_reader_is(opened, watch):
    page = opened("model=deepseek-ai/DeepSeek-V4-Flash&hardware=b200&tab=yours")
    settled(page)
    field = page.get_by_label("GPUs of one node")
    field.fill("8xNoSuchCard")
    page.get_by_label("Paste a file of values").scroll_into_view_if_needed()
    page.keyboard.press("Tab")
    toast = page.locator(".rx-toast")
    expect(toast).to_be_visible()
    expect(toast).to_contain_text("NoSuchCard")
    box = toast.bounding_box()
    assert 0 < box["y"] < page.viewport_size["height"] - box["height"] + 1
    expect(page.locator(".rx-page [role=status]")).to_contain_text("NoSuchCard")
    # List and axes stay in sight beside a long panel.
    assert page.locator(".rx-command").bounding_box()["y"] < 0
    for part in (".rx-search", ".rx-axis-variant"):
        assert page.locator(part).bounding_box()["y"] >= 0
    page.mouse.click(5, 5)
    expect(toast).to_be_hidden()
    # The same again is said again.
    field.fill("8xNoSuchCard ")
    page.get_by_label("Paste a file of values").scroll_into_view_if_needed()
    page.keyboard.press("Tab")
    expect(toast).to_be_visible()
    assert watch.faults == []


FLAGS = """() => {
  const found = [];
  for (const hint of document.querySelectorAll('.rx-hint')) {
    const walk = document.createTreeWalker(hint, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const text = walk.currentNode.data;
      for (const match of text.matchAll(/--[a-z][a-z-]+/g)) {
        const range = document.createRange();
        range.setStart(walk.currentNode, match.index);
        range.setEnd(walk.currentNode, match.index + match[0].length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (lines.size) found.push([match[0], lines.size]);
      }
    }
  }
  return found;
}"""


def test_no_flag_in_a_hint_is_broken_and_each_is_copied_as_it_is_written(opened, page):
    opened(f"{V32}&hardware=b200&tab=memory&max_num_seqs=64")
    settled(page)
    page.get_by_role("button", name="Tuning, front end, versions").click()
    expect(page.locator(".rx-axis-advanced_0 .rx-hint")).to_contain_text("--")
    for width in (1440, 1366, 1300, 1240, 1100, 820, 390, 360):
        page.set_viewport_size({"width": width, "height": 900})
        found = page.evaluate(FLAGS)
        assert len(found) > 5
        assert [flag for flag, lines in found if lines != 1] == [], width
    copied = page.locator(".rx-form .rx-hint").evaluate_all("""hints => hints.map((hint) => {
      getSelection().selectAllChildren(hint);
      return [getSelection().toString(), hint.textContent];
    })""")
    assert "--max-num-seqs 64, your choice" in {text for text, _ in copied}
    assert all(text == written for text, written in copied)


def test_the_rarer_axes_unfold_in_sight(opened, page, watch):
    page.set_viewport_size({"width": 1366, "height": 768})
    opened(f"{V32}&hardware=b200&strategy=pd_cluster")
    settled(page)
    fold = page.get_by_role("button", name="Tuning, front end, versions")
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".rx-axis-advanced_0 select")).to_be_in_viewport()
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "false")
    assert watch.faults == []


def test_on_a_phone_the_list_closes_when_a_model_is_chosen(opened, page, watch):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(V32)
    settled(page)
    models = page.get_by_role("button", name="Models")
    models.click()
    expect(models).to_have_attribute("aria-expanded", "true")
    title = page.locator(".rx-title").inner_text()
    page.locator(".rx-models select").click(position={"x": 80, "y": 40})
    expect(page.locator(".rx-title")).not_to_have_text(title)
    expect(page.locator(".rx-models")).to_be_hidden()
    expect(models).to_be_focused()
    expect(models).to_have_attribute("aria-expanded", "false")
    assert watch.faults == []


def test_a_change_is_announced(opened):
    page = opened(f"{V32}&hardware=b200")
    settled(page)
    status = page.locator(".rx-page [role=status]")
    page.locator(".rx-axis-strategy select").select_option(index=2)
    expect(status).to_contain_text("DP=8 EP")
