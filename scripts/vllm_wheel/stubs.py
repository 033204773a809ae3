"""Stand-ins for third-party modules, so that vLLM's parser imports without torch."""

from __future__ import annotations

# ruff: noqa: ARG001, ARG002
import os
import sys

from vllm_wheel.fetch import SRC

# compiled parts of vLLM itself (not unpacked); imported by vllm/platforms/cuda.py
STUB_ALWAYS = {"vllm._C", "vllm._moe_C", "vllm._C_stable_libtorch", "vllm._moe_C_stable_libtorch"}
NEED = 77  # exit status of a child that met a missing third-party module


def install_stubs(tops: set[str]):
    import importlib.abc
    import importlib.machinery
    import types
    import typing
    from unittest import mock  # noqa: F401

    class Meta(type(typing.Protocol)):
        def __getattr__(cls, name):
            if name.startswith("__") and name.endswith("__"):
                raise AttributeError(name)
            if not cls.__dict__.get("_vllm_stub"):
                # a real class of vLLM that inherits from a stub: behave like a normal class
                raise AttributeError(name)
            v = make(f"{cls.__name__}.{name}")
            setattr(cls, name, v)
            return v

        def __call__(cls, *a, **k):
            if not cls.__dict__.get("_vllm_stub"):
                return super().__call__(*a, **k)
            if len(a) == 1 and not k and callable(a[0]) and not isinstance(a[0], Meta):
                return a[0]  # used as a bare decorator
            return object.__new__(cls)

        def register(cls, *a, **k):
            return (lambda x: x) if not (a and isinstance(a[0], type)) else a[0]

        def __getitem__(cls, item):
            return cls

        def __instancecheck__(cls, inst):
            return type.__instancecheck__(cls, inst)

        def __subclasscheck__(cls, sub):
            return type.__subclasscheck__(cls, sub)

        def __iter__(cls):
            return iter(())

        def __len__(cls):
            return 0

        def __contains__(cls, x):
            return False

        def __bool__(cls):
            return True

        def __repr__(cls):
            return f"<stub {cls.__name__}>"

        def __lt__(cls, o):
            return False

        __gt__ = __le__ = __ge__ = __lt__

        def __add__(cls, o):
            return cls

        __sub__ = __mul__ = __truediv__ = __floordiv__ = __radd__ = __rsub__ = __rmul__ = (
            __and__
        ) = __add__

        def __enter__(cls):
            return cls

        def __exit__(cls, *a):
            return False

    class Base(metaclass=Meta):
        _vllm_stub = True

        def __init__(self, *a, **k):
            pass

        def __init_subclass__(cls, **k):
            pass

        def __getattr__(self, name):
            if name.startswith("__") and name.endswith("__"):
                raise AttributeError(name)
            return make(name)

        def __call__(self, *a, **k):
            if len(a) == 1 and not k and callable(a[0]):
                return a[0]
            return self

        def __getitem__(self, k):
            return self

        def __add__(self, o):
            return o if isinstance(o, str) else self

        __radd__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __rsub__ = __rmul__ = (
            __mod__
        ) = __and__ = __or__ = __add__

        def __lt__(self, o):
            return False

        __gt__ = __le__ = __ge__ = __lt__

        def __int__(self):
            return 0

        __index__ = __int__

        def __float__(self):
            return 0.0

        def __len__(self):
            return 0

        def __iter__(self):
            return iter(())

        def __enter__(self):
            return self

        def __exit__(self, *a):
            return False

        @classmethod
        def __get_pydantic_core_schema__(cls, source, handler):
            from pydantic_core import core_schema

            return core_schema.any_schema()

    def infer_schema(
        fn, *a, **k
    ):  # torch.library: vLLM counts the outputs and compares two results
        ret = getattr(fn, "__annotations__", {}).get("return")
        n = ret.count("Tensor") if isinstance(ret, str) else len(typing.get_args(ret)) or 1
        return "() -> (" + ", ".join(["Tensor"] * n) + ")"

    def info(*a):  # torch.iinfo / torch.finfo: used as bounds of pydantic fields and in divisions
        return types.SimpleNamespace(min=-(2**63), max=2**63 - 1, eps=1e-6, bits=64, tiny=1e-30)

    special = {"infer_schema": infer_schema, "iinfo": info, "finfo": info}

    def make(name):
        if name.rsplit(".", 1)[-1] in special:
            return special[name.rsplit(".", 1)[-1]]
        return Meta(
            name.rsplit(".", 1)[-1] or "stub", (Base,), {"_vllm_stub": True, "__module__": "stub"}
        )

    class Mod(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__") and name.endswith("__"):
                raise AttributeError(name)
            full = f"{self.__name__}.{name}"
            if full in sys.modules:
                return sys.modules[full]
            v = make(name)
            setattr(self, name, v)
            return v

    versions = {"torch": "2.13.0", "transformers": "5.16.1", "numpy": "2.2.0", "triton": "3.5.0"}
    loaded: set[str] = set()

    class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        def find_spec(self, fullname, path=None, target=None):
            if fullname in STUB_ALWAYS or fullname.split(".")[0] in tops:
                return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
            return None

        def create_module(self, spec):
            m = Mod(spec.name)
            m.__path__ = []
            m.__version__ = versions.get(spec.name.split(".")[0], "99.0.0")
            m.__all__ = []
            loaded.add(spec.name)
            return m

        def exec_module(self, module):
            pass

    sys.meta_path.insert(0, Finder())
    import importlib.metadata as im

    real_version = im.version

    def version(name):
        if name.replace("-", "_").split(".")[0] in tops:
            return versions.get(name, "99.0.0")
        return real_version(name)

    im.version = version
    return loaded


def bootstrap(version: str, stubs: list[str]):
    """In the child: put this version's Python files first on the path and stub what is missing."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ["VLLM_PLUGINS"] = ""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import importlib.util

    stubs[:] = [
        n for n in stubs if importlib.util.find_spec(n) is None
    ]  # installed meanwhile: use the real one
    sys.path.insert(0, str(SRC / version))
    return install_stubs(set(stubs))
