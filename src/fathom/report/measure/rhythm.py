"""Does a smooth part rise and fall at regular intervals, though nothing in its kernel asks for that?

A search may follow a cycle with a smooth function where the cycle is too irregular to repay a periodic one: sunspots
are the example. What the reader sees in the picture is then a cycle all the same, and the words should say so.
"""

from __future__ import annotations

import numpy as np

from fathom.base import linalg
from fathom.report.measure import statistics as st
from fathom.report.measure.anatomy import Anatomy

BAND = 0.2  # of a frequency on either side: cycles so much longer or shorter are the same rhythm
LEAST = 1 / 2  # of the variance that a rhythm must hold to be what a reader sees
LEVEL = 0.01  # chance of as strong a rhythm in draws of the part from its prior
DRAWS, MOST_ROWS, FEWEST_CYCLES = 299, 400, 5


def rhythm(anatomy: Anatomy, i: int, x: np.ndarray, rows: np.ndarray, mean: np.ndarray) -> float | None:
    """The period at which the mean of part i rises and falls where it applies; None where none stands out.

    The share of variance within a band of frequencies, at its largest, is compared with that of draws from the prior
    of the part at the same places: a smooth function of any kernel has some strongest rhythm.
    """
    thin = slice(None, None, -(-len(x) // MOST_ROWS))
    x, rows, mean = x[thin], rows[thin], mean[thin]
    if len(x) < 4 * FEWEST_CYCLES or np.ptp(mean) <= 0:
        return None
    Z = anatomy.scaler.x(rows)
    root = linalg.root(anatomy.parts[i].cross(Z, Z))
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(x))) @ root.T
    (share, *chance), (period, *_) = strongest(np.vstack([mean, draws]), x)
    p = (1 + np.sum(np.array(chance) >= share)) / (1 + DRAWS)
    return float(period) if share >= LEAST and p <= LEVEL else None


def strongest(values: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest share of variance that a band of frequencies holds in each row of values, and its mean period."""
    frequency = st.frequencies(x)
    power = 10.0 ** (st.periodogram(values, x) / 10)
    power /= power.sum(1, keepdims=True)
    ratio = frequency[:, None] / frequency
    band = (ratio <= 1 + BAND) & (ratio >= 1 / (1 + BAND))
    band[:, frequency < FEWEST_CYCLES / np.ptp(x)] = False  # too slow to be seen to repeat
    shares = power @ band
    best = shares.argmax(1)
    inside = power * band[:, best].T
    return shares.max(1), inside.sum(1) / np.maximum((inside * frequency).sum(1), np.finfo(float).tiny)
