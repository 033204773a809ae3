"""`recipes size` as a person or a script uses it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from recipes_core.errors import RecipesError
from recipes_core.sizing import command_log
from recipes_core.sizing.command import run
from tests.sizing.rows import config_path
from tests.sizing.test_configs import LLAMA
from tests.sizing.test_engine_log import PROFILE


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    return str(path)


def output(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_json_of_a_config_is_the_sizing_object(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (config, "--json", "--vllm", "0.19.0", "--gpu-bytes", "85029615042")
    more = ("--gpu-memory-utilization", "0.95", "--max-model-len", "8192")
    code, out, err = output(capsys, *words, *more)
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["vllm"] == "0.19.0"
    assert found["basis"] == "computed"
    assert found["gpu_total_bytes"] == 85_029_615_042
    assert found["kv_bytes_per_token"] == 131_072
    assert found["max_model_len"] == 8192
    assert found["fits"] is True


def test_measured_budget(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = (config, "--json", "--hardware", "h100", "--max-model-len", "8192")
    _, out, _ = output(capsys, *words, "--available-kv-bytes", str(8192 * 131_072))
    found = json.loads(out)
    assert found["basis"] == "measured"
    assert found["kv_tokens"] == 8192
    assert found["max_concurrency"] == 1.0
    assert found["fits"] is True
    code, out, _ = output(capsys, *words, "--available-kv-bytes", str(8192 * 131_072 - 1))
    found = json.loads(out)
    assert code == 1
    assert found["fits"] is False
    assert found["shortfall_bytes"] == 1


def test_recipe_is_sized_by_its_own_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = output(
        capsys, "meta-llama/Llama-3.1-8B-Instruct", "--json", "--hardware", "h200"
    )
    found = json.loads(out)
    assert code == 0
    assert found["gpu_total_bytes"] == 150_109_880_320
    assert found["engine"]["tensor_parallel_size"] >= 1
    _, out, _ = output(
        capsys, "meta-llama/Llama-3.1-8B-Instruct", "--json", "--hardware", "h200", "-tp", "2"
    )
    assert json.loads(out)["engine"]["tensor_parallel_size"] == 2


def test_declared_checkpoint_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = output(capsys, "baidu/ERNIE-5.5-Flash", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["basis"] == "declared"
    assert found["kv_tokens"] is None
    assert any("declared" in a for a in found["assumptions"])


def test_table_has_units_bands_and_the_log(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = output(capsys, config, "--hardware", "h200", "--users", "4", "--length", "4096")
    assert code == 0
    for text in ("GiB", "lowest", "highest", "Available KV cache memory", "longest context for 4"):
        assert text in out


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((), 2, "name a recipe"),
        (("x.json", "--hardware", "h2000"), 1, "cannot be read"),
        (("nobody/nothing",), 1, "no recipe 'nobody/nothing'"),
        (("--json", "--table", "x"), 2, "not allowed with"),
        (("x.json", "--gpu-bytes", "80"), 2, "bytes of a whole GPU"),
        (("x.json", "--users", "0"), 2, "at least 1"),
    ],
)
def test_wrong_use(
    words: tuple[str, ...], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = output(capsys, *words)
    assert (found, out) == (code, "")
    assert text in err


def test_unknown_hardware_names_the_nearest(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = output(capsys, config, "--hardware", "h20000")
    assert code == 2
    assert "did you mean h200?" in err


def test_refused_flag_is_an_error(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = output(capsys, config, "--hardware", "h100", "--tensor-parallel-size", "many")
    assert code == 1
    assert "--tensor-parallel-size" in err
    code, _, err = output(capsys, config, "--hardware", "h100", "--kv-cache-dtype", "fp9")
    assert code == 1
    assert "allowed: auto" in err


def test_log_beside_a_config(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "start.log"
    log.write_text(PROFILE)
    code, out, _ = output(capsys, config, "--log", str(log), "--vllm", "0.19.0", "--json")
    found = json.loads(out)
    assert code == 0
    verdicts = {d["name"]: d["verdict"] for d in found["differences"]}
    assert verdicts["weights"] == "equal"
    assert verdicts["kv_tokens at the logged bytes"] == "equal"
    assert found["sizing"]["gpu_memory_utilization"] == 0.95
    assert found["sizing"]["max_model_len"] == 8192
    code, out, _ = output(capsys, config, "--log", str(log), "--vllm", "0.19.0")
    assert "logged" in out


def test_log_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "start.log"
    log.write_text(PROFILE)
    code, out, err = output(capsys, "--log", str(log))
    assert code == 0
    assert "476016" in out
    assert "no config of this model" in err


def test_log_without_a_start_up_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "start.log"
    log.write_text("nothing here")
    code, _, err = output(capsys, "--log", str(log))
    assert code == 1
    assert "no line of a vLLM start-up" in err


def test_every_shared_config_has_a_table(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = {"openai/gpt-oss-120b": 0, "nvidia/Qwen3.6-27B-NVFP4": 0, "moonshotai/Kimi-K3": 1}
    for model, expected in models.items():
        code, out, _ = output(capsys, str(config_path(shared, model)), "--hardware", "b200")
        assert code == expected, model
        assert "KV cache" in out


def test_hostile_text_reaches_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, "model_type": "\x1b[2Jevil"}))
    _, out, err = output(capsys, str(path), "--hardware", "h100")
    assert "\x1b" not in out + err


@pytest.mark.parametrize(
    "order",
    [
        "CONFIG -tp 2 --max-model-len 8192 --enforce-eager --hardware h100 --json",
        "--json --hardware h100 -tp 2 --max-model-len 8192 --enforce-eager CONFIG",
        "--json --hardware=h100 --enforce-eager CONFIG -tp=2 --max-model-len 8192",
        "-tp 2 --json --enforce-eager --hardware h100 --max-model-len 8192 CONFIG",
    ],
)
def test_options_and_flags_come_in_any_order(
    order: str, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = output(capsys, *order.replace("CONFIG", config).split())
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["engine"]["tensor_parallel_size"] == 2
    assert found["max_model_len"] == 8192
    assert found["engine"]["cuda_graph_sizes"] == 0


def test_two_subjects_are_too_many(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = output(capsys, config, "openai/gpt-oss-20b")
    assert code == 2
    assert "one recipe or config" in err


def test_what_does_not_fit_or_start_is_a_finding(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (config, "--hardware", "h100", "--max-model-len", "8192")
    assert output(capsys, *words)[0] == 0
    code, out, _ = output(capsys, *words, "--gpu-bytes", str(12 << 30))
    assert code == 1
    assert "does not fit" in out.lower()
    assert output(capsys, *words, "-tp", "7")[0] == 1


def test_a_config_is_sized_for_the_measured_release(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = output(capsys, config, "--hardware", "h200", "--json")
    assert json.loads(out)["vllm"] == "0.25.0"


def test_a_flag_that_no_release_has_is_refused(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Left out in silence, it would be the memory of another command."""
    code, out, err = output(capsys, config, "--hardware", "h100", "--tensor-paralel-size", "8")
    assert (code, out) == (2, "")
    assert "--tensor-parallel-size" in err


