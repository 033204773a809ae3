"""The state: links in and out, the newest choice wins, the way back, the reader's own values."""

from __future__ import annotations

import pytest

from recipes_core import load_catalog, options_of
from recipes_core.errors import RecipesError
from recipes_core.explorer.compared import Compared
from recipes_core.explorer.links import read_link
from recipes_core.explorer.state import ExplorerState
from recipes_core.explorer.values import kept_from_text, make_values

V32 = "deepseek-ai/DeepSeek-V3.2"


@pytest.fixture(scope="module")
def catalog(shared):
    return load_catalog(shared / "upstream")


@pytest.fixture
def state(catalog):
    made = ExplorerState(catalog)
    made.open_query(f"model={V32}&hardware=b200")
    return made


def test_a_query_opens_and_the_state_gives_it_back(state):
    assert state.configuration.entry.id == V32
    assert state.query() == f"model={V32}&hardware=b200"
    state.ask(strategy="pd_cluster")
    state.ask(decode_nodes=2)
    again = ExplorerState(state.catalog)
    again.open_query(state.query())
    assert again.query() == state.query()
    assert [p.argv for p in again.deployment.processes] == [
        p.argv for p in state.deployment.processes
    ]


def test_every_recipe_opens_and_its_link_opens_the_same(catalog):
    state = ExplorerState(catalog)
    for recipe_id in catalog.recipes:
        state.choose(recipe_id)
        assert state.configuration.entry.id == recipe_id
        again = ExplorerState(catalog)
        again.open_query(state.query())
        assert [p.argv for p in again.deployment.processes] == [
            p.argv for p in state.deployment.processes
        ], recipe_id


def test_no_model_opens_the_newest_recipe(catalog):
    state = ExplorerState(catalog)
    state.open_query("")
    newest = max(str(e.recipe.meta.date_added or "") for e in catalog.recipes.values())
    assert str(state.configuration.recipe.meta.date_added) == newest
    assert state.problem == ""


def test_an_unknown_model_is_told_and_something_opens(catalog):
    state = ExplorerState(catalog)
    state.open_query("model=deepseek-ai/DeepSeek-V3.9")
    assert "Did you mean deepseek-ai/DeepSeek-V3" in state.problem
    assert state.configuration is not None


def test_a_link_tells_of_each_thing_that_it_names_in_vain(state):
    state.open_query(f"model=no/body&compare={V32};no/thing;{V32};no/way")
    assert [item.recipe_id for item in state.compared] == [V32]
    assert all(name in state.problem for name in ("no/body", "no/thing", "no/way"))
    assert state.problem.count("no/thing") == 1


def test_a_multi_node_strategy_brings_its_nodes_and_goes_with_them(state):
    state.ask(strategy="multi_node_tep")
    assert (state.configuration.strategy_id, state.configuration.nodes) == ("multi_node_tep", 2)
    assert not state.notices
    state.ask(nodes=1)
    assert state.configuration.nodes == 1
    assert state.configuration.strategy.deploy_type == "single_node"
    assert [notice.axis for notice in state.notices] == ["strategy"]


def test_what_was_refused_is_told_once(state):
    state.ask(kv_offload="no-such-thing")
    assert [(n.axis, n.asked) for n in state.notices] == [("kv_offload", "no-such-thing")]
    state.ask(gpus=8)
    assert not state.notices


def test_undo_returns_step_by_step_and_reset_to_the_defaults(state):
    before = state.query()
    state.ask(hardware="h200")
    state.ask(strategy="single_node_dep")
    state.undo()
    assert state.configuration.hardware == "h200"
    state.undo()
    assert state.query() == before
    assert not state.can_undo
    state.ask(strategy="single_node_dep")
    state.reset()
    assert state.query() == f"model={V32}&hardware=h200"


def test_hardware_goes_along_to_another_model_where_it_can(state):
    state.choose("openai/gpt-oss-120b")
    assert state.configuration.hardware == "b200"
    assert state.notices == []


