"""Which observations the model finds improbable when it has to foretell them from the others.

With P = C⁻¹ and α = P(y − μ), leaving out observation i foretells it with error αᵢ/Pᵢᵢ and variance 1/Pᵢᵢ (Rasmussen
and Williams, eq. 5.12). The most improbable one is set aside and the others are judged again without it, since it would
make its neighbours look odd: Pᵢᵢ − Pᵢⱼ²/Pⱼⱼ and αᵢ − Pᵢⱼαⱼ/Pⱼⱼ leave out j too. Under the model the smallest of N
two-sided tail probabilities falls below LEVEL/N in at most LEVEL of all records (Bonferroni), so a record without
oddities seldom lists one.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from fathom.base import linalg
from fathom.data.dataset import Dataset
from fathom.report.facts.anomaly import Anomalies, Anomaly
from fathom.report.facts.part import Z90
from fathom.report.model import Fitted

LEVEL = 0.05  # chance that a record without oddities lists any
MOST = 10  # that are shown


def anomalies(model: Fitted, dataset: Dataset) -> Anomalies:
    """The observations that are improbable given those that fit, most surprising first."""
    p, s = model.posterior_, model.scaler_
    precision, alpha = p.factor.inverse(), np.array(p.alpha[:, 0])
    odd = set_aside(precision, alpha)
    y = s.y_back(p.Y)[:, 0]
    if not len(odd):
        return Anomalies((), 0, len(y))
    inner = linalg.factorise(precision[np.ix_(odd, odd)])  # given the others: error P⁻¹α, covariance P⁻¹
    error, sd = inner.solve(alpha[odd]) * float(s.y_sd[0]), np.sqrt(inner.inverse().diagonal()) * float(s.y_sd[0])
    order = np.argsort(-np.abs(error) / sd, kind="stable")[:MOST]
    shown = [
        Anomaly(
            row=int(odd[k]),
            at=tuple(float(v) for v in dataset.X[odd[k]]),
            value=float(y[odd[k]]),
            expected=float(y[odd[k]] - error[k]),
            low=float(y[odd[k]] - error[k] - Z90 * sd[k]),
            high=float(y[odd[k]] - error[k] + Z90 * sd[k]),
            p_value=float(2 * ndtr(-abs(error[k]) / sd[k])),
        )
        for k in order
    ]
    return Anomalies(tuple(shown), len(odd), len(y))


def set_aside(precision: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Rows that are improbable, each given all that were not set aside before it."""
    n = len(alpha)
    left, diagonal, gone = alpha.copy(), precision.diagonal().copy(), np.zeros(n, dtype=bool)
    columns = np.zeros((0, n))  # of the rows set aside, over the root of their diagonal
    while 2 * len(columns) < n:
        away = np.where(gone, 0.0, np.abs(left) / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny)))
        j = int(np.argmax(away))
        if 2 * ndtr(-away[j]) * n >= LEVEL:
            break
        column = precision[j] - columns[:, j] @ columns
        columns = np.vstack([columns, column / np.sqrt(column[j])])
        left, diagonal = left - column * left[j] / column[j], diagonal - columns[-1] ** 2
        gone[j] = True
    return np.flatnonzero(gone)
