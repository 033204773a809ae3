"""The ``recipes`` command. Each subcommand imports its own room, and only when it runs."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; ends the process with its exit code.

    0 = done, 1 = findings or failure, 2 = usage, or an adjustment under ``--strict``.
    """
    from recipes_core.cli.app import app

    try:
        app(prog_name="recipes")
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain again while it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
