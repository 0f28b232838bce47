"""How many layers and units: by the density of rows that were held out (DGPS thesis, an open question there)."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
from scipy.special import logsumexp

from fathom.base.compiling import precision
from fathom.deep.ensemble import Ensemble
from fathom.deep.training.calibration import plain, profile
from fathom.inference.base import Inference, Task, Training

HELD = 0.2
Widths = tuple[int, ...]


def candidates(d: int, p: int = 1) -> list[Widths]:
    """A single layer, one hidden layer of two widths, and two hidden layers, for D inputs and P outputs."""
    wide = min(d, max(p, 3))
    found = [(), (wide,), (wide + 1,) if wide < 3 else (wide + 2,), (wide, wide)]
    return list(dict.fromkeys(found))


def best_widths(method: Inference, task: Task) -> tuple[Widths, list[tuple[Widths, float]]]:
    """The widths with the lowest NLL on a fifth of the rows, and the NLL of all that were tried."""
    order = np.random.default_rng(task.seed).permutation(len(task.X))
    n_held = max(1, round(HELD * len(task.X)))
    held, rows = order[:n_held], order[n_held:]
    training = Training(**{**task.training.get_params(), "checkpoint": None})
    part = replace(task, X=task.X[rows], Y=task.Y[rows], training=training, on_check=None)
    scores = []
    for widths in candidates(task.X.shape[1], task.Y.shape[1]):
        learnt = method.learn(replace(part, arch=replace(task.arch, widths=widths)))
        assert isinstance(learnt, Ensemble)  # only these have hidden layers to choose
        scores.append((widths, _nll(learnt, task.X[held], task.Y[held])))
    return min(scores, key=lambda pair: pair[1])[0], scores


def _nll(learnt: Ensemble, X: np.ndarray, Y: np.ndarray) -> float:
    """Minus the mean log density of held-out rows under the average of models."""
    with precision(learnt.dtype):
        rows = X.astype(learnt.dtype), Y.astype(learnt.dtype), jax.random.key(0)
        told = [profile(model, *rows) for model in learnt.models]
    shares = np.reshape(learnt.weights, (-1, 1, 1))
    return -plain(logsumexp(np.asarray(told, dtype=float), 0, shares)) / Y.size
