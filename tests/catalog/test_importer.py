"""Keeping up with the peer: facts in, prose out, edits of ours respected."""

from __future__ import annotations

import datetime
import json

import pytest

from recipes_core.catalog.checks import check_catalog
from recipes_core.catalog.importer import MANIFEST, difference, import_catalog
from recipes_core.catalog.loader import load_catalog
from recipes_core.catalog.yaml_reader import parse_yaml
from recipes_core.errors import RecipesError

DAY = datetime.date(2026, 8, 21)
RELEASED = ("0.11.0", "0.33.0")


@pytest.fixture
def peer(folder):
    folder.add(
        "org/one",
        meta__description="Words of somebody else that must not travel.",
        meta__hardware={"h100": "verified"},
        guide="## Theirs\n",
        features={"f": {"description": "Also theirs.", "args": ["--x", "1"]}},
    )
    return folder


@pytest.fixture
def ours(new_folder):
    return new_folder("ours")


def take(peer, ours, **options):
    return import_catalog(peer.root, ours.root, as_of=DAY, released=RELEASED, **options)


def kinds(report):
    return [(change.kind, change.recipe) for change in report.changes]


def recipe_of(ours, name="org/one"):
    return parse_yaml((ours.root / f"models/{name}.yaml").read_text(), name)


def test_a_first_import_makes_a_catalog_of_facts(peer, ours):
    report = take(peer, ours)
    assert ("new", "org/one") in kinds(report)
    assert "models/org/one.yaml" in report.written
    catalog = load_catalog(ours.root, strict=True)
    recipe = catalog.recipes["org/one"].recipe
    assert recipe.features["f"].args == ("--x", "1")
    assert recipe.meta.evidence["h100"].source == "recipes.vllm.ai data, 2026-08-21"
    text = (ours.root / "models/org/one.yaml").read_text()
    assert "somebody else" not in text
    assert "heirs" not in text


def test_nothing_changed_writes_nothing(peer, ours):
    take(peer, ours)
    before = {path: path.read_bytes() for path in ours.root.rglob("*.*")}
    report = take(peer, ours)
    assert (report.unchanged, report.written, report.changes) == (1, [], [])
    assert {path: path.read_bytes() for path in ours.root.rglob("*.*")} == before


def test_prose_and_comments_of_ours_survive_a_change_of_theirs(peer, ours):
    take(peer, ours)
    path = ours.root / "models/org/one.yaml"
    text = path.read_text().replace("  f:\n", "  f:\n    description: Ours.\n")
    path.write_text(f"# Kept.\n{text}\nguide: |\n  ## Our guide\n")
    peer.add(
        "org/one",
        meta__hardware={"h100": "verified"},
        features={"f": {"description": "New of theirs.", "args": ["--x", "2"]}},
    )
    report = take(peer, ours)
    assert kinds(report) == [("changed", "org/one")]
    assert report.changes[0].detail == "features.f.args: - 1, + 2"
    data = recipe_of(ours)
    assert data["features"]["f"] == {"description": "Ours.", "args": ["--x", "2"]}
    assert data["guide"] == "## Our guide\n"
    assert path.read_text().startswith("# Kept.\n")


def test_what_we_edited_is_reported_and_left_alone(peer, ours):
    take(peer, ours)
    path = ours.root / "models/org/one.yaml"
    path.write_text(path.read_text().replace("'1'", "'7'"))
    peer.add(
        "org/one",
        meta__hardware={"h100": "verified"},
        features={"f": {"args": ["--x", "2"]}, "g": {"args": ["--new"]}},
    )
    report = take(peer, ours)
    assert sorted(kinds(report)) == [("changed", "org/one"), ("conflict", "org/one")]
    data = recipe_of(ours)
    assert data["features"] == {"f": {"args": ["--x", "7"]}, "g": {"args": ["--new"]}}
    assert take(peer, ours).changes == []


def test_a_label_of_ours_is_no_edit_of_their_facts(peer, ours):
    take(peer, ours)
    path = ours.root / "models/org/one.yaml"
    path.write_text(path.read_text().replace("  f:\n", "  f:\n    label: Fast\n"))
    peer.add("org/one", meta__hardware={"h100": "verified"}, features={"f": {"args": ["--y"]}})
    report = take(peer, ours)
    assert [change.detail for change in report.changes] == ["features.f.args: - --x 1, + --y"]
    assert kinds(report) == [("changed", "org/one")]
    assert recipe_of(ours)["features"]["f"] == {"label": "Fast", "args": ["--y"]}


