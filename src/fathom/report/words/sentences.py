"""Full sentences for a component of one input: its shape, where it applies, and what it is worth."""

from __future__ import annotations

import math

from fathom.report.facts.part import PERIODIC, SMOOTH, SWITCHES, Component, Jump
from fathom.report.numbers import compared, differing, percent, quantity
from fathom.report.words import calendar, growth, together
from fathom.report.words import phrases as say
from fathom.report.words.beside import beside, jumps, unseen, where
from fathom.report.words.growth import about_part
from fathom.report.words.places import axis_of, edge, place, seen
from fathom.report.words.said import Said, tell
from fathom.report.words.sizes import about, certain, changed, one_way
from fathom.report.words.text import listed, sentence

TAGS = {
    "predicts": "",
    "noise": "",
    "explains but does not predict": "It describes the data but does not help to predict {what} the model has not seen:"
    " a short-lived pattern, or an artefact of the model",
    "doubtful": "It neither explains nor predicts anything that the parts before it do not: it may be an artefact",
}
OFF = 0.25  # of its swing: a cycle with a middle further from zero makes a step where it begins or ends
FAINT = 0.9  # of its full weight: a part that does not come to more is not seen whole


def body(c: Component) -> list[str]:
    """What the component is, from the whole to the details."""
    makes = c.holidays is not None and c.head == "step"
    said: list[str] = [tell(f"this part {'makes' if makes else 'is'} ", say.noun(c), "" if makes else beside(c))]
    said += {"cycle": _cycle, "smooth": _smooth, "noise": _noise, "line": _line, "polynomial": _polynomial}.get(
        c.head, _nothing
    )(c)
    if say.grows(c) and growth.moves(c):
        subject = {"cycle": "its swings ", "noise": "the standard deviation "}.get(c.head, "its size ")
        said.append(tell(subject, growth.verb(c, plural=c.head == "cycle")))
    said += _where(c) + unsure(c)
    return [sentence(text) for text in said]


def _nothing(c: Component) -> list[str]:
    return []


def _cycle(c: Component) -> list[str]:
    assert c.shape is not None
    axis, said = axis_of(c), list[str]()
    if not say.comes_round(c):
        taken = say.period(c, say.fastest(c))
        return [f"the model takes it for {taken}, but the {axis.record} is too short to see it repeat"]
    if c.also:
        said.append(together.terms(c))
    elif say.loose(c):
        said.append("it hardly repeats: by the time a cycle has come round, its shape is forgotten")
    elif c.of_kind(*SMOOTH):
        said.append(_likeness(c))
    elif len(c.of_kind(*PERIODIC)) > 1:
        said.append("neighbouring cycles differ as the slower one passes")
    else:
        said.append("every cycle has the same shape" if growth.moves(c) else "every cycle is the same")
    said += [] if c.also else [_within(c)]
    cycle = c.shape.cycle
    if cycle is None:
        return said
    high, low = axis.phase(cycle.peak, cycle.period), axis.phase(cycle.trough, cycle.period)
    if len(c.of_kind(*PERIODIC)) == 1 and not say.loose(c) and high != low:
        yearly, drifts = axis.cycle(cycle.period)[0] == "yearly", together.drifts(c)
        when = "in its last year " if yearly else "lately " if drifts else ""
        claims = about_part(c, "peak", cycle.peak), about_part(c, "trough", cycle.trough)
        said.append(Said(f"{when}it is highest {high} and lowest {low}", *claims))
    if not growth.moves(c):
        said.append(tell("from trough to peak it measures ", growth.swings(c)))
    if seen(c) is not None and abs(cycle.middle) > OFF * c.shape.course.last:
        said.append(f"its middle lies at {about(c, cycle.middle)}")
    return said


def _likeness(c: Component) -> str:
    axis, reach = axis_of(c), say.lengthscale(c)
    if say.relative_lengthscale(c) > say.FAR:
        return f"its shape takes far longer to change than the {axis.record} lasts ({axis.length(axis.span, 2)})"
    if say.relative_lengthscale(c) > 1:
        return f"its shape takes about {reach} to change, longer than the {axis.record} ({axis.length(axis.span, 2)})"
    if say.relative_lengthscale(c) * axis.span < 2 * min(c.factors[i]["period"] for i in c.of_kind(*PERIODIC)):
        return "only neighbouring cycles resemble each other"
    return f"cycles closer together than about {reach} look alike, those further apart need not"


def _within(c: Component) -> str:
    factor = c.factors[say.fastest(c)]
    if factor.kind == "Cos" or factor["lengthscale"] > say.SINE:
        return "within a cycle it is close to a sine wave"
    axis, finest = axis_of(c), factor["lengthscale"] * factor["period"] / (2 * math.pi)
    if axis.rule is not None and finest < float(axis.rule.future(axis.high, 1)[0]) - axis.high:
        return "within a cycle every step has a value of its own"
    return f"within a cycle it changes over about {axis.length(finest)}"


