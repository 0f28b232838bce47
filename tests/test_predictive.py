"""Laws of the Gaussian mixture that every model predicts: moments, quantiles, density, scores, samples."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from fathom.predictive import Array, Predictive

common = settings(max_examples=50, deadline=None)
shapes = st.sampled_from([(1,), (3,), (2, 2), (3, 1)])
seeds = st.integers(0, 2**32 - 1)
levels = st.one_of(
    st.floats(1e-6, 1 - 1e-6),
    st.floats(-300, -6).map(lambda e: 10.0**e),
    st.floats(-15, -6).map(lambda e: 1 - 10.0**e),
)


@st.composite
def mixtures(
    draw: st.DrawFn, log_std: float = 4, log_weight: float = 12, point_masses: bool = False, scale: float = 1e3
) -> Predictive:
    """Mixtures of many shapes, of widths and weights over many orders of magnitude."""
    shape = (*draw(shapes), draw(st.integers(1, 5)))
    means = draw(hnp.arrays(float, shape, elements=st.floats(-scale, scale, allow_subnormal=False)))
    std = 10.0 ** draw(hnp.arrays(float, shape, elements=st.floats(-log_std, log_std)))
    if point_masses:
        std = np.where(draw(hnp.arrays(bool, shape)), 0.0, std)
    weight_shape = shape if draw(st.booleans()) else shape[-1:]
    weights = 10.0 ** draw(hnp.arrays(float, weight_shape, elements=st.floats(-log_weight, 0)))
    return Predictive(weights, means, std**2)


def random_mixture(seed: int, shape: tuple[int, ...] = (4, 2), k: int = 3) -> Predictive:
    """A tame mixture: means and widths of order one."""
    rng = np.random.default_rng(seed)
    size = (*shape, k)
    return Predictive(rng.random(size) + 0.05, rng.normal(size=size), rng.uniform(0.2, 1.5, size))


def integrate(f: Callable[[Array], Array], single: Predictive, *points: float) -> float:
    """Piecewise Gauss–Legendre integral of f over the support of a one-row mixture, split at `points`."""
    centre, s = single.means.ravel(), np.sqrt(single.variances.ravel())
    knots = (centre[:, None] + s[:, None] * np.arange(-10, 11)).ravel()
    knots = np.unique(np.concatenate([knots, points]))
    node, weight = np.polynomial.legendre.leggauss(24)
    half = 0.5 * np.diff(knots)
    x = (0.5 * (knots[1:] + knots[:-1]))[:, None] + half[:, None] * node
    return float(np.sum(half[:, None] * weight * f(x.ravel()).reshape(x.shape)))


def along(single: Predictive, x: Array) -> Predictive:
    """The same row once for each element of x."""
    return single[np.zeros(x.size, dtype=int)]


# -- moments ---------------------------------------------------------------------------------------


@common
@given(mixtures())
def test_moments_follow_from_raw_moments(p: Predictive) -> None:
    w = np.broadcast_to(p.weights, p.means.shape)
    assert_allclose(p.mean(), np.einsum("...k,...k", w, p.means), rtol=1e-12, atol=1e-9)
    second = np.einsum("...k,...k", w, p.variances + p.means**2)
    assert_allclose(p.var(), second - p.mean() ** 2, rtol=1e-8, atol=1e-8)
    assert_array_equal(p.std(), np.sqrt(p.var()))
    assert p.mean().shape == p.var().shape == p.shape


def test_moments_and_quantiles_of_samples() -> None:
    p = random_mixture(0)
    draws = p.sample(40_000, seed=1)
    assert draws.shape == (40_000, 4, 2)
    assert_allclose(draws.mean(axis=0), p.mean(), atol=0.04)
    assert_allclose(draws.var(axis=0), p.var(), rtol=0.05)
    assert_allclose((draws <= p.quantile(0.2)).mean(axis=0), 0.2, atol=0.01)


def test_variance_does_not_cancel_far_from_zero() -> None:
    p = Predictive([0.5, 0.5], [[1e9 - 1, 1e9 + 1]], [[1.0, 1.0]])
    assert_allclose(p.var(), 2.0, rtol=1e-12)


# -- quantiles -------------------------------------------------------------------------------------


@common
@given(mixtures(), levels)
@example(Predictive([1e-300, 1.0], [[0.0, 5.0]], [[1e8, 1e-8]]), 1e-280)
@example(Predictive([0.5, 0.5], [[0.0, 0.0]], [[1e-300, 1e16]]), 0.3)
def test_quantile_inverts_cdf(p: Predictive, q: float) -> None:
    x = p.quantile(q)
    assert x.shape == p.shape
    # The inverse can be no better than one rounding of x: F must pass q within 1e-12 of it.
    gap = 1e-12 * (np.abs(x) + np.sqrt(p.variances.min(axis=-1)))
    assert (p.cdf(x - gap) <= q * (1 + 1e-11)).all()
    assert (p.cdf(x + gap) >= q * (1 - 1e-11) - 1e-16).all()


@common
@given(mixtures(log_std=1, log_weight=3, scale=10), st.floats(1e-5, 1 - 1e-5))
def test_quantile_inverts_cdf_exactly_when_smooth(p: Predictive, q: float) -> None:
    assert_allclose(p.cdf(p.quantile(q)), q, rtol=1e-11)


@common
@given(mixtures(point_masses=True), st.floats(1e-6, 1 - 1e-6))
def test_quantile_is_generalised_inverse_with_point_masses(p: Predictive, q: float) -> None:
    x = p.quantile(q)
    gap = 1e-9 * (1 + np.abs(x))
    assert (p.cdf(x - gap) <= q + 1e-12).all()
    assert (p.cdf(x + 1e-12 * (1e-4 + np.abs(x))) >= q - 1e-9).all()


def test_quantile_of_one_gaussian_is_closed_form() -> None:
    q = np.array([1e-300, 1e-10, 0.25, 0.5, 0.99])
    p = Predictive.gaussian([3.0, -1.0], [4.0, 0.25])
    assert_allclose(p.quantile(q)[:, 0], stats.norm(3, 2).ppf(q), rtol=1e-14)
    assert_allclose(p.quantile(q)[:, 1], stats.norm(-1, 0.5).ppf(q), rtol=1e-14)


def test_quantile_finds_the_heavy_tail_behind_a_narrow_component() -> None:
    # Almost no weight and a width under one rounding of its mean: the slope there is a trap.
    p = Predictive([0.98, 0.0199, 1e-4], [[0.0, 0.0, 5e7]], [[1.0, 4e14, 1e-22]])
    x = p.quantile(1 - 1e-12)
    assert_allclose(x, 2e7 * stats.norm.isf(1e-12 / 0.0199), rtol=1e-4)


def test_quantile_of_symmetric_mixture_is_its_centre() -> None:
    p = Predictive([0.3, 0.4, 0.3], [[-2.0, 0.0, 2.0]], [[1.0, 0.5, 1.0]])
    assert_allclose(p.quantile(0.5), 0.0, atol=1e-14)
    assert_allclose(p.quantile(0.1), -p.quantile(0.9), rtol=1e-12)


@common
@given(mixtures(point_masses=True), st.lists(st.floats(0, 1), max_size=4))
def test_quantile_of_a_sequence_stacks_and_increases(p: Predictive, qs: list[float]) -> None:
    qs = sorted(qs)
    x = p.quantile(qs)
    assert x.shape == (len(qs), *p.shape)
    for row, q in zip(x, qs, strict=True):
        assert_array_equal(row, p.quantile(q))
    for left, right in itertools.pairwise(x):
        assert (left <= right + 1e-11 * np.where(np.isfinite(right), np.abs(right) + 1, 0)).all()


def test_quantile_ends() -> None:
    p = Predictive([0.5, 0.5, 0.0], [[1.0, 2.0, -9.0], [1.0, 2.0, -9.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert_array_equal(p.quantile(0), [-np.inf, 1.0])
    assert_array_equal(p.quantile(1), [np.inf, 2.0])


def test_quantile_of_point_masses_is_exact() -> None:
    p = Predictive([0.25, 0.25, 0.5], [[0.3, 0.1, 0.2]], np.zeros((1, 3)))
    assert_array_equal(p.quantile([0.1, 0.25, 0.26, 0.75, 0.76, 1.0])[:, 0], [0.1, 0.1, 0.2, 0.2, 0.3, 0.3])
    assert_array_equal(p.cdf(0.2), [0.75])


@pytest.mark.parametrize("point", [0.1, 0.0])
def test_quantile_lands_on_a_point_mass_amid_gaussians(point: float) -> None:
    p = Predictive([0.5, 0.5], [[point, point]], [[0.0, 1.0]])
    assert_array_equal(p.quantile([0.26, 0.5, 0.74])[:, 0], point)
    assert_allclose(p.cdf(p.quantile(0.2)), 0.2, rtol=1e-12)


@common
@given(mixtures(log_std=1, scale=10), st.floats(0.01, 0.999))
def test_interval_holds_its_level(p: Predictive, level: float) -> None:
    lower, upper = p.interval(level)
    assert (lower <= upper).all()
    assert_allclose(p.cdf(upper) - p.cdf(lower), level, atol=1e-9)
    assert_allclose(p.cdf(lower), (1 - level) / 2, atol=1e-9)


# -- density ---------------------------------------------------------------------------------------


@common
@given(mixtures(log_std=1, scale=10))
def test_density_integrates_to_one(p: Predictive) -> None:
    single = p[0] if len(p.shape) == 1 else Predictive(p._full_weights()[0], p.means[0], p.variances[0])[0]
    total = integrate(lambda x: np.exp(along(single, x).log_prob(x)), single)
    assert_allclose(total, 1.0, rtol=1e-9)


@common
@given(seeds)
def test_density_is_derivative_of_cdf(seed: int) -> None:
    p = random_mixture(seed)
    y = p.sample(1, seed)[0]
    h = 1e-5
    slope = (p.cdf(y + h) - p.cdf(y - h)) / (2 * h)
    assert_allclose(np.exp(p.log_prob(y)), slope, rtol=1e-5, atol=1e-8)


def test_log_prob_far_away_neither_underflows_nor_warns() -> None:
    p = Predictive([0.5, 0.5], [[0.0, 1.0]], [[1.0, 1.0]])
    assert_allclose(p.log_prob(1e4), stats.norm(1, 1).logpdf(1e4) + np.log(0.5), rtol=1e-14)
    assert_array_equal(p.log_prob(1e200), [-np.inf])
    assert_array_equal(p.log_prob(-np.inf), [-np.inf])
    assert_array_equal(p.cdf(np.inf), [1.0])
    assert_array_equal(p.crps(np.inf), [np.inf])


def test_log_prob_of_point_masses() -> None:
    p = Predictive([0.5, 0.5, 0.0], [[1.0, 2.0, 3.0]] * 4, [[0.0, 0.0, 0.0]] * 4)
    assert_array_equal(p.log_prob([1.0, 1.5, 3.0, np.nan]), [np.inf, -np.inf, -np.inf, np.nan])
    with_gaussian = Predictive([0.5, 0.5], [[1.0, 0.0]], [[0.0, 1.0]])
    assert_allclose(with_gaussian.log_prob(0.3), stats.norm.logpdf(0.3) + np.log(0.5), rtol=1e-14)


# -- CRPS ------------------------------------------------------------------------------------------


@common
@given(mixtures(log_std=1, scale=10), st.floats(-30, 30))
def test_crps_is_its_integral(p: Predictive, y: float) -> None:
    single = p[0] if len(p.shape) == 1 else Predictive(p._full_weights()[0], p.means[0], p.variances[0])[0]
    exact = integrate(lambda x: (along(single, x).cdf(x) - (y <= x)) ** 2, single, y)
    assert_allclose(single.crps(y), exact, rtol=1e-7, atol=1e-9)


def test_crps_of_a_gaussian_at_its_mean() -> None:
    p = Predictive.gaussian([2.0], [9.0])
    assert_allclose(p.crps(2.0), 3 * (np.sqrt(2) - 1) / np.sqrt(np.pi), rtol=1e-14)


@common
@given(mixtures(point_masses=True), st.floats(-1e3, 1e3))
def test_crps_bounds(p: Predictive, y: float) -> None:
    score = p.crps(y)
    error = np.abs(y - p.means) + np.sqrt(p.variances)
    assert (score >= 0).all()
    assert (score <= np.sum(p.weights * error, axis=-1) * (1 + 1e-12)).all()


def test_crps_of_point_masses_is_a_discrete_score() -> None:
    p = Predictive.gaussian([[1.0, -2.0]], [[0.0, 0.0]])
    assert_array_equal(p.crps([[4.0, -2.0]]), [[3.0, 0.0]])
    two = Predictive([0.25, 0.75], [[0.0, 4.0]], [[0.0, 0.0]])
    # F is ¼ on [0, 4): ∫ = ¼²·1 + (¾)²·3 for y = 1.
    assert_allclose(two.crps(1.0), 0.25**2 + 0.75**2 * 3, rtol=1e-14)


@common
@given(seeds)
def test_small_variance_tends_to_the_point_mass(seed: int) -> None:
    p = random_mixture(seed)
    y = p.sample(1, seed)[0]
    zero = Predictive(p.weights, p.means, np.zeros_like(p.variances))
    near = Predictive(p.weights, p.means, np.full_like(p.variances, 1e-24))
    assert_allclose(near.crps(y), zero.crps(y), atol=1e-11)
    assert_array_equal(near.cdf(y), zero.cdf(y))
    assert_allclose(near.quantile(0.37), zero.quantile(0.37), atol=1e-9)
    assert_allclose(near.var(), zero.var(), atol=1e-12)


def test_crps_of_many_components_stays_small_in_memory() -> None:
    rng = np.random.default_rng(0)
    p = Predictive(np.ones(60), rng.normal(size=(3000, 60)), rng.random((3000, 60)))
    tracemalloc.start()
    try:
        p.crps(np.zeros(3000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * p.means.nbytes  # all pairs at once would take 60


# -- samples ---------------------------------------------------------------------------------------


def test_same_seed_same_samples() -> None:
    p = random_mixture(3)
    assert_array_equal(p.sample(5, seed=7), p.sample(5, seed=7))
    assert_array_equal(p.sample(5, seed=7), p.sample(5, seed=np.random.default_rng(7)))
    assert not np.array_equal(p.sample(5, seed=7), p.sample(5, seed=8))
    assert p.sample(0, seed=0).shape == (0, 4, 2)


def test_samples_choose_components_by_weight_and_never_those_without() -> None:
    weights = [[0.0, 0.2, 0.8, 0.0], [0.0, 1.0, 0.0, 0.0]]
    p = Predictive(weights, [[0.0, 1.0, 2.0, 3.0]] * 2, np.zeros((2, 4)))
    draws = p.sample(20_000, seed=0)
    assert set(np.unique(draws[:, 0])) == {1.0, 2.0}
    assert_allclose(np.mean(draws[:, 0] == 1.0), 0.2, atol=0.01)
    assert_array_equal(draws[:, 1], 1.0)


def test_samples_have_the_mixture_distribution() -> None:
    p = random_mixture(5, shape=(1,))
    draws = p.sample(5000, seed=2)[:, 0]
    assert stats.kstest(along(p, draws).cdf(draws), "uniform").pvalue > 0.01
