"""Noun phrases for components of one input: what it is, and how it is modified."""

from __future__ import annotations

import math
from collections.abc import Callable

from fathom.report.facts.part import PERIODIC, SMOOTH, Component, Head
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Forecast
from fathom.report.words import calendar, growth, together
from fathom.report.words.beside import beside, kept, lower, step
from fathom.report.words.growth import about_part
from fathom.report.words.places import axis_of, place, seen
from fathom.report.words.places import edge as edge  # for pictures
from fathom.report.words.said import Said, claims_of, tell
from fathom.report.words.sizes import about, certain, changed, faint, one_way, own_level, sized, slope
from fathom.report.words.text import Measured, capital, listed

POWERS = {2: "quadratic", 3: "cubic", 4: "quartic", 5: "quintic"}
VERY_SMOOTH, RAPID = 1 / 2, 1 / 200  # lengthscale over range
LOOSE = 0.674  # lengthscale over period: the quartile of the spectral peak reaches zero
LONG, SHORT = 1 / 5, 3  # between so much of the range and so many steps of the data a lengthscale is of medium term
STRAIGHT = 0.98  # share of a curve's variance beyond which a line drawn through it hides it
STEEPER = 1.25  # a slope that has changed by less than this factor is the same
FAR = 10  # lengthscale over range beyond which its value says nothing
SINE = math.exp(2)  # within-period lengthscale beyond which a cycle is close to a sine wave


def summary(c: Component) -> str:
    """One line on a component, without a full stop: "a yearly cycle, until 1955-07"."""
    where, way = place(c), turn(c) if c.shape is not None and near_linear(c) else ""
    return tell(noun(c), way, growth.growth(c) if grows(c) else "", f", {where}" if where else "", beside(c))


def grows(c: Component) -> bool:
    """True when its size is worth a word: not of a straight curve, nor of a cycle that was never seen to repeat."""
    return growth.course(c) is not None and not near_linear(c) and (c.head != "cycle" or comes_round(c))


def noun(c: Component) -> str:
    """What the component is."""
    if c.shape is not None and near_linear(c):
        return trend(c)
    described: dict[Head, Callable[[Component], str]] = {
        "cycle": cycle,
        "noise": lambda c: "noise" if growth.moves(c) else tell("noise with a standard deviation of ", sized(c)),
        "smooth": smooth,
        "constant": constant,
        "line": line,
        "polynomial": polynomial,
        "step": step,
        "waves": lambda c: tell("a mixture of waves of ", sized(c, True)),
        "bend": lambda c: f"a bent line that ranges over {about(c, c.at_data.high - c.at_data.low)}",
    }
    return described[c.head](c)


def constant(c: Component) -> str:
    """A constant everywhere."""
    assert c.shape is not None
    return "a constant too small to be seen" if faint(c) else f"a constant of {about(c, own_level(c))}"


# -- what it is --------------------------------------------------------------------------------------------------


def cycle(c: Component) -> str:
    """A periodic component, with its drift and with the slower cycles that modulate it."""
    rings = sorted(c.of_kind(*PERIODIC), key=lambda i: c.factors[i]["period"])
    first = period(c, rings[0])
    drift = c.of_kind(*SMOOTH)
    if not comes_round(c):
        return f"a slow wave, less than one round of it, that ranges over {about(c, c.at_data.high - c.at_data.low)}"
    if c.also:
        return tell(first, together.drift(c))
    if loose(c):
        first = Said(first.replace("a ", "a loose ", 1), *claims_of(first))
        first = tell(first, f" that loses its shape within about {lengthscale(c)}")
    elif drift and relative_lengthscale(c) > 1:
        first = tell(first, " whose shape hardly changes")
    elif drift:
        slow = " slowly," if relative_lengthscale(c) > VERY_SMOOTH else ""
        first = tell(first, f" whose shape drifts{slow} over about {lengthscale(c)}")
    if len(rings) > 1:
        first = tell(first, ", " if drift else " ", "modulated by ", listed([period(c, i) for i in rings[1:]]))
    return first


def period(c: Component, factor: int) -> str:
    """ "a yearly cycle", "a cycle of about 10.8 years"."""
    e = c.estimate(factor, "period")
    name, length = axis_of(c).cycle(e.value, e.sd)
    return Said(f"a {name} cycle" if name else f"a cycle of {length}", about_part(c, f"period {factor}", e.value))


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


