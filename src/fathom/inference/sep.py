"""Expectation propagation with one factor for all data (SEP paper; Bui et al. 2016 for the energy).

Every unit's posterior q is p(u) g(u)^N. In whitened values v the prior is N(0, I) and q(v) = N(m, S) what the layer
holds, as everywhere: N copies of the factor g then have precision S⁻¹ − I and shift S⁻¹m. Their size is that of N over
the noise; steps of a gradient in m and the root of S are alike for all data. Taking α of the N copies away leaves the
cavity. The approximate-EP energy, whose prior terms all cancel log|K|, is

    F = (N/α − 1) φ(m, V) − (N/α) φ(m_c, V_c) − (1/α) Σ_n log Z_n,     φ(m, V) = ½ mᵀV⁻¹m + ½ log|V|

summed over units, with Z_n = ∫ q_c(u) p(y_n|u)^α from moments that are matched layer by layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array, DType
from fathom.base.compiling import compiled
from fathom.base.parameters import Constraints, Integer, Number
from fathom.deep.build import Beginning
from fathom.deep.layer import Layer
from fathom.deep.model import DeepGP
from fathom.deep.moments import Matched, at_points, matched
from fathom.deep.propagate import Passed, Passing, Points
from fathom.inference.base import Task
from fathom.inference.gradient import Gradient
from fathom.kernels.expectations import Moments

LEAST = 0.1  # a variance is at least this part of its residual: below it cancellation has eaten the rest

# The explicit iteration keeps this part of the prior's precision in every direction. Hidden layers ask for factors that
# are not positive: as long as there only had to be a cavity, means went to 775 in ten sweeps (two layers, concrete).
KEPT = 0.5


class SEP(Gradient):
    """Stochastic expectation propagation (Bui et al.): Gaussians pass through layers by matched moments, no sampling.

    Parameters
    ----------
    power : float
        α of power EP, above 0 to 1.
    n_sweeps : int
        Passes of the explicit iteration after the kernels have been learnt from the energy. A single layer ends in
        the posterior of FITC, sharper than the energy's own, for which kernels and noise were learnt: for comparing
        methods, not for better intervals.
    """

    name: ClassVar[str] = "sep"
    n_inducing: ClassVar[int] = 50
    dtype: ClassVar[str] = "float64"
    validation: ClassVar[float] = 0.1
    schedules: ClassVar[tuple[int, ...]] = (1,)
    parts: ClassVar[int] = 3
    fewest: ClassVar[int] = 1500

    parameter_constraints: ClassVar[Constraints] = {"power": [Number(above=0, most=1)], "n_sweeps": [Integer(0)]}

    def __init__(self, power: float = 1.0, n_sweeps: int = 0):
        self.power = power
        self.n_sweeps = n_sweeps

    def beginning(self) -> Beginning:
        """A full q(v), narrow in hidden layers, whose outputs have a little noise of their own."""
        return Beginning(noise=0.03, hidden_sd=0.1, hidden_noise=1e-4, passing=by_moments)

    def loss(self) -> Energy:
        """The energy of approximate EP."""
        return Energy(float(self.power))

    def finished(self, model: DeepGP, task: Task, n_seen: int) -> DeepGP:
        """The model after the explicit iteration, where sweeps of it are asked for."""
        if not self.n_sweeps or n_seen > len(task.X):
            return model
        return sweep(model, *task.rows, self.n_sweeps, task.training.batch_size, task.seed, self.power)


@dataclass(frozen=True)
class Energy:
    """F/N of approximate EP, to be made small."""

    power: float
    n_points: int = 1

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
        prior, cavities = penalty(model.layers, n_rows, self.power)
        f = through(model.layers, cavities, model.represent(X), model.connected)
        log_z = model.likelihood.tilted(Y, f.mean, f.var, f.residual, self.power)
        return prior / n_rows - jnp.mean(log_z) / self.power, None


class Matching(eqx.Module):
    """Hidden values pass as Gaussians, by matched moments."""

    draws: bool = eqx.field(static=True, default=False)

    def points(self, key: Array, n: int, n_rows: int, widths: tuple[int, ...], dtype: DType) -> Points:
        """One point of weight 1: nothing is asked of it."""
        return (), jnp.zeros(1, dtype)

    def __call__(self, layers: tuple[Layer, ...], X: Array, points: Points, connected: bool) -> Passed:
        """The Gaussian of the last layer's outputs at the rows of X."""
        f = through(layers, [posterior(layer) for layer in layers], X, connected)
        return Moments(f.mean[None], f.var[None]), points[1], None


