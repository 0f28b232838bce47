"""Sizes and changes of a component, as they are written."""

from __future__ import annotations

from fathom.report.facts.part import Component
from fathom.report.numbers import quantity
from fathom.report.words.growth import about_part
from fathom.report.words.places import axis_of
from fathom.report.words.said import Said

NOTHING = 1e-3  # of the spread of the target


def about(c: Component, value: float, both: bool = False, sd: float | None = None) -> str:
    """ "about 13 thousand", "about ±13 thousand"; a value that no one would see is "less than 0.1 thousand"."""
    least = NOTHING * c.setting.spread
    if abs(value) < least:
        return f"less than {quantity(least, c.setting.unit, None, 1)}"
    return f"about {'±' if both else ''}{quantity(value, c.setting.unit, sd)}"


def size(c: Component) -> float:
    """The typical size of a component."""
    return c.shape.size if c.shape else c.at_data.size


def sized(c: Component, both: bool = False) -> Said:
    """The typical size of a component, as a claim."""
    return Said(about(c, size(c), both), about_part(c, "size", size(c)))


def faint(c: Component) -> bool:
    """True when a component is too small for anyone to see."""
    return c.shape is not None and max(abs(c.shape.low), abs(c.shape.high)) < NOTHING * c.setting.spread


def own_level(c: Component) -> float:
    """The value of a constant: where its weight is largest."""
    assert c.shape is not None
    return max(c.shape.low, c.shape.high, key=abs)


def certain(c: Component) -> bool:
    """True when it is known whether a component rises or falls."""
    return c.shape is not None and abs(c.shape.change) > 2 * c.shape.change_sd


def one_way(c: Component) -> bool:
    """True when the mean only rises or only falls, and by more than its uncertainty."""
    return c.shape is not None and c.shape.monotone != 0 and certain(c)


def changed(c: Component) -> Said:
    """How far a component changes from start to end."""
    assert c.shape is not None
    text = about(c, abs(c.shape.change), sd=c.shape.change_sd)
    return Said(text, about_part(c, "change", c.shape.change))


def slope(c: Component) -> str:
    """The mean slope of a component: "32 thousand a year"."""
    assert c.shape is not None
    rate, per = axis_of(c).rate(abs(c.shape.slope))
    length = (c.shape.end - c.shape.start) or 1.0
    sd, _ = axis_of(c).rate(c.shape.change_sd / length)
    return Said(f"{quantity(rate, c.setting.unit, sd)} {per}", about_part(c, "slope", c.shape.slope))
