"""One row of a stream: say what is expected, score it, learn from it. Compiled for blocks of rows of a fixed size.

A row passes through hidden layers, if there are any, as particles: each draws its outputs from every layer in turn. How
well a particle foretells the row is its weight; the weighted particles tell each layer what its outputs were (the
sequential deep GP of Wang et al.). Without hidden layers there is one particle, the row itself.

Noise is constant (the white noise of the last kernel) or follows the inputs of the last layer: then its logarithm is a
process of its own (HGP_seq, HDGP_seq), and what a row tells of it is found by quadrature over the log noise. Several
rates of forgetting go side by side; the answer is the product of what they say, each to the power of its weight, and
weights follow how well each has foretold the rows so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import fathom.kernels.pytree  # noqa: F401  (kernels are PyTrees from here on)
from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.kernels.base import Kernel
from fathom.streams import recursion
from fathom.streams.parameters import Parameters
from fathom.streams.recursion import State
from fathom.streams.way import Way

BLOCK = 200  # rows of one compiled call; Q is refreshed when so many have been learnt
NODES = 20  # of the quadrature over the log noise
MEMORY = 0.98  # of the weights of the rates: what was foretold 35 rows ago counts half
MOST = 10_000_000  # numbers in the covariances of a hidden layer; beyond, its units share one
LOG_2PI = float(np.log(2 * np.pi))


class Law(NamedTuple):
    """What is held fixed while rows pass: kernels with their white noise and, where noise varies, that of its log."""

    hidden: tuple[Kernel, ...]
    kernel: Kernel  # of the last layer
    log_noise: Kernel | None  # of the process of the log noise
    level: Array  # (P) around which the log noise varies
    rates: Array  # (E) of forgetting
    key: Array = None  # of the particles' draws


class Memory(NamedTuple):
    """What has been learnt; arrays of all states have a leading axis for the rates."""

    hidden: tuple[State, ...]
    f: State
    g: State | None
    scores: Array  # (E) log weights of the rates


class Foretold(NamedTuple):
    """What was expected of rows before they were learnt from, and what was then thought of hidden outputs (N, W)."""

    mean: Array  # (N, P)
    var: Array  # of the observation
    log_density: Array  # of each output alone
    joint: Array  # (N) log density of all known outputs
    hidden: tuple[Array, ...]
    effective: Array  # (N) effective number of particles


def law_of(found: Parameters, rates: Sequence[float], seed: int = 0) -> Law:
    """Parameters as arrays of JAX."""

    def arrays(kernel: Kernel) -> Kernel:
        made: Kernel = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), kernel)
        return made

    noise = None if found.log_noise is None else arrays(found.log_noise)
    key = jax.random.key(seed) if found.hidden else None
    hidden = tuple(map(arrays, found.hidden))
    return Law(hidden, arrays(found.kernel), noise, jnp.asarray(found.level), jnp.asarray(rates), key)


def begin(law: Law, widths: tuple[int, ...], budget: int, n_inputs: int, n_outputs: int) -> Memory:
    """The memory before any row; where noise varies, every output has a covariance of its own, as hidden units have."""

    def states(n_inputs: int, n_outputs: int, apart: bool) -> State:
        one = recursion.empty(budget, n_inputs, n_outputs, apart)
        return jax.tree.map(lambda leaf: jnp.stack([leaf] * len(law.rates)), one)

    sizes = (n_inputs, *widths)
    hidden = tuple(states(d, w, w * budget**2 <= MOST) for d, w in zip(sizes[:-1], widths, strict=True))
    varying = law.log_noise is not None
    g = states(sizes[-1], n_outputs, True) if varying else None
    return Memory(hidden, states(sizes[-1], n_outputs, varying), g, jnp.zeros(len(law.rates)))


def passed_on(H: Array, way: Way) -> Array:
    """What the next layer sees of hidden outputs."""
    return jax.nn.sigmoid(H) if way.logistic else H


def through(law: Law, way: Way, hidden: tuple[State, ...], X: Array, key: Array) -> tuple[Array, tuple[Array, ...]]:
    """Particles (S, N, D) at the inputs of the last layer, and their outputs (S, N, W) of every hidden layer."""
    inputs, drawn = X[None], []  # the first layer answers once for all particles
    for i, (kernel, state) in enumerate(zip(law.hidden, hidden, strict=True)):
        flat = inputs.reshape(-1, inputs.shape[-1])
        mean, var = recursion.moments(kernel, state, flat)
        var = var + recursion.noise_at(kernel, flat)[:, None]
        shape = (*inputs.shape[:-1], mean.shape[-1])
        eps = jax.random.normal(jax.random.fold_in(key, i), (way.n_particles, *shape[1:]))
        drawn.append(mean.reshape(shape) + jnp.sqrt(var).reshape(shape) * eps)
        inputs = passed_on(drawn[-1], way)
    return inputs, tuple(drawn)


def smoothed(mean: Array, var: Array) -> tuple[Array, Array]:
    """Particles (S, …) drawn together and widened, with the same mean and variance as before (West 1993).

    Where the last layer has hardly any noise, a particle is a spike, and rows fall between them.
    """
    n = len(mean)
    if n == 1:
        return mean, var
    h2 = (1.06 * n**-0.2) ** 2
    middle = mean.mean(0)
    between = ((mean - middle) ** 2).mean(0)
    return middle + (1 - min(h2, 0.9)) ** 0.5 * (mean - middle), var + min(h2, 0.9) * between


def densities(law: Law, f: State, g: State | None, X: Array) -> tuple[Array, Array, Array, Array]:
    """Means and variances (N, P) of the last function, and variances (N, P, K) of the noise with log weights (K)."""
    mean, var = recursion.moments(law.kernel, f, X)
    if g is None or law.log_noise is None:
        noise = jnp.broadcast_to(recursion.noise_at(law.kernel, X)[:, None], mean.shape)
        return mean, var, noise[..., None], jnp.zeros(1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    log_mean, log_var = recursion.moments(law.log_noise, g, X)
    z = law.level + log_mean
    return mean, var, jnp.exp(z[..., None] + jnp.sqrt(log_var)[..., None] * nodes), jnp.log(weights / weights.sum())


def _learnt(law: Law, way: Way, memory: Memory, rate: Array, x: Array, y: Array) -> tuple[Memory, Foretold]:
    """One row under one rate of forgetting."""
    hidden = tuple(recursion.forgotten(state, rate) for state in memory.hidden)
    f = recursion.forgotten(memory.f, rate)
    key = None if law.key is None else jax.random.fold_in(law.key, memory.f.seen)
    inputs, drawn = through(law, way, hidden, x[None], key)
    inputs, drawn = inputs[:, 0], tuple(H[:, 0] for H in drawn)  # (S, W) each
    mean, var, noise, log_weights = densities(law, f, memory.g, inputs)
    mean, var = smoothed(mean, var)
    parts, alone = _scored(y, mean, var[..., None] + noise, log_weights)  # (S, P, K) and (S, P)
    log_w = jax.nn.log_softmax(alone.sum(1))
    told = _foretold(mean, var + noise @ jnp.exp(log_weights), alone, log_w)
    w = jnp.exp(log_w)
    hidden, told_hidden, x_last = _hidden(law, way, hidden, x, inputs, drawn, w, key)
    told = told._replace(hidden=told_hidden)
    if memory.g is None or law.log_noise is None:
        f = recursion.advance(law.kernel, f, x_last, y, recursion.noise_at(law.kernel, x_last[None])[0])
        return Memory(hidden, f, None, memory.scores), told
    share = jnp.exp(parts - alone[..., None]) * w[:, None, None]
    target, target_var = _told_of_noise(law, jnp.log(noise), share, jnp.exp(log_weights) / len(w), y)
    g = recursion.advance(law.log_noise, recursion.forgotten(memory.g, rate), x_last, target, target_var)
    f = recursion.advance(law.kernel, f, x_last, y, 1 / jnp.sum(share / noise, (0, 2)))
    return Memory(hidden, f, g, memory.scores), told


def _scored(y: Array, mean: Array, spread: Array, log_weights: Array) -> tuple[Array, Array]:
    """Log densities of y (P) by particle, output and node (S, P, K), and over the nodes (S, P); of a missing y 0."""
    error = jnp.where(jnp.isnan(y), 0.0, y - mean)[..., None]
    parts = log_weights - 0.5 * (error**2 / spread + jnp.log(spread) + LOG_2PI)
    parts = jnp.where(jnp.isnan(y)[:, None], log_weights, parts)
    return parts, parts[..., 0] if parts.shape[-1] == 1 else jax.nn.logsumexp(parts, -1)


def _foretold(mean: Array, var: Array, alone: Array, log_w: Array) -> Foretold:
    """Moments over the particles, equally weighted before the row is seen, and what the row then scores."""
    n = len(mean)
    middle = mean.mean(0)
    spread = var.mean(0) + ((mean - middle) ** 2).mean(0)
    log_density = alone[0] if n == 1 else jax.nn.logsumexp(alone, 0) - jnp.log(n)
    joint = alone.sum(1)
    joint = joint[0] if n == 1 else jax.nn.logsumexp(joint) - jnp.log(n)
    return Foretold(middle, spread, log_density, joint, (), 1 / jnp.sum(jnp.exp(2 * log_w)))


def _hidden(
    law: Law,
    way: Way,
    hidden: tuple[State, ...],
    x: Array,
    inputs: Array,
    drawn: tuple[Array, ...],
    w: Array,
    key: Array,
) -> tuple[tuple[State, ...], tuple[Array, ...], Array]:
    """The hidden layers when the row has told of their outputs; the outputs thought of, and the input of the last."""
    if way.update == "trajectory" and drawn:
        w = jnp.zeros_like(w).at[jax.random.choice(jax.random.fold_in(key, len(drawn)), len(w), p=w)].set(1.0)
    states, thought, place = [], [], x
    for kernel, state, H in zip(law.hidden, hidden, drawn, strict=True):
        after, noise = w @ H, recursion.noise_at(kernel, place[None])[0]
        target, extra = (after, jnp.zeros_like(after)) if way.update != "adf" else told_by(H, w)
        if state.B.shape[0] == 1:  # one covariance for all units: the mean of what they were told
            told = jnp.where(jnp.isnan(target), 0.0, 1 / extra)
            target, extra = jnp.where(jnp.isnan(target), after, target), jnp.full_like(extra, 1 / (told.mean() + 1e-12))
        states.append(recursion.advance(kernel, state, place, target, noise + extra))
        thought.append(after)
        place = w @ passed_on(H, way)
    return tuple(states), tuple(thought), place


def told_by(H: Array, w: Array) -> tuple[Array, Array]:
    """Pseudo-observations (W) with variances that take particles (S, W) of equal weight to the weights w."""
    m, m_new = H.mean(0), w @ H
    return _message(m, ((H - m) ** 2).mean(0), m_new, w @ (H - m_new) ** 2)


def _message(m: Array, v: Array, m_new: Array, v_new: Array) -> tuple[Array, Array]:
    """The Gaussian observation and its variance that take the moments m, v to the new ones; NaN for no message.

    1/τ with τ = 1/v' − 1/v, at (m'/v' − m/v)/τ. Where the variance does not shrink no Gaussian does; then τ is small
    and the mean alone is met, or a row that speaks of large noise would be passed over.
    """
    v, v_new = jnp.maximum(v, 1e-12), jnp.maximum(v_new, 1e-12)
    tau, shift = 1 / v_new - 1 / v, (m_new - m) ** 2 / v
    tau = jnp.where(tau > 1e-6 / v, tau, 0.5 * shift / v)
    tells = tau > 1e-9 / v
    tau = jnp.where(tells, tau, 1.0)
    return jnp.where(tells, (m_new * (1 / v + tau) - m / v) / tau, jnp.nan), 1 / tau


def _told_of_noise(law: Law, z: Array, share: Array, before: Array, y: Array) -> tuple[Array, Array]:
    """The pseudo-observation (P) of the log noise at z (S, P, K), whose weights were `before` (K) and are `share`."""
    prior = jnp.broadcast_to(before, z.shape)

    def both(weights: Array) -> tuple[Array, Array]:
        mean = jnp.sum(weights * z, (0, 2))
        return mean, jnp.sum(weights * (z - mean[:, None]) ** 2, (0, 2))

    target, var = _message(*both(prior), *both(share))
    return jnp.where(jnp.isnan(y), jnp.nan, target - law.level), var


def together(scores: Array, means: Array, variances: Array) -> tuple[Array, Array]:
    """What the rates say together, from arrays (E, …): the product of Gaussians, each to the power of its weight."""
    weights = jax.nn.softmax(scores).reshape(-1, *(1,) * (means.ndim - 1))
    precision = jnp.sum(weights / variances, 0)
    return jnp.sum(weights * means / variances, 0) / precision, 1 / precision


def _row(law: Law, way: Way, memory: Memory, x: Array, y: Array) -> tuple[Memory, Foretold]:
    if len(law.rates) == 1:  # nothing to weigh, and no leading axis in the products of the recursion
        memory, told = _learnt(law, way, jax.tree.map(lambda leaf: leaf[0], memory), law.rates[0], x, y)
        return jax.tree.map(lambda leaf: leaf[None], memory), told
    scores = memory.scores
    memory, all_told = jax.vmap(lambda one, rate: _learnt(law, way, one, rate, x, y))(memory, law.rates)
    told = jax.tree.map(lambda leaf: leaf[jnp.argmax(scores)], all_told)
    mean, var = together(scores, all_told.mean, all_told.var)
    log_density = _scored(y, mean[None], var[None, :, None], jnp.zeros(1))[1][0]
    scores = MEMORY * scores + all_told.joint
    told = told._replace(mean=mean, var=var, log_density=log_density, joint=log_density.sum())
    return memory._replace(scores=scores - scores.max()), told


@compiled
def learn_block(law: Law, way: Way, memory: Memory, X: Array, Y: Array, n: Array) -> tuple[Memory, Foretold]:
    """Foretell and learn the first n rows of X (BLOCK, D) and Y (BLOCK, P), one after the other."""
    shapes = jax.eval_shape(lambda: _row(law, way, memory, X[0], Y[0])[1])
    room: Foretold = jax.tree.map(lambda s: jnp.zeros((len(X), *s.shape), s.dtype), shapes)

    def more(carry: tuple[Array, Memory, Foretold]) -> tuple[Array, Memory, Foretold]:
        i, memory, said = carry
        memory, told = _row(law, way, memory, X[i], Y[i])
        return i + 1, memory, jax.tree.map(lambda all_, one: all_.at[i].set(one), said, told)

    _, memory, said = jax.lax.while_loop(lambda carry: carry[0] < n, more, (jnp.zeros((), int), memory, room))
    return memory, said


@compiled
def carried(old: Law, new: Law, memory: Memory, anew: bool = True) -> Memory:
    """The memory under other parameters, the information of all rows kept; without `anew`, only Q computed again."""

    def moved(a: Kernel, b: Kernel, state: State) -> State:
        def one(state: State) -> State:
            return recursion.carried(a, b, state) if anew else recursion.refreshed(b, state)

        found: State = jax.vmap(one)(state)
        return found

    hidden = tuple(moved(*each) for each in zip(old.hidden, new.hidden, memory.hidden, strict=True))
    f = moved(old.kernel, new.kernel, memory.f)
    if memory.g is None or old.log_noise is None or new.log_noise is None:
        return Memory(hidden, f, None, memory.scores)
    g = moved(old.log_noise, new.log_noise, memory.g)
    # what was learnt of the log noise lay around another level
    g = g._replace(mean=g.mean + (old.level - new.level) * g.used[..., None])
    return Memory(hidden, f, g, memory.scores)


def learn_rows(law: Law, way: Way, memory: Memory, X: np.ndarray, Y: np.ndarray) -> tuple[Memory, Foretold]:
    """Foretell and learn the rows of X (N, D) and Y (N, P) in turn; how they are cut into calls makes no difference."""
    seen, start, said = int(memory.f.seen[0]), 0, []
    while start < len(X):
        n = min(BLOCK - seen % BLOCK, len(X) - start)
        rows = [_padded(values[start : start + n]) for values in (X, Y)]
        memory, told = learn_block(law, way, memory, rows[0], rows[1], jnp.asarray(n))
        said.append(jax.tree.map(lambda values, n=n: np.asarray(values)[:n], told))
        start, seen = start + n, seen + n
        if seen % BLOCK == 0:
            memory = carried(law, law, memory, anew=False)
    found: Foretold = jax.tree.map(lambda *parts: np.concatenate(parts), *said)
    return memory, found


def _padded(rows: np.ndarray) -> Array:
    return jnp.asarray(np.concatenate([rows, np.zeros((BLOCK - len(rows), rows.shape[1]))]))
