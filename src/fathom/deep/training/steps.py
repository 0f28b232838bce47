"""One compiled call: several training steps on gathered minibatches.

Everything that is not a shape is an argument (learning rate, β, N, step), so that one compilation serves every data
set with so many inputs. Adam moves all parameters; if asked, the last layer's q(v) takes natural
gradient steps instead. For S⁻¹ = Λ and λ = Λm they are moving averages: with g and h the slopes of the data term in a
row's mean and variance, a_n its row of A and μ_n = a_nᵀm (without the mean function c),

    Λ ← (1 − ρ)Λ + ρ(I − 2N Σ_n h_n a_n a_nᵀ),     λ ← (1 − ρ)λ + ρ N Σ_n (g_n − 2h_n μ_n) a_n

(for Gaussian noise −2h = 1/σ² and g − 2hμ = (y − c)/σ²: a full batch and ρ = 1 land on the optimum). Λ stays positive.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax  # type: ignore[import-untyped]

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.deep.model import DeepGP
from fathom.deep.objective import Loss
from fathom.kernels.expectations import Moments

NETWORK_RATE = 0.03
_ADAM = optax.flatten(optax.scale_by_adam())


class Natural(NamedTuple):
    """q(v) of the last layer in natural parameters: Λ = S⁻¹ (Q, M, M) and λ = Λm (Q, M)."""

    precision: Array
    shift: Array


class State(NamedTuple):
    """Where training stands; a PyTree of arrays but for the model's structure."""

    model: DeepGP
    adam: optax.OptState
    natural: Natural | None
    step: Array


class Knobs(NamedTuple):
    """What may change without a new compilation."""

    rate: Array  # peak learning rate
    total: Array  # steps of the schedule
    beta: Array  # weight of the KL
    n_rows: Array  # N
    rho: Array  # natural-gradient step


def begin(model: DeepGP, natural: bool) -> State:
    """The state before the first step; `natural` if the last layer's q(v) takes natural-gradient steps."""
    held = None
    if natural:
        R, mean = model.layers[-1].lower(), model.layers[-1].mean
        half = linalg.whitening(R @ jnp.swapaxes(R, -1, -2), 0.0)
        precision = jnp.swapaxes(half, -1, -2) @ half
        held = Natural(precision, jnp.einsum("qmk,qk->qm", precision, mean))
    return State(model, _ADAM.init(eqx.filter(model, eqx.is_inexact_array)), held, jnp.zeros((), jnp.int32))


def rate_at(step: Array, knobs: Knobs) -> Array:
    """A tenth of warm-up, then a cosine to a hundredth."""
    return knobs.rate * jnp.minimum(step / knobs.total / 0.1, 1.0) * cooling(step, knobs)


def cooling(step: Array, knobs: Knobs) -> Array:
    """From 1, after a tenth of the steps, by a cosine to a hundredth.

    The natural step cools too: at the end q should be an average over many minibatches, not over the last ten.
    """
    t = jnp.minimum(step / knobs.total, 1.0)
    return 0.01 + 0.99 * 0.5 * (1 + jnp.cos(jnp.pi * jnp.maximum(t - 0.1, 0.0) / 0.9))


def _step(loss: Loss, knobs: Knobs, key: Array, state: State, batch: tuple[Array, Array]) -> tuple[State, Array]:
    X, Y = batch
    model, dynamic = state.model, eqx.filter(state.model, eqx.is_inexact_array)
    own = jax.random.fold_in(key, state.step)
    probe = _probe(model, loss, X) if state.natural is not None else None

    def value(parts: tuple[DeepGP, Moments | None]) -> tuple[Array, Array | None]:
        full = eqx.combine(parts[0], eqx.filter(model, eqx.is_inexact_array, inverse=True))
        full = _hold_q(full) if state.natural is not None else full
        points = full.points(own, loss.n_points, len(X), X.dtype)
        return loss(full, X, Y, points, knobs.beta, knobs.n_rows, parts[1])

    (cost, A), (slopes, by_moments) = jax.value_and_grad(value, has_aux=True)((dynamic, probe))
    direction, adam = _ADAM.update(slopes, state.adam)
    rate = -rate_at(state.step + 1, knobs)
    model = eqx.apply_updates(model, _scaled(direction, rate))
    natural = state.natural
    if natural is not None:
        rho = knobs.rho * cooling(state.step + 1, knobs)
        natural = _moved(natural, knobs.n_rows, rho, A, state.model.layers[-1].mean, by_moments)
        model = with_natural(model, natural)
    return State(model, adam, natural, state.step + 1), cost


