"""The screen without a browser: built once, following the state, escaping everything."""

from __future__ import annotations

import pytest
from ipywidgets.widgets.widget import _instances as widgets

from recipes_core import load_catalog
from recipes_core.explorer.panels.command import mark_changes, steps_of
from recipes_core.explorer.panels.details import PANELS
from recipes_core.explorer.panels.find import MACHINE, OWN
from recipes_core.explorer.panels.why import WhyPanel
from recipes_core.explorer.view import Explorer
from recipes_core.explorer.widgets import visible
from recipes_core.render.scripts import script_files

V32 = "deepseek-ai/DeepSeek-V3.2"


@pytest.fixture(scope="module")
def catalog(shared):
    return load_catalog(shared / "upstream")


@pytest.fixture
def screen(catalog):
    return Explorer(catalog, f"model={V32}&hardware=b200")


def axis(screen, name):
    return next(item.field for item in screen.axes.axes if item.name == name)


def shell(screen):
    step = next(step for step in screen.command.steps if step.get("main"))
    return next(block for block in step["blocks"] if block.get("form") == "shell")


def test_a_dropdown_changes_the_command_and_the_address(screen):
    axis(screen, "strategy").value = "single_node_dep"
    assert "--data-parallel-size 8" in shell(screen)["text"]
    assert screen.page.query == f"model={V32}&hardware=b200&strategy=single_node_dep"
    assert "DP=8 EP" in screen.status.value


def test_every_axis_shows_all_its_options_with_reasons(screen):
    axis(screen, "variant").value = "nvfp4"
    texts = [text for text, _ in axis(screen, "hardware").options]
    assert len(texts) == len(screen.state.configuration.rules.hardware_options("nvfp4"))
    barred = [text for text in texts if text.startswith("✗")]
    assert any("H100" in text and "NVFP4 needs NVIDIA Blackwell" in text for text in barred)


def test_choosing_what_cannot_be_had_tells_why_and_keeps_the_rest(screen):
    axis(screen, "variant").value = "nvfp4"
    axis(screen, "hardware").value = "h100"
    assert axis(screen, "hardware").value == "b200"
    assert "NVFP4 needs NVIDIA Blackwell" in screen.notices.value


@pytest.mark.parametrize(
    ("query", "button", "nodes"),
    [
        ("strategy=multi_node_tp", "Multi-Node Tensor Parallel on 2 nodes", 2),
        ("strategy=single_node_tep&nodes=2", "Tensor + Expert Parallel on 1 node", 1),
    ],
)
def test_a_refused_strategy_of_a_link_is_one_click_away(catalog, query, button, nodes):
    screen = Explorer(catalog, f"model={V32}&{query}")
    asked = query.split("&")[0]
    name = asked.removeprefix("strategy=")
    assert screen.state.configuration.strategy_id != name
    assert button in screen.notices.value
    assert f'data-rx-send="open" data-rx-value="{asked}"' in screen.notices.value
    screen.page.handlers["open"](asked)
    config = screen.state.configuration
    assert (config.strategy_id, config.nodes) == (name, nodes)
    assert "data-rx-send" not in screen.notices.value


def test_what_no_node_count_makes_possible_has_no_button(catalog):
    screen = Explorer(catalog, f"model={V32}&strategy=nonsense&hardware=nowhere")
    assert "nonsense" in screen.notices.value
    assert "data-rx-send" not in screen.notices.value


def test_changed_lines_are_marked_also_where_the_process_has_another_name(screen):
    axis(screen, "strategy").value = "single_node_dep"
    lines = shell(screen)["text"].split("\n")
    marked = [lines[number] for number in shell(screen)["changed"]]
    assert any("--data-parallel-size 8" in line for line in marked)
    assert not any("--trust-remote-code" in line for line in marked)
    axis(screen, "strategy").value = "multi_node_tep"
    lines = shell(screen)["text"].split("\n")
    assert any("--nnodes 2" in lines[number] for number in shell(screen)["changed"])


def test_each_line_of_a_command_knows_where_it_comes_from(screen):
    block = shell(screen)
    lines = block["text"].split("\n")
    assert len(block["why"]) == len(lines)
    place = next(n for n, line in enumerate(lines) if "--tensor-parallel-size" in line)
    assert "strategies/single_node_tp.yaml" in block["why"][place]


