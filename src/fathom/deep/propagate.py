"""How a hidden value passes through the layers: as S points, each mean + ξ × standard deviation.

Random ξ, new for every row, are samples (`Draws`); ξ that all rows share are sigma points (`SigmaPoints`), with weights
of their own. Both are finite mixtures, and the index s of a point stays the same in every layer. A method may bring a
way of its own: anything with the two questions of `Passing`.
"""

from __future__ import annotations

import itertools
import math
from typing import Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array, DType
from fathom.base.compiling import compiled
from fathom.deep.layer import FLOOR, Layer, Projection
from fathom.kernels.expectations import Moments

Points = tuple[tuple[Array, ...], Array]  # ξ (S, N or 1, W) of each hidden layer, and log weights (S)
Passed = tuple[Moments, Array, Projection | None]  # moments (S, N, Q), log weights (S), projection of the last layer
MOST_NODES, MOST_POINTS = 1000, 20_000  # of a unit, and of a grid over all units of a layer
RULES = ("qr1", "qr2", "qr3", "gauss-hermite")


class Passing(Protocol):
    """A way for hidden values to pass through the layers: the points they pass as, and what then comes out."""

    @property
    def draws(self) -> bool:
        """True if the points are random: more of them are then a better answer."""

    def points(self, key: Array, n: int, n_rows: int, widths: tuple[int, ...], dtype: DType) -> Points:
        """The points for `n_rows` rows; `n` of them where they are drawn."""

    def __call__(self, layers: tuple[Layer, ...], X: Array, points: Points, connected: bool) -> Passed:
        """The mixture of the last layer's outputs at the rows of X."""


class Draws(eqx.Module):
    """Hidden values pass as independent draws, new for every row (doubly stochastic)."""

    draws: bool = eqx.field(static=True, default=True)

    def points(self, key: Array, n: int, n_rows: int, widths: tuple[int, ...], dtype: DType) -> Points:
        """n draws of each row, with equal weights."""
        return samples(key, n, n_rows, widths, dtype)

    def __call__(self, layers: tuple[Layer, ...], X: Array, points: Points, connected: bool) -> Passed:
        """The mixture of the last layer's outputs at the rows of X."""
        moments, projection, _ = propagate(layers, X, points[0], connected)
        return moments, points[1], projection


class SigmaPoints(eqx.Module):
    """Hidden values pass as sigma points, learnt with their weights (DSPP paper, section 3).

    QR3 learns S points; QR1 a grid of n^W points from n nodes for each unit; QR2 the same with nodes symmetric about
    zero. Gauss-Hermite is a grid that is not learnt.
    """

    nodes: tuple[Array, ...]  # one (n, W) for each hidden layer
    logits: Array  # (S)
    rule: str = eqx.field(static=True)
    draws: bool = eqx.field(static=True, default=False)

    def points(
        self, key: Array = None, n: int = 0, n_rows: int = 1, widths: tuple[int, ...] = (), dtype: DType = None
    ) -> Points:
        """ξ (S, 1, W) of each hidden layer, the same for all rows and every key."""
        found = tuple(self._points(nodes)[:, None, :] for nodes in self.nodes)
        logits = jax.lax.stop_gradient(self.logits) if self.rule == "gauss-hermite" else self.logits
        return found, jax.nn.log_softmax(logits)

    def __call__(self, layers: tuple[Layer, ...], X: Array, points: Points, connected: bool) -> Passed:
        """The mixture of the last layer's outputs at the rows of X."""
        moments, projection, _ = propagate(layers, X, points[0], connected)
        return moments, points[1], projection

    def _points(self, nodes: Array) -> Array:
        if self.rule == "qr3":
            return nodes
        if self.rule == "qr2":
            middle = jnp.zeros((len(self) % 2, nodes.shape[1]), nodes.dtype)
            nodes = jnp.concatenate([-nodes[::-1], middle, nodes])
        if self.rule == "gauss-hermite":
            nodes = jax.lax.stop_gradient(nodes)
        width = nodes.shape[1]
        return nodes[grid(len(nodes), width), np.arange(width)]

    def __len__(self) -> int:
        """n, the nodes of one unit: S = n^W, or S itself for QR3."""
        if self.rule == "qr3":
            return len(self.logits)
        return round(len(self.logits) ** (1 / self.nodes[0].shape[1]))


