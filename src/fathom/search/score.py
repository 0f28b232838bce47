"""How good a kernel is: one candidate fitted in stages, and the criteria that rank them.

Everything here runs in worker processes, on standardised outputs with mean zero, without JAX.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from fathom import linalg
from fathom.evidence import Evidence
from fathom.fit import FAILED, maximise
from fathom.kernels.algebra import n_effective
from fathom.kernels.base import Kernel, walk
from fathom.kernels.combine import Product
from fathom.kernels.lags import Lags, lags_of
from fathom.kernels.leaves import SE, Per
from fathom.kernels.vector import Slot, from_vector, slots
from fathom.search.guards import degenerate, guarded_space
from fathom.starts import given, periodogram_peaks, starting_vectors

Criterion = Literal["bic", "aic"]
N_STARTS = 24  # scored by one evaluation each
N_CLIMBED = 2
SCREEN = 250  # rows on which a longer series is screened before any candidate sees all of them


@dataclass(frozen=True)
class Problem:
    """The data a search explains: sent to the workers once."""

    X: np.ndarray  # (N, D), standardised
    y: np.ndarray  # (N)
    pools: tuple[np.ndarray, ...]  # candidate periods of each input
    key: str  # names the data in a worker's cache


@dataclass(frozen=True)
class Attempt:
    """A candidate and how far its fit has come: one vector and evidence for each start still alive."""

    kernel: Kernel
    seed: int
    vectors: tuple[np.ndarray, ...] = ()
    values: tuple[float, ...] = ()
    evaluations: int = 0
    reason: str | None = field(default=None)  # why it is out, if it is

    @property
    def value(self) -> float:
        return max(self.values, default=FAILED)

    @property
    def fitted(self) -> Kernel:
        """The kernel at the best vector so far."""
        return from_vector(self.kernel, self.vectors[int(np.argmax(self.values))])


_LAGS: dict[str, Lags] = {}  # of the data this process works on: a search asks for them thousands of times


def evidence_of(problem: Problem, kernel: Kernel) -> Evidence:
    if problem.key not in _LAGS:
        if len(_LAGS) >= 4:
            _LAGS.clear()
        _LAGS[problem.key] = lags_of(problem.X)
    return Evidence(kernel, problem.X, problem.y, "zero", _LAGS[problem.key])


def screened(problem: Problem) -> Problem:
    """The problem on a random part of its rows, the same for every candidate; a short one is left whole."""
    n = len(problem.y)
    if n < 1.4 * SCREEN:
        return problem
    rows = np.sort(np.random.default_rng(0).choice(n, SCREEN, replace=False))
    return replace(problem, X=problem.X[rows], y=problem.y[rows], key=problem.key + " screen")


def begin(problem: Problem, attempt: Attempt, iterations: int) -> Attempt:
    """Score the starts and climb the best of them a few steps, on part of the rows when there are many.

    What comes out is scored on all rows: evidence on a part ranks structures poorly.
    """
    part = screened(problem)
    evidence = evidence_of(part, attempt.kernel)
    starts = _starts(part, attempt)
    scores = [_value(evidence, vector) for vector in starts]
    best = np.argsort(scores)[::-1][:N_CLIMBED]
    opened = replace(attempt, vectors=tuple(starts[i] for i in best), values=tuple(scores[i] for i in best))
    moved = proceed(part, replace(opened, evaluations=len(starts)), iterations, evidence)
    if part is problem:
        return moved
    whole = evidence_of(problem, attempt.kernel)
    return replace(moved, values=tuple(_value(whole, vector) for vector in moved.vectors))


def _starts(problem: Problem, attempt: Attempt) -> list[np.ndarray]:
    kernel, rng = attempt.kernel, np.random.default_rng(attempt.seed)
    n = N_STARTS if not all(given(kernel)) else 2
    starts = starting_vectors(kernel, problem.X, problem.y, rng, n, pools=problem.pools)
    starts = [_lifted(kernel, vector, i) for i, vector in enumerate(starts)]
    guard = guarded_space(kernel, problem.X)
    return [np.clip(v, *guard(v).bounds.T) for v in starts]


def _value(evidence: Evidence, vector: np.ndarray) -> float:
    try:
        return evidence.value(vector)
    except linalg.NotPositiveDefinite:
        return FAILED


def proceed(problem: Problem, attempt: Attempt, iterations: int, evidence: Evidence | None = None) -> Attempt:
    """Climb every start that is still alive some steps further."""
    evidence = evidence_of(problem, attempt.kernel) if evidence is None else evidence
    guard = guarded_space(attempt.kernel, problem.X)
    vectors, values, evaluations = [], [], attempt.evaluations
    for vector in attempt.vectors:
        result = maximise(evidence, [vector], guard(vector), iterations)
        vectors.append(result.vector)
        values.append(result.value)
        evaluations += result.stats["evaluations"]
    moved = replace(attempt, vectors=tuple(vectors), values=tuple(values), evaluations=evaluations)
    if moved.value == FAILED:
        return replace(moved, reason="no start could be evaluated")
    return replace(moved, reason=degenerate(moved.fitted, problem.X))


def polish(problem: Problem, attempt: Attempt, iterations: int) -> Attempt:
    """Converge, then try every cycle at half and twice its period, same shape: harmonics are local optima."""
    best = only_best(proceed(problem, attempt, iterations))
    for vector in _harmonics(best):
        other = replace(best, vectors=(vector,), values=(FAILED,))
        other = proceed(problem, other, iterations)
        if other.reason is None and other.value > best.value + 1e-3:
            best = other
    return best


def _harmonics(attempt: Attempt) -> list[np.ndarray]:
    """Only of new cycles: those of the parent have been tried before."""
    nodes, found = list(walk(attempt.kernel)), []
    where = {(slot.node, slot.parameter.name): slot.start for slot in slots(attempt.kernel)}
    for n in (n for n, node in enumerate(nodes) if isinstance(node, Per) and not node.given):
        for factor in (math.log(0.5), math.log(2.0)):
            vector = attempt.vectors[0].copy()
            vector[where[n, "period"]] += factor
            vector[where[n, "lengthscale"]] -= factor  # in units of the phase, which runs faster
            found.append(vector)
    return found


def only_best(attempt: Attempt) -> Attempt:
    """Drop all starts but the best."""
    best = int(np.argmax(attempt.values))
    return replace(attempt, vectors=(attempt.vectors[best],), values=(attempt.values[best],))


def _lifted(kernel: Kernel, vector: np.ndarray, i: int) -> np.ndarray:
    """A new cycle must not inherit a short lengthscale: in some starts the SE beside it spans 1 or 4 periods.

    Otherwise a smooth term that has already followed the cycle hides it (the sunspots, under an SE of two years).
    """
    if i % 3 == 0:
        return vector
    where = {(slot.node, slot.parameter.name): slot for slot in slots(kernel)}
    numbers = {id(node): n for n, node in enumerate(walk(kernel))}
    lifted = vector.copy()
    for node in walk(kernel):
        if isinstance(node, Product):
            new = [f for f in node.children if isinstance(f, Per) and not f.given]
            for per in new:
                _lift(lifted, where, numbers, node, per, math.log(1 if i % 3 == 1 else 4))
    return lifted


def _lift(
    vector: np.ndarray,
    where: dict[tuple[int, str], Slot],
    numbers: dict[int, int],
    node: Kernel,
    per: Kernel,
    by: float,
) -> None:
    period = vector[where[numbers[id(per)], "period"].start]
    for factor in node.children:
        if isinstance(factor, SE) and factor.inputs == per.inputs:
            slot = where[numbers[id(factor)], "lengthscale"]
            vector[slot.start] = max(vector[slot.start], period + by)


def criterion(attempt: Attempt, n: int, which: Criterion) -> float:
    """What the search minimises: BIC = −2 log p + p_eff log N, or AIC; infinite for what is ruled out."""
    if attempt.reason is not None or not attempt.values:
        return math.inf
    penalty = math.log(n) if which == "bic" else 2.0
    return -2 * attempt.value + n_effective(attempt.kernel) * penalty


def period_pool(x: np.ndarray, y: np.ndarray, residual: np.ndarray | None = None) -> np.ndarray:
    """Candidate periods from the series itself and from what a model leaves: peaks first, then doubles and halves."""
    series = [y] if residual is None else [y, residual]
    peaks = [periodogram_peaks(x, values, 4) for values in series]
    top = np.concatenate([p[:2] for p in peaks] + [p[2:] for p in peaks])
    pool = np.concatenate([top, 2 * top, top / 2])
    steps = np.diff(np.unique(x))
    low, high = 4 * float(np.median(steps)), float(np.ptp(x)) / 1.5
    pool = pool[(pool >= low) & (pool <= high)]
    kept: list[float] = []
    for period in pool:
        if not any(abs(period / other - 1) < 0.01 for other in kept):
            kept.append(float(period))
    return np.array(kept)
