"""What is optimised: the data term of every row, from the likelihood and the S points of a mixture.

All are maximised as (N/b) Σ_rows − β Σ_layers KL, divided by N. They differ in one line:

    elbo        Σ_s w_s E[log p(y|f_s)]                        DSVI; with one layer SVGP
    predictive  log Σ_s w_s E[p(y|f_s)]                        DSPP; with one layer PPGPR
    robust      (γ/c) exp log Σ_s w_s E[p(y|f_s)^c]/I^{c/γ}    γ-divergence, c = γ − 1 (Knoblauch et al.)

    joint       log Σ_s w_s Π_n E[p(y_n|f_s)], a row's share   DGPS as printed: higher variance, no minibatches

The integral I = ∫p(y|f)^γ dy is divided out; public codes multiply by it, and their noise is then learnt too small.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from fathom.base.arrays import Array
from fathom.deep.layer import Moments
from fathom.likelihoods import Likelihood

GAMMA = 1.03


def elbo(likelihood: Likelihood, y: Array, f: Moments, log_weights: Array) -> Array:
    """The expected log likelihood of each row (N)."""
    return jnp.exp(log_weights) @ likelihood.expected(y, f.mean, f.var)


def predictive(likelihood: Likelihood, y: Array, f: Moments, log_weights: Array) -> Array:
    """The log density of each row under the mixture (N)."""
    return jax.nn.logsumexp(log_weights[:, None] + likelihood.marginal(y, f.mean, f.var), 0)


def robust(likelihood: Likelihood, y: Array, f: Moments, log_weights: Array, gamma: float = GAMMA) -> Array:
    """The γ-divergence score of each row (N), less its limit γ/c: it tends to `elbo` as γ → 1."""
    logs = likelihood.robust(y, f.mean, f.var, gamma)  # type: ignore[union-attr]
    return gamma / (gamma - 1) * jnp.expm1(jax.nn.logsumexp(log_weights[:, None] + logs, 0))


def joint(likelihood: Likelihood, y: Array, f: Moments, log_weights: Array) -> Array:
    """The log density of all rows under one mixture, shared out evenly (N)."""
    total = jax.nn.logsumexp(log_weights + jnp.sum(likelihood.marginal(y, f.mean, f.var), -1))
    return jnp.full(len(y), total / len(y))


OBJECTIVES: dict[str, Callable[[Likelihood, Array, Moments, Array], Array]] = {
    "elbo": elbo,
    "predictive": predictive,
    "robust": robust,
    "joint": joint,
}
