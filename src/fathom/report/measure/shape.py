"""What the posterior of a component looks like along one input: direction, size, swings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from fathom.base import linalg
from fathom.report.facts.part import PERIODIC, SMOOTH, SWITCHES, Direction, Factor, Growth, Head, Shape
from fathom.report.facts.setting import Axis
from fathom.report.measure import statistics as st
from fathom.report.measure.anatomy import Anatomy, products_of
from fathom.report.measure.course import course_of, noise_at, turns

BAND = 0.2  # of a frequency on either side: cycles so much longer or shorter are the same rhythm
LEAST = 1 / 2  # of the variance that a rhythm must hold to be what a reader sees
LEVEL = 0.01  # chance of as strong a rhythm in draws of the part from its prior
DRAWS, MOST_ROWS, FEWEST_CYCLES = 299, 400, 5


def rhythm(anatomy: Anatomy, i: int, x: np.ndarray, rows: np.ndarray, mean: np.ndarray) -> float | None:
    """The period at which the mean of part i rises and falls where it applies; None where none stands out.

    The share of variance within a band of frequencies, at its largest, is compared with that of draws from the prior
    of the part at the same places: a smooth function of any kernel has some strongest rhythm.
    """
    thin = slice(None, None, -(-len(x) // MOST_ROWS))
    x, rows, mean = x[thin], rows[thin], mean[thin]
    if len(x) < 4 * FEWEST_CYCLES or np.ptp(mean) <= 0:
        return None
    Z = anatomy.scaler.x(rows)
    root = linalg.root(anatomy.parts[i].cross(Z, Z))
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(x))) @ root.T
    (share, *chance), (period, *_) = strongest(np.vstack([mean, draws]), x)
    p = (1 + np.sum(np.array(chance) >= share)) / (1 + DRAWS)
    return float(period) if share >= LEAST and p <= LEVEL else None


def strongest(values: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest share of variance that a band of frequencies holds in each row of values, and its mean period."""
    frequency = st.frequencies(x)
    power = 10.0 ** (st.periodogram(values, x) / 10)
    power /= power.sum(1, keepdims=True)
    ratio = frequency[:, None] / frequency
    band = (ratio <= 1 + BAND) & (ratio >= 1 / (1 + BAND))
    band[:, frequency < FEWEST_CYCLES / np.ptp(x)] = False  # too slow to be seen to repeat
    shares = power @ band
    best = shares.argmax(1)
    inside = power * band[:, best].T
    return shares.max(1), inside.sum(1) / np.maximum((inside * frequency).sum(1), np.finfo(float).tiny)


FULL = 0.99  # weight of a switch that is as good as one
FEW = 5  # observations that are too few to tell a shape


def head_of(factors: Sequence[Factor]) -> Head:
    """The noun that describes a product; its other factors become modifiers (Duvenaud thesis, eq. 4.3)."""
    kinds = [f.kind for f in factors]
    if "WN" in kinds:
        return "noise"  # a stationary factor beside it is absorbed, so the order of the two does not matter
    heads: dict[Head, tuple[str, ...]] = {"cycle": PERIODIC, "smooth": SMOOTH, "waves": ("SM",), "bend": ("ArcCos",)}
    for head, members in heads.items():
        if any(kind in members for kind in kinds):
            return head
    if "Lin" in kinds:
        return "line" if kinds.count("Lin") == 1 else "polynomial"
    return "step" if any(kind in (*SWITCHES, "Days") for kind in kinds) else "constant"


def growths_of(factors: Sequence[Factor], axes: Sequence[Axis]) -> tuple[Growth, ...]:
    """How the linear factors scale the rest: growing from a zero before the data, shrinking to one after them."""
    found = []
    for f in factors:
        if f.kind != "Lin":
            continue
        where = f.inputs[0] if f.inputs else 0
        axis, zero = axes[where], f["location"]
        low, high = axis.low + 0.02 * axis.span, axis.high - 0.02 * axis.span  # at the very edge is outside
        way: Direction = "growing" if zero <= low else "shrinking" if zero >= high else "away"
        found.append(Growth(where, zero, way))
    return tuple(found)


