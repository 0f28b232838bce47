"""How many layers and units: by the density of rows that were held out (DGPS thesis, an open question there)."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone

from fathom.deep.heldout import plain, profile

HELD = 0.2


def candidates(d: int, p: int = 1) -> list[tuple[int, ...]]:
    """A single layer, one hidden layer of two widths, and two hidden layers, for D inputs and P outputs."""
    wide = min(d, max(p, 3))
    found = [(), (wide,), (wide + 1,) if wide < 3 else (wide + 2,), (wide, wide)]
    return list(dict.fromkeys(found))


def best_widths(estimator: Any, X: np.ndarray, Y: np.ndarray, n_classes: int) -> tuple[tuple[int, ...], list[Any]]:
    """The widths with the lowest NLL on held-out rows, and the NLL of all that were tried."""
    order = np.random.default_rng(estimator._seed()).permutation(len(X))
    n_held = max(1, round(HELD * len(X)))
    held, rows = order[:n_held], order[n_held:]
    scores = []
    for widths in candidates(X.shape[1], Y.shape[1]):
        trial = clone(estimator).set_params(widths=widths, checkpoint=None)
        trial.notes_ = []
        trial._learn(X[rows], Y[rows], n_classes, None)
        with trial._precision():
            dtype = trial.model_.layers[0].Z.dtype
            rows_held = X[held].astype(dtype), Y[held].astype(dtype), jax.random.key(0)
            told = [profile(model, *rows_held) for model in trial.models_]
        shares = np.reshape(trial.weights_, (-1, 1, 1))
        scores.append((widths, -plain(logsumexp(np.asarray(told, dtype=float), 0, shares)) / Y[held].size))
    return min(scores, key=lambda pair: pair[1])[0], scores
