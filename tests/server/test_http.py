"""Every configuration at an address, and no address that does harm."""

from __future__ import annotations

import gzip
import json
from urllib.parse import quote

import jsonschema
import pytest

from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.render.beside import assess
from recipes_core.render.json import to_json
from recipes_core.render.markdown import to_markdown
from recipes_core.render.output_schema import output_schema
from tests.server.conftest import running

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
HERE = f"/recipes/{MODEL}"


def test_json_is_what_the_core_says(client, builtin):
    query = "hardware=h100&features=none&max_model_len=32k"
    reply = client.ask(f"{HERE}.json?{query}")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"
    config, deployment, sizing, findings = assess(configure(builtin, MODEL, query))
    ours = json.loads(json.dumps(to_json(config, deployment, sizing, findings)))
    assert json.loads(reply.body) == ours
    jsonschema.Draft202012Validator(output_schema()).validate(ours)


def test_markdown_is_what_the_core_says(client, builtin):
    reply = client.ask(f"{HERE}.md?hardware=h100")
    config, deployment, _, findings = assess(configure(builtin, MODEL, "hardware=h100"))
    assert reply.text == to_markdown(config, deployment, "/recipes", findings=findings)
    assert reply.headers["Content-Type"].startswith("text/markdown")


@pytest.mark.parametrize(
    ("recipe", "query"),
    [
        ("baidu/ERNIE-4.5-VL-28B-A3B-PT", "hardware=h200"),
        (
            "baidu/ERNIE-5.5-Flash",
            "hardware=gb200&strategy=single_node_dep&preset=gb200_low_latency",
        ),
    ],
)
def test_both_seeds_stand_at_their_own_query(client, shared, recipe, query):
    """Fenced commands of Install and Serve as the seeds have them."""
    seed = next(
        path.read_text()
        for path in sorted((shared / "seeds").glob("*.md"))
        if path.read_text().startswith(f"# {recipe} ")
    )
    text = client.ask(f"/recipes/{recipe}.md?{query}").text

    def fences(page: str) -> list[str]:
        middle = page.split("## Install")[1].split("\n## Guide", maxsplit=1)[0]
        blocks = middle.split("```bash\n")[1:]
        return [block.split("\n```")[0] for block in blocks]

    wanted = fences(seed)
    assert wanted
    assert [block for block in wanted if block not in fences(text)] == []
    line = next(line for line in seed.splitlines() if line.startswith("Configuration:"))
    assert line in text.splitlines()


def test_the_form_follows_suffix_then_accept(client):
    kinds = {
        "text/html,application/xhtml+xml,*/*;q=0.8": "text/html",
        "application/json": "application/json",
        "text/markdown, text/html;q=0.5": "text/markdown",
        "*/*": "text/html",
        "application/json;q=0, text/html": "text/html",
    }
    for accept, kind in kinds.items():
        assert client.ask(HERE, Accept=accept).headers["Content-Type"].startswith(kind), accept
    assert (
        client.ask(f"{HERE}.json", Accept="text/html")
        .headers["Content-Type"]
        .startswith("application/json")
    )


def test_lists_and_schemas(client, builtin):
    models = json.loads(client.ask("/recipes/models.json").body)
    assert {row["hf_id"] for row in models} >= builtin.recipes.keys()
    taxonomy = json.loads(client.ask("/recipes/taxonomy.json").body)
    assert list(taxonomy["hardware_profiles"]) == list(builtin.hardware)
    strategies = json.loads(client.ask("/recipes/strategies.json").body)
    assert strategies.keys() == builtin.strategies.keys()
    one = json.loads(client.ask("/recipes/strategies/single_node_tp.json").body)
    assert one == strategies["single_node_tp"]
    for name in ("recipe", "configuration"):
        schema = json.loads(client.ask(f"/recipes/{name}.schema.json").body)
        jsonschema.Draft202012Validator.check_schema(schema)
    assert client.ask("/recipes/llms.txt").text.startswith("# ")
    assert client.ask("/").status == 302


def test_every_model_of_the_list_has_an_answer(client):
    for row in json.loads(client.ask("/recipes/models.json").body)[::7]:
        reply = client.ask(f"/recipes{quote(row['json'])}")
        assert reply.status == 200, row


