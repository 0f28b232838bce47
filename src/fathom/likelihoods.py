"""What an observation says of the latent functions f ~ N(mean, var), independent by entry: JAX.

Each likelihood answers three questions, row by row: `expected`, E[log p(y|f)], for variational bounds; `marginal`,
log E[p(y|f)], for predictive objectives and scores; `tilted`, log E[p(y|u)^α], for power EP. Means and variances have
shape (…, N, Q), observations (N, P), and answers (…, N). NaN in y is a missing output: it says nothing.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array, DType

LOG_2PI = math.log(2 * math.pi)


class Gaussian(eqx.Module):
    """y = B f + ε: P outputs of Q latent functions (linear model of coregionalization); Q = P and B = I when None."""

    log_noise: Array  # (P): variances
    mixing: Array | None  # B, (P, Q)
    floor: Array  # the least noise variance; not learnt

    def noise(self) -> Array:
        """σ², (P)."""
        return jax.lax.stop_gradient(self.floor) + jnp.exp(self.log_noise)

    def outputs(self, mean: Array, var: Array) -> tuple[Array, Array]:
        """Marginal moments (…, N, P) of the noise-free outputs."""
        if self.mixing is None:
            return mean, var
        return mean @ self.mixing.T, var @ (self.mixing**2).T

    def expected(self, y: Array, mean: Array, var: Array) -> Array:
        """Σ_p log N(y_p | m_p, σ_p²) − v_p/(2σ_p²)."""
        m, v = self.outputs(mean, var)
        noise, known = self.noise(), ~jnp.isnan(y)
        each = -0.5 * (LOG_2PI + jnp.log(noise) + ((jnp.where(known, y, 0.0) - m) ** 2 + v) / noise)
        return jnp.sum(jnp.where(known, each, 0.0), -1)

    def marginal(self, y: Array, mean: Array, var: Array) -> Array:
        """log N(y | m, B diag(v) Bᵀ + diag(σ²)): outputs are dependent through what they share."""
        m, v = self.outputs(mean, var)
        known = ~jnp.isnan(y)
        residual = jnp.where(known, jnp.where(known, y, 0.0) - m, 0.0)
        if self.mixing is None or self.mixing.shape[0] == 1:
            total = v + self.noise()
            return jnp.sum(jnp.where(known, -0.5 * (LOG_2PI + jnp.log(total) + residual**2 / total), 0.0), -1)
        cov = jnp.einsum("pq,...q,rq->...pr", self.mixing, var, self.mixing)
        both = known[:, :, None] & known[:, None, :]
        # a missing output becomes an independent standard normal at its mean, whose density is taken out again
        eye = jnp.eye(y.shape[1], dtype=cov.dtype)
        cov = jnp.where(both, cov + eye * self.noise(), 0.0) + eye * (~known)[:, None, :]
        return linalg.log_normal(residual, cov) + 0.5 * LOG_2PI * jnp.sum(~known, -1)

    def robust(self, y: Array, mean: Array, var: Array, gamma: float | Array) -> Array:
        """log E[p(y|f)^c] − (c/γ) log ∫p^γ, c = γ − 1, of each row: what the γ-divergence puts in place of log p."""
        m, v = self.outputs(mean, var)
        c, noise, known = gamma - 1.0, self.noise(), ~jnp.isnan(y)
        square = (jnp.where(known, y, 0.0) - m) ** 2
        power = -0.5 * c * (LOG_2PI + jnp.log(noise)) - 0.5 * jnp.log1p(c * v / noise)
        power = power - 0.5 * c * square / (noise + c * v)
        integral = -0.5 * c * (LOG_2PI + jnp.log(noise)) - 0.5 * jnp.log(gamma)
        return jnp.sum(jnp.where(known, power - (c / gamma) * integral, 0.0), -1)

    def tilted(self, y: Array, mean: Array, var: Array, residual: Array, power: float) -> Array:
        """log ∫ p(y|u)^α q(u) du, where `residual` of the variance is not that of u and so belongs to p(y|u).

        With R = residual + σ²: N(y|f, R)^α is N(y|f, R/α) times (2πR)^{½(1−α)} α^{−½}.
        """
        if power == 1.0:
            return self.marginal(y, mean, var)
        (m, v), (_, own) = self.outputs(mean, var), self.outputs(mean, residual)
        R, known = own + self.noise(), ~jnp.isnan(y)
        total = v - own + R / power
        each = 0.5 * (1 - power) * (LOG_2PI + jnp.log(R)) - 0.5 * math.log(power)
        each = each - 0.5 * (LOG_2PI + jnp.log(total) + (jnp.where(known, y, 0.0) - m) ** 2 / total)
        return jnp.sum(jnp.where(known, each, 0.0), -1)


_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())


class Bernoulli(eqx.Module):
    """Two classes, y ∈ {0, 1}: p(1|f) = Φ(f)."""

    def expected(self, y: Array, mean: Array, var: Array) -> Array:
        """By Gauss-Hermite quadrature."""
        f = mean[..., 0, None] + jnp.sqrt(var[..., 0, None] + 1e-12) * jnp.asarray(_NODES, mean.dtype)
        logs = jax.scipy.stats.norm.logcdf(_sign(y)[:, None] * f)
        return logs @ jnp.asarray(np.exp(_LOG_WEIGHTS), mean.dtype)

    def marginal(self, y: Array, mean: Array, var: Array) -> Array:
        """log Φ(±m/√(1 + v))."""
        return jax.scipy.stats.norm.logcdf(_sign(y) * mean[..., 0] / jnp.sqrt(1 + var[..., 0]))

    def tilted(self, y: Array, mean: Array, var: Array, residual: Array, power: float) -> Array:
        """log E[Φ(±f)^α]; by Gauss-Hermite quadrature unless α = 1."""
        if power == 1.0:
            return self.marginal(y, mean, var)
        f = mean[..., 0, None] + jnp.sqrt(var[..., 0, None] + 1e-12) * jnp.asarray(_NODES, mean.dtype)
        logs = power * jax.scipy.stats.norm.logcdf(_sign(y)[:, None] * f)
        return jax.nn.logsumexp(logs + jnp.asarray(_LOG_WEIGHTS, mean.dtype), -1)

    def probabilities(self, mean: Array, var: Array) -> Array:
        """(…, N, 2)."""
        one = jax.scipy.stats.norm.cdf(mean[..., 0] / jnp.sqrt(1 + var[..., 0]))
        return jnp.stack([1 - one, one], -1)


def _sign(y: Array) -> Array:
    return 2 * y[:, 0] - 1


class Softmax(eqx.Module):
    """C classes, y ∈ {0, …, C − 1}, one latent function each: p ∝ exp f. Expectations by fixed antithetic draws."""

    draws: Array  # (T, C): standard normal, not learnt

    @classmethod
    def of(cls, n_classes: int, n_draws: int = 32, dtype: DType = None) -> Softmax:
        """The same draws for every model with so many classes."""
        half = np.random.default_rng(n_classes).standard_normal((n_draws // 2, n_classes))
        return cls(jnp.asarray(np.concatenate([half, -half]), dtype))

    def _logs(self, mean: Array, var: Array) -> Array:
        """log softmax at every draw, (T, …, N, C)."""
        draws = jax.lax.stop_gradient(self.draws)
        draws = draws.reshape(len(draws), *(1,) * (mean.ndim - 1), -1)
        return jax.nn.log_softmax(mean + jnp.sqrt(var + 1e-12) * draws, -1)

    def _chosen(self, y: Array, mean: Array, var: Array) -> Array:
        logs = self._logs(mean, var)
        index = jnp.broadcast_to(y.astype(int), (*logs.shape[:-1], 1))
        return jnp.take_along_axis(logs, index, -1)[..., 0]

    def expected(self, y: Array, mean: Array, var: Array) -> Array:
        """The mean of log softmax over the draws."""
        return jnp.mean(self._chosen(y, mean, var), 0)

    def marginal(self, y: Array, mean: Array, var: Array) -> Array:
        """The logarithm of the mean softmax over the draws."""
        return jax.nn.logsumexp(self._chosen(y, mean, var), 0) - math.log(len(self.draws))

    def tilted(self, y: Array, mean: Array, var: Array, residual: Array, power: float) -> Array:
        """log E[softmax^α] over the draws."""
        return jax.nn.logsumexp(power * self._chosen(y, mean, var), 0) - math.log(len(self.draws))

    def probabilities(self, mean: Array, var: Array) -> Array:
        """(…, N, C)."""
        return jnp.mean(jnp.exp(self._logs(mean, var)), 0)


Likelihood = Gaussian | Bernoulli | Softmax


def noise_floor(Y: np.ndarray) -> np.ndarray:
    """The least noise variance of each target: 1e-4, and what rounding to few values is worth, step²/12.

    Without the second a predictive objective puts ever narrower spikes on the values that occur.
    """
    floors = []
    for column in Y.T:
        values = np.unique(column[~np.isnan(column)])
        few = few_valued(column)
        floors.append(max(1e-4, float(np.min(np.diff(values))) ** 2 / 12 if few else 0.0))
    return np.array(floors)


def few_valued(column: np.ndarray) -> bool:
    """Whether a target takes so few values that it is rather a grade than a measurement."""
    known = column[~np.isnan(column)]
    values = len(np.unique(known))
    return 1 < values <= 30 and values <= len(known) / 10
