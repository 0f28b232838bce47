"""The explicit iteration of stochastic EP over minibatches, with the kernels as they are."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from fathom.arrays import Array
from fathom.deep.energy import Belief, Factors, factors_of, holding, refined, through
from fathom.deep.model import DeepGP


def sweep(model: DeepGP, X: np.ndarray, Y: np.ndarray, n_sweeps: int, batch: int, seed: int) -> DeepGP:
    """The model after so many passes over the rows; a minibatch of b rows moves the factor by b/N of the way."""
    dtype, n = model.layers[0].Z.dtype, len(X)
    rows_X, rows_Y = (jnp.asarray(a, dtype) for a in (X, Y))
    factors = factors_of(model.layers, n)
    for epoch in range(n_sweeps):
        order = np.random.default_rng([seed, 13, epoch]).permutation(n)
        for rows in np.array_split(order, max(1, round(n / batch))):
            factors = _refined(model, factors, rows_X[rows], rows_Y[rows], n)
    return eqx.tree_at(lambda old: old.layers, model, holding(model.layers, factors, n))


def _refined(model: DeepGP, factors: Factors, X: Array, Y: Array, n: int) -> Factors:
    return refined(factors, lambda means, covs: _log_z(model, X, Y, means, covs), n, len(X) / n)


@eqx.filter_jit
def _log_z(model: DeepGP, X: Array, Y: Array, means: list[Array], covs: list[Array]) -> Array:
    """log Z of every row, for cavities with these moments."""
    beliefs = [Belief(m, c, jnp.zeros((), m.dtype)) for m, c in zip(means, covs, strict=True)]
    f = through(model.layers, beliefs, model.represent(X), model.connected)
    return model.likelihood.tilted(Y, f.mean, f.var, f.residual, 1.0)
