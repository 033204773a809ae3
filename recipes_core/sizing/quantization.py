"""Which storage each linear layer of a checkpoint has, from its quantization config."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recipes_core.sizing.fields import ConfigError, nearest, shown, whole
from recipes_core.sizing.shapes import PLAIN, Format

_PREFIXES = ("language_model.", "model.", "backbone.")
_ONLINE = {"fp8": Format("fp8_online"), "fp8_per_tensor": Format("fp8_online")}
_METHODS = (
    "fp8",
    "awq",
    "awq_marlin",
    "auto_awq",
    "gptq",
    "gptq_marlin",
    "compressed-tensors",
    "modelopt",
    "modelopt_fp4",
    "modelopt_mixed",
    "nvfp4",
    "mxfp4",
    "gpt_oss_mxfp4",
)


def _stripped(name: str) -> str:
    """A module name without the prefixes that differ between wrappers."""
    changed = True
    while changed:
        changed = False
        for prefix in _PREFIXES:
            if name.startswith(prefix):
                name = name[len(prefix) :]
                changed = True
    return name


class Patterns:
    """A list of module names, globs and ``re:`` expressions, compiled for fast lookup.

    Args:
        entries: As they stand in a checkpoint's ignore list.
        where: For an error about a broken expression.
    """

    def __init__(self, entries: Iterable[str], where: str) -> None:
        self._exact: set[str] = set()
        globs: list[str] = []
        regexes: list[str] = []
        for entry in entries:
            if entry.startswith("re:"):
                regexes.append(entry[3:])
            elif "*" in entry or "?" in entry:
                stem = _stripped(entry)
                globs += [fnmatch.translate(stem), fnmatch.translate(f"{stem}.*")]
            else:
                self._exact.add(_stripped(entry))
        try:
            self._regex = re.compile("|".join(f"(?:{r})" for r in regexes)) if regexes else None
            self._glob = re.compile("|".join(globs)) if globs else None
        except re.error as error:
            raise ConfigError(where, "ignore", f"holds a broken expression: {error}") from error

    def __bool__(self) -> bool:
        return bool(self._exact or self._regex or self._glob)

    def match(self, name: str) -> bool:
        """Whether a module, such as ``layers.3.self_attn.q_proj``, is on the list."""
        if self._exact and self._holds(name):
            return True
        if self._glob and self._glob.match(name):
            return True
        return bool(self._regex and (self._regex.match(f"model.{name}") or self._regex.match(name)))

    def _holds(self, name: str) -> bool:
        """Whether a listed name is a run of whole components of ``name``."""
        parts = name.split(".")
        return any(
            ".".join(parts[start:end]) in self._exact
            for start in range(len(parts))
            for end in range(start + 1, len(parts) + 1)
        )


@dataclass
class Quantization:
    """The storage of every linear layer of one checkpoint.

    Args:
        method: vLLM's name of the method, None for a checkpoint in 16 bits.
        default: Storage of a linear that nothing else is said about.
        ignored: Modules left in the model's own type.
        layers: Modules with a storage of their own (mixed precision), first match wins.
        experts_only: Attention and dense parts stay plain (MXFP4 of gpt-oss, DeepSeek-V4 experts).
        kv_cache: KV cache type that the checkpoint asks for.
        notes: What had to be assumed.
    """

    method: str | None = None
    default: Format = PLAIN
    ignored: Patterns | None = None
    layers: list[tuple[Patterns, Format]] = field(default_factory=list)
    experts: Format | None = None
    kv_cache: str | None = None
    notes: list[str] = field(default_factory=list)

    def of(self, *names: str, expert: bool = False) -> Format:
        """The storage of one module, given every name by which it may be listed.

        Args:
            names: Spellings, such as ``layers.3.mlp.gate_proj``.
            expert: It is a routed expert.
        """
        if self.method is None:
            return PLAIN
        if self.ignored and any(self.ignored.match(name) for name in names):
            return PLAIN
        for patterns, found in self.layers:
            if any(patterns.match(name) for name in names):
                return found
        if expert and self.experts is not None:
            return self.experts
        return self.default


def online(method: str) -> Quantization:
    """Weights that vLLM quantizes while it loads a 16-bit checkpoint (``--quantization fp8``).

    Raises:
        ConfigError: A method that needs a checkpoint made for it.
    """
    if method not in _ONLINE:
        raise ConfigError(
            "--quantization",
            method,
            "cannot be applied to a checkpoint in 16 bits; allowed: fp8" + nearest(method, _ONLINE),
        )
    return Quantization(method=method, default=_ONLINE[method])


def read_quantization(root: Mapping[str, Any], text: Mapping[str, Any], where: str) -> Quantization:
    """The quantization that a config.json declares.

    Args:
        root: The whole config.
        text: Its language part.
        where: For errors.

    Raises:
        ConfigError: A method or a width that is not known here.
    """
    found = root.get("quantization_config") or text.get("quantization_config")
    nested = root.get("hf_quant_config")
    if found is None and isinstance(nested, Mapping):
        found = dict(nested.get("quantization") or {})
        found.setdefault("quant_method", "modelopt")
    if found is None:
        found = root.get("compression_config")
    if not found:
        return Quantization()
    if not isinstance(found, Mapping):
        raise ConfigError(where, "quantization_config", f"is {shown(found)}; an object is needed")
    where = f"{where}: quantization_config"
    method = str(found.get("quant_method") or _guess_method(found)).lower()
    ignored = _names(found, where, "ignore", "modules_to_not_convert", "ignored_layers")
    ignored += _names(found, where, "exclude_modules")
    result = Quantization(method=method, ignored=Patterns(ignored, where))
    result.kv_cache = _kv_cache(found)
    if method == "fp8" and not found.get("moe_quant_algo"):
        result.default = Format(_fp8_kind(found, where))
        if text.get("compress_ratios") is not None and text.get("expert_dtype", "fp4") == "fp4":
            # DeepSeek-V4 keeps its experts in MXFP4 unless the config says otherwise.
            result.experts = Format("mxfp4")
    elif method in ("awq", "awq_marlin", "auto_awq"):
        result.default = _int4(found, where, "awq")
    elif method in ("gptq", "gptq_marlin"):
        result.default = _int4(found, where, "gptq")
    elif method in ("mxfp4", "gpt_oss_mxfp4"):
        result.default, result.experts = PLAIN, Format("mxfp4")
    elif method == "compressed-tensors" or method.startswith(("modelopt", "nvfp4", "fp8")):
        _grouped(found, where, result)
    else:
        raise ConfigError(
            where,
            "quant_method",
            f"is {shown(method)}; known here: {', '.join(_METHODS)}" + nearest(method, _METHODS),
        )
    return result


def _guess_method(found: Mapping[str, Any]) -> str:
    return "modelopt" if found.get("quant_algo") else "(missing)"


def _names(found: Mapping[str, Any], where: str, *keys: str) -> list[str]:
    """The ignore list under the first of ``keys`` that has one."""
    for key in keys:
        value = found.get(key)
        if value is None:
            continue
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise ConfigError(where, key, f"is {shown(value)}; a list of names is needed")
        return list(value)
    return []


def _kv_cache(found: Mapping[str, Any]) -> str | None:
    """The KV cache type a checkpoint asks for: 8-bit floats, or nothing."""
    algo = found.get("kv_cache_quant_algo")
    scheme = found.get("kv_cache_scheme")
    if isinstance(algo, str):
        return {"FP8": "fp8", "NVFP4": "nvfp4"}.get(algo.upper())
    if scheme == "FP8" or (
        isinstance(scheme, Mapping)
        and scheme.get("num_bits") == 8
        and scheme.get("type") == "float"
    ):
        return "fp8"
    return None


def _fp8_kind(found: Mapping[str, Any], where: str) -> Any:
    block = found.get("weight_block_size")
    if block is None:
        return "fp8_tensor"
    if list(block) != [128, 128]:
        raise ConfigError(where, "weight_block_size", f"is {shown(block)}; known here: [128, 128]")
    return "fp8_block"


def _int4(found: Mapping[str, Any], where: str, method: str) -> Format:
    bits = whole(found.get("bits", found.get("w_bit", 4)), where, "bits", 1, 16)
    if bits == 8:
        return Format("int8_channel")
    if bits != 4:
        raise ConfigError(where, "bits", f"is {bits}; known here: 4 and 8")
    group = whole(found.get("group_size", found.get("q_group_size", 128)), where, "group_size", -1)
    zero = method == "awq" and bool(found.get("zero_point", True))
    zero = zero or (method == "gptq" and found.get("sym") is False)
    return Format("int4", group=group, zero_point=zero)


_ALGOS = {
    "FP8": Format("fp8_tensor"),
    "FP8_PB_WO": Format("fp8_block"),
    "FP8_PER_CHANNEL_PER_TOKEN": Format("fp8_channel"),
    "NVFP4": Format("nvfp4"),
    "W4A16_NVFP4": Format("nvfp4"),
    "W4A8_NVFP4_FP8": Format("nvfp4"),
    "NVFP4_AWQ": Format("nvfp4"),
    "W4A16_AWQ": Format("int4", group=128),
    "MXFP8": Format("fp8_block"),
}


def _algo(name: object, where: str) -> Format:
    text = str(name).upper()
    if text not in _ALGOS:
        raise ConfigError(
            where,
            "quant_algo",
            f"is {shown(name)}; known here: {', '.join(_ALGOS)}" + nearest(text, _ALGOS),
        )
    return _ALGOS[text]


def _grouped(found: Mapping[str, Any], where: str, result: Quantization) -> None:
    """Fills in a compressed-tensors or modelopt config, whole or mixed precision."""
    mixed = found.get("quantized_layers")
    if isinstance(mixed, Mapping):
        by_algo: dict[Format, list[str]] = {}
        for name, entry in mixed.items():
            algo = entry.get("quant_algo") if isinstance(entry, Mapping) else entry
            by_algo.setdefault(_algo(algo, where), []).append(str(name))
        result.layers = [(Patterns(names, where), fmt) for fmt, names in by_algo.items()]
        if found.get("fmt") and found.get("moe_quant_algo"):
            # DeepSeek-V4: NVFP4 experts inside a block-FP8 checkpoint.
            result.default = Format("fp8_block")
            result.experts = _algo(found["moe_quant_algo"], where)
            result.ignored = Patterns([], where)
        return
    groups = found.get("config_groups")
    if isinstance(groups, Mapping) and groups:
        outer = str(found.get("format") or "")
        for group in groups.values():
            fmt = _weights(group.get("weights"), str(group.get("format") or outer), where)
            targets = [str(t) for t in group.get("targets") or ["Linear"]]
            if "Linear" in targets:
                result.default = fmt
            else:
                result.layers.append((Patterns(targets, where), fmt))
        return
    algo = found.get("quant_algo")
    if algo is None:
        raise ConfigError(where, "config_groups", "is missing; it says how weights are stored")
    result.default = _algo(algo, where)
    listed = any(k in found for k in ("ignore", "exclude_modules", "modules_to_not_convert"))
    if not listed:
        result.ignored = Patterns(["lm_head", "re:.*mlp.gate$", "re:.*mixer.gate$"], where)
        result.notes.append(
            "The quantization config lists nothing that stays in 16 bits; only the head, the "
            "embeddings and routers are taken to."
        )


def _weights(weights: object, layout: str, where: str) -> Format:
    """The storage that one config group gives to its targets."""
    if not isinstance(weights, Mapping):
        if layout == "int-quantized":
            return Format("int8_channel")
        raise ConfigError(where, "weights", f"is {shown(weights)}; an object is needed")
    bits = whole(weights.get("num_bits"), where, "num_bits", 1, 16)
    kind = str(weights.get("type") or "int")
    strategy = str(weights.get("strategy") or "")
    group = weights.get("group_size")
    if kind == "float" and bits == 4:
        if "mxfp4" in layout or group == 32:
            return Format("mxfp4")
        return Format("nvfp4")
    if kind == "float" and bits == 8:
        by_strategy = {"channel": "fp8_channel", "block": "fp8_block"}
        return Format(by_strategy.get(strategy, "fp8_tensor"))  # type: ignore[arg-type]
    if kind == "int" and bits == 8:
        return Format("int8_channel")
    if kind == "int" and bits == 4:
        size = whole(group if group is not None else -1, where, "group_size", -1)
        zero = weights.get("symmetric") is False
        return Format("int4", group=size, zero_point=zero)
    raise ConfigError(where, "num_bits", f"is {bits} of type {kind}; known here: 4 and 8 bits")
