"""The table of a component's parameters: a plain name, the value with its unit, and the interval."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fathom.kernels.syntax import shortened
from fathom.report.facts.part import PERIODIC, SMOOTH, Component, Estimate
from fathom.report.facts.setting import Axis, singular
from fathom.report.numbers import differing, number
from fathom.report.words.places import both


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    value: str
    interval: str
    unit: str


def rounded(kernel: str) -> str:
    """The text of a kernel with its numbers rounded to six digits and long lists cut short."""
    return re.sub(r"\d+\.\d{4,}(e[-+]?\d+)?", lambda found: f"{float(found.group()):.6g}", shortened(kernel))


def rows(c: Component) -> list[Row]:
    """All parameters of a component."""
    return [_row(c, e) for e in c.estimates]


def _row(c: Component, e: Estimate) -> Row:
    factor = c.all_factors[e.factor]
    inputs = factor.inputs or (c.setting.time or 0,)
    axis = c.setting.axes[inputs[e.entry] if e.entry < len(inputs) else inputs[0]]
    name = _name(factor.kind, e.name)
    if e.name == "lengthscale" and len(factor.inputs) > 1:
        name = f"{name}, {axis.name}"
    if e.name == "location" and axis.rule is not None:
        return Row(name, axis.around(e.value, e.sd), _interval(e, lambda low, high: both(axis, low, high)), "")
    size, unit = _unit(c, factor.kind, e, axis)
    sd = None if e.sd is None else e.sd / size
    interval = _interval(e, lambda low, high: _numbers(low / size, high / size, sd))
    return Row(name, number(e.value / size, sd, 3), interval, unit)


def _interval(e: Estimate, write: Callable[[float, float], str]) -> str:
    if e.fixed:
        return "of the calendar, not fitted" if e.name == "period" else "given, not fitted"
    if e.low is None or e.high is None:
        return "the data cannot tell" if e.determined is False else "not examined"
    return write(e.low, e.high)


def _numbers(low: float, high: float, sd: float | None) -> str:
    """Two ends as coarse as the uncertainty allows, but no coarser than they need to differ."""
    texts = number(low, sd), number(high, sd)
    texts = texts if texts[0] != texts[1] else differing(low, high) or texts
    return f"{texts[0]} to {texts[1]}" if texts[0] != texts[1] else texts[0]


_SWITCH = dict.fromkeys(("Before", "After"), "place of the change")
_SWITCH |= dict.fromkeys(("Inside", "Outside"), "middle of the window")


def _name(kind: str, name: str) -> str:
    if name == "lengthscale":
        return "distance over which it varies" if kind in SMOOTH else "coarseness within a cycle"
    if name == "location":
        return _SWITCH.get(kind, "where it is zero")
    names = {
        "variance": "variance",
        "period": "period",
        "steepness": "abruptness of the change",
        "width": "width of the window",
        "alpha": "evenness of scales",
    }
    return names.get(name, name.replace("_", " "))


def _unit(c: Component, kind: str, e: Estimate, axis: Axis) -> tuple[float, str]:
    """What a parameter is counted in: (size, unit)."""
    if e.name == "variance":
        return _squared(c, axis)
    if e.name == "lengthscale" and kind in PERIODIC:
        return 1.0, "(relative to the period)"
    if e.name in ("lengthscale", "period", "width", "location"):
        return axis.scale(e.value)
    if e.name == "steepness":
        size, unit = axis.scale(1 / e.value) if e.value > 0 else (1.0, "")
        return 1 / size, f"per {singular(unit)}"
    return 1.0, ""


def _squared(c: Component, axis: Axis) -> tuple[float, str]:
    """What a variance is counted in, which a line divides by the square of its input."""
    lines, (size, along) = len(c.of_kind("Lin")), axis.scale(axis.span)
    own = f"({c.setting.unit})²" if c.setting.unit else ""
    power = "²⁴⁶⁸"[lines - 1] if 1 <= lines <= 4 else ""
    return size ** (-2 * lines), f"{own} per ({singular(along)}){power}" if own and power else own
