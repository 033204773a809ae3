"""The way back: what was on screen before each choice."""

from __future__ import annotations

from dataclasses import dataclass

from recipes_core.explorer.compared import Compared
from recipes_core.explorer.values import Kept
from recipes_core.selection import Selection

MAX_HISTORY = 100


@dataclass(frozen=True, slots=True)
class Moment:
    """What undo returns to."""

    recipe_id: str
    selection: Selection
    kept: Kept
    compared: tuple[Compared, ...]


class History:
    """Moments, the newest last; undo never leads to what is on screen already."""

    def __init__(self) -> None:
        self._moments: tuple[Moment, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is a moment to return to."""
        return bool(self._moments)

    def remember(self, now: Moment | None) -> None:
        """Keep what is on screen, before it changes."""
        if now is not None:
            self.settle(now)
            self._moments = (*self._moments[1 - MAX_HISTORY :], now)

    def settle(self, now: Moment | None) -> None:
        """Forget the newest moment if it is what is on screen: the choice changed nothing."""
        if self._moments and self._moments[-1] == now:
            self._moments = self._moments[:-1]

    def back(self) -> Moment:
        """Take the newest moment out."""
        *rest, newest = self._moments
        self._moments = tuple(rest)
        return newest