def by_moments(key: Array, widths: tuple[int, ...], dtype: str) -> Passing:
    """Hidden values pass by matched moments."""
    return Matching()


# -- the energy -------------------------------------------------------------------------------------------------------


class Belief(NamedTuple):
    """A Gaussian over the whitened inducing values of a layer: mean (W, M), covariance (W, M, M), and φ."""

    mean: Array
    cov: Array
    phi: Array


def posterior(layer: Layer) -> Belief:
    """The layer's own q."""
    R = layer.lower()
    turned = jnp.einsum("wij,wj->wi", linalg.triangular_inverse(R), layer.mean)
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(R, axis1=-2, axis2=-1)))
    return Belief(layer.mean, R @ linalg.turned(R), 0.5 * (jnp.sum(turned**2) + log_det))


def copies(layer: Layer) -> tuple[Array, Array]:
    """Precision (W, M, M) and shift (W, M) of the N factors."""
    half = linalg.triangular_inverse(layer.lower())
    inverse = linalg.turned(half) @ half
    return inverse - _eye(half), jnp.einsum("wij,wj->wi", inverse, layer.mean)


def natural(precision: Array, shift: Array) -> Belief:
    """N(0, I) times a factor of that precision (W, M, M) and shift (W, M)."""
    half = linalg.whitening(_eye(precision) + precision, 0.0)  # Λ = C Cᵀ, half = C⁻¹
    turned = jnp.einsum("wij,wj->wi", half, shift)
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(half, axis1=-2, axis2=-1)))
    phi = 0.5 * (jnp.sum(turned**2) + log_det)
    return Belief(jnp.einsum("wji,wj->wi", half, turned), jnp.swapaxes(half, -1, -2) @ half, phi)


def through(layers: tuple[Layer, ...], beliefs: list[Belief], X: Array, connected: bool = False) -> Matched:
    """Moments of the last layer's outputs at the rows of X, matched after every layer."""
    found = at_points(layers[0], beliefs[0].mean, beliefs[0].cov, X)
    for layer, q in zip(layers[1:], beliefs[1:], strict=True):
        x = Moments(found.mean, _kept(found))
        if connected:
            x = Moments(jnp.concatenate([x.mean, X], -1), jnp.concatenate([x.var, jnp.zeros_like(X)], -1))
        found = matched(layer, q.mean, q.cov, x)
    return found._replace(var=_kept(found), residual=jnp.maximum(found.residual, 0.0))


def _kept(found: Matched) -> Array:
    residual = jnp.maximum(found.residual, 0.0)
    return jnp.maximum(found.var, LEAST * residual)


def penalty(layers: tuple[Layer, ...], n_rows: Array, power: float) -> tuple[Array, list[Belief]]:
    """(F + Σ log Z/α) of all layers, and their cavities."""
    own = [posterior(layer) for layer in layers]
    part = 1.0 - power / n_rows
    cavity = [natural(*(part * each for each in copies(layer))) for layer in layers]
    scale = n_rows / power
    total = sum((scale - 1) * q.phi - scale * c.phi for q, c in zip(own, cavity, strict=True))
    return total, cavity


# -- the explicit iteration ------------------------------------------------------------------------------------------


class Factors(NamedTuple):
    """One factor of every layer: precision T (W, M, M) and shift b (W, M). T of a single datum may be indefinite."""

    precision: list[Array]
    shift: list[Array]


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
            step = _asked_by(model, factors, rows_X[rows], rows_Y[rows], float(n), power)
            factors = moved(factors, step, n, batch / n)
    return eqx.tree_at(lambda old: old.layers, model, holding(model.layers, factors, n))


@compiled
def _asked_by(model: DeepGP, factors: Factors, X: Array, Y: Array, n: float, power: float) -> Factors:
    """What these rows ask for, in one compiled call: operation by operation it was most of a sweep."""

    def log_z(means: list[Array], covs: list[Array]) -> Array:
        beliefs = [Belief(m, c, jnp.zeros((), m.dtype)) for m, c in zip(means, covs, strict=True)]
        f = through(model.layers, beliefs, model.represent(X), model.connected)
        return model.likelihood.tilted(Y, f.mean, f.var, f.residual, power)

    return asked(factors, log_z, n, power)


