"""The other subcommands: list, check, explain, new, schema, and what importing them costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.checkpoints import QWEN3_8B

ERNIE = "baidu/ERNIE-4.5-VL-28B-A3B-PT"
MINE = """\
meta: {title: Mine, provider: Qwen, tasks: [text]}
model: {model_id: org/mine, min_vllm_version: 0.20.0, architecture: dense}
variants:
  default: {precision: bf16, vram_minimum_gb: 20}
compatible_strategies: [single_node_tp]
"""


def test_list_in_a_pipe_is_tab_separated(recipes):
    done = recipes("list", "ernie", "28b")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0][0] == ERNIE
    assert all(len(row) == 5 for row in rows)
    assert done.stderr == ""
    assert recipes("list", "--search", "ernie 28b").stdout == done.stdout


def test_list_filters(recipes):
    every = recipes("list", "--json")
    read = json.loads(every.stdout)
    small = json.loads(recipes("list", "--hardware", "rtx_5090", "--json").stdout)
    assert 0 <= len(small) < len(read)
    fp8 = json.loads(recipes("list", "--precision", "fp8", "--json").stdout)
    assert all(
        any(variant["precision"] == "fp8" for variant in row["variants"].values()) for row in fp8
    )
    assert len(json.loads(recipes("list", "--limit", "3", "--json").stdout)) == 3
    assert recipes("list", "zzzznosuch").stdout == ""


def test_list_names_the_nearest_hardware(recipes):
    done = recipes("list", "--hardware", "h10")
    assert done.returncode == 2
    assert "did you mean h100?" in done.stderr


@pytest.mark.parametrize(
    ("option", "word"), [("--task", "txt"), ("--precision", "fp9"), ("--verified", "nosuch")]
)
def test_list_refuses_a_filter_that_no_recipe_can_pass(recipes, option, word):
    done = recipes("list", option, word)
    assert (done.returncode, done.stdout) == (2, "")
    assert word in done.stderr


def test_check_is_exit_code_1_on_an_error_and_names_the_place(recipes, tmp_path: Path):
    folder = tmp_path / "mine"
    path = folder / "models" / "org" / "repo.yaml"
    path.parent.mkdir(parents=True)
    text = (Path(__file__).parents[2] / "recipes" / "models" / f"{ERNIE}.yaml").read_text()
    path.write_text(text.replace("  - multi_node_dep\n", "  - nosuch_layout\n"))
    done = recipes("check", str(folder))
    assert done.returncode == 1
    assert "Errors:" in done.stdout
    assert f"{folder}/models/org/repo.yaml:" in done.stdout
    assert "nosuch_layout" in done.stdout
    as_json = json.loads(recipes("check", str(folder), "--catalog", "builtin", "--json").stdout)
    assert any(f["severity"] == "error" and f["line"] for f in as_json)


def test_check_stacks_a_folder_on_ours_and_judges_it_alone(recipes, tmp_path: Path):
    path = tmp_path / "models" / "org" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(MINE)
    done = recipes("check", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 recipe: 0 errors, 0 warnings, 0 remarks\n"


def test_the_variable_names_the_catalog(recipes, tmp_path: Path, monkeypatch):
    path = tmp_path / "mine" / "models" / "org" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECIPES_CATALOG", os.pathsep.join(("builtin", "./mine")))
    assert "vllm serve org/mine" in recipes("show", "org/mine").stdout
    # What is said on the line counts more.
    assert recipes("show", "org/mine", "--catalog", "builtin").returncode == 1


def test_explain_reads_a_pasted_command(recipes):
    command = f"docker run vllm/vllm-openai:latest {ERNIE} -tp 2 --trust-remote-code"
    done = recipes("explain", command)
    assert done.returncode == 0, done.stderr
    assert "Layout  TP 2: 2 GPUs" in done.stdout
    assert f"Nearest recipe: {ERNIE}?" in done.stdout
    piped = recipes("explain", "-", stdin=command)
    assert piped.stdout == done.stdout
    read = json.loads(recipes("explain", command, "--json").stdout)
    assert read["layout"]["gpus"] == 2


def test_explain_says_what_a_release_refuses(recipes):
    done = recipes("explain", f"vllm serve {ERNIE} --language-model-only", "--vllm", "0.11.0")
    assert done.returncode == 1
    assert "unknown-flag" in done.stdout
    assert recipes("explain", "ls -la").returncode == 2


def test_new_drafts_and_checks(recipes, tmp_path: Path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": "llama", "torch_dtype": "bfloat16"}))
    printed = recipes("new", "meta-llama/Brand-New", "--config", str(config))
    assert printed.returncode == 0, printed.stderr
    assert yaml.safe_load(printed.stdout)["model"]["model_id"] == "meta-llama/Brand-New"
    assert "to do: " in printed.stderr
    written = recipes("new", "meta-llama/Brand-New", "--into", str(tmp_path / "mine"))
    assert (tmp_path / "mine" / "models" / "meta-llama" / "Brand-New.yaml").is_file()
    again = recipes("new", "meta-llama/Brand-New", "--into", str(tmp_path / "mine"))
    assert again.returncode == 1
    assert "is there already" in again.stderr
    assert "wrote " in written.stderr


def test_new_fills_in_what_a_config_tells(recipes, tmp_path: Path):
    """Sizes by the config, the floor by its architecture, and its facts kept for sizing."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(QWEN3_8B))
    into = tmp_path / "mine"
    done = recipes("new", "Qwen/Brand-New", "--config", str(config), "--into", str(into))
    assert done.returncode == 0, done.stderr
    made = yaml.safe_load((into / "models/Qwen/Brand-New.yaml").read_text())
    assert made["model"]["parameter_count"] == "8.19B"
    assert made["model"]["min_vllm_version"] == "0.8.5"
    assert made["variants"]["default"]["vram_minimum_gb"] == 20
    sized = recipes("size", "Qwen/Brand-New", "--catalog", "builtin", "--catalog", str(into))
    assert "vLLM 0.33.0, computed" in sized.stdout, sized.stdout + sized.stderr
    config.write_text(json.dumps(QWEN3_8B | {"architectures": ["NobodyKnowsForCausalLM"]}))
    unknown = recipes("new", "Qwen/Newer", "--config", str(config))
    assert yaml.safe_load(unknown.stdout)["model"]["min_vllm_version"] == "0.33.0"
    assert "is the newest" in unknown.stderr


