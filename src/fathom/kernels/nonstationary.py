"""Base kernels of rank one: lines, steps, windows and lists of days, which multiply a function by a weight.

As in `stationary.py`, each states its weight for NumPy and JAX (`weight`) and again with slopes (`weight_slopes`).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import expit

from fathom.base.arrays import Array, Namespace, special
from fathom.kernels.base import VARIANCE, Gradients, Leaf, Parameter, Pull
from fathom.kernels.stationary import Slopes, scaled

LOCATION = Parameter("location", "real", "location", 0.0)
STEEPNESS = Parameter("steepness", "positive", "frequency", 1.0)
WIDTH = Parameter("width", "positive", "length", 1.0)


class RankOne(Leaf):
    """w(x) w(x'): multiplies a function by w."""

    one_input = True

    def weight(self, x: Array, xp: Namespace) -> Array:
        raise NotImplementedError

    def weight_slopes(self, x: np.ndarray) -> tuple[np.ndarray, Slopes]:
        """w at the inputs and its slopes in the parameters."""
        raise NotImplementedError

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        return self.variance * self.weight(self.columns(X), xp) * self.weight(self.columns(Z), xp).T

    def evaluate_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        return self.variance * self.weight(self.columns(X)[:, 0], xp) ** 2

    def vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        (w, by_w), (v, by_v) = (self.weight_slopes(self.columns(M)[:, 0]) for M in (X, Z))

        def pull(H: np.ndarray) -> Gradients:
            left, right = self.variance * (H @ v), self.variance * (w @ H)
            return {(0, "variance"): left @ w, **{(0, p): left @ by_w[p] + right @ by_v[p] for p in by_w}}

        return self.variance * np.multiply.outer(w, v), pull

    def vjp_diag(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        w, slopes = self.weight_slopes(self.columns(X)[:, 0])
        return scaled(self.variance, w**2, {name: 2 * w * slope for name, slope in slopes.items()})


class Lin(RankOne):
    """A linear function with a zero at `location`: (x − c)(x' − c), thesis B.3."""

    name = "Lin"
    parameters = (VARIANCE, LOCATION)

    def weight(self, x: Array, xp: Namespace) -> Array:
        return x - self.location

    def weight_slopes(self, x: np.ndarray) -> tuple[np.ndarray, Slopes]:
        return x - self.location, {"location": np.full_like(x, -1.0)}


class Before(RankOne):
    """σ̄: 1 until `location`, 0 afterwards; the weight is 1 − a, a(x) = ½(1 + tanh κ(x − location))."""

    name = "Before"
    parameters: ClassVar[tuple[Parameter, ...]] = (VARIANCE, LOCATION, STEEPNESS)
    side: ClassVar[float] = -1.0

    def weight(self, x: Array, xp: Namespace) -> Array:
        return special(xp).expit(2 * self.side * self.steepness * (x - self.location))

    def weight_slopes(self, x: np.ndarray) -> tuple[np.ndarray, Slopes]:
        u = 2 * self.side * self.steepness * (x - self.location)
        w = expit(u)
        slope = w * expit(-u)
        return w, {"location": -2 * self.side * self.steepness * slope, "steepness": u * slope}


class After(Before):
    """σ: 0 until `location`, 1 afterwards."""

    name = "After"
    side = 1.0


class Inside(RankOne):
    """1 inside a window of `width` around `location`, 0 outside: a rising times a falling step."""

    name = "Inside"
    parameters: ClassVar[tuple[Parameter, ...]] = (VARIANCE, LOCATION, WIDTH, STEEPNESS)

    def weight(self, x: Array, xp: Namespace) -> Array:
        rise, fall = self._phases(x)
        return special(xp).expit(rise) * special(xp).expit(fall)

    def weight_slopes(self, x: np.ndarray) -> tuple[np.ndarray, Slopes]:
        rise, fall = self._phases(x)
        w = expit(rise) * expit(fall)
        by_rise, by_fall = w * expit(-rise), w * expit(-fall)
        return w, {
            "location": 2 * self.steepness * (by_fall - by_rise),
            "width": self.steepness * self.width * (by_rise + by_fall),
            "steepness": rise * by_rise + fall * by_fall,
        }

    def _phases(self, x: Array) -> tuple[Array, Array]:
        centred, half = x - self.location, self.width / 2
        return 2 * self.steepness * (centred + half), -2 * self.steepness * (centred - half)


class Outside(Inside):
    """1 outside a window, 0 inside."""

    name = "Outside"

    def weight(self, x: Array, xp: Namespace) -> Array:
        return 1 - super().weight(x, xp)

    def weight_slopes(self, x: np.ndarray) -> tuple[np.ndarray, Slopes]:
        w, slopes = super().weight_slopes(x)
        return 1 - w, {name: -slope for name, slope in slopes.items()}


class Days(RankOne):
    """1 on the stretches from each of `starts` to its entry in `ends`, 0 elsewhere: days that are known in advance."""

    name = "Days"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        VARIANCE,
        Parameter("starts", "fixed", "location", (0.0,), size="list"),
        Parameter("ends", "fixed", "location", (1.0,), size="list"),
    )

    def weight(self, x: Array, xp: Namespace) -> Array:
        begun, over = (xp.sort(xp.atleast_1d(xp.asarray(v))) for v in (self.starts, self.ends))
        inside = xp.searchsorted(begun, x, side="right") > xp.searchsorted(over, x, side="right")
        return xp.where(inside, 1.0, 0.0)

    def weight_slopes(self, x: np.ndarray) -> tuple[np.ndarray, Slopes]:
        return self.weight(x, np), {}
