"""The evidence: against the multivariate normal, finite differences, and itself in the other engine."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fathom.base.linalg import NotPositiveDefinite
from fathom.gp.evidence import Evidence, batched, log_evidence
from fathom.gp.exact import GP, condition
from fathom.kernels import bind, from_vector, n_free, parse, to_vector
from tests.conftest import GRIDS, PLANE

KERNELS = ["SE + WN(variance=0.3)", "SE*Per(period=0.9)*Lin + RQ + Lin*WN + WN", "CP(SE, Lin, location=1.0) + WN"]
RNG = np.random.default_rng(3)


def outputs(n, p=1):
    return np.random.default_rng(4).standard_normal((n, p))


@pytest.mark.parametrize("text", KERNELS)
def test_is_the_multivariate_normal_density(text, grid):
    kernel, y = parse(text), outputs(len(grid))
    expected = multivariate_normal(np.zeros(len(grid)), kernel.gram(grid)).logpdf(y[:, 0])
    evidence = Evidence(kernel, grid, y)
    assert evidence(to_vector(kernel))[0] == pytest.approx(expected, rel=1e-10)
    assert evidence.value(to_vector(kernel)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("mean", ["zero", "constant"])
@pytest.mark.parametrize("text", KERNELS)
def test_gradient_against_finite_differences(text, mean, grid):
    kernel, y = parse(text), outputs(len(grid), 2)
    evidence, vector = Evidence(kernel, grid, y, mean), to_vector(kernel)
    _, gradient = evidence(vector)
    steps = 1e-5 * np.eye(len(vector))
    differences = [(evidence.value(vector + h) - evidence.value(vector - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mean", ["zero", "constant"])
@pytest.mark.parametrize("p", [1, 3])
def test_numpy_equals_jax(mean, p):
    kernel = bind(parse("SE + Lin[1]*SE[0] + WN(variance=0.2)"), 3)
    Y = outputs(len(PLANE), p)
    vectors = to_vector(kernel) + 0.2 * RNG.standard_normal((2, n_free(kernel)))
    values, gradients = batched(kernel, PLANE, Y, mean)(vectors)
    for vector, value, gradient in zip(vectors, values, gradients, strict=True):
        ours = Evidence(kernel, PLANE, Y, mean)(vector)
        assert ours[0] == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(ours[1], gradient, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_custom_gradient_equals_differentiating_the_cholesky(x64):
    kernel, X, y = parse(KERNELS[1]), jnp.asarray(GRIDS["irregular"]), jnp.asarray(outputs(13)[:, 0])

    def taped(vector):
        C = from_vector(kernel, vector).gram(X)
        L = jnp.linalg.cholesky(C)
        half = jax.scipy.linalg.solve_triangular(L, y, lower=True)
        return -0.5 * half @ half - jnp.log(L.diagonal()).sum() - 0.5 * len(y) * jnp.log(2 * jnp.pi)

    def ours(vector):
        return log_evidence(from_vector(kernel, vector), X, y)

    vector = jnp.asarray(to_vector(kernel))
    (our, our_slope), (their, their_slope) = (jax.jit(jax.value_and_grad(f))(vector) for f in (ours, taped))
    np.testing.assert_allclose(our, their, rtol=1e-12)
    np.testing.assert_allclose(our_slope, their_slope, rtol=1e-7)
    in_y = jax.jit(jax.grad(lambda v: log_evidence(kernel, X, v)))(y)
    np.testing.assert_allclose(in_y, -jnp.linalg.solve(kernel.gram(X), y), rtol=1e-7)


def test_the_profiled_constant_is_the_best_one():
    kernel, X, y = parse(KERNELS[0]), GRIDS["irregular"], outputs(13) + 3.0
    best = Evidence(kernel, X, y, "constant").value(to_vector(kernel))
    posterior = condition(GP(kernel), X, y, profile=True)
    assert posterior.log_evidence() == pytest.approx(best, rel=1e-10)
    for shift in (-0.1, 0.1):
        other = condition(GP(kernel, posterior.prior.constant + shift), X, y)
        assert other.log_evidence() < best


def test_prequential_sum_is_the_evidence():
    """Σ_n log p(y_n | y_<n) = log p(y)."""
    kernel, X, y = parse(KERNELS[1]), GRIDS["irregular"], outputs(13)[:, 0]
    total = -0.5 * (np.log(2 * np.pi * kernel.diag(X[:1])[0]) + y[0] ** 2 / kernel.diag(X[:1])[0])
    for n in range(1, len(X)):
        posterior = condition(GP(kernel), X[:n], y[:n])
        mean, var = posterior.mean(X[n : n + 1])[0, 0], posterior.var(X[n : n + 1], noise=True)[0]
        total += -0.5 * (np.log(2 * np.pi * var) + (y[n] - mean) ** 2 / var)
    assert total == pytest.approx(Evidence(kernel, X, y).value(to_vector(kernel)), rel=1e-9)


def test_a_batch_is_compiled_once():
    kernel = parse("SE + WN")
    objective = batched(kernel, GRIDS["regular"], outputs(14))
    for shift in range(3):
        objective(np.tile(to_vector(kernel), (4, 1)) + 0.1 * shift)
    compiled = next(c.cell_contents for c in objective.__closure__ if hasattr(c.cell_contents, "_cache_size"))
    assert compiled._cache_size() == 1


def test_jitter_is_counted_and_failure_explained():
    X = np.array([[0.0], [0.0], [1.0]])
    evidence = Evidence(parse("SE"), X, outputs(3))
    evidence(to_vector(parse("SE")))
    assert evidence.jitter > 0
    assert evidence.n_jittered == 1
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(NotPositiveDefinite, match="is not finite"):
        evidence(np.array([800.0, 0.0]))
