"""Noun phrases for components of one input: what it is, how it is modified, where it applies."""

from __future__ import annotations

import math
from collections.abc import Callable

from fathom.report.facts.part import PERIODIC, SMOOTH, Component, Cycle, Edge, Head, Region
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Forecast
from fathom.report.numbers import MINUS, number, quantity
from fathom.report.words import calendar, together
from fathom.report.words.text import Measured, capital, listed

POWERS = {2: "quadratic", 3: "cubic", 4: "quartic", 5: "quintic"}
VERY_SMOOTH, RAPID = 1 / 2, 1 / 200  # lengthscale over range
NOTHING = 1e-3  # of the spread of the target
LOOSE = 0.674  # lengthscale over period: the quartile of the spectral peak reaches zero
LONG, SHORT = 1 / 5, 3  # between so much of the range and so many steps of the data a lengthscale is of medium term
STRAIGHT = 0.98  # share of a curve's variance beyond which a line drawn through it hides it
STEEPER = 1.25  # a slope that has changed by less than this factor is the same
SOFT = 1 / 4  # of the range: a wider edge is no edge but a fading
SINE = math.exp(2)  # within-period lengthscale beyond which a cycle is close to a sine wave


def axis_of(c: Component) -> Axis:
    """The input along which a component is described."""
    where = c.inputs[0] if c.inputs else c.setting.time or 0
    return c.setting.axes[where]


def summary(c: Component) -> str:
    """One line on a component, without a full stop: "a yearly cycle, until 1955-07"."""
    where, way = place(c), turn(c) if c.shape is not None and near_linear(c) else ""
    return f"{noun(c)}{way}{growth(c)}{', ' + where if where else ''}"


def noun(c: Component) -> str:
    """What the component is."""
    if c.shape is not None and near_linear(c):
        return trend(c)
    described: dict[Head, Callable[[Component], str]] = {
        "cycle": cycle,
        "noise": lambda c: "noise" if c.growths else f"noise with a standard deviation of {about(c, size(c))}",
        "smooth": smooth,
        "constant": lambda c: f"a constant of {value(c)}",
        "line": line,
        "polynomial": polynomial,
        "step": step,
        "waves": lambda c: f"a mixture of waves of {about(c, size(c), True)}",
        "bend": lambda c: f"a bent line that ranges over {about(c, c.at_data.high - c.at_data.low)}",
    }
    return described[c.head](c)


def size(c: Component) -> float:
    """The typical size of a component."""
    return c.shape.size if c.shape else c.at_data.size


def about(c: Component, value: float, both: bool = False, sd: float | None = None) -> str:
    """ "about 13 thousand", "about ±13 thousand"; a value that no one would see is "less than 0.1 thousand"."""
    least = NOTHING * c.setting.spread
    if abs(value) < least:
        return f"less than {quantity(least, c.setting.unit, None, 1)}"
    return f"about {'±' if both else ''}{quantity(value, c.setting.unit, sd)}"


def value(c: Component) -> str:
    """The value of a constant, with its unit: where its weight is largest."""
    assert c.shape is not None
    return about(c, max(c.shape.low, c.shape.high, key=abs))


def step(c: Component) -> str:
    """A constant for some stretch: "a level about 5 thousand lower", "public holidays about 40 lower"."""
    what = "a level" if c.holidays is None else calendar.days(c.setting)
    return f"{what} {value(c).replace(MINUS, '')} {'lower' if _lower(c) else 'higher'}"


def _lower(c: Component) -> bool:
    return c.shape is not None and c.shape.low + c.shape.high < 0


# -- what it is --------------------------------------------------------------------------------------------------


def cycle(c: Component) -> str:
    """A periodic component, with its drift and with the slower cycles that modulate it."""
    rings = sorted(c.of_kind(*PERIODIC), key=lambda i: c.factors[i]["period"])
    first = period(c, rings[0])
    drift = c.of_kind(*SMOOTH)
    if c.also:
        return f"{first}{together.drift(c)}"
    if loose(c):
        first = first.replace("a ", "a loose ", 1)
        first += f" that loses its shape within about {lengthscale(c)}"
    elif drift and relative_lengthscale(c) > 1:
        first += " whose shape hardly changes"
    elif drift:
        slow = " slowly," if relative_lengthscale(c) > VERY_SMOOTH else ""
        first += f" whose shape drifts{slow} over about {lengthscale(c)}"
    if len(rings) > 1:
        first += f"{', ' if drift else ' '}modulated by {listed([period(c, i) for i in rings[1:]])}"
    return first


def period(c: Component, factor: int) -> str:
    """ "a yearly cycle", "a cycle of about 10.8 years"."""
    e = c.estimate(factor, "period")
    name, length = axis_of(c).cycle(e.value, e.sd)
    return f"a {name} cycle" if name else f"a cycle of {length}"


