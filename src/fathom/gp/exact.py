"""Exact Gaussian process regression: prior, posterior, leave-one-out, and the additive decomposition.

Written once for NumPy and JAX: whichever arrays come in decide, and everything here is a PyTree that passes
through jit. Noise is part of the kernel (WN), so the covariance of the observations is `kernel.gram`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array, is_jax, namespace, normal_draws
from fathom.kernels.algebra import simplify, terms
from fathom.kernels.base import Kernel, as_rows, parameter_values


class GP(NamedTuple):
    """The prior: a kernel and a constant mean (a number, or one for each output)."""

    kernel: Kernel
    constant: Array = 0.0

    def mean(self, X: Array) -> Array:
        """The prior mean, (N, P)."""
        xp = namespace(X, self.constant)
        return xp.broadcast_to(xp.atleast_1d(xp.asarray(self.constant)), (len(X), xp.size(self.constant)))

    def cov(self, X: Array, noise: bool = False) -> Array:
        """Covariances of the function (or of observations) at the rows of X."""
        return self.kernel.gram(X) if noise else self.kernel.cross(X, X)

    def var(self, X: Array, noise: bool = False) -> Array:
        """Variances at the rows of X."""
        return self.kernel.diag(X, noise)

    def sample(self, key: object, X: Array, n: int = 1, noise: bool = False) -> Array:
        """Joint draws of the function at the rows of X, (n, N)."""
        return _draw(key, self.mean(X)[:, 0], self.cov(X, noise), n)


def _draw(key: object, mean: Array, cov: Array, n: int) -> Array:
    root = linalg.root(cov)
    return mean + normal_draws(key, (n, root.shape[1])) @ root.T


class Posterior(NamedTuple):
    """The prior conditioned on observations (X, Y)."""

    prior: GP
    X: Array  # (N, D)
    Y: Array  # (N, P)
    factor: linalg.Factor  # of C = k(X, X), noise included
    alpha: Array  # C⁻¹(Y − μ)

    @property
    def kernel(self) -> Kernel:
        return self.prior.kernel

    def mean(self, X: Array) -> Array:
        """Posterior mean of the function, (N*, P)."""
        return self.prior.mean(X) + self.kernel.cross(X, self.X) @ self.alpha

    def var(self, X: Array, noise: bool = False) -> Array:
        """Posterior variances, (N*); the same for all outputs."""
        half = self.factor.half_solve(self.kernel.cross(self.X, X))
        explained = (half**2).sum(0)
        xp = namespace(explained)
        # by subtraction: rounding can take it just below zero
        return xp.maximum(self.prior.kernel.diag(X, False) - explained, 0.0) + self._noise_var(X, noise)

    def _noise_var(self, X: Array, noise: bool) -> Array:
        return self.kernel.diag(X, True) - self.kernel.diag(X, False) if noise else 0.0

    def cov(self, X: Array, noise: bool = False) -> Array:
        """Posterior covariances, (N*, N*)."""
        half = self.factor.half_solve(self.kernel.cross(self.X, X))
        return self.prior.cov(X, noise) - half.T @ half

    def sample(self, key: object, X: Array, n: int = 1, noise: bool = False) -> Array:
        """Joint posterior draws of the (first) output at the rows of X, (n, N*)."""
        return _draw(key, self.mean(X)[:, 0], self.cov(X, noise), n)

    def log_evidence(self) -> Array:
        """log p(Y | X)."""
        n, p = self.alpha.shape
        quadratic = ((self.Y - self.prior.mean(self.X)) * self.alpha).sum()
        return -0.5 * (quadratic + p * self.factor.log_det() + n * p * np.log(2 * np.pi))


def condition(prior: GP, X: Array, Y: Array, profile: bool = False) -> Posterior:
    """The posterior given observations Y (N, or N×P outputs that share the kernel) at X.

    With `profile`, the prior's constant is replaced by the one of highest evidence, (1ᵀC⁻¹Y)/(1ᵀC⁻¹1).
    """
    xp = namespace(X, Y, prior.constant)
    X = as_rows(X, xp)
    Y = xp.asarray(Y).reshape(len(X), -1)
    factor = linalg.factorise(prior.kernel.gram(X))
    if profile:
        ones = factor.solve(xp.ones(len(X), factor.lower.dtype))
        prior = prior._replace(constant=ones @ Y / ones.sum())
    return Posterior(prior, X, Y, factor, factor.solve(Y - prior.mean(X)))


def leave_one_out(posterior: Posterior) -> tuple[Array, Array]:
    """Mean (N, P) and variance (N) of each observation given all others, hyperparameters fixed.

    μ₋ᵢ = yᵢ − αᵢ/(C⁻¹)ᵢᵢ and σ²₋ᵢ = 1/(C⁻¹)ᵢᵢ (Rasmussen and Williams, eq. 5.12).
    """
    precision = posterior.factor.inverse().diagonal()
    return posterior.Y - posterior.alpha / precision[:, None], 1 / precision


class Decomposition(NamedTuple):
    """The posterior of every additive part at one set of inputs (thesis 2.4.4)."""

    parts: tuple[Kernel, ...]
    means: tuple[Array, ...]  # (N*, P) each; they and the constant sum to the posterior mean
    priors: tuple[Array, ...]  # K_i** (N*×N*), noise included
    halves: tuple[Array, ...]  # L⁻¹K_i* (N×N*)

    def cov(self, i: int, j: int | None = None) -> Array:
        """Covariance of part i with part j: K_i** δ_ij − K_i*ᵀ C⁻¹ K_j* (eqs. 2.17, 2.18)."""
        j = i if j is None else j
        explained = self.halves[i].T @ self.halves[j]
        return (self.priors[i] if i == j else 0.0) - explained

    def var(self, i: int) -> Array:
        """Posterior variances of part i."""
        variance = self.priors[i].diagonal() - (self.halves[i] ** 2).sum(0)
        return namespace(variance).maximum(variance, 0.0)


def additive_parts(kernel: Kernel) -> tuple[Kernel, ...]:
    """The simplest products whose sum the kernel is: what `decompose` takes apart by default.

    Inside JAX, where values are not known, products are distributed but not simplified.
    """
    return terms(kernel if is_jax(*parameter_values(kernel)) else simplify(kernel))


def decompose(posterior: Posterior, X: Array | None = None, parts: tuple[Kernel, ...] | None = None) -> Decomposition:
    """Every additive part of the posterior at new inputs X, or, without X, at the observations themselves.

    At the observations noise is a part like any other and takes the residual, so that the means and the constant
    sum to the data; at new inputs its mean is zero and its variance the prior's.
    """
    parts = additive_parts(posterior.kernel) if parts is None else parts
    here = X is None
    X = posterior.X if here else X
    crosses = [part.gram(X) if here else part.cross(posterior.X, X) for part in parts]
    return Decomposition(
        parts,
        tuple(cross.T @ posterior.alpha for cross in crosses),
        tuple(part.gram(X) for part in parts),
        tuple(posterior.factor.half_solve(cross) for cross in crosses),
    )
