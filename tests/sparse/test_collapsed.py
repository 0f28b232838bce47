"""Inducing points: equal to the exact GP where they must be, bounds everywhere else, one formula in two engines."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from fathom.base.linalg import NotPositiveDefinite
from fathom.gp.evidence import Evidence
from fathom.gp.exact import GP, condition
from fathom.kernels import bind, from_vector, n_free, parse, to_vector
from fathom.kernels.strip import ClockLags, CrossLags, Strip, clock, cross_lags
from fathom.process import Process
from fathom.sparse.collapsed import Bound, condition_sparsely, log_bound
from tests.conftest import GRIDS, PLANE
from tests.kernels.strategies import trees

KERNELS = [
    "SE + WN(variance=0.3)",
    "SE*Per(period=0.9)*Lin + RQ + Lin(location=-1.0)*WN + WN(variance=0.2)",
    "CP(SE + WN(variance=0.1), Lin + WN(variance=0.4), location=1.0)",
    "CW(SE*Lin + WN(variance=0.1), C + Per(period=1.1) + WN(variance=0.4), location=1.5) + SE",
]
POWERS = [0.0, 0.3, 1.0]
NOISE = parse("WN(variance=0.3)")


def outputs(n, p=1):
    return np.random.default_rng(4).standard_normal((n, p))


# -- the strip ---------------------------------------------------------------------------------------------------


def check_strip(kernel, X, rows, tolerance=1e-8):
    """K_uf, variances, noise and K b against the kernel; their cotangents against finite differences."""
    rng = np.random.default_rng(1)
    vector = to_vector(kernel) + 0.1 * rng.standard_normal(n_free(kernel))
    here, strip = from_vector(kernel, vector), Strip(kernel, X, rows)
    values = strip.at(vector)
    for ours, theirs in zip(strip.evaluate(values), _parts(here, X, rows), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=tolerance)
    b = rng.standard_normal(len(X))
    np.testing.assert_allclose(strip.multiply(values, b), here.cross(X, X) @ b, rtol=1e-7, atol=1e-7)
    G, by_diagonal, by_noise = rng.standard_normal((len(rows), len(X))), *rng.standard_normal((2, len(X)))
    gradient = strip.pull(values, G, by_diagonal, by_noise)
    weighed = [_weighed(kernel, vector + h, X, rows, (G, by_diagonal, by_noise)) for h in steps_of(vector)]
    differences = np.array([(a - b) / 2e-5 for a, b in zip(weighed[::2], weighed[1::2], strict=True)])
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-5 * (1 + np.abs(gradient).max()))


def steps_of(vector):
    """A step of 1e-5 along every coordinate, up and down in turn."""
    return [sign * 1e-5 * h for h in np.eye(len(vector)) for sign in (1, -1)]


def _slope(bound, vector, h):
    return (bound.value(vector + h) - bound.value(vector - h)) / (2 * np.abs(h).sum())


def _parts(kernel, X, rows):
    diagonal = kernel.diag(X, False)
    return kernel.cross(X[rows], X), diagonal, kernel.diag(X, True) - diagonal


def _weighed(kernel, vector, X, rows, cotangents):
    parts = _parts(from_vector(kernel, vector), X, rows)
    return sum(np.sum(part * by) for part, by in zip(parts, cotangents, strict=True))


@pytest.mark.parametrize("text", KERNELS)
def test_the_strip_is_part_of_the_gram_matrix(text, grid):
    check_strip(parse(text), grid, np.array([0, 3, 5]))


@pytest.mark.slow
@given(trees(max_leaves=4))
def test_the_strip_of_random_trees(kernel):
    if n_free(kernel):
        check_strip(kernel, GRIDS["gaps"], np.array([1, 8, 30]), tolerance=1e-7)


@pytest.mark.slow
@given(trees(inputs=[0, 1, 2], max_leaves=4))
def test_the_strip_of_random_trees_over_three_inputs(kernel):
    kernel = bind(kernel, 3)
    if n_free(kernel):
        check_strip(kernel, PLANE, np.array([0, 4, 5]), tolerance=1e-7)


def test_a_clock_is_found_through_gaps():
    ticks, step = clock(GRIDS["gaps"][:, 0])
    assert step == pytest.approx(3 / 39)
    np.testing.assert_allclose(ticks * step, GRIDS["gaps"][:, 0], atol=1e-12)
    assert clock(np.array([0.0, 28.0, 59.0, 89.0]))[1] == pytest.approx(1.0)  # days: no gap is one of them
    assert clock(GRIDS["irregular"][:, 0]) is None
    assert clock(np.array([1.0, 1.0, 2.0])) is None
    assert type(cross_lags(GRIDS["regular"], np.arange(3))) is ClockLags
    assert type(cross_lags(PLANE, np.arange(3))) is CrossLags


# -- the family --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", POWERS)
@pytest.mark.parametrize("text", KERNELS)
def test_all_rows_as_inducing_points_give_the_exact_answer(text, a, grid):
    kernel, Y, X = parse(text), outputs(len(grid), 2), np.linspace(-0.5, 3.5, 9)[:, None]
    exact = condition(GP(kernel, 0.4), grid, Y)
    sparse = condition_sparsely(GP(kernel, 0.4), grid, Y, grid, a)
    bound = log_bound(kernel, grid, Y - 0.4, grid, a)
    assert bound == pytest.approx(exact.log_evidence(), abs=1e-4)
    np.testing.assert_allclose(sparse.mean(X), exact.mean(X), atol=1e-4)
    np.testing.assert_allclose(sparse.var(X, noise=True), exact.var(X, noise=True), atol=1e-4)
    np.testing.assert_allclose(sparse.cov(X), exact.cov(X), atol=1e-4)
    draws = sparse.sample(0, X, 4000)
    np.testing.assert_allclose(draws.mean(0), sparse.mean(X)[:, 0], atol=0.2)


def test_the_sparse_posterior_is_a_process():
    posterior = condition_sparsely(GP(NOISE), PLANE, outputs(len(PLANE)), PLANE[:3])
    assert isinstance(posterior, Process)
    assert posterior.kernel is NOISE


@pytest.mark.parametrize("a", [1e-7, 1.0])
def test_the_ends_of_the_family(a):
    """FITC is a normal density; the variational bound is the limit, not a case of its own."""
    kernel, X, y = parse(KERNELS[1]), GRIDS["gaps"], outputs(35)
    if a < 1:
        assert log_bound(kernel, X, y, X[::5], a) == pytest.approx(log_bound(kernel, X, y, X[::5], 0.0), rel=1e-4)
        return
    K = kernel.cross(X[::5], X)
    Q = K.T @ np.linalg.solve(kernel.cross(X[::5], X[::5]), K)
    C = Q + np.diag(kernel.gram(X).diagonal() - Q.diagonal())
    expected = multivariate_normal(np.zeros(35), C, allow_singular=True).logpdf(y[:, 0])
    assert log_bound(kernel, X, y, X[::5], a) == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
@given(trees(max_leaves=4), st.integers(0, 100))
def test_the_evidence_lies_between_its_bounds(kernel, seed):
    kernel, X = kernel + NOISE, GRIDS["gaps"]
    rows = np.sort(np.random.default_rng(seed).choice(len(X), 6, replace=False))
    y, vector = outputs(len(X)), to_vector(kernel)
    evidence, bound = Evidence(kernel, X, y).value(vector), Bound(kernel, X, y, rows)
    slack = 1e-6 * (1 + abs(evidence))
    assert bound.value(vector) <= evidence + slack
    loose, tight = bound.upper(vector, steps=0), bound.upper(vector, steps=20)
    assert evidence - slack <= tight <= loose + slack


@pytest.mark.parametrize("text", KERNELS)
def test_the_bounds_meet_when_every_row_is_an_inducing_point(text, grid):
    kernel, y = parse(text), outputs(len(grid))
    bound, vector = Bound(kernel, grid, y, np.arange(len(grid))), to_vector(kernel)
    assert bound.upper(vector) == pytest.approx(bound.value(vector), abs=1e-4)
    assert bound.upper(vector, enough=np.inf) == pytest.approx(bound.upper(vector), abs=1e-4)


@pytest.mark.slow
@given(trees(max_leaves=4), st.permutations(range(12)))
def test_one_more_inducing_point_never_lowers_the_bound(kernel, order):
    kernel, X = kernel + NOISE, GRIDS["gaps"]
    y, vector, order = outputs(len(X)), to_vector(kernel), 3 * np.array(order)
    values = [Bound(kernel, X, y, order[:m]).value(vector) for m in range(1, 8)]
    assert all(after >= before - 1e-6 * (1 + abs(before)) for before, after in pairwise(values))


@pytest.mark.slow
@pytest.mark.parametrize("a", POWERS)
@given(kernel=trees(max_leaves=4))
def test_gradient_against_finite_differences(a, kernel):
    kernel, X = kernel + NOISE, GRIDS["gaps"]
    y, vector = outputs(len(X), 2), np.asarray(to_vector(kernel))
    bound = Bound(kernel, X, y, np.array([1, 7, 15, 22, 30]), a)
    value, gradient = bound(vector)
    assert value == pytest.approx(bound.value(vector), rel=1e-12)
    whole, half = (np.array([_slope(bound, vector, s * h) for h in steps_of(vector)[::2]]) for s in (1.0, 0.5))
    differences = (4 * half - whole) / 3  # without the error in the square of the step: few inducing points curve much
    np.testing.assert_allclose(gradient, differences, rtol=1e-3, atol=1e-4 * (1 + np.abs(gradient).max()))


@pytest.mark.slow
@pytest.mark.parametrize(("text", "a"), [(KERNELS[1], 0.0), (KERNELS[3], 0.3), (KERNELS[2], 1.0)])
def test_numpy_equals_jax(text, a, x64):
    kernel, X, Y, rows = parse(text), GRIDS["irregular"], outputs(13, 2), np.array([0, 5, 9])
    vector, Z = np.asarray(to_vector(kernel)), X[rows]

    def bound(v, Z, Y):
        return log_bound(from_vector(kernel, v), jnp.asarray(X), Y, Z, a)

    arrays = (jnp.asarray(vector), jnp.asarray(Z), jnp.asarray(Y))
    theirs, (by_vector, by_Z, by_Y) = jax.jit(jax.value_and_grad(bound, (0, 1, 2)))(*arrays)
    value, gradient = Bound(kernel, X, Y, rows, a)(vector)
    assert value == pytest.approx(float(theirs), rel=1e-9)
    np.testing.assert_allclose(gradient, by_vector, rtol=1e-5, atol=1e-6)
    step = np.zeros((13, 2))
    step[1, 0] = 1e-6  # of an inducing input, and of an output
    by_hand = log_bound(kernel, X, Y, Z + step[:3, :1], a) - log_bound(kernel, X, Y, Z - step[:3, :1], a)
    assert float(by_Z[1, 0]) == pytest.approx(by_hand / 2e-6, rel=1e-3, abs=1e-5)
    by_hand = log_bound(kernel, X, Y + step, Z, a) - log_bound(kernel, X, Y - step, Z, a)
    assert float(by_Y[1, 0]) == pytest.approx(by_hand / 2e-6, rel=1e-3, abs=1e-5)


def test_the_posterior_passes_through_jit(x64):
    kernel, X, Y = parse(KERNELS[0]), GRIDS["irregular"], outputs(13, 2)
    jitted = jax.jit(lambda X, Y: condition_sparsely(GP(kernel), X, Y, X[:4]))(jnp.asarray(X), jnp.asarray(Y))
    np.testing.assert_allclose(jitted.var(X), condition_sparsely(GP(kernel), X, Y, X[:4]).var(X), rtol=1e-7, atol=1e-9)


def test_rows_without_noise_are_named():
    with pytest.raises(NotPositiveDefinite, match=r"row 0 has no noise: inducing points need some \(WN\)"):
        Bound(parse("SE"), GRIDS["regular"], outputs(14), np.arange(3)).value(to_vector(parse("SE")))
