"""A site on disk: equal from equal data, written where it differs, never outside its folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from recipes_core.errors import RecipesError
from recipes_core.publish import feeds
from recipes_core.publish.contents import Options
from recipes_core.publish.export import export
from recipes_core.publish.files import MANIFEST, Writer, is_safe
from tests.publish.conftest import BASE_URL, some

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
R1 = "deepseek-ai/DeepSeek-R1"


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def two(few):
    return some(few, LLAMA, R1)


def test_two_runs_are_byte_equal_whatever_the_number_of_processes(two, tmp_path):
    export(two, tmp_path / "a", Options(base_url=BASE_URL), jobs=1)
    export(two, tmp_path / "b", Options(base_url=BASE_URL), jobs=2)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_the_manifest_accounts_for_every_file(two, tmp_path):
    made = export(two, tmp_path, jobs=1)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    files = tree(tmp_path)
    assert manifest["files"].keys() == files.keys() - {MANIFEST}
    assert made.files == len(files)
    for path, entry in manifest["files"].items():
        assert entry["sha256"] == hashlib.sha256(files[path]).hexdigest()
        assert entry["bytes"] == len(files[path])


def test_nothing_is_written_again_where_nothing_changed(two, tmp_path):
    export(two, tmp_path, jobs=1)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    again = export(two, tmp_path, jobs=1)
    assert (again.written, again.removed, again.recipes_made) == (0, 0, 0)
    now = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert {p for p in times if times[p] != now[p]} <= {tmp_path / MANIFEST}


def test_one_recipe_that_changed_is_made_anew_and_no_other(two, tmp_path):
    export(two, tmp_path, jobs=1)
    entry = two.recipes[LLAMA]
    meta = entry.recipe.meta.model_copy(update={"title": "Another title"})
    recipe = entry.recipe.model_copy(update={"meta": meta})
    changed = replace(two, recipes={**two.recipes, LLAMA: replace(entry, recipe=recipe)}, kept={})
    again = export(changed, tmp_path, jobs=1)
    assert again.recipes_made == 1
    assert again.written < 20
    assert "Another title" in (tmp_path / LLAMA / "index.html").read_text()
    assert "Another title" in (tmp_path / "index.html").read_text()


def test_a_file_that_somebody_changed_is_put_right(two, tmp_path):
    export(two, tmp_path, jobs=1)
    good = tree(tmp_path)
    (tmp_path / f"{R1}.json").write_bytes(b"x" * len(good[f"{R1}.json"]))
    (tmp_path / f"{LLAMA}.md").unlink()
    export(two, tmp_path, jobs=1)
    assert tree(tmp_path) == good


def test_a_recipe_that_is_gone_takes_its_files_along(two, tmp_path):
    export(two, tmp_path, jobs=1)
    (tmp_path / "notes.txt").write_text("mine")
    made = export(some(two, R1), tmp_path, jobs=1)
    assert made.removed > 10
    assert not (tmp_path / "meta-llama").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_of_somebody_else_is_left_alone(two, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RecipesError, match="no manifest"):
        export(two, tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "thesis.tex"]


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/x", "a//b", "a/.", "a\\..\\b", "a\0b", ""]
)
def test_no_path_leads_out_of_the_site(path, tmp_path):
    assert not is_safe(path)
    with pytest.raises(RecipesError):
        Writer(tmp_path, {}).put(path, b"x")


def test_hostile_keys_of_a_recipe_are_refused_not_followed(two, tmp_path):
    entry = two.recipes[LLAMA]
    variants = {**entry.recipe.variants, "../../evil": entry.recipe.variants["default"]}
    recipe = entry.recipe.model_copy(update={"variants": variants})
    hostile = replace(two, recipes={LLAMA: replace(entry, recipe=recipe)}, kept={})
    inside = tmp_path / "in" / "site"
    export(hostile, inside, jobs=1)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["site"]


def test_a_manifest_that_points_outside_removes_nothing(two, tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("keep")
    folder = tmp_path / "site"
    export(some(two, R1), folder, jobs=1)
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"]["../victim.txt"] = {"sha256": "0", "bytes": 4}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    export(some(two, R1), folder, jobs=1)
    assert victim.read_text() == "keep"


def test_the_sitemap_names_every_page(site, few):
    root = ET.fromstring((site / "sitemap.xml").read_bytes())
    assert root.tag == f"{{{feeds.SITEMAP}}}urlset"
    names = {"s": feeds.SITEMAP}
    places = [node.text for node in root.findall("s:url/s:loc", names)]
    assert len(set(places)) == len(places) <= 50_000
    for place in places:
        assert place.startswith(BASE_URL)
        path = place.removeprefix(BASE_URL).strip("/")
        assert (site / path / "index.html").is_file(), place
    for day in root.findall("s:url/s:lastmod", names):
        assert len(day.text) == 10


def test_the_feed_is_valid_atom_and_newest_first(site):
    """RFC 4287: id, title and updated in feed and entries; an author; one self link."""
    names = {"a": feeds.ATOM}
    root = ET.fromstring((site / "feed.xml").read_bytes())
    assert root.tag == f"{{{feeds.ATOM}}}feed"
    assert root.find("a:author/a:name", names).text
    assert [link.get("rel") for link in root.findall("a:link", names)].count("self") == 1
    entries = root.findall("a:entry", names)
    assert entries
    for node in (root, *entries):
        for tag in ("id", "title", "updated"):
            assert len(node.findall(f"a:{tag}", names)) == 1, tag
    moments = [entry.find("a:updated", names).text for entry in entries]
    assert moments == sorted(moments, reverse=True)
    ids = [entry.find("a:id", names).text for entry in entries]
    assert len(set(ids)) == len(ids)


def test_without_an_address_there_is_neither_feed_nor_sitemap(two, tmp_path):
    export(two, tmp_path, jobs=1)
    assert not (tmp_path / "feed.xml").exists()
    assert not (tmp_path / "sitemap.xml").exists()
    with pytest.raises(RecipesError, match="address"):
        Options(base_url="recipes.example.org")


def test_configurations_are_valid_by_their_own_schema(site):
    schema = json.loads((site / "configuration.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    paths = [*site.rglob("configuration.json"), *site.glob("*/*/presets/*.json")]
    assert len(paths) > 10
    for path in paths:
        check.validate(json.loads(path.read_text()))


def test_recipes_are_valid_by_the_schema_for_editors(site, few):
    schema = json.loads((site / "recipe.schema.json").read_text())
    check = jsonschema.Draft202012Validator(schema)
    for entry in few.recipes.values():
        check.validate(entry.recipe.model_dump(mode="json", exclude_unset=True))


def test_sizes_and_findings_stand_in_every_rendering_unless_left_out(site, two, tmp_path):
    for path in site.glob("*/*/hw/**/*.json"):
        assert {"sizing", "findings"} <= json.loads(path.read_text()).keys()
    export(two, tmp_path, Options(facts=False), jobs=1)
    assert "sizing" not in json.loads((tmp_path / R1 / "hw/h200.json").read_text())


def test_llms_txt_leads_to_pages_that_are_there(site, few):
    text = (site / "llms.txt").read_text()
    assert text.startswith("# ")
    assert "\n> " in text
    for recipe in few.recipes:
        assert f"({BASE_URL}/{recipe}.md)" in text
        assert (site / f"{recipe}.md").is_file()
    whole = (site / "llms-full.txt").read_text()
    assert all((site / f"{recipe}.md").read_text().strip() in whole for recipe in few.recipes)


def test_values_of_the_site_owner_fill_the_docker_vectors(two, tmp_path):
    from recipes_core.deployment import ReaderValues

    values = ReaderValues(placeholders={"HF_CACHE": "/models/hf"})
    export(two, tmp_path, Options(values=values, facts=False), jobs=1)
    item = json.loads((tmp_path / R1 / "hw/h200.json").read_text())
    assert "/models/hf:/root/.cache/huggingface" in item["docker_argv"]
