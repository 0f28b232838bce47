"""What rows that a model has not seen say of it, and its predictions: compiled once, in chunks of one size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from fathom.deep.methods import N_TEST
from fathom.deep.model import DeepGP
from fathom.deep.objective import predictive
from fathom.likelihoods import Gaussian

ROWS = 256  # rows of one compiled prediction
VALIDATION_SAMPLES = 16
FACTORS = np.exp(np.linspace(-1, 3, 81))  # of predictive variances, that held-out rows may ask for
PRIOR_SD = 0.5  # of the factor's logarithm: held-out rows may be few
WORST = -1e30  # a sum of logarithms that is no number


@eqx.filter_jit
def _log_density(model: DeepGP, X: Any, Y: Any, key: Any, n: int) -> Any:
    """Log densities (1, N) of the rows."""
    f, log_weights, _ = model(X, key, n, common=True)
    return predictive(model.likelihood, Y, f, log_weights)[None]


@eqx.filter_jit
def _widened(model: DeepGP, X: Any, Y: Any, key: Any, n: int) -> Any:
    """Log densities (F, N) of the rows under all factors."""
    f, log_weights, _ = model(X, key, n, common=True)
    assert isinstance(model.likelihood, Gaussian)
    mean, var = model.likelihood.outputs(f.mean, f.var)
    var, known = var + model.likelihood.noise(), jnp.isfinite(Y)

    def at(factor: Any) -> Any:
        each = norm.logpdf(jnp.where(known, Y, 0.0), mean, jnp.sqrt(factor * var))
        return jax.nn.logsumexp(log_weights[:, None] + jnp.sum(jnp.where(known, each, 0.0), -1), 0)

    return jax.lax.map(at, jnp.asarray(FACTORS, X.dtype))


@eqx.filter_jit
def _latent(model: DeepGP, X: Any, key: Any, n: int) -> Any:
    f, log_weights, _ = model(X, key, n, common=True)
    return f.mean, f.var, log_weights


def _padded(X: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Chunks of one size, the last one filled up with its first row, and how many rows count."""
    for start in range(0, len(X), ROWS):
        chunk = X[start : start + ROWS]
        yield np.concatenate([chunk, np.repeat(chunk[:1], ROWS - len(chunk), 0)]), len(chunk)


def profile(model: DeepGP, X: np.ndarray, Y: np.ndarray, key: Any) -> np.ndarray:
    """The log density of rows that the model has not seen, were its variances larger by each of `FACTORS`.

    A predictive objective fits the widths of its own rows too. Classes have no widths: one number.
    """
    ask = _widened if isinstance(model.likelihood, Gaussian) else _log_density
    pairs = zip(_padded(X), _padded(Y), strict=True)
    logs = [np.asarray(ask(model, x, y, key, VALIDATION_SAMPLES), float)[:, :n] for (x, n), (y, _) in pairs]
    sums = np.concatenate(logs, 1).sum(1)
    return np.where(np.isfinite(sums), sums, WORST)


def score(told: Any) -> tuple[float, float]:
    """The best log density of held-out rows over the factors, less what a factor far from 1 costs; and that factor."""
    told = np.asarray(told)
    if len(told) == 1:
        return float(told[0]), 1.0
    posterior = told - 0.5 * (np.log(FACTORS) / PRIOR_SD) ** 2
    best = int(np.argmax(posterior))
    return float(posterior[best]), float(FACTORS[best])


def plain(told: Any) -> float:
    """The log density at the widths of the model itself."""
    return float(told[0] if len(told) == 1 else np.interp(0.0, np.log(FACTORS), told))


def latent(model: DeepGP, X: np.ndarray, seed: int, n: int = N_TEST) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and variances (S, N, Q) of the latent functions, and weights (S)."""
    X, key = np.asarray(X, model.layers[0].Z.dtype), jax.random.key(seed)
    parts = [(*_latent(model, x, key, n), rows) for x, rows in _padded(X)]
    means, variances = (np.concatenate([np.asarray(p[i])[:, : p[3]] for p in parts], 1) for i in (0, 1))
    return means, variances, np.exp(np.asarray(parts[0][2], dtype=float))
