"""The models within reach of the best: their joint forecast, and where they disagree about the future."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fathom.report.facts import Facts, Outlook
from fathom.report.words.text import capital, counted, percent, quantity

LIGHTEST = 0.01  # weight below which a model has no say in the forecast


@dataclass(frozen=True)
class Agreement:
    """How far the forecasts of models within reach lie apart.

    They agree as long as their means differ by less than the standard deviation of a forecast.
    """

    others: int  # models beside the best
    most: float | None = None  # the largest difference of two means ahead, in the unit of the target
    most_at: float | None = None
    relative: float | None = None  # to the mean there; None where the target changes its sign
    agree_until: float | None = None  # None: to the end

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def members_of(model: Any) -> list[tuple[Any, float]]:
    """The posteriors that a forecast averages with their weights; of a single model, its own."""
    members = getattr(model, "members_", None)
    if not members or len(members) == 1:
        return [(model.posterior_, 1.0)]
    return [(posterior, member.weight) for posterior, member in zip(model.posteriors_, members, strict=True)]


def compare(model: Any, facts: Facts, members: list[tuple[Any, float]], ahead: np.ndarray) -> Agreement | None:
    """Compare the forecasts at the moments ahead; None for a model that was not searched for."""
    if getattr(model, "trace_", None) is None:
        return None
    heard = [posterior for posterior, weight in members if weight >= LIGHTEST]
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


def sentence(agreement: Agreement | None, facts: Facts) -> str:
    """Whether other structures fit nearly as well, and whether that matters."""
    if agreement is None:
        return "The structure was given, not searched for: others may fit as well."
    if agreement.others == 0:
        return "No other structure that was tried comes within reach of this one."
    one = agreement.others == 1
    first = f"{capital(counted(agreement.others, 'other structure'))} {'fits' if one else 'fit'} nearly as well"
    if agreement.most is None:
        subject = "the forecast averages" if facts.setting.series else "predictions average"
        return f"{first}; {subject} over {'both' if one else 'them'}."
    axis, s = facts.setting.axes[0], facts.setting
    share = f" ({percent(agreement.relative)})" if agreement.relative is not None else ""
    most = f"{quantity(agreement.most, s.unit)}{share}"
    they = "the two" if one else "they"
    if agreement.agree_until is None:
        return f"{first}; {they} agree on the whole forecast, to within {most}."
    if agreement.agree_until <= axis.high:
        return f"{first}, and {they} differ about what comes next, by up to {most}; the forecast averages over them."
    until = axis.around(agreement.agree_until)
    return (
        f"{first}; {they} agree until {until} and differ by up to {most} after that; the forecast averages over them."
    )


def averaged(facts: Facts, model: Any, predict: Any) -> Facts:
    """The facts with the forecast of all models within reach in place of the best one's, as in the picture."""
    f = facts.forecast
    if f is None or not getattr(model, "members_", ()):
        return facts

    def seen(outlook: Outlook) -> Outlook:
        ahead = predict(np.array([[outlook.at]]))
        low, high = ahead.interval(0.9)
        return Outlook(outlook.at, float(ahead.mean()[0]), float(low[0]), float(high[0]))

    return replace(facts, forecast=replace(f, end=seen(f.end), peak=seen(f.peak), trough=seen(f.trough)))
