"""One configuration is the same wherever it is asked for.

Python, ``recipes show`` and ``batch``, HTTP, the tools for agents, the explorer and the static site
each give their own answer to one question; the commands, memory, findings and adjustments in them
are compared. Only what is filled in on purpose differs: the terminal knows its own cache folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

import recipes_core.server.__main__ as server_main
from recipes_core import check, configure, deploy, mcp, size_configuration, to_json
from recipes_core.catalog.catalog import Catalog
from recipes_core.cli.app import app
from recipes_core.cli.batch import Batch
from recipes_core.explorer.state import ExplorerState
from recipes_core.findings import Finding
from recipes_core.layers import plugins_of
from recipes_core.mcp import Tools
from recipes_core.publish.contents import Options
from recipes_core.publish.export import export
from recipes_core.render.beside import version_of
from recipes_core.server import _load_jupyter_server_extension
from recipes_core.sizing.configuration import size_processes
from tests.server.conftest import Client, running

OURS = (
    ("openai/gpt-oss-120b", "hardware=h200"),
    ("openai/gpt-oss-120b", "hardware=h200&gpus=2&max_model_len=32k&max_num_seqs=64"),
    ("openai/gpt-oss-120b", "hardware=b300&advanced=gpu_mem_095"),
    ("Qwen/Qwen3.5-397B-A17B", "hardware=h200&features=none"),
    ("Qwen/Qwen3.5-397B-A17B", "hardware=h200&nodes=4"),
    ("deepseek-ai/DeepSeek-V3.2", "hardware=h200&strategy=single_node_dep"),
    ("deepseek-ai/DeepSeek-V3.2", "hardware=h100&nodes=2&strategy=multi_node_tp"),
    ("deepseek-ai/DeepSeek-V3.2", "hardware=h200&nodes=4&strategy=multi_node_dep"),
    ("deepseek-ai/DeepSeek-V3.2", "hardware=h200&strategy=pd_cluster"),
    ("deepseek-ai/DeepSeek-V3.2", "hardware=h200&strategy=pd_cluster&prefill_nodes=2&decode_nodes=4"
     "&prefill_mode=dep&decode_mode=dep"),
    ("deepseek-ai/DeepSeek-V3.2", "hardware=h200&kv_offload=kv_store_centralized_mooncake"
     "&kv_instances=2"),
    ("deepseek-ai/DeepSeek-V3.2", "hardware=mi300x"),
    ("Qwen/Qwen-Image", "hardware=h200"),
    ("Qwen/Qwen3-TTS-12Hz-1.7B-CustomVoice", "hardware=h100"),
    ("nvidia/Cosmos3-Super", "hardware=b200&task=nosuch"),
    ("baidu/ERNIE-5.5-Flash", "hardware=gb200"),
    ("baidu/ERNIE-5.5-Flash", "hardware=gb200&preset=baseline"),
    ("moonshotai/Kimi-K3", "hardware=gb200"),
    ("meta-llama/Llama-3.1-8B-Instruct", "hardware=xeon6"),
    ("meta-llama/Llama-3.1-8B-Instruct", "hardware=trillium"),
    ("Qwen/Qwen3-8B", "hardware=4xL40S&max_model_len=8192"),
    ("Qwen/Qwen3-8B", "hardware=8xA100-80GB&kv_cache_dtype=fp8&port=9001&served_name=mine"),
    ("Qwen/Qwen3-8B", "hardware=h200&strategy=nosuch&features=nosuch&bogus=1"),
    ("Qwen/Qwen3-8B", "hardware=h200&vllm=0.25.0"),
    ("Qwen/Qwen3-8B", "hardware=h200&vllm=not-a-version&max_num_seqs=2000000"),
    ("Qwen/Qwen3-8B", "hardware=h200&gpu_memory_utilization=0.005"),
    ("Qwen/Qwen3-8B", "hardware=h200&kv_cache_dtype=foo"),
)  # fmt: skip
UPSTREAM = (
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "hardware=h200&features=tool_calling"),
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "hardware=h200&nodes=2"),
    ("zai-org/GLM-5.1", "hardware=h200&strategy=pd_cluster"),
    ("deepseek-ai/DeepSeek-R1", "hardware=h100&strategy=multi_node_tp_pp&nodes=2"),
    ("deepseek-ai/DeepSeek-R1", "hardware=h200&kv_offload=kv_store_centralized_mooncake"),
    ("deepseek-ai/DeepSeek-R1-0528", "hardware=mi355x"),
    ("XiaomiMiMo/MiMo-V2.5-Pro", "hardware=h200"),
    ("Qwen/Qwen-Image", "hardware=h200&variant=fp8"),
    ("meta-llama/Llama-3.1-8B-Instruct", "hardware=xeon6"),
)


class Place(NamedTuple):
    """A catalog, the word that names it on a command line, and a server over it."""

    catalog: Catalog
    word: str
    client: Client


@pytest.fixture(scope="module")
def builtin_place(ours: Catalog) -> Iterator[Place]:
    with contextmanager(running)(ours) as client:
        yield Place(ours, "builtin", client)


@pytest.fixture(scope="module")
def upstream_place(shared: Path, upstream: Catalog) -> Iterator[Place]:
    with contextmanager(running)(upstream) as client:
        yield Place(upstream, str(shared / "upstream"), client)


def by_python(place: Place, recipe: str, query: str) -> dict[str, Any]:
    config = configure(place.catalog, recipe, query)
    deployment = deploy(config)
    sized = size_configuration(config, deployment)
    found = check(deployment, version_of(deployment), plugins=plugins_of(config))
    problems = dict.fromkeys(p for _, s in size_processes(config, deployment) for p in s.problems)
    found += [Finding("error", "does-not-start", f"the engine would not start: {problem}")
              for problem in problems]  # fmt: skip
    return to_json(config, deployment, sized.to_json() if sized else None, found)


def by_show(place: Place, recipe: str, query: str) -> dict[str, Any]:
    words = ["show", recipe, "--query", query, "--catalog", place.word, "--format", "json"]
    return json.loads(CliRunner().invoke(app, words).stdout)


def by_batch(place: Place, recipe: str, query: str) -> dict[str, Any]:
    row = json.dumps({"recipe": recipe, "query": query}).encode()
    return json.loads(Batch(place.catalog, sizing=True, checks=True).answer(row))


def by_http(place: Place, recipe: str, query: str) -> dict[str, Any]:
    reply = place.client.ask(f"/recipes/{recipe}.json?{query}")
    assert reply.status == 200, reply.text
    return json.loads(reply.body)


def by_agent(place: Place, recipe: str, query: str) -> dict[str, Any]:
    return Tools(place.catalog).show(recipe, query)


def by_explorer(place: Place, recipe: str, query: str) -> dict[str, Any]:
    state = ExplorerState(place.catalog)
    state.open_query(f"model={recipe}&{query}")
    assert (state.problem, state.configuration is None) == ("", False)
    tightest = state.tightest
    document = to_json(
        state.configuration, state.deployment, tightest.to_json() if tightest else None
    )
    document["findings"] = [item._asdict() for item in state.findings]
    document["adjustments"] = [item._asdict() for item in state.notices]
    return document


WAYS: tuple[Callable[[Place, str, str], dict[str, Any]], ...] = (
    by_show, by_batch, by_http, by_agent, by_explorer,
)  # fmt: skip


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """As a client reads it, without the words that need the caller's cache folder."""
    read: dict[str, Any] = json.loads(json.dumps(document))
    for holder in (read["deployment"], *read["deployment"]["processes"]):
        holder.pop("docker_argv", None)
        holder.pop("docker_needs", None)
    return read


