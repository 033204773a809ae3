"""Collect registries, config classes and variables of one release."""

from __future__ import annotations

import re

from vllm_wheel.describe import jsonable
from vllm_wheel.fetch import SRC


def literal_args(tp):
    import typing

    out = []
    for x in typing.get_args(tp):
        if typing.get_origin(x) is not None and typing.get_args(x):
            out += literal_args(x)
        else:
            out.append(x)
    return [jsonable(x) for x in out if x is not None]


def first_attr(*paths):
    import importlib

    for p in paths:
        mod, _, attr = p.partition(":")
        try:
            return getattr(importlib.import_module(mod), attr)
        except Exception:
            continue
    return None


def src_ast(version, rel):
    import ast

    p = SRC / version / rel
    return ast.parse(p.read_text()) if p.exists() else None


def static_dict_keys(version, rel, var):
    """Keys of a module-level dict literal, read from the source, without importing."""
    import ast

    tree = src_ast(version, rel)
    if tree is None:
        return None
    for node in tree.body:
        tg = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if (
            isinstance(node, (ast.Assign, ast.AnnAssign))
            and getattr(tg, "id", "") == var
            and isinstance(node.value, ast.Dict)
        ):
            return [k.value for k in node.value.keys if isinstance(k, ast.Constant)]
    return None


def static_literal(version, rel, var):
    import ast

    tree = src_ast(version, rel)
    if tree is None:
        return None
    for node in tree.body:
        tg = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and getattr(tg, "id", "") == var:
            return [
                c.value
                for c in ast.walk(node.value)
                if isinstance(c, ast.Constant) and isinstance(c.value, str)
            ]
    return None


def static_registered(version, folder, manager):
    """Names of parsers that a decorator registers in a folder (older vLLM)."""
    out = set()
    base = SRC / version / folder
    if not base.is_dir():
        return out
    for p in base.glob("*.py"):
        s = p.read_text()
        for m in re.finditer(
            manager + r"\.register_module\(\s*(?:name\s*=\s*)?(\[[^\]]*\]|\"[^\"]*\"|'[^']*')", s
        ):
            out |= set(re.findall(r"[\"']([^\"']+)[\"']", m.group(1)))
    return out


