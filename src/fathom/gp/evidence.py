"""The log marginal likelihood of an exact GP and its gradient, in NumPy and in JAX.

    log p(Y) = −½ tr(RᵀC⁻¹R) − (P/2) log|C| − (NP/2) log 2π,     R = Y − μ

with C the Gram matrix, noise included, and μ zero or a constant for each output, profiled out: its best value is
(1ᵀC⁻¹Y)/(1ᵀC⁻¹1), and by the envelope theorem it adds nothing to the gradient

    ∂ log p/∂θ = ½ Σ_ij (C⁻¹R RᵀC⁻¹ − P·C⁻¹)_ij ∂C_ij/∂θ.

Both forms compute one inverse and pull the bracket through the kernel only; no Cholesky is taped. At an optimum the
evidence is about Gaussian: how curved it is, and what a structure is worth with its parameters integrated out, stands
below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Literal

import numpy as np
from scipy.linalg import blas

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.base.optimise import BatchedObjective, Objective
from fathom.kernels.base import Kernel
from fathom.kernels.expansion import Values
from fathom.kernels.lags import Lags
from fathom.kernels.plan import Plan
from fathom.kernels.vector import from_vector

Mean = Literal["zero", "constant"]
PRIOR_SD = 3.0  # log units, of every parameter about its optimum: keeps flat directions finite


class Evidence:
    """The evidence as a function of the parameter vector, for kernels of one structure: NumPy, no compilation."""

    def __init__(self, kernel: Kernel, X: np.ndarray, Y: np.ndarray, mean: Mean = "zero", lags: Lags | None = None):
        self.plan = Plan(kernel, X, lags)
        self.Y = np.asfortranarray(Y.reshape(len(X), -1), dtype=float)
        # with a constant mean the ones are solved for together with the outputs
        self._sides = np.column_stack([self.Y, np.ones(len(X))]) if mean == "constant" else self.Y
        self.jitter = 0.0  # added by the last evaluation
        self.n_jittered = 0

    def value(self, vector: np.ndarray) -> float:
        """log p(Y) alone, at a third of the cost; raises `NotPositiveDefinite`."""
        return self._evaluate(self.plan.at(vector, slopes=False), inverse=False)[0]

    def _evaluate(self, values: Values, inverse: bool) -> tuple[float, np.ndarray]:
        build = partial(self.plan.gram, values)
        log_det, solved, self.jitter = linalg.solve_in_place(build, self._sides, inverse)
        self.n_jittered += self.jitter > 0
        n, p = self.Y.shape
        residual, alpha = _profile(self.Y, solved)
        return -0.5 * (float(np.vdot(residual, alpha)) + p * log_det + n * p * math.log(2 * math.pi)), alpha

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """log p(Y) and its gradient; raises `NotPositiveDefinite`."""
        plan, p = self.plan, self.Y.shape[1]
        values = plan.at(vector)
        value, alpha = self._evaluate(values, inverse=True)
        if p > 1:
            plan.K *= p
        for column in alpha.T:  # in place: P·C⁻¹ − ααᵀ, lower triangle
            blas.dsyr(-1.0, column, lower=0, a=plan.K.T, overwrite_a=1)
        return value, -0.5 * plan.pull(values)


def _profile(Y: Array, solved: Array) -> tuple[Array, Array]:
    """Y − μ and C⁻¹(Y − μ) from C⁻¹[Y, 1] (or from C⁻¹Y, when the mean is zero)."""
    p = Y.shape[1]
    if solved.shape[1] == p:
        return Y, solved
    ones = solved[:, p]
    mu = solved[:, :p].sum(0) / ones.sum()
    return Y - mu, solved[:, :p] - ones[:, None] * mu


@lru_cache(maxsize=1)
def _jax_log_evidence() -> Callable[[Array, Array, bool], Array]:
    """Built on first use, so that importing this module does not load JAX."""
    import jax
    import jax.numpy as jnp

    def solve(C: Array, Y: Array, profile: bool) -> tuple[Array, Array, linalg.Factor]:
        factor = linalg.factorise(C)
        sides = jnp.concatenate([Y, jnp.ones((len(Y), 1), Y.dtype)], axis=1) if profile else Y
        residual, alpha = _profile(Y, factor.solve(sides))
        n, p = Y.shape
        value = -0.5 * (jnp.sum(residual * alpha) + p * factor.log_det() + n * p * math.log(2 * math.pi))
        return value, alpha, factor

    def forward(C: Array, Y: Array, profile: bool) -> tuple[Array, tuple[Array, linalg.Factor]]:
        value, alpha, factor = solve(C, Y, profile)
        return value, (alpha, factor)

    def backward(profile: bool, kept: tuple[Array, linalg.Factor], cotangent: Array) -> tuple[Array, Array]:
        alpha, factor = kept
        return 0.5 * cotangent * (alpha @ alpha.T - alpha.shape[1] * factor.inverse()), -cotangent * alpha

    evidence = jax.custom_vjp(lambda C, Y, profile: solve(C, Y, profile)[0], nondiff_argnums=(2,))
    evidence.defvjp(forward, backward)
    return evidence


def log_evidence(kernel: Kernel, X: Array, Y: Array, mean: Mean = "zero") -> Array:
    """log p(Y | X) in JAX: differentiable in the kernel's parameters, X and Y; jit and vmap apply."""
    import jax.numpy as jnp

    import fathom.kernels.pytree  # noqa: F401  (kernels are PyTrees from here on)

    Y = jnp.asarray(Y)
    C = kernel.gram(jnp.asarray(X))
    return _jax_log_evidence()(C, Y.reshape(len(Y), -1).astype(C.dtype), mean == "constant")


