"""Share and export: a snippet, links, files; and links from elsewhere."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from recipes_core import ReaderValues, load_catalog, script
from recipes_core.explorer.links import read_link
from recipes_core.explorer.panels.share import FORMS, snippet
from recipes_core.explorer.state import ExplorerState
from recipes_core.explorer.view import Explorer

V32 = "deepseek-ai/DeepSeek-V3.2"


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(only=[V32])


@pytest.fixture
def state(catalog):
    made = ExplorerState(catalog)
    made.open_query(f"model={V32}&hardware=b200")
    return made


def test_the_json_says_why_there_are_no_figures(state):
    state.ask(kv_cache_dtype="foo")
    text = FORMS["json"][2](state.configuration, state.deployment)
    document = json.loads(text)
    assert document["sizing"] is None
    assert "not-sized" in {found["code"] for found in document["findings"]}


def test_the_snippet_makes_the_same_commands(state, capsys):
    state.ask(strategy="single_node_dep")
    state.set_values(ReaderValues(cache_folder="/data/o'k", placeholders={"HEAD_IP": "10.0.0.1"}))
    exec(compile(snippet(state.configuration, state.deployment), "snippet", "exec"), {})
    printed = capsys.readouterr().out
    assert "10.0.0.1" in snippet(state.configuration, state.deployment)
    assert printed.strip() == script(state.deployment.processes[0]).strip()
    assert "/data/o" in printed


def test_a_form_of_several_files_is_downloaded_as_a_zip_of_them(catalog):
    screen = Explorer(catalog, f"model={V32}&hardware=h200&strategy=single_node_dep&tab=share")
    share = screen.details.built["share"]
    sent = []
    screen.page.send = lambda message, buffers=None: sent.append((message, buffers))
    for form in FORMS:
        share.form.value = form
        share.save.click()
    names = [message["name"] for message, _ in sent]
    assert names == [
        "recipe.py", "scripts.zip", "recipe.md", "recipe.json", "compose.yaml", "deployment.yaml",
        "serve.sbatch", "vllm.yaml",
    ]  # fmt: skip
    archive = zipfile.ZipFile(io.BytesIO(sent[1][1][0]))
    assert "01-serve.sh" in archive.namelist()
    assert "vllm serve" in archive.read("01-serve.sh").decode()


def test_links_name_the_page_as_the_browser_asked_for_it(catalog, monkeypatch):
    monkeypatch.setenv("VOILA_REQUEST_URL", "https://gpu.example/x/?model=old&token=secret")
    monkeypatch.delenv("RECIPES_BINDER", raising=False)
    screen = Explorer(catalog, f"model={V32}&hardware=b200&tab=share")
    html = screen.details.built["share"].links.value
    assert f"https://gpu.example/x/?model={V32}&amp;hardware=b200" in html
    assert "secret" not in html
    assert "RECIPES_BINDER is to hold" in html
    # A proxy speaks https for the server, under another host and path: the browser knows.
    where = {"kind": "ready", "value": "https://models.example/vllm/"}
    screen.page._receive(None, where, None)
    screen.details.built["share"].refresh()
    html = screen.details.built["share"].links.value
    assert f"https://models.example/vllm/?model={V32}&amp;hardware=b200" in html
    assert "gpu.example" not in html
    monkeypatch.setenv("RECIPES_BINDER", "https://mybinder.org/v2/gh/o/r/main")
    screen.details.built["share"].refresh()
    assert "main?urlpath=voila%2Frender%2Fnotebooks" in screen.details.built["share"].links.value


@pytest.mark.parametrize(
    ("link", "query"),
    [
        ("https://recipes.vllm.ai/a/b/hw/b200.json", "hardware=b200"),
        ("https://x/a/b/hw/b200/strategies/pd_cluster.json", "hardware=b200&strategy=pd_cluster"),
        ("/a/b/strategies/single_node_tep.json", "strategy=single_node_tep"),
        ("https://github.com/o/r/blob/main/models/a/b.yaml", ""),
        ("https://huggingface.co/a/b/tree/main", ""),
        ("<https://recipes.vllm.ai/a%2Fb?nodes=2>", "nodes=2"),
    ],
)
def test_a_link_to_any_part_of_a_recipe_opens_it(link, query):
    assert read_link(link) == ("a/b", query)