def test_schemas_are_schemas(recipes):
    from jsonschema import Draft202012Validator

    for args in ([], ["--output"]):
        Draft202012Validator.check_schema(json.loads(recipes("schema", *args).stdout))


def test_export_in_a_pipe_shows_no_bar(recipes, shared: Path, tmp_path: Path):
    small = tmp_path / "small"
    (small / "models" / "baidu").mkdir(parents=True)
    source = Path(__file__).parents[2] / "recipes"
    for name in ("taxonomy.yaml", "strategies", "kv_store"):
        (small / name).symlink_to(source / name)
    (small / "models" / f"{ERNIE}.yaml").symlink_to(source / "models" / f"{ERNIE}.yaml")
    done = recipes("export", str(tmp_path / "site"), "--catalog", str(small), "--no-facts")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (tmp_path / "site" / f"{ERNIE}.json").is_file()


def test_version_and_help(recipes):
    assert recipes("--version").stdout.startswith("recipes 0.")
    assert "show" in recipes("--help").stdout
    assert recipes().returncode == 2


@pytest.mark.parametrize("args", [["list"], ["show", ERNIE], ["--help"]])
def test_a_subcommand_imports_only_its_own_room(args):
    code = (
        "import sys\nfrom recipes_core.cli.app import app\n"
        f"try: app({args!r})\nexcept SystemExit: pass\n"
        "heavy = {'pandas', 'ipywidgets', 'IPython', 'tornado', 'voila', 'rich.console'}\n"
        "heavy |= {'recipes_core.explorer', 'recipes_core.publish', 'recipes_core.server'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip().splitlines()[-1] == "[]"
