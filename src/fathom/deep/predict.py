"""Predictions: mixtures of Gaussians, compiled once and asked in chunks of one size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import numpy as np

from fathom.base.arrays import Array
from fathom.deep.model import DeepGP

ROWS = 256  # rows of one compiled prediction
N_TEST = 100  # draws of a prediction
NEGLIGIBLE = 1e-4  # a weight that is left out of predictions
MOST, FEWEST = 200, 8  # parts of a mixture of draws, about; draws of its rarest factor
Scales = tuple[tuple[float, float], ...]  # factors of the predictive variances, and their weights
AS_LEARNT: Scales = ((1.0, 1.0),)
Mixture = tuple[np.ndarray, np.ndarray, np.ndarray]  # means (S, ...), variances and weights (S)


@eqx.filter_jit
def _latent(model: DeepGP, X: Array, key: Array, n: int) -> tuple[Array, Array, Array]:
    f, log_weights, _ = model(X, key, n, common=True)
    return f.mean, f.var, log_weights


def padded(X: np.ndarray, rows: int = ROWS) -> Iterator[tuple[np.ndarray, int]]:
    """Chunks of one size, the last one filled up with its first row, and how many rows count."""
    for start in range(0, len(X), rows):
        chunk = X[start : start + rows]
        yield np.concatenate([chunk, np.repeat(chunk[:1], rows - len(chunk), 0)]), len(chunk)


def answers(model: DeepGP, X: np.ndarray, key: Array, n: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Means and variances (S, b, Q) of the latent functions, chunk by chunk, and log weights (S)."""
    n = n if model.draws else 1  # where nothing is drawn, looking and predicting are one compiled function
    for x, rows in padded(X):
        mean, var, log_weights = (np.asarray(a, dtype=float) for a in _latent(model, x, key, n))
        yield mean[:, :rows], var[:, :rows], log_weights


def latent(model: DeepGP, X: np.ndarray, seed: int, n: int = N_TEST) -> Mixture:
    """Means and variances (S, N, Q) of the latent functions, and weights (S)."""
    X, key = np.asarray(X, model.layers[0].Z.dtype), jax.random.key(seed)
    means, variances, weights = zip(*answers(model, X, key, n), strict=True)
    return np.concatenate(means, 1), np.concatenate(variances, 1), np.exp(weights[0])


def scaled(means: np.ndarray, variances: np.ndarray, weights: np.ndarray, scales: Scales) -> Mixture:
    """A mixture (S, ...) with its variances multiplied by each factor in turn: (S·F, ...)."""
    return together([(means, factor * variances, weights) for factor, _ in scales], [share for _, share in scales])


def together(mixtures: Sequence[Mixture], shares: Sequence[float]) -> Mixture:
    """One mixture of several, with these shares.

    Of many points, which are draws, each gives only as many as it is worth: CRPS goes through all pairs.
    """
    parts = []
    for (means, variances, weights), share in zip(mixtures, shares, strict=True):
        n = len(means)
        count = n if n * len(mixtures) <= MOST else int(np.clip(np.ceil(share * MOST), FEWEST, n))
        kept = np.arange(count) * n // count
        parts.append((means[kept], variances[kept], share * weights[kept] / weights[kept].sum()))
    all_means, all_variances, all_weights = zip(*parts, strict=True)
    return np.concatenate(all_means), np.concatenate(all_variances), np.concatenate(all_weights)
