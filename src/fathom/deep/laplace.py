"""Laplace's approximation of a deep GP: a Gaussian about inducing values that were learnt as parameters.

A point estimate is certain of where a step lies between two rows; the curvature of the objective knows that the rows do
not say. The prior of the whitened values v is N(0, I). With H the block of −∇² log p(y|v) that belongs to one unit,
whose directions of the wrong sign count as flat, its q(v) is N(v̂, (I + H)⁻¹), independent of the other units.

That is further than the curvature holds where layers multiply each other's spread, and little of the fit may be left.
Each layer therefore keeps the part of its spread with which the objective, KL included, is highest.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.deep.layer import Layer
from fathom.deep.model import DeepGP
from fathom.deep.objective import Loss
from fathom.deep.propagate import Points
from fathom.deep.training.lbfgs import cost, drawn, minus_objective

ROWS = 2000  # whose curvature stands for that of all
POINTS = 20_000  # rows times draws of one evaluation
MOST_DRAWS = 40
CERTAIN = 1e12  # a curvature that could not be computed
PARTS = (0.5, 0.25, 0.125)  # of a layer's spread that are tried


def laplace(model: DeepGP, loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int, n_rows: int | None = None) -> DeepGP:
    """The model with a Gaussian about its point values; `n_rows` of all data, when these are a part."""
    n = n_rows or len(X)
    kept = np.random.default_rng(seed).choice(len(X), min(ROWS, len(X)), replace=False)
    dtype = model.layers[-1].mean.dtype
    rows = jnp.asarray(X[kept], dtype), jnp.asarray(Y[kept], dtype), jnp.asarray(float(n), dtype)
    draws = int(np.clip(POINTS // len(kept), loss.n_points, MOST_DRAWS)) if model.widths else 1
    bent, kept_part = (drawn(model, jax.random.key(seed + s), draws, len(kept)) for s in (11, 17))
    H = np.asarray(_curvature(model, loss, *rows, bent), dtype=float)
    H = H - np.eye(len(H)) if np.isfinite(H).all() else CERTAIN * np.eye(len(H))
    layers, start = [], 0
    for layer in model.layers:
        m = layer.mean.shape[1]
        blocks = [_precision(H[i : i + m, i : i + m]) for i in range(start, start + layer.mean.size, m)]
        layers.append(_spread(layer, blocks))
        start += layer.mean.size
    spread = eqx.tree_at(lambda old: old.layers, model, tuple(layers))
    return _narrowed(spread, lambda m: -float(cost(m, loss, *rows, kept_part))) if model.widths else spread


def points(model: DeepGP) -> DeepGP:
    """The model with its inducing values as parameters again."""
    layers = tuple(eqx.tree_at(lambda old: old.root, layer, None) for layer in model.layers)
    return eqx.tree_at(lambda old: old.layers, model, layers)


@compiled(brief=True)
def _curvature(model: DeepGP, loss: Loss, X: Array, Y: Array, n_rows: Array, points: Points) -> Array:
    """The second derivatives of −log p(y, v)."""
    values, unravel = ravel_pytree([layer.mean for layer in model.layers])

    def at(v: Array) -> Array:
        moved = eqx.tree_at(lambda old: [layer.mean for layer in old.layers], model, unravel(v))
        return minus_objective(moved, loss, X, Y, n_rows, points)

    # one direction after the other: all at once would keep P copies of everything
    return jax.lax.map(lambda e: jax.jvp(jax.grad(at), (values,), (e,))[1], jnp.eye(len(values), dtype=X.dtype))


def _narrowed(model: DeepGP, worth: Callable[[DeepGP], float]) -> DeepGP:
    """The model whose layers, one after the other, keep the part of their spread that is worth most."""
    best, most = model, worth(model)
    for depth in range(len(model.layers)):
        before, layer, after = best.layers[:depth], best.layers[depth], best.layers[depth + 1 :]
        for part in PARTS:
            layers = (*before, narrower(layer, part), *after)
            tried = eqx.tree_at(lambda old: old.layers, model, layers)
            if (value := worth(tried)) > most or not np.isfinite(most):
                best, most = tried, value
    return best


def narrower(layer: Layer, part: float) -> Layer:
    """The layer with standard deviations of its inducing values so much smaller."""
    root = np.asarray(layer.root)
    scaled = part * np.tril(root, -1) + np.eye(root.shape[-1]) * (root + np.log(part))
    return eqx.tree_at(lambda old: old.root, layer, jnp.asarray(scaled, root.dtype))


def _precision(H: np.ndarray) -> np.ndarray:
    half = linalg.root((H + H.T) / 2)
    return half @ half.T + np.eye(len(H))


def _spread(layer: Layer, precisions: list[np.ndarray]) -> Layer:
    """The layer with q of these precisions."""
    with jax.enable_x64(True):
        R = np.asarray(compiled(brief=True)(linalg.inverse_root)(jnp.asarray(np.stack(precisions))))
    logs = np.stack([np.diag(np.log(np.diag(r))) for r in R])
    root = jnp.asarray(np.tril(R, -1) + logs, layer.mean.dtype)
    return eqx.tree_at(lambda old: old.root, layer, root, is_leaf=lambda x: x is None)
