"""Describe one argparse action as plain data."""

from __future__ import annotations

import re


def jsonable(v, depth=0):
    import dataclasses
    import enum

    if depth > 4:
        return repr(v)
    if v is None or isinstance(v, (bool, int, str)):
        return v
    if isinstance(v, float):
        return v if v == v and abs(v) != float("inf") else repr(v)
    if isinstance(v, enum.Enum):
        return v.name if not isinstance(v.value, (str, int)) else v.value
    if isinstance(v, dict):
        return {str(k): jsonable(x, depth + 1) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [jsonable(x, depth + 1) for x in v]
    if isinstance(v, (set, frozenset)):
        return sorted((jsonable(x, depth + 1) for x in v), key=str)
    if dataclasses.is_dataclass(v):
        return {"$config": type(v).__name__ if not isinstance(v, type) else v.__name__}
    if isinstance(v, type):
        return {"$type": v.__name__}
    return {"$repr": re.sub(r" at 0x[0-9a-f]+", "", repr(v))[:120]}


def type_name(t, depth=0) -> tuple[str | None, bool, str | None]:
    """(name, optional, config class) of an argparse type=, looking into vLLM's closures."""
    if t is None:
        return None, False, None
    qn = getattr(t, "__qualname__", getattr(t, "__name__", str(t)))
    if qn in ("int", "float", "str", "bool"):
        return qn, False, None
    if qn == "loads":
        return "json", False, None
    cells = {}
    code = getattr(t, "__code__", None)
    if code is not None and getattr(t, "__closure__", None):
        cells = dict(zip(code.co_freevars, (c.cell_contents for c in t.__closure__), strict=False))
    if "optional_type" in qn and "return_type" in cells and depth < 5:
        n, _, c = type_name(cells["return_type"], depth + 1)
        return n, True, c
    if "parse_type" in qn and "return_type" in cells and depth < 5:
        return type_name(cells["return_type"], depth + 1)
    if "parse_dataclass" in qn:
        cls = (t.__defaults__ or [None])[-1] or cells.get("dataclass_cls")
        return "json", False, getattr(cls, "__name__", None)
    if "union_dict_and_str" in qn:
        return "json_or_str", False, None
    return qn.split(".")[-1], False, None


def dump_action(a, deprecated) -> dict:
    import argparse as ap

    opts = list(a.option_strings)
    d: dict = {}
    longs = [o for o in opts if o.startswith("--")]
    neg = getattr(a, "negative_option_strings", None)
    is_bool_opt = isinstance(a, ap.BooleanOptionalAction)
    if neg is None:
        neg = {o for o in longs if is_bool_opt and o.startswith("--no-")} if is_bool_opt else set()
    hidden = set()
    if is_bool_opt and hasattr(a, "negative_option_strings"):
        # newer vLLM hides --no-enable-x from help but still accepts it: see all_option_strings()
        hidden = set(a._all) - set(opts) if hasattr(a, "_all") else set()
    pos = [o for o in opts if o not in neg]
    prim = [o for o in pos if o.startswith("--")]
    # Newer vLLM registers extra flags first and --<dest> last: prefer the one that matches dest.
    want = "--" + a.dest.replace("_", "-")
    name = want if want in pos else (max(prim, key=len) if prim else (pos[0] if pos else a.dest))
    d["name"] = name
    al = [o for o in pos if o != name]
    if al:
        d["aliases"] = al
    if neg or hidden:
        d["negations"] = sorted(set(neg) | hidden)
    d["dest"] = a.dest
    tn, optional, cfg = type_name(a.type)
    cls = type(a).__name__
    if is_bool_opt:
        d["kind"] = "bool"
    elif cls in ("_StoreTrueAction", "_StoreFalseAction"):
        d["kind"] = "flag"
    elif cls in ("_AppendAction",):
        d["kind"] = "append"
    elif cls == "_HelpAction":
        d["kind"] = "help"
    elif cls == "_StoreAction":
        d["kind"] = "value"
    else:
        d["kind"] = "bool" if a.nargs == 0 else "value"
        d["action"] = cls
    if tn and d["kind"] != "bool":
        d["type"] = tn
    if cfg:
        d["config"] = cfg
    if optional:
        d["none_ok"] = True
    if a.nargs is not None and a.nargs != 0:
        d["nargs"] = a.nargs
    if a.const is not None and d["kind"] not in ("flag", "bool"):
        d["const"] = jsonable(a.const)
    if a.choices is not None:
        d["choices"] = [jsonable(c) for c in a.choices if c is not None]
    if a.metavar and not a.choices and d["kind"] != "bool":
        m = a.metavar
        if isinstance(m, (list, tuple)):
            d["suggested"] = [jsonable(x) for x in m]
        elif isinstance(m, str) and m.startswith("{") and "}" in m:
            d["suggested"] = m[1 : m.index("}")].split(",")
    d["default"] = jsonable(a.default)
    if a.required:
        d["required"] = True
    h = a.help if isinstance(a.help, str) and a.help != ap.SUPPRESS else ""
    dep = a in deprecated or bool(getattr(a, "deprecated", False)) or "Deprecated" in cls
    if dep:
        d["deprecated"] = True
    elif re.search(
        r"(\b(is|are|been|now) deprecated\b|^\W*deprecated\b|\[deprecated)",
        h.split("API docs:")[0],
        re.I,
    ):
        d["deprecated"] = "help"
    return d
