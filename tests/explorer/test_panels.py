"""What the panels say: figures with their origin, answers, a log's verdict, exports."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest

from recipes_core import configure, deploy, load_catalog, script
from recipes_core.errors import RecipesError, RenderRefusedError
from recipes_core.explorer import explorer
from recipes_core.explorer.frontend import LONGEST
from recipes_core.explorer.panels.compare import frame_snippet
from recipes_core.explorer.panels.dials import (
    DIALS,
    dial_field,
    dials_of,
    read_dial,
    undialled,
)
from recipes_core.explorer.panels.figures import whole_flags
from recipes_core.explorer.panels.fit import answers_of, frontier_html, matrix_html
from recipes_core.explorer.panels.memory import (
    declared_html,
    equations_html,
    figures_html,
    verdict_html,
    verdict_text,
)
from recipes_core.explorer.panels.pasted_log import log_html
from recipes_core.explorer.panels.share import FORMS
from recipes_core.explorer.state import ExplorerState
from recipes_core.explorer.view import Explorer
from recipes_core.render.comparison import compare
from recipes_core.selection import Selection
from recipes_core.sizing import size
from recipes_core.sizing.answers import fewest_gpus, longest_context, most_users
from recipes_core.sizing.configuration import size_configuration
from recipes_core.sizing.recipe_matrix import recipe_cells

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
        shown = dial_field(dial, state.selection, {})
        assert shown["value"] == stop
        assert stop in {value for _, value in shown.get("stops", shown.get("options"))}
        assert not [n for n in state.notices if n.axis == name]


def _field(state, name):
    config = state.configuration
    engine = state.deployment.processes[0]
    written = {flag.name: " ".join(flag.values) for flag, _ in engine.flags}
    dial = next(d for d in dials_of(config, undialled(config)) if d.name == name)
    return dial_field(dial, config.selection, written)


def test_a_slider_stands_at_the_figure_that_holds_before_it_is_moved(state):
    native = state.tightest.max_model_len
    field = _field(state, "max_model_len")
    at = [value for _, value in field["stops"]].index("")
    assert field["stops"][at][0] == f"{native:,} tokens"
    numbers = [int(text.split()[0].replace(",", "")) for text, _ in field["stops"]]
    assert numbers == sorted(set(numbers))
    state.ask(max_model_len=65536)
    moved = _field(state, "max_model_len")
    assert [f"{native:,} tokens", ""] in moved["stops"], "the way back keeps its figure"
    assert moved["value"] == "65536"


def test_a_dial_says_what_it_does_to_the_command(state):
    assert "a choice adds --max-num-seqs" in _field(state, "max_num_seqs")["hint"]
    state.ask(max_num_seqs=64)
    assert _field(state, "max_num_seqs")["hint"] == "--max-num-seqs 64, your choice"
    command = script(state.deployment.processes[0])
    assert "--max-num-seqs 64" in command


def test_data_parallel_ranks_are_counted_together(state):
    state.ask(strategy="single_node_dep")
    sized = state.tightest
    assert sized.caches == 8
    _, text = verdict_text(sized)
    assert f"{sized.kv_tokens * 8:,} together" in text
    assert f"{sized.max_concurrency * 8:,.2f} requests" in text
    rows = dict(answers_of(state.configuration, sized, 32, 8192))
    most = most_users(sized, 8192)
    answer = next(v for k, v in rows.items() if k.startswith("Most requests of 8,192"))
    assert answer.startswith(f"{most * 8:,} requests, {most:,} on each of 8")
    assert f">{most * 8:,}</text>" in frontier_html(sized)


def test_more_requests_than_are_let_in_are_answered_for_that_many(state):
    state.ask(max_num_seqs=4)
    sized = state.tightest
    rows = dict(answers_of(state.configuration, sized, 32, 8192))
    assert rows["Most requests of 8,192 tokens at once"] == (
        "4 requests: --max-num-seqs 4 is the limit, not the cache"
    )
    args = replace(sized.settings.args, max_num_seqs=32)
    let_in = size(sized.settings.arch, sized.gpu, args, vllm=sized.vllm)
    longest = rows["Longest context for 32 requests at once, with --max-num-seqs 32"]
    assert longest == f"{longest_context(let_in, 32):,} tokens"
    fewest = next(v for k, v in rows.items() if k.startswith("Fewest"))
    assert fewest.split()[0].isdigit()
    assert ", with --max-num-seqs 32; searched every TP" in fewest


def test_the_fewest_gpus_are_asked_for_all_ranks_together(state):
    state.ask(strategy="single_node_dep")
    sized = state.tightest
    rows = dict(answers_of(state.configuration, sized, 4000, 8192))
    args = sized.settings.args
    found = fewest_gpus(
        sized.settings.arch, sized.gpu, args, users=4000, length=8192, vllm=sized.vllm
    )
    fewest = next(v for k, v in rows.items() if k.startswith("Fewest"))
    assert fewest.startswith(f"{found.settings.args.gpus} GPUs (TP=")


def test_the_fewest_gpus_are_those_of_one_node_where_none_can_be_added(state):
    state.ask(hardware="h200", strategy="single_node_tp")
    assert "then TP over whole nodes" in _fewest_row(state)
    state.keep_hardware("8xH20-141GB")
    state.ask(hardware=state.kept.hardware)
    assert "searched every TP in one node of 8: 1 to 8 GPUs" in _fewest_row(state)


def _fewest_row(state):
    rows = answers_of(state.configuration, state.tightest, 4, 8192)
    return next(answer for question, answer in rows if question.startswith("Fewest"))


def test_each_cell_of_the_matrix_is_what_the_core_computes(catalog, state):
    html = matrix_html(state.configuration)
    cells = [cell.sizing for cell in recipe_cells(catalog, V32) if cell.sizing is not None]
    assert len(cells) > 10
    for sized in cells:
        assert f"{sized.weights / (1 << 30):,.2f} GiB of weights per GPU, computed" in html
        assert f"{sized.kv_tokens * sized.caches:,} tokens" in html


def test_each_figure_says_where_it_is_from(state):
    html = figures_html(state.configuration, state.tightest)
    assert html.count(">computed</span>") >= len(state.tightest.per_gpu)
    assert "GB as sold" not in html, "a B200 was read"
    state.ask(hardware="b300")
    assert not state.tightest.gpu.measured
    html = figures_html(state.configuration, state.tightest)
    assert "268 GB as sold" in html
    assert "as its driver reports it" not in html


def test_a_variant_that_cannot_run_here_is_not_said_to_fit(state):
    state.ask(hardware="h200")
    row = declared_html(state.configuration).split("NVFP4", 1)[1]
    assert "needs NVIDIA Blackwell" in row
    assert "fits on" not in row


def test_a_cache_given_in_bytes_is_not_derived_from_the_share(state):
    sized = state.tightest
    args = replace(sized.settings.args, kv_cache_bytes=30 << 30)
    given = size(sized.settings.arch, sized.gpu, args, vllm=sized.vllm)
    text = equations_html(given)
    assert "30.00 GiB, given by --kv-cache-memory-bytes" in text
    assert "share − weights" not in text
    assert "declared" in figures_html(state.configuration, given)


def test_what_is_declared_only_is_set_against_what_is_there(state):
    html = verdict_html(state.deployment, None)
    assert f"{state.configuration.memory_needed_gb:,.0f} GB" in html
    assert "declared" in html


def test_facts_that_come_with_the_package_serve_every_catalog(shared):
    theirs = load_catalog(shared / "upstream", only=[V32])
    config = configure(theirs, V32, "hardware=h200")
    sized = size_configuration(config, deploy(config))
    assert sized.basis == "computed"


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
    assert most == f"{int(state.tightest.max_concurrency)} requests"


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


def test_a_log_that_is_too_long_says_how_much_of_it_was_read(catalog):
    screen = Explorer(catalog, f"model={V32}&hardware=b200&tab=fit")
    fit = screen.details.built["fit"]
    line = "Model loading took 99.00 GiB memory and 5 seconds\n"

    def paste(text, **more):
        message = {"kind": "field", "name": "log", "value": text, **more}
        fit.paste._receive(None, message, None)
        return fit.compared.value

    assert "characters were read" not in paste(line)
    told = paste(line.ljust(LONGEST, "x"), length=3_000_000)
    assert "Only the first 262,144 of 3,000,000 characters were read." in told
    assert "99.00 GiB" in told
    told = paste(f"{line}{'x' * LONGEST}")
    assert f"Only the first 262,144 of {LONGEST + len(line):,} characters" in told
    assert len(fit.log) == LONGEST
    assert "characters were read" not in paste("")


def test_a_log_of_another_engine_says_so_and_turns_the_dials(state):
    log = """Initializing a V1 LLM engine (v0.31.0) with config: model='x/<b>', max_seq_len=10000
