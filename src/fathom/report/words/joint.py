"""Words for components that join several inputs, and for the inputs of a model of many."""

from __future__ import annotations

from fathom.report.facts.part import PERIODIC, SMOOTH, Component
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Effect, Facts
from fathom.report.numbers import percent, quantity
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
    size = quantity(c.at_data.size, c.setting.unit)
    return f"a joint effect of {names(c)}, of about ±{size}"


def body(c: Component) -> list[str]:
    """Sentences on a component of several inputs: its size, and how it varies along each."""
    said = [f"this part is {summary(c)}"]
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
    return said


def matters(facts: Facts) -> list[Effect]:
    """The inputs that matter, most first."""
    return [e for e in facts.effects if e.total >= LEAST]


def effect(facts: Facts, e: Effect) -> str:
    """A sentence on one input: its share, its direction, and how far it moves the target."""
    axis, unit, target = facts.setting.axes[e.input], facts.setting.unit, facts.setting.target
    share = f"{percent(e.total)} of what the model explains"
    reach = f"about {quantity(e.width, unit)}"
    if e.monotone:
        way = "rises" if e.monotone > 0 else "falls"
        half = f", half of it by {_at(axis, e.half_at)}" if e.half_at is not None and _bent(axis, e.half_at) else ""
        return sentence(
            f"{axis.name} ({share}): {target} {way} {axis.along}, by {reach} over the range of the data{half}"
        )
    peaks = f"highest near {_at(axis, e.peak)} and lowest near {_at(axis, e.trough)}"
    return sentence(f"{axis.name} ({share}): {target} is {peaks}, {reach} apart")


def _at(axis: Axis, value: float) -> str:
    return axis.around(value)


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


def headline(facts: Facts) -> str:
    """The inputs that matter most, for the first line of a page."""
    top = matters(facts)[:3]
    if not top:
        return f"{capital(facts.setting.target)}: none of the inputs matters"
    texts = [f"{facts.setting.axes[e.input].name} ({_way(e)}{percent(e.total)})" for e in top]
    verb = "matters" if len(top) == 1 else "matter"
    return f"{capital(facts.setting.target)}: {listed(texts)} {verb} most"


def _way(e: Effect) -> str:
    return {1: "rising, ", -1: "falling, ", 0: ""}[e.monotone]
