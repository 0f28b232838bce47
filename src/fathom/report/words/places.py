"""Where a component of one input applies, in words."""

from __future__ import annotations

from fathom.report.facts.part import Component, Edge, Interval, Region
from fathom.report.facts.setting import Axis
from fathom.report.words import calendar
from fathom.report.words.text import listed

SOFT = 1 / 4  # of the range: a wider edge is no edge but a fading


def axis_of(c: Component) -> Axis:
    """The input along which a component is described."""
    where = c.inputs[0] if c.inputs else c.setting.time or 0
    return c.setting.axes[where]


def seen(c: Component) -> Region | None:
    """The region of a component within the data; None when it is everywhere."""
    axis = axis_of(c)
    if not c.regions:
        return None
    region = c.regions[0].within(axis.low, axis.high)
    whole = len(region.intervals) == 1 and region.intervals[0].low is None and region.intervals[0].high is None
    return None if whole else region


def place(c: Component) -> str:
    """ "until 1955-07", "from 1650 to 1715", "until 1650 and from 1715 on"; empty: everywhere."""
    region = seen(c)
    if c.holidays is not None:
        return "" if c.head == "step" else f"on {calendar.days(c.setting)}"
    if region is None:
        return ""
    words = []
    for interval in region.intervals:
        low, high = edge(c, interval.low), edge(c, interval.high)
        if low and high:
            words.append(_stretch(c, interval))
        elif low:
            words.append(f"fading in around {low}" if soft(c, interval.low) else f"from {low} on")
        else:
            words.append(f"fading out around {high}" if soft(c, interval.high) else f"until {high}")
    return listed(words) if words else _barely(c)


def _stretch(c: Component, interval: Interval) -> str:
    """ "from 1650 to 1715"; finer where both ends would read alike, and one place where that does not help."""
    low, high = edge(c, interval.low), edge(c, interval.high)
    if low != high:
        return f"from {low} to {high.removeprefix('about ') if low.startswith('about ') else high}"
    return both(axis_of(c), *interval.ends, opening="from ")


def both(axis: Axis, low: float, high: float, opening: str = "") -> str:
    """Two places on an axis, "1955-02 to 1955-08", as fine as they need to differ; else the one they are around."""
    for span in (axis.span, high - low):
        first, last = axis.around(low, span=span), axis.around(high, span=span)
        if first != last:
            return f"{opening}{first} to {last}"
    return f"around {axis.around((low + high) / 2, span=high - low)}"


def soft(c: Component, at: Edge | None) -> bool:
    """True for an edge so wide that the component fades rather than stops."""
    return at is not None and at.width > SOFT * axis_of(c).span


def _barely(c: Component) -> str:
    """Where a part can be seen whose region lies beyond the data: a soft edge may reach into them."""
    axis, shape = axis_of(c), c.shape
    if shape is None or shape.strength < 0.01:
        return "nowhere in the data"
    ends = {(False, True): "end", (True, False): "start"}
    end = ends.get((shape.start <= axis.low, shape.end >= axis.high))
    return f"only towards the {end} of the {axis.record}" if end else f"only faintly in the {axis.record}"


def edge(c: Component, at: Edge | None) -> str:
    """Where a component begins or ends."""
    if at is None:
        return ""
    return axis_of(c).around(at.at, c.estimate(at.factor, "location").sd)
