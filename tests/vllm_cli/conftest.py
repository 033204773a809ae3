"""The scripts that ask real parsers, where what they need is cached."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from tests.conftest import REPO

sys.path.insert(0, str(REPO / "scripts"))

Verdicts = Callable[[list[list[str]]], list[bool]]


@pytest.fixture(scope="session")
def real_parser() -> Verdicts:
    """Verdicts of the real vLLM 0.33.0 parser; skipped where its wheel is not cached."""
    from vllm_wheel.fetch import ROOT, SRC
    from vllm_wheel.runner import real_verdicts

    if not (SRC / "0.33.0" / "fetch.json").exists() or not (ROOT / "V").exists():
        pytest.skip("vLLM 0.33.0 is not cached: run scripts/check_real_parser.py 0.33.0 once")
    return lambda commands: [verdict["ok"] for verdict in real_verdicts("0.33.0", commands)]


@pytest.fixture(scope="session")
def real_router() -> Verdicts:
    """Verdicts of the real vllm-router parser; skipped where the package is not cached."""
    from check_router import interpreter, router_verdicts
    from vllm_wheel.fetch import ROOT

    if not (ROOT / "R").exists() and not os.environ.get("CI"):
        pytest.skip("vllm-router is not cached: run scripts/check_router.py once")
    return lambda commands: [v["ok"] for v in router_verdicts(commands, interpreter())]
