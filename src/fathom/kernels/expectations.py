"""Expectations of kernels under Gaussian inputs: ψ0 = E k(x, x), ψ1_i = E k(x, z_i), ψ2_ij = E k(x, z_i) k(x, z_j).

For x ~ N(m, diag S) the squared exponential, the linear and the spectral mixture kernel have closed forms; any other
kernel is asked at the points of a quadrature `rule`. All forms have Λ + S in their denominators and are regular at
S = 0. ψ2 is symmetric and most of the work: it is kept for the pairs i ≤ j.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from fathom.base.arrays import Array
from fathom.kernels.base import Kernel
from fathom.kernels.combine import Sum
from fathom.kernels.nonstationary import Lin
from fathom.kernels.radial import SE
from fathom.kernels.stationary import SM, C

NODES = {1: 15, 2: 7, 3: 5}  # of a Gauss-Hermite rule, for each input; more inputs get quasi-random points
N_SOBOL = 128


class Moments(NamedTuple):
    """Independent Gaussians: mean and variance of every row and column."""

    mean: Array
    var: Array


class Expectations(NamedTuple):
    """ψ0 (N), ψ1 (N, M) and ψ2 (N, M(M + 1)/2) of the pairs i ≤ j, in the order of `pairs`."""

    zero: Array
    one: Array
    two: Array


def pairs(m: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers i ≤ j of all pairs of inducing points."""
    return np.triu_indices(m)


Form = Callable[[Kernel, Moments, Array, bool], Expectations]


def closed_form(kernel: Kernel) -> Form | None:
    """The function that knows the kernel's expectations, if there is one."""
    if isinstance(kernel, SE):
        return _squared_exponential
    if isinstance(kernel, SM):
        return _spectral_mixture
    terms = kernel.children if isinstance(kernel, Sum) else (kernel,)
    return _linear if all(isinstance(term, (Lin, C)) for term in terms) else None


def expectations(kernel: Kernel, x: Moments, Z: Array, first: bool = False) -> Expectations:
    """ψ0, ψ1 and ψ2 of a kernel with a closed form; with `first`, ψ2 is left out."""
    form = closed_form(kernel)
    if form is None:
        raise ValueError(f"{kernel.name} has no closed-form expectations: use a quadrature rule")
    return form(kernel, x, Z, first)


def _squared_exponential(kernel: Kernel, x: Moments, Z: Array, first: bool) -> Expectations:
    m, S, z = (kernel.columns(a) for a in (x.mean, x.var, Z))
    ell2, s = jnp.broadcast_to(jnp.asarray(kernel.lengthscale, m.dtype), m.shape[1:]) ** 2, kernel.variance
    gap = m[:, None, :] - z
    scale = jnp.exp(-0.5 * jnp.sum(jnp.log1p(S / ell2), -1))
    one = s * scale[:, None] * jnp.exp(-0.5 * jnp.sum(gap**2 / (ell2 + S)[:, None], -1))
    zero = jnp.full(len(m), s, m.dtype)
    if first:
        return Expectations(zero, one, one)
    i, j = pairs(len(z))
    middle, apart = 0.5 * (z[i] + z[j]), jnp.sum((z[i] - z[j]) ** 2 / (4 * ell2), -1)
    # Σ_d (m − z̄)²/(ℓ² + 2S) multiplied out: one product of matrices for all rows and pairs, and so are its slopes
    rate = 1 / (ell2 + 2 * S)
    rows = jnp.concatenate([rate, -2 * rate * m], -1)
    far = rows @ jnp.concatenate([middle**2, middle], -1).T + jnp.sum(rate * m**2, -1, keepdims=True)
    scale = jnp.sum(jnp.log1p(2 * S / ell2), -1, keepdims=True)
    return Expectations(zero, one, s**2 * jnp.exp(-0.5 * scale - apart - far))


