"""What a stream says of new rows: mixtures of Gaussians, and the posterior of every additive part."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from fathom.base.arrays import Array
from fathom.base.compiling import compiled
from fathom.gp.exact import additive_parts
from fathom.kernels.base import Kernel
from fathom.streams.rows import NODES, Law, Memory, densities, together

ROWS = 256  # of one compiled answer


def in_chunks(answer, X: np.ndarray) -> list[np.ndarray]:  # type: ignore[no-untyped-def]
    """Arrays with rows on their last axis but one, from chunks of one size."""
    from fathom.deep.predict import padded

    found = [[np.asarray(a)[..., :n, :] for a in answer(jnp.asarray(x))] for x, n in padded(X)]
    return [np.concatenate(parts, -2) for parts in zip(*found, strict=True)]


def predict(law: Law, memory: Memory, X: np.ndarray, observed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and variances (S, N, P) of new observations, or of the function, and weights (S).

    Noise that follows the inputs makes a mixture over the nodes of its quadrature, unless rates of forgetting are mixed.
    """
    if not len(X):
        empty = np.zeros((1, 0, memory.f.mean.shape[-1]))
        return empty, empty, np.ones(1)
    means, variances = in_chunks(lambda x: _answer(law, memory, x, observed), X)
    weights = np.polynomial.hermite_e.hermegauss(NODES)[1] if len(means) > 1 else np.ones(1)
    return means, variances, weights / weights.sum()


@compiled
def _answer(law: Law, memory: Memory, X: Array, observed: bool) -> tuple[Array, Array]:
    mean, var, noise, log_weights = jax.vmap(lambda f, g: densities(law, f, g, X))(memory.f, memory.g)
    if not observed:
        noise, log_weights = jnp.zeros_like(noise[..., :1]), jnp.zeros_like(log_weights[:, :1])
    if len(mean) > 1:
        spread = var + noise @ jnp.exp(log_weights[0])
        mean, spread = together(memory.scores, mean, spread)
        return mean[None], spread[None]
    spread = jnp.moveaxis(var[0][..., None] + noise[0], -1, 0)
    return jnp.broadcast_to(mean, spread.shape), spread


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