def collect_choices(version) -> tuple[dict, dict]:
    import importlib

    ch: dict = {}
    how: dict = {}

    def put(key, value, source):
        if value:
            ch[key] = value
            how[key] = source

    # parsers
    for key, mods, attr, static in (
        (
            "reasoning_parser",
            ["vllm.reasoning"],
            "ReasoningParserManager",
            [("vllm/reasoning", "ReasoningParserManager")],
        ),
        (
            "tool_call_parser",
            ["vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers"],
            "ToolParserManager",
            [
                ("vllm/tool_parsers", "ToolParserManager"),
                ("vllm/entrypoints/openai/tool_parsers", "ToolParserManager"),
            ],
        ),
    ):
        names, src = None, None
        for m in mods:
            mgr = first_attr(f"{m}:{attr}")
            if mgr is None:
                continue
            if hasattr(mgr, "list_registered"):
                names, src = sorted(mgr.list_registered()), f"{m}.{attr}.list_registered()"
            else:
                d = next(
                    (
                        getattr(mgr, a)
                        for a in ("reasoning_parsers", "tool_parsers")
                        if hasattr(mgr, a)
                    ),
                    {},
                )
                names, src = sorted(d), f"{m}.{attr} registry"
            break
        st = set()
        for folder, man in static:
            st |= static_registered(version, folder, man)
        if st - set(names or []):
            names, src = (
                sorted(set(names or []) | st),
                (src or "") + " + register_module decorators in the source",
            )
        put(key, names, src)

    q = first_attr("vllm.model_executor.layers.quantization:QUANTIZATION_METHODS")
    if isinstance(q, (list, tuple)) and q:
        put("quantization", list(q), "layers.quantization.QUANTIZATION_METHODS")
    else:
        put(
            "quantization",
            static_literal(
                version,
                "vllm/model_executor/layers/quantization/__init__.py",
                "QuantizationMethods",
            ),
            "source: QuantizationMethods",
        )
    put(
        "quantization_deprecated",
        list(
            first_attr("vllm.model_executor.layers.quantization:DEPRECATED_QUANTIZATION_METHODS")
            or []
        )
        or static_literal(
            version,
            "vllm/model_executor/layers/quantization/__init__.py",
            "DEPRECATED_QUANTIZATION_METHODS",
        ),
        "source",
    )
    lf = static_dict_keys(
        version, "vllm/model_executor/model_loader/__init__.py", "_LOAD_FORMAT_TO_MODEL_LOADER"
    )
    put("load_format", lf, "source: model_loader._LOAD_FORMAT_TO_MODEL_LOADER")

    ab = first_attr(
        "vllm.v1.attention.backends.registry:AttentionBackendEnum",
        "vllm.attention.backends.registry:AttentionBackendEnum",
        "vllm.attention.backends.registry:_Backend",
        "vllm.platforms.interface:_Backend",
        "vllm.platforms:_Backend",
    )
    if ab is not None:
        put(
            "attention_backend",
            list(getattr(ab, "__members__", {})),
            f"{ab.__module__}.{ab.__qualname__}",
        )
    mb = first_attr(
        "vllm.v1.attention.backends.registry:MambaAttentionBackendEnum",
        "vllm.attention.backends.registry:MambaAttentionBackendEnum",
    )
    if mb is not None:
        put("mamba_attention_backend", list(mb.__members__), "MambaAttentionBackendEnum")

    for key, paths in {
        "kv_cache_dtype": ["vllm.config.cache:CacheDType", "vllm.config:CacheDType"],
        "moe_backend": ["vllm.config.kernel:MoEBackend"],
        "linear_backend": ["vllm.config.kernel:LinearBackend"],
        "all2all_backend": ["vllm.config.parallel:All2AllBackend"],
        "speculative_method": [
            "vllm.config.speculative:SpeculativeMethod",
            "vllm.config:SpeculativeMethod",
        ],
        "distributed_executor_backend": ["vllm.config.parallel:DistributedExecutorBackend"],
        "tokenizer_mode": ["vllm.config.model:TokenizerMode"],
        "runner": ["vllm.config.model:RunnerOption"],
        "convert": ["vllm.config.model:ConvertOption"],
        "dtype": ["vllm.config.model:ModelDType"],
        "kv_role": ["vllm.config.kv_transfer:KVRole"],
        "optimization_level": [],
    }.items():
        for p in paths:
            v = first_attr(p)
            if v is not None:
                try:
                    vals = literal_args(v)
                except Exception:
                    continue
                if vals:
                    put(key, vals, p.replace(":", "."))
                    break

    kv = None
    try:
        f = importlib.import_module(
            "vllm.distributed.kv_transfer.kv_connector.factory"
        ).KVConnectorFactory
        kv = sorted(f._registry)
        put("kv_connector", kv, "KVConnectorFactory._registry")
    except Exception as e:
        s = SRC / version / "vllm/distributed/kv_transfer/kv_connector/factory.py"
        if s.exists():
            kv = re.findall(r"register_connector\(\s*[\"']([^\"']+)[\"']", s.read_text())
            put(
                "kv_connector", sorted(kv), f"source: register_connector calls ({type(e).__name__})"
            )
    s = SRC / version / "vllm/distributed/ec_transfer/ec_connector/factory.py"
    if s.exists():
        put(
            "ec_connector",
            sorted(re.findall(r"register_connector\(\s*[\"']([^\"']+)[\"']", s.read_text())),
            "source: register_connector calls",
        )
    s = SRC / version / "vllm/distributed/weight_transfer/factory.py"
    if s.exists():
        put(
            "weight_transfer_backend",
            sorted(set(re.findall(r"register_engine\(\s*[\"']([^\"']+)[\"']", s.read_text()))),
            "source: register_engine calls",
        )
    return ch, how


def collect_configs() -> dict:
    """Fields of the config dataclasses behind the JSON flags."""
    import dataclasses
    import typing

    import vllm.config as vc

    out = {}
    todo = [
        n
        for n in dir(vc)
        if isinstance(getattr(vc, n), type)
        and dataclasses.is_dataclass(getattr(vc, n))
        and getattr(vc, n).__module__.startswith("vllm")
    ]
    seen = {n: getattr(vc, n) for n in todo}
    # nested ones (e.g. PassConfig, EPLBConfig)
    frontier = list(seen.values())
    while frontier:
        c = frontier.pop()
        for f in dataclasses.fields(c):
            for t in _walk_types(f.type):
                if (
                    isinstance(t, type)
                    and dataclasses.is_dataclass(t)
                    and t.__module__.startswith("vllm")
                    and t.__name__ not in seen
                ):
                    seen[t.__name__] = t
                    frontier.append(t)
    for n, c in sorted(seen.items()):
        if n == "VllmConfig":
            continue
        fl = {}
        for f in dataclasses.fields(c):
            if f.name.startswith("_") or not f.init:
                continue
            e: dict = {"type": _tname(f.type)}
            lits = []
            for t in _walk_types(f.type):
                if typing.get_origin(t) is typing.Literal:
                    lits += literal_args(t)
            if lits:
                e["choices"] = list(dict.fromkeys(lits))
                del e["type"]
            d = f.default
            if type(d).__name__ == "FieldInfo":
                d = d.default if d.default_factory is None else dataclasses.MISSING
            if d is not dataclasses.MISSING and type(d).__name__ != "PydanticUndefinedType":
                e["default"] = jsonable(d)
            fl[f.name] = e
        out[n] = fl
    return out


