"""The usual steps of a time: within the data, and beyond them."""

from __future__ import annotations

import numpy as np

from fathom.report.facts.setting import Axis

MOST = 2000  # places at which anything is looked at


def steps_ahead(axis: Axis, horizon: float, most: int) -> np.ndarray:
    """The usual steps of a time from the last observation to the horizon, `most` at most; none of another input."""
    if axis.rule is None:
        return np.zeros(0)
    step = float(axis.rule.future(axis.high, 1)[0]) - axis.high
    count = int(np.clip((horizon - axis.high) / step + 1e-6, 0, most)) if step > 0 else 0
    steps = axis.rule.future(axis.high, count) if count else np.zeros(0)
    return steps[steps <= horizon + 1e-9]


def steps_between(axis: Axis, start: float, end: float) -> np.ndarray:
    """The usual steps of a time in a stretch within the data, counted from the first observation; every k-th of many.

    None of an input that is no time.
    """
    if axis.rule is None or end <= start:
        return np.zeros(0)
    step = float(axis.rule.future(axis.low, 1)[0]) - axis.low
    if step <= 0:
        return np.zeros(0)
    steps = np.concatenate([[axis.low], axis.rule.future(axis.low, int((end - axis.low) / step) + 2)])
    slack = 1e-6 * step
    steps = steps[(steps >= start - slack) & (steps <= end + slack)]
    return steps[:: -(-len(steps) // MOST)] if len(steps) else steps
