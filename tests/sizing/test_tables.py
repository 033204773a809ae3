"""Tables as DataFrames and as HTML."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.frames import (
    breakdown_frame,
    cells_frame,
    differences_frame,
    fit_frame,
    weights_frame,
)
from recipes_core.render.memory_tables import breakdown_html, fit_html, weights_html
from recipes_core.sizing import H100, H200, Declared, size, size_configuration
from recipes_core.sizing.engine_log import compare_log, parse_engine_log
from recipes_core.sizing.matrix import Cell, Entry, fit_matrix
from recipes_core.sizing.recipe_matrix import recipe_cells
from tests.sizing.rows import GIB, architecture
from tests.sizing.test_engine_log import PROFILE

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def cells(shared: Path) -> list[Cell]:
    llama = architecture(shared, "meta-llama/Llama-3.3-70B-Instruct")
    fp8 = architecture(shared, "RedHatAI/Llama-3.3-70B-Instruct-fp8-dynamic")
    rows = (("default", "bf16", llama), ("fp8", "fp8", fp8), (EVIL, "fp8", Declared(10**11, EVIL)))
    return fit_matrix(
        Entry(name, precision, gpu.id, checkpoint, gpu, ["m", "-tp", "1"])
        for name, precision, checkpoint in rows
        for gpu in (H100, H200)
    )


def test_breakdown_frame_adds_up(shared: Path) -> None:
    found = size(architecture(shared, "meta-llama/Llama-3.1-8B-Instruct"), H200)
    frame = breakdown_frame(found)
    share = frame.loc[["weights", "activation", "non_torch", "cuda_graphs", "kv_cache"], "gib"]
    assert share.sum() == pytest.approx(found.requested / GIB)
    assert frame["gib"].sum() == pytest.approx(H200.memory / GIB)
    assert frame.attrs["basis"] == "computed"


def test_fit_frame_keeps_the_order_and_unknown_is_na(cells: list[Cell]) -> None:
    frame = fit_frame(cells)
    assert list(frame.columns) == ["h100", "h200"]
    assert not frame.loc[("default", "bf16"), "h100"]
    assert frame.loc[("fp8", "fp8"), "h200"]
    assert frame.isna().loc[(EVIL, "fp8"), "h200"]
    assert weights_frame(cells).loc[("fp8", "fp8"), "h200"] == pytest.approx(67.8, abs=0.3)


def test_cells_frame_of_nothing() -> None:
    assert cells_frame([]).empty


def test_matrix_goes_on_after_an_error(shared: Path) -> None:
    arch = architecture(shared, "openai/gpt-oss-20b")
    found = fit_matrix(
        [
            Entry("a", "mxfp4", "h100", arch, H100, ["m", "--kv-cache-dtype", "fp9"]),
            Entry("b", "mxfp4", "h100", arch, H100, ["m"]),
        ]
    )
    assert "fp9" in found[0].error
    assert found[1].sizing.fits
    assert cells_frame(found)["problem"].iloc[0].startswith("--kv-cache-dtype")


def test_differences_frame(shared: Path) -> None:
    found = size(architecture(shared, "meta-llama/Llama-3.1-8B-Instruct"), H100)
    frame = differences_frame(compare_log(parse_engine_log(PROFILE), found))
    assert frame.loc["weights", "logged"] == pytest.approx(14.99)


class _Tables(HTMLParser):
    """Counts what a table must have."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(html: str) -> _Tables:
    parser = _Tables()
    parser.feed(html)
    return parser


def test_html_is_accessible_and_inert(cells: list[Cell], shared: Path) -> None:
    found = size(architecture(shared, "meta-llama/Llama-3.1-8B-Instruct"), H200)
    for html in (breakdown_html(found), weights_html(cells), fit_html(cells)):
        table = parsed(html)
        names = [name for name, _ in table.tags]
        assert names.count("caption") == 1
        assert "img" not in names
        assert all(attrs.get("scope") in ("col", "row") for n, attrs in table.tags if n == "th")
    assert "GiB" in parsed(weights_html(cells)).text
    assert "Does not fit" in parsed(fit_html(cells)).text
    assert "Whether it fits is not known" in parsed(fit_html(cells)).text


def test_sizing_brings_in_no_pandas() -> None:
    code = (
        "import sys; import recipes_core.sizing, recipes_core.sizing.matrix, "
        "recipes_core.sizing.command, recipes_core.sizing.answers, recipes_core.sizing.engine_log; "
        "heavy = {'pandas', 'ipywidgets', 'IPython', 'tornado', 'numpy'} & set(sys.modules); "
        "print(heavy); sys.exit(bool(heavy))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_matrix_of_a_recipe_of_the_catalog(ours: Catalog) -> None:
    recipe = "openai/gpt-oss-120b"
    cells = recipe_cells(ours, recipe, {"max_model_len": "8192", "hardware": "h100"})
    frame = fit_frame(cells)
    assert list(frame.columns) == list(dict.fromkeys(c.entry.hardware for c in cells))
    cell = next(c for c in cells if c.entry.hardware == "h200" and c.sizing is not None)
    config = configure(ours, recipe, "hardware=h200&max_model_len=8192")
    assert cell.sizing.per_gpu == size_configuration(config, deploy(config)).per_gpu
    assert cell.sizing.max_model_len == 8192
    again = fit_matrix([cell.entry], vllm=cell.sizing.vllm)
    assert again[0].sizing.per_gpu == cell.sizing.per_gpu
    assert "<caption>" in fit_html(cells)
    assert all(c.error for c in cells if c.sizing is None)
