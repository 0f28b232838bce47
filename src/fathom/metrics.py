"""How good a predictive distribution is, given what was observed.

Every function takes a `Predictive` of shape (N,) or (N, P) and `y` of exactly that shape, ignores the
entries of `y` that are NaN, and averages over all the others. Lower is better, except for `coverage`,
which should equal its level.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fathom.predictive import Array, Predictive

_LEVELS = tuple(np.arange(1, 20) / 20)


def nll(predictive: Predictive, y: ArrayLike) -> float:
    """Mean negative log density of the mixture, `−⟨log Σ_k w_k N(y; m_k, v_k)⟩`."""
    y = _check(predictive, y)
    return _average(-predictive.log_prob(y), y)


def mnlp(predictive: Predictive, y: ArrayLike) -> float:
    """Mean negative log probability of the moment-matched Gaussian, `−⟨log N(y; m̄, v̄)⟩`.

    m̄ and v̄ are the mean and variance of the mixture: this is what a method that reports only two
    moments can be scored by. It equals `nll`, which uses the mixture itself, when K = 1.
    """
    y = _check(predictive, y)
    matched = Predictive.gaussian(predictive.mean(), predictive.var())
    return _average(-matched.log_prob(y), y)


def drawn_nll(predictive: Predictive, y: ArrayLike) -> float:
    """Mean negative log density of one component, `−⟨Σ_k w_k log N(y; m_k, v_k)⟩`, drawn by its weight.

    What the DGPS thesis reports (section 5.1.4): log densities of draws are averaged, not densities. By Jensen's
    inequality it is never below `nll`, and equals it when K = 1.
    """
    y = _check(predictive, y)
    means, weights = predictive.means, np.broadcast_to(predictive.weights, predictive.means.shape)
    alone = Predictive.gaussian(means.ravel(), predictive.variances.ravel())
    logs = alone.log_prob(np.broadcast_to(y[..., None], means.shape).ravel()).reshape(means.shape)
    return _average(-np.sum(weights * np.where(weights > 0, logs, 0.0), -1), y)


def rmse(predictive: Predictive, y: ArrayLike) -> float:
    """Root mean square error of the predictive mean, which is the point that minimises it."""
    y = _check(predictive, y)
    return float(np.sqrt(_average((predictive.mean() - y) ** 2, y)))


def mae(predictive: Predictive, y: ArrayLike) -> float:
    """Mean absolute error of the predictive median, which is the point that minimises it."""
    y = _check(predictive, y)
    return _average(np.abs(predictive.quantile(0.5) - y), y)


def crps(predictive: Predictive, y: ArrayLike) -> float:
    """Mean continuous ranked probability score, in the units of y."""
    y = _check(predictive, y)
    return _average(predictive.crps(y), y)


def coverage(predictive: Predictive, y: ArrayLike, level: float = 0.9) -> float:
    """Share of the observations inside the central interval of the given level, ends included."""
    y = _check(predictive, y)
    lower, upper = predictive.interval(level)
    return _average((lower <= y) & (y <= upper), y)


def calibration_error(predictive: Predictive, y: ArrayLike, levels: ArrayLike = _LEVELS) -> float:
    """Root mean square over levels p of `p − share of observations with F(y) ≤ p`.

    Zero for a calibrated continuous predictive in the limit of many observations; about
    `sqrt(p(1 − p)/n)` from the noise of n of them.
    """
    y = _check(predictive, y)
    p = np.asarray(levels, float)
    if p.ndim != 1 or not p.size or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"levels must be a non-empty sequence of numbers in [0, 1], got {levels!r}")
    reached = np.sort(predictive.cdf(y)[~np.isnan(y)])
    share = np.searchsorted(reached, p, side="right") / reached.size
    return float(np.sqrt(np.mean((share - p) ** 2)))


def summary(predictive: Predictive, y: ArrayLike) -> dict[str, float]:
    """Every metric by its name in the tables."""
    return {
        "NLL": nll(predictive, y),
        "RMSE": rmse(predictive, y),
        "MAE": mae(predictive, y),
        "CRPS": crps(predictive, y),
        "MNLP": mnlp(predictive, y),
        "coverage90": coverage(predictive, y, level=0.9),
        "calibration": calibration_error(predictive, y),
    }


def _check(predictive: Predictive, y: ArrayLike) -> Array:
    """`y` as an array of the predictive's own shape, with something observed.

    Broadcasting is refused: (N, 1) against (N,) would silently compare every row with every other.
    """
    array = np.asarray(y, float)
    if array.shape != predictive.shape:
        raise ValueError(f"y has shape {array.shape} but the predictive has shape {predictive.shape}")
    if np.isnan(array).all():
        raise ValueError("y has no observed entry: every value is NaN or there are no rows")
    return array


def _average(values: ArrayLike, y: Array) -> float:
    """Mean over the observed entries."""
    # Point masses give infinities of both signs; their mean is rightly NaN and not worth a warning.
    with np.errstate(invalid="ignore"):
        return float(np.mean(np.asarray(values, float)[~np.isnan(y)]))