def fastest(c: Component) -> int:
    """The factor with the shortest period."""
    return min(c.of_kind(*PERIODIC), key=lambda i: c.factors[i]["period"])


def lengthscale(c: Component) -> str:
    """The shortest lengthscale of a component, in words."""
    i = min(c.of_kind(*SMOOTH), key=lambda k: c.factors[k]["lengthscale"])
    e = c.estimate(i, "lengthscale")
    return axis_of(c).length(e.value, 1, e.sd)


def relative_lengthscale(c: Component) -> float:
    """The shortest lengthscale of a component over the range of the data."""
    return min(c.factors[k]["lengthscale"] for k in c.of_kind(*SMOOTH)) / (axis_of(c).span or 1.0)


def loose(c: Component) -> bool:
    """True when the shape of a cycle is mostly lost before it comes round again."""
    rings, drift = c.of_kind(*PERIODIC), c.of_kind(*SMOOTH)
    if not rings or not drift:
        return False
    period = min(c.factors[i]["period"] for i in rings)
    return min(c.factors[i]["lengthscale"] for i in drift) < LOOSE * period


def one_way(c: Component) -> bool:
    """True when the mean only rises or only falls, and by more than its uncertainty."""
    return c.shape is not None and c.shape.monotone != 0 and abs(c.shape.change) > 2 * c.shape.change_sd


def near_linear(c: Component) -> bool:
    """True when the curve of a part that need not be a line looks like one."""
    assert c.shape is not None
    return c.head in ("smooth", "polynomial", "bend") and one_way(c) and c.shape.straight >= STRAIGHT


def measured(c: Component) -> Measured:
    """What was measured of a component, for its title."""
    drift = lengthscale(c) if c.of_kind(*SMOOTH) and relative_lengthscale(c) <= 1 and not c.also else ""
    return Measured(_called(c), place(c), grows(c), drift)


def _called(c: Component) -> str:
    if c.shape is None:
        return ""
    if c.head == "cycle":
        return capital(period(c, fastest(c)).removeprefix("a "))
    if c.head == "step" and c.holidays is not None:
        return capital(calendar.days(c.setting))
    if c.head == "step":
        return "Lower level" if _lower(c) else "Higher level"
    if near_linear(c):
        return f"Near-linear {lasting(c)}trend"
    if c.head != "smooth":
        return ""
    if c.shape.rhythm is not None:
        return capital(f"irregular {rhythm(c)}")
    if one_way(c) and not c.growths:
        return capital(_term(c))
    return capital(f"{_term(c)} over about {lengthscale(c)}")


def trend(c: Component) -> str:
    """The direction and mean slope of a curve that is nearly a line."""
    return f"a near-linear {lasting(c)}{_way(c)} of about {slope(c)}"


def turn(c: Component) -> str:
    """How a curve departs from a line: ", steeper towards the end"; empty where it does not show."""
    assert c.shape is not None
    change = max(c.shape.bend, 1 / c.shape.bend)
    return "" if change < STEEPER else f", {'steeper' if c.shape.bend > 1 else 'flatter'} towards the end"


def _way(c: Component) -> str:
    assert c.shape is not None
    return "rise" if c.shape.change > 0 else "fall"


def _term(c: Component) -> str:
    """The noun of a smooth part by how fast it varies, next to the record and its steps: "short-term deviation"."""
    relative, in_time = relative_lengthscale(c), axis_of(c).rule is not None
    if one_way(c) and not c.growths:
        return f"smooth {lasting(c)}{_way(c)}"
    noun = "deviation" if c.number > 1 and c.setting.series else "variation"
    if relative < RAPID:
        return f"rapid {noun}"
    if relative > VERY_SMOOTH:
        return f"very smooth {lasting(c)}{noun}"
    if not in_time or relative > LONG:
        return f"smooth {noun}"
    return f"{'smooth medium' if relative * c.setting.n_rows > SHORT else 'short'}-term {noun}"


def lasting(c: Component) -> str:
    """The adjective "long-term " for what goes on through the whole of a record; else nothing."""
    return "long-term " if axis_of(c).rule is not None and seen(c) is None else ""


def rhythm(c: Component) -> str:
    """ "cycle of about 11 years": what a smooth part shows although it need not."""
    assert c.shape is not None
    assert c.shape.rhythm is not None
    name, length = axis_of(c).cycle(c.shape.rhythm)
    return f"{name} cycle" if name else f"cycle of {length}"


