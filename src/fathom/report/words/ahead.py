"""How a component of one input continues beyond the data, in words."""

from __future__ import annotations

from fathom.report.facts.part import SMOOTH, Component
from fathom.report.words import calendar, growth, together
from fathom.report.words import phrases as say
from fathom.report.words.places import axis_of, edge
from fathom.report.words.text import sentence

FEW = (("years", 10.0), ("months", 1.0), ("weeks", 1 / 6), ("days", 1 / 50))  # of a record so many years long


def ahead(c: Component) -> list[str]:
    """How the component continues beyond the last observation."""
    axis = axis_of(c)
    if c.horizon is None or (c.inputs and c.inputs[0] != (c.setting.time or 0)):
        return []
    last = c.regions[0].intervals[-1].high if c.regions and c.regions[0].intervals else None
    if c.regions and not c.regions[0].holds(axis.high):
        return [sentence(_outside(c))]
    said = _continues(c) if c.holidays is None else [calendar.ahead(c)]
    if say.grows(c) and c.head != "noise" and (further := growth.ahead(c)):
        said.append(further)
    if last is not None and last.at < c.horizon:
        said.append(f"it ends at {edge(c, last)}")
    return [sentence(text) for text in said]


def _outside(c: Component) -> str:
    """How a part continues that does not apply at the last observation; across a soft edge it may still act."""
    axis, intervals = axis_of(c), c.regions[0].intervals
    later = next((i.low for i in intervals if i.low is not None and i.low.at > axis.high), None)
    if later is not None:
        if later.at - later.width < axis.high:
            return "it is only beginning, and the data say little of how it goes on"
        return f"it adds nothing until {axis.around(later.at)}, and the data say nothing of it then"
    last = max((i.high for i in intervals if i.high is not None), key=lambda e: e.at, default=None)
    if last is not None and last.at + last.width > axis.high:
        return "it is fading out and adds less and less to the forecast"
    return "it has ended within the data and adds nothing to the forecast"


def _continues(c: Component) -> list[str]:
    axis = axis_of(c)
    if c.head == "cycle":
        return _cycle_ahead(c)
    if c.head == "smooth":
        reach = say.lengthscale(c)
        manner = " slowly," if say.relative_lengthscale(c) > say.VERY_SMOOTH else ""
        if say.relative_lengthscale(c) > say.FAR:
            return ["the forecast continues this curve"]
        said = [f"its forecast fades out{manner} over about {reach}: beyond that only its size is known"]
        return said + (["its rhythm is not carried forward"] if c.shape and c.shape.rhythm is not None else [])
    if c.head == "noise":
        return ["its standard deviation follows the same line" if growth.moves(c) else "the noise stays as it is"]
    curve = f"a {say.power(len(c.growths))} grows without limit, so trust it for {_few(c)} at most"
    return {
        "constant": ["the level stays"],
        "step": ["the level stays"],
        "line": ["the line continues at the same slope"],
        "polynomial": ["the forecast continues this curve", curve],
    }.get(c.head, [f"beyond {axis.seen(axis.high)} it is a guess from its size"])


def _few(c: Component) -> str:
    """How long a curve without a limit may be trusted: about a tenth of the record."""
    axis = axis_of(c)
    if not axis.in_years:
        return f"{axis.length(axis.span / 10)} beyond the data"
    return f"a few {next((unit for unit, least in FEW if axis.span >= least), 'hours')}"


def _cycle_ahead(c: Component) -> list[str]:
    if not say.comes_round(c):
        return ["the forecast continues the wave that the model assumes: nothing in the data shows that it comes round"]
    if c.also:
        return [together.ahead(c)]
    if not c.of_kind(*SMOOTH):
        return [f"the cycle repeats {'with the same shape' if growth.moves(c) else 'unchanged'}"]
    if say.loose(c):
        return [f"its forecast fades within about {say.lengthscale(c)}: neither height nor timing can be foreseen"]
    axis, reach = axis_of(c), say.lengthscale(c)
    kept = "the cycle keeps its period, but its shape is less and less certain"
    lengthscale = say.relative_lengthscale(c) * axis.span
    assert c.horizon is not None
    if say.relative_lengthscale(c) > say.FAR:
        return ["the cycle repeats as it was"]
    if lengthscale > 3 * (c.horizon - axis.high):
        return [
            f"{kept}; over the {axis.length(c.horizon - axis.high)} ahead that hardly shows, for it takes about {reach}"
        ]
    return [f"{kept}: after about {reach} its mean has faded"]
