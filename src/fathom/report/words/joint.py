"""Words for components that join several inputs, and for the inputs of a model of many."""

from __future__ import annotations

from fathom.report.facts.part import PERIODIC, SMOOTH, Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Effect, Facts
from fathom.report.numbers import percent, quantity
from fathom.report.words.growth import about_part
from fathom.report.words.said import Claim, Said, tell
from fathom.report.words.text import capital, counted, listed, sentence, stretches

HARDLY = 3.0  # lengthscale over range beyond which a function hardly bends along an input
OVER = "varies over about "
LEAST = 0.005  # of the variance: an input below it does not matter


def names(c: Component) -> str:
    """ "age and water", "eight inputs"."""
    if len(c.inputs) > 3:
        return counted(len(c.inputs), "input")
    return listed([c.setting.axes[i].name for i in c.inputs])


def summary(c: Component) -> str:
    """The phrase for a component of several inputs."""
    if c.head == "noise":
        return f"noise whose standard deviation changes with {names(c)}"
    size = Said(f"about ±{quantity(c.at_data.size, c.setting.unit)}", about_part(c, "size", c.at_data.size))
    return tell(f"a joint effect of {names(c)}, of ", size)


def body(c: Component) -> list[str]:
    """Sentences on a component of several inputs: its size, and how it varies along each."""
    said: list[str] = [tell("this part is ", summary(c))]
    if c.head != "noise":
        low, high = (quantity(v, c.setting.unit) for v in (c.at_data.low, c.at_data.high))
        said.append(f"over the data it lies between {low} and {high}")
    moves = [text for i in c.inputs for text in _along(c, i)]
    spans = [text.removeprefix(OVER) for text in moves if text.startswith(OVER)]
    others = [text for text in moves if not text.startswith(OVER)]
    if spans:
        said.append(f"it {OVER}{listed(spans)}")
    said += [f"it {text}" for text in others]
    for region in c.regions:
        axis = c.setting.axes[region.input]
        if where := stretches(region.within(axis.low, axis.high), axis):
            said.append(f"along {axis.name} it applies {where}")
    return [sentence(text) for text in said]


def _along(c: Component, i: int) -> list[str]:
    axis, said = c.setting.axes[i], []
    for f in c.factors:
        if i not in f.inputs:
            continue
        if f.kind in SMOOTH:
            ell = f.values["lengthscale"][f.inputs.index(i)] if len(f.values["lengthscale"]) > 1 else f["lengthscale"]
            hardly = ell > HARDLY * axis.span
            said.append(f"hardly bends along {axis.name}" if hardly else f"{OVER}{axis.stretch(ell)}")
        elif f.kind in PERIODIC:
            said.append(f"repeats every {axis.stretch(f['period'], 2)}")
        elif f.kind == "Lin":
            said.append(f"changes linearly with {axis.name}")
    lines = [text for text in said if text.startswith("changes linearly")]
    if lines and len(said) > len(lines):  # a line that scales the rest makes no straight line of it
        return [text for text in said if text not in lines] + [f"changes its size with {axis.name}"]
    return said


def matters(facts: Facts) -> list[Effect]:
    """The inputs that matter, most first."""
    return [e for e in facts.effects if e.total >= LEAST]


def effect(facts: Facts, e: Effect) -> Said:
    """A sentence on one input: its share, its direction, and how far it moves the target."""
    axis, unit, target = facts.setting.axes[e.input], facts.setting.unit, facts.setting.target
    about = f"input {e.input}"
    share = Said(f"{percent(e.total)} of what the model explains", Claim(about, "share", e.total))
    reach = Said(f"about {quantity(e.width, unit)}", Claim(about, "width", e.width))
    if not e.monotone:
        where = f"highest {_near(axis, e.peak)} and lowest {_near(axis, e.trough)}"
        claims = Claim(about, "peak", e.peak), Claim(about, "trough", e.trough)
        return tell(capital(axis.name), " (", share, f"): {target} is ", Said(where, *claims), ", ", reach, " apart.")
    if not e.way:
        return tell(
            capital(axis.name), " (", share, f"): whether {target} rises or falls {axis.along} the data cannot tell."
        )
    way = Said("rises" if e.way > 0 else "falls", Claim(about, "direction", e.way))
    half = f", half of it by {_at(axis, e.half_at)}" if e.half_at is not None and _bent(axis, e.half_at) else ""
    opening = tell(capital(axis.name), " (", share, f"): {target} ", way, f" {axis.along}, by ", reach)
    return tell(opening, " over the range of the data", half, ".")


def _near(axis: Axis, value: float) -> str:
    """ "near 7 days"; at an end of the range, "at the lowest age"."""
    room = 0.01 * axis.span
    if value <= axis.low + room or value >= axis.high - room:
        return f"at the {'lowest' if value <= axis.low + room else 'highest'} {axis.called}"
    return f"near {_at(axis, value)}"


def _at(axis: Axis, value: float) -> str:
    """A value of an input, named where it has no unit: "7 days", "0.55 of water"."""
    text = axis.around(value)
    return text if axis.unit or axis.rule is not None else f"{axis.name} {text}"


def _bent(axis: Axis, half_at: float) -> bool:
    """True when half of the change is well away from the middle of the range: a straight line needs no remark."""
    return abs((half_at - axis.low) / (axis.span or 1.0) - 0.5) > 0.1


def orders(facts: Facts) -> list[str]:
    """A sentence on how much is additive and how much is interaction."""
    if not facts.orders:
        return []
    share = {o.order: o.share for o in facts.orders}
    alone, joint = share.get(1, 0.0), sum(s for order, s in share.items() if order > 1)
    if len(share) == 1 and 1 in share:
        return ["Every input acts on its own: the model has no interactions."]
    if 1 not in share:
        return ["The inputs act jointly: the model does not tell their effects apart."]
    return [
        f"Effects of single inputs make up {percent(alone)} of what the model explains, joint effects {percent(joint)}."
    ]


def matter_most(facts: Facts) -> Said:
    """The inputs that matter most, for the first line of a page."""
    top = matters(facts)[:3]
    if not top:
        return Said("none of the inputs matters")
    verb = "matters" if len(top) == 1 else "matter"
    return tell(listed([_moving(facts, e) for e in top]), f" {verb} most")


def _moving(facts: Facts, e: Effect) -> Said:
    """An input with its direction, if it has one: "age (rising)"."""
    name, way = facts.setting.axes[e.input].name, {1: "rising", -1: "falling", 0: ""}[e.way]
    return Said(f"{name} ({way})", Claim(f"input {e.input}", "direction", e.way)) if way else Said(name)
