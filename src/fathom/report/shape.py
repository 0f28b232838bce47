"""What the posterior of a component looks like along one input: direction, size, swings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fathom.report.anatomy import Anatomy
from fathom.report.names import PERIODIC, SMOOTH
from fathom.report.regions import SWITCHES, Factor
from fathom.report.words import Axis

Head = Literal["cycle", "noise", "smooth", "constant", "line", "polynomial", "step", "waves", "bend"]


@dataclass(frozen=True)
class Growth:
    """How a linear factor changes the size of the rest: it is zero at `location`."""

    input: int
    location: float
    direction: Literal["growing", "shrinking", "away"]


@dataclass(frozen=True)
class Cycle:
    """The first and the last whole period of a cycle inside its region."""

    period: float
    swing_start: float  # from trough to peak, in the unit of the target
    swing_end: float
    peak: float  # where the last period is highest and lowest
    trough: float


@dataclass(frozen=True)
class Shape:
    """Measurements of the posterior mean of a component that depends on one input, where it applies."""

    start: float  # the first and the last observation inside the region
    end: float
    monotone: Literal[-1, 0, 1]
    change: float  # of the posterior mean from start to end, and its posterior sd
    change_sd: float
    half_at: float | None  # where half of a monotone change has happened
    low: float  # smallest and largest posterior mean at the observations
    high: float
    size: float  # sd of the posterior mean over the observations
    prior_start: float  # prior sd of the component at start and end; of noise, its sd
    prior_end: float
    cycle: Cycle | None

    @property
    def slope(self) -> float:
        """The change for each unit of the input."""
        return self.change / (self.end - self.start) if self.end > self.start else 0.0


def head_of(factors: Sequence[Factor]) -> Head:
    """The noun of a product: what it is before the other factors modify it (thesis eq. 4.3)."""
    kinds = [f.kind for f in factors]
    if "WN" in kinds:
        return "noise"  # a stationary factor beside it is absorbed, so the order of the two does not matter
    for head, members in (("cycle", PERIODIC), ("smooth", SMOOTH), ("waves", ("SM",)), ("bend", ("ArcCos",))):
        if any(kind in members for kind in kinds):
            return head  # type: ignore[return-value]
    if "Lin" in kinds:
        return "line" if kinds.count("Lin") == 1 else "polynomial"
    return "step" if any(kind in SWITCHES for kind in kinds) else "constant"


def growths_of(factors: Sequence[Factor], axes: Sequence[Axis]) -> tuple[Growth, ...]:
    """The linear factors as modifiers: growing away from a zero left of the data, shrinking towards one right."""
    found = []
    for f in factors:
        if f.kind != "Lin":
            continue
        where = f.inputs[0] if f.inputs else 0
        axis, zero = axes[where], f["location"]
        low, high = axis.low + 0.02 * axis.span, axis.high - 0.02 * axis.span  # at the very edge is outside
        side = "growing" if zero <= low else "shrinking" if zero >= high else "away"
        found.append(Growth(where, zero, side))  # type: ignore[arg-type]
    return tuple(found)


def measure(anatomy: Anatomy, i: int, column: int, factors: Sequence[Factor]) -> Shape:
    """The shape of part i, which depends on one column (or on none) of the inputs."""
    x = np.unique(anatomy.X[:, column])
    inside = x[_envelope(anatomy, i, x, column)]
    rows = _rows(anatomy, inside, column)
    noise = anatomy.noisy[i]
    mean = np.zeros(len(inside)) if noise else anatomy.mean([i], rows)
    change, change_sd = (0.0, 0.0) if noise else anatomy.change(i, rows[[0, -1]])
    monotone = 0 if noise else direction(mean, 1e-9 * anatomy.y_sd)
    priors = anatomy.prior_sd(i, rows)
    return Shape(
        start=float(inside[0]),
        end=float(inside[-1]),
        monotone=monotone,
        change=change,
        change_sd=change_sd,
        half_at=half_way(inside, mean) if monotone else None,
        low=float(mean.min()),
        high=float(mean.max()),
        size=float(np.sqrt(np.mean(priors**2))) if noise else float(np.std(mean)),
        prior_start=float(priors[0]),
        prior_end=float(priors[-1]),
        cycle=None if noise else _cycle(anatomy, i, column, factors, inside),
    )


def direction(curve: np.ndarray, slack: float) -> Literal[-1, 0, 1]:
    """1 if the curve never falls (by more than `slack` in one step), −1 if it never rises, otherwise 0."""
    steps = np.diff(curve)
    if not len(steps) or np.ptp(curve) <= slack:
        return 0
    return 1 if np.all(steps >= -slack) else -1 if np.all(steps <= slack) else 0


def half_way(x: np.ndarray, curve: np.ndarray) -> float:
    """Where half of a monotone change has happened."""
    return float(np.interp(0.5, np.maximum.accumulate((curve - curve[0]) / (curve[-1] - curve[0])), x))


def _rows(anatomy: Anatomy, x: np.ndarray, column: int) -> np.ndarray:
    rows = np.tile(anatomy.X.mean(axis=0), (len(x), 1))  # the other inputs do not matter to this part
    rows[:, column] = x
    return rows


def _envelope(anatomy: Anatomy, i: int, x: np.ndarray, column: int) -> np.ndarray:
    """Where the weights of switches are one, or as near to it as they come."""
    part = anatomy.user(anatomy.parts[i])
    weight = np.ones(len(x))
    for leaf in part.children or (part,):
        if leaf.name in SWITCHES:
            weight = weight * np.asarray(leaf.weight(x, np))
    return weight >= min(0.99, float(weight.max()))


def _cycle(anatomy: Anatomy, i: int, column: int, factors: Sequence[Factor], x: np.ndarray) -> Cycle | None:
    periods = [f["period"] for f in factors if f.kind in PERIODIC]
    if not periods:
        return None
    period = min(periods)
    last = max(x[-1] - period, x[0])
    stretches = [np.linspace(x[0], min(x[0] + period, x[-1]), 97), np.linspace(last, x[-1], 97)]
    first, final = (anatomy.mean([i], _rows(anatomy, s, column)) for s in stretches)
    peak, trough = (float(stretches[1][k]) for k in (np.argmax(final), np.argmin(final)))
    return Cycle(period, float(np.ptp(first)), float(np.ptp(final)), peak, trough)
