"""Expectation propagation with one factor for all rows: limits where it is exact."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fathom.deep.build import Architecture, build
from fathom.gp.exact import GP
from fathom.inference.sep import (
    KEPT,
    SEP,
    Factors,
    allowed,
    asked,
    at_points,
    copies,
    factors_of,
    holding,
    moved,
    natural,
    penalty,
    posterior,
    sweep,
    through,
)
from fathom.kernels.stationary import WN
from fathom.likelihoods import Bernoulli
from fathom.sparse.collapsed import condition_sparsely, log_bound

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (30, 1))
Y = np.sin(2 * X) + 0.3 * RNG.standard_normal((30, 1))


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def model_of(widths=(), data=(X, Y), m=6, **settings):
    arch = Architecture(widths, m, dtype="float64", **settings)
    model = build(jax.random.key(0), arch, SEP().beginning(), *data)
    layers = tuple(dataclasses.replace(layer, jitter=1e-10) for layer in model.layers)
    return eqx.tree_at(lambda old: (old.layers, old.likelihood.log_noise), model, (layers, jnp.log(jnp.array([0.09]))))


def shaken(model, seed=1):
    """Factors that say something."""
    rng = np.random.default_rng(seed)
    arrays, rest = eqx.partition(model, eqx.is_inexact_array)
    moved = jax.tree.map(lambda a: a + 0.1 * jnp.asarray(rng.standard_normal(a.shape)), arrays)
    return eqx.tree_at(lambda old: old.likelihood, eqx.combine(moved, rest), model.likelihood)


def log_z_of(model, power=1.0):
    """log Z of every row as a function of the cavities' moments."""

    def log_z(means, covs):
        beliefs = [
            natural(jnp.zeros_like(c), jnp.zeros_like(m))._replace(mean=m, cov=c)
            for m, c in zip(means, covs, strict=True)
        ]
        f = through(model.layers, beliefs, jnp.asarray(X))
        return model.likelihood.tilted(jnp.asarray(Y), f.mean, f.var, f.residual, power)

    return log_z


def refined(model, factors, damping=1.0, power=1.0):
    """One step of the explicit iteration on all rows."""
    log_z = log_z_of(model, power)
    return moved(factors, jax.jit(lambda old: asked(old, log_z, len(X), power))(factors), len(X), damping)


@eqx.filter_jit
def energy_of(model, X, Y, n, power=1.0):
    return SEP(power).loss()(model, X, Y, None, 1.0, n)[0]


def empty(model):
    return Factors(
        [jnp.zeros((*layer.mean.shape, layer.mean.shape[1])) for layer in model.layers],
        [jnp.zeros_like(layer.mean) for layer in model.layers],
    )


def held(model, factors):
    """The model whose factors are these."""
    return eqx.tree_at(lambda old: old.layers, model, holding(model.layers, factors, len(X)))


def fitc(model):
    """Kernel with noise, inducing inputs."""
    kernel = model.layers[0].form.at(model.layers[0].theta[0])
    return kernel + WN(variance=float(model.likelihood.noise()[0])), np.asarray(model.layers[0].Z[0])


@pytest.mark.slow
@pytest.mark.parametrize("power", [1.0, 0.3])
def test_explicit_iteration_ends_in_the_fitc_posterior(power):
    model = model_of()
    factors = refined(model, empty(model), power=power)
    again = refined(model, factors, power=power)
    for a, b in zip(jax.tree.leaves(factors), jax.tree.leaves(again), strict=True):
        assert np.allclose(a, b, atol=1e-8)
    new = np.linspace(-2.5, 2.5, 9)[:, None]
    found, _, _ = eqx.filter_jit(held(model, factors))(jnp.asarray(new), None)
    kernel, Z = fitc(model)
    exact = condition_sparsely(GP(kernel), X, Y, Z, 1.0)
    assert np.allclose(found.mean[0], exact.mean(new), atol=1e-4)
    assert np.allclose(found.var[0, :, 0], exact.var(new), atol=1e-4)


@pytest.mark.slow
def test_a_minibatch_moves_a_part_of_the_way():
    model = model_of()
    whole = refined(model, empty(model))
    part = refined(model, empty(model), damping=0.25)
    assert np.allclose(4 * part.precision[0], whole.precision[0])


@pytest.mark.slow
def test_factors_are_held_and_given_back():
    model = shaken(model_of((2,)))
    factors = factors_of(model.layers, len(X))
    again = factors_of(held(model, factors).layers, len(X))
    for a, b in zip(jax.tree.leaves(factors), jax.tree.leaves(again), strict=True):
        assert np.allclose(a, b, atol=1e-7)


@pytest.mark.slow
def test_sweeps_over_minibatches_come_near_the_fitc_posterior():
    model = model_of()
    swept = sweep(model, X, Y, 40, 10, seed=0)
    whole = held(model, refined(model, empty(model)))
    new = jnp.linspace(-2, 2, 9)[:, None]
    assert np.allclose(swept(new, None)[0].mean, whole(new, None)[0].mean, atol=0.1)


@pytest.mark.slow
def test_sweeps_of_a_deep_model_stay_sound():
    model = model_of((2,))
    swept = sweep(model, X, Y, 3, 15, seed=0)
    f, _, _ = eqx.filter_jit(swept)(jnp.asarray(X), None)
    assert np.all(np.isfinite(f.mean)) and np.all(f.var > 0)  # noqa: PT018
    assert np.mean((f.mean[0] - Y) ** 2) < 0.8 * np.var(Y)
    for layer in swept.layers:  # hidden ones ask for factors that would take the prior away
        assert np.linalg.norm(layer.lower(), 2, (-2, -1)).max() ** 2 < 1 / KEPT


