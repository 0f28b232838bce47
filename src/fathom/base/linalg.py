"""Factorisations: the only place that computes a Cholesky factor, adds jitter, or says why one failed.

Policy: no jitter while the matrix factorises without it; then 1e-8 of the mean diagonal, growing tenfold to 1e-2;
then `NotPositiveDefinite` with the likely cause. What was added is always returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from fathom.base.arrays import Array, is_jax, namespace

FEW = 16  # matrices that are factorised side by side
BLOCK = 64  # rows of a triangle that is inverted by substitution
JITTERS = (0.0, *(10.0**-p for p in range(8, 1, -1)))  # relative to the mean diagonal


class NotPositiveDefinite(ValueError):
    """A matrix that even the largest jitter does not make positive definite; the message names the likely cause."""


class Factor(NamedTuple):
    """K + jitter·I = L Lᵀ. A PyTree, so it can pass through jit."""

    lower: Array  # L, zero above the diagonal
    jitter: Array  # what was added to the diagonal, absolute
    attempts: Array  # factorisations tried, 1 when no jitter was needed

    def half_solve(self, B: Array) -> Array:
        """L⁻¹B."""
        return _triangular(self.lower, B, False)

    def solve(self, B: Array) -> Array:
        """(K + jitter·I)⁻¹B."""
        return _triangular(self.lower, self.half_solve(B), True)

    def log_det(self) -> Array:
        """log|K + jitter·I|."""
        return 2 * namespace(self.lower).log(self.lower.diagonal()).sum()

    def inverse(self) -> Array:
        """(K + jitter·I)⁻¹, full and symmetric. For gradients of the evidence; never for solving."""
        if is_jax(self.lower):
            import jax.numpy as jnp

            half = _triangular(self.lower, jnp.eye(self.lower.shape[0], dtype=self.lower.dtype), False)
            return half.T @ half
        inverse, _ = lapack.dpotri(np.asfortranarray(self.lower), lower=1)
        return np.tril(inverse) + np.tril(inverse, -1).T


def _triangular(lower: Array, B: Array, transpose: bool) -> Array:
    if is_jax(lower, B):
        import jax.scipy.linalg

        return jax.scipy.linalg.solve_triangular(lower, B, lower=True, trans=int(transpose))
    return solve_triangular(lower, B, lower=True, trans=int(transpose), check_finite=False)


def factorise(K: Array) -> Factor:
    """The Cholesky factor of a symmetric matrix, with as little jitter as it needs.

    NumPy raises `NotPositiveDefinite` when the largest jitter fails. Inside JAX nothing can be raised: there the
    factor is NaN, and every number computed from it.
    """
    if is_jax(K):
        return _factorise_jax(K)
    K = np.asarray(K, dtype=float)
    scale = _mean_diagonal(K)
    for attempt, relative in enumerate(JITTERS, start=1):
        shifted = K.copy(order="F")
        shifted.flat[:: len(K) + 1] += relative * scale
        lower, info = lapack.dpotrf(shifted, lower=1, clean=1, overwrite_a=1)
        if info == 0 and np.isfinite(lower[-1, -1]):
            return Factor(np.ascontiguousarray(lower), relative * scale, attempt)
    raise NotPositiveDefinite(diagnose(K))


def _factorise_jax(K: Array) -> Factor:
    import jax
    import jax.numpy as jnp

    scale = jnp.mean(jnp.abs(K.diagonal()))
    jitters = jnp.asarray(JITTERS, K.dtype) * scale

    def attempt(state: tuple[Array, Array]) -> tuple[Array, Array]:
        count, _ = state
        return count + 1, jnp.linalg.cholesky(K + jitters[count] * jnp.eye(len(K), dtype=K.dtype))

    def again(state: tuple[Array, Array]) -> Array:
        count, lower = state
        return (count < len(JITTERS)) & ~jnp.all(jnp.isfinite(lower.diagonal()))

    count, lower = jax.lax.while_loop(again, attempt, attempt((0, None)))
    return Factor(lower, jitters[count - 1], count)


def jittered(K: Array, jitter: float, own: bool = False) -> Array:
    """K + jitter·(mean diagonal)·I, for one matrix or a stack (…, M, M); with `own`, K + jitter·diag(K)."""
    xp = namespace(K)
    if own:
        return K * (1 + jitter * xp.eye(K.shape[-1], dtype=K.dtype))
    scale = xp.mean(xp.diagonal(K, axis1=-2, axis2=-1), -1)[..., None, None]
    return K + jitter * scale * xp.eye(K.shape[-1], dtype=K.dtype)


def whitening(K: Array, jitter: float) -> Array:
    """L⁻¹ with K + jitter·(mean diagonal)·I = L Lᵀ, for a stack (…, M, M) in JAX: NaN where one does not factorise.

    The explicit inverse and one matrix product are faster than solving for every row of a minibatch.
    """
    return _jax_whitening()(jittered(K, jitter))


@lru_cache(maxsize=1)
def _jax_whitening() -> Callable[[Array], Array]:
    """K → W = L⁻¹, whose gradient is −Wᵀ T W with T the symmetrised lower triangle of G Wᵀ, its diagonal halved."""
    import jax

    def one(K: Array) -> Array:
        # without the zeros above the diagonal, which nobody reads: slices of them take LLVM seconds
        return _triangular_inverse(jax.lax.linalg.cholesky_p.bind(K))

    def forward(K: Array) -> tuple[Array, Array]:
        W = _each(one, K)
        return W, W

    def backward(W: Array, G: Array) -> tuple[Array]:
        B = _pulled_blocks(W, G) if W.shape[-1] >= 2 * BLOCK else turned(W) @ _half_lower(G @ turned(W)) @ W
        return (-0.5 * (B + turned(B)),)

    whitening = jax.custom_vjp(lambda K: forward(K)[0])
    whitening.defvjp(forward, backward)
    return whitening


def _each(function: Callable[[Array], Array], stack: Array) -> Array:
    """A function of matrices; on a CPU one call for each, of a few side by side, of many one after the other.

    A LAPACK routine that gets several matrices at once spreads them over the threads of jaxlib 0.10.2 and
    waits for them in one of these threads. As many such calls as there are threads wait for ever: four of five
    trainings with three units in a layer hung so.
    """
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "cpu":
        return function(stack)
    n = math.prod(stack.shape[:-2])
    flat = stack.reshape(n, *stack.shape[-2:])
    alone = jax.custom_batching.sequential_vmap(function)  # also where the caller maps over models
    found = jax.lax.map(alone, flat) if n > FEW else jnp.stack([alone(flat[i]) for i in range(n)])
    return found.reshape(stack.shape)


def turned(A: Array) -> Array:
    """Aᵀ of a stack of matrices."""
    return namespace(A).swapaxes(A, -1, -2)


def _half_lower(A: Array) -> Array:
    """The lower triangle, its diagonal halved."""
    xp = namespace(A)
    return xp.tril(A) - 0.5 * A * xp.eye(A.shape[-1], dtype=A.dtype)


def _pulled_blocks(W: Array, G: Array) -> Array:
    """Wᵀ Φ(G Wᵀ) W, Φ the lower triangle with its diagonal halved, by halves: the empty block costs nothing."""
    h = W.shape[-1] // 2
    W1, W21, W2 = W[..., :h, :h], W[..., h:, :h], W[..., h:, h:]
    G1, G21, G2 = G[..., :h, :h], G[..., h:, :h], G[..., h:, h:]
    P1, P21 = _half_lower(G1 @ turned(W1)), G21 @ turned(W1)
    P2 = _half_lower(G21 @ turned(W21) + G2 @ turned(W2))
    Q1, Q21, Q2 = P1 @ W1, P21 @ W1 + P2 @ W21, P2 @ W2
    xp = namespace(W)
    top = xp.concatenate([turned(W1) @ Q1 + turned(W21) @ Q21, turned(W21) @ Q2], -1)
    low = xp.concatenate([turned(W2) @ Q21, turned(W2) @ Q2], -1)
    return xp.concatenate([top, low], -2)


def _triangular_inverse(lower: Array) -> Array:
    """L⁻¹ of a stack, by halves: products of blocks are three times as fast as substitution."""
    import jax
    import jax.numpy as jnp

    n = lower.shape[-1]
    if n <= BLOCK:
        eye = jnp.broadcast_to(jnp.eye(n, dtype=lower.dtype), lower.shape)
        return jax.lax.linalg.triangular_solve(lower, eye, left_side=True, lower=True)
    h = n // 2
    top, low = _triangular_inverse(lower[..., :h, :h]), _triangular_inverse(lower[..., h:, h:])
    corner = -low @ (lower[..., h:, :h] @ top)
    above = jnp.concatenate([top, jnp.zeros_like(jnp.swapaxes(corner, -1, -2))], -1)
    return jnp.concatenate([above, jnp.concatenate([corner, low], -1)], -2)


def triangular_inverse(lower: Array) -> Array:
    """L⁻¹ of a stack (…, M, M) of lower triangles in JAX."""
    return _jax_triangular_inverse()(lower)


@lru_cache(maxsize=1)
def _jax_triangular_inverse() -> Callable[[Array], Array]:
    """L → W = L⁻¹, whose gradient is the lower triangle of −Wᵀ G Wᵀ."""
    import jax
    import jax.numpy as jnp

    def forward(lower: Array) -> tuple[Array, Array]:
        W = _each(_triangular_inverse, lower)
        return W, W

    inverse = jax.custom_vjp(lambda lower: forward(lower)[0])
    inverse.defvjp(forward, lambda W, G: (-jnp.tril(turned(W) @ G @ turned(W)),))
    return inverse


def inverse_root(K: Array) -> Array:
    """The lower triangular R with R Rᵀ = K⁻¹, for a stack (…, M, M) in JAX: from the factor of K turned about."""
    import jax.numpy as jnp

    half = whitening(jnp.flip(K, (-2, -1)), 0.0)
    return jnp.swapaxes(jnp.flip(half, (-2, -1)), -1, -2)


def log_normal(residual: Array, cov: Array) -> Array:
    """log N(residual | 0, cov) of a stack of small covariances (…, P, P), in JAX.

    One output after the other, each given those before: a stack of thousands is no work for LAPACK (see `_each`).
    """
    import jax.numpy as jnp

    total = 0.0
    for _ in range(residual.shape[-1]):
        first, var, beside = residual[..., 0], cov[..., 0, 0], cov[..., 1:, 0]
        total = total - 0.5 * (first**2 / var + jnp.log(2 * math.pi * var))
        slope = beside / var[..., None]
        residual = residual[..., 1:] - slope * first[..., None]
        cov = cov[..., 1:, 1:] - slope[..., :, None] * beside[..., None, :]
    return total


def solve_square(A: Array, B: Array) -> Array:
    """A⁻¹B of stacks of square matrices that need not be symmetric, in JAX, one after the other (see `_each`)."""
    import jax
    import jax.numpy as jnp

    alone = jax.custom_batching.sequential_vmap(jnp.linalg.solve)
    flat = tuple(each.reshape(-1, *each.shape[-2:]) for each in (A, B))
    found: Array = jax.lax.map(lambda pair: alone(*pair), flat).reshape(B.shape)
    return found


def is_positive(A: Array) -> bool:
    """Whether every matrix of a stack is positive definite."""
    import jax.numpy as jnp

    return bool(jnp.all(jnp.isfinite(jnp.linalg.cholesky(A))))


def root(K: Array) -> Array:
    """R with R Rᵀ = K for a covariance that may be singular (draws from smooth or conditioned processes)."""
    xp = namespace(K)
    values, vectors = xp.linalg.eigh((K + K.T) / 2)
    return vectors * xp.sqrt(xp.maximum(values, 0.0))


def solve_in_place(
    build: Callable[[], np.ndarray], Y: np.ndarray, inverse: bool = True
) -> tuple[float, np.ndarray, float]:
    """log|K|, K⁻¹Y and the jitter that was needed, while the matrix that `build` fills becomes its own inverse.

    `build` returns a C-ordered K of which only the lower triangle is read; afterwards that triangle holds K⁻¹ (or,
    without `inverse`, its factor) and the other zeros. This is the inner loop of the structure search: one `potrf`,
    one `potri`, no copies; a matrix that needs jitter is built again.
    """
    for relative in JITTERS:
        K = build()
        jitter = relative * _mean_diagonal(K)
        if jitter:
            K.flat[:: len(K) + 1] += jitter
        # the lower triangle in C order is the upper one in LAPACK's
        _, info = lapack.dpotrf(K.T, lower=0, clean=1, overwrite_a=1)
        if info == 0 and np.isfinite(K[-1, -1]):
            log_det = 2 * float(np.log(K.diagonal()).sum())
            solved, _ = lapack.dpotrs(K.T, Y, lower=0)
            if inverse:
                lapack.dpotri(K.T, lower=0, overwrite_c=1)
            return log_det, solved, jitter
    lower = np.tril(build())
    raise NotPositiveDefinite(diagnose(lower + np.tril(lower, -1).T))


def calm_threads(n: int) -> AbstractContextManager[object]:
    """One BLAS thread while matrices are small: handing work to a second costs more than it saves below n ≈ 1500,
    and when the other cores are busy it costs many times more."""
    if n >= 1500:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def _mean_diagonal(K: np.ndarray) -> float:
    return float(np.mean(np.abs(K.diagonal()))) or 1.0


def diagnose(K: np.ndarray) -> str:
    """Why a covariance matrix does not factorise, in one line."""
    if not np.all(np.isfinite(K)):
        row = int(np.argwhere(~np.isfinite(K))[0][0])
        return f"the covariance of row {row} is not finite: a parameter overflowed or an input is infinite"
    diagonal = K.diagonal()
    if np.any(diagonal <= 0):
        row = int(np.argmin(diagonal))
        return f"row {row} has no prior variance: the kernel vanishes there, or a column is constant"
    half = np.sqrt(diagonal)
    correlation = K / half / half[:, None]
    np.fill_diagonal(correlation, 0)
    i, j = np.unravel_index(int(np.argmax(np.abs(correlation))), K.shape)
    if abs(correlation[i, j]) > 1 - 1e-9:
        return (
            f"rows {min(i, j)} and {max(i, j)} are perfectly correlated: "
            "duplicated inputs, or noise at its floor; add white noise (WN) or merge the rows"
        )
    return "rows are nearly dependent: noise at its floor, or a lengthscale far beyond the data; add white noise (WN)"