@pytest.mark.parametrize(
    "words",
    [
        "--tensor_parallel_size 2 -pp 2",
        "--no-enforce-eager --no-enable-prefix-caching",
        "--speculative-config.method ngram",
        "--distributed-executor-backend external_launcher --disable-custom-all-reduce",
        "--moe-backend triton --max-lora-rank 16 --enable-lora",
    ],
)
def test_flags_that_the_release_has_are_taken(
    config: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    args = (config, "--hardware", "h200", "--vllm", "0.25.0", "--max-model-len", "4096")
    code, _, err = output(capsys, *args, *words.split())
    assert (code, err) == (0, "")


def test_a_flag_of_another_release_is_said(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = (config, "--hardware", "h200", "--json", "--max-model-len", "4096")
    _, out, _ = output(capsys, *words, "--vllm", "0.33.0", "--swap-space", "4")
    assert any("--swap-space" in note for note in json.loads(out)["assumptions"])


def test_more_users_than_max_num_seqs_are_answered_with_the_flag_that_lets_them_in(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--", "--max-num-seqs", "2")
    code, out, _ = output(capsys, config, "--hardware", "h200", "--users", "4", *flags)
    assert code == 0
    assert "longest context for 4 users at once, with --max-num-seqs 4:" in out
    assert "for that, with --max-num-seqs 4:" in out
    code, out, _ = output(capsys, config, "--hardware", "h200", "--users", "2", *flags)
    assert code == 0
    assert "longest context for 2 users at once:" in out


def test_hardware_of_a_config_is_of_the_chosen_catalogs_or_a_short_form(
    config: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    box = {"brand": "NVIDIA", "display_name": "Box", "generation": "ada", "gpu_count": 4,
           "gpu_bytes": 47_695_611_789, "vram_gb": 192}  # fmt: skip
    (tmp_path / "taxonomy.yaml").write_text(json.dumps({"hardware_profiles": {"box": box}}))
    monkeypatch.setenv("RECIPES_CATALOG", f"builtin:{tmp_path}")
    _, out, err = output(capsys, config, "--json", "--hardware", "box")
    assert json.loads(out)["gpu_total_bytes"] == 47_695_611_789, err
    monkeypatch.delenv("RECIPES_CATALOG")
    code, _, err = output(capsys, config, "--json", "--hardware", "box")
    assert (code, "no hardware 'box'" in err) == (2, True)
    _, out, _ = output(capsys, config, "--json", "--hardware", "2xL40S")
    assert 44 << 30 < json.loads(out)["gpu_total_bytes"] < 48 << 30


def test_answers_name_the_fewest_gpus_and_what_was_searched(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (config, "--hardware", "h100", "--max-model-len", "8192")
    _, out, _ = output(capsys, *words, "-tp", "4")
    assert (
        "fewest GPUs for that: 1 (TP 1; searched: every TP in a node of 8, then TP over whole "
        "nodes: 1 to 128 GPUs)" in out
    )
    _, out, _ = output(capsys, *words, "-dp", "8", "--users", "9000", "--max-num-seqs", "64")
    assert "every DP at TP 1" in out
    assert "none suffices" in out


def test_a_node_is_whole_where_a_recipe_takes_a_part_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("openai/gpt-oss-120b", "--hardware", "h200", "--query", "gpus=2")
    _, out, _ = output(capsys, *words)
    assert "in a node of 8" in out


def test_users_are_those_of_all_data_parallel_ranks(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (config, "--hardware", "h100", "--max-model-len", "8192", "--max-num-seqs", "10")
    for ranks in (1, 4):
        _, out, _ = output(capsys, *words, "-dp", str(ranks))
        assert f"most users at 8,192 tokens each: {10 * ranks}\n" in out


@pytest.mark.parametrize("by_stdin", [True, False])
def test_a_log_that_is_too_large_is_refused_and_not_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_stdin: bool
) -> None:
    monkeypatch.setattr(command_log, "_LARGEST_LOG", 60)
    text = "Available KV cache memory: 58.11 GiB\n" * 2
    path = tmp_path / "log"
    path.write_text(text)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    with pytest.raises(RecipesError, match="keep the start-up part alone"):
        command_log.read_log(Path("-") if by_stdin else path)
    monkeypatch.setattr(command_log, "_LARGEST_LOG", len(text))
    assert command_log.read_log(path).available_kv
