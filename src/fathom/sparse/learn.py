"""Learning a sparse GP from all rows at once: kernel and inducing inputs together, by L-BFGS on L_a (float64)."""

from __future__ import annotations

import numpy as np

from fathom.base import linalg
from fathom.base.optimise import Objective, Result, Space, maximise
from fathom.gp.exact import GP
from fathom.gp.learn import with_noise
from fathom.gp.starts import space
from fathom.kernels.base import Kernel, walk
from fathom.kernels.leaves import WN
from fathom.kernels.vector import from_vector, slots
from fathom.sparse.collapsed import SparsePosterior, condition_sparsely, log_bound
from fathom.sparse.inducing import centres, standard_start

NOISE = 0.1  # initial variance of the noise, in units of the target's


def learn_collapsed(
    kernel: Kernel, X: np.ndarray, Y: np.ndarray, n_inducing: int, a: float, max_iterations: int, seed: int
) -> tuple[SparsePosterior, Result]:
    """The posterior at the highest L_a found for standardised data; `a` from 0 (VFE) to 1 (FITC)."""
    kernel, Z = with_noise(kernel), centres(X, n_inducing, np.random.default_rng(seed))
    start, where = _start(kernel, X.shape[1]), space(kernel, X)
    n, reach = len(start), np.ptp(X, axis=0).max()
    limits = np.column_stack([Z.ravel() - reach, Z.ravel() + reach])
    whole = Space(np.concatenate([where.scales, np.ones(Z.size)]), np.vstack([where.bounds, limits]))
    objective = _objective(kernel, X, Y, Z.shape, a)
    result = maximise(objective, [np.concatenate([start, Z.ravel()])], whole, max_iterations, tolerance=1e-8)
    if result.status == "failed":
        raise linalg.NotPositiveDefinite(linalg.diagnose(kernel.gram(Z)))
    fitted, Z = from_vector(kernel, result.vector[:n]), result.vector[n:].reshape(Z.shape)
    return condition_sparsely(GP(fitted, np.zeros(Y.shape[1])), X, Y, Z, a), result


def _start(kernel: Kernel, d: int) -> np.ndarray:
    vector, nodes = standard_start(kernel, d), list(walk(kernel))
    for slot in slots(kernel):
        node = nodes[slot.node]
        if isinstance(node, WN) and slot.parameter.name not in node.given:
            vector[slot.start] = np.log(NOISE)
    return vector


def _objective(kernel: Kernel, X: np.ndarray, Y: np.ndarray, shape: tuple[int, ...], a: float) -> Objective:
    """L_a and its gradient in kernel parameters and inducing inputs, compiled."""
    import jax
    import jax.numpy as jnp

    import fathom.kernels.pytree  # noqa: F401  (kernels are PyTrees from here on)

    def value(vector: jax.Array, X: jax.Array, Y: jax.Array) -> jax.Array:
        n = vector.size - shape[0] * shape[1]
        return log_bound(from_vector(kernel, vector[:n]), X, Y, vector[n:].reshape(shape), a)

    compiled = jax.jit(jax.value_and_grad(value))

    def evaluate(vector: np.ndarray) -> tuple[float, np.ndarray]:
        with jax.enable_x64(True):
            found, slopes = compiled(*(jnp.asarray(v, jnp.float64) for v in (vector, X, Y)))
            return float(found), np.asarray(slopes, dtype=float)

    return evaluate
