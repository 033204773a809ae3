"""The pages of a static site: every link leads somewhere, every choice shows something."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from recipes_core import configure, deploy
from recipes_core.publish.export import export
from recipes_core.render.declared import verdict_on
from recipes_core.render.page import csp_hash
from recipes_core.render.shell import quote
from recipes_core.sizing.configuration import size_configuration

TOLD_WHOLE = ("short", "computed")
VOID = {"meta", "link", "input", "br", "hr", "img", "rect"}


class Reader(HTMLParser):
    """Links, ids, and whether every tag is closed in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.scripts = 0
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in {"a", "link"} and found.get("href") is not None:
            self.links.append(str(found["href"]))
        if found.get("id"):
            self.ids.append(str(found["id"]))
        self.scripts += tag == "script"
        self.handlers += [name for name in found if name.startswith("on") or name == "style"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        while self.open and self.open[-1] != tag and self.open[-1] in {"p", "li", "dt", "dd"}:
            self.open.pop()
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"


def read(path: Path) -> tuple[Reader, str]:
    text = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader, text


def html_pages(site: Path) -> list[Path]:
    return sorted(site.rglob("index.html"))


def test_pages_are_well_formed_with_ids_once_and_no_script_but_ours(site):
    for path in html_pages(site):
        reader, _ = read(path)
        assert len(set(reader.ids)) == len(reader.ids), path
        assert reader.scripts == 1
        assert reader.handlers == []


def test_every_internal_link_leads_to_a_file(site):
    checked = 0
    for path in html_pages(site):
        reader, _ = read(path)
        for link in reader.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            if not parts.path:
                assert not parts.fragment or parts.fragment in reader.ids, link
                continue
            target = (path.parent / unquote(parts.path)).resolve()
            assert target.is_relative_to(site.resolve()), link
            assert target.is_file() or (target / "index.html").is_file(), f"{path}: {link}"
            checked += 1
    assert checked > 300


def test_the_policy_names_the_very_styles_and_script_of_the_page(site):
    for path in html_pages(site):
        _, text = read(path)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        policy = policy.replace("&#39;", "'")
        for body in re.findall(r"<style>(.*?)</style>", text, re.S):
            if body:
                assert csp_hash(body) in policy
        for body in re.findall(r"<script>(.*?)</script>", text, re.S):
            assert csp_hash(body) in policy


def test_each_choice_of_hardware_and_strategy_shows_exactly_one_panel(site):
    for path in html_pages(site):
        _, text = read(path)
        hardware = re.findall(r'name="hardware" id="(h\d+)"', text)
        strategies = re.findall(r'name="strategy" id="(s\d+)"', text)
        shown = re.findall(r"has\(#(h\d+):checked\):has\(#(s\d+):checked\) #(p\d+)", text)
        pairs = [(h, s) for h, s, _ in shown]
        assert sorted(pairs) == sorted((h, s) for h in hardware for s in strategies), path
        if hardware:
            assert text.count(" checked>") == 2


def test_what_a_recipe_says_is_text(few, tmp_path):
    name = "meta-llama/Llama-3.1-8B-Instruct"
    entry = few.recipes[name]
    bad = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    meta = entry.recipe.meta.model_copy(update={"title": bad, "description": bad})
    guide = f"# Hello\n\n{bad}\n\n[x](javascript:alert(3))"
    recipe = entry.recipe.model_copy(update={"meta": meta, "guide": guide})
    hostile = replace(few, recipes={name: replace(entry, recipe=recipe)}, kept={})
    export(hostile, tmp_path, jobs=1)
    for path in html_pages(tmp_path):
        reader, text = read(path)
        assert reader.scripts == 1
        assert reader.handlers == []
        assert "<img" not in text
        assert not any(link.startswith("javascript:") for link in reader.links)


def test_a_page_shows_the_commands_of_its_json(site):
    shown = 0
    for recipe in ("deepseek-ai/DeepSeek-R1", "Qwen/Qwen-Image"):
        _, text = read(site / recipe / "index.html")
        blocks = {html.unescape(block) for block in re.findall(r"<code>(.*?)</code>", text, re.S)}
        for path in (site / recipe / "hw").glob("*.json"):
            item = json.loads(path.read_text())
            command = item.get("command") or item["head_command"]
            exports = "".join(f"export {k}={quote(v)}\n" for k, v in item["env"].items())
            assert exports + command in blocks
            shown += 1
    assert shown > 10


def test_the_memory_table_says_of_each_hardware_what_every_other_page_says(few, site):
    shown = 0
    for page in ("Qwen/Qwen-Image", "Google/gemma-4-12B-it", "deepseek-ai/DeepSeek-R1"):
        _, text = read(site / page / "index.html")
        table = text[text.index('id="memory"') :].partition("</table>")[0]
        assert "<th>Verdict</th>" in table
        told = [
            " ".join(html.unescape(re.sub(r"<[^>]+>", "", cell)).split())
            for cell in re.findall(r'^<td class="told">(.*)</td></tr>$', table, re.M)
        ]
        for cell in told:
            shown += 1
            assert re.search(r" \((declared|computed|measured)\)$", cell), cell
        for config in (configure(few, page, f"hardware={name}") for name in ("h100", "b200")):
            deployment = deploy(config)
            sized = size_configuration(config, deployment)
            verdict, basis = verdict_on(deployment, sized)
            kept = verdict.kind in {"unknown", "refused"} or (verdict.kind, basis) == TOLD_WHOLE
            line = f"{verdict.word} {verdict.detail}" if kept else verdict.word
            assert f"{line} ({basis})" in told
    assert shown > 10
