"""The real parsers of vLLM and vllm-router agree with our lists and accept our commands."""

from __future__ import annotations

import pytest

from tests.vllm_cli.conftest import Verdicts
from tests.vllm_cli.test_check import ACCEPTED, PASSED_IN_SILENCE, REFUSED

pytestmark = pytest.mark.slow

RECIPES = ("deepseek-ai/DeepSeek-R1", "Qwen/Qwen3-8B", "baidu/ERNIE-5.5-Flash")
"""With pools and stores, a plain one, and one with a router over a DP engine."""


def _commands(lists: list[list[str]]) -> list[list[str]]:
    from rendered import filled

    return [["vllm", "serve", "m", *filled(args)] for args in lists]


def test_what_we_accept_it_accepts(real_parser: Verdicts) -> None:
    assert real_parser(_commands(ACCEPTED)) == [True] * len(ACCEPTED)


def test_what_we_call_refused_it_refuses(real_parser: Verdicts) -> None:
    lists = [args for args, _, _ in REFUSED]
    accepted = [args for args, ok in zip(lists, real_parser(_commands(lists)), strict=True) if ok]
    assert accepted == []


def test_what_only_the_engine_refuses_it_lets_pass(real_parser: Verdicts) -> None:
    lists = [args for args, _ in PASSED_IN_SILENCE]
    assert real_parser(_commands(lists)) == [True] * len(lists)


def test_our_router_commands_are_accepted(real_router: Verdicts) -> None:
    from rendered import distinct, filled, from_catalog

    rendered = distinct(from_catalog(recipes=RECIPES))
    commands = [filled(c.argv) for c in rendered if c.argv[0] == "vllm-router"]
    assert len(commands) >= 8
    refused = [c for c, ok in zip(commands, real_router(commands), strict=True) if not ok]
    assert refused == []


def test_the_router_parser_does_refuse(real_router: Verdicts) -> None:
    assert real_router([["vllm-router", "--backend-url", "http://x:1"]]) == [False]