def comes_round(c: Component) -> bool:
    """True for a cycle of which the data hold one round at least: else no one has seen it repeat."""
    return c.head == "cycle" and c.factors[fastest(c)]["period"] <= 1.02 * axis_of(c).span


def loose(c: Component) -> bool:
    """True when the shape of a cycle is mostly lost before it comes round again."""
    rings, drift = c.of_kind(*PERIODIC), c.of_kind(*SMOOTH)
    if not rings or not drift:
        return False
    period = min(c.factors[i]["period"] for i in rings)
    return min(c.factors[i]["lengthscale"] for i in drift) < LOOSE * period


def near_linear(c: Component) -> bool:
    """True when the curve of a part that need not be a line looks like one."""
    bent = c.shape is None or c.shape.straight < STRAIGHT
    return c.head in ("smooth", "polynomial", "bend") and one_way(c) and not bent


def measured(c: Component) -> Measured:
    """What was measured of a component, for its title."""
    drift = lengthscale(c) if c.of_kind(*SMOOTH) and relative_lengthscale(c) <= 1 and not c.also else ""
    return Measured(_called(c), place(c), growth.name(c) if grows(c) else "", drift)


def _called(c: Component) -> str:
    if c.shape is None:
        return ""
    if c.head == "cycle":
        return capital(period(c, fastest(c)).removeprefix("a ")) if comes_round(c) else "Slow wave"
    if c.head == "step" and c.holidays is not None:
        return capital(calendar.days(c.setting))
    if c.head == "step":
        return "Offset" if faint(c) or not kept(c) else "Lower level" if lower(c) else "Higher level"
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
    return tell(f"a near-linear {lasting(c)}", _way(c), " of about ", slope(c))


def turn(c: Component) -> str:
    """How a curve departs from a line: ", steeper towards the end"; empty where it does not show."""
    assert c.shape is not None
    change = max(c.shape.bend, 1 / c.shape.bend)
    return "" if change < STEEPER else f", {'steeper' if c.shape.bend > 1 else 'flatter'} towards the end"


def _way(c: Component) -> str:
    assert c.shape is not None
    way = "rise" if c.shape.change > 0 else "fall"
    return Said(way, about_part(c, "direction", way))


def _term(c: Component) -> str:
    """The noun of a smooth part by how fast it varies, next to the record and its steps: "short-term deviation"."""
    relative, in_time = relative_lengthscale(c), axis_of(c).rule is not None
    if one_way(c) and not c.growths:
        return tell(f"smooth {lasting(c)}", _way(c))
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
    return Said(f"{name} cycle" if name else f"cycle of {length}", about_part(c, "rhythm", c.shape.rhythm))


def smooth(c: Component) -> str:
    """A smooth component: a rise or fall if its mean is monotone, otherwise how fast and how far it varies."""
    assert c.shape is not None
    if one_way(c) and not c.growths:
        return tell("a ", _term(c), " of ", changed(c), " in all")
    if c.shape.rhythm is not None:
        return tell("an irregular ", rhythm(c), ", ", sized(c, True), " in size")
    return tell("a ", _term(c), " of ", sized(c, True), f" over about {lengthscale(c)}")


def line(c: Component) -> str:
    """A straight line: its direction and slope, if the data tell."""
    assert c.shape is not None
    if not certain(c):
        return "a straight line, up or down the data cannot tell"
    return tell("a straight-line ", _way(c), " of about ", slope(c))


def power(n: int) -> str:
    """The adjective for the n-th power: "quadratic" and so on."""
    return POWERS.get(n, f"degree-{n} polynomial")


def polynomial(c: Component) -> str:
    """A product of lines alone."""
    assert c.shape is not None
    name = f"a {power(len(c.growths))} trend"
    if one_way(c):
        way = "rises" if c.shape.change > 0 else "falls"
        return tell(f"{name} that {way} by ", changed(c), " in all")
    return f"{name} that ranges over {about(c, c.shape.high - c.shape.low)}"


def peak(f: Forecast, axis: Axis) -> str:
    """When the next peak comes; where the cycle is short, finer than other dates of the record."""
    return axis.occasion(f.peak.at, f.cycle or axis.span)
