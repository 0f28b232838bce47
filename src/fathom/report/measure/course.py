"""How the size of a part goes along its input, and where a cycle is highest: measured once, for all words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fathom.report.facts.part import PERIODIC, SWITCHES, Course, Cycle, Factor, Way
from fathom.report.facts.setting import Axis
from fathom.report.measure.anatomy import Anatomy
from fathom.report.measure.steps import steps_between

STEADY = 1.1  # sizes that differ by less than this factor are the same
INSIDE = 0.2  # of the stretch: a zero nearer to an end than this belongs to the end
CLEARLY = 0.8  # of the size at either end: what is larger inside is not smallest there
FINE = 97  # places in a period where the data have no steps of their own, or hardly any
WELL = 8  # steps in a period show it well
FEWEST_STEPS = 3  # in a period, for its peak to lie at one of them

Curve = Callable[[np.ndarray], np.ndarray]


def noise_at(anatomy: Anatomy, parts: Sequence[int], where: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Sd of noise at some rows: that of the model or, where the residuals `own` are larger as a whole, in proportion.

    A line in the noise may pass through zero, so that its size at one place means nothing: sizes are to be averaged.
    """
    rows = anatomy.X[where]
    sd = np.sqrt(sum((anatomy.prior_sd(i, rows) ** 2 for i in parts), start=np.zeros(len(rows))))
    told, seen = _rms(sd), _rms(own[where])
    return sd * (seen / told) if seen > told > 0 else sd


def course_of(x: np.ndarray, values: np.ndarray, factors: Sequence[Factor] = ()) -> Course:
    """The course of a size from its values along x: the root mean square over the first and the last third."""
    order = np.argsort(x, kind="stable")
    x, values, third = x[order], values[order], max(1, len(x) // 3)
    first, last = _rms(values[:third]), _rms(values[-third:])
    course, zero = Course(way_of(first, last), first, last), _zero(factors)
    if zero is None:
        return course
    start = int(np.clip(np.searchsorted(x, zero) - third // 2, 0, len(x) - third))
    return smallest_inside(course, _rms(values[start : start + third]), zero, (float(x[0]), float(x[-1])))


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _zero(factors: Sequence[Factor]) -> float | None:
    """Where the only linear factor is zero."""
    zeros = [f["location"] for f in factors if f.kind == "Lin"]
    return zeros[0] if len(zeros) == 1 else None


def way_of(first: float, last: float) -> Way:
    """Which of two sizes is larger, if either."""
    if max(first, last) <= STEADY * min(first, last):
        return "steady"
    return "growing" if last > first else "shrinking"


def turns(curve: Curve, axis: Axis, factors: Sequence[Factor], x: np.ndarray) -> tuple[Cycle, Course]:
    """The last whole period of a cycle over the stretch x where it applies, and the course of its swings.

    Both are found at the steps of the data: between them there is nothing that a reader could see.
    """
    period, (low, high) = min(f["period"] for f in factors if f.kind in PERIODIC), (float(x[0]), float(x[-1]))
    if high - low < period:  # it applies for less than a cycle: then with what fades before and after
        middle = (low + high) / 2
        low, high = max(axis.low, middle - period / 2), min(axis.high, middle + period / 2)
    last = _places(axis, high - period, high)
    mean = curve(last)
    cycle = Cycle(period, float(last[np.argmax(mean)]), float(last[np.argmin(mean)]), float(mean.mean()))
    if all(f.kind in (*PERIODIC, *SWITCHES) for f in factors) and sum(f.kind in PERIODIC for f in factors) == 1:
        start = low if axis.rule is not None else high - period
        size = float(np.ptp(curve(_places(axis, start, high))))  # the same throughout
        return cycle, Course("steady", size, size)
    reach = min(_reach(axis, period), high - low)
    swings = [float(np.ptp(curve(_places(axis, *ends)))) for ends in ((low, low + reach), (high - reach, high))]
    course, least = Course(way_of(*swings), *swings), _zero(factors)
    if least is not None and low + reach / 2 < least < high - reach / 2:
        around = _places(axis, least - reach / 2, least + reach / 2)
        course = smallest_inside(course, float(np.ptp(curve(around))), least, (low, high))
    return cycle, course


def smallest_inside(course: Course, size: float, at: float, ends: tuple[float, float]) -> Course:
    """The course with its smallest size at a place inside, if it lies well inside and is clearly the smallest."""
    room = INSIDE * (ends[1] - ends[0])
    if ends[0] + room < at < ends[1] - room and size < CLEARLY * min(course.first, course.last):
        return Course("smallest inside", course.first, course.last, at)
    return course


def _places(axis: Axis, start: float, end: float) -> np.ndarray:
    """The steps of the data in a stretch, less the first of two ends that a cycle would bring to the same place."""
    steps = steps_between(axis, start, end)
    if len(steps) > 1 and steps[0] - start < 1e-3 * (end - start) and end - steps[-1] < 1e-3 * (end - start):
        steps = steps[1:] if end >= axis.high - 1e-9 else steps[:-1]
    return steps if len(steps) >= FEWEST_STEPS else np.linspace(max(start, axis.low), end, FINE)


def _reach(axis: Axis, period: float) -> float:
    steps = steps_between(axis, axis.low, axis.low + 2 * period)
    return shown(period, float(steps[1] - steps[0]) if len(steps) > 1 else 0.0)


def shown(period: float, step: float) -> float:
    """The stretch that shows a cycle: a period, or as many as show one that the steps of the data sample poorly."""
    count = period / step if step > 0 else WELL
    whole = abs(count - round(count)) < 0.02 * count
    return period if count >= WELL or whole else period * float(np.ceil(WELL / count))
