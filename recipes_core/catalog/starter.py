"""A first draft of a recipe, from what a checkpoint's ``config.json`` tells."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from recipes_core.catalog.catalog import Catalog
from recipes_core.catalog.documents import Recipe
from recipes_core.catalog.emit import dump_yaml
from recipes_core.catalog.messages import dotted, faults
from recipes_core.errors import RecipesError

_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*\Z", re.ASCII)
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
_TOWERS = ("vision_config", "audio_config", "thinker_config", "vision_tower")
_TYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float8_e4m3fn": "fp8"}
_MOE_LAYOUTS = (
    "single_node_tp",
    "single_node_tep",
    "single_node_dep",
    "multi_node_tp",
    "multi_node_tep",
    "multi_node_dep",
)
_DENSE_LAYOUTS = ("single_node_tp", "multi_node_tp")


class Sized(NamedTuple):
    """What sizing found out about a checkpoint; None = not known."""

    parameters: float | None = None
    """All parameters."""
    active_parameters: float | None = None
    """Parameters that one token uses."""
    weights_gb: float | None = None
    """GB of the weights once loaded."""


class Draft(NamedTuple):
    """A starter recipe."""

    recipe_id: str
    text: str
    """The YAML file."""
    unknown: tuple[str, ...]
    """What the author has to find out or write: key and why."""


def _nested(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a config that describes the language model."""
    for name in ("text_config", "llm_config", "language_config"):
        inner = config.get(name)
        if isinstance(inner, Mapping):
            return inner
    return config


def precision_of(config: Mapping[str, Any]) -> str | None:
    """The precision that a config states: its quantization, else its dtype; None = not said."""
    text = _nested(config)
    quantization = config.get("quantization_config") or text.get("quantization_config")
    if isinstance(quantization, Mapping):
        return _quantized(quantization)
    dtype = str(text.get("torch_dtype") or text.get("dtype") or config.get("torch_dtype") or "")
    return _TYPES.get(dtype.removeprefix("torch."))


def _quantized(quantization: Mapping[str, Any]) -> str | None:
    method = str(quantization.get("quant_method", "")).lower()
    said = f"{method} {quantization.get('quant_algo', '')} {quantization.get('format', '')}".lower()
    everything = str(quantization).lower()
    for word in ("nvfp4", "mxfp4"):
        if word in everything:
            return word
    for word in ("mxfp8", "fp8"):
        if word in said:
            return word
    bits = quantization.get("bits") or quantization.get("w_bit")
    kind = "int"
    for group in (quantization.get("config_groups") or {}).values():
        weights = group.get("weights") or {}
        bits = bits or weights.get("num_bits")
        kind = "fp" if weights.get("type") == "float" else kind
    if bits is None:
        return "int4" if method in {"awq", "gptq"} else None
    if kind == "fp" and bits == 4:
        return "nvfp4"
    return f"{kind}{bits}"


def is_moe(config: Mapping[str, Any]) -> bool:
    """Whether a config speaks of more than one expert."""
    text = _nested(config)
    return any(isinstance(text.get(name), int) and text[name] > 1 for name in _EXPERTS)


def _count(parameters: float | None) -> str | None:
    if parameters is None:
        return None
    for unit, scale in (("T", 1e12), ("B", 1e9), ("M", 1e6)):
        if parameters >= scale:
            return f"{parameters / scale:.3g}{unit}"
    return f"{parameters:.0f}"


def _provider(catalog: Catalog, org: str) -> str | None:
    """The provider that other recipes of the same organization name."""
    for entry in catalog.recipes.values():
        if entry.id.split("/")[0].casefold() == org.casefold():
            return entry.recipe.meta.provider
    return None


def _model(config: Mapping[str, Any], recipe_id: str, newest: str, sized: Sized) -> dict[str, Any]:
    text = _nested(config)
    context = text.get("max_position_embeddings") or text.get("max_sequence_length")
    model: dict[str, Any] = {
        "model_id": recipe_id,
        "min_vllm_version": newest,
        "architecture": "moe" if is_moe(config) else "dense",
        "parameter_count": _count(sized.parameters),
        "active_parameters": _count(sized.active_parameters),
        "context_length": context if isinstance(context, int) else None,
    }
    if config.get("auto_map"):
        model["base_args"] = ["--trust-remote-code"]
    return {key: value for key, value in model.items() if value is not None}