def test_a_statement_keeps_the_day_on_which_it_was_first_seen(peer, ours):
    take(peer, ours)
    peer.add("org/one", meta__hardware={"h100": "verified", "b200": "verified"})
    later = datetime.date(2026, 10, 1)
    import_catalog(peer.root, ours.root, as_of=later, released=RELEASED)
    sources = {h: e["source"] for h, e in recipe_of(ours)["meta"]["evidence"].items()}
    assert sources == {
        "h100": "recipes.vllm.ai data, 2026-08-21",
        "b200": "recipes.vllm.ai data, 2026-10-01",
    }


def test_a_section_that_the_peer_dropped_goes(peer, ours):
    take(peer, ours)
    peer.add("org/one", meta__hardware={"h100": "verified"})
    take(peer, ours)
    assert "f" not in recipe_of(ours).get("features", {})


def test_a_recipe_that_was_ours_first_is_adopted_untouched(peer, ours):
    path = ours.add("Org/One", meta__title="Ours")
    before = path.read_bytes()
    report = take(peer, ours)
    assert ("new", "org/one") not in kinds(report)
    assert path.read_bytes() == before
    peer.add("org/one", meta__title="Theirs, renamed")
    report = take(peer, ours)
    assert ("conflict", "org/one") in kinds(report)
    assert path.read_bytes() == before


def test_a_recipe_that_the_peer_dropped_is_named_and_kept(peer, ours):
    take(peer, ours)
    (peer.root / "models/org/one.yaml").unlink()
    report = take(peer, ours)
    assert kinds(report) == [("gone", "org/one")]
    assert (ours.root / "models/org/one.yaml").is_file()
    assert take(peer, ours).changes == []


def test_a_dry_run_writes_nothing(peer, ours):
    report = take(peer, ours, write=False)
    assert ("new", "org/one") in kinds(report)
    assert list(ours.root.rglob("*")) == []


def test_a_broken_or_newer_recipe_is_skipped_or_trimmed(peer, ours):
    peer.write("models/org/broken.yaml", "a: [\n")
    peer.add("org/invalid", model__architecture="quantum")
    peer.add("org/newer", meta__mood="good")
    report = take(peer, ours)
    assert {r for k, r in kinds(report) if k == "skipped"} == {"org/broken", "org/invalid"}
    assert report.corrections["org/newer"] == ["meta.mood: a key that we do not know was left out"]
    assert set(load_catalog(ours.root, strict=True).recipes) == {"org/one", "org/newer"}


CORRECTIONS = {
    "size of a variant": (
        {"variants__default__extra_args": ["--a", "--tensor-parallel-size", "8", "--b", "1"]},
        lambda r: (r["variants"]["default"]["tp"], r["variants"]["default"]["extra_args"]),
        (8, ["--a", "--b", "1"]),
    ),
    "size of the model": (
        {"model__base_args": ["-tp", "8"]},
        lambda r: (r["strategy_overrides"]["single_node_tp"]["tp"], r["model"].get("base_args")),
        (8, None),
    ),
    "size of one generation": (
        {
            "hardware_overrides": {"amd": {"extra_args": ["--tensor-parallel-size", "2"]}},
            "strategy_overrides": {"single_node_tp": {"tp": 4}},
        },
        lambda r: (
            r["strategy_overrides"]["single_node_tp"]["tp"],
            r.get("hardware_overrides"),
        ),
        ({"default": 4, "amd": 2}, None),
    ),
    "size of a layout": (
        {
            "strategy_overrides": {
                "single_node_dep": {"extra_args": ["--data-parallel-size", "4", "--x"]}
            }
        },
        lambda r: r["strategy_overrides"]["single_node_dep"]["extra_args"],
        ["--x"],
    ),
    "flag and value": (
        {"model__base_args": ["--max-model-len auto"]},
        lambda r: r["model"]["base_args"],
        ["--max-model-len", "auto"],
    ),
    "underscores": (
        {"model__base_args": ["--attention_config.use_x=True", "a_b"]},
        lambda r: r["model"]["base_args"],
        ["--attention-config.use_x=True", "a_b"],
    ),
    "image": (
        {"variants__default__docker_image": "docker pull a/b:c"},
        lambda r: r["variants"]["default"]["docker_image"],
        "a/b:c",
    ),
    "a nightly that is out": (
        {"model__nightly_required": True},
        lambda r: r["model"].get("nightly_required"),
        None,
    ),
    "a nightly that is not": (
        {"model__nightly_required": True, "model__min_vllm_version": "0.34.0"},
        lambda r: r["model"]["nightly_required"],
        True,
    ),
    "unknown hardware": (
        {"meta__hardware": {"h20": "verified", "h100": "supported"}},
        lambda r: r["meta"]["hardware"],
        {"h100": "supported"},
    ),
    "model and path": (
        {
            "model__model_id": "org/repo-NVFP4",
            "variants__other": {
                "precision": "fp8",
                "vram_minimum_gb": 10,
                "model_id": "org/x",
            },
        },
        lambda r: (
            r["model"]["model_id"],
            [v["model_id"] for v in r["variants"].values()],
        ),
        ("org/repo", ["org/repo-NVFP4", "org/x"]),
    ),
    "dates": (
        {
            "meta__date_added": datetime.date(2026, 2, 1),
            "meta__date_updated": datetime.date(2026, 1, 1),
        },
        lambda r: r["meta"]["date_updated"],
        datetime.date(2026, 2, 1),
    ),
    "related": (
        {"meta__related_recipes": ["ORG/repo", "org/gone"]},
        lambda r: r["meta"]["related_recipes"],
        ["org/repo"],
    ),
    "what is empty": (
        {"features": {}, "model__base_env": {}, "model__install": {"docker": {}, "pip": False}},
        lambda r: ("features" in r, "base_env" in r["model"], r["model"]["install"]),
        (False, False, {"docker": {}, "pip": False}),
    ),
}


