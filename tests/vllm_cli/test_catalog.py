"""Every command that the built-in catalog offers, at its own floor and at the newest release."""

from __future__ import annotations

from collections import defaultdict

import pytest

from recipes_core.findings import Finding
from recipes_core.vllm_cli import check_argv, min_version, newest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def commands():  # type: ignore[no-untyped-def]
    from rendered import distinct, from_catalog

    found = [c for c in distinct(from_catalog()) if c.argv[:2] == ("vllm", "serve")]
    assert len(found) > 10_000
    return found


def _serious(findings: list[Finding]) -> list[Finding]:
    return [f for f in findings if f.severity == "error" or f.code == "unknown-variable"]


def test_the_newest_release_knows_all_of_it(commands) -> None:  # type: ignore[no-untyped-def]
    left = defaultdict(set)
    for command in commands:
        # A plugin that carries the model follows one release, which is the recipe's floor.
        carried = set(command.plugins) - {"vllm-ascend"}
        version = (command.floor if carried else None) or newest()
        recipe = command.label.partition("?")[0]
        for finding in _serious(
            check_argv(command.argv, dict(command.env), version, plugins=command.plugins)
        ):
            left[recipe].add(finding.message)
    assert dict(left) == {}


def test_no_declared_floor_is_too_low(commands) -> None:  # type: ignore[no-untyped-def]
    left = defaultdict(set)
    for command in commands:
        recipe = command.label.partition("?")[0]
        floor = min_version(command.argv, dict(command.env), plugins=command.plugins)
        wheres = {reason.where for reason in floor.reasons}
        if command.floor is not None and floor.contradicts(command.floor):
            left[recipe].add((command.floor, floor.version, *sorted(wheres)))
    assert dict(left) == {}
