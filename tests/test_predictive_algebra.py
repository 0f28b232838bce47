"""The algebra of the Gaussian mixture that every model predicts, and the object itself."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fathom.predictive import Array, Predictive
from tests.test_predictive import common, mixtures, random_mixture, seeds

# -- algebra ---------------------------------------------------------------------------------------


@pytest.mark.slow
@common
@given(seeds, st.floats(-100, 100), st.floats(0.01, 100), st.booleans(), st.floats(0.02, 0.98))
def test_affine_commutes_with_everything(seed: int, shift: float, b: float, flip: bool, q: float) -> None:
    p = random_mixture(seed)
    scale = np.array([b, -b if flip else 2 * b])  # one for each output
    r = p.affine(shift, scale)
    y = p.sample(1, seed)[0]
    z = shift + scale * y
    up = scale > 0

    def assert_close(actual: Array, desired: Array) -> None:
        assert_allclose(actual, desired, rtol=1e-7, atol=1e-9 * (abs(shift) + b))

    assert_close(r.mean(), shift + scale * p.mean())
    assert_close(r.var(), scale**2 * p.var())
    assert_close(r.std(), np.abs(scale) * p.std())
    assert_allclose(r.cdf(z), np.where(up, p.cdf(y), 1 - p.cdf(y)), rtol=1e-7, atol=1e-9)
    assert_allclose(r.log_prob(z), p.log_prob(y) - np.log(np.abs(scale)), rtol=1e-6, atol=1e-6)
    assert_close(r.crps(z), np.abs(scale) * p.crps(y))
    assert_close(r.quantile(q), shift + scale * np.where(up, p.quantile(q), p.quantile(1 - q)))
    lower, upper = p.interval(q)
    ends = shift + scale * np.stack([lower, upper])
    assert_close(np.stack(r.interval(q)), np.sort(ends, axis=0))


def test_affine_of_samples_with_positive_scale() -> None:
    p = random_mixture(1)
    assert_allclose(p.affine(3.0, 2.0).sample(4, seed=0), 3 + 2 * p.sample(4, seed=0), rtol=1e-12)


def test_affine_by_zero_is_a_point_mass() -> None:
    p = random_mixture(1).affine(3.0, 0.0)
    assert_array_equal(p.quantile([0.0, 0.3, 1.0]), np.full((3, 4, 2), 3.0))


def assert_same_distribution(p: Predictive, r: Predictive, y: Array) -> None:
    assert p.shape == r.shape
    for method in ("mean", "var", "std"):
        assert_allclose(getattr(p, method)(), getattr(r, method)(), rtol=1e-9, atol=1e-12)
    for method in ("cdf", "log_prob", "crps"):
        assert_allclose(getattr(p, method)(y), getattr(r, method)(y), rtol=1e-9, atol=1e-12)
    qs = [0.01, 0.3, 0.5, 0.99]
    assert_allclose(p.quantile(qs), r.quantile(qs), rtol=1e-9, atol=1e-10)


@common
@given(seeds, st.integers(2, 6))
def test_identical_components_are_one_gaussian(seed: int, k: int) -> None:
    one = random_mixture(seed, k=1)
    rng = np.random.default_rng(seed)
    many = Predictive(rng.random(k) + 1e-3, np.repeat(one.means, k, -1), np.repeat(one.variances, k, -1))
    assert_same_distribution(one, many, rng.normal(size=one.shape))


@common
@given(seeds, st.lists(st.floats(0.01, 1), min_size=1, max_size=4), st.booleans())
def test_mixture_of_mixtures_averages(seed: int, weights: list[float], shared: bool) -> None:
    parts = [random_mixture(seed + i, k=i + 1) for i in range(len(weights))]
    if shared:
        parts = [Predictive(p.weights[0, 0], p.means, p.variances) for p in parts]
    pooled = Predictive.mixture(parts, weights)
    assert pooled.weights.ndim == (1 if shared else 3)
    a = np.array(weights) / np.sum(weights)
    y = np.random.default_rng(seed).normal(size=pooled.shape)

    def average(values: list[Array]) -> Array:
        return np.tensordot(a, np.stack(values), axes=1)

    assert_allclose(pooled.mean(), average([p.mean() for p in parts]), rtol=1e-9, atol=1e-12)
    assert_allclose(pooled.cdf(y), average([p.cdf(y) for p in parts]), rtol=1e-9)
    assert_allclose(np.exp(pooled.log_prob(y)), average([np.exp(p.log_prob(y)) for p in parts]), rtol=1e-9)


def test_mixture_of_one_and_of_copies_is_the_same() -> None:
    p = random_mixture(2)
    y = p.sample(1, 0)[0]
    assert_same_distribution(Predictive.mixture([p]), p, y)
    assert_same_distribution(Predictive.mixture([p, p, p]), p, y)
    assert_same_distribution(Predictive.mixture([p, random_mixture(3)], [1, 0]), p, y)


@common
@given(mixtures(), seeds)
def test_components_may_be_relabelled(p: Predictive, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(p.n_components)
    r = Predictive(p.weights[..., order], p.means[..., order], p.variances[..., order])
    assert_allclose(r.crps(0.5), p.crps(0.5), rtol=1e-9, atol=1e-9)
    assert_allclose(r.cdf(0.5), p.cdf(0.5), rtol=1e-9)


def test_weights_are_normalised_and_broadcast() -> None:
    means, variances = np.zeros((4, 2, 3)), np.ones((4, 2, 3))
    assert_allclose(Predictive([1, 2, 1], means, variances).weights, [0.25, 0.5, 0.25])
    rows = np.arange(1.0, 13).reshape(4, 1, 3)
    p = Predictive(rows, means, variances)
    assert p.weights.shape == means.shape
    assert_allclose(p.weights.sum(axis=-1), 1.0)
    assert_allclose(p[2:].weights, p.weights[2:])
    huge = Predictive([1e308, 1e308, 1e308], means, variances)
    assert_allclose(huge.weights, 1 / 3)


# -- rows, missing values, the object itself -------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    "rows",
    [slice(1, 3), slice(None, None, -2), [3, 0, 0], np.array([-1]), np.array([True, False, True, False]), []],
)
def test_rows_are_selected_as_numpy_does(rows: slice | list[int] | Array, shared: bool) -> None:
    p = random_mixture(4)
    p = Predictive(p.weights[0, 0], p.means, p.variances) if shared else p
    index = rows if not isinstance(rows, list) else np.array(rows, int)
    y = p.sample(1, 0)[0]
    assert_allclose(p[rows].crps(y[index]), p.crps(y)[index], rtol=1e-12)
    assert_allclose(p[rows].quantile(0.3), p.quantile(0.3)[index], rtol=1e-12)
    assert len(p[rows]) == len(y[index])


def test_one_integer_keeps_the_row_axis() -> None:
    p = random_mixture(4)
    assert p[1].shape == (1, 2)
    assert_allclose(np.concatenate([p[i].mean() for i in range(len(p))]), p.mean(), rtol=1e-12)


@common
@given(mixtures(point_masses=True))
def test_missing_values_stay_missing(p: Predictive) -> None:
    y = np.full(p.shape, 0.5)
    y.flat[0] = np.nan
    missing = np.isnan(y)
    for method in (p.cdf, p.log_prob, p.crps):
        assert_array_equal(np.isnan(method(y)), missing)
        assert_array_equal(method(y)[~missing], method(0.5)[~missing])


def test_no_rows() -> None:
    for p in (Predictive.gaussian([], []), random_mixture(0)[:0]):
        assert len(p) == 0
        for values in (p.mean(), p.var(), p.cdf(0.0), p.log_prob(0.0), p.crps(0.0), p.quantile(0.3)):
            assert values.shape == p.shape
        assert p.sample(3, 0).shape == (3, *p.shape)
        assert p.quantile([0.1, 0.2]).shape == (2, *p.shape)


def test_gaussian_is_one_component() -> None:
    p = Predictive.gaussian([[1.0, 2.0]], [[4.0, 9.0]])
    assert p.shape == (1, 2)
    assert p.n_components == 1
    assert_allclose(p.mean(), [[1.0, 2.0]])
    assert_allclose(p.std(), [[2.0, 3.0]])


def test_repr_is_one_line() -> None:
    assert repr(random_mixture(0)) == "Predictive(rows=4, outputs=2, components=3)"
    assert repr(Predictive.gaussian([1.0], [1.0])) == "Predictive(rows=1, outputs=1, components=1)"


def test_frozen_and_independent_of_its_inputs() -> None:
    means = np.zeros((2, 1))
    p = Predictive([1.0], means, np.ones((2, 1)))
    means[0] = 7.0
    assert_array_equal(p.mean(), [0.0, 0.0])
    with pytest.raises(FrozenInstanceError):
        p.means = means  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        p.variances[0] = 2.0


def test_survives_pickle_and_copy() -> None:
    p = random_mixture(6)
    for r in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert_same_distribution(r, p, np.zeros(p.shape))


def test_single_precision_input_is_widened() -> None:
    p = Predictive.gaussian(np.array([1, 2], np.float32), np.array([1, 2], np.float32))
    assert p.means.dtype == p.crps(np.zeros(2, np.float32)).dtype == np.float64
