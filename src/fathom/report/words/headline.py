"""The first sentence of a page: what moves the target, and where it goes."""

from __future__ import annotations

from fathom.data.dates import WEEKDAYS
from fathom.report.facts.part import Component, Jump
from fathom.report.facts.whole import Facts, Forecast, Outlook, Trend
from fathom.report.measure.selection import LEAST_GAIN
from fathom.report.numbers import between, number, percent, quantity
from fathom.report.words import growth, joint
from fathom.report.words import phrases as say
from fathom.report.words.beside import at, beside, where
from fathom.report.words.growth import about_part
from fathom.report.words.places import place, seen
from fathom.report.words.said import Claim, Said, claims_of, tell
from fathom.report.words.sizes import slope as slope_of
from fathom.report.words.text import listed, sentence

CLAUSES = 3  # what moves the target, at most
SEEN = 0.1  # of the range of a trend: a turn or a step that is smaller is not worth a word
ALIKE = 0.05  # of a slope
LOUDER = 1.5  # noise that has changed by less than this factor is not worth one
WEIGHTY = 0.05  # of the held-out error: a part that removes less is not worth one either


def series(facts: Facts) -> Said:
    """The headline of a series."""
    clauses = _clauses(facts)
    if not facts.patterns:
        text: str = "no pattern, only noise"
    elif not clauses:
        level = quantity(facts.level, facts.setting.unit, facts.setting.spread / 20)
        text = f"no pattern that predicts better than the level, {level}"
    else:
        text = clauses[0] if len(clauses) == 1 else tell(clauses[0], ", with ", listed(clauses[1:]))
    ahead = expects(facts)
    return Said(sentence(tell(f"{facts.setting.target}: ", text, "; " if ahead else "", ahead)))


def table(facts: Facts) -> Said:
    """The headline of several inputs: which matter, and how well they predict what was held out."""
    foreseen, claim = facts.foreseen, Claim("whole", "foreseen", facts.foreseen)
    if foreseen < LEAST_GAIN:
        text = Said("the inputs do not help to predict rows held out of the data", claim)
    else:
        rest = f"; rows held out are predicted with {percent(foreseen)} less error than by the level alone"
        text = tell(joint.matter_most(facts), Said(rest, claim))
    return Said(sentence(tell(f"{facts.setting.target}: ", text)))


def _clauses(facts: Facts) -> list[str]:
    """What moves the target: the trend of all slow parts together, and the other parts that predict, in order."""
    found: list[str] = []
    trend = _trend(facts)
    if trend:
        found.append(trend)
    stepped = any(claim.about == "step" for claim in claims_of(trend))
    parts = [c for c in facts.patterns if c.score.tag == "predicts" and not (trend and _told(c, stepped))]
    weighty = _once([c for c in parts if c.score.gain >= WEIGHTY] or parts[:1])
    found += [_clause(c) for c in weighty[: CLAUSES - len(found)]]
    return found + _noise(facts) if len(found) < CLAUSES else found


def _noise(facts: Facts) -> list[str]:
    """Noise, where its change is worth a headline."""
    course = facts.noise
    if course.way not in ("growing", "shrinking") or max(course.first, course.last) < LOUDER * min(
        course.first, course.last
    ):
        return []
    claims = [Claim("noise", "first size", course.first), Claim("noise", "last size", course.last)]
    sizes = f"±{number(course.first)} to ±{quantity(course.last, facts.setting.unit)}"
    return [Said(f"noise that {'grew' if course.way == 'growing' else 'shrank'} from about {sizes}", *claims)]


def _once(parts: list[Component]) -> list[Component]:
    """The parts without all but the latest of those cycles that have one name: "a yearly cycle"."""
    latest = {str(say.period(c, say.fastest(c))): c for c in parts if c.head == "cycle" and seen(c) is not None}
    for c in parts:
        if c.head == "cycle" and c.shape is not None and (name := str(say.period(c, say.fastest(c)))) in latest:
            other = latest[name].shape
            latest[name] = c if other is None or c.shape.end > other.end else latest[name]
    return [c for c in parts if c.head != "cycle" or latest.get(str(say.period(c, say.fastest(c))), c) is c]


def _told(c: Component, stepped: bool) -> bool:
    """True for a part of which the trend has spoken; steps leave the others to speak for themselves."""
    if c.head in ("cycle", "noise", "waves"):
        return False
    if stepped:
        return c.head == "step" or bool(beside(c))
    return c.head != "smooth" or say.relative_lengthscale(c) >= say.LONG


def _trend(facts: Facts) -> str:
    """Where the slow parts go together, and their largest step; empty where they go nowhere or do not predict."""
    t, unit = facts.trend, facts.setting.unit
    if t is None or not t.predicts or t.high - t.low < max(SEEN * facts.setting.spread, t.change_sd):
        return ""
    steps = [j for j in t.jumps if abs(j.change) > max(2 * j.sd, 0.5 * (t.high - t.low))]
    if steps:
        largest = sorted(steps, key=lambda j: -abs(j.change))[:2]
        return listed([_step(facts, j) for j in sorted(largest, key=lambda j: j.at)])
    if abs(t.change) > 2 * t.change_sd and t.straight >= say.STRAIGHT:
        return _steady(facts, t)
    if t.monotone and abs(t.change) > 2 * t.change_sd:
        way = "up" if t.change > 0 else "down"
        ends = between(t.first, t.last, unit, "to")
        return Said(f"{way} from about {ends}", Claim("trend", "direction", way), *_ends(t))
    return _turning(facts, t)


