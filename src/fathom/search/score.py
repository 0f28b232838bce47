"""How good a kernel is: one candidate fitted in stages, and the criteria that rank them.

Everything here runs in worker processes, on standardised outputs with mean zero, without JAX. With inducing points
(`Problem.inducing`) the evidence is replaced by its variational lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ive

from fathom.base import linalg
from fathom.base.optimise import FAILED, maximise
from fathom.gp.evidence import Evidence
from fathom.gp.starts import given, peaks, starting_vectors
from fathom.kernels.algebra import n_effective
from fathom.kernels.base import Kernel, walk
from fathom.kernels.combine import Product, Switch
from fathom.kernels.lags import Lags, lags_of
from fathom.kernels.leaves import SE, Per
from fathom.kernels.stationary import one_minus_i0e
from fathom.kernels.strip import CrossLags, cross_lags
from fathom.kernels.vector import from_vector, n_free, slots, to_vector
from fathom.search.guards import SHOWN, degenerate, guarded_space
from fathom.search.inducing import tempered
from fathom.sparse.collapsed import Bound

Criterion = Literal["bic", "aic", "laplace", "cv"]
JUDGED = ("laplace", "cv")  # too dear for a race: finalists only
N_STARTS, MOST_STARTS = 6, 24  # for each new parameter, and in all: scored by one evaluation each
WIDE_STARTS = 9  # in all, when there are several inputs and so many more candidates
N_PERIODS = 12
LIFTS = ((0.0, 0.0), (1.0, 1.0), (4.0, 2.0))  # periods that an SE spans beside a new cycle: in its product, elsewhere
WEAK = 0.1  # share of a cycle's second harmonic below which a half period needs a variance of its own
HARMONICS = 3  # rounds of tries at half and twice the period, at most
TOLERANCE = 1e-7  # of the evidence, relatively: a step that gains less is the last
SCREEN = 200  # rows on which a longer series is screened before any candidate sees all of them
LONG = 700  # rows of a series that is raced on parts: a period known from a part is not in tune with all of it


@dataclass(frozen=True)
class Problem:
    """The data a search explains: sent to the workers once."""

    X: np.ndarray  # (N, D), standardised
    y: np.ndarray  # (N)
    pools: tuple[np.ndarray, ...]  # candidate periods of each input
    key: str  # names the data in a worker's cache
    inducing: np.ndarray | None = None  # rows that serve as inducing points, when there are too many for the evidence
    whole: np.ndarray | None = None  # all rows, when X is a part
    calendar: tuple[tuple[float, ...], ...] = ()  # periods of the calendar, for each input

    @property
    def all_X(self) -> np.ndarray:
        """What limits the parameters: in a part of the rows the steps are longer, and short periods seem too short."""
        return self.X if self.whole is None else self.whole


@dataclass(frozen=True)
class Attempt:
    """A candidate and how far its fit has come: one vector and evidence for each start still alive."""

    kernel: Kernel
    seed: int
    vectors: tuple[np.ndarray, ...] = ()
    values: tuple[float, ...] = ()
    evaluations: int = 0
    reason: str | None = field(default=None)  # why it is out, if it is
    part: float | None = None  # the evidence of the part on which it began
    upper: float | None = None  # bound of the evidence, where `values` are lower bounds
    judged: float | None = None  # the logarithm of the criterion, when it is one for finalists
    size: int | None = None  # its effective parameters, once counted

    @property
    def value(self) -> float:
        return max(self.values, default=FAILED)

    @property
    def n_effective(self) -> int:
        """Effective parameters: counted in a worker, for the ranking asks after every stage while all others wait."""
        return n_effective(self.kernel) if self.size is None else self.size

    @property
    def fitted(self) -> Kernel:
        """The kernel at the best vector so far."""
        return from_vector(self.kernel, self.vectors[int(np.argmax(self.values))])


_LAGS: dict[str, Lags | CrossLags] = {}  # of the data this process works on: a search asks for them thousands of times


def evidence_of(problem: Problem, kernel: Kernel) -> Evidence | Bound:
    """The evidence as a function of the parameter vector or, with inducing points, its lower bound."""
    if problem.key not in _LAGS:
        if len(_LAGS) >= 4:
            _LAGS.clear()
        X, rows = problem.X, problem.inducing
        _LAGS[problem.key] = lags_of(X) if rows is None else cross_lags(X, rows)
    lags: Any = _LAGS[problem.key]
    if problem.inducing is None:
        return Evidence(kernel, problem.X, problem.y, "zero", lags)
    return Bound(kernel, problem.X, problem.y, problem.inducing, lags=lags)


def screened(problem: Problem, rows: int | None) -> Problem:
    """The problem on a random part of its rows, the same for every candidate; when that is most of them, on all."""
    n = len(problem.y)
    if rows is None or n < 1.4 * rows:
        return problem
    chosen = np.sort(np.random.default_rng(0).choice(n, rows, replace=False))
    X, key = problem.X, f"{problem.key} {rows}"
    return replace(problem, X=X[chosen], y=problem.y[chosen], key=key, inducing=None, whole=X)


def begin(problem: Problem, attempt: Attempt, iterations: int, rows: int | None = SCREEN) -> Attempt:
    """Score the starts and climb the best of them a few steps, on part of the rows when there are many."""
    part = screened(problem, rows)
    evidence = evidence_of(part, attempt.kernel)
    starts = _starts(part, attempt)
    scores = [_value(evidence, vector) for vector in starts]
    best = _distinct(np.argsort(scores)[::-1], attempt.kernel, _cycle(part, attempt.kernel))
    opened = replace(attempt, vectors=tuple(starts[i] for i in best), values=tuple(scores[i] for i in best))
    opened = replace(opened, evaluations=len(starts), size=attempt.n_effective)
    return proceed(problem, opened, iterations, rows)


def proceed(problem: Problem, attempt: Attempt, iterations: int, rows: int | None = None) -> Attempt:
    """Climb every start that is still alive some steps further, on part of the rows when told so.

    What comes out is scored on all rows: evidence on a part ranks structures poorly.
    """
    part = screened(problem, rows)
    moved = climbed(part, attempt, iterations)
    if part is problem:
        return moved
    whole, vectors = evidence_of(problem, attempt.kernel), moved.vectors
    if len(problem.y) > LONG:
        vectors = (*vectors, *_restored(attempt.kernel, vectors))
    return replace(moved, part=moved.value, vectors=vectors, values=tuple(_value(whole, vector) for vector in vectors))


def _restored(kernel: Kernel, vectors: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """The vectors with what the parent knew put back: all rows determine a period twenty times better than a part."""
    here, known = np.asarray(to_vector(kernel), dtype=float), np.zeros(n_free(kernel), dtype=bool)
    for slot, kept in zip(slots(kernel), given(kernel), strict=True):
        known[slot.start : slot.start + slot.size] = kept
    return [np.where(known, here, vector) for vector in vectors]


def _starts(problem: Problem, attempt: Attempt) -> list[np.ndarray]:
    kernel, rng = attempt.kernel, np.random.default_rng(attempt.seed)
    new = sum(not known for known in given(kernel))
    most = MOST_STARTS if problem.X.shape[1] == 1 else WIDE_STARTS
    n = max(min(N_STARTS * new, most), len(LIFTS) * _cycle(problem, kernel)) if new else 1
    # the parent is left as it is: shaken by 5 %, a period of fifty cycles is lost
    starts = starting_vectors(kernel, problem.X, problem.y, rng, n, pools=problem.pools, spread=0.0)
    if _new(kernel, Per):
        starts = [_lifted(problem, kernel, vector, i) for i, vector in enumerate(starts)]
    guard = guarded_space(kernel, problem.all_X)
    return [np.clip(v, *guard(v).bounds.T) for v in starts]


def _value(evidence: Evidence | Bound, vector: np.ndarray) -> float:
    try:
        return evidence.value(vector)
    except linalg.NotPositiveDefinite:
        return FAILED


def climbed(problem: Problem, attempt: Attempt, iterations: int) -> Attempt:
    """Every start some steps further up the evidence of this problem."""
    evidence = evidence_of(problem, attempt.kernel)
    guard = guarded_space(attempt.kernel, problem.all_X)
    vectors, values, evaluations = [], [], attempt.evaluations
    for vector in attempt.vectors:
        where = guard(vector)
        if isinstance(evidence, Bound):
            where, evaluations = tempered(evidence, vector, where), evaluations + 2
        result = maximise(evidence, [vector], where, iterations, tolerance=TOLERANCE)
        vectors.append(result.vector)
        values.append(result.value)
        evaluations += result.stats["evaluations"]
    moved = replace(attempt, vectors=tuple(vectors), values=tuple(values), evaluations=evaluations, upper=None)
    return _sound(moved, problem.X)


def _sound(attempt: Attempt, X: np.ndarray) -> Attempt:
    """The attempt without those of its starts that mean nothing, or out with the reason of the best."""
    if attempt.value == FAILED:
        return replace(attempt, reason="no start could be evaluated")
    refusals = [degenerate(from_vector(attempt.kernel, vector), X) for vector in attempt.vectors]
    kept = [i for i, why in enumerate(refusals) if why is None and attempt.values[i] != FAILED]
    if not kept:
        return replace(attempt, reason=refusals[int(np.argmax(attempt.values))])
    return replace(
        attempt, vectors=tuple(attempt.vectors[i] for i in kept), values=tuple(attempt.values[i] for i in kept)
    )


def polish(problem: Problem, attempt: Attempt, iterations: int) -> Attempt:
    """Converge, then try every cycle at half and twice its period, same shape: harmonics are local optima.

    From what is found they are tried again: a climb may gain elsewhere and land on twice the period.
    """
    best = only_best(climbed(problem, attempt, iterations))
    for _ in range(HARMONICS):
        other = _retuned(problem, best, iterations if len(problem.y) <= LONG else min(iterations, 10))
        if other.value <= best.value + 1e-3:
            break
        best = other
    return best


def retune(problem: Problem, attempt: Attempt, iterations: int) -> Attempt:
    """Try all cycles again, those of the parent too: beside a new part, half or twice a period may fit better."""
    best = _retuned(problem, attempt, min(iterations, 10), every=True)
    return climbed(problem, best, iterations) if best is not attempt else attempt


def _retuned(problem: Problem, best: Attempt, iterations: int, every: bool = False) -> Attempt:
    """The best of a fit and its climbs from half and twice each new period, or every period."""
    nodes = [(n, node) for n, node in enumerate(walk(best.kernel)) if isinstance(node, Per) and not node.fixed]
    cycles = [n for n, node in nodes if every or not node.given]
    for vector in _harmonics(best, cycles) if problem.inducing is None else _seconds(best, cycles):
        other = climbed(problem, replace(best, vectors=(vector,), values=(FAILED,)), iterations)
        if other.reason is None and other.value > best.value:
            best = other
    return best


def _harmonics(attempt: Attempt, cycles: list[int]) -> list[np.ndarray]:
    """Half and twice the period of each of these nodes."""
    found = []
    where = {(slot.node, slot.parameter.name): slot.start for slot in slots(attempt.kernel)}
    for n in cycles:
        for factor in (math.log(0.5), math.log(2.0)):
            vector = attempt.vectors[0].copy()
            vector[where[n, "period"]] += factor
            vector[where[n, "lengthscale"]] -= factor  # in units of the phase, which runs faster
            found.append(vector)
    return found


def reaches(attempt: Attempt) -> list[np.ndarray]:
    """The fit with one smooth term at half or twice its lengthscale, for each of them."""
    nodes, found = list(walk(attempt.kernel)), []
    for slot in slots(attempt.kernel):
        if slot.parameter.name == "lengthscale" and isinstance(nodes[slot.node], SE):
            for factor in (math.log(0.5), math.log(2.0)):
                vector = attempt.vectors[0].copy()
                vector[slot.start : slot.start + slot.size] += factor
                found.append(vector)
    return found


def _seconds(attempt: Attempt, cycles: list[int]) -> list[np.ndarray]:
    """The same, and half the period where a cycle serves only through its second harmonic: with the variance that this
    one has, and nearly a sinusoid. A few steps on many rows would not come down to it from the variance of the whole.
    """
    nodes, found = list(walk(attempt.kernel)), _harmonics(attempt, cycles)
    where = {(slot.node, slot.parameter.name): slot.start for slot in slots(attempt.kernel)}
    for n in cycles:
        vector = attempt.vectors[0].copy()
        z = math.exp(-2 * vector[where[n, "lengthscale"]])
        share = 2 * ive(2, z) / one_minus_i0e(z, np)
        products = [{id(c) for c in node.children} for node in nodes if isinstance(node, Product)]
        beside = next((ids for ids in products if id(nodes[n]) in ids), {id(nodes[n])})
        scale = [where[m, "variance"] for m in range(len(nodes)) if id(nodes[m]) in beside and (m, "variance") in where]
        if share < WEAK and scale:
            vector[scale[0]] += math.log(share)
            vector[where[n, "period"]] += math.log(0.5)
            vector[where[n, "lengthscale"]] += math.log(4.0)
            found.append(vector)
    return found


def only_best(attempt: Attempt) -> Attempt:
    """Drop all starts but the best."""
    best = int(np.argmax(attempt.values))
    return replace(attempt, vectors=(attempt.vectors[best],), values=(attempt.values[best],))


def _new(kernel: Kernel, kind: type[Kernel] | tuple[type[Kernel], ...]) -> list[Kernel]:
    """The cycles or switches that the parent does not have."""
    return [node for node in walk(kernel) if isinstance(node, kind) and not node.given]


def _cycle(problem: Problem, kernel: Kernel) -> int:
    """How many periods the starts of a candidate go through; 1 when it has no new cycle."""
    return max([len(problem.pools[_input(node)]) for node in _new(kernel, Per)], default=1) or 1


def _input(node: Kernel) -> int:
    return int(node.inputs[0]) if node.inputs else 0


def _distinct(order: np.ndarray, kernel: Kernel, cycle: int) -> list[int]:
    """The best start, or two for a new switch or cycle, of different periods: those have many basins."""
    found: dict[int, int] = {}
    for i in order:
        found.setdefault(int(i) % cycle if cycle > 1 else int(i), int(i))
    return list(found.values())[: 2 if _new(kernel, (Per, Switch)) else 1]


def _lifted(problem: Problem, kernel: Kernel, vector: np.ndarray, i: int) -> np.ndarray:
    """A new cycle must not inherit short lengthscales: every period is tried with each of `LIFTS`.

    Otherwise a smooth term that has already followed the cycle hides it (the sunspots, under an SE of two years).
    """
    cycles = _new(kernel, Per)
    where = {(slot.node, slot.parameter.name): slot.start for slot in slots(kernel)}
    nodes, lifted = list(walk(kernel)), vector.copy()
    numbers = {id(node): n for n, node in enumerate(nodes)}
    for per in cycles:
        beside, elsewhere = LIFTS[i // max(len(problem.pools[_input(per)]), 1) % len(LIFTS)]
        products = [{id(child) for child in node.children} for node in nodes if isinstance(node, Product)]
        partners = set().union(*(ids for ids in products if id(per) in ids))
        period = vector[where[numbers[id(per)], "period"]]
        for n, node in enumerate(nodes):
            times = beside if id(node) in partners else elsewhere
            if isinstance(node, SE) and node.inputs == per.inputs and times:
                slot = where[n, "lengthscale"]
                lifted[slot] = max(lifted[slot], period + math.log(times))
    return lifted


def criterion(attempt: Attempt, n: int, which: Criterion) -> float:
    """What the search minimises: BIC = −2 log p + p_eff log N, or AIC; −2 × what was judged for the other criteria.

    Infinite for what is ruled out or was not judged.
    """
    if attempt.reason is not None or not attempt.values:
        return math.inf
    if which in JUDGED:
        return math.inf if attempt.judged is None else -2 * attempt.judged
    return -2 * attempt.value + attempt.n_effective * penalty(n, which)


def penalty(n: int, which: Criterion) -> float:
    """Of each parameter while candidates race: that of BIC, unless AIC is asked for."""
    return 2.0 if which == "aic" else math.log(n)


def period_pool(
    x: np.ndarray, y: np.ndarray, residual: np.ndarray | None = None, calendar: Sequence[float] = ()
) -> np.ndarray:
    """Candidate periods: of the calendar, peaks of the series and of what a model leaves, their doubles and halves."""
    span = float(np.ptp(x))
    if not span:
        return np.zeros(0)  # nothing comes round along a constant
    step = float(np.median(np.diff(np.unique(x))))
    found = [_without_lobes(peaks(x, values, 8), span)[:4] for values in ((y,) if residual is None else (y, residual))]
    top = np.concatenate([p[:2] for p in found])
    pool = np.concatenate([calendar, top, *(p[2:] for p in found), 2 * top, top / 2])
    pool = pool[(pool >= 4 * step * (1 - 1e-9)) & (pool <= span / SHOWN)]
    kept: list[float] = []
    for period in pool:
        if not any(abs(period / other - 1) < 0.01 for other in kept):
            kept.append(float(period))
    return np.array(kept[: N_PERIODS + len(calendar)])


def _without_lobes(periods: np.ndarray, span: float) -> np.ndarray:
    """Peaks, strongest first, without those that only stand at the foot of a stronger one."""
    kept: list[float] = []
    for period in periods:
        if all(abs(1 / period - 1 / other) > 1.6 / span for other in kept):
            kept.append(float(period))
    return np.array(kept)