Model loading took 79.74 GiB and 31.1 seconds
GPU KV cache size: 653,808 tokens
Maximum concurrency for 10,000 tokens per request: 65.38x
"""
    html = log_html(state.tightest, log)
    assert "max model len 10,000 (here 163,840)" in html
    assert "ours for 163,840" in html
    assert "653,808 tokens" in html
    assert "<b>" not in html
    wish = html.split('data-rx-value="')[1].split('"')[0].replace("&amp;", "&")
    state.ask(**Selection.from_query(wish).asked())
    assert state.tightest.max_model_len == 10_000
    assert state.tightest.vllm == "0.31.0"


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


def test_a_comparison_has_what_differs_and_makes_a_table_of_it(catalog):
    configs = [configure(catalog, V32, query) for query in ASKED]
    found = compare([(config, deploy(config)) for config in configs])
    rows = {row.label: row for row in found.rows}
    assert rows["Hardware"].cells == ("NVIDIA H200", "NVIDIA H200", "NVIDIA B200")
    assert rows["--data-parallel-size"].cells == ("–", "8", "–")
    assert not rows["Model"].differs
    few = found.only_differences()
    assert "Model" not in {row.label for row in few.rows}
    lines = few.to_markdown().split("\n\n")[0].splitlines()
    assert len({line.count(" | ") for line in lines[:1] + lines[2:]}) == 1


def test_tensor_parallel_against_data_parallel_compares_all_caches(catalog):
    configs = [configure(catalog, V32, query) for query in ASKED[:2]]
    found = compare([(config, deploy(config)) for config in configs])
    rows = {row.label: row.cells for row in found.rows}
    sized = [size_configuration(config, deploy(config)) for config in configs]
    tokens = rows["KV cache, all together"]
    assert tokens[0].startswith(f"{sized[0].kv_tokens:,} tokens")
    assert tokens[1].startswith(f"{sized[1].kv_tokens * 8:,} tokens in 8 caches")
    assert len(set(found.names)) == 2, "columns are told apart"
    assert "Data + Expert Parallel" in found.names[1]


def test_pools_that_differ_are_each_named_in_a_comparison(catalog):
    config = configure(catalog, V32, "hardware=h200&strategy=pd_cluster")
    found = compare([(config, deploy(config))])
    rows = {row.label: row.cells[0] for row in found.rows}
    assert rows["Nodes"] == "2"
    assert rows["--port"] == "prefill: 8001; decode: 8002"
    assert {row.label for row in found.rows if row.group == "command"} == {"prefill", "decode"}


def test_the_commands_of_a_comparison_are_those_of_the_card(catalog):
    deployments = [deploy(configure(catalog, V32, query)) for query in ASKED]
    found = compare([(d.configuration, d) for d in deployments])
    row = next(row for row in found.rows if row.group == "command")
    assert list(row.cells) == [script(d.processes[0]) for d in deployments]
    assert all(cell in found.to_markdown() for cell in row.cells)


def test_a_fifth_is_refused_with_a_reason_from_button_and_link(catalog):
    four = ";".join(f"{V32}?hardware={h}" for h in ("h200", "b200", "b300", "h100"))
    screen = Explorer(catalog, f"model={V32}&hardware=mi300x&tab=compare&compare={quote(four)}")
    state, panel = screen.state, screen.details.built["compare"]
    assert "4 of 4 kept" in panel.count.value
    panel.add.click()
    assert "remove one first" in state.problem
    assert len(state.compared) == 4
    screen.page.handlers["recall"]("1")
    assert state.configuration.hardware == "b200"
    screen.page.handlers["drop"]("0")
    assert state.problem == ""
    assert "3 of 4 kept" in panel.count.value
    panel.add.click()
    assert "already" in state.problem
    five = f"{four};openai/gpt-oss-120b?hardware=h100"
    linked = Explorer(catalog, f"model={V32}&compare={quote(five)}").state
    assert len(linked.compared) == 4
    assert "openai/gpt-oss-120b" in linked.problem


def test_the_python_of_a_comparison_makes_the_same_table(catalog):
    state = ExplorerState(catalog)
    listed = quote(";".join(f"{V32}?{query}" for query in ASKED))
    state.open_query(f"model={V32}&compare={listed}")
    names = {}
    exec(compile(frame_snippet(state), "snippet", "exec"), names)
    expected = compare(state.compared_configurations())
    assert list(names["frame"].columns) == list(expected.names)
    assert len(names["frame"]) == len(expected.rows)


def test_a_catalog_that_cannot_be_read_leaves_a_notice(tmp_path):
    shown = explorer(tmp_path / "nowhere")
    assert shown.screen is None
    notice = shown.frame.root.children[-1]
    assert 'role="alert"' in notice.value
    assert "no such folder" in notice.value


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


def test_a_flag_in_a_sentence_is_not_broken_after_its_dashes():
    text = whole_flags("<b> a well--known --max-num-seqs 4, held above --gpu-memory-utilization")
    assert text == (
        '&lt;b&gt; a well--known <span class="rx-whole">--max-num-seqs</span> 4, held above'
        ' <span class="rx-whole">--gpu-memory-utilization</span>'
    )


@pytest.mark.parametrize(
    "recipe", ["Qwen/Qwen-Image", "Wan-AI/Wan2.2-T2V-A14B-Diffusers", "fishaudio/s2-pro"]
)
def test_what_is_no_language_model_engine_is_offered_none_of_its_flags(recipe):
    catalog = load_catalog(only=[recipe])
    state = ExplorerState(catalog)
    state.open_query(f"model={recipe}&hardware=h200")
    assert [dial.name for dial in dials_of(state.configuration, state.tightest)] == ["vllm"]
    state.ask(max_model_len="65536")
    names = [dial.name for dial in dials_of(state.configuration, state.tightest)]
    assert names == ["max_model_len", "vllm"], "what a link brought can be put back"