def least_vram_gb(weights_gb: float) -> int:
    """What a variant asks for where its weights are computed: a fifth more, rounded up.

    Args:
        weights_gb: GB of the weights once loaded.

    Returns:
        GB on all GPUs together.
    """
    return math.ceil(round(weights_gb * 1.2, 6))


def starter_recipe(
    recipe_id: str,
    catalog: Catalog,
    *,
    newest_vllm: str,
    first_vllm: str | None = None,
    config: Mapping[str, Any] | None = None,
    sized: Sized | None = None,
    today: datetime.date | None = None,
) -> Draft:
    """A recipe with everything filled in that a config tells.

    Args:
        recipe_id: ``org/repo`` on Hugging Face.
        catalog: Ours; gives the provider, and says if the recipe is there already.
        newest_vllm: Newest vLLM release; the floor where ``first_vllm`` is not known.
        first_vllm: First release that lists the config's architecture.
        config: The checkpoint's ``config.json``; None = nothing is known.
        sized: What sizing made of the config.
        today: Date of the recipe; today where None.

    Returns:
        The draft. Nothing in it is guessed: what is not known is left out and named.

    Raises:
        RecipesError: The id is malformed or taken, or the config holds what no recipe can say.
    """
    if not _ID.match(recipe_id):
        raise RecipesError(f"{recipe_id!r} is no repository id; one looks like org/repo")
    taken = {known.casefold(): known for known in catalog.recipes}.get(recipe_id.casefold())
    if taken:
        raise RecipesError(f"{taken} has a recipe already: {catalog.recipes[taken].source}")
    told, sizes = config or {}, sized or Sized()
    org, repo = recipe_id.split("/")
    provider, precision = _provider(catalog, org), precision_of(told)
    vram = 0 if sizes.weights_gb is None else least_vram_gb(sizes.weights_gb)
    unknown = _never_told(first_vllm, newest_vllm)
    if provider is None:
        unknown.append(f"meta.provider: add {org!r} to providers of taxonomy.yaml")
    if precision is None:
        unknown.append("variants.default.precision: the config does not say; bf16 stands there")
    if sizes.weights_gb is None:
        unknown.append("variants.default.vram_minimum_gb: weights are not known; 0 stands there")
    tasks = ["multimodal" if any(told.get(tower) for tower in _TOWERS) else "text"]
    data: dict[str, Any] = {
        "meta": {
            "title": repo,
            "provider": provider or org,
            "slug": repo.lower(),
            "date_added": today or datetime.date.today(),
            "difficulty": "intermediate",
            "tasks": tasks,
        },
        "model": _model(told, recipe_id, first_vllm or newest_vllm, sizes),
        "variants": {
            "default": {
                "precision": precision or "bf16",
                "vram_minimum_gb": vram,
                **({"vram_source": "computed"} if vram else {}),
            }
        },
        "compatible_strategies": list(_MOE_LAYOUTS if is_moe(told) else _DENSE_LAYOUTS),
    }
    try:
        Recipe.model_validate(data)
    except ValidationError as error:
        first = faults(error, Recipe, data)[0]
        raise RecipesError(f"config.json: {dotted(first.path)} {first.message}") from None
    head = "".join(f"# {line}\n" for line in ("Still to be found out or written:", *unknown))
    return Draft(recipe_id, head + dump_yaml(data), tuple(unknown))


def _never_told(first_vllm: str | None, newest_vllm: str) -> list[str]:
    """What no config tells: the key, and what its author has to find out."""
    floor = f"{newest_vllm} is the newest; an older release may do"
    if first_vllm:
        floor = (
            f"{first_vllm} is the first that lists its architecture; parsers, flags and this"
            " checkpoint may need a newer one"
        )
    return [
        "meta.description: one or two sentences on what the model is for",
        "meta.hardware: what it was run on, each `verified` with meta.evidence",
        f"model.min_vllm_version: {floor}",
        "features: its tool-call and reasoning parsers, speculative decoding",
        "guide: what to watch, a launch that works, a request, tuning, troubleshooting",
    ]
