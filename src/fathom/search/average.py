"""Forecasting with what the data cannot tell apart: models within reach of the best, weighted by their past forecasts.

BIC does not see extrapolation: models a few units apart differ threefold in forecast error, and all of them share one
habit. An SE forgets: a few lengthscales after the last observation it is back at the mean of the data. Observations
rarely speak for that rather than for a level that stays, so every model within reach is joined by its twin, in which
the slowest of the forgetful SEs is a random walk; where the data prefer the twin, it takes its place. Each forecasts
three past horizons, its parameters learnt anew from what came before, and its weight is the inverse of its mean
squared error there. How far those forecasts missed, in units of what they had allowed for, says with all due doubt how
much wider the next ones should be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from fathom.base.budget import Budget
from fathom.base.execute import OVER, Executor
from fathom.base.linalg import NotPositiveDefinite
from fathom.base.optimise import Space, maximise
from fathom.gp.evidence import Evidence
from fathom.gp.exact import GP, condition
from fathom.kernels.algebra import canonical, distribute
from fathom.kernels.base import Kernel, walk
from fathom.kernels.combine import Sum, Switch, join
from fathom.kernels.leaves import SE, Matern12
from fathom.kernels.vector import from_vector, slots, to_vector
from fathom.search.guards import guarded_space
from fathom.search.score import LONG

ORIGINS, HORIZON = 3, 0.1  # past horizons, each of this share of the rows
MOST = 5  # models within reach that forecast
ROWS = 1500  # at the end of the data, from which past forecasts are made
RELEARN, LEARN = 20, 60  # iterations at every origin; for a twin. Half of them for long series, which say more
FAR = 10.0  # ranges: a Matérn-1/2 with this lengthscale is a random walk over the data
WIDEST = 30.0  # times the variance of the function, before doubt


class Member(NamedTuple):
    """A model that takes part in a forecast."""

    kernel: Kernel  # on standardised data
    weight: float
    place: int  # among the models within reach, the best first
    persistent: bool  # a twin, with a random walk


@dataclass(frozen=True)
class Past:
    """Forecasts of past horizons: what came, and the mean and the variances of noise and function foretold."""

    y: np.ndarray
    mean: np.ndarray
    noise: np.ndarray
    function: np.ndarray

    @property
    def loss(self) -> float:
        return float(np.mean((self.y - self.mean) ** 2)) if len(self.y) else 1.0


class View(NamedTuple):
    """A model, its evidence and its past forecasts."""

    kernel: Kernel
    evidence: float
    past: Past


def members_of(
    kernels: list[Kernel], X: np.ndarray, y: np.ndarray, pool: Executor, budget: Budget | None = None
) -> tuple[list[Member], float]:
    """The models that forecast a series, their weights summing to one, and the caution: how many times the variance
    of the function should be what they say, beyond the data.

    Those for which the budget leaves no time take no part; without the first of all, which is the best, none but it.
    """
    order = np.argsort(X[:, 0], kind="stable")[-ROWS:]
    X, y = X[order], y[order]
    within = list(enumerate(kernels[:MOST]))
    twins = [(place, twin(kernel, float(np.ptp(X)))) for place, kernel in within]
    asked = [(place, k, False) for place, k in within] + [(place, k, True) for place, k in twins if k is not None]
    outcomes = pool.map(
        look_back, [(kernel, persistent) for _, kernel, persistent in asked], shared=(X, y), budget=budget
    )
    seen = {
        (place, persistent): outcome.value
        for (place, _, persistent), outcome in zip(asked, outcomes, strict=True)
        if outcome.error is None and outcome.value is not None
    }
    heard = {key: seen[key] for key in seen if not _preferred(seen.get((key[0], True)), seen[key])}
    if not heard or outcomes[0].error == OVER:
        return [Member(kernels[0], 1.0, 0, False)], 1.0
    past = [view.past for view in heard.values()]
    weights = weights_of(past)
    found = zip(heard.items(), weights, strict=True)
    return [Member(view.kernel, float(w), *key) for (key, view), w in found], caution_of(past, weights)


def _preferred(other: View | None, view: View) -> bool:
    """Whether the data prefer the twin; the two have as many parameters, so their evidence is compared."""
    return other is not None and other.evidence > view.evidence


# -- the twin ----------------------------------------------------------------------------------------------------


def twin(kernel: Kernel, span: float) -> Kernel | None:
    """The kernel with a random walk in place of its slowest SE; None when it has none that forgets within the range.

    Only plain terms of sums count, multiplied out: an SE in a product shapes a cycle or an amplitude.
    """
    kernel = canonical(distribute(kernel))
    forgetful = [leaf for leaf in _plain(kernel) if float(leaf.lengthscale) < span / 2]
    if not forgetful:
        return None
    slowest = max(forgetful, key=lambda leaf: float(leaf.lengthscale))
    # as rough over a lengthscale as the SE was: the variance of a random walk grows by 2/(FAR·span) of it a unit
    variance = float(slowest.variance) * FAR * span / (2 * max(float(slowest.lengthscale), 0.02 * span))
    return _swapped(kernel, slowest, Matern12(variance=variance, lengthscale=FAR * span, inputs=slowest.inputs))


def _plain(kernel: Kernel) -> Iterator[SE]:
    if isinstance(kernel, SE):
        yield kernel
    elif isinstance(kernel, (Sum, Switch)):
        for child in kernel.children:
            yield from _plain(child)


def _swapped(kernel: Kernel, old: Kernel, new: Kernel) -> Kernel:
    if kernel is old:
        return new
    children = tuple(_swapped(child, old, new) for child in kernel.children)
    if isinstance(kernel, Sum):
        return join(Sum, list(children))
    return kernel.replace(children=children) if isinstance(kernel, Switch) else kernel


# -- looking back ------------------------------------------------------------------------------------------------


def look_back(data: tuple[np.ndarray, np.ndarray], item: tuple[Kernel, bool]) -> View | None:
    """A model (a twin is fitted first) and its past forecasts; None when it cannot be evaluated."""
    (X, y), (kernel, persistent) = data, item
    try:
        learnt = learnt_anew(kernel, X, y, _steps(LEARN, len(y))) if persistent else kernel
        evidence = Evidence(learnt, X, y).value(np.array(to_vector(learnt), dtype=float))
        return View(learnt, evidence, past_forecasts(learnt, X, y))
    except NotPositiveDefinite:
        return None


def past_forecasts(kernel: Kernel, X: np.ndarray, y: np.ndarray) -> Past:
    """Forecasts of the horizons before the end of rows in order of time, by a model that must learn them anew."""
    steps = max(1, int(HORIZON * len(y)))
    rows = [np.ones((0, 4))]
    for origin in (len(y) - steps * (1 + i) for i in range(ORIGINS)):
        if origin < max(10, 2 * steps):
            break
        ahead = slice(origin, origin + steps)
        known = learnt_anew(kernel, X[:origin], y[:origin], _steps(RELEARN, len(y)))
        posterior = condition(GP(known), X[:origin], y[:origin])
        function, observed = posterior.var(X[ahead]), posterior.var(X[ahead], noise=True)
        rows.append(np.column_stack([y[ahead], posterior.mean(X[ahead])[:, 0], observed - function, function]))
    return Past(*np.concatenate(rows).T)


def _steps(iterations: int, n: int) -> int:
    return iterations if n <= LONG else iterations // 2


def learnt_anew(kernel: Kernel, X: np.ndarray, y: np.ndarray, iterations: int) -> Kernel:
    """The kernel a few steps of learning further, on these data. A random walk stays one."""
    start = np.array(to_vector(kernel), dtype=float)
    space, nodes = guarded_space(kernel, X)(start), list(walk(kernel))
    bounds = np.column_stack([np.minimum(space.bounds[:, 0], start), np.maximum(space.bounds[:, 1], start)])
    for slot in slots(kernel):
        if isinstance(nodes[slot.node], Matern12) and slot.parameter.name == "lengthscale":
            bounds[slot.start] = start[slot.start]
    found = maximise(Evidence(kernel, X, y), [start], Space(space.scales, bounds), iterations)
    return from_vector(kernel, found.vector)


def weights_of(past: list[Past]) -> np.ndarray:
    """Inverse mean squared errors, summing to one; equal when the series is too short to look back."""
    inverse = 1 / np.maximum([p.loss for p in past], 1e-6)
    return inverse / inverse.sum()


def caution_of(past: list[Past], weights: np.ndarray) -> float:
    """How many times the variance of the function should be what the models say: one or more.

    Past forecasts missed by as much as they allowed at the factor with mean of (y − m)² / (noise + spread of the
    models + factor·function) = 1. Errors within a horizon go together, so there are as few observations of it as
    horizons, and its logarithm is known no better than to √(2/3). With as much doubt that it is zero to begin with,
    half of it is left.
    """
    if not len(past[0].y):
        return 1.0
    means = np.array([p.mean for p in past])
    mean = weights @ means
    fixed = weights @ np.array([p.noise for p in past]) + weights @ (means - mean) ** 2
    function = weights @ np.array([p.function for p in past])
    missed = (past[0].y - mean) ** 2

    def excess(factor: float) -> float:
        return float(np.mean(missed / (fixed + factor * function))) - 1

    if excess(1.0) <= 0:
        return 1.0
    return math.sqrt(WIDEST if excess(WIDEST) > 0 else float(brentq(excess, 1.0, WIDEST, xtol=1e-3)))