def test_features_turn_on_and_off(state):
    on = state.configuration.features
    assert "tool_calling" in on
    state.ask_feature("tool_calling", on=False)
    assert state.configuration.features == tuple(f for f in on if f != "tool_calling")
    state.ask_feature("tool_calling", on=True)
    assert state.configuration.features == on
    assert state.query() == f"model={V32}&hardware=b200"


def test_the_readers_values_are_filled_in_and_kept_over_models(state):
    state.ask(strategy="pd_cluster")
    names = {p.name for p in state.deployment.placeholders}
    assert "PREFILL_NODE_1" in names
    state.set_values(make_values({"PREFILL_NODE_1": "10.0.0.7"}, {"hf_token_var": "HF_TOKEN"}))
    words = [word for p in state.deployment.processes for word in (*p.argv, *p.env.values())]
    assert any("10.0.0.7" in word for word in words)
    state.choose("openai/gpt-oss-120b")
    assert state.values.placeholders == {"PREFILL_NODE_1": "10.0.0.7"}
    other = ExplorerState(state.catalog)
    other.open_first()
    other.read_values(state.values_text())
    assert other.values == state.values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a file of values"),
        ("[]", "should be an object"),
        ('{"secret": "x"}', "unknown value 'secret'; allowed"),
        ('{"placeholders": []}', "not a file"),
        ('{"placeholders": {"A B": "x"}}', "not the name of a variable"),
        ('{"hf_token_var": "hf_1234-secret"}', "not the name of a variable"),
        ('{"placeholders": {"A": "x\\ny"}}', "one line"),
        ("x" * 70_000, "at most"),
    ],
)
def test_a_bad_file_of_values_is_refused_with_its_reason(text, words):
    if "[]}" in text:
        assert kept_from_text(text).shared.placeholders == {}
        return
    with pytest.raises(RecipesError, match=words):
        kept_from_text(text)


@pytest.mark.parametrize(
    ("link", "found"),
    [
        (V32, (V32, "")),
        (f"https://recipes.vllm.ai/{V32}?hardware=b200", (V32, "hardware=b200")),
        (f"/{V32}.json?hardware=b200&nodes=2", (V32, "hardware=b200&nodes=2")),
        (f"http://x:8866/?model={V32}&theme=dark&hardware=h100", (V32, "theme=dark&hardware=h100")),
        (
            "https://mybinder.org/v2/gh/o/r/main?urlpath=voila%2Frender%2Fnotebooks%2F"
            "explorer.ipynb%3Fmodel%3Da%2Fb%26hardware%3Dh200",
            ("a/b", "hardware=h200"),
        ),
        ("https://x/base/recipes/a/b/presets/fast.json", ("a/b", "preset=fast")),
    ],
)
def test_links_of_all_places_are_read(link, found):
    assert read_link(link) == found


@pytest.mark.parametrize("text", ["", "hello", "https://recipes.vllm.ai/", "http://[", "?x=1"])
def test_a_text_without_a_recipe_is_refused(text):
    with pytest.raises(RecipesError):
        read_link(text)


def test_a_pasted_link_opens_and_undo_returns(state):
    state.open_link("https://recipes.vllm.ai/openai/gpt-oss-120b?hardware=h100&colour=red")
    assert state.configuration.entry.id == "openai/gpt-oss-120b"
    assert [n.axis for n in state.notices] == ["colour"]
    state.undo()
    assert state.configuration.entry.id == V32
    with pytest.raises(RecipesError, match="Did you mean"):
        state.open_link("https://recipes.vllm.ai/openai/gpt-oss-121b")
    assert state.configuration.entry.id == V32


@pytest.mark.parametrize(
    "query",
    [
        "x" * 8192,
        "&".join(["hardware=h200"] * 1000),
        "model=../../etc/passwd",
        "model=%ff%fe&hardware=%00",
        "tab=%3Cscript%3E&compare=a/b?x;;;",
        "model=" + "a/" * 3000,
    ],
)
def test_hostile_queries_open_something_and_say_so(catalog, query):
    state = ExplorerState(catalog)
    state.open_query(query)
    assert state.configuration is not None
    assert state.problem or state.notices
    assert state.tab in {"", "memory"}


