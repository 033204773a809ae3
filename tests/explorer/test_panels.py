"""What the panels say: figures with their origin, answers, a log's verdict, exports."""

from __future__ import annotations

import pytest

from recipes_core import configure, deploy, load_catalog, script
from recipes_core.errors import RecipesError, RenderRefusedError
from recipes_core.explorer import explorer
from recipes_core.explorer.panels.fit import answers_of, frontier_html, log_html
from recipes_core.explorer.panels.memory import (
    DIALS,
    dial_field,
    dials_of,
    equations_html,
    read_dial,
    verdict_text,
)
from recipes_core.explorer.panels.share import FORMS, snippet
from recipes_core.explorer.state import ExplorerState
from recipes_core.explorer.view import Explorer
from recipes_core.render.comparison import compare

V32 = "deepseek-ai/DeepSeek-V3.2"
ASKED = ("hardware=h200", "hardware=h200&strategy=single_node_dep", "hardware=b200")


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(only=[V32, "openai/gpt-oss-120b"])


@pytest.fixture
def state(catalog):
    made = ExplorerState(catalog)
    made.open_query(f"model={V32}&hardware=b200")
    return made


def test_the_verdict_has_numbers_and_units(state):
    kind, text = verdict_text(state.tightest)
    assert kind == "rx-yes"
    assert f"{state.tightest.kv_tokens:,} tokens" in text


def test_the_equations_add_up(state):
    sized = state.tightest
    whole = sized.weights + sized.activation + sized.non_torch + sized.graphs + sized.available
    assert abs(whole - sized.requested) <= 1 << 20
    assert f"{sized.kv_bytes_per_token:,} bytes" in equations_html(sized)


@pytest.mark.parametrize("name", DIALS)
def test_each_stop_of_each_dial_can_be_asked_and_is_shown_again(state, name):
    dial = next(d for d in dials_of(state.configuration, state.tightest) if d.name == name)
    for stop in (dial.stops[0], dial.stops[-1], ""):
        state.ask(**read_dial(name, stop))
        shown = dial_field(dial, state.selection)
        assert shown["value"] == stop
        assert stop in {value for _, value in shown.get("stops", shown.get("options"))}
        assert not [n for n in state.notices if n.axis == name]


def test_a_dial_changes_command_and_memory_alike(state):
    before = state.tightest.kv_tokens
    state.ask(**read_dial("gpu_memory_utilization", "0.80"))
    assert "--gpu-memory-utilization" in state.deployment.processes[0].argv
    assert state.tightest.kv_tokens < before


def test_what_is_no_value_of_a_dial_is_refused():
    with pytest.raises(RecipesError, match="not a share"):
        read_dial("gpu_memory_utilization", "7")


def test_the_answers_agree_with_the_figures(state):
    rows = dict(answers_of(state.configuration, state.tightest, 6, state.tightest.max_model_len))
    most = next(v for k, v in rows.items() if k.startswith("Most requests"))
    assert most == str(int(state.tightest.max_concurrency))


def test_the_frontier_falls_with_the_length(state):
    html = frontier_html(state.tightest)
    assert "<svg" in html
    assert 'role="img"' in html


def test_a_log_is_judged_figure_by_figure(state):
    weights = state.tightest.weights / (1 << 30)
    html = log_html(state.tightest, f"Model loading took {weights:.2f} GiB memory and 5 seconds\n")
    assert "equal" in html
    html = log_html(state.tightest, "Model loading took 99.00 GiB memory and 5 seconds\n")
    assert "apart" in html
    assert "No line about memory" in log_html(state.tightest, "<b>nothing</b>")


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_can_be_exported_or_says_why_not(state, form):
    for query in ("hardware=h200", "hardware=h200&strategy=pd_cluster"):
        config = configure(state.catalog, V32, query)
        try:
            text = FORMS[form][2](config, deploy(config))
        except RenderRefusedError:
            assert "pd_cluster" in query, "one node can be had in every form"
        else:
            assert V32 in text


def test_the_snippet_makes_the_same_commands(state, capsys):
    state.ask(strategy="single_node_dep")
    exec(compile(snippet(state.configuration), "snippet", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.strip() == script(state.deployment.processes[0]).strip()


def test_a_comparison_has_what_differs_and_makes_a_table_of_it(catalog):
    configs = [configure(catalog, V32, query) for query in ASKED]
    found = compare([(config, deploy(config)) for config in configs])
    rows = {row.label: row for row in found.rows}
    assert rows["Hardware"].cells == ("NVIDIA H200", "NVIDIA H200", "NVIDIA B200")
    assert rows["--data-parallel-size"].cells == ("–", "8", "–")
    assert not rows["Model"].differs
    few = found.only_differences()
    assert "Model" not in {row.label for row in few.rows}
    lines = few.to_markdown().splitlines()
    assert len({line.count(" | ") for line in lines[:1] + lines[2:]}) == 1


def test_a_catalog_that_cannot_be_read_leaves_a_notice(tmp_path):
    shown = explorer(tmp_path / "nowhere")
    assert 'role="alert"' in shown.value
    assert "no such folder" in shown.value


def test_an_empty_catalog_is_said(shared, tmp_path):
    for part in ("strategies", "models"):
        (tmp_path / part).mkdir()
    (tmp_path / "taxonomy.yaml").write_text("hardware_profiles: {}\n")
    screen = Explorer(load_catalog(tmp_path), "model=a/b")
    assert "no recipes" in screen.notices.value
    assert screen.find.list.options == ()


def test_files_that_could_not_be_read_are_listed(shared, tmp_path):
    folder = tmp_path / "models" / "a"
    folder.mkdir(parents=True)
    (folder / "b.yaml").write_text("meta: [\n")
    broken = load_catalog(shared / "upstream", tmp_path, on_error="collect")
    screen = Explorer(broken, "")
    assert "1 file of this catalog could not be read" in screen.find.unread.value