def batched(kernel: Kernel, X: np.ndarray, Y: np.ndarray, mean: Mean = "zero") -> BatchedObjective:
    """(R, P) parameter vectors → R values and (R, P) gradients, compiled once and mapped over the rows, float64."""
    import jax
    import jax.numpy as jnp

    def one(vector: Array) -> Array:
        return log_evidence(from_vector(kernel, vector), jnp.asarray(X), jnp.asarray(Y), mean)

    compiled = jax.jit(jax.vmap(jax.value_and_grad(one)))

    def evaluate(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(True):
            values, gradients = compiled(jnp.asarray(vectors, dtype=jnp.float64))
            return np.asarray(values), np.asarray(gradients)

    return evaluate


def curvature(objective: Objective, vector: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """The Hessian of an objective that returns its gradient."""
    rows = []
    for k in range(len(vector)):
        shift = np.zeros_like(vector)
        shift[k] = step
        rows.append((objective(vector + shift)[1] - objective(vector - shift)[1]) / (2 * step))
    H = np.array(rows).reshape(len(vector), len(vector))
    return (H + H.T) / 2


def precision(hessian: np.ndarray) -> linalg.Factor:
    """Of the Gaussian: −∇² log p(y|θ), where directions of the wrong curvature become flat, and the prior's."""
    root = linalg.root(-hessian)
    return linalg.factorise(root @ root.T + np.eye(len(hessian)) / PRIOR_SD**2)


def log_structure_evidence(objective: Objective, vector: np.ndarray) -> float:
    """log ∫ p(y|θ) p(θ) dθ for θ ~ N(0, 3² I), around a maximum θ̂ of the evidence.

    There log p(y|θ) ≈ log p(y|θ̂) − ½ δᵀHδ, δ = θ − θ̂, and the integral over δ is Gaussian: with Λ = H + I/3² and
    g = −θ̂/3² it is log p(y|θ̂) + log p(θ̂) + ½ gᵀΛ⁻¹g − ½ log|Λ| + (P/2) log 2π.
    """
    value, _ = objective(vector)
    if not len(vector):
        return value
    factor = precision(curvature(objective, vector))
    g = -vector / PRIOR_SD**2
    prior = 0.5 * vector @ g - len(vector) * math.log(PRIOR_SD)  # the 2π of the two cancel
    return float(value + prior + 0.5 * g @ factor.solve(g) - 0.5 * factor.log_det())
