"""``recipes show``: forms, notices, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ERNIE = "baidu/ERNIE-4.5-VL-28B-A3B-PT"
COMMAND = """\
vllm serve baidu/ERNIE-4.5-VL-28B-A3B-PT \\
  --trust-remote-code \\
  --tensor-parallel-size 1 \\
  --mm-encoder-tp-mode data
"""


def test_prints_the_command_and_nothing_else(recipes):
    done = recipes("show", ERNIE.upper(), "--hardware", "h200")
    assert (done.returncode, done.stdout, done.stderr) == (0, COMMAND, "")


def test_a_query_a_link_and_options_say_the_same(recipes):
    by_options = recipes("show", ERNIE, "--hardware", "h100", "--features", "none")
    for query in (
        "hardware=h100&features=none",
        "?hardware=h100&features=none",
        f"https://example.org/{ERNIE}?hardware=h100&features=none#serve",
    ):
        assert recipes("show", ERNIE, "--query", query).stdout == by_options.stdout
    both = recipes("show", ERNIE, "--query", "hardware=mi300x&features=none", "--hardware", "h100")
    assert (both.stdout, both.stderr) == (by_options.stdout, "")


def test_every_axis_is_an_option_in_both_spellings(recipes):
    from recipes_core.selection import QUERY_KEYS

    text = recipes("show", "--help").stdout
    assert all(f"--{key.replace('_', '-')}" in text for key in QUERY_KEYS)
    for option in ("--max-model-len", "--max_model_len"):
        assert "--max-model-len 4096" in recipes("show", ERNIE, option, "4096").stdout


def test_an_adjustment_is_said_on_stderr_and_strict_makes_it_a_fault(recipes):
    done = recipes("show", ERNIE, "--hardware", "h200", "--strategy", "nosuch")
    assert (done.returncode, done.stdout) == (0, COMMAND)
    assert "adjusted strategy: nosuch: single_node_tp is used (unknown; known:" in done.stderr
    strict = recipes("show", ERNIE, "--hardware", "h200", "--strategy", "nosuch", "--strict")
    assert (strict.returncode, strict.stdout) == (2, COMMAND)
    assert recipes("show", ERNIE, "--hardware", "h200", "--strict").returncode == 0


def test_an_unknown_recipe_names_the_nearest(recipes):
    done = recipes("show", "baidu/ERNIE-4.5-VL-28B")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Did you mean {ERNIE}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "args", [["show"], ["show", ERNIE, "--nosuch"], ["show", ERNIE, "--format", "pdf"], ["nosuch"],
             ["show", ERNIE, "--set", "1=2"], ["show", ERNIE, "--hf-token-var", "a b"]],
)  # fmt: skip
def test_wrong_usage_is_exit_code_2(recipes, args):
    done = recipes(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


def test_explain_says_where_each_flag_comes_from(recipes):
    lines = recipes("show", ERNIE, "--hardware", "h200", "--explain").stdout.splitlines()
    table = [line.split() for line in lines if line.startswith("#")]
    assert table[0] == ["#", "flag", "layer", "file", "key"]
    assert ["#", "--tensor-parallel-size", "strategy", "strategies/single_node_tp.yaml",
            "parallel_flag"] in table  # fmt: skip
    assert ["#", "--mm-encoder-tp-mode", "feature", f"models/{ERNIE}.yaml",
            "features.encoder_parallel.args"] in table  # fmt: skip


def test_json_is_one_line_with_everything(recipes):
    done = recipes("show", ERNIE, "--hardware", "h200", "--format", "json")
    assert done.stdout.count("\n") == 1
    read = json.loads(done.stdout)
    assert read["schema_version"] == 1
    process = read["deployment"]["processes"][0]
    assert process["argv"][:3] == ["vllm", "serve", ERNIE]
    home = str(Path.home() / ".cache" / "huggingface")
    assert f"{home}:/root/.cache/huggingface" in process["docker_argv"]
    assert "~/.cache/huggingface:/root/.cache/huggingface" in process["docker_command"]


def test_placeholders_are_filled_in_everywhere(recipes):
    args = ["--nodes", "2", "--set", "HEAD_IP=10.0.0.1", "--set", "$IFACE_NAME=ib0"]
    done = recipes("show", "deepseek-ai/DeepSeek-V3.2", *args, "--hardware", "h200")
    assert done.stdout.count("--master-addr 10.0.0.1") == 2
    assert "$" not in done.stdout
    unused = recipes("show", ERNIE, "--hardware", "h200", "--set", "HEAD_IP=1")
    assert "this configuration has no $HEAD_IP" in unused.stderr


def test_argv_is_a_json_list_a_process(recipes):
    done = recipes("show", "deepseek-ai/DeepSeek-V3.2", "--nodes", "2", "-f", "argv")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows] == [["vllm", "serve"]] * 2


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("docker", "docker run --gpus all \\\n"),
        ("markdown", f"# {ERNIE} — vLLM serving recipe\n"),
        ("script", "#!/usr/bin/env bash\nset -euo pipefail\n"),
        ("compose", "# serve: vLLM\nname: ernie"),
        ("kubernetes", "# ernie-4-5-vl-28b-a3b-pt: vLLM\n"),
        ("slurm", "#!/usr/bin/env bash\n#SBATCH"),
        ("vllm-config", "# vllm serve --config serve.yaml\nmodel: baidu/"),
        ("html", "<!doctype html>"),
    ],
)
def test_each_form(recipes, form, start):
    done = recipes("show", ERNIE, "--hardware", "h200", "--format", form)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(start)


def test_a_form_that_would_be_a_guess_is_refused(recipes):
    done = recipes("show", "baidu/ERNIE-5.5-Flash", "--format", "docker")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no container: the recipe has no container" in done.stderr


def test_a_pinned_release_is_checked(recipes):
    done = recipes("show", ERNIE, "--features", "text_only", "--vllm", "0.11.0", "-f", "json")
    read = json.loads(done.stdout)
    assert read["deployment"]["docker_image"] == "vllm/vllm-openai:v0.11.0"
    errors = [f for f in read["findings"] if f["severity"] == "error"]
    assert any(f["where"] == "--language-model-only" for f in errors)
    assert done.returncode == 1
    odd = recipes("show", ERNIE, "--vllm", "not-a-version", "--strict")
    assert odd.returncode == 2
    assert "adjusted vllm: not-a-version" in odd.stderr


@pytest.mark.parametrize("way", [["--vllm", "0.11.0"], ["--query", "vllm=0.11.0"]])
def test_a_release_in_a_link_is_checked_as_one_in_an_option(recipes, way):
    done = recipes("show", ERNIE, "--features", "text_only", *way)
    assert done.returncode == 1
    assert "error: --language-model-only: " in done.stderr


def test_a_command_that_the_newest_release_refuses_is_not_printed_in_silence(recipes, shared):
    args = ("--catalog", str(shared / "upstream"), "--variant", "fp8", "--hardware", "h200")
    done = recipes("show", "Qwen/Qwen-Image", *args)
    assert (done.returncode, done.stdout.startswith("vllm serve")) == (0, True)
    assert "error: --ignored-layers: " in done.stderr
    assert "nearest-table" not in done.stderr


def test_several_scripts_come_under_the_names_of_their_files(recipes, tmp_path):
    args = ("deepseek-ai/DeepSeek-V3.2", "--hardware", "h200", "--nodes", "2", "-f", "script")
    parts = re.split(r"(?m)^# File (\S+): (.+)\n", recipes("show", *args).stdout)
    assert parts[0] == ""
    assert parts[1::3] == ["01-head.sh", "02-worker-1.sh"]
    assert parts[2::3] == ["Head node (1 of 2)", "Worker node (2 of 2)"]
    for name, text in zip(parts[1::3], parts[3::3], strict=True):
        assert text.startswith("#!/usr/bin/env bash\n")
        path = tmp_path / name
        path.write_text(text)
        missing = subprocess.run(["bash", path], capture_output=True, text=True, check=False)
        assert "HEAD_IP: address of the head node" in missing.stderr


def test_the_shell_text_of_several_processes_is_one_script(recipes):
    done = recipes(
        "show", "deepseek-ai/DeepSeek-V3.2", "--hardware", "h200",
        "--kv-offload", "kv_store_centralized_mooncake", "--kv-instances", "2",
    )  # fmt: skip
    assert "# Instance 2 of 2\n" in done.stdout
    assert "# Router (start after vLLM)\n" in done.stdout
    subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)


def test_another_catalog_replaces_ours_and_stacks(recipes, shared):
    upstream = str(shared / "upstream")
    peer = recipes("show", "zai-org/GLM-5.1", "--catalog", upstream)
    assert "vllm serve zai-org/GLM-5.1" in peer.stdout
    only = recipes("show", "baidu/ERNIE-5.5-Flash", "--catalog", upstream)
    assert (only.returncode, only.stdout) == (1, "")
    both = recipes("show", "baidu/ERNIE-5.5-Flash", "--catalog", upstream, "--catalog", "builtin")
    assert both.returncode == 0


def test_a_missing_catalog_is_one_line(recipes):
    done = recipes("list", "--catalog", "/nosuch/catalog")
    assert done.returncode == 1
    assert done.stderr == "recipes: error: /nosuch/catalog: there is no such folder\n"


def test_a_reader_that_goes_away_is_no_traceback(recipes):
    import sys

    command = f"{sys.executable} -m recipes_core.cli show {ERNIE} -f json | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
