"""Full sentences for a component of one input: its shape, what it explains, and how it continues."""

from __future__ import annotations

import math

from fathom.report.facts.part import PERIODIC, SMOOTH, SWITCHES, Component
from fathom.report.numbers import differing, number, percent, quantity
from fathom.report.words import calendar, together
from fathom.report.words import phrases as say
from fathom.report.words.text import listed, sentence

TAGS = {
    "predicts": "",
    "noise": "",
    "explains but does not predict": "It describes the data but does not help to predict {what} the model has not seen:"
    " a short-lived pattern, or an artefact of the model",
    "doubtful": "It neither explains nor predicts anything that the parts before it do not: it may be an artefact",
}


FAINT = 0.9  # of its full weight: a part that does not come to more is not seen whole


def body(c: Component) -> list[str]:
    """What the component is, from the whole to the details."""
    said = [f"this part {'makes' if c.holidays is not None and c.head == 'step' else 'is'} {say.noun(c)}"]
    said += {"cycle": _cycle, "smooth": _smooth, "noise": _noise, "line": _line, "polynomial": _polynomial}.get(
        c.head, _nothing
    )(c)
    if say.grows(c):
        subject = {"cycle": "its swings", "noise": "the standard deviation"}.get(c.head, "its size")
        said.append(f"{subject} {say.verb(c, plural=c.head == 'cycle')}")
    said += _where(c) + unsure(c)
    return [sentence(text) for text in said]


def _nothing(c: Component) -> list[str]:
    return []


def _cycle(c: Component) -> list[str]:
    assert c.shape is not None
    axis, said = say.axis_of(c), []
    if c.also:
        said.append(together.terms(c))
    elif say.loose(c):
        said.append("it hardly repeats: by the time a cycle has come round, its shape is forgotten")
    elif c.of_kind(*SMOOTH):
        said.append(_likeness(c))
    elif len(c.of_kind(*PERIODIC)) > 1:
        said.append("neighbouring cycles differ as the slower one passes")
    else:
        said.append("every cycle is the same" if not c.growths else "every cycle has the same shape")
    said += [] if c.also else [_within(c)]
    cycle = c.shape.cycle
    if cycle is None:
        return said
    high, low = axis.phase(cycle.peak, cycle.period), axis.phase(cycle.trough, cycle.period)
    if len(c.of_kind(*PERIODIC)) == 1 and not say.loose(c) and high != low:
        yearly, drifts = axis.cycle(cycle.period)[0] == "yearly", together.drifts(c)
        when = "in its last year " if yearly else "lately " if drifts else ""
        said.append(f"{when}it is highest {high} and lowest {low}")
    if not c.growths:
        said.append(f"from trough to peak it measures {say.swings(c, cycle)}")
    return said


def _likeness(c: Component) -> str:
    axis, reach = say.axis_of(c), say.lengthscale(c)
    if say.relative_lengthscale(c) > 1:
        return f"its shape takes about {reach} to change, longer than the {axis.record} ({axis.length(axis.span, 2)})"
    if say.relative_lengthscale(c) * axis.span < 2 * min(c.factors[i]["period"] for i in c.of_kind(*PERIODIC)):
        return "only neighbouring cycles resemble each other"
    return f"cycles closer together than about {reach} look alike, those further apart need not"


def _within(c: Component) -> str:
    factor = c.factors[say.fastest(c)]
    if factor.kind == "Cos" or factor["lengthscale"] > say.SINE:
        return "within a cycle it is close to a sine wave"
    finest = say.axis_of(c).length(factor["lengthscale"] * factor["period"] / (2 * math.pi))
    return f"within a cycle it changes over about {finest}"


