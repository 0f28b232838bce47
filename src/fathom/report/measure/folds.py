"""The shape of every cycle within one period, at its own resolution."""

from __future__ import annotations

import numpy as np

from fathom.data.calendar import DAYS
from fathom.report.facts.fold import Fold, Lap, Swing
from fathom.report.facts.part import Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Facts
from fathom.report.measure.anatomy import Anatomy
from fathom.report.model import Fitted

POINTS = 60  # of a cycle that is not drawn at the steps of the record
MOST_STEPS = 31  # in a cycle that is
MANY, WINDOWS = 25, 40  # cycles of which not all are drawn; how many of them are measured
MONDAY = 4  # days after 1 January 1970
_STARTS = {"yearly": "Y", "half-yearly": "Y", "quarterly": "Y", "monthly": "M"}


def folds(model: Fitted, facts: Facts) -> dict[str, Fold]:
    """The cycles among the parts by the key of their part."""
    anatomy = Anatomy(model)
    places = {key: i for i, key in enumerate(anatomy.keys)}
    return {
        c.part: _fold(anatomy, places[c.part], c)
        for c in facts.components
        if c.head == "cycle" and c.part in places and c.shape is not None and c.shape.cycle is not None
    }


def _fold(anatomy: Anatomy, i: int, c: Component) -> Fold:
    assert c.shape is not None
    assert c.shape.cycle is not None
    column, period = c.inputs[0], c.shape.cycle.period
    axis, low, high = c.setting.axes[column], c.shape.start, c.shape.end
    step, count = _grid(axis, period)
    slack = step / 2 if count else 0.02 * period  # fitted periods are not quite those of the calendar
    name, whole = axis.cycle(period)[0], high - period + (step if count else 0.0)
    start, first = _whole_cycles(axis, name, period, (low - slack, whole + slack))
    once, twice = (_along(anatomy.X[:, column] - start, period, step, count, cycles) for cycles in (1, 2))

    def lap(begin: float, along: np.ndarray) -> Lap:
        mean, sd = anatomy.at([i], anatomy.rows({column: begin + along}))
        return Lap(*(tuple(float(v) for v in values) for values in (begin + along, mean, sd)))

    return Fold(
        period=period,
        name=name,
        per_cycle=count,
        start=start,
        first_start=first,
        last=lap(start, once),
        first=lap(first, once),
        recent=lap(start - (count * step or period), twice),
        swing=_swing(anatomy, i, c, period),
        input=column,
    )


def _along(x: np.ndarray, period: float, step: float, count: int, cycles: int) -> np.ndarray:
    """Where in some cycles a part is taken: at the steps at which the record has anything, or densely."""
    if not count:
        return np.linspace(0, cycles * period, cycles * POINTS + 1)
    within = x % step
    offset = float(np.median(np.where(within > 0.999 * step, 0.0, within)))  # noon rather than midnight, say
    seen = np.isin(np.arange(count), np.round((x - offset) / step) % count)  # there may be nothing on Sundays
    return offset + step * np.flatnonzero(np.tile(seen, cycles))


def _swing(anatomy: Anatomy, i: int, c: Component, period: float) -> Swing | None:
    """The lowest and the highest point of cycles all along the record; None where they are few."""
    column, axis = c.inputs[0], c.setting.axes[c.inputs[0]]
    end = c.horizon if c.horizon is not None and column == (c.setting.time or 0) else axis.high
    if end - axis.low < MANY * period:
        return None
    starts = np.linspace(axis.low, end - period, WINDOWS)
    x = starts[:, None] + np.linspace(0, period, POINTS)
    mean = anatomy.mean([i], anatomy.rows({column: x.ravel()})).reshape(x.shape)
    ends = []
    for places in (mean.argmin(1), mean.argmax(1)):
        at = x[np.arange(WINDOWS), places]
        ends.append(anatomy.at([i], anatomy.rows({column: at})))
    (low, low_sd), (high, high_sd) = ends
    # cycles are measured where they begin: the first and the last stand for the ends of the record
    middles = np.concatenate([[axis.low], starts[1:-1] + period / 2, [end]])
    return Swing(*(tuple(float(v) for v in values) for values in (middles, low, high, low_sd, high_sd)))


def _grid(axis: Axis, period: float) -> tuple[float, int]:
    """The usual step of a time, and how many there are in a period; none where they are many or do not fit."""
    if axis.rule is None:
        return 0.0, 0
    step = float(np.median(np.diff(axis.rule.future(axis.high, 9))))  # one alone may leap a weekend
    count = round(period / step) if step > 0 else 0
    fits = 2 < count <= MOST_STEPS and abs(period / step - count) < 0.02 * count
    return step, count if fits else 0


def _whole_cycles(axis: Axis, name: str, period: float, within: tuple[float, float]) -> tuple[float, float]:
    """Where the last and the first cycle begin of those that begin within a range: by the calendar if they can."""
    earliest, latest = within
    if name and axis.in_years:
        last, first = _begun(axis, name, period, latest), _begun(axis, name, period, earliest + period)
        if last >= earliest:
            return last, first if earliest <= first <= last else last
    return latest, latest - period * max(np.floor((latest - earliest) / period), 0.0)


def _begun(axis: Axis, name: str, period: float, before: float) -> float:
    """Where the last cycle begins that begins by `before`: on 1 January, on a Monday, at midnight."""
    assert axis.rule is not None
    if axis.rule.grid == "elapsed":
        days = (before - 1970) * DAYS
        if name in _STARTS:
            return _calendar(days, name, period)
        length = 7 if name == "weekly" else 1
        shift = MONDAY if name == "weekly" else 0
        return 1970 + (shift + length * np.floor((days - shift) / length)) / DAYS
    offset = axis.rule.offset if axis.rule.grid == "months" else 0.0
    unit = {"yearly": 1.0, "half-yearly": 0.5, "quarterly": 0.25}.get(name, period)
    return float(offset + unit * np.floor((before - offset) / unit))


def _calendar(days: float, name: str, period: float) -> float:
    """The last start of a year or month by a day counted from 1970; of a shorter cycle, whole cycles after it."""
    moment = np.datetime64(int(np.floor(days)), "D")
    start = float(moment.astype(f"datetime64[{_STARTS[name]}]").astype("datetime64[D]").astype(int))
    begun = 1970 + start / DAYS
    now = 1970 + days / DAYS
    return begun if name in ("yearly", "monthly") else float(begun + period * np.floor((now - begun) / period))
