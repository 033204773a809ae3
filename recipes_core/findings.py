"""What a check has to say: one fault or remark, with its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "info"]

_RANK = {"error": 0, "warning": 1, "info": 2}


class Finding(NamedTuple):
    """One thing that is wrong or worth knowing."""

    severity: Severity
    """``error`` = must be mended, ``warning`` = should be, ``info`` = good to know."""
    code: str
    """Kind of finding, stable, such as ``unknown-hardware``."""
    message: str
    """One sentence for a person."""
    where: str = ""
    """Key in dotted form, flag or variable that it is about."""
    source: str = ""
    """File, catalog or check that it comes from."""
    line: int | None = None
    """Line in that file, from 1, where it is known."""

    def __str__(self) -> str:
        """The finding on one line, place first, as compilers print theirs."""
        place = self.source + (f":{self.line}" if self.line is not None else "")
        head = ": ".join(part for part in (place, self.where) if part)
        return f"{head}: {self.severity}: {self.message} [{self.code}]".removeprefix(": ")


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with the worst first; otherwise in their order."""
    return sorted(findings, key=lambda finding: _RANK[finding.severity])