def _linear(kernel: Kernel, x: Moments, Z: Array, first: bool) -> Expectations:
    """A sum of lines and constants is φ(x)ᵀ D φ(z) with φ = (x − c, …, 1)."""
    terms = kernel.children if isinstance(kernel, Sum) else (kernel,)
    ones = jnp.ones_like(x.mean[:, 0])
    means, at, variances, which = [], [], [], []
    for term in terms:
        line = isinstance(term, Lin)
        means.append(term.columns(x.mean)[:, 0] - term.location if line else ones)
        at.append(term.columns(Z)[:, 0] - term.location if line else jnp.ones_like(Z[:, 0]))
        variances.append(term.variance)
        which.append(term._indices(x.mean.shape[1])[0] if line and term.inputs is not None else (0 if line else -1))
    phi, weights = jnp.stack(means, -1), jnp.stack(at, -1) * jnp.stack(variances)
    same = np.array([[i == j and i >= 0 for j in which] for i in which])
    second = phi[:, :, None] * phi[:, None, :] + jnp.where(same, x.var[:, np.maximum(which, 0)][:, :, None], 0.0)
    zero = jnp.einsum("nii,i->n", second, jnp.stack(variances))
    one = phi @ weights.T
    if first:
        return Expectations(zero, one, one)
    i, j = pairs(len(Z))
    return Expectations(zero, one, jnp.einsum("pt,ntu,pu->np", weights[i], second, weights[j]))


def _spectral_mixture(kernel: Kernel, x: Moments, Z: Array, first: bool) -> Expectations:
    m, S, z = (kernel.columns(a)[:, 0] for a in (x.mean, x.var, Z))
    weight, ell, nu = (
        jnp.atleast_1d(jnp.asarray(v, m.dtype)) for v in (kernel.weight, kernel.lengthscale, kernel.frequency)
    )
    w, lam, omega = kernel.variance * weight / jnp.sum(weight), ell**2, 2 * math.pi * nu
    one = w * _bump(m[:, None, None], S[:, None, None], lam, z[:, None], omega, omega * z[:, None])
    zero = jnp.full(len(m), kernel.variance, m.dtype)
    if first:
        return Expectations(zero, jnp.sum(one, -1), jnp.sum(one, -1))
    zi, zj = (z[which][:, None, None] for which in pairs(len(z)))
    lp, lq, wp, wq = lam[:, None], lam, omega[:, None], omega
    both = lp * lq / (lp + lq)
    centre = both * (zi / lp + zj / lq)
    apart = w[:, None] * w * jnp.exp(-0.5 * (zi - zj) ** 2 / (lp + lq))
    mm, SS = (a[:, None, None, None] for a in (m, S))
    sides = sum(_bump(mm, SS, both, centre, wp + sign * wq, wp * zi + sign * wq * zj) for sign in (1, -1))
    return Expectations(zero, jnp.sum(one, -1), 0.5 * jnp.sum(apart * sides, (-1, -2)))


def _bump(m: Array, S: Array, lam: Array, z: Array, omega: Array, phase: Array) -> Array:
    """E exp(−½(x − z)²/Λ) cos(ωx − phase)."""
    envelope = jnp.exp(
        -0.5 * jnp.log1p(S / lam) - 0.5 * (m - z) ** 2 / (lam + S) - 0.5 * omega**2 * lam * S / (lam + S)
    )
    return envelope * jnp.cos(omega * (S * z + lam * m) / (lam + S) - phase)


# -- quadrature ------------------------------------------------------------------------------------------------------


def rule(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (P, d) and weights (P) of a rule for a standard normal."""
    if d in NODES:
        at, weight = np.polynomial.hermite_e.hermegauss(NODES[d])
        weight = weight / weight.sum()
        grids = np.meshgrid(*[np.arange(NODES[d])] * d, indexing="ij")
        index = np.stack([g.ravel() for g in grids], -1)
        return at[index], weight[index].prod(1)
    from scipy.stats import norm, qmc

    uniform = qmc.Sobol(d, scramble=True, seed=0).random(N_SOBOL)
    half = norm.ppf(np.clip(uniform, 1e-6, 1 - 1e-6))
    points = np.concatenate([half, -half])
    return points / points.std(0), np.full(2 * N_SOBOL, 0.5 / N_SOBOL)
