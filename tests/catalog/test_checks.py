"""Checks across files: each kind of fault is found once, at its key and line."""

from __future__ import annotations

import datetime

import pytest

from recipes_core.catalog.checks import check_catalog
from recipes_core.catalog.checks.facts import declared_vram_gb, parameters
from recipes_core.catalog.checks.prose import bad_link
from recipes_core.catalog.loader import load_catalog

TODAY = datetime.date(2026, 11, 30)
RELEASED = ("0.11.0", "0.12.0", "0.33.0", "no version")


def _check(folder, **options):
    return check_catalog(folder.load(), released=RELEASED, today=TODAY, **options)


def test_a_sound_recipe_has_no_finding(folder):
    folder.add()
    assert _check(folder) == []


OVERRIDE = {"extra_args": ["--x"]}
CASES = {
    "support on unknown hardware": ("meta__hardware", {"h20": "verified"}, "unknown-hardware"),
    "default hardware": ("meta__default_hardware", "h10", "unknown-hardware"),
    "recipe overrides by id": ("hardware_overrides", {"h100": OVERRIDE}, "inert-key"),
    "recipe overrides by default": ("hardware_overrides", {"default": OVERRIDE}, "inert-key"),
    "recipe overrides unknown": ("hardware_overrides", {"hoper": OVERRIDE}, "unknown-hardware"),
    "variant overrides by default": (
        "variants__default__hardware_overrides",
        {"default": OVERRIDE},
        "inert-key",
    ),
    "variant image by generation": (
        "variants__default__hardware_overrides",
        {"hopper": {"docker_image": "x"}},
        "inert-key",
    ),
    "variant tp map": ("variants__default__tp", {"h2000": 4}, "unknown-hardware"),
    "variant gpus": ("variants__default__gpus", {"b2000": 4}, "unknown-hardware"),
    "variant hardware list": (
        "variants__default__supported_hardware",
        ["h100", "h1000"],
        "unknown-hardware",
    ),
    "variant architecture": (
        "variants__default__supported_hardware",
        ["arch:sm_9"],
        "unknown-architecture",
    ),
    "precision generation": (
        "variants__default__precision_hardware",
        {"generation": "hoper"},
        "unknown-generation",
    ),
    "image by brand": ("model__docker_image", {"nvdia": "x"}, "unknown-brand"),
    "image": ("variants__default__docker_image", "docker pull a/b:c", "bad-image"),
    "image of a brand": ("model__docker_image", {"amd": "a b"}, "bad-image"),
    "feature hardware": (
        "features__f",
        {"hardware": {"h9": "unsupported"}},
        "unknown-hardware",
    ),
    "mode overrides": (
        "features__f",
        {"modes": {"m": {"hardware_overrides": {"h9": {"args": []}}}}},
        "unknown-hardware",
    ),
    "mode variant": ("features__f", {"modes": {"m": {"variants": ["v"]}}}, "unknown-variant"),
    "default mode": ("features__f", {"modes": {"m": {}}, "default_mode": "n"}, "unknown-mode"),
    "feature strategy": ("features__f", {"strategies": ["single_tp"]}, "unknown-strategy"),
    "feature excludes": ("features__f", {"excludes": ["g"]}, "unknown-feature"),
    "opt-in": ("opt_in_features", ["f"], "unknown-feature"),
    "opt-in by generation": ("hardware_opt_in_features", {"hopper": []}, "inert-key"),
    "forced feature": ("variants__default__default_modes", {"f": "m"}, "unknown-feature"),
    "strategy": ("compatible_strategies", ["single_node_tp", "one"], "unknown-strategy"),
    "default strategy": ("default_strategy", "one", "unknown-strategy"),
    "override of a strategy": ("strategy_overrides", {"one": {}}, "unknown-strategy"),
    "override tp": (
        "strategy_overrides",
        {"single_node_tp": {"tp": {"h2": 1}}},
        "unknown-hardware",
    ),
    "override by brand": (
        "strategy_overrides",
        {"single_node_tp": {"hardware_overrides": {"default": OVERRIDE}}},
        "inert-key",
    ),
    "role by generation": (
        "strategy_overrides",
        {"single_node_tp": {"prefill": {"hardware_overrides": {"hopper": OVERRIDE}}}},
        "inert-key",
    ),
    "strategy hardware": (
        "strategy_hardware",
        {"single_node_tp": {"h2": "supported"}},
        "unknown-hardware",
    ),
    "floor of GPUs": ("strategy_min_gpus", {"h2": 16}, "unknown-hardware"),
    "KV option": ("kv_offload_support", {"simpel": "verified"}, "unknown-kv-option"),
    "KV store": ("kv_cache_strategy_hardware", {"store": {}}, "unknown-kv-option"),
    "task": ("meta__tasks", ["txt"], "unknown-task"),
    "platform": ("meta__platforms", [{"id": "moon"}], "unknown-platform"),
    "related": ("meta__related_recipes", ["org/nowhere"], "related-dead"),
    "related to itself": ("meta__related_recipes", ["org/repo"], "related-self"),
    "dependency brand": ("dependencies", [{"command": "x", "brand": "Nvdia"}], "unknown-brand"),
    "no default variant": (
        "variants",
        {"fp8": {"precision": "fp8", "vram_minimum_gb": 10}},
        "no-default",
    ),
    "size in base_args": ("model__base_args", ["-tp", "8"], "size-in-args"),
    "size in a variant": (
        "variants__default__extra_args",
        ["--tensor-parallel-size=8"],
        "size-in-args",
    ),
    "size in a feature": ("features__f", {"args": ["--nnodes", "2"]}, "size-in-args"),
    "flag and value": ("model__base_args", ["--max-model-len auto"], "flag-with-value"),
    "underscore": ("model__base_args", ["--max_model_len", "auto"], "underscore-flag"),
    "twice": ("model__base_args", ["--a.b=1", "--c", "--a.b", "2"], "duplicate-flag"),
    "value without a flag": ("model__base_args", ["8", "--x"], "stray-value"),
    "broken JSON": ("model__base_args", ["--x", '{"a": }'], "bad-json"),
    "name of a variable": ("model__base_env", {"A B": "1"}, "bad-variable"),
    "model and path": ("model__model_id", "other/model", "model-id"),
    "case of the model": ("model__model_id", "Org/Repo", "model-id"),
    "memory below weights": ("variants__default__vram_minimum_gb", 10, "vram-below-weights"),
    "memory off the rule": ("variants__default__vram_minimum_gb", 40, "vram-formula"),
    "memory unknown": ("variants__default__vram_minimum_gb", 0, "vram-unknown"),
    "nightly as a version": ("model__min_vllm_version", "nightly", "nightly-version"),
    "a nightly that is released": ("model__nightly_required", True, "stale-nightly"),
    "a floor to come": ("model__min_vllm_version", "0.34.0", "unreleased-floor"),
    "an image older than the floor": (
        "model__docker_image",
        {"nvidia": "vllm/vllm-openai:v0.10.2"},
        "image-below-floor",
    ),
    "a date to come": ("meta__date_added", datetime.date(2026, 12, 1), "future-date"),
    "broken link": ("meta__links", {"x": "http://no host/"}, "bad-link"),
    "link in a guide": ("guide", "## A\n\n[x](../up)\n", "bad-link"),
    "heading order": ("guide", "## A\n\n#### B\n", "heading-order"),
    "heading twice": ("guide", "## A\n\n## A\n", "heading-twice"),
    "first heading": ("guide", "### A\n", "heading-order"),
    "left-over": ("guide", "## A\n\nThroughput: xxx tokens\n", "placeholder"),
    "flag in a guide": (
        "guide",
        "## A\n\n```bash\nvllm serve x --max_model_len 1\n```\n",
        "underscore-flag",
    ),
    "shell in a guide": ("guide", "## A\n\n```bash\nvllm serve 'x\n```\n", "guide-shell"),
    "two defaults": (
        "presets",
        {
            name: {
                "label": name,
                "hardware": "h100",
                "strategy": "single_node_tp",
                "default": True,
            }
            for name in "ab"
        },
        "two-defaults",
    ),
    "preset hardware": (
        "presets",
        {"a": {"label": "A", "hardware": "h9", "strategy": "single_node_tp"}},
        "unknown-hardware",
    ),
    "preset GPUs": (
        "presets",
        {"a": {"label": "A", "hardware": "h100", "strategy": "single_node_tp", "gpus": 9}},
        "preset-gpus",
    ),
    "preset nodes": (
        "presets",
        {"a": {"label": "A", "hardware": "h100", "strategy": "single_node_tp", "nodes": 2}},
        "preset-nodes",
    ),
    "note": (
        "notes",
        [{"title": "T", "body": "B", "when": {"precision": "fp9"}}],
        "unknown-precision",
    ),
    "both on": (
        "features",
        {"text_only": {"args": ["--x"]}, "encoder_parallel": {"args": ["--y"]}},
        "both-on",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fault_is_found_where_it_stands(folder, case):
    key, value, code = CASES[case]
    path = folder.add(**{key: value})
    findings = _check(folder)
    assert [finding.code for finding in findings] == [code]
    (finding,) = findings
    assert finding.source == str(path)
    assert finding.line is not None
    words = [part.split("[")[0] for part in finding.where.split(".")]
    around = "\n".join(path.read_text().splitlines()[max(finding.line - 3, 0) : finding.line + 1])
    assert any(word in around for word in reversed(words))


def test_severities(folder):
    folder.add("org/a", meta__hardware={"h20": "verified"}, model__base_args=["--a_b"])
    assert {f.code: f.severity for f in _check(folder)} == {
        "unknown-hardware": "error",
        "underscore-flag": "warning",
    }


def test_two_recipes_with_one_slug_or_one_model(folder):
    folder.add("org/a", meta__slug="same")
    folder.add("org/b", meta__slug="same", model__model_id="org/a")
    assert {f.code for f in _check(folder)} == {"duplicate-slug", "model-id", "duplicate-model"}


def test_without_releases_nothing_is_said_of_nightlies(folder):
    folder.add(model__nightly_required=True)
    assert check_catalog(folder.load(), today=TODAY) == []


def test_sizes_in_an_omni_recipe_are_its_own(folder):
    folder.vocabulary(tasks=[{"id": "omni", "display_name": "Omni"}])
    folder.add(
        meta__tasks=["omni"],
        model__base_args=["--tensor-parallel-size", "2"],
        omni={"tasks": ["t2i"]},
    )
    assert _check(folder) == []


def test_evidence_is_asked_of_our_own_recipes_only(folder, monkeypatch):
    folder.add(meta__hardware={"h100": "verified"})
    assert _check(folder) == []
    monkeypatch.setattr("recipes_core.catalog.checks.is_builtin", lambda _root: True)
    assert [f.code for f in _check(folder)] == ["no-evidence"]


def test_problems_of_loading_come_first(folder):
    folder.write("models/org/bad.yaml", "- 1\n")
    folder.add("org/repo", meta__hardware={"h20": "verified"})
    found = check_catalog(folder.load(on_error="collect"), today=TODAY)
    assert [finding.code for finding in found] == ["unreadable", "unknown-hardware"]


def test_a_vocabulary_is_checked_too(folder):
    folder.vocabulary(
        strategies=["single_node_tp", "single_node_dep", "lost"],
        kv_offload={"simple": {"display_name": "S", "group": "none", "brands": ["Nvdia"]}},
    )
    folder.write(
        "strategies/odd.yaml",
        "name: odd\ndeploy_type: single_node\ndisplay_name: Odd\n"
        "vllm_args: [--tensor-parallel-size, 8]\nhardware_overrides: {h9: {}}\n",
    )
    codes = sorted(finding.code for finding in _check(folder))
    assert codes == [
        "size-in-args",
        "unknown-brand",
        "unknown-group",
        "unknown-hardware",
        "unknown-strategy",
    ]


def test_what_is_wrong_in_the_peers_data_comes_out(upstream):
    findings = check_catalog(upstream, today=datetime.date(2026, 8, 21))
    counts: dict[str, set[str]] = {}
    for finding in findings:
        recipe = finding.source.rsplit("models/", 1)[-1].removesuffix(".yaml")
        counts.setdefault(finding.code, set()).add(recipe)
    assert counts["unknown-hardware"] == {
        "inclusionAI/Ling-3.0-flash",
        "nvidia/Cosmos3-Nano",
        "nvidia/Cosmos3-Super",
        "nvidia/Cosmos3-Super-Image2Video",
        "tencent/Hy3-preview",
    }
    assert len(counts["model-id"]) == 9
    assert counts["flag-with-value"] == {"XiaomiMiMo/MiMo-V2.5-Pro"}
    assert {"inclusionAI/Ring-1T-FP8", "MiniMaxAI/MiniMax-M2.5"} <= counts["size-in-args"]
    assert len(counts["size-in-args"]) >= 15
    assert not any("vocabulary" in finding.source for finding in findings)


def test_our_own_catalog_has_no_error_and_no_warning():
    findings = check_catalog(load_catalog(on_error="collect"), released=RELEASED)
    assert [str(finding) for finding in findings if finding.severity != "info"] == []


@pytest.mark.parametrize(
    ("count", "precision", "gb"),
    [(311e9, "fp8", 374), (70e9, "bf16", 168), (8e9, "nvfp4", 5), (1e9, "int2/4/8", None)],
)
def test_the_peers_rule_for_memory(count, precision, gb):
    assert declared_vram_gb(count, precision) == gb


@pytest.mark.parametrize(
    ("text", "number"), [("30.5B", 30.5e9), ("1T", 1e12), ("230M", 230e6), ("Undisclosed", None)]
)
def test_a_parameter_count_is_read(text, number):
    assert parameters(text) == number


@pytest.mark.parametrize(
    ("address", "wrong"),
    [
        ("https://huggingface.co/a/b", None),
        ("#tuning", None),
        ("mailto:a@b.c", None),
        ("javascript:alert(1)", "is not an https address"),
        ("https://", "names no host"),
        ("https://a b", "holds a space"),
        ("../x", "is not an https address"),
    ],
)
def test_the_form_of_links(address, wrong):
    assert bad_link(address) == wrong
