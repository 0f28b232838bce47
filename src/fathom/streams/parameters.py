"""The parameters of a stream's kernels, by the exact evidence of a few hundred of its rows, in NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fathom.base.optimise import maximise
from fathom.gp.evidence import Evidence
from fathom.gp.exact import leave_one_out
from fathom.gp.learn import Settings, learn, posterior_of, with_noise
from fathom.gp.starts import space
from fathom.kernels.algebra import bind, terms
from fathom.kernels.base import Kernel
from fathom.kernels.combine import Sum, join
from fathom.kernels.leaves import SE, WN, is_noise
from fathom.kernels.vector import from_vector, to_vector

MOST = 500  # rows whose evidence is looked at
FEWEST = 20  # rows with all outputs; with fewer, rows that lack some serve as well
RESTARTS, ITERATIONS = 3, 200
LOG_CHI2 = -1.2703628454614782  # mean of log ε² for a standard normal ε
LOG_CHI2_VAR = np.pi**2 / 2  # and its variance


class Parameters(NamedTuple):
    """Of the last layer: its kernel with noise and, where noise follows the inputs, the kernel of its logarithm.

    `level` is what the log noise varies around, `hidden` are the kernels of the layers before.
    """

    kernel: Kernel
    log_noise: Kernel | None
    level: np.ndarray  # (P)
    hidden: tuple[Kernel, ...] = ()


def some_rows(X: np.ndarray, Y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """At most `MOST` rows, missing outputs filled with their mean where too few rows have all.

    Of a series a stretch, whose short lengthscales a random choice would lose.
    """
    known = ~np.isnan(Y).any(1)
    if known.sum() >= min(FEWEST, len(X)):
        X, Y = X[known], Y[known]
    else:
        Y = np.where(np.isnan(Y), 0.0, Y)
    if len(X) <= MOST:
        return X, Y
    if X.shape[1] == 1:
        start = int(rng.integers(len(X) - MOST + 1))
        chosen = np.argsort(X[:, 0], kind="stable")[start : start + MOST]
    else:
        chosen = np.sort(rng.choice(len(X), MOST, replace=False))
    return X[chosen], Y[chosen]


def parameters(
    kernel: Kernel,
    X: np.ndarray,
    Y: np.ndarray,
    varying: bool,
    rng: np.random.Generator,
    keep: tuple[bool, ...] | None = None,
    before: Kernel | None = None,
) -> Parameters:
    """Learn from rows in standard units.

    `keep` says which parameters of the kernel the caller has set; one that was learnt `before` is climbed from too.
    """
    X, Y = some_rows(X, Y, rng)
    kernel, result = learn(with_noise(kernel), X, Y, rng, Settings("zero", RESTARTS, ITERATIONS), keep)
    if before is not None:
        again = maximise(Evidence(before, X, Y, "zero"), [to_vector(before)], space(before, X), ITERATIONS)
        kernel = from_vector(before, again.vector) if again.value > result.value else kernel
    if not varying:
        return Parameters(kernel, None, np.zeros(Y.shape[1]))
    return Parameters(kernel, *log_noise(kernel, X, Y, rng))


def log_noise(kernel: Kernel, X: np.ndarray, Y: np.ndarray, rng: np.random.Generator) -> tuple[Kernel, np.ndarray]:
    """A process for the log noise variance, from what is left of each row when the others predict it.

    log e² is log σ² plus noise of known mean and variance (Kersting et al. 2007 take its expectation instead).
    """
    mean, var = leave_one_out(posterior_of(kernel, X, Y, "zero"))
    noise = kernel.diag(X, True) - kernel.diag(X, False)
    squares = (Y - mean) ** 2 * (noise / var)[:, None]  # less what the function is uncertain of
    z = np.log(np.maximum(squares, 1e-6 * noise[:, None])) - LOG_CHI2
    level = z.mean(0)
    spread = float(z.std()) or 1.0
    start = bind(SE() + WN(variance=min(LOG_CHI2_VAR / spread**2, 0.9)), X.shape[1])
    fitted, _ = learn(start, X, (z - level) / spread, rng, Settings("zero", RESTARTS, ITERATIONS))
    smooth = [term for term in terms(fitted) if not is_noise(term)]
    found = join(Sum, [term.replace(variance=term.variance * spread**2) for term in smooth])
    return found, level
