"""Forecasting with what the data cannot tell apart: models within reach of the best, weighted by their past forecasts.

BIC does not see extrapolation: models a few units apart differ threefold in forecast error. So each model within reach
forecasts three past horizons it is made to forget (parameters fixed), and its weight is the inverse of its mean
squared error there.
"""

from __future__ import annotations

import numpy as np

from fathom.exact import GP, condition
from fathom.kernels.base import Kernel
from fathom.linalg import NotPositiveDefinite

ORIGINS, HORIZON = 3, 0.1  # past horizons, each of this share of the rows


def rolling_errors(kernel: Kernel, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Forecast errors over past horizons: (origins × steps, 2) of squared error and predictive variance."""
    order = np.argsort(X[:, 0], kind="stable")
    X, y = X[order], y[order]
    steps = max(1, int(HORIZON * len(y)))
    rows = []
    for origin in (len(y) - steps * (1 + i) for i in range(ORIGINS)):
        if origin < max(10, 2 * steps):
            break
        ahead = slice(origin, origin + steps)
        posterior = condition(GP(kernel), X[:origin], y[:origin])
        error = y[ahead] - posterior.mean(X[ahead])[:, 0]
        rows.append(np.column_stack([error**2, posterior.var(X[ahead], noise=True)]))
    return np.concatenate(rows) if rows else np.ones((0, 2))


def forecast_weights(kernels: list[Kernel], X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights of the models, summing to one; equal when the series is too short to look back."""
    losses = []
    for kernel in kernels:
        try:
            errors = rolling_errors(kernel, X, y)
            losses.append(float(errors[:, 0].mean()) if len(errors) else 1.0)
        except NotPositiveDefinite:
            losses.append(np.inf)
    inverse = 1 / np.maximum(losses, 1e-6)
    return inverse / inverse.sum() if inverse.sum() > 0 else np.full(len(kernels), 1 / len(kernels))