def asked(factors: Factors, log_z: Callable[..., Array], n_rows: float, power: float = 1.0) -> Factors:
    """The mean over rows of the factor that each asks for (SEP paper, algorithm 1).

    `log_z(means, covs)` answers for all rows (B) what log Z, of the likelihood to the `power`, is for such cavities.
    With g and G the slopes of log Z in the cavity's mean and covariance, the row's new posterior has
    m = m_c + V_c g and V = V_c − V_c (g gᵀ − 2G) V_c, and its factor to the `power` is the quotient of that and the
    cavity.
    """
    others = n_rows - power
    cavities = [natural(others * T, others * b) for T, b in zip(*factors, strict=True)]
    means, covs = [c.mean for c in cavities], [c.cov for c in cavities]
    g, G = jax.jacrev(log_z, argnums=(0, 1))(means, covs)
    found = [_asked(*each) for each in zip(means, covs, g, G, strict=True)]
    return Factors([T / power for T, _ in found], [b / power for _, b in found])


def _asked(mean: Array, cov: Array, g: Array, G: Array) -> tuple[Array, Array]:
    """The mean over rows of the factor each asks for, (W, M, M) and (W, M)."""
    G = 0.5 * (G + jnp.swapaxes(G, -1, -2))
    inner = g[..., :, None] * g[..., None, :] - 2 * G  # (B, W, M, M)
    # V⁻¹ = V_c⁻¹ + H, by the matrix inversion lemma without inverting an indefinite middle: H = (I − inner V_c)⁻¹ inner
    T = linalg.solve_square(_eye(cov) - inner @ cov, inner)
    T = 0.5 * (T + jnp.swapaxes(T, -1, -2))
    new_mean = mean + jnp.einsum("wij,bwj->bwi", cov, g)
    # b_n = V_new⁻¹ m_new − V_c⁻¹ m_c = T m_new + V_c⁻¹ (m_new − m_c) = T m_new + g
    b = jnp.einsum("bwij,bwj->bwi", T, new_mean) + g
    return jnp.mean(T, 0), jnp.mean(b, 0)


def moved(old: Factors, asked: Factors, n_rows: float, damping: float) -> Factors:
    """The factors, a part of the way to what is asked for. A step that takes too much of the prior is halved."""
    for _ in range(20):
        new = Factors(*jax.tree.map(lambda a, b, step=damping: a + step * (b - a), tuple(old), tuple(asked)))
        if all(linalg.is_positive((1 - KEPT) * _eye(T) + n_rows * T) for T in new.precision):
            return new
        damping /= 2
    return old


def allowed(factors: Factors, n_rows: float) -> Factors:
    """The factors without what would take too much of the prior, from where the iteration can begin."""
    least = 0.5 * (1 - KEPT) / n_rows
    halves = [jax.vmap(linalg.root)(T + least * _eye(T)) for T in factors.precision]
    return Factors([half @ linalg.turned(half) - least * _eye(half) for half in halves], factors.shift)


def _eye(A: Array) -> Array:
    return jnp.eye(A.shape[-1], dtype=A.dtype)


def factors_of(layers: tuple[Layer, ...], n_rows: float) -> Factors:
    """One of the N copies that the layers' q are made of."""
    held = [copies(layer) for layer in layers]
    return Factors([T / n_rows for T, _ in held], [b / n_rows for _, b in held])


def holding(layers: tuple[Layer, ...], factors: Factors, n_rows: float) -> tuple[Layer, ...]:
    """The layers with q of N copies of these factors."""
    return tuple(_holding(*each, n_rows) for each in zip(layers, *factors, strict=True))


def _holding(layer: Layer, T: Array, b: Array, n_rows: float) -> Layer:
    R = linalg.inverse_root(_eye(T) + n_rows * T)
    mean = jnp.einsum("wij,wkj,wk->wi", R, R, n_rows * b)
    logs = jax.vmap(jnp.diag)(jnp.log(jnp.diagonal(R, axis1=-2, axis2=-1)))
    return eqx.tree_at(lambda old: (old.mean, old.root), layer, (mean, jnp.tril(R, -1) + logs))