def test_steps_have_their_start_order(screen):
    screen.state.ask(strategy="pd_cluster")
    steps = screen.command.steps
    ordered = [step["id"] for step in steps if step["order"]]
    assert ordered == [process.name for process in screen.state.deployment.processes]
    assert steps[0]["id"] == "install"
    assert [step["id"] for step in steps if step.get("main")] == ["prefill"]
    screen.state.ask(strategy="multi_node_tp", nodes=3)
    titles = [step["title"] for step in screen.command.steps if step["order"]]
    assert titles == ["Head", "Node 2", "Node 3"]


def test_the_number_of_widgets_stays_over_500_changes(screen):
    screen.axes.toggle_more()
    for name in PANELS:
        screen.details.tabs.value = name
    screen.details.tabs.value = "memory"
    hardware = ("h200", "b200", "mi300x", "gb200")
    strategies = ("single_node_tp", "pd_cluster", "multi_node_tep", "single_node_dep")
    models = (V32, "openai/gpt-oss-120b", "moonshotai/Kimi-K2-Instruct")
    before = len(widgets)
    for number in range(500):
        if number % 25 == 0:
            screen.state.choose(models[number // 25 % 3])
        screen.state.ask(hardware=hardware[number % 4])
        screen.state.ask(strategy=strategies[number // 4 % 4])
    assert len(widgets) == before


@pytest.mark.parametrize("name", list(PANELS))
def test_every_panel_opens_for_every_kind_of_deployment(catalog, name):
    queries = (
        f"model={V32}&hardware=b200",
        f"model={V32}&hardware=b200&strategy=pd_cluster",
        f"model={V32}&hardware=h100&kv_offload=mooncake_lb_centralized",
        "model=openai/gpt-oss-120b&hardware=8xA100-80GB",
        *(f"model={i}" for i, e in catalog.recipes.items() if e.recipe.omni is not None),
    )
    for query in queries:
        opened = Explorer(catalog, f"{query}&tab={name}")
        panel = opened.details.built[name]
        assert "rx-hidden" not in panel.box._dom_classes
        assert "went wrong" not in opened.state.problem
        opened.frame.root.close()


def test_all_recipes_of_a_catalog_can_be_shown(screen):
    for recipe_id in screen.state.catalog.recipes:
        screen.find.list.value = recipe_id
        assert screen.state.configuration.entry.id == recipe_id
        assert screen.find.list.value == recipe_id


def test_search_narrows_the_list_and_says_so(screen):
    screen.find.text.value = "gpt-oss"
    assert screen.find.list.options[0][1] == "openai/gpt-oss-120b"
    assert screen.state.configuration.entry.id == V32
    screen.find.text.value = "zzz no such"
    assert screen.find.list.options == ()
    assert "No model matches" in screen.find.count.value
    assert "rx-hidden" in screen.find.list._dom_classes
    screen.find.text.value = "gpt-oss"
    screen.find.filters["provider"].value = "Qwen"
    assert "would without “Provider”" in screen.find.count.value
    screen.find.clear_all()
    assert len(screen.find.list.options) == len(screen.state.catalog.recipes)
    assert "rx-hidden" not in screen.find.list._dom_classes


def test_a_slip_finds_the_nearest_name_and_says_so(screen):
    screen.find.text.value = "deepsek"
    assert all("DeepSeek" in text for text, _ in screen.find.list.options)
    assert "No model matches “deepsek”. For “deepseek”: " in screen.find.count.value
    screen.find.filters["provider"].value = "Qwen"
    assert screen.find.list.options == ()
    assert "would without “Provider”" in screen.find.count.value


@pytest.mark.parametrize(
    "link",
    [
        "https://huggingface.co/openai/gpt-oss-20b/tree/main",
        "hf.co/openai/gpt-oss-20b",
        "https://recipes.vllm.ai/openai/gpt-oss-20b?hardware=b200",
    ],
)
def test_a_link_in_the_search_finds_its_model(screen, link):
    screen.find.text.value = link
    assert [recipe_id for _, recipe_id in screen.find.list.options] == ["openai/gpt-oss-20b"]
    screen.find.text.value = "https://nowhere"
    assert screen.find.list.options == ()


def test_an_empty_list_says_which_filter_to_give_up(screen):
    find = screen.find
    find.text.value = "deepseek"
    find.filters["provider"].value = "DeepSeek"
    many = len(find.list.options)
    find.filters["precision"].value = "int8"
    assert f"No model matches. {many} would without “Precision”." in find.count.value
    find.filters["provider"].value = "Qwen"
    assert "No model matches. 9 would without any." in find.count.value


def test_hardware_that_only_recipes_offer_which_name_it_is_said_to_be_so(screen):
    find, recipes = screen.find, screen.state.catalog.recipes
    named = {h for entry in recipes.values() for h in entry.recipe.meta.hardware}
    for board in (value for _, value in find.filters["fits"].options[2:]):
        assert board in named or not screen.state.catalog.hardware[board].restricted
    find.filters["fits"].value = "rtx_4090_2x"
    assert find.list.options == ()
    assert "Only recipes that name this hardware count here" in find.count.value
    find.filters["fits"].value = "rtx_5090"
    for _, recipe_id in find.list.options:
        assert "rtx_5090" in recipes[recipe_id].recipe.meta.hardware


def test_the_list_has_the_order_that_was_chosen(screen):
    recipes = screen.state.catalog.recipes

    def shown(order):
        screen.find.filters["order"].value = order
        return [recipes[recipe_id] for _, recipe_id in screen.find.list.options]

    days = [entry.recipe.meta.date_updated for entry in shown("updated")]
    assert days == sorted(days, reverse=True)
    assert "recently updated first" in screen.find.count.value
    providers = [entry.recipe.meta.provider.casefold() for entry in shown("provider")]
    assert providers == sorted(providers)
    assert len(providers) == len(recipes)


def test_own_gpus_are_entered_in_the_search_or_beside_and_count_as_they_are(screen):
    find = screen.find
    find.filters["fits"].value = OWN
    assert "rx-hidden" not in find.own._dom_classes
    assert "say which GPUs you have" in find.count.value
    find.own.value = "1xRTX 4090"
    small = {recipe_id for _, recipe_id in find.list.options}
    assert "on 1xRTX4090" in find.count.value
    assert V32 not in small
    assert '"hardware": "1xRTX4090"' in screen.page.values
    find.own.value = "8xA100-80GB"
    assert small < {recipe_id for _, recipe_id in find.list.options}
    assert "rx-hidden" in find.filters["count"]._dom_classes
    one = {recipe_id for _, recipe_id in find.list.options}
    screen.state.keep_nodes(2)
    find.refresh()
    assert one < {recipe_id for _, recipe_id in find.list.options}
    assert "on 8xA100-80GB on 2 nodes" in find.count.value
    find.own.value = "8xNoSuchCard"
    assert "NoSuchCard" in screen.notices.value


def test_this_machine_is_asked_once_for_all_keystrokes(catalog, tmp_path, monkeypatch):
    calls = tmp_path / "calls"
    tool = tmp_path / "rocm-smi"
    card = '{"Card Series": "AMD Instinct MI300X", "VRAM Total Memory (B)": "206141652992"}'
    tool.write_text(f"#!/bin/sh\necho x >> {calls}\necho '{{\"card0\": {card}}}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    find = Explorer(catalog, f"model={V32}").find
    find.filters["fits"].value = MACHINE
    for text in ("g", "gp", "gpt"):
        find.text.value = text
    assert calls.read_text() == "x\n"
    assert "rocm-smi: 1× MI300X" in find.count.value
    assert find.list.options


def test_filters_leave_what_fits_on_ones_own_gpus(screen):
    screen.find.filters["fits"].value = "h100"
    screen.find.filters["count"].value = 1
    few = {recipe_id for _, recipe_id in screen.find.list.options}
    screen.find.filters["count"].value = 8
    more = {recipe_id for _, recipe_id in screen.find.list.options}
    assert few < more
    assert V32 not in more
    for recipe_id in few:
        recipe = screen.state.catalog.recipes[recipe_id].recipe
        assert min(v.vram_minimum_gb for v in recipe.variants.values()) <= 80


def test_a_workstation_has_its_own_gpus_and_no_more(screen):
    find, hardware = screen.find, screen.state.catalog.hardware
    assert not hardware["rtx_pro_6000_2x"].scalable
    find.filters["fits"].value = "rtx_pro_6000_2x"
    assert "rx-hidden" in find.filters["count"]._dom_classes
    two = {recipe_id for _, recipe_id in find.list.options}
    find.filters["count"].value = 64
    assert {recipe_id for _, recipe_id in find.list.options} == two
    room = hardware["rtx_pro_6000_2x"].vram_gb
    for recipe_id in two:
        recipe = screen.state.catalog.recipes[recipe_id].recipe
        assert min(v.vram_minimum_gb for v in recipe.variants.values()) <= room
    find.filters["fits"].value = "h200"
    assert "rx-hidden" not in find.filters["count"]._dom_classes


def test_downloads_hold_every_process(screen):
    screen.state.ask(strategy="pd_cluster")
    deployment = screen.state.deployment
    files = script_files(deployment)
    assert [name for name in files if name[0].isdigit()] == [
        f"{n:02d}-{p.name}.sh" for n, p in enumerate(deployment.processes, 1)
    ]
    sent = []
    screen.page.send = lambda message, buffers=None: sent.append((message, buffers))
    screen._asked(None, {"kind": "zip"}, None)
    assert sent[0][0]["name"].endswith(".zip")
    assert sent[0][1][0].startswith(b"PK")
    screen._asked(None, {"kind": "script", "id": "../../etc/passwd"}, None)
    screen._asked(None, {"kind": "script", "id": "decode"}, None)
    assert sent[-1][0]["name"] == "decode.sh"
    screen._asked(None, "nonsense", None)
    assert len(sent) == 2


def test_a_fault_in_a_handler_is_shown_and_the_screen_stays(screen, monkeypatch, caplog):
    monkeypatch.setattr(
        "recipes_core.explorer.state.configure", lambda *_: (_ for _ in ()).throw(KeyError("boom"))
    )
    before = shell(screen)["text"]
    axis(screen, "hardware").value = "h200"
    assert "Something went wrong inside" in screen.notices.value
    assert "boom" in caplog.text
    assert shell(screen)["text"] == before


def test_a_panel_that_cannot_be_built_takes_nothing_else_with_it(catalog, monkeypatch):
    monkeypatch.setattr(WhyPanel, "__init__", lambda *_: 1 / 0)
    screen = Explorer(catalog, f"model={V32}&hardware=b200&tab=why")
    assert "ZeroDivisionError" in screen.notices.value
    axis(screen, "hardware").value = "h200"
    assert "H200" in screen.status.value
    screen.details.tabs.value = "guide"
    assert "guide" in screen.details.built


def test_the_tuning_axes_are_built_once(screen):
    screen.axes.toggle_more()
    count = len(widgets)
    assert "rx-open" in screen.axes.more._dom_classes
    axis(screen, "advanced_0").value = "\0on"
    assert screen.state.selection.advanced
    screen.axes.toggle_more()
    screen.axes.toggle_more()
    assert len(widgets) == count


def test_hostile_text_of_a_catalog_stays_text(tmp_path, shared):
    evil = "<img src=x onerror=alert(1)>$(touch pwned)"
    folder = tmp_path / "models" / "evil"
    folder.mkdir(parents=True)
    (folder / "model.yaml").write_text(
        f"""
meta:
  title: "{evil}"
  provider: "{evil}"
  description: "{evil}"
  tasks: [text]
  links: {{"{evil}": "javascript:alert(1)"}}
model:
  model_id: evil/model
  min_vllm_version: 0.20.0
  architecture: dense
  parameter_count: "{evil}"
  base_args: ["--served-model-name", "{evil}"]
variants:
  default: {{precision: bf16, vram_minimum_gb: 1, label: "{evil}", description: "{evil}"}}
features:
  tool: {{label: "{evil}", description: "{evil}", args: ["--x", "{evil}"]}}
compatible_strategies: [single_node_tp]
notes:
  - {{title: "{evil}", body: "{evil}"}}
guide: |
  # {evil}

  [a](javascript:alert(1)) {evil}
"""
    )
    catalog = load_catalog(shared / "upstream", tmp_path)
    for name in PANELS:
        opened = Explorer(catalog, f"model=evil/model&tab={name}")
        opened.state.compare_current()
        opened.state.ask(nodes=2)
        opened.state.compare_current()
        pieces = [w.value for w in widgets.values() if type(w).__name__ == "HTML"]
        text = "".join(map(str, pieces)).lower()
        assert "<img" not in text
        assert 'href="javascript' not in text
    assert "'<img src=x onerror=alert(1)>$(touch pwned)'" in shell(opened)["text"]


def test_visibility_is_a_class_alone(screen):
    visible(screen.notices, on=False)
    visible(screen.notices, on=False)
    assert screen.notices._dom_classes.count("rx-hidden") == 1
    visible(screen.notices, on=True)
    assert "rx-hidden" not in screen.notices._dom_classes


def test_nothing_is_marked_where_nothing_changed(screen):
    steps = steps_of(screen.state.deployment)
    mark_changes(steps_of(screen.state.deployment), steps)
    assert not any(block.get("changed") for step in steps for block in step["blocks"])


def test_own_hardware_stays_among_the_options(screen):
    screen.state.choose("openai/gpt-oss-120b")
    screen.state.ask(hardware=screen.state.keep_hardware("8xA100-80GB"), gpus=None)
    axis(screen, "hardware").value = "h200"
    texts = {value: text for text, value in axis(screen, "hardware").options}
    assert texts["8xA100-80GB"].endswith("8× 80 GB · yours")
    axis(screen, "hardware").value = "8xA100-80GB"
    assert screen.state.configuration.profile.display_name.startswith("A100")
    screen.state.choose(V32)
    texts = {value: text for text, value in axis(screen, "hardware").options}
    assert texts["8xA100-80GB"].startswith("✗")
    assert "needs 805 GB" in texts["8xA100-80GB"]


def test_nodes_entered_beside_own_hardware_are_taken_where_a_model_needs_them(screen):
    screen.details.tabs.value = "yours"
    yours = screen.details.built["yours"]
    yours._own("hardware", "8xA100-80GB")
    assert screen.state.configuration.hardware == "b200"
    yours._own("nodes", "3")
    assert screen.state.configuration.nodes == 3
    axis(screen, "hardware").value = "h200"
    texts = {value: text for text, value in axis(screen, "hardware").options}
    assert texts["8xA100-80GB"].endswith("· yours")
    axis(screen, "nodes").value = 1
    axis(screen, "hardware").value = "8xA100-80GB"
    assert screen.state.configuration.hardware == "8xA100-80GB"
    assert screen.state.configuration.nodes == 2
    nodes = next(field for field in yours.hardware.fields if field["name"] == "nodes")
    assert nodes["value"] == "3"
    yours._own("nodes", "")
    assert "needs 805 GB" in screen.notices.value, "what is shown takes two"
    screen.state.choose("openai/gpt-oss-120b")
    yours._own("nodes", "")
    assert screen.state.kept.nodes is None


def test_gpus_that_the_engine_leaves_free_are_said(catalog):
    screen = Explorer(catalog, "model=zai-org/glm-4-9b-hf&hardware=h200")
    assert screen.page.hints["gpus"] == "The engine takes 1; 7 stay free."


def test_what_a_choice_met_with_is_said_also_where_its_notice_is_out_of_sight(screen):
    assert screen.page.told == ""
    screen.state.ask(variant="nvfp4")
    axis(screen, "hardware").value = "h100"
    assert screen.page.told == "Hardware h100: NVFP4 needs NVIDIA Blackwell"
    screen.state.ask(hardware="b200")
    assert screen.page.told == ""


def test_the_same_refusal_twice_in_a_row_is_told_twice(screen):
    told = []
    screen.page.observe(lambda change: told.append(change["new"]), "told")
    screen.state.ask(variant="nvfp4")
    for _ in range(2):
        axis(screen, "hardware").value = "h100"
    screen.details.tabs.value = "yours"
    yours = screen.details.built["yours"]
    for _ in range(2):
        yours.server.on_field("port", "99999999")
    refusals = [text for text in told if text]
    assert len(refusals) == 4
    assert refusals[0] == refusals[1]
    assert refusals[2] == refusals[3]
    assert "port: " in refusals[2]


def test_what_stood_in_the_way_of_a_value_goes_when_a_good_one_comes(screen):
    screen.details.tabs.value = "yours"
    values = screen.details.built["yours"].values
    values.on_field("hf_token_var", "no name")
    assert "not the name of a variable" in screen.notices.value
    values.on_field("hf_token_var", "HF_TOKEN")
    assert screen.notices.value == ""
    assert screen.page.told == ""


def test_every_preset_has_a_text_of_its_own():
    ours = load_catalog()
    for entry in ours.recipes.values():
        if entry.recipe.presets:
            shown = Explorer(ours, f"model={entry.id}")
            texts = [text for text, _ in axis(shown, "preset").options]
            assert len(set(texts)) == len(texts), entry.id


def test_own_gpus_of_several_nodes_run_what_one_node_cannot(screen):
    screen.details.tabs.value = "yours"
    yours = screen.details.built["yours"]
    yours.hardware.on_field("hardware", "8xA100-80GB")
    assert screen.state.configuration.hardware == "b200"
    assert "needs 805 GB" in screen.notices.value
    yours.hardware.on_field("nodes", "many")
    assert "nodes: " in screen.state.problem
    yours.hardware.on_field("nodes", "2")
    config = screen.state.configuration
    assert (config.hardware, config.nodes) == ("8xA100-80GB", 2)
    assert not screen.state.notices
    assert [field["value"] for field in yours.hardware.fields] == ["8xA100-80GB", "2"]
    yours.hardware.on_field("hardware", "")
    assert screen.state.configuration.hardware in screen.state.catalog.hardware
    assert yours.hardware.fields[0]["value"] == ""