def _smooth(c: Component) -> list[str]:
    assert c.shape is not None
    axis, shape, relative = say.axis_of(c), c.shape, say.relative_lengthscale(c)
    share, said = "", _in_all(c) if say.near_linear(c) else []
    if shape.rhythm is not None:
        return [f"the model does not ask for it: it only varies smoothly, over about {say.lengthscale(c)}"]
    if relative > say.VERY_SMOOTH:
        share = f"more than half of the {axis.record} ({axis.length(axis.span, 2)})"
    elif relative < say.RAPID:
        share = f"less than 1/200 of the {axis.record} ({axis.length(axis.span, 2)})"
    if say.one_way(c):
        said.append(f"it changes over about {say.lengthscale(c)}{', ' if share else ''}{share}")
        if shape.half_at is not None and not say.near_linear(c):
            said.append(f"half of the change has happened by {axis.around(shape.half_at)}")
    elif share:
        said.append(f"that is {share}")
    if c.of_kind("Matern12"):
        said.append("it is rough: it has no slope at any point")
    return said


def _noise(c: Component) -> list[str]:
    return ["no observation says anything about the noise of another"]


def _line(c: Component) -> list[str]:
    assert c.shape is not None
    return [] if abs(c.shape.change) <= 2 * c.shape.change_sd else _in_all(c)


def _in_all(c: Component) -> list[str]:
    """By how much a line changes in all; of a curve that is only nearly a line, how nearly."""
    assert c.shape is not None
    axis, change = say.axis_of(c), quantity(abs(c.shape.change), c.setting.unit, c.shape.change_sd)
    start, end = axis.around(c.shape.start), axis.around(c.shape.end)
    said = [f"from {start} to {end} that makes about {change}"] if start != end else []
    if c.head != "line":
        said.append(f"a straight line describes {percent(c.shape.straight)} of its variance")
        if say.turn(c):
            said.append(f"its second half is {number(c.shape.bend)} times as steep as its first")
    return said


def _polynomial(c: Component) -> list[str]:
    if say.near_linear(c):
        return _in_all(c)
    places = [say.axis_of(c).around(g.location) for g in c.growths if g.direction == "away"]
    if len(set(places)) > 1:
        return [f"it crosses zero at {listed(places)}"]
    return [f"it is zero at {places[0]}"] if places else []


def _where(c: Component) -> list[str]:
    region, axis = say.seen(c), say.axis_of(c)
    if c.holidays is not None:
        return [calendar.applies(c)]
    if region is None:
        return []
    where = say.place(c)
    said = [f"it {where.replace('fading', 'fades')}" if where.startswith("fading") else f"it applies {where}"]
    edges = [e for i in region.intervals for e in (i.low, i.high) if e is not None]
    slow = [e for e in edges if e.width > 0.05 * axis.span]
    if slow:
        said.append(f"the change at {say.edge(c, slow[0])} takes about {axis.length(slow[0].width)}")
    if c.shape is not None and 0.01 <= c.shape.strength < FAINT:
        said.append(f"within the data it comes to {percent(c.shape.strength)} of its full weight at most")
    return said


def unsure(c: Component) -> list[str]:
    """What the data cannot tell of a component: parameters whose interval is too wide to be given."""
    loose = [e for e in c.estimates if e.determined is False]
    said: list[str] = []
    for e in loose:
        kind = c.all_factors[e.factor].kind
        if kind in SMOOTH and e.name == "lengthscale" and not (c.shape and c.shape.monotone):
            said.append("the data cannot tell how fast " + ("its shape drifts" if c.head == "cycle" else "it varies"))
        elif kind in PERIODIC and e.name == "period":
            said.append("the data cannot tell its period")
        elif kind in SWITCHES and e.name == "location":
            said.append("the data cannot tell well where it begins or ends")
    return sorted(set(said))


