"""One row of a stream: say what is expected, score it, learn from it. Compiled for blocks of rows of a fixed size.

Noise is constant (the white noise of the kernel) or follows the inputs: then its logarithm is a process of its own
(Wang et al., HGP_seq), and what a row tells of it is found by quadrature over the log noise. Several rates of forgetting
go side by side; the answer is the product of what they say, each to the power of its weight, and weights follow how well
each has foretold the rows so far.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.kernels.base import Kernel
from fathom.streams import recursion
from fathom.streams.recursion import State

BLOCK = 200  # rows of one compiled call; Q is refreshed when so many have been learnt
NODES = 20  # of the quadrature over the log noise
MEMORY = 0.98  # of the weights of the rates: what was foretold 35 rows ago counts half
LOG_2PI = float(np.log(2 * np.pi))


class Law(NamedTuple):
    """What is held fixed while rows pass: the kernel with its white noise and, where noise varies, its own process."""

    kernel: Kernel
    log_noise: Kernel | None  # of the process of the log noise
    level: Array  # (P) around which the log noise varies
    rates: Array  # (E) of forgetting


class Memory(NamedTuple):
    """What has been learnt; arrays of all states have a leading axis for the rates."""

    f: State
    g: State | None
    scores: Array  # (E) log weights of the rates


class Foretold(NamedTuple):
    """What was expected of rows before they were learnt from, each (N, P)."""

    mean: Array
    var: Array  # of the observation
    log_density: Array


def begin(law: Law, budget: int, n_inputs: int, n_outputs: int) -> Memory:
    """The memory before any row; where noise varies, every output has a covariance of its own."""

    def states(apart: bool) -> State:
        one = recursion.empty(budget, n_inputs, n_outputs, apart)
        return jax.tree.map(lambda leaf: jnp.stack([leaf] * len(law.rates)), one)

    g = None if law.log_noise is None else states(True)
    return Memory(states(g is not None), g, jnp.zeros(len(law.rates)))


def densities(law: Law, f: State, g: State | None, X: Array) -> tuple[Array, Array, Array, Array]:
    """Means and variances (N, P) of the function, and variances (N, P, K) of the noise with log weights (K)."""
    mean, var = recursion.moments(law.kernel, f, X)
    if g is None or law.log_noise is None:
        noise = jnp.broadcast_to(recursion.noise_at(law.kernel, X)[:, None], mean.shape)
        return mean, var, noise[..., None], jnp.zeros(1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    log_mean, log_var = recursion.moments(law.log_noise, g, X)
    z = law.level + log_mean
    return mean, var, jnp.exp(z[..., None] + jnp.sqrt(log_var)[..., None] * nodes), jnp.log(weights / weights.sum())


def _learnt(law: Law, f: State, g: State | None, rate: Array, x: Array, y: Array) -> tuple[State, State | None, Foretold]:
    """One row under one rate of forgetting."""
    f = recursion.forgotten(f, rate)
    mean, var, noise, log_weights = (a[0] if a.ndim > 1 else a for a in densities(law, f, g, x[None]))
    spread = var[:, None] + noise
    error = jnp.where(jnp.isnan(y), 0.0, y - mean)
    joint = log_weights - 0.5 * (error[:, None] ** 2 / spread + jnp.log(spread) + LOG_2PI)
    log_density = jax.nn.logsumexp(joint, -1)
    told = Foretold(mean, var + jnp.exp(log_weights) @ noise.T, jnp.where(jnp.isnan(y), 0.0, log_density))
    if g is None or law.log_noise is None:
        return recursion.advance(law.kernel, f, x, y, noise[:, 0]), None, told
    share = jnp.exp(joint - log_density[:, None])
    target, target_var = _told_of_noise(law, jnp.log(noise), share, jnp.exp(log_weights), y)
    g = recursion.advance(law.log_noise, recursion.forgotten(g, rate), x, target, target_var)
    return recursion.advance(law.kernel, f, x, y, 1 / jnp.sum(share / noise, -1)), g, told


def _told_of_noise(law: Law, z: Array, share: Array, before: Array, y: Array) -> tuple[Array, Array]:
    """The pseudo-observation (P) of the log noise that takes its prior moments to its posterior ones, with variance.

    1/τ with τ = 1/v' − 1/v, at (m'/v' − m/v)/τ; NaN where the row tells nothing (τ ≤ 0).
    """
    def moments(weights: Array) -> tuple[Array, Array]:
        mean = jnp.sum(weights * z, -1)
        return mean, jnp.maximum(jnp.sum(weights * (z - mean[:, None]) ** 2, -1), 1e-12)

    (m, v), (m_new, v_new) = moments(before), moments(share)
    tau = 1 / v_new - 1 / v
    tells = (tau > 1e-6 / v) & ~jnp.isnan(y)
    tau = jnp.where(tells, tau, 1.0)
    return jnp.where(tells, (m_new / v_new - m / v) / tau - law.level, jnp.nan), 1 / tau


def together(scores: Array, told: Foretold) -> Foretold:
    """What the rates say together, from arrays (E, …): the product of Gaussians, each to the power of its weight."""
    if len(scores) == 1:
        return Foretold(*(a[0] for a in told))
    weights = jax.nn.softmax(scores).reshape(-1, *(1,) * (told.mean.ndim - 1))
    precision = jnp.sum(weights / told.var, 0)
    mean, var = jnp.sum(weights * told.mean / told.var, 0) / precision, 1 / precision
    return Foretold(mean, var, jnp.zeros_like(mean))


def gaussian_density(y: Array, mean: Array, var: Array) -> Array:
    """Log density, 0 where y is missing."""
    error = jnp.where(jnp.isnan(y), 0.0, y - mean)
    return jnp.where(jnp.isnan(y), 0.0, -0.5 * (error**2 / var + jnp.log(var) + LOG_2PI))


def _row(law: Law, memory: Memory, x: Array, y: Array) -> tuple[Memory, Foretold]:
    if len(law.rates) == 1:  # nothing to weigh, and no leading axis in the products of the recursion
        f, g = jax.tree.map(lambda leaf: leaf[0], (memory.f, memory.g))
        f, g, told = _learnt(law, f, g, law.rates[0], x, y)
        f, g = jax.tree.map(lambda leaf: leaf[None], (f, g))
        return Memory(f, g, memory.scores), told
    learnt = jax.vmap(lambda f, g, rate: _learnt(law, f, g, rate, x, y))
    f, g, told = learnt(memory.f, memory.g, law.rates)
    said = together(memory.scores, told)
    scores = MEMORY * memory.scores + told.log_density.sum(1)
    return Memory(f, g, scores - scores.max()), said._replace(log_density=gaussian_density(y, said.mean, said.var))


@compiled
def learn_block(law: Law, memory: Memory, X: Array, Y: Array, n: Array) -> tuple[Memory, Foretold]:
    """Foretell and learn the first n rows of X (BLOCK, D) and Y (BLOCK, P), one after the other."""

    def more(carry: tuple[Array, Memory, Foretold]) -> tuple[Array, Memory, Foretold]:
        i, memory, said = carry
        memory, told = _row(law, memory, X[i], Y[i])
        return i + 1, memory, Foretold(*(all_.at[i].set(one) for all_, one in zip(said, told, strict=True)))

    start = (jnp.zeros((), int), memory, Foretold(*(jnp.zeros_like(Y) for _ in range(3))))
    _, memory, said = jax.lax.while_loop(lambda carry: carry[0] < n, more, start)
    return memory, said


@compiled
def refresh(law: Law, memory: Memory) -> Memory:
    """The memory with what rounding has done to it mended."""
    f = jax.vmap(lambda state: recursion.refreshed(law.kernel, state))(memory.f)
    g = None if law.log_noise is None else jax.vmap(lambda s: recursion.refreshed(law.log_noise, s))(memory.g)  # type: ignore[arg-type]
    return Memory(f, g, memory.scores)


def learn_rows(law: Law, memory: Memory, X: np.ndarray, Y: np.ndarray) -> tuple[Memory, Foretold]:
    """Foretell and learn the rows of X (N, D) and Y (N, P) in turn; how they are cut into calls makes no difference."""
    seen, start, said = int(memory.f.seen[0]), 0, []
    while start < len(X):
        n = min(BLOCK - seen % BLOCK, len(X) - start)
        rows = [_padded(values[start : start + n]) for values in (X, Y)]
        memory, told = learn_block(law, memory, *rows, jnp.asarray(n))
        said.append([np.asarray(values)[:n] for values in told])
        start, seen = start + n, seen + n
        if seen % BLOCK == 0:
            memory = refresh(law, memory)
    return memory, Foretold(*(np.concatenate(parts) for parts in zip(*said, strict=True)))


def _padded(rows: np.ndarray) -> Array:
    return jnp.asarray(np.concatenate([rows, np.zeros((BLOCK - len(rows), rows.shape[1]))]))


@compiled
def carried(old: Law, new: Law, memory: Memory) -> Memory:
    """The memory under other parameters, the information of all rows kept."""
    f = jax.vmap(lambda state: recursion.carried(old.kernel, new.kernel, state))(memory.f)
    if old.log_noise is None or new.log_noise is None:
        return Memory(f, None, memory.scores)
    g = jax.vmap(lambda state: recursion.carried(old.log_noise, new.log_noise, state))(memory.g)  # type: ignore[arg-type]
    # what was learnt of the log noise lay around another level
    g = g._replace(mean=g.mean + (old.level - new.level) * g.used[..., None])  # type: ignore[union-attr]
    return Memory(f, g, memory.scores)
