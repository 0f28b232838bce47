"""Gaussian beliefs about the inputs of a layer, passed on as Gaussian beliefs about its outputs (probabilistic
backpropagation; SEP paper, section 3).

With A = K⁻¹u a layer needs three expectations of its kernel (`kernels.expectations`).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.deep.layer import FLOOR, Layer, quadratic
from fathom.kernels.expectations import Moments, closed_form, expectations, pairs, rule


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
    projection = layer.project(X)
    shape = (len(X), layer.width)
    A = jnp.broadcast_to(projection.A, (layer.width, *projection.A.shape[1:]))
    residual = jnp.broadcast_to((projection.prior - jnp.sum(projection.A**2, -1)).T, shape)
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