def test_comparison_holds_four_and_travels_in_the_page_address(state):
    for hardware in ("h100", "h200", "b200", "b300", "mi300x"):
        state.ask(hardware=hardware)
        state.compare_current()
    assert [item.query for item in state.compared] == [
        f"hardware={name}" for name in ("h100", "h200", "b200", "b300")
    ]
    again = ExplorerState(state.catalog)
    again.open_query(state.page_query())
    assert again.compared == state.compared
    again.drop_compared(0)
    assert again.compared[0] == Compared(V32, "hardware=h200")
    assert len(again.compared_configurations()) == 3


def test_the_newest_choice_wins_over_a_preset():
    catalog = load_catalog()
    state = ExplorerState(catalog)
    presets = [
        (entry.id, key, preset)
        for entry in catalog.recipes.values()
        for key, preset in entry.recipe.presets.items()
    ]
    recipe_id, key, preset = next(item for item in presets if item[2].hardware == "gb200")
    state.open_query(f"model={recipe_id}&preset={key}")
    assert state.configuration.preset_id == key
    options = options_of(state.configuration)["hardware"]
    other = next(o.id for o in options if o.enabled and o.id != preset.hardware)
    state.ask(hardware=other)
    assert state.configuration.hardware == other
    assert state.configuration.preset_id is None or state.configuration.preset_by_default
    assert "preset" in {notice.axis for notice in state.notices}
    state.ask(preset=key)
    assert state.configuration.preset_id == key
    assert state.configuration.hardware == preset.hardware


def test_the_folder_of_one_model_never_stands_in_the_command_of_another(state):
    state.set_values(make_values({}, {"model_path": "/models/v32", "cache_folder": "/cache"}))
    state.compare_current()
    state.choose("openai/gpt-oss-120b")
    assert state.values.model_path is None
    assert state.values.cache_folder == "/cache"
    assert state.deployment.processes[0].argv[2] == "openai/gpt-oss-120b"
    [(_, compared)] = state.compared_configurations()
    assert compared.processes[0].argv[2] == "/models/v32"
    state.choose(V32)
    assert state.deployment.processes[0].argv[2] == "/models/v32"
    state.ask(variant="nvfp4")
    assert state.deployment.processes[0].argv[2] == state.configuration.model_id


def test_server_and_own_hardware_are_entered_once(state):
    state.ask(port=9000, host="10.0.0.1", served_name="chat")
    state.ask(hardware=state.keep_hardware("4xL40S"), gpus=None)
    state.ask(hardware="h200")
    assert state.kept.hardware == "4xL40S"
    state.choose("openai/gpt-oss-120b")
    asked = state.selection.asked()
    assert (asked["port"], asked["host"]) == (9000, "10.0.0.1")
    assert "served_name" not in asked, "the name of one model is not that of another"
    state.reset()
    assert state.selection.port == 9000
    state.choose(V32)
    assert state.selection.served_name == "chat"
    other = ExplorerState(state.catalog)
    other.open_query(f"model={V32}&port=9001")
    other.read_values(state.values_text(), restored=True)
    assert (other.selection.port, other.selection.host) == (9001, "10.0.0.1")
    assert other.kept.hardware == "4xL40S"
    assert not other.can_undo
    other.read_values(state.values_text())
    assert other.selection.port == 9000
    other.undo()
    assert other.selection.port == 9001
    state.choose("openai/gpt-oss-120b")
    state.ask(hardware="4xL40S")
    state.forget()
    assert state.values_text() == "{}\n"
    assert state.configuration.hardware in state.catalog.hardware
    state.undo()
    assert state.configuration.hardware == "4xL40S"
    assert state.kept.served_names == {V32: "chat"}


