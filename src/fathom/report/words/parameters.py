"""The table of a component's parameters: a plain name, the value with its unit, and the interval."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fathom.report.facts.part import PERIODIC, SMOOTH, Component, Estimate
from fathom.report.facts.setting import Axis
from fathom.report.numbers import number


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    value: str
    interval: str
    unit: str


def rounded(kernel: str) -> str:
    """The text of a kernel with its numbers rounded to six digits."""
    return re.sub(r"\d+\.\d{4,}(e[-+]?\d+)?", lambda found: f"{float(found.group()):.6g}", kernel)


def rows(c: Component) -> list[Row]:
    """All parameters of a component."""
    return [_row(c, e) for e in c.estimates]


def _row(c: Component, e: Estimate) -> Row:
    factor = c.factors[e.factor]
    inputs = factor.inputs or (c.setting.time or 0,)
    axis = c.setting.axes[inputs[e.entry] if e.entry < len(inputs) else inputs[0]]
    name = _name(factor.kind, e.name)
    if e.name == "lengthscale" and len(factor.inputs) > 1:
        name = f"{name}, {axis.name}"
    place = e.name == "location" and axis.rule is not None
    shown = axis.around(e.value, e.sd) if place else number(e.value, e.sd, 3)
    unit = "" if place else _unit(c, factor.kind, e.name, axis)
    return Row(name, shown, _interval(e, axis, place), unit)


def _interval(e: Estimate, axis: Axis, place: bool) -> str:
    if e.low is None or e.high is None:
        return "the data cannot tell" if e.determined is False else "not examined"
    if place:
        return f"{axis.around(e.low)} to {axis.around(e.high)}"
    return f"{number(e.low, e.sd)} to {number(e.high, e.sd)}"


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


def _unit(c: Component, kind: str, name: str, axis: Axis) -> str:
    along = "years" if axis.in_years else axis.unit
    if name == "variance":
        lines = len(c.of_kind("Lin"))
        own = f"({c.setting.unit})²" if c.setting.unit else ""
        power = "²⁴⁶⁸"[lines - 1] if 1 <= lines <= 4 else ""
        return f"{own} per ({along}){power}" if own and along and power else own
    if name == "lengthscale" and kind in PERIODIC:
        return "(relative to the period)"
    if name == "steepness":
        return f"per {along.removesuffix('s')}" if along else ""
    return along if name in ("lengthscale", "period", "width", "location") else ""
