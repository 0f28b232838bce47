"""Which observations the model finds improbable when it has to foretell them from all the others.

Under the model the errors of leave-one-out prediction, in units of their standard deviation, are standard normal. The
smallest of N two-sided tail probabilities falls below LEVEL/N in at most LEVEL of all records (Bonferroni), so a
record without oddities seldom lists one.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from fathom.data.dataset import Dataset
from fathom.report.facts.anomaly import Anomalies, Anomaly
from fathom.report.facts.part import Z90
from fathom.report.model import Fitted

LEVEL = 0.05  # chance that a record without oddities lists any
MOST = 10  # that are shown
FINEST = 1e-9  # of the spread of the target: a smaller standard deviation is rounding error


def anomalies(model: Fitted, dataset: Dataset) -> Anomalies:
    """The observations that are improbable given all the others, most surprising first."""
    others = model.leave_one_out()
    y = np.asarray(dataset.y, dtype=float).reshape(-1)
    mean = np.asarray(others.mean(), dtype=float).reshape(-1)
    sd = np.maximum(np.asarray(others.std(), dtype=float).reshape(-1), FINEST * float(np.std(y)))
    away = np.abs(y - mean) / np.where(sd > 0, sd, 1.0)
    p = 2 * ndtr(-away)
    odd = np.flatnonzero(p * len(y) < LEVEL)
    first = odd[np.argsort(-away[odd], kind="stable")][:MOST]
    shown = [
        Anomaly(
            row=int(i),
            at=tuple(float(v) for v in dataset.X[i]),
            value=float(y[i]),
            expected=float(mean[i]),
            low=float(mean[i] - Z90 * sd[i]),
            high=float(mean[i] + Z90 * sd[i]),
            p_value=float(p[i]),
        )
        for i in first
    ]
    return Anomalies(tuple(shown), len(odd), len(y))