def least_precision(factors, n):
    """Of the posterior that N copies of the first factor leave, where the prior's is 1."""
    return np.linalg.eigvalsh(np.eye(6) + n * np.asarray(factors.precision[0][0])).min()


def test_a_step_that_takes_too_much_of_the_prior_is_halved():
    model = model_of()
    asked = -jnp.eye(6)[None]  # a precision that would leave no posterior
    new = moved(empty(model), Factors([asked], [jnp.zeros((1, 6))]), 10.0, 1.0)
    assert KEPT < least_precision(new, 10) < 1
    narrow = moved(empty(model), Factors([-asked], [jnp.zeros((1, 6))]), 10.0, 1.0)
    assert np.isclose(least_precision(narrow, 10), 11)  # what narrows is taken whole


def test_an_iteration_begins_where_it_may_go_on():
    bent = Factors([jnp.diag(jnp.array([-0.2, 0.0, 0.1, 0.2, 0.3, 0.4]))[None]], [jnp.ones((1, 6))])
    assert least_precision(bent, 10) < 0
    begun = allowed(bent, 10)
    assert KEPT < least_precision(begun, 10) < 1
    assert np.allclose(begun.precision[0][0, 1:, 1:], bent.precision[0][0, 1:, 1:])
    assert eqx.tree_equal(begun, allowed(begun, 10), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(), (2,)])
def test_energy_of_one_row_is_its_evidence(widths):
    model = shaken(model_of(widths))
    x, y = jnp.asarray(X[:1]), jnp.asarray(Y[:1])
    energy = energy_of(model, x, y, jnp.asarray(1.0))
    empty_model = [natural(0 * q.cov, 0 * q.mean) for q in map(posterior, model.layers)]
    f = eqx.filter_jit(through)(model.layers, empty_model, x)
    assert np.isclose(energy, -model.likelihood.marginal(y, f.mean, f.var)[0])


@pytest.mark.slow
def test_energy_tends_to_the_fitc_evidence():
    model = model_of()
    model = held(model, refined(model, empty(model)))
    kernel, Z = fitc(model)
    exact = float(log_bound(kernel, jnp.asarray(X), jnp.asarray(Y), jnp.asarray(Z), 1.0))

    def energy(power):
        return len(X) * float(energy_of(model, jnp.asarray(X), jnp.asarray(Y), jnp.asarray(30.0), power))

    assert np.isclose(-energy(1e-4), exact, atol=2e-3)
    assert not np.isclose(-energy(1.0), exact, atol=0.1)  # with one factor for all rows only a limit is exact


def test_prior_terms_vanish_without_factors():
    model = model_of((2,))
    blank = [
        eqx.tree_at(lambda old: (old.mean, old.root), layer, (0 * layer.mean, 0 * layer.root)) for layer in model.layers
    ]
    total, cavities = penalty(tuple(blank), jnp.asarray(30.0), 1.0)
    assert np.isclose(total, 0.0, atol=1e-8)
    assert np.allclose(cavities[0].cov, np.eye(6))


def test_moments_of_one_layer_are_those_of_svgp():
    layer = shaken(model_of()).layers[0]
    q = posterior(layer)
    found, direct = at_points(layer, q.mean, q.cov, jnp.asarray(X)), layer(jnp.asarray(X))
    assert np.allclose(found.mean, direct.mean)
    assert np.allclose(found.var, direct.var)


def test_the_prior_times_all_copies_is_the_posterior():
    layer = shaken(model_of((2,))).layers[0]
    for found, own in zip(natural(*copies(layer)), posterior(layer), strict=True):
        assert np.allclose(found, own)


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.1, 0.9])
def test_a_residual_that_rounding_makes_negative_leaves_a_finite_energy(power):
    """Many inducing points explain all of the variance and, by 1e-6, more; less noise than that was NaN."""
    model = shaken(model_of((2,), m=25, data=(np.linspace(-2, 2, 30)[:, None], Y)))
    model = eqx.tree_at(lambda old: old.likelihood.log_noise, model, jnp.log(jnp.array([1e-8])))
    f = eqx.filter_jit(through)(model.layers, [posterior(layer) for layer in model.layers], jnp.asarray(X))
    assert f.residual.min() >= 0
    assert np.isfinite(energy_of(model, jnp.asarray(X), jnp.asarray(Y), jnp.asarray(30.0), power))


def test_power_of_a_gaussian_against_quadrature():
    likelihood = model_of().likelihood
    y, mean, var, residual = (jnp.asarray(a) for a in ([[0.3]], [[-0.1]], [[0.5]], [[0.2]]))
    noise = float(likelihood.noise()[0])
    u = np.linspace(-8, 8, 20001)
    density = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    f, R = -0.1 + np.sqrt(0.3) * u, 0.2 + noise
    inner = (np.exp(-0.5 * (0.3 - f) ** 2 / R) / np.sqrt(2 * np.pi * R)) ** 0.4
    assert np.isclose(
        likelihood.tilted(y, mean, var, residual, 0.4)[0], np.log(np.trapezoid(density * inner, u)), atol=1e-8
    )


@pytest.mark.slow
def test_power_of_a_probit_tends_to_the_closed_form():
    y, mean, var = jnp.asarray([[1.0], [0.0]]), jnp.asarray([[0.4], [0.2]]), jnp.asarray([[0.5], [1.5]])
    near = eqx.filter_jit(Bernoulli().tilted)(y, mean, var, var, 1.0 - 1e-9)
    assert np.allclose(near, Bernoulli().marginal(y, mean, var), atol=1e-6)
