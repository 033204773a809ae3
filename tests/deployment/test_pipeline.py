"""How many GPUs a pipeline takes, by its own options."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recipes_core import configure, deploy, load_catalog
from recipes_core.deployment.pipeline import Ranks, ranks_of
from recipes_core.render.beside import REFUSED, command_findings, findings_key
from recipes_core.render.declared import declared_verdict, gpus_taken

MINIMAX = "MiniMaxAI/MiniMax-H3"
COSMOS = "nvidia/Cosmos3-Super"


@pytest.mark.parametrize(
    ("options", "ranks"),
    [
        ("--num-gpus 4 --usp 4 --ring 1", Ranks(4, 1)),
        ("--num-gpus 4 -tp 2 --ulysses-degree=2", Ranks(4, 2)),
        ("--usp 2 --ring 2 --cfg-parallel-size 2", Ranks(8, 1)),
        ("--num-gpus 2 --usp 4", Ranks(4, 1)),
        ("--num-gpus 8 -tp 2", Ranks(8, 2)),
        ("--allgather-degree 4", Ranks(4, 1)),
        ("--use-hsdp --hsdp-shard-size 8", Ranks(8, 8)),
        ("--use-hsdp --hsdp-shard-size 4 --hsdp-replicate-size 2", Ranks(8, 4)),
        ("--use-hsdp --usp 4 --hsdp-replicate-size 2", Ranks(4, 2)),
        ("--cfg-parallel-size 2 --ulysses-degree 4 --use-hsdp --hsdp-shard-size 8", Ranks(8, 8)),
        ("", None),
        ("-tp 2", None),
        ("--usp $DEGREE", None),
        ("--usp 0", None),
        ("--usp 4 --use-hsdp --hsdp-replicate-size 0", None),
        ("--usp 2 --deploy-config stages.yaml", None),
    ],
)
def test_ranks_are_those_of_the_diffusion_engine(options, ranks):
    assert ranks_of(["vllm", "serve", "m", *options.split(), "--omni"]) == ranks


@pytest.mark.parametrize(
    ("recipe", "hardware", "gpus", "kind", "told"),
    [
        (MINIMAX, "h200", 4, "unknown", "4× H200 have 564 GB, one has 141 GB"),
        (MINIMAX, "mi355x", 4, "fits", "4× MI355X have 1,152 GB"),
        (MINIMAX, "rtx_pro_5000_4x", 4, "fits", "4× RTX PRO 5000 Blackwell 4x have 288 GB"),
        (COSMOS, "h200", 8, "fits", "8× H200 have 1,128 GB"),
        (COSMOS, "gb200", 4, "fits", "4× GB200 NVL4 have 768 GB"),
    ],
)
def test_the_verdict_counts_the_gpus_that_a_pipeline_takes(recipe, hardware, gpus, kind, told):
    catalog = load_catalog(only=[recipe])
    deployment = deploy(configure(catalog, recipe, f"hardware={hardware}"))
    assert gpus_taken(deployment) == gpus
    verdict = declared_verdict(deployment)
    assert verdict.kind == kind
    assert told in verdict.detail


def test_a_pipeline_that_asks_for_more_gpus_than_there_are_would_not_start():
    catalog = load_catalog(only=[COSMOS])
    told = "its options ask for 8 GPUs, 4× H200 are there"
    deployment = deploy(configure(catalog, COSMOS, "hardware=4xH200"))
    assert (declared_verdict(deployment).kind, declared_verdict(deployment).detail) == (
        "refused",
        told,
    )
    errors = [f.message for f in command_findings(deployment) if f.code == REFUSED]
    assert errors == [f"the engine would not start: {told}"]
    whole = deploy(configure(catalog, COSMOS, "hardware=h200"))
    assert not [f for f in command_findings(whole) if f.code == REFUSED]
    # A site checks commands that are the same once: these are, and only one of them starts.
    assert whole.first_engine.argv == deployment.first_engine.argv
    assert findings_key(whole) != findings_key(deployment)


def test_weights_that_are_split_among_some_of_the_gpus_have_to_fit_those():
    catalog = load_catalog(only=[COSMOS])
    deployment = deploy(configure(catalog, COSMOS, "hardware=h100"))
    engine = deployment.first_engine
    engine.argv = ["vllm", "serve", COSMOS, "-tp", "1", "--usp", "8", "--omni"]
    verdict = declared_verdict(deployment)
    assert verdict.word == "One GPU is not enough as declared"
    assert verdict.detail.endswith("one has 80 GB: by its options the weights are not split")
    engine.argv = ["vllm", "serve", COSMOS, "-tp", "2", "--usp", "4", "--omni"]
    assert declared_verdict(deployment).kind == "fits"
    half = deployment.configuration.profile.model_copy(update={"vram_gb": 320})
    deployment.configuration = replace(deployment.configuration, profile=half)
    verdict = declared_verdict(deployment)
    assert verdict.word == "2 GPUs are not enough as declared"
    assert verdict.detail.endswith("2 have 80 GB: by its options the weights are split among 2")
