"""The sparse online recursion: a Gaussian process that sees one row after the other and keeps few of them.

What is kept is an active set of at most `budget` rows (Csató and Opper 2002; KRLS-T of Van Vaerenbergh et al. 2012; the
supplement of Wang et al., section 1). With k = k(A, x), q = Qk and the posterior N(μ, K + B) of the function at A,

    mean qᵀμ,  variance k(x, x) + qᵀBq,  γ² = k(x, x) − kᵀq.

B = Σ − K is held instead of Σ: it is zero before any data, a new row appends (Bq, qᵀBq) to it, and forgetting, which
moves Σ towards K, scales it. Arrays have a fixed capacity of `budget` + 1 rows, so a stream compiles once; the rows and
columns of free places are zero. Insertion and pruning are coefficients of one pass over B and one over Q.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.kernels.base import Kernel

BLOCK = 200  # rows between two refreshments of Q
NOVEL = 1e-6  # least γ², relative to the prior variance, of a row that joins the active set
NUGGET = 1e-6  # of the prior variance, which an active row shares with no other: Q stays well conditioned


class State(NamedTuple):
    """What a stream remembers: a PyTree of arrays, C = budget + 1 places and S covariances (one, or one an output)."""

    A: Array  # (C, D) active inputs
    used: Array  # (C) which places hold one
    mean: Array  # (C, P) of the function at A
    B: Array  # (S, C, C) posterior less prior covariance
    Q: Array  # (C, C) inverse of the prior covariance
    seen: Array  # rows so far


class Step(NamedTuple):
    """What was said of a row before it was learnt from."""

    mean: Array  # (P)
    var: Array  # (P) of the function
    noise: Array  # (P) of the observation


@dataclass(frozen=True)
class Rule:
    """How a stream is remembered: `forgetting` 1 keeps everything, 0.999 forgets half of it in some 700 rows."""

    budget: int
    forgetting: float = 1.0
    novel: float = NOVEL


def empty(rule: Rule, n_inputs: int, n_outputs: int, apart: bool = False) -> State:
    """The state before any row; `apart` keeps a covariance for each output, for outputs that are missing in turn."""
    c, s = rule.budget + 1, n_outputs if apart else 1
    shapes = ((c, n_inputs), (c,), (c, n_outputs), (s, c, c), (c, c))
    return State(*(jnp.zeros(shape) for shape in shapes), jnp.zeros((), int))


def moments(kernel: Kernel, state: State, X: Array) -> tuple[Array, Array]:
    """Means and variances (N, P) of the function at the rows of X."""
    K = kernel.cross(X, state.A) * state.used
    W = K @ state.Q
    var = kernel.diag(X, False)[:, None] + jnp.einsum("nc,scd,nd->ns", W, state.B, W)
    mean = W @ state.mean
    return mean, jnp.broadcast_to(jnp.maximum(var, 0.0), mean.shape)


def advance(kernel: Kernel, rule: Rule, state: State, x: Array, y: Array, noise: Array) -> tuple[State, Step]:
    """Predict one row x (D), then learn its outputs y (P) with noise variances (S); NaN outputs teach nothing."""
    prior = kernel.diag(x[None], False)[0] * (1 + NOVEL)
    k = kernel.cross(state.A, x[None])[:, 0] * state.used
    q = state.Q @ k
    gap = jnp.maximum(prior - k @ q, 0.0)
    B, mean = state.B * rule.forgetting, state.mean * rule.forgetting**0.5
    Bq = B @ q  # (S, C)
    said = Step(q @ mean, jnp.broadcast_to(jnp.maximum(prior + Bq @ q, 0.0), y.shape), jnp.broadcast_to(noise, y.shape))
    new = jnp.where(gap >= rule.novel * prior, 1.0, 0.0)
    place = jnp.zeros(len(k)).at[jnp.argmin(state.used)].set(1.0)

    # the information of the row
    psi = k + Bq + new * (prior + Bq @ q)[:, None] * place
    known = ~jnp.isnan(y)
    gain = jnp.where(known, 1 / (said.var + said.noise), 0.0)
    error = jnp.where(known, y - said.mean, 0.0)
    gains = gain if len(B) > 1 else gain.max(keepdims=True)
    mean = mean + new * jnp.outer(place, said.mean) + psi.T * (gain * error)

    # who stays: the active row that predicts itself best leaves when there is no room
    turn, weight = q - place, new / jnp.where(gap > 0, gap, 1.0)
    used = jnp.maximum(state.used, new * place)
    alpha = state.Q @ mean + weight * jnp.outer(turn, turn @ mean)
    own = state.Q.diagonal() + weight * turn**2
    score = jnp.where(used > 0, jnp.sum(alpha**2, 1) / jnp.where(used > 0, own, 1.0) ** 2, jnp.inf)
    worst = jnp.argmin(score)
    full = jnp.where(used.sum() > rule.budget, 1.0, 0.0)
    keep = 1.0 - full * jnp.zeros(len(k)).at[worst].set(1.0)
    column = state.Q[worst] + weight * turn[worst] * turn
    drop = full / jnp.where(full > 0, column[worst], 1.0)
    Q = state.Q + weight * jnp.outer(turn, turn) - drop * jnp.outer(column, column)
    edge = new * (Bq[:, :, None] * place + Bq[:, None, :] * place[:, None] + (Bq @ q)[:, None, None] * jnp.outer(place, place))
    B = B + edge - gains[:, None, None] * psi[:, :, None] * psi[:, None, :]
    both = jnp.outer(keep, keep)
    A = state.A + (new * place)[:, None] * (x - state.A)
    return State(A, used * keep, mean * keep[:, None], B * both, Q * both, state.seen + 1), said


def refreshed(kernel: Kernel, state: State) -> State:
    """The state with Q computed anew from the active inputs; the recursion loses digits as rows come close."""
    K = kernel.cross(state.A, state.A) * jnp.outer(state.used, state.used)
    K = linalg.jittered(K, NOVEL)
    free = jnp.diag(1 - state.used)
    Q = linalg.factorise(K * jnp.outer(state.used, state.used) + free).inverse() - free
    B = (state.B + jnp.swapaxes(state.B, 1, 2)) / 2
    return state._replace(Q=(Q + Q.T) / 2, B=B)
