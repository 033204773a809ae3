"""The peer's renderings: read, and turned into selections of ours."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recipes_core.selection import Selection

Row = dict[str, Any]


def read_rows(shared: Path) -> Iterator[Row]:
    with gzip.open(shared / "conformance" / "renderings.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def selection_of_row(row: Row) -> Selection:
    asked = row["in"]
    values: dict[str, Any] = {
        key: asked[key]
        for key in ("variant", "hardware", "strategy", "kv_offload", "task")
        if asked.get(key) is not None
    }
    if "features" in asked:
        values["features"] = tuple(asked["features"])
    if asked.get("feature_modes"):
        values["fmode"] = tuple(asked["feature_modes"].items())
    if asked.get("kv_instances"):
        values["kv_instances"] = asked["kv_instances"]["count"]
    if asked.get("strategy") == "pd_cluster":
        pools = asked["pd"] or {role: {"nodes": 0} for role in ("prefill", "decode")}
        for role, pool in pools.items():
            values[f"{role}_nodes"] = pool["nodes"]
            if "parallelism" in pool:
                values[f"{role}_mode"] = pool["parallelism"]
    elif asked.get("nodes") is not None:
        values["nodes"] = asked["nodes"]
    return Selection(**values)
