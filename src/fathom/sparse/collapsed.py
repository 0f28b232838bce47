"""Sparse GPs whose inducing values are integrated out: one computation, from FITC to the variational bound.

With Q = K_fu K_uu⁻¹ K_uf, d = diag(K − Q) and the noise s of every observation (white noise may vary along the
inputs), the power-EP family has one argument a in [0, 1]:

    L_a = log N(y | 0, Q + a·diag(d) + diag(s)) − (1 − a)/(2a) Σ_n log(1 + a d_n/s_n)

a = 1 is FITC; a → 0 is VFE (Titsias), whose penalty becomes ½ Σ d_n/s_n and which never exceeds the evidence. All of
it follows from Λ = a·d + s, V = L⁻¹K_uf with K_uu = LLᵀ, and B = I + VΛ⁻¹Vᵀ. The cotangents of the four covariances
are written out below once: NumPy pulls them through a `Strip`, JAX through the kernel.

The noise of an observation belongs to Λ. The inducing values u are those of the function, seen with a noise of 1e-9 of
their variance: smooth kernels make K_uu singular, and a jitter that comes and goes would put steps into the objective.
Q is then a little smaller, and every bound still holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array, is_jax, namespace, normal_draws
from fathom.gp.exact import GP
from fathom.kernels.base import Kernel, as_rows
from fathom.kernels.expansion import Values
from fathom.kernels.strip import CrossLags, Strip

BLUR = 1e-9  # noise of an inducing value, relative to its variance: one more point leaves that of the others alone


class Solved(NamedTuple):
    """What one set of covariances gives."""

    value: Array  # L_a
    half: Array  # L⁻¹ (M×M): inverting the small triangle and multiplying is several times faster than solving
    V: Array  # L⁻¹K_uf (M×N)
    scaled: Array  # VΛ⁻¹
    d: Array  # diag(K − Q)
    scale: Array  # Λ
    inner: linalg.Factor  # of B
    alpha: Array  # (Q + Λ)⁻¹Y (N×P)


def solve(K_uu: Array, K_uf: Array, diagonal: Array, noise: Array, Y: Array, a: float = 0.0) -> Solved:
    """L_a of Y (N×P outputs that share the covariances) and what its gradient and the posterior are made of."""
    xp = namespace(K_uu, K_uf, Y)
    m, (n, p) = len(K_uu), Y.shape
    if xp is np and np.min(noise) <= 0:
        raise linalg.NotPositiveDefinite(f"row {int(np.argmin(noise))} has no noise: inducing points need some (WN)")
    half = linalg.factorise(linalg.jittered(K_uu, BLUR, own=True)).half_solve(xp.eye(m, dtype=K_uu.dtype))
    V = half @ K_uf
    d = xp.maximum(diagonal - xp.einsum("ij,ij->j", V, V), 0.0)
    scale = a * d + noise
    scaled = V / scale
    inner = linalg.factorise(xp.eye(m, dtype=V.dtype) + scaled @ V.T)
    alpha = Y / scale[:, None] - scaled.T @ inner.solve(scaled @ Y)
    penalty = xp.sum(xp.log1p(a * d / noise)) * (1 - a) / (2 * a) if a > 0 else 0.5 * xp.sum(d / noise)
    log_det = inner.log_det() + xp.sum(xp.log(scale))
    value = -0.5 * (xp.sum(Y * alpha) + p * (log_det + n * math.log(2 * math.pi))) - p * penalty
    return Solved(value, half, V, scaled, d, scale, inner, alpha)


def cotangents(solved: Solved, noise: Array, a: float) -> tuple[Array, Array, Array, Array]:
    """∂L_a/∂(K_uu, K_uf, diagonal, noise).

    With G = ½(ααᵀ − P·C⁻¹), C = Q + Λ: ∂/∂Λ is g = diag(G), ∂/∂d is h = a·g − ½P(1 − a)/Λ, and ∂/∂Q is G − diag(h),
    which A = K_uu⁻¹K_uf takes to ∂/∂K_uf = 2A(G − diag h) and ∂/∂K_uu = −A(G − diag h)Aᵀ. V C⁻¹ = B⁻¹VΛ⁻¹ keeps it
    to products of M×M with M×N.
    """
    _, half, V, scaled, d, scale, inner, alpha = solved
    xp, p, eye = namespace(V), alpha.shape[1], namespace(V).eye(len(V), dtype=V.dtype)
    inverse = inner.inverse()
    rest = inverse @ scaled
    g = 0.5 * (xp.sum(alpha**2, 1) - p / scale + p * xp.einsum("ij,ij->j", scaled, rest))
    h = a * g - 0.5 * p * (1 - a) / scale
    by_noise = g + 0.5 * p * (1 - a) * d / (noise * scale)
    Va = V @ alpha
    by_uf = half.T @ (scaled * (-2 * h * scale) - p * rest) + (half.T @ Va) @ alpha.T
    squared = (V * (-2 * h)) @ V.T if a > 0 else p * (inner.lower @ inner.lower.T - eye)
    by_uu = -0.5 * half.T @ (Va @ Va.T - p * (eye - inverse) + squared) @ half
    return by_uu * (1 + BLUR * eye), by_uf, h, by_noise


# -- the objective -----------------------------------------------------------------------------------------------


class Bound:
    """L_a as a function of the parameter vector, for kernels of one structure and inducing inputs X[rows]: NumPy."""

    def __init__(
        self,
        kernel: Kernel,
        X: np.ndarray,
        Y: np.ndarray,
        rows: np.ndarray,
        a: float = 0.0,
        lags: CrossLags | None = None,
    ):
        self.strip, self.a = Strip(kernel, X, rows, lags), a
        self.Y = np.asarray(Y, dtype=float).reshape(len(X), -1)

    def value(self, vector: np.ndarray) -> float:
        """L_a alone; raises `NotPositiveDefinite`."""
        return float(self.solved(vector).value)

    def solved(self, vector: np.ndarray) -> Solved:
        """L_a and what it is made of."""
        return self._solve(self.strip.at(vector), self.a)[0]

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """L_a and its gradient; raises `NotPositiveDefinite`."""
        values = self.strip.at(vector)
        solved, noise = self._solve(values, self.a)
        by_uu, by_uf, by_diagonal, by_noise = cotangents(solved, noise, self.a)
        by_uf[:, self.strip.rows] += by_uu  # K_uu is these columns of K_uf
        return float(solved.value), self.strip.pull(values, by_uf, by_diagonal, by_noise)

    def _solve(self, values: Values, a: float) -> tuple[Solved, np.ndarray]:
        K, diagonal, noise = self.strip.evaluate(values)
        return solve(K[:, self.strip.rows], K, diagonal, noise, self.Y, a), noise

    def upper(self, vector: np.ndarray, enough: float = -math.inf, steps: int = 10) -> float:
        """A number the evidence cannot exceed: −½ log|Q + S| + ½ bᵀ(K + S)b − bᵀy − (N/2) log 2π, S = diag(s).

        K ⪰ Q bounds the determinant, and the convex quadratic is lowest, −½ yᵀ(K + S)⁻¹y, at b = (K + S)⁻¹y: any b
        will do. We start from the sparse solution and take conjugate gradient steps preconditioned with Q + S, until
        they gain little or the bound is below `enough`.
        """
        values = self.strip.at(vector)
        solved, noise = self._solve(values, 0.0)
        y, b = self.Y[:, 0], solved.alpha[:, 0]
        constant = -0.5 * (solved.inner.log_det() + np.log(noise).sum() + len(y) * math.log(2 * math.pi))
        residual = y - noise * b - self.strip.multiply(values, b)
        z = _precondition(solved, residual)
        direction, bound = z, constant - 0.5 * b @ (y + residual)
        for _ in range(steps):
            gain = residual @ z
            if bound < enough or gain < 1e-2:
                break
            image = noise * direction + self.strip.multiply(values, direction)
            length = gain / (direction @ image)
            b, residual = b + length * direction, residual - length * image
            bound, z = constant - 0.5 * b @ (y + residual), _precondition(solved, residual)
            direction = z + (residual @ z) / gain * direction
        return float(bound)


def _precondition(solved: Solved, b: np.ndarray) -> np.ndarray:
    """(Q + S)⁻¹b"""
    return b / solved.scale - solved.scaled.T @ solved.inner.solve(solved.scaled @ b)


@lru_cache(maxsize=1)
def _jax_bound() -> Callable[..., Array]:
    """Built on first use, so that importing this module does not load JAX."""
    import jax

    def forward(
        K_uu: Array, K_uf: Array, diagonal: Array, noise: Array, Y: Array, a: float
    ) -> tuple[Array, tuple[Solved, Array]]:
        solved = solve(K_uu, K_uf, diagonal, noise, Y, a)
        return solved.value, (solved, noise)

    def backward(a: float, kept: tuple[Solved, Array], cotangent: Array) -> tuple[Array, ...]:
        solved, noise = kept
        return (*(cotangent * part for part in cotangents(solved, noise, a)), -cotangent * solved.alpha)

    bound = jax.custom_vjp(lambda *parts: solve(*parts).value, nondiff_argnums=(5,))
    bound.defvjp(forward, backward)
    return bound


def log_bound(kernel: Kernel, X: Array, Y: Array, Z: Array, a: float = 0.0) -> Array:
    """L_a with inducing inputs Z, in NumPy or JAX: differentiable in the kernel's parameters, X, Y and Z."""
    parts = _covariances(kernel, X, Z)
    xp = namespace(*parts)
    Y = xp.asarray(Y).reshape(len(parts[2]), -1)
    return _jax_bound()(*parts, Y, a) if is_jax(*parts) else solve(*parts, Y, a).value


