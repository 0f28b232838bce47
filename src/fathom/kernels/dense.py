"""Kernels that need every pair of rows: no function of the lag and no product of weights.

A member states its matrix at unit variance twice, as every kernel does: for NumPy and JAX (`shape`, `shape_diag`), and
in NumPy with the way back (`shape_vjp`, `shape_diag_vjp`). It may look at several inputs, have several parameters, and
be made from other kernels, whose matrices and ways back it gets from their `vjp`; `numbered` brings their gradients
under the node's own numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fathom.base.arrays import Array, Namespace
from fathom.kernels.base import VARIANCE, Gradients, Kernel, Leaf, Parameter, Pull
from fathom.kernels.radial import ARD_LENGTHSCALE, safe_sqrt


class Dense(Kernel):
    """`variance` × `shape`; a member without a parameter of that name is its shape."""

    def shape(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        """The matrix (N, M) at unit variance."""
        raise NotImplementedError

    def shape_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        """Its diagonal (N) at the rows of X."""
        raise NotImplementedError

    def shape_vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        """The matrix, and a function that takes the gradient in it to those in all parameters, operands' included."""
        raise NotImplementedError

    def shape_diag_vjp(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        """The diagonal, and the same for the gradient in it."""
        raise NotImplementedError

    def evaluate(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        shape = self.shape(X, Z, same, xp)
        return self.variance * shape if self.has_variance() else shape

    def evaluate_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        shape = self.shape_diag(X, same, xp)
        return self.variance * shape if self.has_variance() else shape

    def vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return self._times_variance(*self.shape_vjp(X, Z, same))

    def vjp_diag(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        return self._times_variance(*self.shape_diag_vjp(X, same))

    def _times_variance(self, shape: np.ndarray, pull_shape: Pull) -> tuple[np.ndarray, Pull]:
        if not self.has_variance():
            return shape, pull_shape

        def pull(H: np.ndarray) -> Gradients:
            share = self.variance * H
            return {**pull_shape(share), (0, "variance"): np.vdot(share, shape)}

        return self.variance * shape, pull


class Angles(NamedTuple):
    """What pairs of rows are to the arc-cosine kernel, with x̃ = ((x − location)/ℓ, 1)."""

    inner: Array  # I = x̃ᵀx̃' (N, M)
    norms: Array  # |x̃|²|x̃'|²
    root: Array  # |x̃||x̃'| sin θ
    away: Array  # π − θ


class ArcCos(Dense, Leaf):
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

    def __init__(self, **values: Array):
        super().__init__(**values)
        if self.order not in (0, 1, 2):
            raise ValueError(f"ArcCos has order 0, 1 or 2, not {self.order}")
        self._set(order=int(self.order))

    def _scaled(self, X: Array) -> Array:
        return (self.columns(X) - self.location) / self.lengthscale

    def _angles(self, A: Array, B: Array, xp: Namespace) -> Angles:
        norms = (1 + (A**2).sum(-1)[:, None]) * (1 + (B**2).sum(-1)[None, :])
        inner = 1 + A @ B.T
        gap = norms - inner**2
        # gradient 0 where the two coincide, as for safe_sqrt
        root = safe_sqrt(xp.maximum(gap, 0.0) * (gap > 1e-14 * norms), xp)
        return Angles(inner, norms, root, math.pi - xp.arctan2(root, inner))

    def _form(self, at: Angles) -> Array:
        if self.order == 0:
            return at.away / math.pi
        if self.order == 1:
            return (at.root + at.away * at.inner) / math.pi
        return (3 * at.inner * at.root + at.away * (at.norms + 2 * at.inner**2)) / math.pi

    def shape(self, X: Array, Z: Array, same: bool, xp: Namespace) -> Array:
        return self._form(self._angles(self._scaled(X), self._scaled(Z), xp))

    def shape_diag(self, X: Array, same: bool, xp: Namespace) -> Array:
        return (1 + (self._scaled(X) ** 2).sum(-1)) ** self.order * (3.0 if self.order == 2 else 1.0)

    def shape_vjp(self, X: np.ndarray, Z: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        A, B = self._scaled(X), self._scaled(Z)
        at = self._angles(A, B, np)

        def pull(H: np.ndarray) -> Gradients:
            """Through I and the squared norms: ∂I/∂ log ℓ_d = −2 x_d x'_d/ℓ_d², ∂|x̃|²/∂ log ℓ_d = −2 x_d²/ℓ_d²."""
            by_inner, by_log_norm = self._slopes(at)
            G = H * by_log_norm
            by_norms = (G.sum(1) / (1 + (A**2).sum(-1))) @ A**2 + (G.sum(0) / (1 + (B**2).sum(-1))) @ B**2
            return self._by_lengthscale(-2 / math.pi * ((A * ((H * by_inner) @ B)).sum(0) + by_norms))

        return self._form(at), pull

    def _slopes(self, at: Angles) -> tuple[np.ndarray, np.ndarray]:
        """π∂k/∂I, and π∂k/∂ log |x̃|²: the same for either side, since only the product of the norms counts."""
        inner, norms, root, away = at
        if self.order == 0:
            inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 1e-17)
            return inverse, -0.5 * inner * inverse
        if self.order == 1:
            return away, 0.5 * root
        return 4 * (root + away * inner), inner * root + away * norms

    def shape_diag_vjp(self, X: np.ndarray, same: bool) -> tuple[np.ndarray, Pull]:
        A, n = self._scaled(X), self.order
        norms, size = 1 + (A**2).sum(-1), 3.0 if n == 2 else 1.0

        def pull(h: np.ndarray) -> Gradients:
            return self._by_lengthscale(-2 * n * size * (h * norms ** (n - 1)) @ A**2)

        return size * norms**n, pull

    def _by_lengthscale(self, slope: np.ndarray) -> Gradients:
        return {(0, "lengthscale"): slope if np.ndim(self.lengthscale) else slope.sum()}