@pytest.mark.parametrize("case", CORRECTIONS)
def test_each_kind_of_fault_is_mended_once(folder, ours, case):
    changes, look, expected = CORRECTIONS[case]
    folder.add(**changes)
    take(folder, ours)
    assert look(recipe_of(ours, "org/repo")) == expected
    catalog = load_catalog(ours.root)
    codes = {f.code for f in check_catalog(catalog, released=RELEASED)} - {
        "unreleased-floor",
        "related-self",
    }
    assert codes <= {"vram-formula"}


def test_a_folder_that_differs_in_case_takes_the_models_spelling(folder, ours):
    folder.add("Org/Repo", model__model_id="org/Repo")
    take(folder, ours)
    assert list(load_catalog(ours.root).recipes) == ["org/Repo"]


def test_sentences_of_a_request_are_ours(folder, ours):
    curl = (
        "curl http://localhost:8000/v1/audio/speech -d '{\n"
        '  "model": "org/repo",\n'
        '  "input": "A sentence that somebody else has written down.",\n'
        '  "voice": "demo"\n}\' --output x.wav\n'
    )
    folder.add(meta__tasks=["omni"], omni={"tasks": [{"id": "t2a", "curl": curl}]})
    take(folder, ours)
    text = recipe_of(ours, "org/repo")["omni"]["tasks"][0]["curl"]
    assert "somebody else" not in text
    assert '"model": "org/repo",\n' in text
    assert '"voice": "demo"' in text
    assert text.endswith("--output x.wav\n")


def test_a_catalog_is_not_imported_into_itself(peer):
    with pytest.raises(RecipesError, match="into itself"):
        take(peer, peer)


def test_vocabulary_that_ours_lacks_is_named(peer, ours):
    ours.write("taxonomy.yaml", {"hardware_profiles": {}, "tasks": []})
    report = take(peer, ours)
    assert ("vocabulary", "taxonomy.yaml") in kinds(report)
    assert "hardware_profiles.h100 is not in ours" in {c.detail for c in report.changes}


def test_the_manifest_holds_hashes_and_no_fact(peer, ours):
    take(peer, ours)
    stored = json.loads((ours.root / MANIFEST).read_text())
    entry = stored["recipes"]["org/one"]
    assert set(entry) == {"peer", "sections"}
    assert all(len(value) == 12 for value in entry["sections"].values())


def test_the_whole_peer_becomes_a_catalog_without_errors(shared, ours):
    report = import_catalog(
        shared / "upstream", ours.root, as_of=DAY, released=("0.11.0", "0.33.0")
    )
    assert len([change for change in report.changes if change.kind == "new"]) >= 173
    catalog = load_catalog(ours.root, strict=True)
    assert len(catalog.recipes) == 173
    errors = [f for f in check_catalog(catalog) if f.severity == "error"]
    assert errors == []


def test_differences_read_like_a_change():
    assert difference({"a": ["--x", "1"], "b": 1}, {"a": ["--y", "1"], "c": "w"}) == [
        "a: - --x, + --y",
        "b: 1 -> nothing",
        "c: nothing -> 'w'",
    ]
    assert difference({"a": ["x", "y"]}, {"a": ["y", "x"]}) == ["a: another order"]
