"""A client that nobody here wrote reads our static JSON: vLLM's own recipe converter.

It is ``tools/recipes/recipe_json_to_vllm_config.py`` of vLLM's source distribution; the script
``scripts/fetch_vllm_tools.py`` puts it where this test looks.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recipes_core.catalog.loader import load_catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.publish.contents import Options
from recipes_core.publish.export import export
from recipes_core.vllm_cli.explain import explain

TOOLS = Path(
    os.environ.get("RECIPES_VLLM_TOOLS", Path.home() / ".cache" / "vllm-recipes-tools" / "0.33.0")
)
CONVERTER = TOOLS / "recipe_json_to_vllm_config.py"
pytestmark = pytest.mark.skipif(
    not CONVERTER.is_file(), reason="vLLM's converter is not there: run scripts/fetch_vllm_tools.py"
)
COUNT = 10


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten recipes whose recommended command is one process, and a variant's own id among them."""
    catalog = load_catalog()
    chosen = {}
    for name, entry in sorted(
        catalog.recipes.items(), key=lambda item: (-len(item[1].recipe.variants), item[0])
    ):
        if len(chosen) < COUNT and deploy(configure(catalog, name)).type == "single_node":
            chosen[name] = entry
    folder = tmp_path_factory.mktemp("site")
    export(replace(catalog, recipes=chosen, kept={}), folder, Options(facts=False), jobs=1)
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def convert(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(CONVERTER), *words], cwd=folder, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_ten_recipes_give_configs_that_vllm_would_accept(site, address, tmp_path):
    models = json.loads((site / "models.json").read_text())
    own = [row for row in models if "derived_from" not in row]
    assert len(own) == COUNT
    for row in own:
        page = json.loads((site / row["json"].lstrip("/")).read_text())
        lead = page["recommended_command"]
        convert(
            tmp_path, "--api-base", address, "--model", row["hf_id"], "--hardware", lead["hardware"]
        )
        text = (tmp_path / "config.yml").read_text()
        read = explain("vllm serve --config config.yml", read=lambda _, text=text: text)
        errors = [item for item in read.findings if item.severity == "error"]
        assert errors == [], (row["hf_id"], errors)
        assert read.model == page["recommended_command"]["model_id"]
        exports = (tmp_path / "env.sh").read_text()
        assert all(f"export {name}=" in exports for name in lead["env"])


def test_another_strategy_is_found_by_its_link(site, address, tmp_path):
    found = 0
    for path in sorted(site.glob("*/*/hw/*.json")):
        lead = json.loads(path.read_text())
        other = "single_node_tep" if "single_node_tep" in lead["alternatives"] else None
        if other is None or found > 1:
            continue
        recipe = "/".join(path.relative_to(site).parts[:2])
        convert(
            tmp_path, "--api-base", address, "--model", recipe, "--hardware", lead["hardware"],
            "--strategy", other,
        )  # fmt: skip
        assert "# strategy: single_node_tep" in (tmp_path / "config.yml").read_text()
        found += 1


def test_a_variant_is_found_by_the_id_of_its_checkpoint(site, address, tmp_path):
    models = json.loads((site / "models.json").read_text())
    row = next(row for row in models if "derived_from" in row)
    page = json.loads((site / row["json"].lstrip("/")).read_text())
    hardware = page["recommended_command"]["hardware"]
    convert(tmp_path, "--api-base", address, "--model", row["hf_id"], "--hardware", hardware)
    assert f"# variant: {row['variant']}" in (tmp_path / "config.yml").read_text()


def test_what_one_config_cannot_say_is_refused_by_the_client(site, address, tmp_path):
    path = next(
        path
        for path in sorted(site.glob("*/*/hw/*/strategies/*.json"))
        if json.loads(path.read_text())["deploy_type"] == "multi_node"
    )
    url = f"{address}/{path.relative_to(site)}"
    done = subprocess.run(
        [sys.executable, str(CONVERTER), url], cwd=tmp_path, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "head_argv" in done.stderr
