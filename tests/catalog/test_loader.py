"""Catalogs from folders: stacking, own and foreign, faults with their place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recipes_core.catalog.loader import builtin_dir, load_catalog
from recipes_core.errors import CatalogError, UnknownRecipeError

from .conftest import TAXONOMY, recipe


def test_the_peers_whole_catalog_loads_without_a_problem(upstream):
    assert len(upstream.recipes) == 173
    assert upstream.problems == []
    assert len(upstream.kv_stores) == 2
    assert list(upstream.strategies)[:3] == [
        "single_node_tp",
        "single_node_tep",
        "single_node_dep",
    ]
    assert upstream.platforms["modal"].name == "Modal"


def test_our_own_catalog_loads_strictly():
    catalog = load_catalog()
    assert catalog.problems == []
    assert catalog.roots == {"builtin": builtin_dir()}
    assert len(catalog.recipes) >= 169


def test_an_entry_knows_where_it_comes_from(folder):
    folder.add("org/repo")
    entry = folder.load().recipes["org/repo"]
    assert entry.source == "models/org/repo.yaml"
    assert entry.root == str(folder.root)


def test_the_later_folder_wins_by_recipe_and_vocabulary_id(folder, new_folder):
    folder.add("org/one", meta__title="below")
    folder.add("org/two", meta__title="below")
    above = new_folder("above")
    above.add("Org/ONE", meta__title="above")
    h100 = {**TAXONOMY["hardware_profiles"]["h100"], "display_name": "ours"}
    mine = {**h100, "display_name": "mine"}
    above.write("taxonomy.yaml", {"hardware_profiles": {"h100": h100, "mine": mine}})
    above.write(
        "strategies/extra.yaml", "name: extra\ndeploy_type: single_node\ndisplay_name: Extra\n"
    )
    catalog = load_catalog(folder.root, above.root)
    assert {id_: e.recipe.meta.title for id_, e in catalog.recipes.items()} == {
        "Org/ONE": "above",
        "org/two": "below",
    }
    assert list(catalog.hardware) == ["h100", "b200", "mi300x", "mine"]
    assert catalog.hardware["h100"].display_name == "ours"
    assert list(catalog.strategies) == ["single_node_tp", "single_node_dep", "extra"]


def test_builtin_names_ours_under_a_folder_without_a_vocabulary(new_folder):
    mine = new_folder("mine")
    mine.add("me/model")
    catalog = load_catalog("builtin", mine.root)
    assert catalog.find("me/model").entry.root == str(mine.root)
    assert catalog.find("deepseek-ai/DeepSeek-V4-Pro").entry.root == "builtin"
    with pytest.raises(CatalogError, match=r"no taxonomy.yaml; stack it on ours: builtin"):
        load_catalog(mine.root)


def test_a_checkout_with_the_catalog_in_recipes_is_found(folder):
    folder.add()
    (folder.root.parent / "checkout").mkdir()
    folder.root.rename(folder.root.parent / "checkout" / "recipes")
    assert list(load_catalog(folder.root.parent / "checkout").recipes) == ["org/repo"]


def test_a_missing_folder_names_the_nearest(folder):
    with pytest.raises(CatalogError, match=r"no such folder; did you mean .*catalog\?"):
        load_catalog(folder.root.parent / "catalogs")


def test_a_folder_with_no_catalog_and_a_file_are_refused(tmp_path):
    with pytest.raises(CatalogError, match="no catalog here"):
        load_catalog(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(CatalogError, match="is not a folder"):
        load_catalog(tmp_path / "file")


def test_an_unknown_key_is_left_out_of_a_foreign_recipe_with_a_warning(folder):
    folder.write(
        "models/org/repo.yaml",
        recipe("org/repo", meta__hardwere={"h100": "verified"}, novelty={"a": [1]}),
    )
    catalog = folder.load()
    assert catalog.recipes["org/repo"].recipe.meta.title == "Repo"
    found = {finding.where: finding for finding in catalog.problems}
    assert set(found) == {"meta.hardwere", "novelty"}
    near = found["meta.hardwere"]
    assert (near.severity, near.code) == ("warning", "unknown-key")
    assert "did you mean 'hardware'?" in near.message
    assert near.source == f"{folder.root}/models/org/repo.yaml"
    text = (folder.root / "models/org/repo.yaml").read_text().splitlines()
    assert near.line is not None
    assert "hardwere" in text[near.line - 1]


def test_an_unknown_key_is_an_error_where_asked_to_be_strict(folder):
    folder.write("models/org/repo.yaml", recipe("org/repo", meta__hardwere={}))
    with pytest.raises(CatalogError, match="unknown key 'hardwere'") as caught:
        folder.load(strict=True)
    assert caught.value.key == "meta.hardwere"
    assert caught.value.line is not None


def test_a_broken_recipe_does_not_stop_the_others(folder):
    folder.add("org/good")
    folder.add("org/bad", model__architecture="mo", model__min_vllm_version="new")
    catalog = folder.load(on_error="collect")
    assert list(catalog.recipes) == ["org/good"]
    found = {finding.where: finding.message for finding in catalog.problems}
    assert found["model.architecture"] == ("is 'mo'; allowed: dense, moe; did you mean 'moe'?")
    assert "a release such as" in found["model.min_vllm_version"]
    with pytest.raises(CatalogError, match=r"bad.yaml:8: model.min_vllm_version: is"):
        folder.load()


def test_a_broken_vocabulary_always_stops(folder):
    folder.write("taxonomy.yaml", "hardware_profiles: 3\n")
    with pytest.raises(CatalogError, match="is 3; allowed: a mapping"):
        folder.load(on_error="collect")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tab", b"meta:\n\ttitle: x\n"),
        ("bom", b"\xef\xbb\xbfmeta: {}\n"),
        ("duplicate", b"meta: {}\nmeta: {}\n"),
        ("latin", b"meta: {title: \xe9}\n"),
        ("empty", b""),
        ("list", b"- meta\n"),
        ("huge", b"#" * 1_000_001),
        (
            "bomb",
            b"a: &a [x, x]\n"
            + b"".join(
                b"%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n"
                % (98 + i, 98 + i, *([97 + i] * 8))
                for i in range(10)
            ),
        ),
    ],
)
def test_a_hostile_file_is_one_finding_and_the_rest_loads(folder, name, content):
    folder.add("org/good")
    folder.write(f"models/org/{name}.yaml", content)
    catalog = folder.load(on_error="collect")
    assert list(catalog.recipes) == ["org/good"]
    (finding,) = catalog.problems
    assert finding.severity == "error"
    assert finding.source.endswith(f"models/org/{name}.yaml")
    assert finding.line is not None or name == "huge"


def test_a_file_that_may_not_be_read_is_a_finding(folder):
    folder.add("org/good")
    path = folder.add("org/closed")
    path.chmod(0)
    if os.access(path, os.R_OK):
        path.unlink()
        path.symlink_to(folder.root / "nowhere")
    catalog = folder.load(on_error="collect")
    assert list(catalog.recipes) == ["org/good"]
    assert "cannot be read" in catalog.problems[0].message


def test_a_recipe_in_the_wrong_place_or_with_a_hostile_name_is_said(folder):
    folder.add("org/good")
    folder.write("models/loose.yaml", recipe("loose"))
    folder.write("models/org/deep/er.yaml", recipe("x"))
    folder.write("models/org/other.yml", recipe("x"))
    folder.write("models/org/<img src=x onerror=alert(1)>.yaml", recipe("x"))
    folder.write("models/org/$(touch pwned).yaml", recipe("x"))
    catalog = folder.load(on_error="collect")
    assert list(catalog.recipes) == ["org/good"]
    assert sorted(f.code for f in catalog.problems) == ["misplaced"] * 3 + ["unreadable"] * 2


HOSTILE = "<img src=x onerror=alert(1)>$(touch pwned)`touch pwned`"


def _poisoned(value):
    if isinstance(value, dict):
        return {key: _poisoned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_poisoned(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


def test_hostile_strings_load_as_the_text_that_they_are(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = _poisoned(recipe("org/repo", guide="x", model__base_args=["--x", "y"]))
    data["model"] |= {"min_vllm_version": "0.11.0", "architecture": "dense"}
    folder.write("models/org/repo.yaml", data)
    entry = folder.load().recipes["org/repo"]
    assert entry.recipe.meta.title == HOSTILE
    assert entry.recipe.guide == HOSTILE
    assert entry.recipe.model.base_args == (HOSTILE, HOSTILE)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("key", ["architecture", "min_vllm_version"])
def test_a_hostile_value_is_quoted_short_in_its_error(folder, key):
    folder.add(**{f"model__{key}": HOSTILE * 50})
    (finding,) = folder.load(on_error="collect").problems
    assert len(finding.message) < 300


def test_numbers_become_words_and_booleans_too(folder):
    text = """
