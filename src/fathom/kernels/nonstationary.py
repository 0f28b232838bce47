"""Base kernels that are not functions of the lag: rank-one weights (lines, steps, windows) and arc-cosine.

As in `stationary.py`, each states its shape for NumPy and JAX (`weight`) and again with sensitivities
(`weight_slopes`).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from fathom.base.arrays import Array, special
from fathom.kernels.base import VARIANCE, Leaf, Parameter
from fathom.kernels.stationary import ARD_LENGTHSCALE, Slopes, safe_sqrt

LOCATION = Parameter("location", "real", "location", 0.0)
STEEPNESS = Parameter("steepness", "positive", "frequency", 1.0)
WIDTH = Parameter("width", "positive", "length", 1.0)


class RankOne(Leaf):
    """w(x) w(x'): multiplies a function by w."""

    one_input = True

    def weight(self, x: Array, xp: Any) -> Array:
        raise NotImplementedError

    def weight_slopes(self, x: np.ndarray) -> tuple[np.ndarray, Slopes]:
        """w at the inputs and its sensitivities."""
        raise NotImplementedError

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Any) -> Array:
        return self.variance * self.weight(self.columns(X), xp) * self.weight(self.columns(Z), xp).T

    def evaluate_diag(self, X: Array, same: bool, xp: Any) -> Array:
        return self.variance * self.weight(self.columns(X)[:, 0], xp) ** 2


class Lin(RankOne):
    """A linear function with a zero at `location`: (x − c)(x' − c), thesis B.3."""

    name = "Lin"
    parameters = (VARIANCE, LOCATION)

    def weight(self, x: Array, xp: Any) -> Array:
        return x - self.location

    def weight_slopes(self, x: np.ndarray) -> tuple[np.ndarray, Slopes]:
        return x - self.location, {"location": np.full_like(x, -1.0)}


class Before(RankOne):
    """σ̄: 1 until `location`, 0 afterwards; the weight is 1 − a, a(x) = ½(1 + tanh κ(x − location))."""

    name = "Before"
    parameters: ClassVar[tuple[Parameter, ...]] = (VARIANCE, LOCATION, STEEPNESS)
    side: ClassVar[float] = -1.0

    def weight(self, x: Array, xp: Any) -> Array:
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

    def weight(self, x: Array, xp: Any) -> Array:
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

    def weight(self, x: Array, xp: Any) -> Array:
        return 1 - super().weight(x, xp)

    def weight_slopes(self, x: np.ndarray) -> tuple[np.ndarray, Slopes]:
        w, slopes = super().weight_slopes(x)
        return 1 - w, {name: -slope for name, slope in slopes.items()}


class ArcCos(Leaf):
    """Arc-cosine kernel of order 0, 1 or 2 (Cho and Saul): an infinitely wide layer of step, ramp or squared-ramp
    units. With x̃ = ((x − location)/ℓ, 1): |x̃|ⁿ|x̃'|ⁿ J_n(θ)/π, θ the angle between x̃ and x̃'.
    """

    name = "ArcCos"
    parameters = (
        VARIANCE,
        ARD_LENGTHSCALE,
        Parameter("location", "fixed", "location", 0.0, size="per input"),
    )
    static = ("order",)
    default_order = 1

    def __init__(self, **values: Any):
        super().__init__(**values)
        if self.order not in (0, 1, 2):
            raise ValueError(f"ArcCos has order 0, 1 or 2, not {self.order}")
        self._set(order=int(self.order))

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Any) -> Array:
        A, B = ((self.columns(M) - self.location) / self.lengthscale for M in (X, Z))
        a, b = 1 + (A**2).sum(-1)[:, None], 1 + (B**2).sum(-1)[None, :]
        inner = 1 + A @ B.T
        # |x̃||x̃'| sin θ; gradient 0 where the two coincide, as for safe_sqrt
        root = safe_sqrt(xp.maximum(a * b - inner**2, 0.0) * (a * b - inner**2 > 1e-14 * a * b), xp)
        away = math.pi - xp.arctan2(root, inner)
        return self.variance * self._order_form(inner, a * b, root, away) / math.pi

    def _order_form(self, inner: Array, ab: Array, root: Array, away: Array) -> Array:
        if self.order == 0:
            return away
        if self.order == 1:
            return root + away * inner
        return 3 * inner * root + away * (ab + 2 * inner**2)

    def evaluate_diag(self, X: Array, same: bool, xp: Any) -> Array:
        a = 1 + (((self.columns(X) - self.location) / self.lengthscale) ** 2).sum(-1)
        return self.variance * a**self.order * (3.0 if self.order == 2 else 1.0)

    def pull_lengthscale(self, X: np.ndarray, H: np.ndarray) -> np.ndarray:
        """Σ_ij H_ij ∂k_ij/∂ log ℓ_d for unit variance and a symmetric H: the kernel depends on ℓ through the inner
        product I = x̃ᵀx̃' and the squared norms a, b; ∂I/∂ log ℓ_d = −2 x_d x'_d/ℓ_d², ∂a/∂ log ℓ_d = −2 x_d²/ℓ_d².
        """
        A = (self.columns(X) - self.location) / self.lengthscale
        a = 1 + (A**2).sum(-1)[:, None]
        inner, ab = 1 + A @ A.T, a * a.T
        gap = ab - inner**2
        root = np.sqrt(np.where(gap > 1e-14 * ab, gap, 0.0))
        away = np.pi - np.arctan2(root, inner)
        if self.order == 0:
            inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
            by_inner, by_norm = inverse, -0.5 * inner * inverse / a
        elif self.order == 1:
            by_inner, by_norm = away, 0.5 * root / a
        else:
            by_inner, by_norm = 4 * (root + away * inner), inner * root / a + away * a.T
        by_inner, by_norm = H * by_inner, (H * by_norm).sum(1)
        slope = -2 * ((A * (by_inner @ A)).sum(0) + 2 * by_norm @ A**2) / np.pi
        return slope if np.ndim(self.lengthscale) else slope.sum()
