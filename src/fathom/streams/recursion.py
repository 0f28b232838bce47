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

import jax.numpy as jnp

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.kernels.base import Kernel


class State(NamedTuple):
    """What a stream remembers: a PyTree of arrays, C = budget + 1 places and S covariances (one, or one an output)."""

    A: Array  # (C, D) active inputs
    used: Array  # (C) which places hold one
    mean: Array  # (C, P) of the function at A
    B: Array  # (S, C, C) posterior less prior covariance
    Q: Array  # (C, C) inverse of the prior covariance
    seen: Array  # rows so far


@dataclass(frozen=True)
class Rule:
    """Who joins the active set: rows with γ² of at least `novel` times their prior variance.

    `nugget` is a part of the prior variance that an active row shares with no other, so that Q stays well conditioned.
    """

    novel: float = 1e-6
    nugget: float = 1e-6


RULE = Rule()


def empty(budget: int, n_inputs: int, n_outputs: int, apart: bool = False) -> State:
    """The state before any row; `apart` keeps a covariance for each output, for outputs that are missing in turn."""
    c, s = budget + 1, n_outputs if apart else 1
    shapes = ((c, n_inputs), (c,), (c, n_outputs), (s, c, c), (c, c))
    A, used, mean, B, Q = (jnp.zeros(shape) for shape in shapes)
    return State(A, used, mean, B, Q, jnp.zeros((), int))


def moments(kernel: Kernel, state: State, X: Array) -> tuple[Array, Array]:
    """Means and variances (N, P) of the function at the rows of X (N, D)."""
    W = (kernel.cross(X, state.A) * state.used) @ state.Q
    mean = W @ state.mean
    var = kernel.diag(X, False)[:, None] + jnp.einsum("nc,scd,nd->ns", W, state.B, W)
    return mean, jnp.broadcast_to(jnp.maximum(var, 0.0), mean.shape)


def noise_at(kernel: Kernel, X: Array) -> Array:
    """Variances (N) of the white noise in a kernel at the rows of X."""
    return kernel.diag(X, True) - kernel.diag(X, False)


def forgotten(state: State, rate: Array) -> State:
    """One row's worth of forgetting: the posterior moves back towards the prior (KRLS-T); 1 keeps everything."""
    return state._replace(B=state.B * rate, mean=state.mean * rate**0.5)


def advance(kernel: Kernel, state: State, x: Array, y: Array, noise: Array, rule: Rule = RULE) -> State:
    """Learn the outputs y (P) of one row x (D), which have noise variances (P); NaN outputs teach nothing.

    One covariance for all outputs needs all of them known, with equal noise.
    """
    prior = kernel.diag(x[None], False)[0] * (1 + rule.nugget)
    k = kernel.cross(state.A, x[None])[:, 0] * state.used
    q = state.Q @ k
    gap = jnp.maximum(prior - k @ q, 0.0)
    Bq = state.B @ q  # (S, C)
    inner, said = Bq @ q, q @ state.mean
    known = ~jnp.isnan(y)
    new = jnp.where((gap > rule.novel * prior) & known.any(), 1.0, 0.0)
    place = jnp.zeros_like(k).at[jnp.argmin(state.used)].set(1.0)

    # what the row tells
    psi = k + Bq + new * (prior + inner)[:, None] * place
    gain = jnp.where(known, 1 / (jnp.maximum(prior + inner, 0.0) + noise), 0.0)
    error = jnp.where(known, y - said, 0.0)
    mean = state.mean + new * jnp.outer(place, said) + psi.T * (gain * error)

    # who leaves where there is no room: the active row with the smallest error when predicted from the others
    turn, weight = q - place, new / jnp.where(gap > 0, gap, 1.0)
    used = jnp.maximum(state.used, new * place)
    alpha = state.Q @ mean + weight * jnp.outer(turn, turn @ mean)
    own = state.Q.diagonal() + weight * turn**2
    least = jnp.where(used > 0, jnp.sum(alpha**2, 1) / jnp.where(used > 0, own, 1.0) ** 2, jnp.inf)
    worst = jnp.argmin(least)
    full = jnp.where(used.sum() > len(k) - 1, 1.0, 0.0)
    keep = jnp.ones_like(k).at[worst].add(-full)

    # B and Q in one pass each
    column = state.Q[worst] + weight * turn[worst] * turn
    drop, both = full / jnp.where(full > 0, column[worst], 1.0), jnp.outer(keep, keep)
    Q = (state.Q + weight * jnp.outer(turn, turn) - drop * jnp.outer(column, column)) * both
    beside = Bq + 0.5 * inner[:, None] * place
    edge = new * (beside[:, :, None] * place + beside[:, None, :] * place[:, None])
    gains = gain[: len(state.B)][:, None, None]
    B = (state.B + edge - gains * psi[:, :, None] * psi[:, None, :]) * both
    A = state.A + (new * place)[:, None] * (x - state.A)
    return State(A, used * keep, mean * keep[:, None], B, Q, state.seen + 1)


def prior_factor(kernel: Kernel, state: State, rule: Rule = RULE) -> tuple[Array, linalg.Factor]:
    """The prior covariance of the active rows, with ones on the diagonal in free places, and its factor."""
    both = jnp.outer(state.used, state.used)
    K = kernel.cross(state.A, state.A) * both
    K = K + jnp.diag(rule.nugget * K.diagonal() + 1 - state.used)
    return K, linalg.factorise(K)


def refreshed(kernel: Kernel, state: State, rule: Rule = RULE) -> State:
    """The state with Q computed anew from the active inputs: the recursion loses digits where rows come close."""
    _, factor = prior_factor(kernel, state, rule)
    Q = factor.inverse() - jnp.diag(1 - state.used)
    return state._replace(Q=(Q + Q.T) / 2, B=(state.B + jnp.swapaxes(state.B, 1, 2)) / 2)


def carried(old: Kernel, new: Kernel, state: State, rule: Rule = RULE) -> State:
    """The state under another kernel, the information of all rows seen so far kept.

    With Σ = K − KMK and mean Kα, the data act on the active rows like observations with covariance M⁻¹ − K. Under K'
    the same observations have M' = M(I + (K' − K)M)⁻¹ and α' = (I + M(K' − K))⁻¹α, which needs no inverse of M.
    """
    K, _ = prior_factor(old, state, rule)
    K_new, _ = prior_factor(new, state, rule)
    M, alpha = -(state.Q @ state.B @ state.Q), state.Q @ state.mean
    left = jnp.eye(len(K)) + M @ (K_new - K)  # (S, C, C)
    M = linalg.solve_square(left, M)
    alpha = jnp.stack([alpha] * len(M)) if len(M) == 1 else jnp.moveaxis(alpha, 1, 0)[:, :, None]
    alpha = linalg.solve_square(left, alpha)
    mean = K_new @ (alpha[0] if len(M) == 1 else alpha[:, :, 0].T)
    return refreshed(new, state._replace(B=-(K_new @ M @ K_new), mean=mean * state.used[:, None]), rule)
