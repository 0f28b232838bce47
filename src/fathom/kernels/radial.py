"""Stationary kernels of the distance: one input, or several with a lengthscale each (ARD).

As in `stationary.py`, each states its shape for NumPy and JAX (`phi`) and again with slopes (`profile`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

import numpy as np

from fathom.base.arrays import Array, Namespace
from fathom.kernels.base import VARIANCE, Gradients, Leaf, Parameter, Pull
from fathom.kernels.stationary import Slopes, scaled

ARD_LENGTHSCALE = Parameter("lengthscale", "positive", "length", 1.0, size="per input")


class Radial(Leaf):
    """A function of s = Σ_d (x_d − x'_d)²/ℓ_d²: one input, or several with a lengthscale each (ARD)."""

    parameters: ClassVar[tuple[Parameter, ...]] = (VARIANCE, ARD_LENGTHSCALE)
    stationary = True

    def phi(self, s: Array, xp: Namespace) -> Array:
        raise NotImplementedError

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        """φ(s), φ'(s) (0 at s = 0 where it is infinite: it only ever meets a factor s), and the other slopes."""
        raise NotImplementedError

    def lag(self, tau: np.ndarray) -> tuple[np.ndarray, Slopes]:
        """As for `Stationary`, when there is one input: ∂φ/∂ log ℓ = −2sφ'(s)."""
        s = (tau / np.asarray(self.lengthscale).reshape(-1)[0]) ** 2
        f, slope, others = self.profile(s)
        slope *= s
        slope *= -2
        return f, {"lengthscale": slope, **others}

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        return self.variance * self.phi(self.distance(X, Z, xp), xp)

    def vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        A, B = (self.columns(M) / self.lengthscale for M in (X, Z))
        s = squared_distance(A, B, np)
        f, slope, others = self.profile(s)
        K, pull_others = scaled(self.variance, f, {name: by.ravel() for name, by in others.items()})

        def pull(H: np.ndarray) -> Gradients:
            # Σ H φ'(s) ∂s/∂ log ℓ_d, and ∂s/∂ log ℓ_d = −2(a_d − b_d)² is multiplied out: products, not matrices
            S = self.variance * H * slope
            by_input = S.sum(1) @ A**2 + S.sum(0) @ B**2 - 2 * (A * (S @ B)).sum(0)
            by = -2 * by_input if np.ndim(self.lengthscale) else -2 * by_input.sum()
            return {**pull_others(H), (0, "lengthscale"): by}

        return K, pull

    def vjp_diag(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return scaled(self.variance, np.ones(len(X)), {})

    def distance(self, X: Array, Z: Array, xp: Namespace) -> Array:
        """s of all pairs; in single precision it may be negative by a rounding error."""
        A, B = (self.columns(M) / self.lengthscale for M in (X, Z))
        return squared_distance(A, B, xp)

    def evaluate_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        self.columns(X)
        return self.variance * xp.ones(X.shape[0], X.dtype)


def squared_distance(A: Array, B: Array, xp: Namespace) -> Array:
    """Squared Euclidean distances between rows: exact differences in few dimensions, one product in many.

    In single precision the product comes sooner: it is several times faster, and its rounding is below the jitter of
    the minibatch models that work so.
    """
    if xp is np:
        from scipy.spatial.distance import cdist  # slow to import, and only matrices of new inputs need it

        return cdist(A, B, "sqeuclidean")
    if A.shape[1] == 1:
        return (A - B.T) ** 2
    if A.shape[1] <= 16 and A.dtype == np.float64:
        return _jax_differences()(A, B)
    # ‖a‖² + ‖b‖² − 2ab as one product: its slopes are products too, without passes over the matrix for each sum
    one_A, one_B = xp.ones((len(A), 1), A.dtype), xp.ones((len(B), 1), B.dtype)
    left = xp.concatenate([A, (A**2).sum(-1, keepdims=True), one_A], 1)
    right = xp.concatenate([-2 * B, one_B, (B**2).sum(-1, keepdims=True)], 1)
    return left @ right.T if A.dtype == np.float32 else xp.maximum(left @ right.T, 0.0)


@lru_cache(maxsize=1)
def _jax_differences() -> Callable[[Array, Array], Array]:
    """Σ_d (a_d − b_d)², whose slopes are products: d passes over the matrix for each sum took four times as long."""
    import jax

    @jax.custom_jvp
    def squares(A: Array, B: Array) -> jax.Array:
        total: jax.Array = sum((A[:, d, None] - B[None, :, d]) ** 2 for d in range(A.shape[1]))
        return total

    @squares.defjvp
    def _(at: tuple[Array, Array], by: tuple[Array, Array]) -> tuple[Array, Array]:
        (A, B), (dA, dB) = at, by
        own = (A * dA).sum(-1)[:, None] + (B * dB).sum(-1)
        return squares(A, B), 2 * (own - dA @ B.T - A @ dB.T)

    return squares


class SE(Radial):
    """Squared exponential: exp(−s/2), thesis B.4."""

    name = "SE"

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        if xp is np:
            return super().evaluate(X, Z, same, xp)
        return xp.exp(xp.log(self.variance) - 0.5 * self.distance(X, Z, xp))  # one pass over the matrix less

    def phi(self, s: Array, xp: Namespace) -> Array:
        return xp.exp(-0.5 * s)

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        f = np.exp(-0.5 * s)
        return f, -0.5 * f, {}


class RQ(Radial):
    """Rational quadratic: (1 + s/2α)^{−α}, thesis B.5: a mixture of SE over lengthscales."""

    name = "RQ"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        VARIANCE,
        ARD_LENGTHSCALE,
        Parameter("alpha", "positive", "number", 1.0),
    )

    def phi(self, s: Array, xp: Namespace) -> Array:
        return xp.exp(-self.alpha * xp.log1p(s / (2 * self.alpha)))

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        half = s * (0.5 / self.alpha)
        log_u = np.log1p(half)
        f = np.exp(-self.alpha * log_u)
        ratio = f / (1 + half)
        return f, -0.5 * ratio, {"alpha": 0.5 * s * ratio - self.alpha * log_u * f}


def safe_sqrt(s: Array, xp: Namespace) -> Array:
    """√s with gradient 0 at 0, where the kernels that use it are even in the distance.

    By a floor, not by two nested `where`: compiled for a CPU, jaxlib 0.10 drops the outer one.
    """
    return xp.sqrt(xp.maximum(s, 1e-36))


class Matern12(Radial):
    """Matérn ν = 1/2 (Ornstein–Uhlenbeck): e^{−r}, r = √s."""

    name = "Matern12"

    def phi(self, s: Array, xp: Namespace) -> Array:
        return xp.exp(-safe_sqrt(s, xp))

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        r = np.sqrt(s)
        f = np.exp(-r)
        slope = np.divide(-0.5 * f, r, out=np.zeros_like(f), where=r > 0)
        return f, slope, {}


class Matern32(Radial):
    """Matérn ν = 3/2: (1 + √3 r) e^{−√3 r}."""

    name = "Matern32"

    def phi(self, s: Array, xp: Namespace) -> Array:
        r = math.sqrt(3) * safe_sqrt(s, xp)
        return (1 + r) * xp.exp(-r)

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        r = np.sqrt(3 * s)
        decay = np.exp(-r)
        return (1 + r) * decay, -1.5 * decay, {}


class Matern52(Radial):
    """Matérn ν = 5/2: (1 + √5 r + 5r²/3) e^{−√5 r}."""

    name = "Matern52"

    def phi(self, s: Array, xp: Namespace) -> Array:
        r = math.sqrt(5) * safe_sqrt(s, xp)
        return (1 + r + r**2 / 3) * xp.exp(-r)

    def profile(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, Slopes]:
        r = np.sqrt(5 * s)
        decay = np.exp(-r)
        return (1 + r + r**2 / 3) * decay, (-5 / 6) * (1 + r) * decay, {}
