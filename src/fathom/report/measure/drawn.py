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
    steps = steps_between(c.setting.axes[0], max(c.shape.end - period, c.shape.start), c.shape.end)
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
    """Of the sum of all slow parts with the level."""
    slow = [c for c in facts.components if c.curve is not None and _is_slow(c)]
    if not slow:
        return {}
    axis, x = facts.setting.axes[0], np.array(slow[0].curve.x if slow[0].curve else ())
    total = facts.level + np.sum([c.curve.mean for c in slow if c.curve is not None], axis=0)
    inside = x <= axis.high + 1e-9 * axis.span
    x, total = x[inside], total[inside]
    first, last, room = float(total[0]), float(total[-1]), NEAR * float(np.ptp(total)) + 1e-6 * facts.setting.spread
    ends = {"first": _around(first, room), "last": _around(last, room)}
    ends["slope"] = _around((last - first) / axis.span, room / axis.span) if axis.span else (0.0, 0.0)
    ends["direction"] = _around(float(np.sign(last - first)), 0.5)
    ends["turn"] = (float(total.min()) - room, float(total.max()) + room)
    return {("trend", quantity): values for quantity, values in ends.items()}


def _is_slow(c: Component) -> bool:
    if c.head in ("cycle", "noise"):
        return False
    axis = c.setting.axes[0]
    return all(c.factors[k]["lengthscale"] >= SLOW * axis.span for k in c.of_kind(*SMOOTH)) and not c.of_kind(*PERIODIC)


def _effect(e: Effect) -> dict[str, tuple[float, float]]:
    """Of the effect of one of several inputs."""
    mean = np.array(e.mean)
    width = float(np.ptp(mean))
    found = {"width": _around(width, NEAR * width), "share": _around(e.total, 1e-9)}
    if e.way:
        found["direction"] = _around(float(np.sign(mean[-1] - mean[0])), 0.5)
    return found
