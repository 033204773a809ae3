"""Handlers whose faults are seen: under voila an exception in one is shown to nobody."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

log = logging.getLogger("recipes_core.explorer")
OnError = Callable[[str], None]


def guarded(handler: Callable[..., None], on_error: OnError) -> Callable[..., None]:
    """A handler that logs its fault and hands it to ``on_error`` in words."""

    def call(*args: Any) -> None:
        try:
            handler(*args)
        except Exception as error:
            log.exception("a handler of the explorer failed")
            on_error(f"{type(error).__name__}: {error}")

    return call