def _step(facts: Facts, step: Jump) -> Said:
    """ "down by about 1,400 EUR in 1955"."""
    way, size = "up" if step.change > 0 else "down", quantity(abs(step.change), facts.setting.unit, step.sd)
    claim = Claim("step", f"change at {step.at:.9g}", step.change)
    place = next((where(c, step) for c in facts.components if step in c.jumps), at(facts.setting.axes[0], step.at))
    return Said(f"{way} by about {size} {place}", claim)


def _ends(t: Trend) -> tuple[Claim, Claim]:
    return Claim("trend", "first", t.first), Claim("trend", "last", t.last)


def _steady(facts: Facts, t: Trend) -> Said:
    """ "up by about 32 thousand a year"."""
    axis, way = facts.setting.axes[0], "up" if t.change > 0 else "down"
    rate, per = axis.rate(abs(t.change) / (axis.span or 1.0))
    sd, _ = axis.rate(t.change_sd / (axis.span or 1.0))
    slope = t.change / (axis.span or 1.0)
    claims = Claim("trend", "direction", way), Claim("trend", "slope", slope)
    for c in facts.patterns:  # that of one part, if it differs by no more than two numbers for one thing would
        own = c.shape.slope if c.shape is not None and (c.head == "line" or say.near_linear(c)) else 0.0
        if abs(own - slope) <= ALIKE * abs(slope):
            return tell(Said(f"{way} by about ", *claims), slope_of(c))
    return Said(f"{way} by about {quantity(rate, facts.setting.unit, sd)} {per}", *claims)


def _turning(facts: Facts, t: Trend) -> Said:
    """ "up from about 12 to 30 thousand in 1955, then down to 20 thousand": a trend with one turn, or its range."""
    axis, unit = facts.setting.axes[0], facts.setting.unit
    top, bottom = t.high - max(t.first, t.last), min(t.first, t.last) - t.low
    if max(top, bottom) < SEEN * (t.high - t.low) or min(top, bottom) > SEEN * (t.high - t.low):
        return Said(f"a slow variation between {between(t.low, t.high, unit)}")
    up = top > bottom
    turn, when = (t.high, t.high_at) if up else (t.low, t.low_at)
    first, then = ("up", "down") if up else ("down", "up")
    sizes = between(t.first, turn, unit, "to"), quantity(t.last, unit, facts.setting.spread / 10)
    text = f"{first} from about {sizes[0]} {at(axis, when)}, then {then} to {sizes[1]}"
    return Said(text, *_ends(t), Claim("trend", "turn", turn))


def _clause(c: Component) -> str:
    where = place(c)
    tail = f" ({where})" if where else ""
    if c.head == "cycle" and say.comes_round(c):
        period = say.period(c, say.fastest(c))
        if growth.moves(c) or ((course := growth.course(c)) and course.way != "steady"):
            return tell(period, " whose swings ", _grew(c), tail)
        return tell(period, " that measures ", growth.swings(c), " from trough to peak", tail)
    return tell(say.noun(c), tail)


def _grew(c: Component) -> str:
    """ "grew from about 40 to 250 thousand"."""
    course = growth.course(c)
    assert course is not None
    if course.way == "smallest inside":
        return growth.verb(c, plural=True).replace("are ", "were ", 1)
    way = "grew" if course.way == "growing" else "shrank"
    return tell(Said(way, about_part(c, "way", course.way)), growth.from_to(c))


def strays(facts: Facts) -> Said:
    """How far a single observation strays: "±6.4 thousand"; of noise that has changed, at first and at last."""
    course, unit = facts.noise, facts.setting.unit
    if course.way == "steady" or not facts.setting.series:
        return Said(f"±{quantity(facts.noise_sd, unit)}", Claim("noise", "size", facts.noise_sd))
    claims = Claim("noise", "first size", course.first), Claim("noise", "last size", course.last)
    return Said(f"±{number(course.first)} at first and ±{quantity(course.last, unit)} at last", *claims)


def expects(facts: Facts) -> str:
    """The forecast: at the next peak of the leading cycle, or at its end."""
    f, axis = facts.forecast, facts.setting.axes[0]
    if f is None:
        return ""
    if f.cycle is not None:
        claim = Claim(f"part {f.part}", "peak", f.peak.at)
        return tell(Said(f"at the next peak, {_when(f, facts)}, the model expects ", claim), _interval(facts, f.peak))
    when = f"for {axis.around(f.end.at)}" if axis.in_years else f"at {axis.name} = {axis.around(f.end.at)}"
    return tell(f"{when} the model expects ", _interval(facts, f.end))


def _when(f: Forecast, facts: Facts) -> str:
    text = say.peak(f, facts.setting.axes[0])
    day = text.partition(" ")[0] in WEEKDAYS and ":" not in text
    return f"in {text}" if text.isdigit() else f"{'on' if day else 'around'} {text}"


def _interval(facts: Facts, ahead: Outlook) -> Said:
    """ "between 624 and 672 thousand (90 %)"; of a forecast without any noise, its value."""
    unit = facts.setting.unit
    claims = (
        Claim("forecast", f"low at {ahead.at:.9g}", ahead.low),
        Claim("forecast", f"high at {ahead.at:.9g}", ahead.high),
    )
    if number(ahead.low, None, 6) == number(ahead.high, None, 6):
        return Said(f"about {quantity(ahead.mean, unit)}", *claims)
    return Said(f"between {between(ahead.low, ahead.high, unit)} (90 %)", *claims)