def smooth(c: Component) -> str:
    """A smooth component: a rise or fall if its mean is monotone, otherwise how fast and how far it varies."""
    assert c.shape is not None
    if one_way(c) and not c.growths:
        return f"a {_term(c)} of {about(c, abs(c.shape.change), sd=c.shape.change_sd)} in all"
    if c.shape.rhythm is not None:
        return f"an irregular {rhythm(c)}, {about(c, size(c), True)} in size"
    return f"a {_term(c)} of {about(c, size(c), True)} over about {lengthscale(c)}"


def line(c: Component) -> str:
    """A straight line: its direction and slope, if the data tell."""
    assert c.shape is not None
    if abs(c.shape.change) <= 2 * c.shape.change_sd:
        return "a straight line, up or down the data cannot tell"
    return f"a straight-line {_way(c)} of about {slope(c)}"


def slope(c: Component) -> str:
    """The mean slope of a component: "32 thousand a year"."""
    assert c.shape is not None
    rate, per = axis_of(c).rate(abs(c.shape.slope))
    length = (c.shape.end - c.shape.start) or 1.0
    sd, _ = axis_of(c).rate(c.shape.change_sd / length)
    return f"{quantity(rate, c.setting.unit, sd)} {per}"


def power(n: int) -> str:
    """The adjective for the n-th power: "quadratic" and so on."""
    return POWERS.get(n, f"degree-{n} polynomial")


def polynomial(c: Component) -> str:
    """A product of lines alone."""
    assert c.shape is not None
    name = f"a {power(len(c.growths))} trend"
    if one_way(c):
        way = "rises" if c.shape.change > 0 else "falls"
        return f"{name} that {way} by {about(c, abs(c.shape.change), sd=c.shape.change_sd)} in all"
    return f"{name} that ranges over {about(c, c.shape.high - c.shape.low)}"


def peak(f: Forecast, axis: Axis) -> str:
    """When the next peak comes; where the cycle is short, finer than other dates of the record."""
    return axis.occasion(f.peak.at, f.cycle or axis.span)


# -- how it grows ------------------------------------------------------------------------------------------------


def ends(c: Component) -> tuple[float, float] | None:
    """The size of what grows, at the start and at the end: swings of a cycle, sd of noise and of a smooth part."""
    if c.shape is None:
        return None
    if c.shape.cycle is not None:
        return c.shape.cycle.swing_start, c.shape.cycle.swing_end
    return c.shape.prior_start, c.shape.prior_end


def swings(c: Component, ring: Cycle) -> str:
    """From trough to peak: one number for a steady cycle, two for one that has changed."""
    first, last = ring.swing_start, ring.swing_end
    if abs(last - first) <= 0.1 * max(first, last):
        return about(c, last)
    return f"about {number(first)} at first and {quantity(last, c.setting.unit)} at last"


def grows(c: Component) -> bool:
    """True when linear factors change the size of something else, and are not the thing itself."""
    return bool(c.growths) and c.head not in ("line", "polynomial") and not (c.shape and near_linear(c))


def growth(c: Component) -> str:
    """ ", with swings that grow from about 40 to 247 thousand"; of a steady cycle, its swing."""
    if c.head == "cycle" and not c.growths and c.shape is not None and c.shape.cycle is not None:
        return f", with swings of {swings(c, c.shape.cycle)}"
    if not grows(c):
        return ""
    opening = {"cycle": ", with swings that ", "noise": " whose standard deviation "}.get(c.head, ", whose size ")
    return opening + verb(c, plural=c.head == "cycle")


def verb(c: Component, plural: bool) -> str:
    """ "grow linearly with time, from 40 to 247 thousand"."""
    s = "" if plural else "s"
    along, sizes = axis_of(c).along, ends(c)
    if len(c.growths) > 1:
        return f"follow{s} a {power(len(c.growths))} {'in' if along == 'with time' else 'of'} {axis_of(c).called}"
    (one,) = c.growths
    if one.direction == "away":
        return f"grow{s} linearly on both sides of {axis_of(c).around(one.location, location_sd(c))}"
    grows = one.direction == "growing"
    word = f"{'grow' if grows else 'shrink'}{s} linearly {along}"
    if sizes is None or (sizes[1] > sizes[0]) != grows:
        return word
    return f"{word}, from about {number(sizes[0])} to {quantity(sizes[1], c.setting.unit)}"


def location_sd(c: Component) -> float | None:
    """Sd of the place where the linear factor is zero."""
    return c.estimate(c.of_kind("Lin")[0], "location").sd


# -- where it applies --------------------------------------------------------------------------------------------


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
            words.append(f"from {low} to {high.removeprefix('about ') if low.startswith('about ') else high}")
        elif low:
            words.append(f"fading in around {low}" if soft(c, interval.low) else f"from {low} on")
        else:
            words.append(f"fading out around {high}" if soft(c, interval.high) else f"until {high}")
    return listed(words) if words else _barely(c)


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
