"""Criteria too dear for a race, which rank its finalists: the Laplace evidence and the cross-validated density.

Both are logarithms on the scale of the evidence. A score is −2 times them, as for BIC.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fathom.base import linalg
from fathom.gp.evidence import log_structure_evidence
from fathom.kernels.base import Kernel
from fathom.kernels.strip import ClockLags
from fathom.kernels.vector import from_vector
from fathom.search.score import Attempt, Criterion, Problem, evidence_of
from fathom.sparse.collapsed import Bound

FOLDS = 10


def bounded(problem: Problem, attempt: Attempt, steps: int, best: float = -math.inf, rate: float = 0.0) -> Attempt:
    """The candidate with an upper bound of its evidence at the best vector so far.

    The bound is as tight as it takes to see that a score of `best` is out of reach. On a clock a step costs a
    convolution, elsewhere the whole matrix of covariances, a block at a time.
    """
    bound = evidence_of(problem, attempt.kernel)
    if not isinstance(bound, Bound):
        return attempt
    vector = attempt.vectors[int(np.argmax(attempt.values))]
    enough = (attempt.n_effective * rate - best) / 2 if math.isfinite(best) else -math.inf
    return replace(attempt, upper=bound.upper(vector, enough, steps if isinstance(bound.strip.lags, ClockLags) else 1))


def judge(problem: Problem, attempt: Attempt, steps: int, which: Criterion) -> Attempt:
    """A finalist with the logarithm of its criterion and, where there are inducing points, its upper bound."""
    attempt = bounded(problem, attempt, steps)
    vector = attempt.vectors[int(np.argmax(attempt.values))]
    try:
        if which == "laplace":
            return replace(attempt, judged=log_structure_evidence(evidence_of(problem, attempt.kernel), vector))
        if which == "cv":
            return replace(attempt, judged=held_out_density(problem, attempt.kernel, vector))
    except linalg.NotPositiveDefinite as failure:
        return replace(attempt, reason=str(failure))
    return attempt


def folds(X: np.ndarray, k: int = FOLDS) -> list[np.ndarray]:
    """Row numbers of k held-out sets: contiguous blocks along one input, random ones over several."""
    n = len(X)
    order = np.argsort(X[:, 0], kind="stable") if X.shape[1] == 1 else np.random.default_rng(0).permutation(n)
    return np.array_split(order, max(1, min(k, n)))


def held_out_density(problem: Problem, kernel: Kernel, vector: np.ndarray) -> float:
    """Σ_V log p(y_V | y without V) over folds V, parameters fixed, from one factorisation.

    With P = C⁻¹ and α = Py, y_V given the rest is normal around y_V − P_VV⁻¹α_V with covariance P_VV⁻¹ (Rasmussen and
    Williams, eq. 5.12 for more than one row). With inducing points C is that of FITC, whose held-out variances are not
    too small.
    """
    block = _precision(problem, kernel, vector)
    total = 0.0
    for rows in folds(problem.X):
        P, alpha = block(rows)
        factor = linalg.factorise(P)
        quadratic = float(alpha @ factor.solve(alpha))
        total += 0.5 * (float(factor.log_det()) - quadratic - len(rows) * math.log(2 * math.pi))
    return total


def _precision(
    problem: Problem, kernel: Kernel, vector: np.ndarray
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """P_VV and α_V as a function of the rows V."""
    if problem.inducing is None:
        whole = linalg.factorise(from_vector(kernel, vector).gram(problem.X))
        P, alpha = whole.inverse(), whole.solve(problem.y)
        return lambda rows: (P[np.ix_(rows, rows)], alpha[rows])
    solved = Bound(kernel, problem.X, problem.y, problem.inducing, a=1.0).solved(vector)
    half = solved.inner.half_solve(solved.scaled)
    return lambda rows: (np.diag(1 / solved.scale[rows]) - half[:, rows].T @ half[:, rows], solved.alpha[rows, 0])
