"""Words for cycles of one period that a reader meets as one part: which of it lasts, and which drifts."""

from __future__ import annotations

from fathom.report.facts.part import SMOOTH, Component, Factor
from fathom.report.facts.setting import Axis
from fathom.report.words.text import counted, listed

LASTING = "one that repeats unchanged"


def drift(c: Component) -> str:
    """A clause on what changes: ", part of which drifts over about 3 years"; empty where nothing does."""
    reaches = _reaches(c)
    if not reaches:
        return ""
    who = ", part of which" if len(reaches) < len(_products(c)) else " whose shape"
    return f"{who} drifts over about {listed(list(dict.fromkeys(reaches)))}"


def drifts(c: Component) -> bool:
    """True when some of the part changes its shape."""
    return bool(_reaches(c))


def terms(c: Component) -> str:
    """What the part adds up."""
    each = [_term(product, _axis(c)) for product in _products(c)]
    if set(each) == {LASTING}:
        return "every cycle is the same"
    return f"it adds up {counted(len(each), 'cycle')} of the same period: {listed(list(dict.fromkeys(each)))}"


def ahead(c: Component) -> str:
    """How the part continues beyond the data."""
    reaches, lines = _reaches(c), any(f.kind == "Lin" for product in _products(c) for f in product)
    lasting = len(reaches) < len(_products(c))
    if not reaches:
        return f"the cycle repeats{', its swings changing along the same line' if lines else ' unchanged'}"
    said = f"what drifts of the cycle has faded after about {reaches[-1]}"
    return f"{said}, and the rest of it repeats" if lasting else f"the cycle keeps its period; {said}"


def _products(c: Component) -> tuple[tuple[Factor, ...], ...]:
    return (c.factors, *c.also)


def _axis(c: Component) -> Axis:
    return c.setting.axes[c.inputs[0]]


def _reach(product: tuple[Factor, ...]) -> float | None:
    return min((f["lengthscale"] for f in product if f.kind in SMOOTH), default=None)


def _reaches(c: Component) -> list[str]:
    """Over what distances the shape of each product that drifts changes, shortest first."""
    found = sorted(reach for product in _products(c) if (reach := _reach(product)) is not None)
    return [_axis(c).length(reach) for reach in found]


def _term(product: tuple[Factor, ...], axis: Axis) -> str:
    reach, lines = _reach(product), sum(f.kind == "Lin" for f in product)
    shape = LASTING if reach is None else f"one whose shape drifts over about {axis.length(reach)}"
    if not lines:
        return shape
    grows = f"swings change {'linearly' if lines == 1 else 'as a power'} {axis.along}"
    return f"one whose {grows}" if reach is None else f"{shape} and whose {grows}"
