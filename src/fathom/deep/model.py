"""The one deep architecture: layers, a way for values to pass between them, and a likelihood; no inference."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from fathom.base.arrays import Array, DType
from fathom.deep.layer import Layer, Projection
from fathom.deep.propagate import Passing, Points
from fathom.kernels.expectations import Moments
from fathom.likelihoods import Likelihood

Extractor = Callable[[Array], Array]  # of one row; its arrays are learnt if it is a module of Equinox
Features = str | Extractor | None  # a named network, an extractor of the user's own, or nothing


class DeepGP(eqx.Module):
    """Layers of processes, how hidden values pass between them, and the likelihood of what comes out."""

    layers: tuple[Layer, ...]
    passing: Passing
    likelihood: Likelihood
    features: Extractor | None  # applied to each row before the first layer
    connected: bool = eqx.field(static=True)

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return tuple(layer.width for layer in self.layers[:-1])

    @property
    def draws(self) -> bool:
        """True if hidden values pass as random draws."""
        return bool(self.widths) and self.passing.draws

    def represent(self, X: Array) -> Array:
        """Map rows through the feature extractor (the identity without one)."""
        return X if self.features is None else jax.vmap(self.features)(X)

    def points(self, key: Array, n_samples: int, n_rows: int, dtype: DType) -> Points:
        """Points by which hidden values pass, for `n_rows` rows; a single layer needs none."""
        if not self.widths:
            return (), jnp.zeros(1, dtype)
        return self.passing.points(key, n_samples, n_rows, self.widths, dtype)

    def __call__(
        self, X: Array, key: Array, n_samples: int = 1, common: bool = False
    ) -> tuple[Moments, Array, Projection | None]:
        """Moments (S, N, Q) of the latent functions, log weights (S), and the last layer's projection.

        With `common` draws for all rows, the answer at a row does not depend on the others and is smooth in it.
        """
        return self.at(X, self.points(key, n_samples, 1 if common else len(X), X.dtype))

    def at(self, X: Array, points: Points) -> tuple[Moments, Array, Projection | None]:
        """As a call, for points that were drawn before."""
        return self.passing(self.layers, self.represent(X), points, self.connected)

    def kl(self, density: bool = False, projection: Projection | None = None) -> Array:
        """KL(q ‖ prior) summed over layers; the last layer's `projection` saves it a factorisation."""
        hidden = sum((layer.kl(density) for layer in self.layers[:-1]), jnp.zeros(()))
        return hidden + self.layers[-1].kl(density, projection)
