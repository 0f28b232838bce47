"""What the slow parts do together, where one of them alone would mislead."""

from __future__ import annotations

from fathom.report.facts.part import Component, Jump
from fathom.report.facts.setting import Axis
from fathom.report.numbers import MINUS
from fathom.report.words import calendar
from fathom.report.words.growth import about_part
from fathom.report.words.places import axis_of, seen
from fathom.report.words.said import Claim, Said, tell
from fathom.report.words.sizes import about, certain, faint, one_way, own_level
from fathom.report.words.text import listed

ALIKE = (0.75, 1.25)  # a step of the sum over that of a part, where the part may be said to make it
UNSEEN = 0.1  # of the spread of the target: a smaller step is none
HIDDEN = 0.25  # of a part: when the sum moves by less, the other parts make up for it


def step(c: Component) -> str:
    """A constant for some stretch: "a level about 5 thousand lower", if that is what all parts together show."""
    if c.holidays is not None:
        size = about(c, own_level(c)).replace(MINUS, "")
        return f"{calendar.days(c.setting)} {size} {'lower' if lower(c) else 'higher'}"
    if faint(c):
        return "a level that cannot be told from that of the rest"
    size = about(c, own_level(c)).replace(MINUS, "")
    if kept(c):
        return Said(f"a level {size} {'lower' if lower(c) else 'higher'}", about_part(c, "level", own_level(c)))
    return f"an offset of {about(c, own_level(c))}"


def lower(c: Component) -> bool:
    """True when a level lies below the rest."""
    return own_level(c) < 0


def kept(c: Component) -> bool:
    """True when all parts together step as this one does, wherever it begins or ends."""
    level, ways = own_level(c), _ways(c)
    return all(ALIKE[0] <= way * jump.change / level <= ALIKE[1] for jump, way in zip(c.jumps, ways, strict=True))


def _ways(c: Component) -> list[int]:
    """1 where a component begins and −1 where it ends, for each of its jumps."""
    region = seen(c)
    if region is None:
        return []
    edges = [(e.at, way) for i in region.intervals for e, way in ((i.low, 1), (i.high, -1)) if e is not None]
    return [min(edges, key=lambda edge: abs(edge[0] - jump.at))[1] for jump in c.jumps]


def beside(c: Component) -> str:
    """What the slow parts do together, where a part alone would mislead: "; all parts together fall by about 12"."""
    if c.head == "step":
        return "" if faint(c) or kept(c) else tell("; ", _steps(c))
    if c.shape is None or c.together is None or not (one_way(c) or (c.head == "line" and certain(c))):
        return ""
    own, sum_ = c.shape.change, c.together
    if own * sum_ > 0 and abs(sum_) >= HIDDEN * abs(own):
        return ""
    if abs(sum_) < HIDDEN * abs(own):
        return "; the other parts make up for it"
    return Said(f"; with the other parts the sum {'rises' if sum_ > 0 else 'falls'} by {about(c, abs(sum_))}")


def _steps(c: Component) -> str:
    """What all parts together do where a step begins or ends."""
    least = HIDDEN * abs(own_level(c))
    moved = [jumps(c, jump) for jump in c.jumps if abs(jump.change) >= least and not unseen(c, jump)]
    return tell("all parts together ", listed(moved)) if moved else "the other parts make up for it"


def unseen(c: Component, jump: Jump) -> bool:
    """True for a jump within its uncertainty, or too small for anyone to see."""
    return abs(jump.change) < max(2 * jump.sd, UNSEEN * c.setting.spread)


def jumps(c: Component, jump: Jump) -> str:
    """ "rise by about 12 thousand at 1955-07"."""
    way = "rise" if jump.change > 0 else "fall"
    claim = Claim("step", f"change at {jump.at:.9g}", jump.change)
    return Said(f"{way} by {about(c, abs(jump.change), sd=jump.sd)} {where(c, jump)}", claim)


def where(c: Component, jump: Jump) -> str:
    """The place of a jump of a component, no finer than the data tell it."""
    edges = [e for i in (c.regions[0].intervals if c.regions else ()) for e in (i.low, i.high) if e is not None]
    near = min(edges, key=lambda e: abs(e.at - jump.at), default=None)
    return at(axis_of(c), jump.at, None if near is None else c.estimate(near.factor, "location").sd)


def at(axis: Axis, value: float, sd: float | None = None) -> str:
    """ "in 1955", "around 1955-07", "at 12 m"."""
    text = axis.around(value, sd)
    if text.startswith("about "):
        return f"around {text.removeprefix('about ')}"
    if axis.rule is None:
        return f"at {text}"
    return f"in {text}" if text.isdigit() and axis.in_years else f"around {text}"
