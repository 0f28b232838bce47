"""How the size of a component goes along its input, in words: all of them read its measured course."""

from __future__ import annotations

from fathom.report.facts.part import SMOOTH, Component, Course
from fathom.report.numbers import number, quantity
from fathom.report.words.places import axis_of
from fathom.report.words.said import Claim, Said, tell

WAYS = {"growing": "grow", "shrinking": "shrink"}


def about_part(c: Component, quantity: str, value: float | str) -> Claim:
    """A claim about a component."""
    return Claim(f"part {c.number}", quantity, value)


def course(c: Component) -> Course | None:
    """How the size of a component goes, if that is worth a word: of a cycle always, else where a line scales it."""
    if c.shape is None or c.head in ("line", "polynomial"):
        return None
    return c.shape.course if c.growths or c.head == "cycle" else None


def moves(c: Component) -> bool:
    """True when the size of a component changes along its input, as measured, and a line in its product does it."""
    found = course(c)
    return bool(c.growths) and found is not None and found.way != "steady"


def from_to(c: Component, joint: str = " from about ") -> Said:
    """ " from about 40 to 247 thousand": the size at first and at last."""
    found = course(c)
    assert found is not None
    first, last = about_part(c, "first size", found.first), about_part(c, "last size", found.last)
    return Said(f"{joint}{number(found.first)} to {quantity(found.last, c.setting.unit)}", first, last)


def verb(c: Component, plural: bool) -> Said:
    """ "grow linearly with time, from about 40 to 247 thousand", or "are smallest around 1955-01"."""
    found, axis = course(c), axis_of(c)
    assert found is not None
    way = about_part(c, "way", found.way)
    if found.least_at is not None:
        return Said(f"{'are' if plural else 'is'} smallest {_least(c, found.least_at)}", way)
    steadily = " linearly" if len(c.growths) == 1 and c.head in ("cycle", "noise") else ""
    s = "" if plural else "s"
    return tell(Said(f"{WAYS[found.way]}{s}{steadily} {axis.along}", way), from_to(c, ", from about "))


def growth(c: Component) -> str:
    """ ", with swings that grow from about 40 to 247 thousand"; of a steady cycle, its swing."""
    if moves(c):
        opening = {"cycle": ", with swings that ", "noise": " whose standard deviation "}.get(c.head, ", whose size ")
        return tell(opening, verb(c, plural=c.head == "cycle"))
    return tell(", with swings of ", swings(c)) if c.head == "cycle" and course(c) else ""


def swings(c: Component) -> Said:
    """From trough to peak: "about 32 thousand" of a steady cycle, "about 11 at first and 54 thousand at last"."""
    found = course(c)
    assert found is not None
    first, last = about_part(c, "first size", found.first), about_part(c, "last size", found.last)
    way, unit = about_part(c, "way", found.way), c.setting.unit
    if found.way == "steady":
        return Said(f"about {quantity(found.last, unit)}", last, way)
    return Said(f"about {number(found.first)} at first and {quantity(found.last, unit)} at last", first, last, way)


def name(c: Component) -> Said:
    """How a size goes, for a title: "growing with time"; empty where it does not."""
    if not moves(c):
        return Said("")
    found = course(c)
    assert found is not None
    way = about_part(c, "way", found.way)
    if found.least_at is not None:
        return Said(f"smallest {_least(c, found.least_at)}", way)
    return Said(f"{found.way} {axis_of(c).along}", way)


def _least(c: Component, at: float) -> str:
    """ "around 1955-01": where the size is smallest."""
    return f"around {axis_of(c).around(at, location_sd(c)).removeprefix('about ')}"


def ahead(c: Component) -> str:
    """How the size goes on beyond the data along the same line; the line and what was measured may disagree."""
    subject = "its swings" if c.head == "cycle" else "its size"
    found = course(c)
    if not moves(c) or found is None:
        return ""
    line = {"growing": "growing", "shrinking": "shrinking", "away": "growing"}[c.growths[0].direction]
    if len(c.growths) > 1 or (c.of_kind(*SMOOTH) and c.head != "cycle") or found.way not in (line, "smallest inside"):
        return f"{subject} would follow the same line"
    return Said(f"{subject} would go on {line} along the same line")


def location_sd(c: Component) -> float | None:
    """Sd of the place where the linear factor is zero."""
    return c.estimate(c.of_kind("Lin")[0], "location").sd