def measure(anatomy: Anatomy, i: int, axis: Axis, column: int, factors: Sequence[Factor], own: np.ndarray) -> Shape:
    """The shape of part i, which depends on one column (or on none) of the inputs; `own` is its mean at the rows."""
    x = np.unique(anatomy.X[:, column])
    weight = weight_of(anatomy, i, x)
    inside = x[applies(weight)]
    rows = anatomy.rows({column: inside})  # the other inputs do not matter to this part
    noise, few = anatomy.noisy[i], len(inside) < FEW
    mean = np.zeros(len(inside)) if noise else anatomy.mean([i], rows)
    change, change_sd = (0.0, 0.0) if noise else anatomy.change([i], rows[[0, -1]])
    monotone = 0 if noise else direction(mean, 1e-9 * anatomy.y_sd)
    where = (anatomy.X[:, column] >= inside[0]) & (anatomy.X[:, column] <= inside[-1])
    sizes = noise_at(anatomy, [i], where, own) if noise else own[where]
    cycle, course = None, course_of(anatomy.X[where, column], sizes, factors)
    if not noise and any(f.kind in PERIODIC for f in factors):
        cycle, course = turns(lambda places: anatomy.mean([i], anatomy.rows({column: places})), axis, factors, inside)
    return Shape(
        start=float(inside[0]),
        end=float(inside[-1]),
        strength=float(weight.max()),
        monotone=monotone,
        change=change,
        change_sd=change_sd,
        half_at=half_way(inside, mean) if monotone else None,
        straight=straightness(inside, mean),
        bend=_bend(inside, mean),
        low=float(mean.min()),
        high=float(mean.max()),
        first=float(mean[0]),
        last=float(mean[-1]),
        size=float(np.sqrt(np.mean(sizes**2))) if noise or few else float(np.std(mean)),
        course=course,
        cycle=cycle,
        rhythm=rhythm(anatomy, i, inside, rows, mean) if head_of(factors) == "smooth" else None,
    )


def direction(curve: np.ndarray, slack: float) -> Literal[-1, 0, 1]:
    """1 if the curve never falls by more than `slack` below where it has been, −1 if it never rises so, otherwise 0."""
    if len(curve) < 2 or np.ptp(curve) <= slack:
        return 0
    if np.max(np.maximum.accumulate(curve) - curve) <= slack:
        return 1
    return -1 if np.max(curve - np.minimum.accumulate(curve)) <= slack else 0


def half_way(x: np.ndarray, curve: np.ndarray) -> float:
    """Where half of a monotone change has happened."""
    return float(np.interp(0.5, np.maximum.accumulate((curve - curve[0]) / (curve[-1] - curve[0])), x))


def straightness(x: np.ndarray, curve: np.ndarray) -> float:
    """R² of the best straight line: how nearly the curve is one, whatever the kernel would have allowed."""
    if len(x) < FEW or np.ptp(curve) <= 0:
        return 0.0
    return float(np.corrcoef(x, curve)[0, 1] ** 2)


def _bend(x: np.ndarray, curve: np.ndarray) -> float:
    middle = (x[0] + x[-1]) / 2
    halves = [(x <= middle), (x >= middle)]
    if any(np.sum(half) < FEW for half in halves):
        return 1.0
    first, second = (float(np.polyfit(x[half] - middle, curve[half], 1)[0]) for half in halves)
    return second / first if first * second > 0 else 1.0


def weight_of(anatomy: Anatomy, i: int, x: np.ndarray) -> np.ndarray:
    """Product of the weights of part i's switches along its input; 1 without any."""
    part = anatomy.user(products_of(anatomy.parts[i])[0])  # cycles that are told together have no switches
    weight = np.ones(len(x))
    for leaf in part.children or (part,):
        if leaf.name in (*SWITCHES, "Days"):
            weight = weight * np.asarray(leaf.weight(x, np))
    return weight


def applies(weight: np.ndarray) -> np.ndarray:
    """Where a part is to be measured: at full weight, so that its edges do not count as its shape.

    Soft edges, or one near the end of the data, may leave little or nothing of that: then wherever the part has at
    least half of the largest weight it comes to.
    """
    full, half = weight >= FULL, weight >= 0.5 * float(weight.max())
    return full if 2 * np.sum(full) >= np.sum(half) else half