def worth(c: Component) -> list[str]:
    """What the component explains and predicts."""
    s, unit = c.score, c.setting.unit
    if c.head == "noise":
        return [sentence(f"it accounts for {percent(max(s.delta_r2, 0.0))} of the variance")]
    on = "held-out stretches" if c.setting.time is not None else "held-out rows"
    pair = differing(c.before, s.mae, unit)
    if abs(s.mae_reduction) < 0.0005 or pair is None:
        change = f"leaves the mean error on {on} at {quantity(s.mae, unit)}"
    else:
        verb, less = ("lowers", f" ({percent(s.mae_reduction)} less)") if s.mae_reduction > 0 else ("raises", "")
        change = f"{verb} the mean error on {on} from {pair[0]} to {pair[1]}{less}"
    if c.number == 1:
        first = f"it explains {percent(s.r2)} of the variance"
    elif s.delta_r2 > 0:
        first = f"it explains {percent(s.residual_r2)} of what was left over, {percent(s.r2)} with the parts before it"
    else:
        first = f"it explains nothing that was left over ({percent(s.r2)} with the parts before it)"
    what = "stretches" if c.setting.time is not None else "rows"
    tag = TAGS[s.tag].format(what=what)
    return [sentence(f"{first}, and {change}")] + ([sentence(tag)] if tag else [])


# -- beyond the data ---------------------------------------------------------------------------------------------


def ahead(c: Component) -> list[str]:
    """How the component continues beyond the last observation."""
    axis = say.axis_of(c)
    if c.horizon is None or (c.inputs and c.inputs[0] != (c.setting.time or 0)):
        return []
    last = c.regions[0].intervals[-1].high if c.regions and c.regions[0].intervals else None
    if c.regions and not c.regions[0].holds(axis.high):
        return [sentence(_outside(c))]
    said = _continues(c) if c.holidays is None else [calendar.ahead(c)]
    if say.grows(c) and c.head != "noise":
        way = {"shrinking": "shrinking", "growing": "growing", "away": "growing"}[c.growths[0].direction]
        said.append(f"{'its swings' if c.head == 'cycle' else 'its size'} would go on {way} along the same line")
    if last is not None and last.at < c.horizon:
        said.append(f"it ends at {say.edge(c, last)}")
    return [sentence(text) for text in said]


def _outside(c: Component) -> str:
    """How a part continues that does not apply at the last observation; across a soft edge it may still act."""
    axis, intervals = say.axis_of(c), c.regions[0].intervals
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
    axis = say.axis_of(c)
    if c.head == "cycle":
        return _cycle_ahead(c)
    if c.head == "smooth":
        reach = say.lengthscale(c)
        manner = " slowly," if say.relative_lengthscale(c) > say.VERY_SMOOTH else ""
        said = [f"its forecast returns to zero{manner} over about {reach}: beyond that only its size is known"]
        return said + (["its rhythm is not carried forward"] if c.shape and c.shape.rhythm is not None else [])
    if c.head == "noise":
        return ["the noise stays as it is" if not c.growths else "its standard deviation follows the same line"]
    return {
        "constant": ["the level stays"],
        "step": ["the level stays"],
        "line": ["the line continues at the same slope"],
        "polynomial": [f"the same {say.power(len(c.growths))} continues, and far beyond the data it leaves all bounds"],
    }.get(c.head, [f"beyond {axis.seen(axis.high)} it is a guess from its size"])


def _cycle_ahead(c: Component) -> list[str]:
    if c.also:
        return [together.ahead(c)]
    if not c.of_kind(*SMOOTH):
        return [f"the cycle repeats {'with the same shape' if c.growths else 'unchanged'}"]
    if say.loose(c):
        return [f"its forecast fades within about {say.lengthscale(c)}: neither height nor timing can be foreseen"]
    axis, reach = say.axis_of(c), say.lengthscale(c)
    kept = "the cycle keeps its period, but its shape is less and less certain"
    lengthscale = say.relative_lengthscale(c) * axis.span
    assert c.horizon is not None
    if lengthscale > 3 * (c.horizon - axis.high):
        return [
            f"{kept}; over the {axis.length(c.horizon - axis.high)} ahead that hardly shows, for it takes about {reach}"
        ]
    return [f"{kept}: after about {reach} its mean has faded"]
