"""What training maximises: a data term of every row, from the likelihood and the S points of a mixture, less β KL.

An `Objective` is (1/b) Σ_rows data term − (β/N) Σ_layers KL, for b of N rows. Data terms differ in one line:

    elbo        Σ_s w_s E[log p(y|f_s)]                        DSVI; with one layer SVGP
    predictive  log Σ_s w_s E[p(y|f_s)]                        DSPP; with one layer PPGPR
    robust      (γ/c) exp log Σ_s w_s E[p(y|f_s)^c]/I^{c/γ}    γ-divergence, c = γ − 1 (Knoblauch et al.)
    joint       log Σ_s w_s Π_n E[p(y_n|f_s)], a row's share   DGPS as printed: higher variance, no minibatches

The integral I = ∫p(y|f)^γ dy is divided out; public codes multiply by it, and their noise is then learnt too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp

from fathom.base.arrays import Array
from fathom.deep.model import DeepGP
from fathom.deep.propagate import Points
from fathom.kernels.expectations import Moments
from fathom.likelihoods import Likelihood

DataTerm = Callable[[Likelihood, Array, Moments, Array], Array]  # (likelihood, y, f, log weights) → (N)


def elbo(likelihood: Likelihood, y: Array, f: Moments, log_weights: Array) -> Array:
    """The expected log likelihood of each row (N)."""
    return jnp.exp(log_weights) @ likelihood.expected(y, f.mean, f.var)


def predictive(likelihood: Likelihood, y: Array, f: Moments, log_weights: Array) -> Array:
    """The log density of each row under the mixture (N)."""
    return jax.nn.logsumexp(log_weights[:, None] + likelihood.marginal(y, f.mean, f.var), 0)


@dataclass(frozen=True)
class Robust:
    """The γ-divergence score of each row (N), less its limit γ/c: it tends to `elbo` as γ → 1."""

    gamma: float

    def __call__(self, likelihood: Likelihood, y: Array, f: Moments, log_weights: Array) -> Array:
        logs = likelihood.robust(y, f.mean, f.var, self.gamma)  # type: ignore[union-attr]
        return self.gamma / (self.gamma - 1) * jnp.expm1(jax.nn.logsumexp(log_weights[:, None] + logs, 0))


def joint(likelihood: Likelihood, y: Array, f: Moments, log_weights: Array) -> Array:
    """The log density of all rows under one mixture, shared out evenly (N)."""
    total = jax.nn.logsumexp(log_weights + jnp.sum(likelihood.marginal(y, f.mean, f.var), -1))
    return jnp.full(len(y), total / len(y))


class Loss(Protocol):
    """What training makes small: minus an objective per row. Hashable, since compiled code belongs to it."""

    @property
    def n_points(self) -> int:
        """Draws of each row in training, where hidden values pass as draws."""

    def __call__(
        self,
        model: DeepGP,
        X: Array,
        Y: Array,
        points: Points,
        beta: Array,
        n_rows: Array,
        probe: Moments | None = None,
    ) -> tuple[Array, Array | None]:
        """The loss for a minibatch of `n_rows` rows, and A of the last layer.

        Hidden values pass by `points`. A `probe` of zeros is added to the last moments, to read the slopes in them.
        """


@dataclass(frozen=True)
class Objective:
    """The loss of every method whose objective is a data term less β KL."""

    data: DataTerm
    n_points: int = 1
    density: bool = False  # the prior of point values is that of u = Lv, not of v

    def __call__(
        self,
        model: DeepGP,
        X: Array,
        Y: Array,
        points: Points,
        beta: Array,
        n_rows: Array,
        probe: Moments | None = None,
    ) -> tuple[Array, Array | None]:
        f, log_weights, projection = model.at(X, points)
        if probe is not None:
            f = Moments(f.mean + probe.mean, f.var + probe.var)
        data = jnp.mean(self.data(model.likelihood, Y, f, log_weights))
        return -data + beta * model.kl(self.density, projection) / n_rows, None if projection is None else projection.A
