"""Why: what each flag and variable does and where it is from, the layout's sum, the equations."""

from __future__ import annotations

import math
import re

import pytest

from recipes_core import configure, deploy, load_catalog
from recipes_core.explorer.panels.why import effect_of, layout_equation, why_html
from recipes_core.explorer.view import Explorer
from recipes_core.explorer.widgets import escape
from recipes_core.flags import parse_args
from recipes_core.options import options_of
from recipes_core.vllm_cli.variables import VARIABLES

V32 = "deepseek-ai/DeepSeek-V3.2"


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def test_the_layouts_sum_is_right_for_every_strategy_of_every_recipe(catalog):
    checked = 0
    for entry in catalog.recipes.values():
        for option in options_of(configure(catalog, entry))["strategy"]:
            if not option.enabled:
                continue
            for pool in deploy(configure(catalog, entry, f"strategy={option.id}")).layouts:
                sums = layout_equation(pool).partition(";")[0].split(" = ")
                totals = {math.prod(map(int, re.findall(r"\d+", part)) or [1]) for part in sums}
                assert totals == {pool.gpus}, (entry.id, option.id, sums)
                checked += 1
    assert checked > 100


def test_a_flag_that_is_switched_off_says_so():
    (flag,) = parse_args(["--no-enable-prefix-caching"])
    assert effect_of(flag).startswith("Switched off: ")
    assert effect_of(flag).endswith(effect_of(parse_args(["--enable-prefix-caching"])[0]))


def test_variables_have_words_and_processes_their_titles(catalog):
    query = "hardware=h200&strategy=pd_cluster&prefill_nodes=2&decode_nodes=2"
    html = why_html(deploy(configure(catalog, V32, query)))
    assert escape(VARIABLES["NCCL_SOCKET_IFNAME"]) in html
    assert "Prefill node 1 of 2" in html
    assert "Address of a server that reads prompts." in html
    assert "Layout: tensor parallel 16 = 16 GPUs = 2 nodes × 8 GPUs" in html


def test_what_was_adjusted_and_the_equations_stand_beside_the_flags(catalog):
    query = f"model={V32}&hardware=b200&strategy=nonsense&tab=why"
    shown = Explorer(catalog, query).details.built["why"].table.value
    assert "What was adjusted" in shown
    assert "nonsense" in shown
    assert "KV cache   = share − weights" in shown
    plain = Explorer(catalog, f"model={V32}&hardware=b200&tab=why").details.built["why"]
    assert "nonsense" not in plain.table.value


def test_every_sentence_ends():
    assert all(text.endswith(".") for text in VARIABLES.values())
