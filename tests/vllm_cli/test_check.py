"""Findings about one command: what the real parser refuses, and what it lets pass in silence."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from recipes_core.findings import Finding
from recipes_core.vllm_cli import check, check_argv


def codes(*args: str, version: str = "0.33.0", model: str = "m", **env: str) -> list[str]:
    found = check_argv(["vllm", "serve", model, *args], env, version)
    return [finding.code for finding in found]


def only(*args: str, version: str = "0.33.0", **env: str) -> Finding:
    found = check_argv(["vllm", "serve", "m", *args], env, version)
    assert len(found) == 1, found
    return found[0]


ACCEPTED = [
    ["-tp", "8", "-dp=2", "--enable_expert_parallel", "--max-model-len", "128k"],
    ["--no-enable-prefix-caching", "--no-disable-hybrid-kv-cache-manager"],
    ["--speculative-config.method", "mtp", "--speculative-config.num_speculative_tokens", "2"],
    ["-O3", "-cc.cudagraph_mode", "FULL_DECODE_ONLY"],
    ["-O", "3"],
    ["-O=2"],
    ["-n2"],
    ["--limit-mm-per-prompt.image", "2"],
    ["--limit-mm-per-prompt", '{"image": 2}'],
    ["--seed", "-1"],
    ["--middleware", "a.b", "--middleware", "c.d"],
    ["--served-model-name", ""],
    ["--tool-call-parser", "None"],
    ["--api-key", "a", "b"],
    ["--hf-token", "--port", "1"],
    ["--moe-backend", "Flashinfer-TRTLLM"],
    ["--attention-backend", "flashinfer"],
    ["--attention-config.backend=FLASHINFER"],
    ["--max-model-len", "auto", "--max-num-batched-tokens", "1.5k"],
    ["--lora-modules", "a=b"],
    ["--hf-overrides", "{not closed"],
    [
        "--tensor-parallel-size",
        "$TP",
        "--kv-transfer-config",
        '{"kv_connector":"$C","kv_role":"kv_both"}',
    ],
    ["--compilation-config", '{"pass_config":{"fuse_norm_quant":"false"}}'],
    ["--gpu-memory-utilization", ".9"],
]
"""Commands that the real parser of 0.33.0 accepts and the engine too."""


@pytest.mark.parametrize("args", ACCEPTED, ids=" ".join)
def test_what_is_right_gives_no_finding(args: list[str]) -> None:
    assert codes(*args) == []


REFUSED = [
    (["--tensor-paralel-size", "8"], "unknown-flag", "did you mean --tensor-parallel-size?"),
    (["-tp4"], "unknown-flag", "write -tp 4"),
    (["--Port", "80"], "unknown-flag", "did you mean --port?"),
    (["--disable-log"], "ambiguous-flag", "short for more than one flag"),
    (["--enforce-eager=True"], "wrong-arity", "takes no value"),
    (["--enforce-eager", "True"], "stray-word", "'True' belongs to no flag"),
    (["--max-model-len auto"], "stray-word", "belongs to no flag"),
    (["--served-model-name"], "wrong-arity", "needs at least one value"),
    (["--port"], "wrong-arity", "needs a value"),
    (["--", "--port", "3"], "stray-word", "'--port' belongs to no flag"),
    (["--max-num-seqs", "1k"], "bad-value", "takes a whole number"),
    (["--max-model-len", "1.5K"], "bad-value", "before the binary suffix K, or 1.5k"),
    (["--gpu-memory-utilization", "90%"], "bad-value", "takes a number"),
    (["--lora-modules", "ab"], "bad-value", "NAME=PATH"),
    (["--limit-mm-per-prompt", "image=2"], "bad-json", "takes JSON"),
    (["--hf-overrides", "{bad}"], "bad-json", "takes JSON"),
    (["--compilation-config", "3"], "bad-json", "JSON object"),
    (["--compilation-config", '{"foo":1}'], "unknown-field", "is no field of CompilationConfig"),
    (["--compilation-config.pass_config.foo", "1"], "unknown-field", "pass_config.foo"),
    (["--kv-transfer-config.kv_role", "kv_both_"], "bad-choice", "did you mean kv_both?"),
    (["--attention-config", '{"flash_attn_version":"3"}'], "bad-choice", "takes 2, 3, 4"),
    (["--attention-config.backend", "NOPE"], "bad-choice", "does not take 'NOPE'"),
    (["--structured-outputs-config.backend", "x"], "bad-choice", '"xgrammar"'),
    (["--compilation-config.cudagraph_mode", "FULLL"], "bad-choice", "did you mean FULL?"),
    (["--reasoning-parser", "qwen9"], "bad-choice", "did you mean qwen3?"),
    (["--enable-auto-tool-choice"], "missing-flag", "without --tool-call-parser"),
    (["--kv-transfer-config.kv_connector", "NixlConnector"], "missing-field", "needs kv_role"),
    (["--port.x", "3"], "not-json", "takes no JSON"),
]
"""Commands that the real parser of 0.33.0, or its validation, refuses."""


@pytest.mark.parametrize(("args", "code", "text"), REFUSED, ids=[" ".join(c[0]) for c in REFUSED])
def test_what_the_parser_refuses_is_an_error(args: list[str], code: str, text: str) -> None:
    found = [f for f in check_argv(["vllm", "serve", "m", *args], {}, "0.33.0") if f.code == code]
    assert found, codes(*args)
    assert text in found[0].message
    assert found[0].severity == "error"


PASSED_IN_SILENCE = [
    (["--quantization", "nonsense"], "bad-choice"),
    (["--attention-backend", "NONSENSE"], "bad-choice"),
    (["--kv-cache-dtype", "fp9"], "bad-choice"),
    (["--speculative-config", '{"method":"nonsense"}'], "bad-choice"),
    (["--speculative-config", '{"method":"mtp","num_spec_tokens":2}'], "unknown-field"),
    (["--kv-transfer-config", '{"kv_connector":"Nope","kv_role":"kv_both"}'], "bad-choice"),
]
"""Commands that the real parser accepts and the engine refuses when it starts."""


@pytest.mark.parametrize(("args", "code"), PASSED_IN_SILENCE, ids=str)
def test_what_only_the_engine_refuses_is_an_error_too(args: list[str], code: str) -> None:
    finding = only(*args)
    assert (finding.severity, finding.code) == ("error", code)


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (["--tensor-par", "8"], "abbreviated-flag", "short for --tensor-parallel-size"),
        (["--port", "1", "--port", "2"], "duplicate-flag", "the last one counts"),
        (["--config=serve.yaml"], "config-not-read", "as two words"),
        (["--disable-cascade-attn"], "ignored-flag", "does nothing"),
        (["--log-config-file", "x"], "deprecated-flag", "is deprecated"),
        (
            ["--compilation-config", '{"mode":3}', "-cc.cudagraph_mode", "NONE"],
            "json-overridden",
            "replaces what --compilation-config says",
        ),
        (
            ["-cc.cudagraph_mode", "NONE", "--compilation-config.mode", "3"],
            "json-overridden",
            "without a merge",
        ),
        (
            [
                "--kv-transfer-config",
                '{"kv_connector":"OffloadingConnector","kv_role":"kv_both",'
                '"kv_connector_extra_config":{"lazy_offload":"false"}}',
            ],
            "string-boolean",
            "counts as true",
        ),
    ],
    ids=str,
)
def test_what_is_accepted_but_not_meant_is_a_warning(args: list[str], code: str, text: str) -> None:
    finding = only(*args)
    assert (finding.severity, finding.code) == ("warning", code)
    assert text in finding.message


def test_a_name_of_a_later_release_says_which() -> None:
    finding = only("--reasoning-parser", "gemma4", version="0.17.0")
    assert finding.where == "--reasoning-parser"
    assert "it comes with 0.19.0" in finding.message


def test_a_removed_flag_says_what_to_write_now() -> None:
    finding = only("--guided-decoding-backend", "xgrammar", version="0.28.0")
    assert "--structured-outputs-config.backend" in finding.message


def test_a_field_of_a_later_release_says_which() -> None:
    finding = only("--kv-transfer-config.kv_load_failure_policy", "fail", version="0.12.0")
    assert finding.where == "--kv-transfer-config.kv_load_failure_policy"
    assert "it comes with 0.13.0" in finding.message


def test_a_removed_field_says_what_to_write_now() -> None:
    finding = only("--attention-config.use_fp4_indexer_cache=True", version="0.30.0")
    assert "0.29.0 still had it" in finding.message
    assert "indexer_kv_dtype mxfp4" in finding.message


def test_connectors_inside_of_a_multi_connector_are_checked() -> None:
    value = {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {
            "connectors": [
                {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
                {"kv_connector": "NixlConector", "kv_rol": "kv_both"},
            ]
        },
    }
    argv = ["vllm", "serve", "m", "--kv-transfer-config", json.dumps(value)]
    found = check_argv(argv, {}, "0.33.0")
    inner = "--kv-transfer-config.kv_connector_extra_config.connectors.1"
    assert [(f.code, f.where) for f in found] == [
        ("bad-choice", f"{inner}.kv_connector"),
        ("unknown-field", f"{inner}.kv_rol"),
    ]
    assert "did you mean NixlConnector?" in found[0].message


def test_a_parser_from_a_plugin_file_is_not_judged() -> None:
    assert codes("--reasoning-parser-plugin", "x.py", "--reasoning-parser", "nano_v3") == []
    assert codes("--reasoning-parser", "nano_v3") == ["bad-choice"]
    assert codes("--tool-parser-plugin", "x.py", "--tool-call-parser", "mine") == []


def test_a_class_named_with_its_module_is_not_judged() -> None:
    assert codes("--distributed-executor-backend", "my.module.Executor") == []


def test_a_named_plugin_adds_names_and_variables() -> None:
    argv = ["vllm", "serve", "m", "--quantization", "ascend"]
    env = {"VLLM_ASCEND_ENABLE_NZ": "1"}
    assert [f.code for f in check_argv(argv, env, "0.33.0")] == ["bad-choice", "unknown-variable"]
    assert check_argv(argv, env, "0.33.0", plugins=["vllm-ascend"]) == []


def test_a_plugin_that_is_not_known_is_said() -> None:
    found = check_argv(["vllm", "serve", "m"], {}, "0.33.0", plugins=["vllm-asend"])
    assert [(f.severity, f.code) for f in found] == [("info", "unknown-plugin")]
    assert "did you mean vllm-ascend?" in found[0].message


def test_omni_flags_need_omni() -> None:
    assert codes("--omni", "--boundary-ratio", "0.5", version="0.30.0") == []
    assert "it is a flag of vllm-omni" in only("--boundary-ratio", "0.5").message


def test_words_that_look_like_flags_stop_a_value() -> None:
    assert codes("--served-model-name", "--port", "1") == ["wrong-arity"]
    # A decimal with a minus is taken for a dotted flag by the parser in front of argparse.
    assert "wrong-arity" in codes("--kv-cache-memory-bytes", "-0.5")


def test_a_dotted_flag_takes_the_next_word_whatever_it_is() -> None:
    assert codes("--speculative-config.method", "mtp", "--attention-config.backend") == [
        "wrong-arity"
    ]
    assert codes("--override-generation-config.top_k", "-1") == []


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["vllm", "serve"], ["no-model"]),
        (["vllm", "serve", "--port", "80", "m"], []),
        (["vllm", "serve", "--model", "m", "--port", "80"], ["model-as-flag"]),
        (["vllm", "serve", "m", "n"], ["stray-word"]),
        (["vllm", "serve", "m", "--port", "80", "n"], ["stray-word"]),
        (["vllm", "serve", "--config", "x.yaml"], []),
    ],
)
def test_where_the_model_stands(argv: list[str], expected: list[str]) -> None:
    assert [finding.code for finding in check_argv(argv, {}, "0.33.0")] == expected


@pytest.mark.parametrize(
    ("name", "value", "version", "expected"),
    [
        ("VLLM_USE_DEEP_GEMM", "1", "0.33.0", None),
        ("VLLM_USE_DEEP_GEMM", "true", "0.33.0", ("warning", "variable-spelling")),
        ("VLLM_USE_DEEP_GEMM", "maybe", "0.33.0", ("error", "bad-variable")),
        ("VLLM_USE_DEEP_GEMM", "$SWITCH", "0.33.0", None),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "1800", "0.33.0", None),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "30min", "0.33.0", ("error", "bad-variable")),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "1800", "0.13.0", ("warning", "unknown-variable")),
        ("VLLM_WORKER_MULTIPROC_METHOD", "thread", "0.33.0", ("error", "bad-variable")),
        ("VLLM_USE_DEEPGEMM", "1", "0.33.0", ("warning", "unknown-variable")),
        ("VLM_USE_DEEP_GEMM", "1", "0.33.0", None),
        ("VVLLM_USE_DEEP_GEMM", "1", "0.33.0", ("warning", "unknown-variable")),
        ("AITER_SITUV2_A8W4", "1", "0.28.0", ("warning", "unknown-variable")),
        ("AITER_SITUV2_A8W4", "1", "0.27.1", None),
        ("NCCL_CUMEM_ENABLE", "1", "0.33.0", None),
        ("PYTHONHASHSEED", "0", "0.33.0", None),
    ],
)
def test_variables(name: str, value: str, version: str, expected: tuple[str, str] | None) -> None:
    found = check_argv(["vllm", "serve", "m"], {name: value}, version)
    assert [(f.severity, f.code) for f in found] == ([expected] if expected else [])
    assert all(f.where == f"${name}" for f in found)


def test_strict_validation_makes_an_unknown_variable_an_error() -> None:
    argv = ["vllm", "serve", "m", "--fail-on-environ-validation"]
    found = check_argv(argv, {"VLLM_NO_SUCH": "1"}, "0.33.0")
    assert [(f.severity, f.code) for f in found] == [("error", "unknown-variable")]


def test_a_version_that_was_not_read_is_said() -> None:
    found = check_argv(["vllm", "serve", "m"], {}, "0.34.0")
    assert [(f.severity, f.code) for f in found] == [("info", "nearest-table")]
    assert "checked against vLLM" in found[0].message


@dataclass
class _Process:
    argv: list[str]
    role: str = "serve"
    env: dict[str, str] = field(default_factory=dict)


@dataclass
class _Deployment:
    processes: list[_Process]


def test_a_deployment_is_checked_process_by_process_and_each_fault_said_once() -> None:
    serve = ["vllm", "serve", "m", "--swap-space", "4"]
    deployment = _Deployment(
        [
            _Process(serve, "head"),
            _Process([*serve, "--node-rank", "1"], "worker"),
            _Process(["vllm-router", "--swap-space", "4"], "router"),
        ]
    )
    assert [f.where for f in check(deployment, "0.33.0")] == ["--swap-space"]


def test_the_hand_made_commands_get_the_verdicts_of_the_real_parser(shared: Path) -> None:
    lines = (shared / "vllm_cli" / "sanity.jsonl").read_text().splitlines()
    refused = []
    for line in lines:
        argv = json.loads(line)
        if any(f.severity == "error" for f in check_argv(argv, {}, "0.33.0")):
            refused.append(argv[3:])
    assert refused == [
        ["--tensor-paralel-size", "8"],
        ["--speculative-config", '{"method":"nonsense"}'],
        ["--compilation-config", '{"foo":1}'],
        ["--limit-mm-per-prompt", "image=2"],
        ["--kv-cache-dtype", "fp9"],
        ["--enable-auto-tool-choice"],
        ["--reasoning-parser", "qwen9"],
        ["--quantization", "nonsense"],
        ["--attention-backend", "NONSENSE"],
        ["--kv-transfer-config", '{"kv_connector":"Nope","kv_role":"kv_producer"}'],
        ["--gpu-memory-utilization", "1.5"],
    ]
