"""``recipes batch``: order, errors, a caller that waits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from recipes_core.catalog.loader import load_catalog
from recipes_core.cli.batch import Batch, query_of

ERNIE = "baidu/ERNIE-4.5-VL-28B-A3B-PT"
ROWS = [
    {"recipe": ERNIE, "query": {"hardware": "h200"}},
    {"recipe": "no/such"},
    {"recipe": ERNIE.lower(), "query": "hardware=h100&features=none"},
    {"recipe": ERNIE, "query": {"features": [], "nodes": 1, "strategy": None}},
]


def lines(*rows: object) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_answers_every_row_in_order(recipes):
    done = recipes("batch", stdin=lines(*ROWS[:1]) + "\n{oops\n" + lines(*ROWS[1:])[:-1])
    read = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row.get("recipe") for row in read] == [ERNIE, None, "no/such", ERNIE, ERNIE]
    assert "line 3 is not JSON" in read[1]["error"]
    assert "no recipe 'no/such'" in read[2]["error"]
    assert all("error" not in read[place] for place in (0, 3, 4))
    assert read[3]["configuration"]["hardware"] == "h100"
    assert done.returncode == 1


def test_all_good_rows_are_exit_code_0_and_strict_counts_adjustments(recipes):
    good = lines(ROWS[0])
    assert recipes("batch", stdin=good).returncode == 0
    assert recipes("batch", "--strict", stdin=good).returncode == 0
    odd = lines({"recipe": ERNIE, "query": {"hardware": "nosuch"}})
    done = recipes("batch", "--strict", stdin=odd)
    assert done.returncode == 2
    assert json.loads(done.stdout)["adjustments"][0]["axis"] == "hardware"
    assert recipes("batch", stdin="").returncode == 0


def test_a_row_equals_what_show_prints(recipes):
    shown = json.loads(recipes("show", ERNIE, "--hardware", "h200", "-f", "json").stdout)
    row = json.loads(recipes("batch", "--sizing", "--checks", stdin=lines(ROWS[0])).stdout)
    assert row == shown


def test_a_band_that_cannot_be_known_is_null(recipes):
    rows = lines(*({"recipe": name} for name in ("openai/gpt-oss-120b", ERNIE)))
    known, declared = map(json.loads, recipes("batch", "--sizing", stdin=rows).stdout.splitlines())
    assert len(known["sizing"]["band"]["kv_cache"]) == 2
    assert declared["sizing"]["basis"] == "declared"
    assert declared["sizing"]["band"]["kv_cache"] is None


def test_a_caller_may_wait_for_each_answer():
    process = subprocess.Popen(
        [sys.executable, "-m", "recipes_core.cli", "batch"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for hardware in ("h100", "b200"):
            process.stdin.write(lines({"recipe": ERNIE, "query": {"hardware": hardware}}))
            process.stdin.flush()
            row = json.loads(process.stdout.readline())
            assert row["configuration"]["hardware"] == hardware
        process.stdin.close()
        assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        (None, ""),
        ("a=b", "a=b"),
        ({"features": ["x", "y"]}, [("features", "x,y")]),
        ({"features": []}, [("features", "none")]),
        ({"fmode": {"spec_decoding": "mtp"}}, [("fmode", "spec_decoding:mtp")]),
        ({"nodes": 2, "hardware": None}, [("nodes", "2")]),
    ],
)
def test_queries_of_any_shape(query, pairs):
    assert query_of(query) == pairs


@pytest.mark.parametrize(
    "row", [[], "x", 1, None, {}, {"recipe": 1}, {"recipe": ERNIE, "query": [1]},
            {"recipe": ERNIE, "placeholders": {"a b": "c"}}, {"recipe": ERNIE, "placeholders": 1}],
)  # fmt: skip
def test_no_row_stops_the_others(row):
    batch = Batch(load_catalog())
    answer = json.loads(batch.answer(json.dumps(row).encode()))
    assert answer["error"]
    assert batch.failed == 1
