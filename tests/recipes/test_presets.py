"""ERNIE-5.5-Flash: the 21 presets of the second seed, one by one, and what they render."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.render.clients import clients_of
from recipes_core.render.shell import script

FLASH = "baidu/ERNIE-5.5-Flash"
SEED_LINE = re.compile(r"- `(\w+)` — (.+) \((\w+) · (.+) · (default|opt-in)\): `([^`]+)`")


@pytest.fixture(scope="module")
def seed(shared: Path) -> str:
    return (shared / "seeds" / "ernie-5.5-flash.gb200_low_latency.md").read_text(encoding="utf-8")


def blocks(page: str, heading: str) -> list[str]:
    """The fenced blocks below a heading, up to the next one of its level or above."""
    level = heading.split(" ", maxsplit=1)[0]
    part = page.split(f"\n{heading}\n", 1)[1]
    part = re.split(rf"\n#{{1,{len(level)}}} ", part, maxsplit=1)[0]
    return [block.strip() for block in re.findall(r"```bash\n(.*?)```", part, re.DOTALL)]


def test_presets_are_those_of_the_seed_in_its_order(ours: Catalog, seed: str) -> None:
    lines = SEED_LINE.findall(seed)
    assert len(lines) == 21
    recipe = ours.recipes[FLASH].recipe
    assert list(recipe.presets) == [line[0] for line in lines]
    for key, label, hardware, short, default, query in lines:
        preset = recipe.presets[key]
        assert (preset.label, preset.hardware) == (label, hardware)
        assert ours.strategies[preset.strategy].short_name == short
        assert preset.default is (default == "default")
        config = configure(ours, FLASH, query)
        assert config.preset_id == key
        assert not config.adjustments


def test_the_seed_is_rendered_to_the_character(ours: Catalog, seed: str) -> None:
    deployment = deploy(configure(ours, FLASH))
    engine, router = deployment.processes
    assert script(engine) == blocks(seed, "## Serve")[0]
    assert script(router) == blocks(seed, "### vLLM Router (start after vLLM)")[0]
    install = ours.recipes[FLASH].recipe.model.install["pip"]
    assert install
    assert install.command == blocks(seed, "## Install")[0]


GPUS = {
    ("b300", "default"): 2,
    ("gb300", "default"): 2,
    ("b200", "default"): 4,
    ("gb200", "default"): 4,
    ("h100", "default"): 8,
    ("b300", "bf16"): 4,
    ("gb300", "bf16"): 4,
    ("b200", "bf16"): 8,
    ("gb200", "bf16"): 8,
    ("h100", "bf16"): 16,
}
"""The seed's table: GPUs that hold a checkpoint."""


@pytest.mark.parametrize(("hardware", "variant"), GPUS)
def test_a_checkpoint_takes_the_gpus_of_the_table(
    ours: Catalog, hardware: str, variant: str
) -> None:
    config = configure(ours, FLASH, f"hardware={hardware}&variant={variant}")
    engines = [process for process in deploy(config).processes if process.is_engine]
    at = engines[0].argv.index("--data-parallel-size")
    assert int(engines[0].argv[at + 1]) == GPUS[hardware, variant]
    assert ("humming" in engines[0].argv) is (variant == "default" and hardware != "h100")


def test_each_preset_says_what_it_drafts(ours: Catalog) -> None:
    for key, preset in ours.recipes[FLASH].recipe.presets.items():
        for variant in preset.variants:
            config = configure(ours, FLASH, f"preset={key}&variant={variant}")
            engines = [p for p in deploy(config).processes if p.is_engine]
            drafts = {"mtp": 0, "dspark": 0}
            for process in engines:
                for method in drafts:
                    drafts[method] += f'"method":"{method}"' in " ".join(process.argv)
            wanted = len(engines) if key.endswith("low_latency") else 0
            method = "dspark" if variant == "flash" else "mtp"
            assert drafts[method] == wanted, key
            assert sum(drafts.values()) == wanted, key


def test_simple_offload_asks_a_tray_for_less(ours: Catalog) -> None:
    for hardware, size in (("gb200", 137438953472), ("gb300", 236223201280)):
        config = configure(ours, FLASH, f"hardware={hardware}&kv_offload=simple")
        assert config.kv_offload == "simple"
        assert f'"cpu_bytes_to_use_per_rank":{size}' in " ".join(deploy(config).processes[0].argv)


def test_what_the_seed_does_not_offer_is_refused(ours: Catalog) -> None:
    for query in (
        "kv_offload=lmcache",
        "kv_offload=kv_store_centralized_mooncake",
        "kv_offload=offloading_cpu",
        "hardware=h200",
        "hardware=b200&strategy=pd_cluster",
        "features=reasoning&variant=bf16",
    ):
        config = configure(ours, FLASH, query)
        said = [axis.axis for axis in config.adjustments]
        assert said or "--reasoning-parser" not in deploy(config).processes[0].argv, query


def test_the_base_model_completes_and_the_chat_model_chats(ours: Catalog) -> None:
    for variant, path in (("default", "/v1/completions"), ("flash", "/v1/chat/completions")):
        config = configure(ours, FLASH, f"variant={variant}")
        assert f"http://localhost:8000{path}" in clients_of(deploy(config)).curl