meta: {title: T, provider: P}
model:
  model_id: org/repo
  min_vllm_version: 0.10
  architecture: dense
  base_args: [--a, 8, --b, 0.90, --c, true]
  base_env: {N: 0, D: 2026-11-30, Y: yes}
variants:
  default: {precision: bf16, vram_minimum_gb: 1}
"""
    folder.write("models/org/repo.yaml", text)
    model = folder.load().recipes["org/repo"].recipe.model
    assert model.min_vllm_version == "0.10"
    assert model.base_args == ("--a", "8", "--b", "0.90", "--c", "true")
    assert model.base_env == {"N": "0", "D": "2026-11-30", "Y": "yes"}


def test_yes_is_no_boolean(folder):
    folder.add(model__nightly_required="yes")
    (finding,) = folder.load(on_error="collect").problems
    assert finding.message == "is 'yes'; allowed: true or false"


def test_a_value_of_several_shapes_is_judged_by_the_one_that_came_further(folder):
    folder.add(variants__default__tp={"h100": "many"})
    (finding,) = folder.load(on_error="collect").problems
    assert finding.where == "variants.default.tp.h100"
    assert finding.message == "is 'many'; allowed: a whole number"


def test_ids_compare_without_case_and_a_variants_model_opens_its_parent(folder):
    folder.add(
        "org/repo",
        variants__fp8={
            "precision": "fp8",
            "vram_minimum_gb": 10,
            "model_id": "org/repo-FP8",
        },
    )
    catalog = folder.load()
    assert catalog.find("ORG/Repo").variant is None
    found = catalog.find("Org/repo-fp8")
    assert (found.entry.id, found.variant) == ("org/repo", "fp8")
    with pytest.raises(UnknownRecipeError, match="Did you mean org/repo"):
        catalog.find("org/rep")


def test_a_strategy_called_otherwise_than_its_file_is_said(folder):
    folder.write(
        "strategies/odd.yaml", "name: even\ndeploy_type: single_node\ndisplay_name: Even\n"
    )
    catalog = folder.load()
    assert "even" in catalog.strategies
    assert [finding.code for finding in catalog.problems] == ["name-differs"]


def test_an_installed_package_finds_its_data(monkeypatch, tmp_path):
    from recipes_core.catalog import loader

    package = tmp_path / "recipes_core"
    (package / "catalog").mkdir(parents=True)
    data = package / "_data" / "recipes"
    data.mkdir(parents=True)
    (data / "taxonomy.yaml").write_text("{}")
    monkeypatch.setattr(loader, "__file__", str(package / "catalog" / "loader.py"))
    builtin_dir.cache_clear()
    try:
        assert builtin_dir() == Path(data)
    finally:
        builtin_dir.cache_clear()


def test_a_catalog_shows_itself_in_one_line(ours):
    """A reader types its name in a notebook; a failing property prints it."""
    assert f"recipes={len(ours.recipes)}" in repr(ours)
    assert len(repr(ours)) < 300
