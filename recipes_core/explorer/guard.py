"""Handlers whose faults are seen: under voila an exception in one is shown to nobody."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from recipes_core.errors import RecipesError

log = logging.getLogger("recipes_core.explorer")
OnError = Callable[[str], None]
"""Shows a reader why what was asked was not done."""


def guarded(handler: Callable[..., object], on_error: OnError) -> Callable[..., None]:
    """A handler that hands to ``on_error``, in words, why it stopped.

    A ``RecipesError`` is a refusal and speaks for itself; all else is a fault of ours, which is
    logged as well.
    """

    def call(*args: Any) -> None:
        try:
            handler(*args)
        except RecipesError as refusal:
            on_error(str(refusal))
        except Exception as error:
            log.exception("a handler of the explorer failed")
            on_error(f"Something went wrong inside: {type(error).__name__}: {error}")

    return call
