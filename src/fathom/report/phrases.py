"""Noun phrases for components of one input: what it is, how it is modified, where it applies."""

from __future__ import annotations

import math

from fathom.report.facts import Component
from fathom.report.names import PERIODIC, SMOOTH
from fathom.report.regions import SWITCHES, Edge, Region
from fathom.report.shape import Cycle
from fathom.report.words import Axis, listed, number, quantity

POWERS = {2: "quadratic", 3: "cubic", 4: "quartic", 5: "quintic"}
VERY_SMOOTH, RAPID = 1 / 2, 1 / 200  # lengthscale over range
NOTHING = 1e-3  # of the spread of the target
LOOSE = 0.674  # lengthscale over period: the quartile of the spectral peak reaches zero
SINE = math.exp(2)  # within-period lengthscale beyond which a cycle is close to a sine wave


def axis_of(c: Component) -> Axis:
    """The input along which a component is described."""
    where = c.inputs[0] if c.inputs else c.setting.time or 0
    return c.setting.axes[where]


def summary(c: Component) -> str:
    """The whole phrase, without a full stop: "a yearly cycle, until 1955-07"."""
    where = place(c)
    return f"{noun(c)}{growth(c)}{', ' + where if where else ''}"


def noun(c: Component) -> str:
    """What the component is."""
    return {
        "cycle": cycle,
        "noise": lambda c: "noise" if c.growths else f"noise with a standard deviation of {about(c, size(c))}",
        "smooth": smooth,
        "constant": lambda c: f"a constant of {value(c)}",
        "line": line,
        "polynomial": polynomial,
        "step": lambda c: f"a constant shift of {value(c)}",
        "waves": lambda c: f"a mixture of waves of {about(c, size(c), True)}",
        "bend": lambda c: f"a bent line that ranges over {about(c, c.at_data.high - c.at_data.low)}",
    }[c.head](c)


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
    """The value of a constant, with its unit."""
    assert c.shape is not None
    return about(c, (c.shape.low + c.shape.high) / 2)


# -- what it is --------------------------------------------------------------------------------------------------


def cycle(c: Component) -> str:
    """A periodic component, with its drift and with the slower cycles that modulate it."""
    rings = sorted(c.of_kind(*PERIODIC), key=lambda i: c.factors[i]["period"])
    first = period(c, rings[0])
    drift = c.of_kind(*SMOOTH)
    if loose(c):
        first = first.replace("a ", "a loose ", 1)
        first += f" that loses its shape within about {lengthscale(c)}"
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


def lengthscale(c: Component) -> str:
    """The distance over which a component forgets."""
    i = min(c.of_kind(*SMOOTH), key=lambda k: c.factors[k]["lengthscale"])
    e = c.estimate(i, "lengthscale")
    return axis_of(c).length(e.value, 1, e.sd)


def relative_lengthscale(c: Component) -> float:
    """The same as a part of the range of the data."""
    return min(c.factors[k]["lengthscale"] for k in c.of_kind(*SMOOTH)) / (axis_of(c).span or 1.0)


def loose(c: Component) -> bool:
    """True when the shape of a cycle is mostly lost before it comes round again."""
    rings, drift = c.of_kind(*PERIODIC), c.of_kind(*SMOOTH)
    if not rings or not drift:
        return False
    period = min(c.factors[i]["period"] for i in rings)
    return min(c.factors[i]["lengthscale"] for i in drift) < LOOSE * period


def smooth(c: Component) -> str:
    """A smooth component: a rise or fall if its mean is monotone, otherwise how fast and how far it varies."""
    assert c.shape is not None
    if c.shape.monotone and not c.growths and abs(c.shape.change) > 2 * c.shape.change_sd:
        way = "rise" if c.shape.change > 0 else "fall"
        return f"a smooth {way} of {about(c, abs(c.shape.change), sd=c.shape.change_sd)} in all"
    manner, relative = "smooth variation", relative_lengthscale(c)
    if relative > VERY_SMOOTH:
        manner = "very smooth variation"
    elif relative < RAPID:
        manner = "rapid variation"
    return f"a {manner} of {about(c, size(c), True)} over about {lengthscale(c)}"


def line(c: Component) -> str:
    """A straight line: its direction and slope, if the data tell."""
    assert c.shape is not None
    if abs(c.shape.change) < 2 * c.shape.change_sd:
        return "a straight line, up or down the data cannot tell"
    way = "rise" if c.shape.change > 0 else "fall"
    return f"a straight-line {way} of about {slope(c)}"


def slope(c: Component) -> str:
    """ "32 thousand a year"."""
    assert c.shape is not None
    rate, per = axis_of(c).rate(abs(c.shape.slope))
    length = (c.shape.end - c.shape.start) or 1.0
    sd, _ = axis_of(c).rate(c.shape.change_sd / length)
    return f"{quantity(rate, c.setting.unit, sd)} {per}"


def power(n: int) -> str:
    """ "quadratic" and so on."""
    return POWERS.get(n, f"degree-{n} polynomial")


def polynomial(c: Component) -> str:
    """A product of lines alone."""
    assert c.shape is not None
    name = f"a {power(len(c.growths))} trend"
    if c.shape.monotone and abs(c.shape.change) > 2 * c.shape.change_sd:
        way = "rises" if c.shape.change > 0 else "falls"
        return f"{name} that {way} by {about(c, abs(c.shape.change), sd=c.shape.change_sd)} in all"
    return f"{name} that ranges over {about(c, c.shape.high - c.shape.low)}"


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


def growth(c: Component) -> str:
    """ ", with swings that grow from about 40 to 247 thousand"; of a steady cycle, its swing."""
    if c.head == "cycle" and not c.growths and c.shape is not None and c.shape.cycle is not None:
        return f", with swings of {swings(c, c.shape.cycle)}"
    if not c.growths or c.head in ("line", "polynomial"):
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
    """How well the zero of the linear factor is known."""
    return c.estimate(c.of_kind("Lin")[0], "location").sd


# -- where it applies --------------------------------------------------------------------------------------------


def seen(c: Component) -> Region | None:
    """The region, edges outside the data dropped; None when it is everything."""
    axis = axis_of(c)
    if not c.regions:
        return None
    region = c.regions[0].within(axis.low, axis.high)
    whole = len(region.intervals) == 1 and region.intervals[0].low is None and region.intervals[0].high is None
    return None if whole else region


def place(c: Component) -> str:
    """ "until 1955-07", "from 1650 to 1715", "until 1650 and from 1715 on"; empty: everywhere."""
    region = seen(c)
    if region is None:
        return ""
    words = []
    for interval in region.intervals:
        low, high = edge(c, interval.low), edge(c, interval.high)
        words.append(f"from {low} to {high}" if low and high else f"from {low} on" if low else f"until {high}")
    return listed(words) or "nowhere in the data"


def edge(c: Component, at: Edge | None) -> str:
    """Where a component begins or ends."""
    if at is None:
        return ""
    sds = [c.estimate(i, "location").sd for i in c.of_kind(*SWITCHES) if _near(c, i, at)]
    return axis_of(c).around(at.at, next((sd for sd in sds if sd is not None), None))


def _near(c: Component, factor: int, at: Edge) -> bool:
    f = c.factors[factor]
    half = f["width"] / 2 if "width" in f.values else 0.0
    return math.isclose(abs(f["location"] - at.at), half, rel_tol=1e-9, abs_tol=1e-9 * (abs(at.at) + 1))