def test_there_are_cases_of_every_kind(ours: Catalog, upstream: Catalog) -> None:
    made = [configure(ours, *case) for case in OURS] + [configure(upstream, *c) for c in UPSTREAM]
    assert len(made) >= 30
    assert {c.profile.brand for c in made} >= {"NVIDIA", "AMD", "Google", "Intel"}
    strategies = {c.strategy_id for c in made}
    assert strategies >= {"single_node_tp", "single_node_dep", "multi_node_tp", "multi_node_dep",
                          "multi_node_tp_pp", "pd_cluster", None}  # fmt: skip
    assert any(c.preset for c in made)
    assert any(c.kv_instances for c in made)
    assert any(c.adjustments for c in made)
    assert any(c.hardware not in ours.hardware for c in made)


def unsized(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Takes the findings out that stand for memory that could not be computed."""
    kept = [item for item in document["findings"] if item["code"] != "not-sized"]
    taken = [item for item in document["findings"] if item["code"] == "not-sized"]
    document["findings"] = kept
    return taken


@pytest.mark.parametrize(("recipe", "query"), OURS)
def test_all_say_the_same_of_our_catalog(builtin_place: Place, recipe: str, query: str) -> None:
    compare(builtin_place, recipe, query)


@pytest.mark.parametrize(("recipe", "query"), UPSTREAM)
def test_all_say_the_same_of_the_peers_catalog(
    upstream_place: Place, recipe: str, query: str
) -> None:
    compare(upstream_place, recipe, query)


def compare(place: Place, recipe: str, query: str) -> None:
    answers = {way.__name__: plain(way(place, recipe, query)) for way in WAYS}
    if "kv_cache_dtype=foo" in query:
        # Python raises what the others say; the explorer says it where the figures would stand.
        taken = {name: unsized(document) for name, document in answers.items()}
        assert [len(taken.pop("by_explorer")), *map(len, taken.values())] == [0, 1, 1, 1, 1]
        assert all("`foo`" in item["message"] for found in taken.values() for item in found)
        first = answers["by_http"]
        assert first["sizing"] is None
    else:
        first = plain(by_python(place, recipe, query))
    assert first["deployment"]["processes"][0]["command"]
    for name, document in answers.items():
        assert document == first, name
    if first["sizing"] is not None:
        words = ["size", recipe, "--query", query, "--catalog", place.word, "--json"]
        assert json.loads(CliRunner().invoke(app, words).stdout) == first["sizing"]


def test_the_static_site_says_the_same(upstream: Catalog, tmp_path: Path) -> None:
    recipe = "nvidia/NVIDIA-Nemotron-Nano-9B-v2"
    few = replace(upstream, recipes={recipe: upstream.recipes[recipe]})
    export(few, tmp_path, Options(), jobs=1)
    made = json.loads((tmp_path / f"{recipe}/configuration.json").read_text())
    assert plain(made) == plain(by_agent(Place(upstream, "", Client(0)), recipe, ""))


def test_a_layout_that_the_engine_refuses_is_an_error_everywhere(upstream_place: Place) -> None:
    recipe, query = UPSTREAM[1]
    refused = "the engine would not start: 8 Mamba-2 groups are not divisible by TP 16."
    for way in WAYS:
        found = way(upstream_place, recipe, query)["findings"]
        assert [i["severity"] for i in found if i["message"] == refused] == ["error"], way.__name__
    words = ["show", recipe, "--query", query, "--catalog", upstream_place.word]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout.count("--tensor-parallel-size 16")) == (0, 2)
    assert done.stderr.count(refused) == 1


NEAREST = "vLLM 0.33.0 has no --tool-call-parser-plugin; did you mean --tool-parser-plugin?"


def test_a_flag_that_no_release_has_is_said_with_the_nearest_everywhere(
    upstream_place: Place, tmp_path: Path
) -> None:
    recipe, query = UPSTREAM[0]
    for way in (by_python, *WAYS):
        found = way(upstream_place, recipe, query)["findings"]
        assert [i["severity"] for i in found if i["message"] == NEAREST] == ["error"], way.__name__
    for form in ("shell", "script", "docker", "argv", "compose", "kubernetes", "slurm"):
        words = ["show", recipe, "--catalog", upstream_place.word, "--format", form]
        done = CliRunner().invoke(app, [*words, "--query", query])
        assert (done.exit_code, NEAREST in done.stderr) == (0, True), form
        assert NEAREST not in done.stdout
    ask = upstream_place.client.ask
    pages = [ask(f"/recipes/{recipe}{end}?{query}").text for end in ("", ".md")]
    catalog = upstream_place.catalog
    few = replace(catalog, recipes={recipe: catalog.recipes[recipe]})
    export(few, tmp_path, Options(), jobs=1)
    files = (f"{recipe}/index.html", f"{recipe}.md", "llms-full.txt")
    pages += [(tmp_path / name).read_text() for name in files]
    pages.append(Tools(catalog).show(recipe, query, "markdown")["markdown"])
    for page in pages:
        assert "has no --tool-call-parser-plugin" in page.replace("`", "").replace("\\", "")
        assert "--tool-parser-plugin" in page.replace("\\", "")


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """Our catalog, with a folder on it of which one file is no recipe."""
    (tmp_path / "models/some").mkdir(parents=True)
    (tmp_path / "models/some/bro\x1b[2Jken.yaml").write_text("meta: {difficulty: nosuch}\n")
    return f"builtin{os.pathsep}{tmp_path}"


def lab(told: list[str]) -> Any:
    """As much of a Jupyter server as our extension asks for."""
    log = SimpleNamespace(
        info=lambda *_: None, warning=lambda text, *words: told.append(text % words)
    )
    web = SimpleNamespace(settings={"base_url": "/"}, add_handlers=lambda *_: None)
    provider = SimpleNamespace(auth_enabled=True)
    return SimpleNamespace(log=log, web_app=web, identity_provider=provider, root_dir="/")


def test_a_broken_recipe_is_left_out_and_told_and_takes_nothing_else_away(
    broken: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECIPES_CATALOG", broken)
    told: dict[str, str] = {}
    for words in (["show", "Qwen/Qwen3-8B"], ["size", "Qwen/Qwen3-8B"], ["list", "qwen3-8b"]):
        done = CliRunner().invoke(app, words)
        assert (done.exit_code, "Qwen" in done.stdout or "weights" in done.stdout) == (0, True)
        told[words[0]] = done.stderr
    lines: list[str] = []
    _load_jupyter_server_extension(lab(lines))
    told["jupyter"] = "\n".join(lines)
    served: list[Catalog] = []
    monkeypatch.setattr("recipes_core.server.__main__.serve", lambda *c, **_: served.append(c[0]))
    monkeypatch.setattr("sys.argv", ["server"])
    server_main.main()
    told["server"] = capsys.readouterr().err
    monkeypatch.setattr(mcp, "make_server", lambda c: SimpleNamespace(run=lambda _: None))
    mcp.run()
    told["agents"] = capsys.readouterr().err
    assert "Qwen/Qwen3-8B" in served[0].recipes
    for name, text in told.items():
        assert "models/some/bro\N{REPLACEMENT CHARACTER}[2Jken.yaml" in text, name
        assert "\x1b" not in text, name
