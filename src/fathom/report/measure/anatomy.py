"""The additive parts of a posterior, evaluated anywhere, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fathom.gp.exact import Posterior, additive_parts
from fathom.kernels.algebra import rescale
from fathom.kernels.base import Kernel, walk
from fathom.kernels.combine import Product, Sum, join
from fathom.kernels.leaves import is_noise
from fathom.report.facts.part import PERIODIC, SMOOTH, SWITCHES, Edge, Factor, Interval, Region
from fathom.report.model import Fitted


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


# -- parts that are told together --------------------------------------------------------------------------------


def products_of(part: Kernel) -> tuple[Kernel, ...]:
    """The products that a part adds up: itself, unless it tells several cycles of one period, the largest first."""
    return part.children if isinstance(part, Sum) else (part,)


def told_together(parts: Sequence[Kernel]) -> list[list[int]]:
    """Which parts a reader meets as one, by number: cycles of exactly the same period are one cycle."""
    found: list[list[int]] = []
    rings = [_ring(part) for part in parts]
    for i, ring in enumerate(rings):
        same = next((group for group in found if ring is not None and rings[group[0]] == ring), None)
        found.append([i]) if same is None else same.append(i)
    return found


def _ring(part: Kernel) -> tuple[object, str] | None:
    """Input and period of a part that is a cycle everywhere, with nothing but lines and drift beside it; else None."""
    factors = factors_of(part)
    cycles = [f for f in factors if f.kind in PERIODIC]
    others = [f for f in factors if f.kind not in (*PERIODIC, *SMOOTH, "Lin")]
    same = len({f.inputs for f in factors}) == 1
    return (cycles[0].inputs, f"{cycles[0]['period']:.9g}") if len(cycles) == 1 and same and not others else None


def summed(parts: Sequence[Kernel], groups: Sequence[Sequence[int]]) -> tuple[Kernel, ...]:
    """One kernel for each group of parts."""
    return tuple(join(Sum, [parts[i] for i in group]) for group in groups)


class Told(NamedTuple):
    """The additive parts on standardised data as a reader meets them."""

    keys: tuple[str, ...]  # of parts that are told together, joined by " + "
    parts: tuple[Kernel, ...]
    groups: list[list[int]]  # which of `additive_parts` each adds up


def parts_told(model: Fitted) -> Told:
    """The parts of a model, cycles of one period together."""
    parts, keys, X = additive_parts(model.posterior_.kernel), tuple(model.parts_), model.posterior_.X
    groups = [sorted(g, key=lambda i: -float(np.mean(parts[i].diag(X)))) for g in told_together(parts)]
    return Told(tuple(" + ".join(keys[i] for i in group) for group in groups), summed(parts, groups), groups)


ROWS_AT_ONCE = 4000  # of new inputs, so that memory stays a small multiple of N×4000


class Anatomy:
    """A fitted exact model of one output, taken apart.

    Means of parts are contributions: with `level` they sum to the prediction, and at the observations, where noise
    takes the residual, to the data.
    """

    def __init__(self, model: Fitted):
        self.posterior: Posterior = model.posterior_
        if self.posterior.Y.shape[1] != 1:
            raise ValueError("a report describes one target: fit a model for each")
        self.scaler = model.scaler_
        self.y_sd = float(self.scaler.y_sd[0])
        self.level = float(self.scaler.y_back(np.atleast_2d(self.posterior.prior.constant))[0, 0])
        self.keys, self.parts, self.groups = parts_told(model)
        self.noisy = tuple(is_noise(part) for part in self.parts)
        self.X = np.asarray(self.scaler.x_back(self.posterior.X), dtype=float)
        self.y = self.scaler.y_back(self.posterior.Y)[:, 0]

    def user(self, part: Kernel) -> Kernel:
        """A part in the user's units."""
        return rescale(part, self.scaler.x_mean, self.scaler.x_sd, self.y_sd)

    def rows(self, values: dict[int, np.ndarray]) -> np.ndarray:
        """Inputs (n, D) with some columns given, (n) each, and the others at their mean over the data."""
        rows = np.tile(self.X.mean(axis=0), (len(next(iter(values.values()))), 1))
        for column, x in values.items():
            rows[:, column] = x
        return rows

    def at_data(self, chosen: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd of the sum of some parts at the observations themselves."""
        K = sum(self.parts[i].gram(self.posterior.X) for i in chosen)
        half = self.posterior.factor.half_solve(K)
        return self._user(K @ self.posterior.alpha, K.diagonal() - (half**2).sum(0))

    def at(self, chosen: list[int], X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd of the sum of some parts at new inputs: noise has mean zero and its prior sd there."""
        X_std, found = self.scaler.x(X), []
        for start in range(0, len(X), ROWS_AT_ONCE):
            Z = X_std[start : start + ROWS_AT_ONCE]
            cross = sum(self.parts[i].cross(self.posterior.X, Z) for i in chosen)
            half = self.posterior.factor.half_solve(cross)
            prior = sum(self.parts[i].diag(Z, True) for i in chosen)
            found.append(self._user(cross.T @ self.posterior.alpha, prior - (half**2).sum(0)))
        means, sds = zip(*found, strict=True)
        return np.concatenate(means), np.concatenate(sds)

    def mean(self, chosen: list[int], X: np.ndarray) -> np.ndarray:
        """Mean of the sum of some parts at new inputs, without the cost of the sd."""
        X_std, found = self.scaler.x(X), [np.zeros(0)]
        for start in range(0, len(X), ROWS_AT_ONCE):
            Z = X_std[start : start + ROWS_AT_ONCE]
            found.append(sum(self.parts[i].cross(Z, self.posterior.X) @ self.posterior.alpha[:, 0] for i in chosen))
        return np.concatenate(found) * self.y_sd

    def change(self, chosen: list[int], X: np.ndarray) -> tuple[float, float]:
        """Mean and sd of how much the sum of some parts changes from the first row of X to the second."""
        return self.contrast([(i, X, np.array([-1.0, 1.0])) for i in chosen])

    def contrast(self, terms: Sequence[tuple[int, np.ndarray, np.ndarray]]) -> tuple[float, float]:
        """Mean and sd of a weighted sum: of different parts, each at rows (n, D) with weights (n)."""
        cross, prior = np.zeros(len(self.posterior.X)), 0.0
        for i, X, weights in terms:
            Z = self.scaler.x(X)
            cross = cross + self.parts[i].cross(self.posterior.X, Z) @ weights
            prior += float(weights @ self.parts[i].cross(Z, Z) @ weights)
        half = self.posterior.factor.half_solve(cross[:, None])[:, 0]
        mean = float(cross @ self.posterior.alpha[:, 0])
        return mean * self.y_sd, float(np.sqrt(max(prior - half @ half, 0.0))) * self.y_sd

    def prior_sd(self, i: int, X: np.ndarray) -> np.ndarray:
        """Prior sd of part i at the rows of X; for noise, the sd of an observation."""
        return np.asarray(np.sqrt(self.parts[i].diag(self.scaler.x(X), True)) * self.y_sd)

    def _user(self, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return mean[:, 0] * self.y_sd, np.sqrt(np.maximum(var, 0.0)) * self.y_sd