def _scaled(direction: DeepGP, rate: Array) -> DeepGP:
    """Scale Adam's direction by the learning rate, less for network weights, whose ReLU units would die."""
    moved = jax.tree.map(lambda u: rate.astype(u.dtype) * u, direction)
    if direction.features is None:
        return moved
    return eqx.tree_at(lambda m: m.features, moved, jax.tree.map(lambda u: NETWORK_RATE * u, moved.features))


def _probe(model: DeepGP, loss: Loss, X: Array) -> Moments:
    shape = (loss.n_points if model.widths else 1, len(X), model.layers[-1].width)
    return Moments(jnp.zeros(shape, X.dtype), jnp.zeros(shape, X.dtype))


def _q(model: DeepGP) -> tuple[Array, Array]:
    return model.layers[-1].mean, model.layers[-1].root


def _hold_q(model: DeepGP) -> DeepGP:
    return eqx.tree_at(_q, model, jax.lax.stop_gradient(_q(model)))


def _moved(natural: Natural, n_rows: Array, rho: Array, A: Array, mean: Array, by_moments: Moments) -> Natural:
    """The natural step; slopes are of the loss, so their signs are turned."""
    n_units = len(mean)
    g, h = (x.reshape(-1, n_units).T for x in (-by_moments.mean, jnp.minimum(-by_moments.var, 0.0)))  # (Q, S·N)
    A = jnp.broadcast_to(A, (n_units, *A.shape[1:]))
    mu = jnp.einsum("qnm,qm->qn", A, mean)  # what v says of a row, without the mean function
    weighted = jnp.swapaxes(A * (-2 * n_rows * h)[..., None], -1, -2)
    target = weighted @ A + jnp.eye(A.shape[-1], dtype=A.dtype)
    shift = n_rows * jnp.einsum("qn,qnm->qm", g - 2 * h * mu, A)
    rho = rho.astype(A.dtype)
    return Natural((1 - rho) * natural.precision + rho * target, (1 - rho) * natural.shift + rho * shift)


def with_natural(model: DeepGP, natural: Natural) -> DeepGP:
    """The model whose last q(v) has these natural parameters."""
    R = linalg.inverse_root(natural.precision)
    mean = jnp.einsum("qmk,qk->qm", R, jnp.einsum("qlk,ql->qk", R, natural.shift))
    diagonal = jnp.diagonal(R, axis1=-2, axis2=-1)
    root = jnp.tril(R, -1) + jax.vmap(jnp.diag)(jnp.log(diagonal))
    return eqx.tree_at(_q, model, (mean, root))


@eqx.filter_jit
def run(loss: Loss, state: State, Xs: Array, Ys: Array, key: Array, knobs: Knobs) -> tuple[State, Array]:
    """Steps on a stack of minibatches (k, b, D), (k, b, P): the state after them, and the loss of each."""
    arrays, structure = eqx.partition(state, eqx.is_array)

    def body(arrays: State, batch: tuple[Array, Array]) -> tuple[State, Array]:
        moved, cost = _step(loss, knobs, key, eqx.combine(arrays, structure), batch)
        return eqx.filter(moved, eqx.is_array), cost

    arrays, costs = jax.lax.scan(body, arrays, (Xs, Ys))
    return eqx.combine(arrays, structure), costs