def test_nodes_of_own_hardware_are_entered_once_and_taken_as_needed(state):
    state.ask_hardware(state.keep_hardware("8xA100-80GB"))
    assert state.configuration.hardware == "b200"
    state.keep_nodes(4)
    state.ask_hardware("8xA100-80GB")
    assert (state.configuration.hardware, state.configuration.nodes) == ("8xA100-80GB", 2)
    assert state.notices == []
    state.choose("openai/gpt-oss-120b")
    assert (state.configuration.hardware, state.configuration.nodes) == ("8xA100-80GB", 1)
    state.choose("moonshotai/Kimi-K2-Instruct")
    assert (state.configuration.hardware, state.configuration.nodes) == ("8xA100-80GB", 2)
    assert state.kept.nodes == 4
    other = ExplorerState(state.catalog)
    other.open_first()
    other.read_values(state.values_text())
    assert (other.kept.hardware, other.kept.nodes) == ("8xA100-80GB", 4)
    other.choose(V32)
    assert (other.configuration.hardware, other.configuration.nodes) == ("8xA100-80GB", 2)
    other.choose("openai/gpt-oss-120b")
    other.ask_hardware(other.keep_hardware("4xL40S"))
    assert (other.kept.hardware, other.kept.nodes) == ("4xL40S", None)


def test_refused_hardware_leaves_the_nodes_that_were_there(state):
    state.ask(hardware=state.keep_hardware("4xL40S"), nodes=5)
    state.keep_hardware("8xA100-80GB")
    state.ask(hardware="8xA100-80GB", nodes=None)
    assert (state.configuration.hardware, state.configuration.nodes) == ("4xL40S", 5)
    [notice] = state.notices
    assert (notice.asked, notice.got) == ("8xA100-80GB", "4xL40S")
    assert state.kept.hardware == "8xA100-80GB", "what was entered last is offered"
    state.ask_hardware("8xA100-80GB")
    assert (state.configuration.hardware, state.configuration.nodes) == ("8xA100-80GB", 5)


def test_hardware_that_another_model_cannot_have_is_told(state):
    state.ask_hardware(state.keep_hardware("4xL40S"))
    [notice] = state.notices
    assert (notice.axis, notice.asked, notice.got) == ("hardware", "4xL40S", "b200")
    state.choose("openai/gpt-oss-120b")
    assert state.configuration.hardware == "b200", "what was chosen goes before what is kept"
    state.reset()
    state.choose("Qwen/Qwen3-8B")
    assert state.configuration.hardware == "4xL40S"
    state.choose(V32)
    [notice] = state.notices
    assert (notice.axis, notice.asked) == ("hardware", "4xL40S")
    assert "needs 805 GB" in notice.reason


def test_a_refused_choice_leaves_what_was_there(state):
    state.ask(hardware="8xA100-80GB", gpus=None)
    assert state.configuration.hardware == "b200"
    [notice] = state.notices
    assert (notice.axis, notice.asked, notice.got) == ("hardware", "8xA100-80GB", "b200")
    assert "needs 805 GB" in notice.reason
    assert not state.can_undo


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"port": 99999}', "port: "),
        ('{"hardware": "8xNoSuchCard"}', "NoSuchCard"),
        ('{"local_models": {"a/b": "--flag"}}', "would read a flag"),
        ('{"local_models": ["x"]}', "local_models should be an object"),
        ('{"served_names": {"a/b": "x\\ny"}}', "one line"),
    ],
)
def test_a_bad_value_in_a_file_changes_nothing(state, text, words):
    before = state.kept
    with pytest.raises(RecipesError, match=words):
        state.read_values(text)
    assert state.kept == before
    assert not state.can_undo


def test_undo_has_no_step_that_does_nothing_and_covers_what_is_compared(state):
    state.ask(hardware="b200")
    state.ask(kv_offload="no-such-thing")
    state.set_values(state.values)
    assert not state.can_undo
    state.compare_current()
    state.compare_current()
    state.drop_compared(0)
    state.undo()
    assert [item.recipe_id for item in state.compared] == [V32]
    state.undo()
    assert not state.compared
    assert not state.can_undo


def test_the_model_that_opens_is_the_first_of_the_list():
    from recipes_core.catalog.search import search

    catalog = load_catalog()
    state = ExplorerState(catalog)
    state.open_query("")
    assert state.configuration.entry.id == search(catalog)[0].id


def test_a_refusal_for_memory_says_where_its_figure_comes_from():
    state = ExplorerState(load_catalog(only=[V32]))
    state.open_query(f"model={V32}&hardware=2xT4")
    origin = state.configuration.variant.vram_source
    assert origin == "computed"
    assert f"GB ({origin}), has 32 GB" in state.notices[0].reason
