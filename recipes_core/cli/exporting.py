"""``recipes export``: a whole catalog as files."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import typer

from recipes_core.cli.common import open_catalog, say, tell_findings
from recipes_core.deployment import ReaderValues
from recipes_core.publish.contents import Options
from recipes_core.publish.export import export


def run(
    folder: Path,
    folders: Sequence[str],
    *,
    base_url: str | None,
    dashboard: str | None,
    facts: bool,
    jobs: int | None,
    placeholders: dict[str, str],
) -> None:
    """Write the site and say what was done; a bar on a terminal, nothing in a pipe."""
    options = Options(base_url, dashboard, facts, ReaderValues(placeholders))
    bar = Bar() if sys.stderr.isatty() else None
    report = export(open_catalog(folders), folder, options, jobs=jobs, progress=bar)
    if bar is not None:
        bar.clear()
    tell_findings(report.skipped)
    say(
        f"{report.files} files, {report.bytes / 1e6:.1f} MB, {report.renderings} configurations:"
        f" {report.written} written, {report.removed} removed, {report.seconds:.1f} s"
    )
    if any(finding.severity == "error" for finding in report.skipped):
        raise typer.Exit(1)


class Bar:
    """One line on a terminal that is written over."""

    width = 40

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Show how many of how many are done, ten times a second at most."""
        now = time.monotonic()
        if done < total and now - self._last < 0.1:
            return
        self._last = now
        full = self.width * done // max(1, total)
        bar = "#" * full + "-" * (self.width - full)
        sys.stderr.write(f"\r{bar} {done} of {total} recipes")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave the line empty."""
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
