"""What a reader can measure on the pictures of a page: for each quantity that sentences claim, the values they allow.

Taken from the curves and dots that are drawn, not from the measurements that the sentences read.
"""

from __future__ import annotations

import numpy as np

from fathom.report.facts.part import PERIODIC, SMOOTH, Component
from fathom.report.facts.whole import Effect, Facts
from fathom.report.measure.steps import steps_between
from fathom.report.measure.trend import SLOW

Key = tuple[str, str]  # what it is about, and which quantity
Allowed = dict[Key, tuple[float, float]]
NEAR = 0.15  # of a size: what a reader would not see on a picture
EVEN = 2000  # places along the record
LARGEST = 1.25  # of the size of the dots: less noise than they show would be a contradiction, more would not


def drawn(facts: Facts) -> Allowed:
    """The values that the pictures allow, by quantity."""
    found: Allowed = {}
    for c in facts.components:
        about = f"part {c.number}"
        own = _noise(c) if c.head == "noise" else _cycle(c) if c.head == "cycle" else _curve(c)
        found |= {(about, quantity): values for quantity, values in own.items()}
    for e in facts.effects:
        found |= {(f"input {e.input}", quantity): values for quantity, values in _effect(e).items()}
    return found | (_trend(facts) if facts.setting.series else {})


def allows(allowed: tuple[float, float], value: float) -> bool:
    """True when a value lies within what is allowed."""
    return allowed[0] <= value <= allowed[1]


def _around(value: float, slack: float) -> tuple[float, float]:
    return value - slack, value + slack


def _noise(c: Component) -> dict[str, tuple[float, float]]:
    size = float(np.sqrt(np.mean(np.square(c.at_data.mean)))) if not c.regions else 0.0
    return {"size": (size / LARGEST, np.inf)}


def _curve(c: Component) -> dict[str, tuple[float, float]]:
    """Of a part that is no cycle: where it begins and ends, and how large it is."""
    if c.curve is None or c.shape is None or c.curve.input != (c.inputs[0] if c.inputs else c.curve.input):
        return {}
    first, last = np.interp([c.shape.start, c.shape.end], c.curve.x, c.curve.mean)
    change, span = float(last - first), c.shape.end - c.shape.start
    slack = NEAR * abs(change) + 1e-6 * c.setting.spread
    found = {"change": _around(change, slack), "direction": _around(float(np.sign(change)), 0.5)}
    if span > 0:
        found["slope"] = _around(change / span, slack / span)
    if not c.regions and len(c.at_data.mean) > 4:
        found["size"] = _around(float(np.std(c.at_data.mean)), NEAR * c.at_data.size + 1e-6 * c.setting.spread)
    return found


def _cycle(c: Component) -> dict[str, tuple[float, float]]:
    """Of a cycle: its swing in the last whole period, and when it is high and low there."""
    if c.curve is None or c.shape is None or c.shape.cycle is None or not c.setting.series:
        return {}
    period, x = c.shape.cycle.period, np.array(c.curve.x)
    seen = x[(x > c.shape.end - period * (1 + 1e-6)) & (x <= c.shape.end + 1e-9)]
    steps = steps_between(c.setting.axes[0], max(c.shape.end - 0.999 * period, c.shape.start), c.shape.end)
    if len(seen) < 6 or len(steps) < 6 or c.shape.end - c.shape.start < period:
        return {}  # drawn or seen too coarsely to tell
    mean = np.interp(steps, c.curve.x, c.curve.mean)
    swing = float(np.ptp(mean))
    high, low = steps[mean >= mean.max() - 0.1 * swing], steps[mean <= mean.min() + 0.1 * swing]
    found = {"last size": _around(swing, 2 * NEAR * swing)}
    for name, places in (("peak", high), ("trough", low)):
        if np.ptp(places) < period / 2:
            found[name] = (float(places[0]) - 1e-6, float(places[-1]) + 1e-6)
    return found


def _trend(facts: Facts) -> Allowed:
    """Of the sum of all slow parts with the level; a cycle counts by its middle."""
    axis = facts.setting.axes[0]
    parts = [c for c in facts.patterns if c.curve is not None and (_period(c) <= axis.span or _is_slow(c))]
    if not parts or axis.span <= 0:
        return {}
    x = np.linspace(axis.low, axis.high, EVEN)
    total = facts.level + np.sum([_level(c, x) for c in parts], axis=0)
    first, last, room = float(total[0]), float(total[-1]), NEAR * float(np.ptp(total)) + 1e-6 * facts.setting.spread
    ends = {"first": _around(first, room), "last": _around(last, room)}
    ends["slope"] = _around((last - first) / axis.span, room / axis.span)
    ends["direction"] = _around(float(np.sign(last - first)), 0.5)
    ends["turn"] = (float(total.min()) - room, float(total.max()) + room)
    return {("trend", quantity): values for quantity, values in ends.items()}


def _level(c: Component, x: np.ndarray) -> np.ndarray:
    """A curve as drawn; of a cycle, its mean over the period about each place, or the nearest whole one."""
    assert c.curve is not None
    y = np.interp(x, c.curve.x, c.curve.mean)
    period = _period(c)
    if c.shape is None or period > x[-1] - x[0]:
        return y
    inside = (x >= c.shape.start) & (x <= c.shape.end)
    width = max(round(period / (x[1] - x[0])), 1)
    if inside.sum() < width:
        return np.where(inside, y[inside].mean() if inside.any() else 0.0, 0.0)
    means = np.convolve(y[inside], np.ones(width) / width, mode="valid")
    return np.where(inside, np.interp(x, x[inside][width // 2 : width // 2 + len(means)], means), 0.0)


def _period(c: Component) -> float:
    return min((c.factors[k]["period"] for k in c.of_kind(*PERIODIC)), default=np.inf)


def _is_slow(c: Component) -> bool:
    axis = c.setting.axes[0]
    return all(c.factors[k]["lengthscale"] >= SLOW * axis.span for k in c.of_kind(*SMOOTH))


def _effect(e: Effect) -> dict[str, tuple[float, float]]:
    """Of the effect of one of several inputs."""
    mean = np.array(e.mean)
    width = float(np.ptp(mean))
    found = {"width": _around(width, NEAR * width), "share": _around(e.total, 1e-9)}
    if e.way:
        found["direction"] = _around(float(np.sign(mean[-1] - mean[0])), 0.5)
    return found
