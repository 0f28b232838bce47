"""What may stand before the first layer: a network that is trained with the GP (deep kernel learning)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base.arrays import Array
from fathom.deep.model import Extractor, Features

NETWORKS = {"dkl": (1000, 1000, 500, 50, 2), "dkl-small": (1000, 500, 50, 2)}  # Wilson et al. 2016: their layers


class Network(eqx.Module):
    """Linear layers with ReLU between them; what comes out has mean 0 and spread 1 on the rows it started from."""

    layers: tuple[eqx.nn.Linear, ...]
    centre: Array
    spread: Array

    def raw(self, x: Array) -> Array:
        """Features before they are standardised."""
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x)

    def __call__(self, x: Array) -> Array:
        return (self.raw(x) - jax.lax.stop_gradient(self.centre)) / jax.lax.stop_gradient(self.spread)


def extractor(features: Features, X: np.ndarray, seed: int, dtype: str) -> Extractor | None:
    """None, a named network, or the user's own module (a callable on one row)."""
    if features is None or not isinstance(features, str):
        return features
    if features not in NETWORKS:
        raise ValueError(f"features must be None, a module or one of {', '.join(NETWORKS)}, not {features!r}")
    sizes = (X.shape[1], *NETWORKS[features])
    keys = jax.random.split(jax.random.key(seed), len(sizes) - 1)
    pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
    start = Network(tuple(_linear(a, b, k, dtype) for a, b, k in pairs), jnp.zeros(sizes[-1]), jnp.ones(sizes[-1]))
    H = jax.vmap(start.raw)(jnp.asarray(X[:5000], dtype))
    return Network(start.layers, jnp.mean(H, 0), jnp.std(H, 0) + 1e-6)


def _linear(n_in: int, n_out: int, key: Array, dtype: str) -> eqx.nn.Linear:
    """Weights of variance 2/n: signals keep their size through ReLUs, so that the first steps do not kill them."""
    plain = eqx.nn.Linear(n_in, n_out, key=key, dtype=jnp.dtype(dtype))
    weight = jnp.sqrt(2.0 / n_in) * jax.random.normal(key, (n_out, n_in), dtype)
    return eqx.tree_at(lambda m: (m.weight, m.bias), plain, (weight.astype(dtype), jnp.zeros(n_out, dtype)))
