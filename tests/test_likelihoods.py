"""Likelihoods: closed forms against quadrature, limits, and what missing outputs say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal, norm

from fathom.deep.layer import Moments
from fathom.deep.objective import Robust, elbo
from fathom.likelihoods import Bernoulli, Gaussian, Softmax

RNG = np.random.default_rng(0)
number = st.floats(-3, 3)
size = st.floats(0.05, 3)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def gaussian(noise, mixing=None):
    noise = np.atleast_1d(noise)
    return Gaussian(jnp.log(jnp.asarray(noise)), None if mixing is None else jnp.asarray(mixing), jnp.zeros(len(noise)))


def column(*values):
    return jnp.asarray(values, dtype=float)[:, None]


@pytest.mark.slow
@given(y=number, m=number, v=size, noise=size)
def test_gaussian_expectations(y, m, v, noise):
    one = gaussian(noise)
    logs = quad(lambda f: norm.logpdf(y, f, noise**0.5) * norm.pdf(f, m, v**0.5), m - 12 * v**0.5, m + 12 * v**0.5)[0]
    assert np.isclose(one.expected(column(y), column(m), column(v))[0], logs, rtol=1e-6, atol=1e-8)
    assert np.isclose(one.marginal(column(y), column(m), column(v))[0], norm.logpdf(y, m, (v + noise) ** 0.5))


@pytest.mark.slow
def test_outputs_that_share_latent_functions_are_dependent():
    mixing, noise = RNG.standard_normal((3, 2)), np.array([0.3, 0.5, 0.2])
    m, v, y = RNG.standard_normal((4, 2)), RNG.uniform(0.2, 1, (4, 2)), RNG.standard_normal((4, 3))
    one = gaussian(noise, mixing)
    for i in range(4):
        cov = mixing @ np.diag(v[i]) @ mixing.T + np.diag(noise)
        assert np.isclose(one.marginal(y, m, v)[i], multivariate_normal.logpdf(y[i], mixing @ m[i], cov))
    mean, var = one.outputs(m, v)
    assert np.allclose(var[0], np.diag(mixing @ np.diag(v[0]) @ mixing.T))
    assert np.allclose(mean, m @ mixing.T)


@pytest.mark.slow
def test_a_missing_output_is_an_output_left_out():
    mixing, noise = RNG.standard_normal((3, 2)), np.array([0.3, 0.5, 0.2])
    m, v, y = RNG.standard_normal((4, 2)), RNG.uniform(0.2, 1, (4, 2)), RNG.standard_normal((4, 3))
    gone = y.copy()
    gone[:, 1] = np.nan
    kept = gaussian(noise[[0, 2]], mixing[[0, 2]])
    one = gaussian(noise, mixing)
    for ask in ("marginal", "expected"):
        assert np.allclose(getattr(one, ask)(gone, m, v), getattr(kept, ask)(y[:, [0, 2]], m, v))
        total = jax.grad(lambda b, ask=ask: jnp.sum(getattr(gaussian(noise, b), ask)(gone, m, v)))
        slopes = jax.jit(total)(jnp.asarray(mixing))
        assert np.all(np.isfinite(slopes))
    nothing = np.full((4, 3), np.nan)
    assert np.allclose(one.marginal(nothing, m, v), 0)
    assert np.allclose(one.expected(nothing, m, v), 0)


# -- robust ------------------------------------------------------------------------------------------------------


def moments(m, v):
    return Moments(jnp.asarray(m)[None], jnp.asarray(v)[None])


@pytest.mark.slow
def test_the_robust_objective_tends_to_the_elbo():
    y, m, v = RNG.standard_normal((3, 5, 1))
    f, one = moments(m, np.abs(v)), gaussian(0.7)
    plain = elbo(one, y, f, jnp.zeros(1))
    errors = [float(np.abs(Robust(1 + c)(one, y, f, jnp.zeros(1)) - plain).max()) for c in (1e-3, 1e-5, 1e-7)]
    assert errors[2] < 1e-4
    assert np.allclose([errors[0] / errors[1], errors[1] / errors[2]], 100, rtol=0.1)  # linear in γ − 1


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [1.03, 1.1])
def test_the_robust_score_is_proper(gamma):
    """With data N(0, 1) the best noise variance is 1; with the integral's sign turned it would be 0.94 and 0.82."""
    y = norm.ppf((np.arange(4000) + 0.5) / 4000)[:, None]
    f = moments(np.zeros((4000, 1)), np.zeros((4000, 1)))
    cost = lambda s: -float(jnp.mean(Robust(gamma)(gaussian(s), y, f, jnp.zeros(1))))  # noqa: E731
    assert np.isclose(minimize_scalar(cost, bounds=(0.5, 2), method="bounded").x, 1, atol=5e-3)


@pytest.mark.slow
def test_outliers_lose_their_pull():
    f = moments(np.zeros((1, 1)), np.full((1, 1), 0.1))
    pull = jax.grad(lambda y, g: Robust(g)(gaussian(0.5), y[None, None], f, jnp.zeros(1))[0])
    near, far = (abs(float(pull(jnp.asarray(y), 1.1))) for y in (2.0, 50.0))
    assert far < 1e-6 < near


# -- classes -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(m=number, v=size, label=st.booleans())
def test_two_classes(m, v, label):
    y, sign = column(float(label)), 2 * label - 1
    logs = quad(lambda f: norm.logcdf(sign * f) * norm.pdf(f, m, v**0.5), m - 12 * v**0.5, m + 12 * v**0.5)[0]
    assert np.isclose(Bernoulli().expected(y, column(m), column(v))[0], logs, rtol=1e-4, atol=1e-5)
    chance = quad(lambda f: norm.cdf(sign * f) * norm.pdf(f, m, v**0.5), m - 12 * v**0.5, m + 12 * v**0.5)[0]
    assert np.isclose(np.exp(Bernoulli().marginal(y, column(m), column(v)))[0], chance, rtol=1e-6)
    assert np.isclose(Bernoulli().probabilities(column(m), column(v))[0, int(label)], chance, rtol=1e-6)


@pytest.mark.slow
def test_many_classes():
    m, y = RNG.standard_normal((5, 3)), np.array([[0], [1], [2], [1], [0]])
    one, sure = Softmax.of(3), jax.nn.log_softmax(m, -1)[np.arange(5), y[:, 0]]
    for ask in (one.expected, one.marginal):
        assert np.allclose(ask(y, m, np.zeros((5, 3))), sure, atol=1e-5)
    v = np.full((5, 3), 0.8)
    assert np.all(one.marginal(y, m, v) >= one.expected(y, m, v))
    chances = one.probabilities(m, v)
    assert np.allclose(chances.sum(-1), 1)
    assert np.allclose(np.log(chances[np.arange(5), y[:, 0]]), one.marginal(y, m, v))
