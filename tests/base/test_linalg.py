"""Factorisations: jitter only when needed, reported, and explained when it is not enough."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.base import linalg


def covariance(n, rank, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, rank))
    return A @ A.T


def test_no_jitter_for_a_good_matrix():
    K = covariance(6, 9)
    factor = linalg.factorise(K)
    assert factor.jitter == 0
    assert factor.attempts == 1
    np.testing.assert_allclose(factor.lower @ factor.lower.T, K, atol=1e-12)


@pytest.mark.slow
@given(st.integers(2, 8), st.integers(0, 1000))
def test_solves(n, seed):
    K, B = covariance(n, 2 * n, seed), np.random.default_rng(seed).standard_normal((n, 3))
    factor = linalg.factorise(K)
    np.testing.assert_allclose(K @ factor.solve(B), B, atol=1e-6)
    np.testing.assert_allclose(factor.inverse() @ K, np.eye(n), atol=1e-6)
    assert factor.log_det() == pytest.approx(np.linalg.slogdet(K)[1], rel=1e-8, abs=1e-8)


def test_singular_matrices_get_as_little_jitter_as_works():
    K = np.ones((4, 4))
    factor = linalg.factorise(K)
    assert 0 < factor.jitter <= 1e-7
    np.testing.assert_allclose(factor.lower @ factor.lower.T, K + factor.jitter * np.eye(4), atol=1e-12)


@pytest.mark.slow
def test_jax_agrees_with_numpy(x64):
    for K in (covariance(5, 8), np.ones((4, 4))):
        ours, theirs = linalg.factorise(K), jax.jit(linalg.factorise)(jnp.asarray(K))
        np.testing.assert_allclose(theirs.lower, ours.lower, atol=1e-10)
        np.testing.assert_allclose(theirs.jitter, ours.jitter)
        assert int(theirs.attempts) == ours.attempts
        np.testing.assert_allclose(theirs.inverse(), ours.inverse(), rtol=1e-6)
    assert np.all(np.isnan(linalg.factorise(jnp.full((2, 2), jnp.nan)).lower.diagonal()))


def test_a_root_of_a_singular_covariance():
    K = covariance(6, 2)
    R = linalg.root(K)
    np.testing.assert_allclose(R @ R.T, K, atol=1e-12)


@pytest.mark.parametrize("jittered", [False, True])
def test_in_place_solution(jittered):
    K = np.ones((4, 4)) if jittered else covariance(5, 9)
    Y, storage = np.asfortranarray(np.arange(2.0 * len(K)).reshape(len(K), 2)), np.empty_like(K)

    def build():
        storage[:] = K
        return storage

    log_det, solved, jitter = linalg.solve_in_place(build, Y)
    factor = linalg.factorise(K)
    assert jitter == factor.jitter
    assert (jitter > 0) is jittered
    assert log_det == pytest.approx(factor.log_det())
    np.testing.assert_allclose(solved, factor.solve(Y), rtol=1e-6)
    np.testing.assert_allclose(storage, np.tril(factor.inverse()), rtol=1e-6)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "the covariance of row 0 is not finite"),
        (np.array([[1.0, 0.0], [0.0, -1.0]]), "row 1 has no prior variance: the kernel vanishes there, or a column"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "rows 0 and 1 are perfectly correlated: duplicated inputs, or noise at"),
        (1e200 * np.array([[1.0, 2.0], [2.0, 1.0]]), "rows 0 and 1 are perfectly correlated: duplicated inputs, or"),
        (np.array([[1.0, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]]), "rows are nearly dependent: noise at its floor"),
    ],
)
def test_a_failure_names_its_cause(K, message):
    with pytest.raises(linalg.NotPositiveDefinite, match=message):
        linalg.factorise(K)
    with pytest.raises(linalg.NotPositiveDefinite, match=message):
        linalg.solve_in_place(lambda: K.copy(), np.ones((len(K), 1)))


INVERSES = {
    "whitening": (lambda K: linalg.whitening(K, 0.0), lambda K: np.linalg.inv(np.linalg.cholesky(K))),
    "triangle": (lambda K: linalg.triangular_inverse(jnp.tril(K)), lambda K: np.linalg.inv(np.tril(K))),
    "square": (lambda K: linalg.solve_square(K, K @ K), lambda K: K),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3,), (2, 10)])
@pytest.mark.parametrize("name", INVERSES)
def test_lapack_never_gets_a_stack(name, shape, x64):
    """Several calls with stacks, in one program, would wait for each other for ever (jaxlib 0.10.2)."""
    ours, theirs = INVERSES[name]
    K = np.stack([covariance(5, 9, seed) for seed in range(np.prod(shape))]).reshape(*shape, 5, 5)
    np.testing.assert_allclose(jax.jit(ours)(jnp.asarray(K)), theirs(K), atol=1e-8)
    for function in (ours, jax.vmap(ours)):
        calls = re.findall(r'lapack_\w+.*num_batch_dims = "(\d)"', jax.jit(function).lower(jnp.asarray(K)).as_text())
        assert set(calls) == {"0"}


def test_elsewhere_a_stack_is_one_call(x64, monkeypatch):
    K = jnp.asarray(np.stack([covariance(5, 9, seed) for seed in range(3)]))
    one_by_one = linalg.whitening(K, 0.0)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    np.testing.assert_allclose(linalg.whitening(K, 0.0), one_by_one, atol=1e-10)
