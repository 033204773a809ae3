"""The kernel that runs this: whether a page has it for itself, and what it does after a cell."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

CELL_S = 0.02
"""Seconds after which a cell that has nothing more to do is done and has said so."""
PAGE_VARIABLE = "VOILA_REQUEST_URL"
"""Where voila puts the page's address; only a kernel that a page has for itself knows it."""


def alone() -> bool:
    """Whether this kernel serves a page, with which it ends, and nobody else's work."""
    return PAGE_VARIABLE in os.environ


def later(seconds: float, call: Callable[[], None]) -> bool:
    """Have the event loop call something after a time.

    Returns:
        Whether it will; not where no loop runs, as in a script or a terminal.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    loop.call_later(seconds, call)
    return True
