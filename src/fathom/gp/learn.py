"""Learning the parameters of an exact GP: many starts scored by one evaluation each, the best of them climbed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fathom.base import linalg
from fathom.base.optimise import FAILED, Result, Space, maximise, maximise_together
from fathom.gp.evidence import Evidence, Mean, batched
from fathom.gp.exact import GP, Posterior, condition
from fathom.gp.starts import space, starting_vectors
from fathom.kernels.algebra import terms
from fathom.kernels.base import Kernel, walk
from fathom.kernels.leaves import WN, is_noise
from fathom.kernels.vector import from_vector, slots

Engine = Literal["numpy", "jax"]
OnStep = Callable[[int, float], None]  # (restart, evidence so far)
SUBSET = 300  # rows that are enough to tell the optima of several inputs apart


@dataclass(frozen=True)
class Settings:
    """How to learn. `engine="jax"` evaluates all restarts in one compiled, vectorised call: for accelerators."""

    mean: Mean = "constant"
    n_restarts: int = 5
    max_iterations: int = 500
    engine: Engine = "numpy"

    @property
    def n_candidates(self) -> int:
        return max(24, 2 * self.n_restarts)


def with_noise(kernel: Kernel) -> Kernel:
    """The kernel, with white noise added unless it has some."""
    return kernel if any(is_noise(term) for term in terms(kernel)) else kernel + WN()


def learn(
    kernel: Kernel,
    X: np.ndarray,
    Y: np.ndarray,
    rng: np.random.Generator,
    settings: Settings,
    keep: tuple[bool, ...] | None = None,
    on_step: OnStep | None = None,
) -> tuple[Kernel, Result]:
    """The kernel with the highest evidence found for standardised outputs Y (N, P), and how it was found.

    With several inputs and many rows the restarts run on a random subset first, and only the distinct optima they
    reach are climbed on all rows. A series is never thinned: its short lengthscales and periods would be lost.
    """
    where = space(kernel, X)
    starts = starting_vectors(kernel, X, Y[:, 0], rng, settings.n_candidates, keep)
    if X.shape[1] > 1 and len(X) > 1.5 * SUBSET:
        rows = np.sort(rng.choice(len(X), SUBSET, replace=False))
        starts = _optima(_Problem(kernel, X[rows], Y[rows], settings.mean, where), starts, settings.n_restarts)
    with linalg.calm_threads(len(X)):
        whole = _Problem(kernel, X, Y, settings.mean, where)
        starts = whole.best(starts, settings.n_restarts) if len(starts) > settings.n_restarts else starts
        if settings.engine == "jax":
            objective = batched(kernel, X, Y, settings.mean)
            result = maximise_together(objective, starts, where, settings.max_iterations)
        else:
            result = whole.climb(starts, settings.max_iterations, on_step)
    if result.status == "failed":
        raise linalg.NotPositiveDefinite(_why_failed(kernel, result.vector, X))
    return from_vector(kernel, result.vector), result


class _Problem:
    """The evidence of one set of rows, and where to look for its maximum."""

    def __init__(self, kernel: Kernel, X: np.ndarray, Y: np.ndarray, mean: Mean, where: Space):
        self.evidence, self.where = Evidence(kernel, X, Y, mean), where

    def climb(self, starts: list[np.ndarray], max_iterations: int, on_step: OnStep | None = None) -> Result:
        return maximise(self.evidence, starts, self.where, max_iterations, on_step)

    def best(self, candidates: list[np.ndarray], n: int) -> list[np.ndarray]:
        """The n candidates with the highest evidence; the first, plain guess is always among them."""
        scores = [self._score(vector) for vector in candidates]
        order = [i for i in np.argsort(scores)[::-1] if i != 0]
        return [candidates[0]] + [candidates[i] for i in order[: max(n, 1) - 1]]

    def _score(self, vector: np.ndarray) -> float:
        try:
            return self.evidence.value(np.clip(vector, *self.where.bounds.T))
        except linalg.NotPositiveDefinite:
            return FAILED


def _optima(problem: _Problem, starts: list[np.ndarray], n: int) -> list[np.ndarray]:
    """The distinct optima that climbs from the n best starts reach, best first."""
    with linalg.calm_threads(SUBSET):
        reached = [problem.climb([start], 100) for start in problem.best(starts, n)]
    kept: list[Result] = []
    for result in sorted(reached, key=lambda r: -r.value):
        if not any(abs(result.value - other.value) < 0.1 for other in kept):
            kept.append(result)
    return [result.vector for result in kept]


def _why_failed(kernel: Kernel, vector: np.ndarray, X: np.ndarray) -> str:
    return "no start could be evaluated: " + linalg.diagnose(from_vector(kernel, vector).gram(X))


def posterior_of(kernel: Kernel, X: np.ndarray, Y: np.ndarray, mean: Mean) -> Posterior:
    """Conditions on the data, with the constant mean at its best value."""
    return condition(GP(kernel, np.zeros(Y.shape[1])), X, Y, profile=mean == "constant")


def remarks(posterior: Posterior, result: Result | None) -> list[str]:
    """What a user should know about a fit: jitter, and parameters that ended at a limit."""
    kernel, said = posterior.kernel, []
    if posterior.factor.jitter > 0:
        cause = linalg.diagnose(kernel.gram(posterior.X))
        relative = float(posterior.factor.jitter / np.mean(kernel.diag(posterior.X)))
        said.append(f"jitter of {relative:.1g} of the variance was needed to factorise the covariance: {cause}")
    if result is None:
        return said
    nodes, where, vector = list(walk(kernel)), space(kernel, posterior.X), result.vector
    for slot in slots(kernel):
        for entry in range(slot.start, slot.start + slot.size):
            low, high = where.bounds[entry]
            side = "lower" if vector[entry] - low < 1e-6 else "upper" if high - vector[entry] < 1e-6 else None
            if side:
                said.append(f"the {slot.parameter.name} of {nodes[slot.node].name} ended at its {side} limit")
    return said
