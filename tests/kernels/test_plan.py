"""The NumPy evaluation of the search against JAX: values and gradients, every leaf and random trees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

import fathom.kernels.lags
import fathom.kernels.plan
from fathom.kernels import LEAVES, ArcCos, bind, from_vector, n_free, parse, to_vector
from fathom.kernels.lags import DistinctLags, Lags, RegularLags, lags_of
from fathom.kernels.plan import Plan
from tests.conftest import GRIDS, PLANE
from tests.kernels.strategies import trees
from tests.kernels.test_laws import COMPOSITES

EVERY_LEAF = [str(leaf()) for leaf in LEAVES] + [str(ArcCos(order=0)), str(ArcCos(order=2))]


def check_against_jax(kernel, X, tolerance=1e-10):
    """K, and Σ_ij G_ij ∂K_ij/∂θ for a random symmetric G."""
    rng = np.random.default_rng(1)
    vector = to_vector(kernel) + 0.1 * rng.standard_normal(n_free(kernel))
    G = rng.standard_normal((len(X), len(X)))
    G = G + G.T
    plan = Plan(kernel, X)
    values = plan.at(vector)
    expected = from_vector(kernel, vector).gram(X)
    alone = plan.gram(plan.at(vector, slopes=False)).copy()
    np.testing.assert_allclose(np.tril(alone), np.tril(expected), rtol=1e-9, atol=tolerance)
    np.testing.assert_allclose(np.tril(plan.gram(values)), np.tril(expected), rtol=1e-9, atol=tolerance)
    plan.K[:] = np.tril(G)
    with jax.enable_x64(True):
        objective = lambda v: jnp.sum(G * from_vector(kernel, v).gram(jnp.asarray(X)))  # noqa: E731
        gradient = np.asarray(jax.grad(objective)(jnp.asarray(vector)))
    assert plan.pull(values).shape == gradient.shape
    np.testing.assert_allclose(plan.pull(values), gradient, rtol=1e-7, atol=tolerance * (1 + np.abs(gradient).max()))


@pytest.mark.slow
@pytest.mark.parametrize("text", EVERY_LEAF + COMPOSITES)
def test_equals_jax(text, grid):
    check_against_jax(parse(text), grid, tolerance=1e-8)


@pytest.mark.parametrize("text", [*COMPOSITES, "Per*ArcCos + Lin*SE"])
def test_blocks_equal_jax(text, grid, monkeypatch):
    """Long series go by blocks of rows; here blocks of five, the last one shorter."""
    for module in (fathom.kernels.lags, fathom.kernels.plan):
        monkeypatch.setattr(module, "WHOLE", 6)
        monkeypatch.setattr(module, "BLOCK", 5)
    check_against_jax(parse(text), grid, tolerance=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["SE", "RQ", "Matern12", "Matern32", "SE[0]*Per[1]*Lin[2] + RQ[0, 1] + Matern52[2]*SE", "ArcCos[0, 2]*SE + WN*Lin"],
)
def test_equals_jax_over_three_inputs(text, plane):
    check_against_jax(bind(parse(text), 3), plane)


@pytest.mark.slow
@given(trees(max_leaves=4))
def test_random_trees_equal_jax(kernel):
    if n_free(kernel):
        check_against_jax(kernel, GRIDS["regular"], tolerance=1e-7)


@pytest.mark.slow
@given(trees(inputs=[0, 1, 2], max_leaves=4))
def test_random_trees_over_three_inputs_equal_jax(kernel):
    kernel = bind(kernel, 3)
    if n_free(kernel):
        check_against_jax(kernel, PLANE, tolerance=1e-7)


def test_one_kernel_object_in_two_places():
    leaf = parse("SE(lengthscale=0.5)")
    check_against_jax(leaf + leaf * parse("Lin"), GRIDS["regular"])


@pytest.mark.parametrize(
    ("name", "kind", "n_lags"),
    [("regular", RegularLags, 14), ("gaps", DistinctLags, 40), ("irregular", Lags, 91)],
)
def test_a_grid_has_few_lags(name, kind, n_lags):
    lags = lags_of(GRIDS[name])
    assert type(lags) is kind
    assert lags.lag(0).shape == (n_lags,)


def test_pull_is_the_adjoint_of_expand(grid):
    """⟨G, expand(v)⟩ = ⟨pull(G), v⟩ for every vector v and symmetric G."""
    rng, lags, n = np.random.default_rng(2), lags_of(grid), len(grid)
    v = rng.standard_normal(len(lags.lag(0)))
    lower = np.tril(rng.standard_normal((n, n)))
    padded = np.concatenate([lower.ravel(), np.zeros(n)])
    full, matrix = lower + np.tril(lower, -1).T, np.tril(lags.expand(v))
    matrix = matrix + np.tril(matrix, -1).T
    assert np.sum(full * matrix) == pytest.approx(lags.pull(padded) @ v, rel=1e-10)


def test_nearly_regular_times_are_regular_and_shuffled_ones_are_not():
    x = np.arange(20.0)
    assert isinstance(lags_of((x + 1e-8 * np.sin(x))[:, None]), RegularLags)
    shuffled = lags_of(np.random.default_rng(0).permutation(x)[:, None])
    assert isinstance(shuffled, DistinctLags)
    assert len(shuffled.lag(0)) == 20
