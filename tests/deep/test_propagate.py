"""Hidden values passed on as samples and as sigma points: limits in which they must agree."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fathom.deep.build import Architecture, build, principal
from fathom.deep.objective import elbo, predictive
from fathom.deep.propagate import SigmaPoints, _standardised, propagate, samples, sigma_points
from fathom.inference import DSPP
from fathom.inference import method as named

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9, 2))
Y = RNG.standard_normal((9, 1))


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def deep(name="dspp", widths=(2,), rule="qr3", n_points=4, seed=0, **settings):
    """A model away from its start, so that nothing is zero by chance."""
    arch = Architecture(widths, 5, dtype="float64", **settings)
    kind = DSPP(rule, n_points) if name == "dspp" else named(name)()
    model = build(jax.random.key(seed), arch, kind.beginning(), X, Y)
    keys = iter(jax.random.split(jax.random.key(seed + 1), 100))
    arrays, rest = eqx.partition(model.layers, eqx.is_array)
    moved = jax.tree.map(lambda a: a + 0.3 * jax.random.normal(next(keys), a.shape), arrays)
    return eqx.tree_at(lambda m: m.layers, model, eqx.combine(moved, rest))


def with_sites(model, nodes, logits, rule="qr3"):
    return eqx.tree_at(lambda m: m.passing, model, SigmaPoints(nodes, logits, rule))


@pytest.mark.slow
def test_one_site_at_zero_is_ppgpr_on_deterministic_features():
    model = with_sites(deep(), (jnp.zeros((1, 2)),), jnp.zeros(1))
    f, log_weights, _ = eqx.filter_jit(model)(X, jax.random.key(0))
    alone = eqx.filter_jit(lambda first, last, X: last(first(X).mean))(*model.layers, jnp.asarray(X))
    assert np.allclose(f.mean[0], alone.mean)
    assert np.allclose(f.var[0], alone.var)
    one = model.likelihood.marginal(Y, alone.mean, alone.var)
    assert np.allclose(predictive(model.likelihood, Y, f, log_weights), one)


@eqx.filter_jit
def mixture_density(model, n):
    """By a grid of Gauss-Hermite points."""
    at = with_sites(model, *_hermite(n))
    f, log_weights, _ = at(X, jax.random.key(0))
    return predictive(model.likelihood, Y, f, log_weights)


def _hermite(n):
    sites = sigma_points(jax.random.key(0), (2,), n, "gauss-hermite", "float64")
    return sites.nodes, sites.logits, "gauss-hermite"


@pytest.mark.slow
def test_gauss_hermite_converges_to_the_predictive_of_the_deep_gp():
    model = deep()
    fine = mixture_density(model, 30)
    errors = [float(np.abs(mixture_density(model, n) - fine).max()) for n in (2, 6, 14)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3
    sites, log_weights = samples(jax.random.key(3), 20_000, len(X), (2,), "float64")
    f, _, _ = eqx.filter_jit(propagate)(model.layers, jnp.asarray(X), sites)
    drawn = predictive(model.likelihood, Y, f, log_weights)
    assert np.allclose(drawn, fine, atol=0.05)


@pytest.mark.slow
def test_with_one_unit_a_grid_is_a_list():
    model = deep(widths=(1,), rule="qr1", n_points=3)
    listed = with_sites(model, model.passing.nodes, model.passing.logits, "qr3")
    for a, b in zip(model(X, jax.random.key(0))[0], listed(X, jax.random.key(0))[0], strict=True):
        assert np.allclose(a, b)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_qr2_is_symmetric(n):
    (points,), log_weights = sigma_points(jax.random.key(0), (2,), n, "qr2", "float64").points()
    assert points.shape == (n**2, 1, 2)
    assert np.allclose(points, -points[::-1])
    assert np.isclose(np.exp(log_weights).sum(), 1)


@pytest.mark.parametrize("n", [4, 8])
def test_sigma_points_begin_with_the_moments_of_a_normal(n):
    for nodes in sigma_points(jax.random.key(0), (3, 2), n, "qr3", "float64").nodes:
        assert np.allclose(np.mean(nodes, 0), 0)
        assert np.allclose(nodes.T @ nodes / n, np.eye(nodes.shape[1]))


def test_draws_that_have_no_covariance_stay_as_they_are():
    assert np.array_equal(_standardised(jnp.ones((4, 3))), np.ones((4, 3)))


def test_gauss_hermite_of_three_points():
    (points,), log_weights = sigma_points(jax.random.key(0), (1,), 3, "gauss-hermite", "float64").points()
    assert np.allclose(points[:, 0, 0], [-np.sqrt(3), 0, np.sqrt(3)])
    assert np.allclose(np.exp(log_weights), [1 / 6, 2 / 3, 1 / 6])


@pytest.mark.slow
def test_a_new_name_for_the_points_changes_nothing():
    model = deep(widths=(2, 2))
    order = np.array([2, 0, 3, 1])
    turned = with_sites(model, tuple(n[order] for n in model.passing.nodes), model.passing.logits[order])
    densities = []
    for m in (model, turned):
        f, log_weights, _ = m(X, jax.random.key(0))
        densities.append(predictive(m.likelihood, Y, f, log_weights))
    assert np.allclose(*densities)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dsvi", "dspp"])
def test_an_inner_layer_that_does_nothing_leaves_a_sparse_gp(method):
    model = deep(method)
    still = eqx.tree_at(
        lambda m: (m.layers[0].theta, m.layers[0].slope, m.layers[0].offset),
        model,
        (jnp.full_like(model.layers[0].theta, -40.0), jnp.eye(2), jnp.zeros(2)),
    )
    f, _, _ = still(X, jax.random.key(0), 3)
    alone = model.layers[1](jnp.asarray(X))
    assert np.allclose(f.mean, alone.mean, atol=1e-3)
    assert np.allclose(f.var, alone.var, atol=1e-3)


@pytest.mark.slow
def test_jensen_orders_the_objectives():
    model = deep("dsvi")
    f, log_weights, _ = model(X, jax.random.key(0), 7)
    assert np.all(predictive(model.likelihood, Y, f, log_weights) >= elbo(model.likelihood, Y, f, log_weights))


@pytest.mark.slow
def test_connected_layers_see_the_inputs():
    model = deep(widths=(1, 1), connected=True)
    assert [layer.Z.shape[-1] for layer in model.layers] == [2, 3, 3]
    value, _ = DSPP().loss()(model, X, Y, model.passing.points(), 1.0, 9.0)
    assert np.isfinite(value)


def test_principal_means():
    H = RNG.standard_normal((50, 3)) * [5, 1, 0.1]
    assert np.allclose(np.abs(principal(H, 1)[:, 0]), [1, 0, 0], atol=0.2)
    assert np.array_equal(principal(H, 3), np.eye(3))
    assert np.array_equal(principal(H, 4), np.eye(3, 4))


def test_a_grid_needs_equal_widths():
    with pytest.raises(ValueError, match="hidden layers need the same width, not \\(2, 3\\); use 'qr3'"):
        sigma_points(jax.random.key(0), (2, 3), 3, "qr1")
