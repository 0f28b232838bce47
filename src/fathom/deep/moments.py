"""Gaussian beliefs about the inputs of a layer, passed on as Gaussian beliefs about its outputs (probabilistic
backpropagation; SEP paper, section 3).

For x ~ N(m, diag S) and A = K⁻¹u a layer needs three kernel expectations,

    ψ0 = E k(x, x),    ψ1_i = E k(x, z_i),    ψ2_ij = E k(x, z_i) k(x, z_j),

which have closed forms for the squared exponential, the linear and the spectral mixture kernel. Any other kernel is
asked at the points of a quadrature rule. All forms have Λ + S in their denominators and are regular at S = 0. ψ2 is
symmetric and most of the work: it is kept for the pairs i ≤ j.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.deep.layer import FLOOR, Layer, Moments, quadratic
from fathom.kernels.base import Kernel
from fathom.kernels.combine import Sum
from fathom.kernels.nonstationary import Lin
from fathom.kernels.stationary import SE, SM, C

NODES = {1: 15, 2: 7, 3: 5}  # of a Gauss-Hermite rule, for each input; more inputs get quasi-random points
N_SOBOL = 128


class Expectations(NamedTuple):
    """ψ0 (N), ψ1 (N, M) and ψ2 (N, M(M + 1)/2) of the pairs i ≤ j, in the order of `pairs`."""

    zero: Array
    one: Array
    two: Array


class Matched(NamedTuple):
    """Mean and variance (N, W) of a layer's outputs, and how much of the variance no inducing value could explain."""

    mean: Array
    var: Array
    residual: Array


def matched(layer: Layer, mean: Array, cov: Array, x: Moments) -> Matched:
    """The outputs' moments, when the whitened inducing values have `mean` (W, M) and `cov` (W, M, M)."""
    if closed_form(layer.form.kernel) is None:
        return _by_quadrature(layer, mean, cov, x)
    half = linalg.whitening(layer._cross(layer.Z, layer.Z), layer.jitter)
    units = len(layer.theta)

    def unit(theta: Array, Z: Array, half: Array, mean: Array, cov: Array) -> Matched:
        """One kernel and the (V, M) values of the units that share it."""
        psi = expectations(layer.form.at(theta), x, Z)
        weights = mean @ half  # (V, M): A of the SEP paper
        out = psi.one @ weights.T
        inner = half.T @ half
        spread = jnp.einsum("im,vij,jk->vmk", half, cov, half) + weights[:, :, None] * weights[:, None, :]
        explained, second = jnp.split(psi.two @ _folded(jnp.concatenate([inner[None], spread])).T, [1], -1)
        residual = psi.zero - explained[:, 0]
        var = residual[:, None] + second - out**2
        return Matched(out, var, jnp.broadcast_to(residual[:, None], out.shape))

    grouped = [a.reshape(units, -1, *a.shape[1:]) for a in (mean, cov)]
    each = jax.vmap(unit)(layer.theta, layer.Z, half, *grouped)
    found = Matched(*(jnp.moveaxis(a, 0, 1).reshape(len(x.mean), layer.width) for a in each))
    return _with_mean_function(layer, mean, x, found)


def pairs(m: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers i ≤ j of all pairs of inducing points."""
    return np.triu_indices(m)


def _folded(S: Array) -> Array:
    """Weights (V, P) of the pairs i ≤ j, with which their ψ2 sums to tr(S ψ2) for symmetric S (V, M, M)."""
    i, j = pairs(S.shape[-1])
    return S[:, i, j] * np.where(i == j, 1.0, 2.0).astype(S.dtype)


def _with_mean_function(layer: Layer, mean: Array, x: Moments, found: Matched) -> Matched:
    """Add the line Bᵀx + c; by Stein's lemma its covariance with a function g of x is BᵀS E[∇g]."""
    found = found._replace(var=found.var + layer.own_noise())
    out = found.mean + layer.offset
    if layer.slope is None:
        return found._replace(mean=out)

    def one(m: Array) -> Array:
        inputs = Moments(m, x.var)
        half = linalg.whitening(layer._cross(layer.Z, layer.Z), layer.jitter)
        psi = jax.vmap(lambda t, Z: expectations(layer.form.at(t), inputs, Z, first=True).one)(layer.theta, layer.Z)
        groups = mean.reshape(len(half), -1, mean.shape[1])
        values = jnp.einsum("unm,ukm,uvk->nuv", psi, half, groups)
        return values.reshape(len(m), layer.width)

    slopes = [jax.jvp(one, (x.mean,), (direction,))[1] for direction in _directions(x.mean)]  # D of (N, W)
    cross = sum(x.var[:, d, None] * layer.slope[d] * slope for d, slope in enumerate(slopes))
    var = found.var + x.var @ layer.slope**2 + 2 * cross
    return found._replace(mean=out + x.mean @ layer.slope, var=var)


def _directions(m: Array) -> list[Array]:
    """Unit vectors, the same for all rows."""
    eye = jnp.eye(m.shape[1], dtype=m.dtype)
    return [jnp.broadcast_to(row, m.shape) for row in eye]


def at_points(layer: Layer, mean: Array, cov: Array, X: Array) -> Matched:
    """The outputs' moments at known inputs: ψ-statistics without their expectation."""
    seen = layer.see(X)
    shape = (len(X), layer.width)
    A = jnp.broadcast_to(seen.A, (layer.width, *seen.A.shape[1:]))
    residual = jnp.broadcast_to((seen.prior - jnp.sum(seen.A**2, -1)).T, shape)
    out = jnp.einsum("wnm,wm->nw", A, mean) + layer.offset
    out = out if layer.slope is None else out + X @ layer.slope
    return Matched(out, residual + quadratic(A, cov).T + layer.own_noise(), residual)


def _by_quadrature(layer: Layer, mean: Array, cov: Array, x: Moments) -> Matched:
    """The same moments from the layer's answers at points around each input."""
    nodes, weights = (jnp.asarray(a, x.mean.dtype) for a in rule(x.mean.shape[1]))
    points = x.mean + nodes[:, None, :] * jnp.sqrt(x.var + FLOOR)
    found = at_points(layer, mean, cov, points.reshape(-1, x.mean.shape[1]))
    out, var, residual = (a.reshape(len(nodes), len(x.mean), -1) for a in found)
    first, second, rest = (jnp.einsum("p,pnw->nw", weights, a) for a in (out, var, residual))
    return Matched(first, second + jnp.einsum("p,pnw->nw", weights, (out - first) ** 2), rest)


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


# -- closed forms ----------------------------------------------------------------------------------------------------

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