def _smooth(c: Component) -> list[str]:
    assert c.shape is not None
    axis, shape, relative = axis_of(c), c.shape, say.relative_lengthscale(c)
    share, said = "", _in_all(c) if say.near_linear(c) else []
    if shape.rhythm is not None:
        return [f"the model does not ask for it: it only varies smoothly, over about {say.lengthscale(c)}"]
    if relative > say.FAR:
        return [*said, *_ends(c)]
    if relative > say.VERY_SMOOTH:
        share = f"more than half of the {axis.record} ({axis.length(axis.span, 2)})"
    elif relative < say.RAPID:
        share = f"less than 1/200 of the {axis.record} ({axis.length(axis.span, 2)})"
    if one_way(c):
        said.append(f"it changes over about {say.lengthscale(c)}{', ' if share else ''}{share}")
        if shape.half_at is not None and not say.near_linear(c):
            said.append(f"half of the change has happened by {axis.around(shape.half_at)}")
    elif share:
        said.append(f"that is {share}")
    if c.of_kind("Matern12"):
        said.append("it is rough: it has no slope at any point")
    return said + _ends(c)


def _ends(c: Component) -> list[str]:
    """From where to where a part goes that is there for some of the record only: its chart drops to zero beside it."""
    if c.shape is None or seen(c) is None or not one_way(c):
        return []
    first, last = (about(c, v) for v in (c.shape.first, c.shape.last))
    return [] if first == last else [f"where it applies it runs from {first} to {last}, and it is zero elsewhere"]


def _noise(c: Component) -> list[str]:
    return ["no observation says anything about the noise of another"]


def _line(c: Component) -> list[str]:
    assert c.shape is not None
    return _in_all(c) + _ends(c) if certain(c) else []


def _in_all(c: Component) -> list[str]:
    """By how much a line changes in all; of a curve that is only nearly a line, how nearly."""
    assert c.shape is not None
    axis = axis_of(c)
    start, end = axis.around(c.shape.start), axis.around(c.shape.end)
    said: list[str] = [tell(f"from {start} to {end} that makes ", changed(c))] if start != end else []
    if c.head != "line":
        said.append(f"a straight line describes {percent(c.shape.straight)} of its variance")
        if say.turn(c):
            way = "rise" if c.shape.change > 0 else "fall"
            said.append(f"the {way} is {compared(c.shape.bend, 'steep')} in the second half as in the first")
    return said


def _polynomial(c: Component) -> list[str]:
    if say.near_linear(c):
        return _in_all(c)
    places = [axis_of(c).around(g.location) for g in c.growths if g.direction == "away"]
    if len(set(places)) > 1:
        return [f"it crosses zero at {listed(places)}"]
    return [f"it is zero at {places[0]}"] if places else []


def _where(c: Component) -> list[str]:
    region, axis = seen(c), axis_of(c)
    if c.holidays is not None:
        return [calendar.applies(c)]
    if region is None:
        return []
    stretch = place(c)
    said = [f"it {stretch.replace('fading', 'fades')}" if stretch.startswith("fading") else f"it applies {stretch}"]
    edges = [e for i in region.intervals for e in (i.low, i.high) if e is not None]
    slow = [e for e in edges if e.width > 0.05 * axis.span]
    if slow:
        said.append(f"the change at {edge(c, slow[0])} takes about {axis.length(slow[0].width)}")
    if c.shape is not None and 0.01 <= c.shape.strength < FAINT:
        said.append(f"within the data it comes to {percent(c.shape.strength)} of its full weight at most")
    if c.head != "step":  # which has said so
        said += [_passes(c, jump) for jump in c.jumps]
    return said


def _passes(c: Component, jump: Jump) -> str:
    """What all parts together do where this one begins or ends."""
    if unseen(c, jump):
        return f"all parts together show no step {where(c, jump)}"
    return tell("all parts together ", jumps(c, jump))


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
    """What the component predicts, and what it explains of the data that it was fitted to."""
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
    share = Said(percent(s.r2), about_part(c, "fit", s.r2))
    if c.number == 1:
        fit = tell("it accounts for ", share, " of the variance")
    elif s.delta_r2 > 0:
        rest = f"it accounts for {percent(s.residual_r2)} of the variance that the parts before it leave over ("
        fit = tell(rest, share, " with them)")
    else:
        fit = tell("it accounts for nothing that the parts before it leave over (", share, " with them)")
    what = "stretches" if c.setting.time is not None else "rows"
    tag = TAGS[s.tag].format(what=what)
    claim = about_part(c, "error", s.mae)
    said = [Said(f"it {change}", claim), tell("in the fit ", fit), tag]
    return [sentence(text) for text in said if text]
