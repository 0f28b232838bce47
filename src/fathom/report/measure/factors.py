"""Takes a part of a kernel apart: its factors, the inputs it depends on, and the stretches where it applies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fathom.kernels.base import Kernel, walk
from fathom.kernels.combine import Product
from fathom.report.facts.structure import SWITCHES, Edge, Factor, Interval, Region


def factors_of(part: Kernel, n_inputs: int = 1) -> tuple[Factor, ...]:
    """The factors of a product (of a part that is none, the part itself)."""
    return tuple(_factor(f, n_inputs) for f in (part.children if isinstance(part, Product) else (part,)))


def _factor(leaf: Kernel, n_inputs: int) -> Factor:
    values = {p.name: tuple(float(v) for v in np.ravel(getattr(leaf, p.name))) for p in leaf.parameters}
    if leaf.name in ("C", "WN"):
        return Factor(leaf.name, (), values)
    chosen = range(n_inputs) if leaf.inputs is None else leaf.inputs
    return Factor(leaf.name, tuple(i for i in chosen if isinstance(i, int)), values)


def inputs_of(part: Kernel, names: Sequence[str]) -> tuple[int, ...]:
    """Which inputs a part depends on; none for a constant and for noise."""
    found: set[int] = set()
    for node in walk(part):
        if (node.children and node.inputs is None) or node.name in ("C", "WN"):
            continue
        chosen = range(len(names)) if node.inputs is None else node.inputs
        found |= {names.index(i) if isinstance(i, str) else int(i) for i in chosen}
    return tuple(sorted(found))


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
