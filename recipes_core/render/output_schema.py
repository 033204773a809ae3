"""The JSON Schema of a configuration's JSON, for clients in typed languages and for agents."""

from __future__ import annotations

from typing import Any

from recipes_core.options import AXES
from recipes_core.render.json import SCHEMA_VERSION

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ROLES = (
    "serve", "head", "worker", "prefill", "decode", "instance", "router", "companion", "master",
    "store",
)  # fmt: skip
TYPES = ("single_node", "multi_node", "pd_cluster", "kv_store_lb", "omni")

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
ANYTHING: Schema = {}


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str):
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _object(fields: dict[str, Schema], about: str = "", optional: tuple[str, ...] = ()) -> Schema:
    made: Schema = {
        "type": "object",
        "properties": fields,
        "required": [name for name in fields if name not in optional],
    }
    return made | ({"description": about} if about else {})


def _said(schema: Schema, about: str) -> Schema:
    return schema | {"description": about}


BYTES = _said(_or_null(COUNT), "Bytes per GPU of the fullest rank; null where not known.")
WORDS = _list(TEXT)


def output_schema() -> Schema:
    """The schema of what ``to_json`` returns: draft 2020-12.

    Further keys may be added under one ``schema_version``, so unknown keys are allowed everywhere.
    """
    return {
        "$schema": DIALECT,
        "title": "Configuration of a vLLM serving recipe",
        **_object(
            {
                "schema_version": {"const": SCHEMA_VERSION},
                "recipe": _said(TEXT, "Id of the recipe: org/repo."),
                "query": _said(_map(TEXT), "What opens this configuration again."),
                "configuration": _configuration(),
                "adjustments": _said(
                    _list(_adjustment()), "What was asked and could not be had, with the reason."
                ),
                "options": _options(),
                "gates": _gates(),
                "deployment": _deployment(),
                "sizing": _or_null(_sizing()),
                "findings": _list(_finding()),
            }
        ),
    }


def _configuration() -> Schema:
    pool = _object({"nodes": COUNT, "mode": {"enum": ["tp", "tep", "dep"]}})
    layout = dict.fromkeys(("nodes", "gpus_per_node", "tp", "pp", "dp", "dp_local"), COUNT)
    topology = _object({"pool": TEXT, **layout, "expert_parallel": TRUTH})
    return _object(
        {
            "variant": TEXT,
            "model_id": _said(TEXT, "The checkpoint that is served."),
            "precision": TEXT,
            "hardware": TEXT,
            "nodes": COUNT,
            "strategy": _or_null(TEXT),
            "features": WORDS,
            "feature_modes": _map(TEXT),
            "preset": _or_null(TEXT),
            "kv_offload": _or_null(TEXT),
            "kv_instances": _said(_or_null(COUNT), "Instances behind a KV store; null without."),
            "pools": _or_null(_object({"prefill": pool, "decode": pool})),
            "router": _or_null(TEXT),
            "frontend": _or_null(TEXT),
            "task": _or_null(TEXT),
            "topology": _said(_list(topology), "Parallel sizes, one entry for each engine kind."),
        }
    )


def _adjustment() -> Schema:
    return _object({"axis": TEXT, "asked": ANYTHING, "got": ANYTHING, "reason": TEXT})


def _options() -> Schema:
    option = _object(
        {
            "id": {"type": ["string", "integer"]},
            "label": TEXT,
            "enabled": TRUTH,
            "reason": _said(_or_null(TEXT), "Why it cannot be had; null where it can."),
            "default": TRUTH,
        }
    )
    return _object({axis: _list(option) for axis in AXES}, "Every choice of every axis.")


def _gates() -> Schema:
    return _object(
        {
            "fits_single_node": TRUTH,
            "single_node_tp": COUNT,
            "pool_modes": WORDS,
            "recommended": _map(_or_null(TEXT)),
        }
    )


def _deployment() -> Schema:
    file = _object({"path": TEXT, "content": {"type": "object"}, "used_by": WORDS})
    placeholder = _object({"name": TEXT, "hint": TEXT, "value": _or_null(TEXT)})
    step = _object({"command": TEXT, "note": _or_null(TEXT)}, optional=("note",))
    install = _object(
        {"pip": _or_null(step), "docker": _or_null(step), "extras": _list(step)},
    )
    return _object(
        {
            "type": {"enum": list(TYPES)},
            "min_vllm_version": _or_null(TEXT),
            "docker_image": _or_null(TEXT),
            "verified": _said(
                TRUTH,
                "The recipe states a run on this hardware, whose command may differ; see evidence.",
            ),
            "evidence": _said(
                _or_null(
                    _object(
                        {
                            "source": TEXT,
                            "date": _or_null(TEXT),
                            "vllm": _or_null(TEXT),
                            "documented": TRUTH,
                        }
                    )
                ),
                "Who states the run, its day and vLLM release; documented = either is known.",
            ),
            "processes": _said(_list(_process()), "In start order."),
            "files": _list(file),
            "install": install,
            "placeholders": _said(_list(placeholder), "Values that a reader has to give."),
            "clients": _map(_or_null(TEXT)),
        },
        optional=("verified", "evidence"),
    )


def _process() -> Schema:
    source = _object({"layer": TEXT, "source": TEXT, "key": TEXT})
    return _object(
        {
            "name": TEXT,
            "role": {"enum": list(ROLES)},
            "pool": _or_null(TEXT),
            "instance": _or_null(COUNT),
            "node": COUNT,
            "label": _or_null(TEXT),
            "feature": _or_null(TEXT),
            "argv": _said(WORDS, "Words without shell quoting; $NAME stands for a placeholder."),
            "env": _map(TEXT),
            "command": _said(TEXT, "Text for a shell, without the variables."),
            "script": _said(TEXT, "Exports and the command, as pasted."),
            "docker_argv": _said(
                _or_null(WORDS), "Runs without a shell; null while docker_needs names values."
            ),
            "docker_needs": WORDS,
            "docker_command": _or_null(TEXT),
            "port": _or_null(COUNT),
            "start": {"enum": ["before", "with", "after"]},
            "provenance": _said(_map(source), "Where each flag and each $VARIABLE comes from."),
        },
        optional=("docker_needs",),
    )


def _sizing() -> Schema:
    parts = (
        "weights", "activation", "non_torch", "cuda_graphs", "kv_cache", "outside_budget", "free",
    )  # fmt: skip
    band = _or_null({"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2})
    signed = _said(_or_null({"type": "integer"}), "Bytes; below zero where memory is short.")
    return _object(
        {
            "vllm": TEXT,
            "basis": {"enum": ["measured", "computed", "declared"]},
            "gpu_total_bytes": BYTES,
            "gpu_memory_utilization": _or_null({"type": "number"}),
            "per_gpu": _object(dict.fromkeys(parts, signed)),
            "band": _map(band),
            "kv_bytes_per_token": _or_null({"type": "number"}),
            "kv_block_size": _or_null(COUNT),
            "kv_tokens": _or_null(COUNT),
            "max_concurrency": _or_null({"type": "number"}),
            "max_model_len": _or_null(COUNT),
            "fits": _or_null(TRUTH),
            "shortfall_bytes": _or_null(COUNT),
            "log_lines": WORDS,
            "assumptions": WORDS,
        }
    )


def _finding() -> Schema:
    return _object(
        {
            "severity": {"enum": ["error", "warning", "info"]},
            "code": TEXT,
            "message": TEXT,
            "where": TEXT,
            "source": TEXT,
        }
    )