def test_search_ranks_and_suggests(client):
    found = json.loads(client.ask("/recipes/search?q=llama+8b", Accept="application/json").body)
    assert MODEL in [row["hf_id"] for row in found]
    page = client.ask("/recipes/search?q=Llama-3.1-8B-Instrukt").text
    assert f'href="{HERE}"' in page
    empty = client.ask("/recipes/search?q=zzzzqqqq", Accept="application/json")
    assert (empty.status, json.loads(empty.body)) == (200, [])


def test_a_preset_has_an_address(client):
    recipe = "baidu/ERNIE-5.5-Flash"
    shown = json.loads(client.ask(f"/recipes/{recipe}/presets/gb200_low_latency.json").body)
    assert shown["configuration"]["preset"] == "gb200_low_latency"
    reply = client.ask(f"/recipes/{recipe}/presets/nosuch.json")
    assert reply.status == 404
    assert "gb200_low_latency" in json.loads(reply.body)["error"]


def test_ids_compare_without_case_and_checkpoints_open_their_recipe(client, builtin):
    assert json.loads(client.ask(f"{HERE.lower()}.json").body)["recipe"] == MODEL
    entry = next(
        (entry, name, variant.model_id)
        for entry in builtin.recipes.values()
        for name, variant in entry.recipe.variants.items()
        if name != "default" and variant.model_id and variant.model_id not in builtin.recipes
    )
    shown = json.loads(client.ask(f"/recipes/{entry[2]}.json").body)
    assert shown["configuration"]["variant"] == entry[1]


# --- adjustments --------------------------------------------------------------------------------


def test_adjustments_stand_in_body_and_header(client):
    reply = client.ask(f"{HERE}.json?hardware=h2000&nodes=x")
    assert reply.status == 200
    body = json.loads(reply.body)["adjustments"]
    assert json.loads(reply.headers["X-Recipes-Adjustments"]) == body
    assert {item["axis"] for item in body} == {"hardware", "nodes"}
    page = client.ask(f"{HERE}?hardware=h2000").text
    assert "Not as asked" in page
    assert "h2000" in page
    assert "X-Recipes-Adjustments" not in client.ask(f"{HERE}.json").headers


def test_strict_refuses_with_the_reasons(client):
    reply = client.ask(f"{HERE}.json?hardware=h2000&strict=1")
    assert reply.status == 422
    assert json.loads(reply.body)["adjustments"][0]["axis"] == "hardware"
    assert client.ask(f"{HERE}.json?hardware=h100&strict=1").status == 200
    assert client.ask(f"{HERE}?hardware=h2000&strict=1").status == 422
    assert client.ask(f"{HERE}.json?hardware=h2000&strict=0").status == 200


def test_a_header_stays_short_and_ascii_whatever_is_asked(client):
    value = quote("é\r\nSet-Cookie: x=1\u2028" * 30)
    reply = client.ask(f"{HERE}.json?hardware={value}&strategy={value}&variant={value}")
    assert reply.status == 200
    assert len(reply.headers["X-Recipes-Adjustments"]) <= 4096
    assert "Set-Cookie" not in reply.headers


def test_an_unknown_recipe_names_the_nearest(client):
    reply = client.ask("/recipes/meta-llama/Llama-3.1-8B-Instrukt.json")
    assert reply.status == 404
    assert MODEL in json.loads(reply.body)["nearest"]
    page = client.ask("/recipes/meta-llama/Llama-3.1-8B-Instrukt")
    assert page.status == 404
    assert f'href="{HERE}"' in page.text


def test_a_version_that_is_none_is_refused(client):
    assert client.ask(f"{HERE}.json?vllm=banana").status in {200, 422}


# --- the protocol -------------------------------------------------------------------------------


def test_head_has_the_headers_of_get_and_no_body(client):
    for suffix in ("", ".json", ".md"):
        get, head = client.ask(HERE + suffix), client.ask(HERE + suffix, "HEAD")
        assert head.body == b""
        for name in ("Content-Length", "Content-Type", "ETag", "Cache-Control", "Vary"):
            assert head.headers[name] == get.headers[name], name
        assert int(get.headers["Content-Length"]) == len(get.body)


