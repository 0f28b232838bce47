"""Where a component applies: unions of intervals from the weights of changepoints and windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathom.kernels.base import Kernel
from fathom.kernels.combine import Product

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
    """Where a component begins or ends, and over what distance: the weight goes from 0.1 to 0.9 (or back)."""

    at: float
    width: float
    factor: int  # which factor of the component is the switch


@dataclass(frozen=True)
class Interval:
    """A stretch of an input; None is a side without an edge."""

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


def factors_of(part: Kernel, n_inputs: int = 1) -> tuple[Factor, ...]:
    """The factors of a product, as facts."""
    return tuple(_factor(f, n_inputs) for f in (part.children if isinstance(part, Product) else (part,)))


def _factor(leaf: Kernel, n_inputs: int) -> Factor:
    values = {p.name: tuple(float(v) for v in np.ravel(getattr(leaf, p.name))) for p in leaf.parameters}
    if leaf.name in ("C", "WN"):
        return Factor(leaf.name, (), values)
    chosen = range(n_inputs) if leaf.inputs is None else leaf.inputs
    return Factor(leaf.name, tuple(i for i in chosen if isinstance(i, int)), values)


def regions_of(factors: Sequence[Factor]) -> tuple[Region, ...]:
    """One region for each input that has switches; nested switches intersect."""
    found: dict[int, tuple[Interval, ...]] = {}
    for i, factor in enumerate(factors):
        if factor.kind in SWITCHES:
            where = factor.inputs[0] if factor.inputs else 0
            found[where] = _intersect(found.get(where, (Interval(None, None),)), _intervals(factor, i))
    return tuple(Region(where, intervals) for where, intervals in sorted(found.items()))


def _intervals(factor: Factor, i: int) -> tuple[Interval, ...]:
    location, half = factor["location"], factor["width"] / 2 if "width" in factor.values else 0.0
    width = math.log(9) / factor["steepness"]  # between a = 0.1 and a = 0.9, a = logistic(2κ(x − location))
    low, high = Edge(location - half, width, i), Edge(location + half, width, i)
    return {
        "Before": (Interval(None, high),),
        "After": (Interval(low, None),),
        "Inside": (Interval(low, high),),
        "Outside": (Interval(None, low), Interval(high, None)),
    }[factor.kind]


def _intersect(first: tuple[Interval, ...], second: tuple[Interval, ...]) -> tuple[Interval, ...]:
    found = []
    for a in first:
        for b in second:
            low = a.low if a.ends[0] >= b.ends[0] else b.low
            high = a.high if a.ends[1] <= b.ends[1] else b.high
            joint = Interval(low, high)
            if joint.ends[0] < joint.ends[1]:
                found.append(joint)
    return tuple(sorted(found, key=lambda interval: interval.ends))
