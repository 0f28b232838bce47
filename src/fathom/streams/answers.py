"""What a stream says of new rows: mixtures of Gaussians, and the posterior of every additive part."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.deep.predict import padded
from fathom.gp.exact import additive_parts
from fathom.kernels.base import Kernel
from fathom.streams.recursion import State
from fathom.streams.rows import NODES, Law, Memory, densities, passed_on, smoothed, through, together
from fathom.streams.way import Way

ROWS = 25_600  # particles times rows of one compiled answer


def predict(
    law: Law, way: Way, memory: Memory, X: np.ndarray, observed: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and variances (S, N, P) of new observations, or of the function, and weights (S).

    S is the number of particles; without hidden layers, of the nodes of noise that follows the inputs, else 1. Several
    rates of forgetting answer by one Gaussian.
    """
    if not len(X):
        empty = np.zeros((1, 0, memory.f.mean.shape[-1]))
        return empty, empty, np.ones(1)
    rows = 256 if not law.hidden else max(1, ROWS // way.n_particles)
    found = []
    for x, n in padded(X, rows):
        found.append([np.asarray(a)[:, :n] for a in _answer(law, way, memory, jnp.asarray(x), observed)])
    means, variances = (np.concatenate(each, 1) for each in zip(*found, strict=True))
    weights = np.ones(len(means))
    if not law.hidden and len(means) > 1:
        weights = np.polynomial.hermite_e.hermegauss(NODES)[1]
    return means, variances, weights / weights.sum()


@compiled
def _answer(law: Law, way: Way, memory: Memory, X: Array, observed: bool) -> tuple[Array, Array]:
    def one(memory: Memory) -> tuple[Array, ...]:
        inputs, _ = through(law, way, memory.hidden, X, law.key)
        flat = inputs.reshape(-1, inputs.shape[-1])
        mean, var, noise, log_weights = densities(law, memory.f, memory.g, flat)
        noise = noise if observed else jnp.zeros_like(noise[..., :1])
        log_weights = log_weights if observed else jnp.zeros(1)
        split = (len(inputs), len(X), mean.shape[-1])
        mean, var = smoothed(mean.reshape(split), var.reshape(split))
        return mean, var, noise.reshape(*split, -1), jnp.exp(log_weights)

    mean, var, noise, weights = jax.vmap(one)(memory)  # (E, S, N, P), …, (E, S, N, P, K) and (E, K)
    whole = var + noise @ weights[0]
    if len(mean) > 1:
        middle = mean.mean(1)
        spread = whole.mean(1) + ((mean - middle[:, None]) ** 2).mean(1)
        middle, spread = together(memory.scores, middle, spread)
        return middle[None], spread[None]
    if law.hidden or noise.shape[-1] == 1:
        return mean[0], whole[0]
    spread = jnp.moveaxis(var[0, 0][..., None] + noise[0, 0], -1, 0)
    return jnp.broadcast_to(mean[0], spread.shape), spread


def parts(law: Law, kernel: Kernel, memory: Memory, X: np.ndarray) -> tuple[tuple[Kernel, ...], np.ndarray, np.ndarray]:
    """The additive parts of the kernel with their posterior means (parts, N, P) and variances, of the best rate.

    With α = Qμ and M = −QBQ, part i has mean k_iα and variance k_i(x, x) − k_i M k_iᵀ; noise has mean zero.
    """
    best = int(np.argmax(memory.scores))
    f = jax.tree.map(lambda leaf: leaf[best], memory.f)
    alpha, M = f.Q @ f.mean, f.Q @ f.B @ f.Q
    found, means, variances = additive_parts(kernel), [], []
    for part in found:
        k = part.cross(jnp.asarray(X), f.A) * f.used
        means.append(k @ alpha)
        var = part.diag(jnp.asarray(X), True)[:, None] + jnp.einsum("nc,scd,nd->ns", k, M, k)
        variances.append(jnp.broadcast_to(jnp.maximum(var, 0.0), means[-1].shape))
    return found, np.array(means), np.array(variances)


def functions(law: Law, way: Way, memory: Memory, X: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Whole functions (n, N, P) at the rows of X: joint draws through every layer, without the noise of the last."""
    best = int(np.argmax(memory.scores))
    one: Memory = jax.tree.map(lambda leaf: jnp.asarray(leaf[best]), memory)
    layers = [*zip(law.hidden, one.hidden, strict=True), (law.kernel, one.f)]
    draws = []
    for key in jax.random.split(jax.random.key(seed), n):
        place = jnp.asarray(X)
        for i, (kernel, state) in enumerate(layers):
            last = i + 1 == len(layers)
            H = _joint(kernel, state, place, jax.random.fold_in(key, i), noisy=not last)
            place = H if last else passed_on(H, way)
        draws.append(np.asarray(place))
    return np.array(draws)


def _joint(kernel: Kernel, state: State, X: Array, key: Array, noisy: bool) -> Array:
    """A joint draw (N, W) of all outputs of a layer at the rows of X."""
    W = (kernel.cross(X, state.A) * state.used) @ state.Q
    mean, prior = W @ state.mean, kernel.gram(X) if noisy else kernel.cross(X, X)
    halves = [linalg.root(prior + W @ B @ W.T) for B in state.B]
    eps = jax.random.normal(key, mean.shape)
    drawn = [halves[min(p, len(halves) - 1)] @ eps[:, p] for p in range(mean.shape[1])]
    return mean + jnp.stack(drawn, 1)