def test_what_did_not_change_is_not_sent_again(client):
    first = client.ask(f"{HERE}.json?hardware=h100")
    tag = first.headers["ETag"]
    for header in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = client.ask(f"{HERE}.json?hardware=h100", If_None_Match=header)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["ETag"] == tag
    other = client.ask(f"{HERE}.json?hardware=h200", If_None_Match=tag)
    assert other.status == 200
    assert other.headers["ETag"] != tag
    assert "max-age" in first.headers["Cache-Control"]


def test_gzip_is_sent_to_who_takes_it(client):
    plain = client.ask(HERE)
    packed = client.ask(HERE, Accept_Encoding="br, gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2
    assert "Content-Encoding" not in client.ask(HERE, Accept_Encoding="gzip;q=0").headers
    assert "Accept-Encoding" in plain.headers["Vary"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NOSUCH"])
def test_it_is_read_only(client, method):
    reply = client.ask(f"{HERE}.json", method)
    assert reply.status == 405
    assert reply.headers["Allow"] == "GET, HEAD"
    assert b"Traceback" not in reply.body


@pytest.mark.parametrize(
    "path",
    [
        "/recipes/../../etc/passwd",
        "/recipes/..%2f..%2fetc%2fpasswd",
        "/recipes/%2e%2e/%2e%2e/etc/passwd",
        "/recipes/a%2fb",
        "/recipes/a%5cb",
        "/recipes/a%00b",
        "/recipes/%ff%fe",
        "/recipes/a/b.json?hardware=%ff",
        "/recipes/" + "a" * 5000,
        f"{HERE}.json?x=" + "a" * 100_000,
        f"{HERE}.json?" + "&".join(f"k{n}=1" for n in range(500)),
        "/recipes/a%0d%0aSet-Cookie:x/b",
        "/recipes/nosuch/nosuch",
        "/recipes/strategies/../taxonomy.json",
        "/static/x.js",
        "/recipesx",
        "/recipes//",
        "/recipes/a/b/c/d/e",
        "/recipes/meta-llama.json",
    ],
)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_bad_addresses_get_4xx_without_a_trace(client, path, accept):
    reply = client.ask(path, Accept=accept)
    assert 400 <= reply.status < 500 or path == "/recipes//"
    assert b"Traceback" not in reply.body
    assert b"/work" not in reply.body
    assert "Set-Cookie" not in reply.headers
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "text",
    [
        b"GET /recipes/\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /recipes/ HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /recipes/ HTTP/9.9\r\nHost: x\r\n\r\n",
        b"POST /recipes/ HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET /recipes/?" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"",
    ],
    ids=["bytes", "no host", "no request", "version", "large body", "large query", "nothing"],
)
def test_nonsense_ends_in_an_error_or_a_closed_connection_never_a_hang(client, text):
    answer = client.raw(text)
    assert answer == b"" or b" 4" in answer.split(b"\r\n")[0] or b" 200 " in answer[:20]
    assert b"Traceback" not in answer
    assert client.ask("/recipes/llms.txt").status == 200


def test_what_people_type_is_escaped(client):
    bad = quote("<script>alert(1)</script>")
    for path in (f"{HERE}?hardware={bad}", f"/recipes/{bad}/x", f"/recipes/search?q={bad}"):
        text = client.ask(path).text
        assert "<script>alert" not in text
        assert text.count("<script>") == 1


def test_the_engine_gets_the_reader_s_values_quoted(client, builtin):
    bad = quote("x'; rm -rf / #")
    shown = json.loads(client.ask(f"{HERE}.json?served_name={bad}").body)
    process = shown["deployment"]["processes"][0]
    assert "x'; rm -rf / #" in process["argv"]
    engine = deploy(configure(builtin, MODEL, f"served_name={bad}")).processes[0]
    assert process["argv"] == engine.argv
    assert "'x'\"'\"'; rm -rf / #'" in process["command"]


def test_a_base_url_moves_everything(builtin):
    server = running(builtin, "/hub/team/")
    client = next(server)
    try:
        page = client.ask(f"/hub/team/recipes/{MODEL}").text
        assert f'href="/hub/team/recipes/{MODEL}.md"' in page
        assert 'href="/recipes' not in page
        assert client.ask("/recipes/models.json").status == 404
        assert client.ask("/hub/team").headers["Location"] == "/hub/team/recipes/"
    finally:
        next(server, None)
