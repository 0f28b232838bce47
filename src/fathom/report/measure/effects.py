"""Which inputs matter when there are several: shares of variance, and the effect of each with the others averaged."""

from __future__ import annotations

import numpy as np

from fathom.report.facts.whole import Effect, OrderShare
from fathom.report.measure.anatomy import Anatomy
from fathom.report.measure.shape import direction, half_way

PLACES = 25  # of an input, at its quantiles, where its effect is taken
MOST_ROWS = 200  # of the data, over which the other inputs are averaged
SHUFFLES = 10


def effects(anatomy: Anatomy, inputs: list[tuple[int, ...]], means: list[np.ndarray]) -> list[Effect]:
    """The effect of every input, those that matter most first."""
    parts = [i for i in range(len(anatomy.parts)) if not anatomy.noisy[i]]
    whole = np.sum([means[i] for i in parts], axis=0) if parts else np.zeros_like(anatomy.y)
    variance = float(np.var(whole)) or 1.0
    found = []
    for d in range(anatomy.X.shape[1]):
        touched = [i for i in parts if d in inputs[i]]
        alone = [i for i in touched if inputs[i] == (d,)]
        share = float(np.var(np.sum([means[i] for i in alone], axis=0))) / variance if alone else 0.0
        # a finite number of shuffles can overshoot
        total = min(_shuffled(anatomy, touched, d) / variance, 1.0) if touched else 0.0
        found.append(_effect(anatomy, touched, d, total, share))
    return sorted(found, key=lambda e: (-round(e.total, 9), e.input))


def _shuffled(anatomy: Anatomy, parts: list[int], d: int) -> float:
    """Half the mean squared change of the mean when one input is shuffled (Jansen's estimator)."""
    rng = np.random.default_rng(0)
    rows = _some(anatomy.X, 4 * MOST_ROWS)
    here, lost = anatomy.mean(parts, rows), []
    for _ in range(SHUFFLES):
        moved = rows.copy()
        moved[:, d] = rng.permutation(rows[:, d])
        lost.append(float(np.mean((anatomy.mean(parts, moved) - here) ** 2)) / 2)
    return float(np.mean(lost))


def _effect(anatomy: Anatomy, parts: list[int], d: int, total: float, alone: float) -> Effect:
    x = np.unique(np.quantile(anatomy.X[:, d], np.linspace(0, 1, PLACES)))
    rows = np.repeat(_some(anatomy.X, MOST_ROWS)[None], len(x), axis=0)
    rows[:, :, d] = x[:, None]
    flat = rows.reshape(-1, rows.shape[2])
    curve = anatomy.mean(parts, flat).reshape(len(x), -1).mean(1) if parts else np.zeros(len(x))
    ends = anatomy.rows({d: x[[0, -1]]})
    monotone = direction(curve, 0.02 * float(np.ptp(curve)))  # a wiggle of the average that no reader could see
    return Effect(
        input=d,
        total=total,
        alone=alone,
        x=tuple(map(float, x)),
        mean=tuple(map(float, curve + anatomy.level)),
        monotone=monotone,
        change=float(curve[-1] - curve[0]),
        change_sd=anatomy.change(parts, ends)[1] if parts else 0.0,
        width=float(np.ptp(curve)),
        peak=float(x[np.argmax(curve)]),
        trough=float(x[np.argmin(curve)]),
        half_at=half_way(x, curve) if monotone else None,
    )


def orders(anatomy: Anatomy, inputs: list[tuple[int, ...]], means: list[np.ndarray]) -> tuple[OrderShare, ...]:
    """Shares of variance by the number of inputs, from covariances with the whole: no variance counts twice."""
    parts = [i for i in range(len(anatomy.parts)) if not anatomy.noisy[i] and inputs[i]]
    if not parts:
        return ()
    whole = np.sum([means[i] for i in parts], axis=0)
    variance = float(np.var(whole)) or 1.0
    found: dict[int, float] = {}
    for i in parts:
        share = float(np.mean((means[i] - means[i].mean()) * (whole - whole.mean()))) / variance
        found[len(inputs[i])] = found.get(len(inputs[i]), 0.0) + share
    return tuple(OrderShare(order, share) for order, share in sorted(found.items()))


def _some(X: np.ndarray, most: int) -> np.ndarray:
    if len(X) <= most:
        return X
    return X[np.sort(np.random.default_rng(0).choice(len(X), most, replace=False))]
