"""Kernel expectations: closed forms against quadrature, their limit without uncertainty, and moments of a layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.deep import moments as matching
from fathom.deep.build import Architecture, build
from fathom.deep.moments import at_points, matched
from fathom.inference import DSVI
from fathom.kernels.algebra import bind
from fathom.kernels.expectations import Moments, expectations, pairs
from fathom.kernels.syntax import parse

RNG = np.random.default_rng(0)
SM = "SM(variance=1.3, weight=[1, 2], lengthscale=[0.9, 1.6], frequency=[0.3, 0.7])"
KERNELS = [
    ("SE(variance=1.4, lengthscale=0.8)", 1),
    ("SE(variance=0.7, lengthscale=[0.8, 1.5])", 2),
    ("Lin(variance=0.6, location=0.3)", 1),
    ("Lin(variance=0.6, location=0.3)", 2),
    ("Lin[0](variance=0.5) + C(variance=2) + Lin[0](location=1.0)", 2),
    (SM, 1),
]


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def inputs(d, n=4, m=3, scale=0.5):
    x = Moments(jnp.asarray(RNG.standard_normal((n, d))), jnp.asarray(scale * RNG.uniform(0.2, 1.0, (n, d))))
    return x, jnp.asarray(RNG.standard_normal((m, d)))


def by_grid(kernel, x, Z, n=60):
    at, weight = np.polynomial.hermite_e.hermegauss(n)
    weight = weight / weight.sum()
    grids = np.stack([g.ravel() for g in np.meshgrid(*[np.arange(n)] * Z.shape[1], indexing="ij")], -1)
    nodes, weights = at[grids], weight[grids].prod(1)
    zero, one, two = [], [], []
    for mean, var in zip(x.mean, x.var, strict=True):
        points = mean + nodes * np.sqrt(var)
        K = np.asarray(kernel.cross(points, Z))
        zero.append(weights @ np.asarray(kernel.diag(points, False)))
        one.append(weights @ K)
        i, j = pairs(len(Z))
        two.append(weights @ (K[:, i] * K[:, j]))
    return np.array(zero), np.array(one), np.array(two)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "d"), KERNELS)
def test_closed_forms_against_quadrature(text, d):
    kernel = bind(parse(text), d)
    x, Z = inputs(d)
    for found, expected in zip(expectations(kernel, x, Z), by_grid(kernel, x, Z), strict=True):
        assert np.allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "d"), KERNELS)
def test_without_uncertainty_they_are_kernel_values(text, d):
    kernel = bind(parse(text), d)
    x, Z = inputs(d, scale=0.0)
    found, K = expectations(kernel, x, Z), np.asarray(kernel.cross(x.mean, Z))
    assert np.allclose(found.zero, kernel.diag(x.mean, False))
    assert np.allclose(found.one, K)
    i, j = pairs(len(Z))
    assert np.allclose(found.two, K[:, i] * K[:, j])


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.floats(0.2, 3), st.floats(0.0, 2), st.floats(-2, 2))
def test_second_moments_are_at_least_the_squares_of_the_first(lengthscale, var, mean):
    x = Moments(jnp.full((1, 1), mean), jnp.full((1, 1), var))
    found = expectations(bind(parse(f"SE(lengthscale={lengthscale})"), 1), x, jnp.asarray([[-1.0], [0.5]]))
    two = np.zeros((2, 2))
    two[pairs(2)] = two.T[pairs(2)] = np.asarray(found.two[0])
    gap = two - np.outer(found.one[0], found.one[0])
    assert np.linalg.eigvalsh(gap).min() > -1e-10


def layer_of(kernel, width=2, mean="linear"):
    X, Y = RNG.standard_normal((30, 2)), RNG.standard_normal((30, 1))
    arch = Architecture((width,), 5, kernel=kernel, mean=mean, dtype="float64")
    return build(jax.random.key(0), arch, DSVI().beginning(), X, Y).layers[0]


def values(layer):
    m = layer.Z.shape[1]
    root = RNG.standard_normal((layer.width, m, m)) / m
    return jnp.asarray(RNG.standard_normal((layer.width, m))), jnp.asarray(root @ root.transpose(0, 2, 1))


@pytest.mark.slow
@pytest.mark.parametrize("mean", ["linear", "zero"])
@pytest.mark.parametrize("kernel", ["SE", "Lin", "SE*Lin"])
def test_moments_of_a_layer_against_a_fine_rule(kernel, mean, monkeypatch):
    layer = layer_of(kernel, mean=mean)
    x, _ = inputs(2, scale=0.3)
    q = values(layer)
    found = eqx.filter_jit(matched)(layer, *q, x)
    monkeypatch.setattr("fathom.kernels.expectations.NODES", {2: 25})
    exact = eqx.filter_jit(matching._by_quadrature)(layer, *q, x)
    for a, b in zip(found, exact, strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_without_uncertainty_a_layer_answers_as_at_points():
    layer = layer_of("SE")
    x, _ = inputs(2, scale=0.0)
    q = values(layer)
    for a, b in zip(eqx.filter_jit(matched)(layer, *q, x), at_points(layer, *q, x.mean), strict=True):
        assert np.allclose(a, b, atol=1e-8)


@pytest.mark.slow
def test_at_points_is_the_layer_itself():
    layer = layer_of("SE")
    mean, _ = values(layer)
    layer = eqx.tree_at(lambda old: old.mean, layer, mean)
    lower, X = layer.lower(), jnp.asarray(RNG.standard_normal((4, 2)))
    found, direct = at_points(layer, mean, lower @ jnp.swapaxes(lower, -1, -2), X), layer(X)
    assert np.allclose(found.mean, direct.mean)
    assert np.allclose(found.var, direct.var)


@pytest.mark.slow
def test_shared_inducing_inputs_give_the_same_moments():
    layer = layer_of("SE")
    own = eqx.tree_at(lambda old: (old.theta, old.Z), layer, (layer.theta[:1].repeat(2, 0), layer.Z[:1].repeat(2, 0)))
    shared = eqx.tree_at(lambda old: (old.theta, old.Z), layer, (layer.theta[:1], layer.Z[:1]))
    x, _ = inputs(2)
    q = values(layer)
    for a, b in zip(*(eqx.filter_jit(matched)(one, *q, x) for one in (own, shared)), strict=True):
        assert np.allclose(a, b)


def test_points_of_many_inputs_have_the_moments_of_a_normal():
    points, weights = matching.rule(6)
    assert np.allclose(weights @ points, 0.0, atol=1e-12)
    assert np.allclose(weights @ points**2, 1.0)
