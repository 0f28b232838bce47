"""One layer: W Gaussian processes known through inducing values. It answers the mean and variance of its outputs.

Every unit w has inducing inputs Z_w and a kernel of the language. Its inducing values are u = L v with
K(Z, Z) = L Lᵀ, and q(v) = N(m, R Rᵀ). With A = K(X, Z) L⁻ᵀ, data on rows:

    mean = A m + mean function,     var = k(x, x) − ‖a‖² + ‖Rᵀa‖²

Shape letters: N rows, D inputs, W units, M inducing points, U kernels and sets Z: W, or 1 when the units share them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

import fathom.kernels.pytree  # noqa: F401  (kernels are PyTrees from here on)
from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.kernels.base import Kernel
from fathom.kernels.expectations import Moments
from fathom.kernels.vector import from_vector

UNIT = 10.0  # in which the weights of orthogonal points are stored
EXPLAINED = 1e-3  # part of an orthogonal point's prior variance: with less left, a step of its weight would leap
MANY = 4  # rows for each inducing point, from which on RRᵀ is worth its M³
FLOOR = 1e-8  # of a variance before its square root, whose slope is infinite at 0


class Projection(NamedTuple):
    """Rows projected onto the inducing values: everything about them that does not depend on q."""

    A: Array  # (U, N, M), whitened covariances with the inducing values
    prior: Array  # (U, N), variances before anything is known
    orthogonal: Array | None = None  # (U, N, G), what is left of covariances with the orthogonal points
    among: Array | None = None  # (U, G, G), the same among the orthogonal points: R(γ, γ)


class OrthogonalPoints(eqx.Module):
    """Inducing points that move the mean only (orthogonally decoupled, Salimbeni et al. 2018): mean += R(x, γ) a.

    R is the prior covariance that the inducing values do not explain. What is stored is a ∘ diag R(γ, γ) in units of
    `UNIT`, which makes the steps of all weights alike and large.
    """

    Z: Array  # (U, G, D)
    weight: Array  # (W, G)


@dataclass(frozen=True)
class Form:
    """A kernel as structure: its free parameters stand elsewhere. Compiled code belongs to it."""

    kernel: Kernel

    def at(self, theta: Array) -> Kernel:
        """The kernel with the free parameters θ (P)."""
        return from_vector(self.kernel, theta)


class Layer(eqx.Module):
    """W processes with the same inputs. Immutable; every array is learnt unless a method holds it."""

    theta: Array  # (U, P): free parameters of the kernel, positive ones as logarithms
    Z: Array  # (U, M, D)
    mean: Array  # (W, M)
    # (W, M): logarithms of standard deviations; (W, M, M): lower triangle, its diagonal as logarithms; None: R = 0,
    # the inducing values are parameters (DGPS thesis)
    root: Array | None
    slope: Array | None  # (D, W), of the mean function
    offset: Array  # (W)
    orthogonal: OrthogonalPoints | None
    noise: Array | None  # (W): logarithms of variances added to the outputs of a hidden layer
    form: Form = eqx.field(static=True)
    jitter: float = eqx.field(static=True)

    @property
    def width(self) -> int:
        """W, the number of units."""
        return int(self.mean.shape[0])

    @property
    def n_orthogonal(self) -> int:
        """G, the number of points that move the mean only."""
        return 0 if self.orthogonal is None else int(self.orthogonal.Z.shape[1])

    def shapes(self, m: int, g: int) -> list[tuple[int, ...]]:
        """Shapes of the arrays of such a layer, in order, if it had m inducing and g orthogonal points."""
        w, (u, _, d) = self.width, self.Z.shape
        root = [] if self.root is None else [(w, m, m)[: self.root.ndim]]
        slope, noise = ([] if a is None else [a.shape] for a in (self.slope, self.noise))
        orthogonal = [] if self.orthogonal is None else [(u, g, d), (w, g)]
        return [self.theta.shape, (u, m, d), (w, m), *root, *slope, self.offset.shape, *orthogonal, *noise]

    def __call__(self, X: Array) -> Moments:
        """Mean and variance at the rows of X, (N, W) each."""
        return self.moments(X, self.project(X))

    def project(self, X: Array) -> Projection:
        """Project the rows of X (N, D) onto the inducing values: the layer's one factorisation."""
        half = linalg.whitening(self._cross(self.Z, self.Z), self.jitter)
        A = self._whitened(X, half)
        prior = self._each(lambda kernel: kernel.diag(X, False))
        if self.orthogonal is None:
            return Projection(A, prior)
        B = jnp.swapaxes(self._whitened(self.orthogonal.Z, half), -1, -2)
        # as K(Z, Z): what rounding leaves of points that are explained may not be positive
        prior_among = linalg.jittered(self._cross(self.orthogonal.Z, self.orthogonal.Z), self.jitter)
        among = prior_among - jnp.swapaxes(B, -1, -2) @ B
        return Projection(A, prior, self._cross(X, self.orthogonal.Z) - A @ B, among)

    def moments(self, X: Array, projection: Projection) -> Moments:
        """Mean and variance (N, W) under q, at the rows that were projected."""
        mean = _by_unit(projection.A, self.mean) + self.offset
        if self.slope is not None:
            mean = mean + X @ self.slope
        if projection.orthogonal is not None and projection.among is not None:
            mean = mean + _by_unit(projection.orthogonal, self._orthogonal_weight(projection.among))
        return Moments(mean, jnp.maximum(projection.prior.T + self._change(projection.A), 0.0) + self.own_noise())

    def own_noise(self) -> Array:
        """Variances (W) of the outputs' own noise."""
        return jnp.zeros_like(self.offset) if self.noise is None else jnp.exp(self.noise)

    def _change(self, A: Array) -> Array:
        """How much q changes the prior variances: ‖Rᵀa‖² − ‖a‖² (N, W), for A (U, N, M)."""
        if self.root is None:
            return -jnp.sum(A**2, -1).T
        if self.root.ndim == 2:
            return _by_unit(A**2, jnp.expm1(2 * self.root))
        R = self.lower()
        A = jnp.broadcast_to(A, (len(R), *A.shape[1:]))
        if A.shape[1] < MANY * A.shape[2]:
            return (jnp.sum((A @ R) ** 2, -1) - jnp.sum(A**2, -1)).T
        return quadratic(A, R @ jnp.swapaxes(R, -1, -2) - jnp.eye(R.shape[-1], dtype=R.dtype)).T

    def lower(self) -> Array:
        """R as matrices (W, M, M)."""
        if self.root is None:
            return jnp.zeros((*self.mean.shape, self.mean.shape[-1]), self.mean.dtype)
        if self.root.ndim == 2:
            return jax.vmap(jnp.diag)(jnp.exp(self.root))
        diagonal = jnp.exp(jnp.diagonal(self.root, axis1=-2, axis2=-1))
        return jnp.tril(self.root, -1) + jax.vmap(jnp.diag)(diagonal)

    def kl(self, density: bool = False, projection: Projection | None = None) -> Array:
        """KL(q(v) ‖ N(0, I)) of all units, with ½ aᵀR(γ, γ)a of orthogonal points; a `projection` at hand knows R.

        Of point values −log N(v|0, I) or, as a `density` of u = Lv, −log N(u|0, K): the second is unbounded where
        inducing inputs meet, and an optimiser lets them.
        """
        if self.root is None:
            return self._minus_log_prior(density)
        logs = self.root if self.root.ndim == 2 else jnp.diagonal(self.root, axis1=-2, axis2=-1)
        squares = jnp.exp(2 * logs) if self.root.ndim == 2 else self.lower() ** 2
        total = 0.5 * (jnp.sum(squares) + jnp.sum(self.mean**2) - self.mean.size) - jnp.sum(logs)
        if self.orthogonal is None:
            return total
        among = (projection or self.project(self.Z[0])).among
        assert among is not None
        a = self._orthogonal_weight(among)
        return total + 0.5 * jnp.einsum("wg,wgh,wh->", a, jnp.broadcast_to(among, (len(a), *among.shape[1:])), a)

    def _minus_log_prior(self, density: bool) -> Array:
        """−log N(v|0, I) of all units' point values or, as a `density` of u = Lv, −log N(u|0, K)."""
        plain = 0.5 * (jnp.sum(self.mean**2) + self.mean.size * math.log(2 * math.pi))
        if not density:
            return plain
        half = linalg.whitening(self._cross(self.Z, self.Z), self.jitter)
        log_det = -jnp.sum(jnp.log(jnp.diagonal(half, axis1=-2, axis2=-1)), -1)  # (U)
        return plain + jnp.sum(jnp.broadcast_to(log_det, (self.width,)))

    # -- kernels of all units ----------------------------------------------------------------------------------

    def _each(self, ask: Callable[[Kernel], Array]) -> Array:
        """The answers of every unit's kernel, stacked."""
        return jax.vmap(lambda theta: ask(self.form.at(theta)))(self.theta)

    def _cross(self, A: Array, B: Array) -> Array:
        """Covariances (U, ·, ·) between rows of A and of B, each (·, D) for all units or (U, ·, D)."""
        axes = (0, 0 if A.ndim == 3 else None, 0 if B.ndim == 3 else None)
        return jax.vmap(lambda theta, a, b: self.form.at(theta).cross(a, b), axes)(self.theta, A, B)

    def _whitened(self, X: Array, half: Array) -> Array:
        """K(X, Z) L⁻ᵀ (U, N, M), given L⁻¹ (U, M, M)."""
        return jnp.einsum("unk,umk->unm", self._cross(X, self.Z), half)

    def _orthogonal_weight(self, among: Array) -> Array:
        """a, from the stored a ∘ diag R(γ, γ) / UNIT; points that the inducing values explain fade out."""
        assert self.orthogonal is not None
        left = jnp.diagonal(among, axis1=-2, axis2=-1)
        prior = self._each(lambda kernel: jnp.mean(kernel.diag(self.Z[0], False)))[:, None]
        return UNIT * self.orthogonal.weight * left / (left**2 + (EXPLAINED * prior) ** 2)


def _by_unit(A: Array, weights: Array) -> Array:
    """Weighted sum over inducing points for each unit: A (U, N, M), weights (W, M) → (N, W)."""
    return A[0] @ weights.T if A.shape[0] == 1 else jnp.sum(A * weights[:, None, :], -1).T


@jax.custom_vjp
def quadratic(A: Array, G: Array) -> Array:
    """aᵀGa of every row a of A (…, N, M), for symmetric G: its gradient uses AG again and costs one product."""
    return jnp.sum(A * (A @ G), -1)


def _quadratic_forward(A: Array, G: Array) -> tuple[Array, tuple[Array, Array]]:
    AG = A @ G
    return jnp.sum(A * AG, -1), (A, AG)


def _quadratic_backward(kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    A, AG = kept
    weighted = slope[..., None] * A
    return 2 * slope[..., None] * AG, jnp.swapaxes(A, -1, -2) @ weighted


quadratic.defvjp(_quadratic_forward, _quadratic_backward)