def grid(n: int, width: int) -> np.ndarray:
    """All (n^W, W) choices of one node for each unit."""
    return np.array(list(itertools.product(range(n), repeat=width)))


def sigma_points(key: Array, widths: tuple[int, ...], n: int, rule: str = "qr3", dtype: DType = None) -> SigmaPoints:
    """Sigma points to start from: draws with the moments of a normal for QR3, Gauss-Hermite nodes for grids."""
    width = 1 if rule == "qr3" else max(widths, default=1)
    if n > MOST_NODES or width * math.log(n) > math.log(MOST_POINTS):
        raise ValueError(f"n_quadrature={n} with quadrature={rule!r} and widths {widths} makes too many points")
    if rule == "qr3":
        keys = jax.random.split(key, max(len(widths), 1))
        nodes = tuple(_standardised(jax.random.normal(k, (n, w), dtype)) for k, w in zip(keys, widths, strict=False))
        return SigmaPoints(nodes, jnp.zeros(n, dtype), rule)
    if len(set(widths)) > 1:
        raise ValueError(f"quadrature={rule!r} is a grid: hidden layers need the same width, not {widths}; use 'qr3'")
    at, weights = np.polynomial.hermite_e.hermegauss(n)
    kept = at[n - n // 2 :] if rule == "qr2" else at
    nodes = tuple(jnp.tile(jnp.asarray(kept, dtype)[:, None], (1, w)) for w in widths)
    product = np.log(weights)[grid(n, widths[0])].sum(1) if widths else np.zeros(1)
    return SigmaPoints(nodes, jnp.asarray(product, dtype), rule)


@jax.jit
def _standardised(draws: Array) -> Array:
    """Draws (n, W) moved so that their mean is 0 and their covariance I, where there are enough of them for that."""
    n, width = draws.shape
    if n <= width:
        return draws
    centred = draws - jnp.mean(draws, 0)
    moved = centred @ linalg.whitening(centred.T @ centred / n, 0.0).T
    return jnp.where(jnp.all(jnp.isfinite(moved)), moved, draws)  # n = W + 1 draws may all but lie in a plane


def samples(key: Array, n: int, n_rows: int, widths: tuple[int, ...], dtype: DType = None) -> Points:
    """Independent standard normal draws (n, N, W) of each hidden layer, with equal weights."""
    keys = jax.random.split(key, max(len(widths), 1))
    xi = tuple(jax.random.normal(k, (n, n_rows, w), dtype) for k, w in zip(keys, widths, strict=False))
    return xi, jnp.full(n, -np.log(n), dtype)


drawn = compiled(brief=True)(samples)  # where what is drawn once serves many evaluations


def propagate(
    layers: tuple[Layer, ...], X: Array, xi: tuple[Array, ...], connected: bool = False
) -> tuple[Moments, Projection, Array]:
    """Moments (S, N, Q) of the last layer at the rows of X, its projection of its inputs, and these (S·N, D).

    Points are folded into rows, so that every layer factorises once. With `connected`, every hidden value is passed on
    beside the inputs (Duvenaud thesis 5.4).
    """
    H, n_points = X[None], 1
    for layer, offsets in zip(layers[:-1], xi, strict=True):
        mean, var = layer(H.reshape(-1, H.shape[-1]))
        shape = (n_points, len(X), layer.width)
        H = mean.reshape(shape) + offsets * jnp.sqrt(var.reshape(shape) + FLOOR)
        n_points = H.shape[0]
        if connected:
            H = jnp.concatenate([H, jnp.broadcast_to(X, (n_points, *X.shape))], -1)
    rows, last = H.reshape(-1, H.shape[-1]), layers[-1]
    projection = last.project(rows)
    mean, var = last.moments(rows, projection)
    shape = (n_points, len(X), last.width)
    return Moments(mean.reshape(shape), var.reshape(shape)), projection, rows
