"""What the explorer costs: a choice, an open, a kernel's memory, a page's bytes.

``pytest tests/benchmarks/test_explorer_bench.py`` measures and reports in ``extra_info``; with
``RECIPES_STRICT_BENCH=1``, on a machine that does nothing else, the limits are asserted too.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import urllib.request
from pathlib import Path

import pytest

from recipes_core import load_catalog
from recipes_core.explorer.view import Explorer
from tests.browser.conftest import (  # noqa: F401
    browser_type_launch_args,
    dashboard,
    serving,
    settled,
)
from tests.conftest import REPO, free_port

STRICT = bool(os.environ.get("RECIPES_STRICT_BENCH"))
V32 = "model=deepseek-ai/DeepSeek-V3.2"
CHOICES = 200
ROUNDS = 12
"""Of fewer, the median of an open moves by a quarter of a second on a shared machine."""
CHANGE = """async (count) => {
  const card = document.querySelector('.rx-command');
  const field = document.querySelector('.rx-axis-hardware select');
  // The two are told apart by their own text; the first is not the one that is chosen already.
  let wanted = ['NVIDIA H200', 'NVIDIA B200'].map((name) =>
    [...field.options].find((o) => o.text.replaceAll('\u00a0', ' ').includes(name)));
  if (wanted[0].selected) wanted = wanted.reverse();
  const times = [];
  for (let n = 0; n < count; n++) {
    const before = card.dataset.revision;
    const start = performance.now();
    field.value = wanted[n % 2].value;
    field.dispatchEvent(new Event('change', { bubbles: true }));
    await new Promise((done) => {
      const watch = new MutationObserver(() => {
        if (card.dataset.revision === before) return;
        watch.disconnect();
        times.push(performance.now() - start);
        done();
      });
      watch.observe(card, { attributes: true });
    });
    await new Promise((done) => setTimeout(done, 60));
  }
  return times;
}"""
ANY_CHANGE = """async (count) => {
  const card = document.querySelector('.rx-command');
  let seed = 7;
  const below = (n) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor(seed / 65536) % n;
  };
  const times = [];
  for (let n = 0; n < count; n++) {
    const fields = [...document.querySelectorAll('[class*="rx-axis-"] select')]
      .filter((field) => field.offsetParent && field.options.length > 1);
    const field = fields[below(fields.length)];
    const others = [...field.options].filter((o) => !o.selected && !o.disabled);
    const before = card.dataset.revision;
    const start = performance.now();
    field.value = others[below(others.length)].value;
    field.dispatchEvent(new Event('change', { bubbles: true }));
    times.push(await new Promise((done) => {
      const watch = new MutationObserver(() => {
        if (card.dataset.revision === before) return;
        watch.disconnect();
        done(performance.now() - start);
      });
      watch.observe(card, { attributes: true });
    }));
    await new Promise((done) => setTimeout(done, 100));
  }
  return times;
}"""
"""A choice on any axis, also one that cannot be had: a fixed draw, so that runs compare."""
LOADED = """() => {
  const page = performance.getEntriesByType('navigation')[0];
  return performance.getEntriesByType('resource').reduce((n, r) => n + r.decodedBodySize, 0)
    + page.decodedBodySize;
}"""


def limit(benchmark, name, value, most):
    """Report a figure, and hold it to its limit where the machine is ours alone."""
    benchmark.extra_info[name] = value
    if STRICT:
        assert value <= most, f"{name}: {value} > {most}"


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def test_a_choice_inside_the_kernel(benchmark, shared):
    screen = Explorer(load_catalog(shared / "upstream"), f"{V32}&hardware=b200")
    hardware = iter(["h200", "b200"] * 1_000_000)
    benchmark(lambda: screen.state.ask(hardware=next(hardware)))


@pytest.mark.browser
@pytest.mark.slow
def test_from_a_choice_to_the_command_on_screen(benchmark, page, dashboard):  # noqa: F811
    page.goto(f"{dashboard}/?{V32}", wait_until="commit")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    page.evaluate(CHANGE, 10)
    times = benchmark.pedantic(lambda: page.evaluate(CHANGE, CHOICES), rounds=1, iterations=1)
    benchmark.extra_info["median_ms"] = round(statistics.median(times), 1)
    limit(benchmark, "p95_ms", round(percentile(times, 0.95), 1), 40)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("tab", ["", "memory", "fit"])
@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-V3.2", "openai/gpt-oss-120b"])
def test_from_any_choice_to_the_command_on_screen(benchmark, page, dashboard, model, tab):  # noqa: F811
    page.goto(f"{dashboard}/?model={model}&tab={tab}", wait_until="commit")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    settled(page)
    times = benchmark.pedantic(lambda: page.evaluate(ANY_CHANGE, CHOICES), rounds=1, iterations=1)
    benchmark.extra_info["median_ms"] = round(statistics.median(times), 1)
    limit(benchmark, "p95_ms", round(percentile(times, 0.95), 1), 40)


@pytest.mark.browser
@pytest.mark.slow
def test_the_memory_of_a_kernel_and_the_bytes_of_a_page(benchmark, page, dashboard):  # noqa: F811
    def open_page():
        page.goto(f"{dashboard}/?{V32}", wait_until="commit")
        page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
        settled(page)

    benchmark.pedantic(open_page, rounds=1, iterations=1)
    limit(benchmark, "page_MB", round(page.evaluate(LOADED) / 1e6, 2), 6)
    config = json.loads(page.locator("#jupyter-config-data").first.text_content())
    pss = kernel_pss(config["kernelId"])
    assert pss, "the kernel's process was not found"
    limit(benchmark, "kernel_pss_MB", round(pss / 1e6, 1), 75)


def kernel_pss(kernel_id: str) -> int:
    """Proportional set size of a kernel, in bytes: what it costs beside the others."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
            if f"kernel-{kernel_id}" not in command:
                continue
            for line in (folder / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
        except OSError:
            continue
    return 0


@pytest.fixture(scope="module")
def both(shared, tmp_path_factory):
    """The explorer and a notebook of three widgets under the same voila."""
    folder = tmp_path_factory.mktemp("both")
    shutil.copy(REPO / "notebooks" / "explorer.ipynb", folder)
    shutil.copy(REPO / "voila.json", folder)
    source = (
        "import ipywidgets as w\nd = w.Dropdown(options=['a', 'b'])\nh = w.HTML('x')\n"
        "h.add_class('rx-code')\nw.VBox([d, h])"
    )
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [],
            "execution_count": None, "id": "a"}  # fmt: skip
    notebook = {
        "cells": [cell],
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    }
    (folder / "three.ipynb").write_text(json.dumps(notebook))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "voila", str(folder), "--no-browser", f"--port={port}",
               f"--Voila.config_file_paths={folder}"]  # fmt: skip
    with serving(command, url, folder / "log", RECIPES_CATALOG=str(shared / "upstream")):
        yield f"{url}/voila/render"