def _covariances(kernel: Kernel, X: Array, Z: Array) -> tuple[Array, Array, Array, Array]:
    diagonal = kernel.diag(X, False)
    return kernel.cross(Z, Z), kernel.cross(Z, X), diagonal, kernel.diag(X, True) - diagonal


# -- the posterior -----------------------------------------------------------------------------------------------


class SparsePosterior(NamedTuple):
    """The prior given observations, as far as the inducing inputs Z can tell."""

    prior: GP
    Z: Array  # (M, D)
    half: Array  # L⁻¹
    inner: linalg.Factor  # of B
    weights: Array  # L⁻ᵀB⁻¹VΛ⁻¹(Y − μ) (M×P)

    @property
    def kernel(self) -> Kernel:
        return self.prior.kernel

    def mean(self, X: Array) -> Array:
        """Posterior mean of the function, (N*, P)."""
        return self.prior.mean(X) + self.kernel.cross(X, self.Z) @ self.weights

    def var(self, X: Array, noise: bool = False) -> Array:
        """Posterior variances, (N*); the same for all outputs: k** − ‖t‖² + ‖L_B⁻¹t‖², t = L⁻¹k_u*."""
        t = self.half @ self.kernel.cross(self.Z, X)
        gained = (t**2).sum(0) - (self.inner.half_solve(t) ** 2).sum(0)
        return namespace(gained).maximum(self.kernel.diag(X, False) - gained, 0.0) + self._noise(X, noise)

    def _noise(self, X: Array, noise: bool) -> Array:
        return self.kernel.diag(X, True) - self.kernel.diag(X, False) if noise else 0.0

    def cov(self, X: Array, noise: bool = False) -> Array:
        """Posterior covariances, (N*, N*)."""
        t = self.half @ self.kernel.cross(self.Z, X)
        left = self.inner.half_solve(t)
        return self.prior.cov(X, noise) - t.T @ t + left.T @ left

    def sample(self, key: object, X: Array, n: int = 1, noise: bool = False) -> Array:
        """Joint posterior draws of the (first) output at the rows of X, (n, N*)."""
        root = linalg.root(self.cov(X, noise))
        return self.mean(X)[:, 0] + normal_draws(key, (n, root.shape[1])) @ root.T


def condition_sparsely(prior: GP, X: Array, Y: Array, Z: Array, a: float = 0.0) -> SparsePosterior:
    """The posterior given Y (N, or N×P) at X through inducing inputs Z; for Z = X the exact one, whatever a is."""
    xp = namespace(X, Y, Z, prior.constant)
    X, Z = as_rows(X, xp), as_rows(Z, xp)
    residual = xp.asarray(Y).reshape(len(X), -1) - prior.mean(X)
    solved = solve(*_covariances(prior.kernel, X, Z), residual, a)
    weights = solved.half.T @ solved.inner.solve(solved.scaled @ residual)
    return SparsePosterior(prior, Z, solved.half, solved.inner, weights)
