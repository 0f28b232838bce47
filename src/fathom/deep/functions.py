"""Whole functions drawn from a deep model: every layer with its full covariance (DGPS thesis, 4.2.3).

A row of a hidden layer depends on the same row of the layer below only, so the density at each point is that of the
predictive mixture; what the full covariance adds is that a draw is a smooth function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.deep.layer import Layer
from fathom.deep.model import DeepGP


def draws(model: DeepGP, X: np.ndarray, seed: int, n: int) -> list[np.ndarray]:
    """`paths` of standardised rows, from a seed."""
    rows = jnp.asarray(X, model.layers[0].Z.dtype)
    return [np.asarray(a, dtype=float) for a in paths(model, rows, jax.random.key(seed), n)]


def functions(models: Sequence[DeepGP], weights: Sequence[float], X: np.ndarray, seed: int, n: int) -> np.ndarray:
    """Functions (n, N, P), each of one of the models: of which, their weights say."""
    which = np.random.default_rng([seed, 3]).choice(len(models), n, p=weights)
    found = {k: _outputs(models[k], draws(models[k], X, seed, n)[-1]) for k in sorted(set(which.tolist()))}
    return np.stack([found[k][i] for i, k in enumerate(which)])


def _outputs(model: DeepGP, latent: np.ndarray) -> np.ndarray:
    """Latent functions mixed as the likelihood does, if it does."""
    mixing = getattr(model.likelihood, "mixing", None)
    return latent if mixing is None else latent @ np.asarray(mixing, dtype=float).T


class Unit(NamedTuple):
    """One process of a layer along an axis: draws (n, N), mean (N), and its inducing points if the axis is its own."""

    name: str
    axis: str
    at: np.ndarray
    drawn: np.ndarray
    mean: np.ndarray
    Z: np.ndarray | None
    u: np.ndarray | None


def units(model: DeepGP, X: np.ndarray, seed: int, n: int) -> list[Unit]:
    """Every unit of every layer along the rows of X (N, 1), in standard units.

    A unit of one input is asked on the range that its input takes there; one of several inputs is seen through the
    layers below it.
    """
    through = [X[None], *draws(model, X, seed, n)]
    found = []
    for depth, layer in enumerate(model.layers):
        own = layer.Z.shape[-1] == 1
        below = through[depth]
        at = np.linspace(below.min(), below.max(), len(X)) if own else X[:, 0]
        for w in range(layer.width):
            name = f"layer {depth + 1}, unit {w + 1}" if layer.width > 1 else f"layer {depth + 1}"
            if not own:
                drawn = through[depth + 1][:, :, w]
                found.append(Unit(name, "input of the model", at, drawn, drawn.mean(0), None, None))
                continue
            axis = "input of the model" if depth == 0 else f"output of layer {depth}"
            found.append(Unit(name, axis, at, *_alone(layer, at, w, seed, n)))
    return found


def _alone(layer: Layer, at: np.ndarray, w: int, seed: int, n: int) -> tuple[np.ndarray, ...]:
    """Draws, mean and inducing points of one unit over a grid of its own input."""
    rows = jnp.asarray(at[:, None], layer.Z.dtype)
    mean, cov = joint(layer, rows)
    root = linalg.root(cov[w])
    z = jax.random.normal(jax.random.key(seed), (n, len(at)), rows.dtype)
    Z = layer.Z[w % len(layer.Z)]
    values, _ = joint(layer, Z)
    drawn = mean[:, w] + z @ root.T
    return tuple(np.asarray(a, dtype=float) for a in (drawn, mean[:, w], Z[:, 0], values[:, w]))


@eqx.filter_jit
def paths(model: DeepGP, X: Array, key: Array, n: int) -> list[Array]:
    """Draws (n, N, W) of every layer's outputs at the rows of X, the last one's latent functions."""

    def one(key: Array) -> list[Array]:
        found, H = [], model.represent(X)
        first = H
        for depth, layer in enumerate(model.layers):
            drawn = _drawn(layer, H, jax.random.fold_in(key, depth))
            found.append(drawn)
            H = jnp.concatenate([drawn, first], -1) if model.connected else drawn
        return found

    return jax.lax.map(one, jax.random.split(key, n))


def _drawn(layer: Layer, X: Array, key: Array) -> Array:
    """One draw (N, W) of a layer's outputs at known inputs."""
    mean, cov = joint(layer, X)
    z = jax.random.normal(key, (layer.width, len(X)), X.dtype)
    return mean + jax.vmap(lambda c, e: linalg.root(c) @ e)(cov, z).T


def joint(layer: Layer, X: Array) -> tuple[Array, Array]:
    """Mean (N, W) and covariance (W, N, N) of a layer's outputs at known inputs."""
    R, projection = layer.lower(), layer.project(X)
    mean = layer.moments(X, projection).mean
    A = jnp.broadcast_to(projection.A, (layer.width, *projection.A.shape[1:]))
    prior = jnp.broadcast_to(layer._cross(X, X), (layer.width, len(X), len(X)))
    spread = A @ R
    return mean, prior - A @ jnp.swapaxes(A, -1, -2) + spread @ jnp.swapaxes(spread, -1, -2)
