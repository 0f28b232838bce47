"""A few plain words for an additive part of a kernel, in the reader's own units: a title, not a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathom.kernels.base import Kernel, walk
from fathom.kernels.combine import Product
from fathom.kernels.leaves import is_noise
from fathom.timeaxis import TimeRule

PERIODIC, ROUGH = ("Per", "MacKay", "Cos"), ("Matern12",)
SMOOTH = ("SE", "RQ", "Matern32", "Matern52", *ROUGH)
_CYCLES = {"Yearly": 1.0, "Half-yearly": 1 / 2, "Quarterly": 1 / 4, "Monthly": 1 / 12, "Weekly": 7 / 365.2425}
_CYCLES["Daily"] = 1 / 365.2425
_DURATIONS = (("year", 1.0), ("month", 1 / 12), ("day", 1 / 365.2425), ("hour", 1 / 8765.82), ("minute", 1 / 525949.2))
_DEGREES = {1: "Straight-line trend", 2: "Quadratic trend", 3: "Cubic trend"}


@dataclass(frozen=True)
class Axis:
    """An input as the reader knows it, and the span of the data on it."""

    name: str
    unit: str
    rule: TimeRule | None
    low: float
    high: float

    @property
    def in_years(self) -> bool:
        """True when the numbers are years, whatever the reader wrote."""
        return self.rule is not None and self.rule.kind in ("date", "decimal year")

    def length(self, value: float, digits: int = 1) -> str:
        """A distance along the axis: "8 months", "3.2 km"."""
        if not self.in_years:
            return f"{_brief(value, digits)} {self.unit}".rstrip()
        noun, size = next((d for d in _DURATIONS if value >= 0.95 * d[1]), _DURATIONS[-1])
        text = _brief(value / size, digits)
        return f"{text} {noun}" if text == "1" else f"{text} {noun}s"

    def place(self, value: float) -> str:
        """A point on the axis: a date as the reader writes it, or a number."""
        return f"{value:.4g} {self.unit}".rstrip() if self.rule is None else self.rule.format(value)


def _brief(value: float, digits: int) -> str:
    """Two digits where the first is small (1.4, 8, 14), or always with `digits=2`; no exponent below a million."""
    leading = value / 10.0 ** np.floor(np.log10(value)) if value > 0 else 0.0
    rounded = float(f"{value:.{2 if leading < 3 else digits}g}")
    return f"{rounded:.0f}" if 10 <= rounded < 1e6 else f"{rounded:g}"


def inputs_of(part: Kernel, names: Sequence[str]) -> tuple[int, ...]:
    """Which inputs a part depends on; none for a constant and for noise."""
    found: set[int] = set()
    for node in walk(part):
        if (node.children and node.inputs is None) or node.name in ("C", "WN"):
            continue
        chosen = range(len(names)) if node.inputs is None else node.inputs
        found |= {names.index(i) if isinstance(i, str) else int(i) for i in chosen}
    return tuple(sorted(found))


def title(part: Kernel, axis: Axis) -> str:
    """What the part is, such as "Yearly cycle, growing with time"."""
    factors: list[Any] = list(part.children) if isinstance(part, Product) else [part]
    of = {kind: [f for f in factors if f.name in kind] for kind in (PERIODIC, SMOOTH)}
    lines = [f for f in factors if f.name == "Lin"]
    words = [_noun(part, of[PERIODIC], of[SMOOTH], lines, factors, axis)]
    if lines and (of[PERIODIC] or of[SMOOTH] or is_noise(part)):
        words.append(_growth(lines, axis))
    if of[PERIODIC] and of[SMOOTH]:
        words.append(f"its shape changing over about {axis.length(_shortest(of[SMOOTH]))}")
    words += [where for f in factors if (where := _where(f, axis))]
    return ", ".join(words)


def _noun(part: Kernel, cycles: list[Any], smooth: list[Any], lines: list[Any], factors: list[Any], axis: Axis) -> str:
    if is_noise(part):
        return "Noise"
    if cycles:
        return _cycle(min(f.period for f in cycles), axis)
    if smooth:
        manner = "Rough" if any(f.name in ROUGH for f in smooth) else "Smooth"
        return f"{manner} variation over about {axis.length(_shortest(smooth))}"
    if lines:
        return _DEGREES.get(len(lines), f"Polynomial trend of degree {len(lines)}")
    others = {"SM": "Mixture of waves", "ArcCos": "Bent line"}
    return next((others[f.name] for f in factors if f.name in others), "Constant level")


def _cycle(period: float, axis: Axis) -> str:
    if axis.in_years:
        for name, length in _CYCLES.items():
            if abs(period / length - 1) < 0.03:
                return f"{name} cycle"
    return f"Cycle of about {axis.length(period, digits=2)}"


def _shortest(smooth: list[Any]) -> float:
    return min(float(np.min(f.lengthscale)) for f in smooth)


def _growth(lines: list[Any], axis: Axis) -> str:
    along = "with time" if axis.rule is not None else f"with {axis.name}"
    places = [float(f.location) for f in lines]
    if all(place <= axis.low for place in places):
        return f"growing {along}"
    if all(place >= axis.high for place in places):
        return f"shrinking {along}"
    middle = next(place for place in places if axis.low < place < axis.high)
    return f"smallest around {axis.place(middle)}"


def _where(factor: Any, axis: Axis) -> str:
    if factor.name in ("Before", "After"):
        return f"{'until' if factor.name == 'Before' else 'from'} {axis.place(factor.location)}"
    if factor.name in ("Inside", "Outside"):
        low, high = (axis.place(factor.location + side * factor.width / 2) for side in (-1, 1))
        return f"{'between' if factor.name == 'Inside' else 'except between'} {low} and {high}"
    return ""
