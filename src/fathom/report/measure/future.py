"""What may come after the last observation: when, in which draws, and how far models within reach agree on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fathom.process import Process
from fathom.report.facts.whole import Agreement, Facts, Outlook
from fathom.report.measure.steps import steps_ahead
from fathom.report.model import Fitted, predict, was_searched

LIGHTEST = 0.01  # weight below which a model has no say in the forecast
DRAWS, MOST_STEPS = 3, 240
Weighted = list[tuple[Process, float]]


def members_of(model: Fitted) -> Weighted:
    """The posteriors that a forecast averages with their weights; of a single model, its own."""
    if not was_searched(model) or len(model.members_) < 2:
        return [(model.posterior_, 1.0)]
    return [(posterior, member.weight) for posterior, member in zip(model.posteriors_, model.members_, strict=True)]


def moments(facts: Facts) -> np.ndarray:
    """The usual steps of a series up to the horizon or, without a time, some places beyond the data; else none."""
    axis, horizon = facts.setting.axes[0], facts.components[0].horizon
    if not facts.setting.series or horizon is None or horizon <= axis.high:
        return np.zeros(0)
    steps = steps_ahead(axis, horizon, MOST_STEPS + 1)
    return steps if 4 <= len(steps) <= MOST_STEPS else np.linspace(axis.high, horizon, 61)[1:]


def soon(facts: Facts, ahead: np.ndarray) -> np.ndarray:
    """The moments of draws: those ahead or, where these leave steps out, the first of all steps."""
    axis, horizon = facts.setting.axes[0], facts.components[0].horizon
    if not len(ahead) or horizon is None:
        return ahead
    steps = steps_ahead(axis, horizon, MOST_STEPS)
    return steps if len(steps) >= MOST_STEPS else ahead


def draws(model: Fitted, ahead: np.ndarray) -> np.ndarray:
    """What may be observed at the moments `ahead (M,)`, as `(DRAWS, M)`: each draw from a member picked by weight."""
    if not len(ahead):
        return np.zeros((0, 0))
    rng, members = np.random.default_rng(0), members_of(model)
    weights = np.array([weight for _, weight in members])
    chosen = rng.choice(len(members), DRAWS, p=weights / weights.sum())
    X, s = model.scaler_.x(ahead[:, None]), model.scaler_
    found = [members[k][0].sample(rng, X, 1, True)[0] for k in chosen]
    return np.array(found) * float(s.y_sd[0]) + float(s.y_mean[0])


def compare(model: Fitted, facts: Facts, ahead: np.ndarray) -> Agreement | None:
    """How far the forecasts of its members lie apart at the moments ahead; None for a model not searched for."""
    if not was_searched(model):
        return None
    heard = [posterior for posterior, weight in members_of(model) if weight >= LIGHTEST]
    others = len(model.trace_.near_ties())
    if len(heard) < 2 or not len(ahead):
        return Agreement(others)
    scaler = model.scaler_
    X = scaler.x(ahead[:, None])
    means = np.array([scaler.y_back(p.mean(X))[:, 0] for p in heard])
    sd = np.sqrt(np.mean([p.var(X, noise=True) for p in heard], axis=0)) * float(scaler.y_sd[0])
    apart = np.ptp(means, axis=0)
    k = int(np.argmax(apart))
    level = float(np.mean(means[:, k]))
    one_sign = bool(np.all(means > 0) or np.all(means < 0)) and facts.setting.spread > 0
    beyond = np.flatnonzero(apart > sd)
    until = None if not len(beyond) else float(ahead[beyond[0] - 1]) if beyond[0] else float(facts.setting.axes[0].high)
    return Agreement(
        others, float(apart[k]), float(ahead[k]), float(apart[k] / abs(level)) if one_sign else None, until
    )


def averaged(facts: Facts, model: Fitted) -> Facts:
    """The facts with the forecast of all models within reach in place of the best one's, as in the picture."""
    f = facts.forecast
    if f is None or not was_searched(model) or not model.members_:
        return facts

    def seen(outlook: Outlook) -> Outlook:
        ahead = predict(model, np.array([[outlook.at]]))
        low, high = ahead.interval(0.9)
        return Outlook(outlook.at, float(ahead.mean()[0]), float(low[0]), float(high[0]))

    return replace(facts, forecast=replace(f, end=seen(f.end), peak=seen(f.peak), trough=seen(f.trough)))
