"""What a part is made of: the factors of its product, and the stretches of an input on which it applies."""

from __future__ import annotations

import math
from dataclasses import dataclass

PERIODIC, ROUGH = ("Per", "MacKay", "Cos"), ("Matern12",)
SMOOTH = ("SE", "RQ", "Matern32", "Matern52", *ROUGH)
SWITCHES = ("Before", "After", "Inside", "Outside")


@dataclass(frozen=True)
class Factor:
    """One factor of a product: its kind, as in the kernel language, and its parameters in the user's units."""

    kind: str
    inputs: tuple[int, ...]
    values: dict[str, tuple[float, ...]]

    def __getitem__(self, name: str) -> float:
        """The smallest entry of a parameter, which for most is the only one."""
        return min(self.values[name])


@dataclass(frozen=True)
class Edge:
    """Where a component begins or ends; over `width` its weight goes from 0.1 to 0.9, or back."""

    at: float
    width: float
    factor: int  # which factor of the component is the switch


@dataclass(frozen=True)
class Interval:
    """A stretch of an input between two edges; None where it is open."""

    low: Edge | None
    high: Edge | None

    @property
    def ends(self) -> tuple[float, float]:
        """The two ends as numbers, infinite where there is no edge."""
        return (-math.inf if self.low is None else self.low.at, math.inf if self.high is None else self.high.at)


@dataclass(frozen=True)
class Region:
    """The stretches of one input on which a component applies, from left to right; empty: nowhere."""

    input: int
    intervals: tuple[Interval, ...]

    def holds(self, x: float) -> bool:
        """True where the component applies."""
        return any(low <= x <= high for low, high in (interval.ends for interval in self.intervals))

    def within(self, low: float, high: float) -> Region:
        """The region as seen on [low, high]: edges outside it are open, stretches outside it are gone."""
        kept = []
        for interval in self.intervals:
            left, right = interval.ends
            if right > low and left < high:
                kept.append(Interval(interval.low if left > low else None, interval.high if right < high else None))
        return Region(self.input, tuple(kept))
