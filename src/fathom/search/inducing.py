"""What a search does differently with thousands of rows: some of them serve as inducing points for all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fathom.base import linalg
from fathom.base.optimise import Space
from fathom.gp.exact import GP, condition
from fathom.kernels.base import Kernel
from fathom.process import Process
from fathom.sparse.collapsed import Bound, condition_sparsely

LARGE = 2000  # rows beyond which an evaluation of the evidence takes seconds
INDUCING = 300  # rows that stand for all of them then
LAST = 100  # rows at the end of a series, besides, when it is to be forecast


def inducing_rows(X: np.ndarray) -> np.ndarray | None:
    """Rows to serve as inducing points when there are more than `LARGE`: along one input a random one of each of
    `INDUCING` stretches, since equal distances would fall into step with a cycle; else a random part."""
    n, rng = len(X), np.random.default_rng(0)
    if n <= LARGE:
        return None
    if X.shape[1] > 1:
        return np.sort(rng.choice(n, INDUCING, replace=False))
    stretches = np.array_split(np.argsort(X[:, 0], kind="stable"), INDUCING)
    return np.array([rng.choice(stretch) for stretch in stretches])


def process_of(kernel: Kernel, X: np.ndarray, Y: np.ndarray) -> Process:
    """The posterior of a zero-mean GP: exact up to `LARGE` rows, through inducing points beyond.

    The last rows of a series are all among them: a forecast starts there, and a rough kernel forgets the rest.
    """
    rows = inducing_rows(X)
    if rows is None:
        return condition(GP(kernel), X, Y)
    if X.shape[1] == 1:
        rows = np.union1d(rows, np.argsort(X[:, 0], kind="stable")[-LAST:])
    return condition_sparsely(GP(kernel), X, Y, X[rows])


def tempered(bound: Bound, vector: np.ndarray, where: Space) -> Space:
    """Steps of periods as small as thousands of rows make them: else the first dozens of iterations go to them alone.

    All periods are moved at once by a little; a step should change the bound by a few units, s = √(10/curvature).
    """
    entries = [slot.start for slot in bound.strip.slots if slot.parameter.name == "period"]
    if not entries:
        return where
    shift = np.zeros_like(vector)
    shift[entries] = 0.01 * where.scales[entries]
    try:
        change = (bound(vector + shift)[1] - bound(vector - shift)[1])[entries]
    except linalg.NotPositiveDefinite:
        return where
    scales = where.scales.copy()
    scales[entries] = np.minimum(scales[entries], np.sqrt(10 * 2 * shift[entries] / np.maximum(np.abs(change), 1e-9)))
    return replace(where, scales=scales)
