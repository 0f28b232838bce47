"""The explicit iteration of stochastic EP over minibatches, with the kernels as they are."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.deep.energy import Belief, Factors, allowed, asked, factors_of, holding, moved, through
from fathom.deep.model import DeepGP


def sweep(
    model: DeepGP, X: np.ndarray, Y: np.ndarray, n_sweeps: int, batch: int, seed: int, power: float = 1.0
) -> DeepGP:
    """The model after so many passes over the rows; a minibatch of b rows moves the factor by b/N of the way.

    All minibatches have one size, for one compilation: the last of a pass is filled up with the first rows of it.
    """
    dtype, n = model.layers[0].Z.dtype, len(X)
    batch = min(batch, n)
    rows_X, rows_Y = (jnp.asarray(a, dtype) for a in (X, Y))
    factors = allowed(factors_of(model.layers, n), n)
    for epoch in range(n_sweeps):
        order = np.random.default_rng([seed, 13, epoch]).permutation(n)
        for rows in np.resize(order, (-(-n // batch), batch)):
            step = _asked(model, factors, rows_X[rows], rows_Y[rows], float(n), power)
            factors = moved(factors, step, n, batch / n)
    return eqx.tree_at(lambda old: old.layers, model, holding(model.layers, factors, n))


@compiled
def _asked(model: DeepGP, factors: Factors, X: Array, Y: Array, n: float, power: float) -> Factors:
    """What these rows ask for, in one compiled call: operation by operation it was most of a sweep."""

    def log_z(means: list[Array], covs: list[Array]) -> Array:
        beliefs = [Belief(m, c, jnp.zeros((), m.dtype)) for m, c in zip(means, covs, strict=True)]
        f = through(model.layers, beliefs, model.represent(X), model.connected)
        return model.likelihood.tilted(Y, f.mean, f.var, f.residual, power)

    return asked(factors, log_z, n, power)
