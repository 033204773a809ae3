"""The Markdown page beyond the seeds: pools, stores, notices, hostile text."""

from __future__ import annotations

import re

from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.findings import Finding
from recipes_core.render.markdown import configuration_line, to_markdown
from recipes_core.render.shell import script
from recipes_core.render.text import code, fence, inline, one_line, shifted

V32 = "deepseek-ai/DeepSeek-V3.2"


def page(laid, **more) -> str:
    return to_markdown(laid.config, laid.deployment, **more)


def headings(text: str) -> list[str]:
    return re.findall(
        r"^### (.*)$", text.split("## Serve")[1].split("\n## ", maxsplit=1)[0], re.MULTILINE
    )


def test_each_node_of_a_cluster_has_its_own_heading_and_command(lay):
    laid = lay(V32, "hardware=h200&nodes=3")
    text = page(laid)
    assert headings(text) == ["Head node (1 of 3)", "Worker node (2 of 3)", "Worker node (3 of 3)"]
    for process in laid.deployment.processes:
        assert f"```bash\n{script(process)}\n```" in text
    assert "· nodes `3`" in configuration_line(laid.config)


def test_pools_stand_in_start_order_with_the_router_last(lay):
    text = page(lay(V32, "hardware=h200&strategy=pd_cluster&prefill_nodes=2&prefill_mode=dep"))
    assert headings(text) == [
        "Prefill node 1 of 2", "Prefill node 2 of 2", "Decode", "Router (start after vLLM)",
    ]  # fmt: skip


def test_a_store_shows_its_files_and_starts_before_the_engines(lay):
    text = page(lay(V32, "hardware=h200&kv_offload=kv_store_centralized_mooncake&kv_instances=2"))
    assert headings(text) == [
        "File `$MOONCAKE_CONFIG_PATH`", "File `$MOONCAKE_STORE_CONFIG_PATH`",
        "Mooncake Master (start before vLLM)", "Mooncake Store (start before vLLM)",
        "Instance 1 of 2", "Instance 2 of 2", "Router (start after vLLM)",
    ]  # fmt: skip
    assert 'cat > "$MOONCAKE_CONFIG_PATH" <<EOF' in text
    assert "· kv_offload `kv_store_centralized_mooncake`" in text


def test_open_placeholders_are_listed_and_given_ones_are_not(lay):
    text = page(lay(V32, "hardware=h200&nodes=2", placeholders={"HEAD_IP": "10.0.0.1"}))
    assert "- `$IFACE_NAME`: network interface" in text
    assert "$HEAD_IP" not in text
    assert "--master-addr 10.0.0.1" in text


def test_adjustments_and_findings_stand_near_the_top(lay):
    laid = lay("Qwen/Qwen3-8B", "hardware=nosuch&strategy=nosuch&colour=red")
    text = page(laid, findings=[Finding("error", "unknown-flag", "vLLM has no --x", "--x")])
    top = text.split("- Interactive page:")[0]
    assert "> - `hardware`: `nosuch` was asked, `h200` is used." in top
    assert "> - `colour`: `red` was asked and left out." in top
    assert "> - error `unknown-flag`: vLLM has no --x" in top


def test_a_page_without_adjustments_has_no_notice(lay):
    assert "Not as asked" not in page(lay("Qwen/Qwen3-8B", "hardware=h200"))


def test_fewer_gpus_than_the_node_has_are_said(lay):
    text = page(lay("Qwen/Qwen3-32B", "hardware=h100&gpus=2"))
    assert "Uses 2 of the node's 8 GPUs" in text


def test_notes_follow_the_configuration(lay):
    flash = "baidu/ERNIE-5.5-Flash"
    assert "### 1M context" in page(lay(flash, "hardware=gb200"))
    assert "### 1M context" not in page(lay(flash, "hardware=h100"))
    assert "### Weights not published yet" in page(lay(flash, "variant=flash"))
    assert "### Order and adapters" in page(lay(flash, "strategy=pd_cluster&hardware=gb200"))


def test_dependencies_follow_the_configuration(lay):
    flash = "baidu/ERNIE-5.5-Flash"
    package = "uv pip install mooncake-transfer-engine-cuda13"
    assert package in page(lay(flash, "strategy=pd_cluster&hardware=gb200"))
    assert package not in page(lay(flash, "hardware=gb200"))


def test_an_opt_in_preset_says_how_it_is_applied_and_that_nothing_was_measured(lay):
    text = page(lay("baidu/ERNIE-5.5-Flash", "preset=gb200_high_throughput"))
    assert "- Key: `gb200_high_throughput` · opt-in (`preset=gb200_high_throughput`" in text
    assert "no run is on record" in text


def test_links_are_relative_without_a_base_and_absolute_with_one(lay):
    laid = lay("Qwen/Qwen3-8B", "hardware=h100")
    assert "- Interactive page: /Qwen/Qwen3-8B?hardware=h100\n" in page(laid)
    text = page(laid, base_url="https://example.org/r/")
    assert "- Interactive page: https://example.org/r/Qwen/Qwen3-8B?hardware=h100\n" in text


def test_every_recipe_of_the_catalog_has_a_page(catalog):
    for entry in catalog.recipes.values():
        config = configure(catalog, entry)
        text = to_markdown(config, deploy(config))
        assert text.startswith(f"# {entry.id} — ")
        assert text.endswith("\n")
        assert text.count("```") % 2 == 0


# --- text -------------------------------------------------------------------------------------


def test_headings_move_down_and_code_does_not():
    text = "# A\n\nB\n---\n\n```bash\n# comment\n```\n\n    # indented\n\n> ## quoted\n\n###### six"
    assert shifted(text, 1) == (
        "## A\n\n### B\n\n```bash\n# comment\n```\n\n    # indented\n\n> ### quoted\n\n###### six"
    )


def test_tags_are_text_outside_of_code():
    text = "a <img src=x onerror=alert(1)> `<b>` <https://x.org/> 1 < 2\n\n```\n<b>\n```"
    assert shifted(text, 1) == (
        "a &lt;img src=x onerror=alert(1)> `<b>` <https://x.org/> 1 < 2\n\n```\n<b>\n```"
    )


def test_a_code_span_holds_backticks_and_stays_on_one_line():
    assert code("a`b") == "``a`b``"
    assert code("`a`") == "`` `a` ``"
    assert code("a\nb\x1b[31m") == "`a b [31m`"
    assert code("") == "` `"


def test_a_fence_cannot_be_closed_by_its_body():
    assert fence("a\n```\nb") == "````bash\na\n```\nb\n````"


def test_a_line_has_no_line_ends_or_control_characters():
    assert one_line("a\r\n# b\x00\x07") == "a # b"
    assert inline("x\n## <script>") == "x ## &lt;script>"


def test_an_open_fence_is_closed_at_the_end():
    assert shifted("# a\n\n```bash\nx", 1) == "## a\n\n```bash\nx\n```"
    assert shifted("~~~~\nx\n~~~\n", 1) == "~~~~\nx\n~~~\n~~~~"
    assert shifted("```\nx\n```", 1) == "```\nx\n```"
    assert shifted("```", 1) == "```\n```"
