"""Hypothesis strategies: selections of every kind, sensible and absurd."""

from __future__ import annotations

from hypothesis import strategies as st

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration.extras import ADVANCED
from recipes_core.selection import Selection

JUNK = [
    "",
    "nope",
    "h200 ",
    "H200",
    "../../etc/passwd",
    "$(touch pwned)",
    "<img src=x>",
    "a,b",
    "ü",
]


def _maybe(values: list[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.none(), st.none(), st.sampled_from(values))


def pairs_of(catalog: Catalog, recipe_id: str) -> st.SearchStrategy[dict[str, str]]:
    """Query pairs for a recipe: ids of it, of others, and junk."""
    recipe = catalog.recipes[recipe_id].recipe
    modes = [f"{name}:{mode}" for name, f in recipe.features.items() for mode in f.modes]
    keys: dict[str, list[object]] = {
        "hardware": [*catalog.hardware, *JUNK],
        "variant": [*recipe.variants, *JUNK],
        "strategy": [*catalog.strategies, *JUNK],
        "nodes": [1, 2, 3, 4, 7, 16, 17, 0, "x"],
        "fmode": [*modes, "spec_decoding:mtp", "x"],
        "preset": [*recipe.presets, "baseline", *JUNK],
        "kv_offload": [*catalog.taxonomy.kv_offload, *catalog.kv_stores, "off", *JUNK],
        "kv_instances": [1, 2, 5, 1000],
        "prefill_nodes": [0, 1, 2, 40],
        "decode_nodes": [0, 1, 3],
        "prefill_mode": ["tp", "tep", "dep", "pp"],
        "decode_mode": ["tp", "tep", "dep", "DEP"],
        "advanced": [*ADVANCED, "dcp_8,max_num_seqs_256", "what"],
        "task": ["t2v", "nothing"],
        "gpus": [1, 2, 3, 4, 8, 9, 72],
        "frontend": ["rust", "python", "go"],
        "router": ["vllm", "smg", "dynamo", "nginx"],
        "install": ["pip", "docker", "cu129"],
        "vllm": ["0.28.0", "0.11.0"],
        "max_model_len": [4096, "32k", "auto", "much"],
        "max_num_seqs": [16],
        "kv_cache_dtype": ["fp8", "au to"],
        "gpu_memory_utilization": [0.5, "0.95", 2],
        "served_name": ["name", "it's", "$HOME", "a b", '"x"', "`id`", "-x"],
        "host": ["0.0.0.0", "$(id)"],
        "port": [8000, 9000, 70000],
    }
    features = st.one_of(
        st.none(),
        st.just("none"),
        st.lists(
            st.sampled_from([*recipe.features, "nope", "text_only", "encoder_parallel"]), max_size=5
        ).map(",".join),
    )
    drawn = {key: _maybe(values) for key, values in keys.items()}
    return st.fixed_dictionaries({**drawn, "features": features}).map(
        lambda found: {key: str(value) for key, value in found.items() if value is not None}
    )


def asked(catalog: Catalog) -> st.SearchStrategy[tuple[str, Selection]]:
    """A recipe and a selection for it."""
    ids = st.sampled_from(sorted(catalog.recipes))
    return ids.flatmap(
        lambda name: st.tuples(st.just(name), pairs_of(catalog, name).map(Selection.from_query))
    )
