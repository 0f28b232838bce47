"""Exact GP regression: identities of the posterior, its decomposition, and leave-one-out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fathom.gp.exact import GP, additive_parts, condition, decompose, leave_one_out
from fathom.kernels import bind, parse, terms
from fathom.process import Process
from tests.conftest import GRIDS, PLANE

KERNELS = {
    "series": (parse("SE*Per(period=0.9) + Lin + CP(SE, C, location=1.0) + WN(variance=0.2)"), GRIDS["irregular"]),
    "heteroscedastic": (parse("SE + Lin*WN + WN(variance=0.1)"), GRIDS["repeated"]),
    "several inputs": (bind(parse("SE[0] + SE[1]*Lin[2] + Lin + WN(variance=0.3)"), 3), PLANE),
}


@pytest.fixture(params=KERNELS)
def posterior(request):
    kernel, X = KERNELS[request.param]
    Y = np.random.default_rng(0).standard_normal((len(X), 2)) + 1.0
    return condition(GP(kernel, np.array([0.5, -0.2])), X, Y)


def new_inputs(posterior):
    return posterior.X[:5] + 0.13


def test_is_the_gaussian_conditional(posterior):
    """Against the formula A.2 with explicit inverses."""
    X, k = new_inputs(posterior), posterior.kernel
    inverse = np.linalg.inv(k.gram(posterior.X))
    cross = k.cross(X, posterior.X)
    mean = posterior.prior.mean(X) + cross @ inverse @ (posterior.Y - posterior.prior.mean(posterior.X))
    np.testing.assert_allclose(posterior.mean(X), mean, atol=1e-8)
    np.testing.assert_allclose(posterior.cov(X, noise=True), k.gram(X) - cross @ inverse @ cross.T, atol=1e-8)


def test_var_is_the_diagonal_of_cov(posterior):
    X = new_inputs(posterior)
    for noise in (False, True):
        np.testing.assert_allclose(posterior.var(X, noise), posterior.cov(X, noise).diagonal(), atol=1e-9)


def test_components_sum_to_the_posterior(posterior):
    X = new_inputs(posterior)
    parts = decompose(posterior, X)
    n = len(parts.parts)
    assert n >= 3
    np.testing.assert_allclose(sum(parts.means) + posterior.prior.mean(X), posterior.mean(X), atol=1e-10)
    total = sum(parts.cov(i, j) for i in range(n) for j in range(n))
    np.testing.assert_allclose(total, posterior.cov(X, noise=True), atol=1e-9)
    for i in range(n):
        np.testing.assert_allclose(parts.var(i), parts.cov(i).diagonal(), atol=1e-10)


def test_at_the_observations_the_components_sum_to_the_data(posterior):
    parts = decompose(posterior)
    np.testing.assert_allclose(sum(parts.means) + posterior.prior.mean(posterior.X), posterior.Y, atol=1e-8)
    n = len(parts.parts)
    total = sum(parts.cov(i, j) for i in range(n) for j in range(n))
    np.testing.assert_allclose(total, 0, atol=1e-8)  # what was observed is certain


def test_noise_returns_to_its_prior_at_new_inputs(posterior):
    X = new_inputs(posterior)
    parts = decompose(posterior, X)
    (i,) = [i for i, part in enumerate(parts.parts) if str(part).startswith("WN")]
    np.testing.assert_array_equal(parts.means[i], 0)
    np.testing.assert_allclose(parts.var(i), parts.parts[i].diag(X))


def test_two_components_that_could_explain_each_other_are_anticorrelated():
    X = np.linspace(0, 1, 8)[:, None]
    kernel = parse("C + Lin(location=-1.0) + WN(variance=0.01)")
    parts = decompose(condition(GP(kernel), X, np.ones(8)), X, parts=terms(kernel))
    assert np.all(parts.cov(0, 1) < 0)


def test_leave_one_out_is_leaving_one_out(posterior):
    means, variances = leave_one_out(posterior)
    for i in range(0, len(posterior.X), 3):
        keep = np.arange(len(posterior.X)) != i
        rest = condition(posterior.prior, posterior.X[keep], posterior.Y[keep])
        np.testing.assert_allclose(means[i], rest.mean(posterior.X[[i]])[0], atol=1e-8)
        np.testing.assert_allclose(variances[i], rest.var(posterior.X[[i]], noise=True)[0], rtol=1e-8)


def test_conditioning_in_sequence_equals_all_at_once(posterior):
    """p(f | y₁, y₂): the posterior after the first rows, as a prior for the rest, by explicit Gaussian algebra."""
    X, half = new_inputs(posterior), len(posterior.X) // 2
    first = condition(posterior.prior, posterior.X[:half], posterior.Y[:half])
    rest, everything = posterior.X[half:], np.vstack([X, posterior.X[half:]])
    joint, mean = first.cov(everything), first.mean(everything)
    C = joint[len(X) :, len(X) :] + np.diag(posterior.kernel.diag(rest) - posterior.kernel.diag(rest, noise=False))
    updated = mean[: len(X)] + joint[: len(X), len(X) :] @ np.linalg.solve(C, posterior.Y[half:] - mean[len(X) :])
    np.testing.assert_allclose(updated, posterior.mean(X), atol=1e-7)


def test_samples_have_the_moments_of_their_process():
    X = np.linspace(0, 3, 4)[:, None]
    prior = GP(parse("SE + WN(variance=0.1)"), 1.0)
    posterior = condition(prior, GRIDS["irregular"], np.sin(GRIDS["irregular"]))
    for process in (prior, posterior):
        assert isinstance(process, Process)
        draws = process.sample(0, X, 40_000, noise=True)
        assert draws.shape == (40_000, 4)
        np.testing.assert_allclose(draws.mean(0), process.mean(X)[:, 0], atol=0.03)
        np.testing.assert_allclose(np.cov(draws.T), process.cov(X, noise=True), atol=0.03)
        np.testing.assert_array_equal(process.sample(7, X, 2), process.sample(7, X, 2))


@pytest.mark.slow
def test_jit_equals_numpy(x64):
    kernel, X = KERNELS["series"]
    Y, new = np.sin(X), X[:4] + 0.1

    @jax.jit
    def predict(kernel, X, Y, new):
        posterior = condition(GP(kernel), X, Y, profile=True)
        parts = decompose(posterior, new)
        return posterior.mean(new), posterior.var(new), posterior.log_evidence(), sum(parts.means)

    posterior = condition(GP(kernel), X, Y, profile=True)
    parts = sum(decompose(posterior, new).means)
    ours = (posterior.mean(new), posterior.var(new), posterior.log_evidence(), parts)
    for theirs, our in zip(predict(kernel, *map(jnp.asarray, (X, Y, new))), ours, strict=True):
        np.testing.assert_allclose(theirs, our, atol=1e-8)
    draws = condition(GP(kernel), jnp.asarray(X), jnp.asarray(Y)).sample(jax.random.key(0), jnp.asarray(new), 3)
    assert draws.shape == (3, 4)


def test_parts_are_the_simplest_products():
    assert [str(part) for part in additive_parts(parse("SE*(Per + C) + WN*SE + WN"))] == [
        "SE", "WN(variance=2.0)", "SE*Per",
    ]  # fmt: skip
