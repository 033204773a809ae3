"""Commands that were generated are told from runs on record, and those from mere reports."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path

import orjson
import yaml

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.documents import Evidence
from recipes_core.catalog.loader import load_catalog
from recipes_core.configuration import Configuration, configure
from recipes_core.deployment import deploy
from recipes_core.explorer.panels.head import status
from recipes_core.render.evidence import Standing, evidence_json, standing_of
from recipes_core.render.json import to_json
from recipes_core.render.markdown import to_markdown
from recipes_core.render.page import to_html
from tests.conftest import REPO

PEER = "recipes.vllm.ai data, 2026-08-21"
PEERS = "recipes.vllm.ai data, "
MODEL = "openai/gpt-oss-20b"


def with_evidence(config: Configuration, evidence: Evidence | None) -> Configuration:
    meta = config.entry.recipe.meta
    changed = meta.model_copy(
        update={"evidence": {config.hardware: evidence} if evidence else {}},
    )
    recipe = config.entry.recipe.model_copy(update={"meta": changed})
    catalog = load_catalog(REPO / "recipes")
    entry = type(config.entry)(MODEL, recipe, config.entry.source, config.entry.root)
    catalog.recipes[MODEL] = entry
    return configure(catalog, entry, config.selection)


def forms(config: Configuration) -> tuple[Standing, str, str, str]:
    deployment = deploy(config)
    return (
        standing_of(config),
        to_markdown(config, deployment),
        to_html(config, deployment),
        status(config, deployment)[0],
    )


def test_a_report_of_the_peer_is_called_a_report(ours: Catalog) -> None:
    config = configure(ours, MODEL, "hardware=h200")
    standing, markdown, html, chip = forms(config)
    assert (standing.state, chip) == ("reported", "rx-reported")
    assert PEER in standing.sentence
    assert "not documented" in standing.sentence
    assert "\nStatus: reported. Generated from" in markdown
    assert 'class="badge reported"' in html
    found = orjson.loads(orjson.dumps(to_json(config, deploy(config))["deployment"]))
    assert found["verified"] is True
    assert found["evidence"] == {"source": PEER, "date": None, "vllm": None, "documented": False}


def test_a_run_with_a_day_or_a_release_is_verified(ours: Catalog) -> None:
    config = configure(ours, MODEL, "hardware=h200")
    evidence = Evidence(source="log of <CI>", date=datetime.date(2026, 11, 3), vllm="0.32.0")
    standing, markdown, html, chip = forms(with_evidence(config, evidence))
    assert (standing.state, chip) == ("verified", "rx-verified")
    assert "on 2026-11-03 with vLLM 0.32.0" in standing.sentence
    assert "Status: verified." in markdown
    assert "<CI>" not in html
    data = evidence_json(with_evidence(config, evidence))
    assert data is not None
    assert data["documented"] is True
    assert standing_of(with_evidence(config, None)).state == "reported"


def test_no_run_is_generated(ours: Catalog) -> None:
    config = configure(ours, MODEL, "hardware=b300")
    standing, markdown, html, chip = forms(config)
    assert (standing.state, chip) == ("generated", "rx-generated")
    assert "Status: generated." in markdown
    assert 'class="badge generated"' in html
    found = to_json(config, deploy(config))["deployment"]
    assert (found["verified"], found["evidence"]) == (False, None)


def test_one_policy_holds_for_the_whole_catalog(ours: Catalog, shared: Path) -> None:
    """What the peer states as verified is so here, with the peer as its source; nothing else is."""
    counts: Counter[str] = Counter()
    stated: dict[str, set[str]] = {}
    for path in (shared / "upstream" / "models").glob("*/*.yaml"):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        hardware = data["meta"].get("hardware") or {}
        verified = {name for name, state in hardware.items() if state == "verified"}
        stated[f"{path.parent.name}/{path.stem}".casefold()] = verified & set(ours.hardware)
    for recipe_id, entry in ours.recipes.items():
        meta = entry.recipe.meta
        verified = {name for name, state in meta.hardware.items() if state == "verified"}
        assert verified == set(meta.evidence), recipe_id
        reported = {name for name, item in meta.evidence.items() if item.source.startswith(PEERS)}
        assert reported == stated.get(recipe_id.casefold(), set()), recipe_id
        assert all(
            meta.evidence[name].date is None and meta.evidence[name].vllm is None
            for name in reported
        ), f"{recipe_id}: the peer names neither the day nor the release of a run"
        counts["reported"] += len(reported)
        for name in verified - reported:  # of no snapshot: a page that can be opened, or a run
            item = meta.evidence[name]
            assert item.date or item.vllm or item.source.startswith("https://"), recipe_id
    assert counts["reported"] > 400