def _walk_types(t):
    import typing

    yield t
    if typing.get_origin(t) is typing.Literal:
        return
    for a in typing.get_args(t):
        yield from _walk_types(a)


def _tname(t) -> str:
    if isinstance(t, str):
        return t
    s = t.__name__ if isinstance(t, type) and not getattr(t, "__args__", None) else str(t)
    s = re.sub(r"\b(?:typing|collections\.abc|vllm(?:\.\w+)+|stub|torch)\.", "", s)
    s = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", s)
    s = (
        re.sub(r"Annotated\[(.*)\]", lambda m: m.group(1).split(", ")[0], s)
        if s.startswith("Annotated[")
        else s
    )
    return s[:100]


def collect_env(version) -> dict:
    """Every key of environment_variables in vllm/envs.py, with its annotation and default."""
    import ast

    tree = src_ast(version, "vllm/envs.py")
    ann: dict = {}
    keys: list[str] = []
    srcs: dict = {}
    text = (SRC / version / "vllm/envs.py").read_text()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            for s in node.body:
                if isinstance(s, ast.AnnAssign):
                    ann[s.target.id] = (
                        ast.unparse(s.annotation),
                        ast.unparse(s.value) if s.value else None,
                    )
        if isinstance(node, (ast.AnnAssign, ast.Assign)):
            tg = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if getattr(tg, "id", "") == "environment_variables" and isinstance(
                node.value, ast.Dict
            ):
                for k, v in zip(node.value.keys, node.value.values, strict=False):
                    if isinstance(k, ast.Constant):
                        keys.append(k.value)
                        srcs[k.value] = v
    out = {}
    lines = text.splitlines()
    import vllm.envs as envs  # the imported table is the truth; the AST only adds types

    live = list(getattr(envs, "environment_variables", {}))
    for k in dict.fromkeys(live + keys):
        e = {}
        if k in ann:
            e["type"] = ann[k][0]
            if ann[k][1] is not None:
                e["default"] = ann[k][1]
        v = srcs.get(k)
        if v is not None:
            # The choices stand in env_with_choices(name, default, [..]), deprecation in a comment.
            for c in ast.walk(v):
                if isinstance(c, ast.Call) and getattr(c.func, "id", "").startswith(
                    ("env_with_choices", "env_list_with_choices", "env_set_with_choices")
                ):
                    for arg in c.args[2:3]:
                        if isinstance(arg, (ast.List, ast.Tuple)):
                            e["choices"] = [
                                x.value for x in arg.elts if isinstance(x, ast.Constant)
                            ]
            i = v.lineno - 2
            com = []
            while i >= 0 and lines[i].strip().startswith(("#", '"' + k)):
                if lines[i].strip().startswith("#"):
                    com.insert(0, lines[i].strip("# ").strip())
                i -= 1
            if re.search(r"deprecat", " ".join(com) + ast.unparse(v), re.I):
                e["deprecated"] = True
        out[k] = e
    return out


def collect_env_elsewhere(version, known) -> list[str]:
    """VLLM_* names read with os.environ / os.getenv outside envs.py."""
    pat = re.compile(
        r"(?:environ(?:\.get|\.setdefault|\.pop)?\s*[\(\[]|getenv\()\s*[\"'](VLLM_[A-Z0-9_]+)[\"']"
    )
    out = set()
    for p in (SRC / version / "vllm").rglob("*.py"):
        s = p.read_text(errors="replace")
        if "environ" in s or "getenv" in s:
            out |= set(pat.findall(s))
    return sorted(out - set(known))


def collect_models(version) -> list[str]:
    import ast

    tree = src_ast(version, "vllm/model_executor/models/registry.py")
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
            tg = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if getattr(tg, "id", "").endswith("_MODELS"):
                names += [
                    k.value
                    for k in node.value.keys
                    if isinstance(k, ast.Constant) and isinstance(k.value, str)
                ]
    return sorted(set(names))
