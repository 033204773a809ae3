"""Configurations side by side: figures of all copies, and what a check says of recipes."""

from __future__ import annotations

import re
from dataclasses import replace

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.render.comparison import compare
from recipes_core.render.judging import rendered_findings

V32 = "deepseek-ai/DeepSeek-V3.2"


def test_engines_that_share_a_store_have_their_caches_counted_together(ours: Catalog) -> None:
    store = "hardware=h200&kv_offload=kv_store_centralized_mooncake&kv_instances="
    configs = [configure(ours, V32, f"{store}{count}") for count in (1, 3)]
    rows = {row.label: row.cells for row in compare([(c, deploy(c)) for c in configs]).rows}
    one, three = rows["KV cache, all together"]
    first, second = (int(re.match(r"[\d,]+", t)[0].replace(",", "")) for t in (one, three))
    assert second == 3 * first
    assert "in 3 caches" in three
    assert "caches" not in one


def test_a_flag_that_the_floor_still_reads_is_a_remark(ours: Catalog) -> None:
    entry = ours.recipes["stepfun-ai/Step-3.7-Flash"]
    found = [f for f in rendered_findings(ours, entry) if f.code == "ignored-flag"]
    assert found
    assert {f.severity for f in found} == {"info"}
    assert all(f.message.endswith(", the floor, still reads it") for f in found)
    newer = entry.recipe.model.model_copy(update={"min_vllm_version": "0.33.0"})
    later = replace(entry, recipe=entry.recipe.model_copy(update={"model": newer}))
    found = [f for f in rendered_findings(ours, later) if f.code == "ignored-flag"]
    assert {f.severity for f in found} == {"warning"}
