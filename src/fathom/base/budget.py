"""A time limit, and what is left of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

Clock = Callable[[], float]


@dataclass(frozen=True)
class Budget:
    """Work that ends at a moment of its clock; by default it has no end."""

    end: float = math.inf
    clock: Clock = monotonic

    @classmethod
    def of(cls, seconds: float | None, clock: Clock = monotonic) -> Budget:
        """So many seconds from now, or no limit."""
        return cls(math.inf if seconds is None else clock() + seconds, clock)

    def __bool__(self) -> bool:
        """True when there is a limit."""
        return self.end < math.inf

    def left(self) -> float:
        """Seconds until the end; below zero once it is over."""
        return self.end - self.clock()

    def over(self, needed: float = 0.0) -> bool:
        """True when there is no time left for what needs so many seconds."""
        return bool(self) and self.left() <= needed

    def less(self, seconds: float) -> Budget:
        """The same, ending so many seconds earlier."""
        return Budget(self.end - seconds, self.clock)

    def told(self) -> str:
        """ "41 s left", or nothing without a limit."""
        return f"{max(self.left(), 0.0):.0f} s left" if self else ""