@pytest.mark.browser
@pytest.mark.slow
def test_an_open_beside_a_notebook_of_three_widgets(benchmark, browser, both):
    import time

    pages = {
        "three": (f"{both}/three.ipynb", ".rx-code"),
        "ours": (f"{both}/explorer.ipynb?{V32}&hardware=b200", ".rx-command .rx-code"),
    }
    urllib.request.urlopen(pages["three"][0], timeout=60).close()
    times: dict[str, list[float]] = {}

    def look(context, name, kind):
        url, sign = pages[name]
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url, wait_until="commit")
        page.wait_for_selector(sign, timeout=60_000)
        times.setdefault(f"{name} {kind}", []).append(time.perf_counter() - start)
        page.goto("about:blank")
        page.close()

    def rounds():
        for _ in range(ROUNDS):
            for name in pages:
                context = browser.new_context()
                look(context, name, "cold")
                look(context, name, "warm")
                context.close()

    benchmark.pedantic(rounds, rounds=1, iterations=1)
    middle = {name: statistics.median(values) for name, values in times.items()}
    benchmark.extra_info |= {name: round(value, 2) for name, value in middle.items()}
    limit(benchmark, "more_cold_s", round(middle["ours cold"] - middle["three cold"], 2), 0.5)
    limit(benchmark, "more_warm_s", round(middle["ours warm"] - middle["three warm"], 2), 0.3)
