"""What rows that a model has not seen say of it: how good it is, and how wide its intervals should be."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
from scipy.special import logsumexp

from fathom.base.arrays import Array
from fathom.deep.model import DeepGP
from fathom.deep.objective import predictive
from fathom.deep.predict import AS_LEARNT, NEGLIGIBLE, ROWS, Scales, answers, padded
from fathom.likelihoods import Gaussian

VALIDATION_SAMPLES = 16
FACTORS = np.exp(np.arange(-9, 10) / 2)  # of predictive variances, that held-out rows may ask for
ROWS_BEFORE = 5.0  # rows that the prior of the factors is worth: held-out rows may be few
PRIOR_SD = 0.5  # of the logarithm of a factor, in that prior
WORST = -1e30  # a logarithm that is no number
ITERATIONS = 100
EACH = 15  # training rows for each inducing input, from which on they can say how wide intervals should be
SAMPLE = 2000  # of them are asked


def profile(model: DeepGP, X: np.ndarray, Y: np.ndarray, key: Array) -> np.ndarray:
    """Log densities (F, N) of rows that the model has not seen, were its variances larger by each of `FACTORS`.

    A predictive objective fits the widths of its own rows too. Classes have no widths: (1, N).
    """
    if isinstance(model.likelihood, Gaussian):
        starts = range(0, len(Y), ROWS)
        asked_of = zip(starts, answers(model, X, key, VALIDATION_SAMPLES), strict=True)
        logs = [_widened(model.likelihood, Y[i : i + ROWS], *answer) for i, answer in asked_of]
    else:
        pairs = zip(padded(X), padded(Y), strict=True)
        asked = ((_log_density(model, x, y, key, VALIDATION_SAMPLES), n) for (x, n), (y, _) in pairs)
        logs = [np.asarray(found)[:, :n] for found, n in asked]
    told = np.concatenate(logs, 1).astype(np.float32)
    return np.where(np.isfinite(told), told, np.float32(WORST))


@eqx.filter_jit
def _log_density(model: DeepGP, X: Array, Y: Array, key: Array, n: int) -> Array:
    """Log densities (1, N) of the rows."""
    f, log_weights, _ = model(X, key, n, common=True)
    return predictive(model.likelihood, Y, f, log_weights)[None]


def _widened(likelihood: Gaussian, Y: np.ndarray, mean: np.ndarray, var: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """log Σ_s w_s Π_p N(y_p | m_sp, f v_sp) (F, N) for all factors f."""
    mean, var = (np.asarray(a, dtype=float) for a in likelihood.outputs(mean, var))
    var, known = var + np.asarray(likelihood.noise(), dtype=float), np.isfinite(Y)
    with np.errstate(all="ignore"):  # a model that diverged says so by the result
        square = np.where(known, (np.where(known, Y, 0.0) - mean) ** 2 / var, 0.0).sum(-1)
        spread = np.where(known, np.log(2 * np.pi * var), 0.0).sum(-1)
        f, n_known = FACTORS[:, None, None], known.sum(-1)
        return logsumexp(weights[:, None] - 0.5 * (spread + n_known * np.log(f) + square / f), axis=1)


def score(told: np.ndarray) -> tuple[float, Scales]:
    """The log density of held-out rows under the most probable mixture of factors, and that mixture.

    Some rows are far less certain than a model believes, most are not: one factor for all would be too wide for most.
    EM for the weights w of log Π_n Σ_f w_f p_f(y_n) + Σ_f b_f log w_f, with b the rows of the prior about factor 1.
    """
    if len(told) == 1:
        return float(np.sum(told, dtype=float)), AS_LEARNT
    logs = np.asarray(told, dtype=float)
    top = logs.max(0)
    density, before = np.exp(logs - top), np.exp(-0.5 * (np.log(FACTORS) / PRIOR_SD) ** 2)
    before *= ROWS_BEFORE / before.sum()
    weights = before / before.sum()
    for _ in range(ITERATIONS):
        shares = density * (weights[:, None] / (weights @ density))
        weights = (shares.sum(1) + before) / (logs.shape[1] + ROWS_BEFORE)
    worth = float(np.sum(np.log(weights @ density) + top) + before @ np.log(weights))
    kept = weights > NEGLIGIBLE
    weights = weights[kept] / weights[kept].sum()
    return worth, tuple(zip(FACTORS[kept].tolist(), weights.tolist(), strict=True))


def plain(told: np.ndarray) -> float:
    """The log density at the widths of the model itself."""
    own = told[0] if len(told) == 1 else told[int(np.argmin(np.abs(FACTORS - 1)))]
    return float(np.sum(own, dtype=float))


def calibrate(model: DeepGP, X: np.ndarray, Y: np.ndarray, seed: int) -> Scales:
    """The factors that rows ask for from which the model was learnt, where they are many and no others were held out.

    An ELBO learns noise that includes what the inducing points cannot say, and a prediction adds that once more. Rows
    that far outnumber what was fitted to them show it nearly as well as new ones would: squared errors of these are
    larger by (N + p)/(N − p) where p numbers were fitted (Akaike 1969), here one for each inducing input and
    each weight of a network in front: with one, rows seen in training say nothing.
    """
    n, weights = len(X), jax.tree.leaves(eqx.filter(model.features, eqx.is_inexact_array))
    p = sum(layer.Z.shape[0] * layer.Z.shape[1] + layer.n_orthogonal for layer in model.layers) + sum(
        w.size for w in weights
    )
    if n < EACH * p or not isinstance(model.likelihood, Gaussian):
        return AS_LEARNT
    rows = np.random.default_rng([seed, 5]).choice(n, min(SAMPLE, n), replace=False)
    X, Y = (np.asarray(a[rows], model.layers[0].Z.dtype) for a in (X, Y))
    scales = score(profile(model, X, Y, jax.random.key(seed)))[1]
    return tuple((factor * (n + p) / (n - p), weight) for factor, weight in scales)
