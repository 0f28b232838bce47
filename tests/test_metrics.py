"""Metrics agree with their definitions, ignore what is missing, and reward the truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from fathom import metrics
from fathom.predictive import Array, Predictive

common = settings(max_examples=50, deadline=None)
seeds = st.integers(0, 2**32 - 1)
shapes = st.sampled_from([(5,), (4, 1), (3, 2)])
EVERY = [
    metrics.nll,
    metrics.mnlp,
    metrics.drawn_nll,
    metrics.rmse,
    metrics.mae,
    metrics.crps,
    metrics.coverage,
    metrics.calibration_error,
]
Metric = Callable[[Predictive, Array], float]


def random_case(seed: int, shape: tuple[int, ...], k: int = 3) -> tuple[Predictive, Array]:
    """A mixture and one observation drawn from each of its entries."""
    rng = np.random.default_rng(seed)
    size = (*shape, k)
    p = Predictive(rng.random(size) + 0.05, rng.normal(size=size), rng.uniform(0.2, 1.5, size))
    return p, p.sample(1, rng)[0]


@pytest.mark.slow
@common
@given(seeds, shapes)
def test_metrics_are_averages_of_the_predictive(seed: int, shape: tuple[int, ...]) -> None:
    p, y = random_case(seed, shape)
    assert_allclose(metrics.nll(p, y), -np.mean(p.log_prob(y)))
    assert_allclose(metrics.crps(p, y), np.mean(p.crps(y)))
    assert_allclose(metrics.rmse(p, y), np.sqrt(np.mean((y - p.mean()) ** 2)))
    assert_allclose(metrics.mae(p, y), np.mean(np.abs(y - p.quantile(0.5))))
    assert_allclose(metrics.mnlp(p, y), -np.mean(stats.norm.logpdf(y, p.mean(), p.std())))
    logs = stats.norm.logpdf(y[..., None], p.means, np.sqrt(p.variances))
    assert_allclose(metrics.drawn_nll(p, y), -np.mean(np.sum(p.weights * logs, -1)))
    assert metrics.drawn_nll(p, y) > metrics.nll(p, y)  # Jensen


@common
@given(seeds, shapes)
def test_negative_log_densities_of_one_gaussian_are_equal(seed: int, shape: tuple[int, ...]) -> None:
    p, y = random_case(seed, shape, k=1)
    assert_allclose(metrics.nll(p, y), metrics.drawn_nll(p, y), rtol=1e-12)
    assert_allclose(metrics.nll(p, y), metrics.mnlp(p, y), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", EVERY)
@common
@given(seed=seeds, shape=shapes)
def test_missing_entries_are_as_if_absent(metric: Metric, seed: int, shape: tuple[int, ...]) -> None:
    p, y = random_case(seed, shape)
    y[1] = np.nan
    kept = np.arange(len(y)) != 1
    assert_allclose(metric(p, y), metric(p[kept], y[kept]), rtol=1e-12)


def test_one_missing_output_of_a_row_leaves_the_other() -> None:
    p = Predictive.gaussian([[0.0, 5.0]], [[1.0, 1.0]])
    assert metrics.rmse(p, np.array([[2.0, np.nan]])) == 2.0


@common
@given(seeds, st.floats(-10, 10), st.floats(0.1, 10), st.booleans())
def test_units_of_every_metric(seed: int, shift: float, size: float, flip: bool) -> None:
    p, y = random_case(seed, (6,))
    scale = -size if flip else size
    r, z = p.affine(shift, scale), shift + scale * y
    for metric in (metrics.rmse, metrics.mae, metrics.crps):
        assert_allclose(metric(r, z), size * metric(p, y), rtol=1e-9)
    for metric in (metrics.nll, metrics.mnlp, metrics.drawn_nll):
        assert_allclose(metric(r, z), metric(p, y) + np.log(size), rtol=1e-9, atol=1e-9)
    assert metrics.coverage(r, z) == metrics.coverage(p, y)


def test_truth_is_calibrated() -> None:
    p, y = random_case(0, (4000, 2))
    assert metrics.calibration_error(p, y) < 0.012
    for level in (0.1, 0.5, 0.9, 0.99):
        assert abs(metrics.coverage(p, y, level) - level) < 0.02


def test_truth_beats_the_wrong_width_and_place() -> None:
    p, y = random_case(1, (4000,))
    for wrong in (p.affine(0.0, 2.0), p.affine(0.0, 0.4), p.affine(1.0, 1.0)):
        for metric in (metrics.nll, metrics.crps, metrics.calibration_error):
            assert metric(wrong, y) > metric(p, y)


def test_calibration_error_by_hand() -> None:
    p = Predictive.gaussian(np.zeros(4), np.ones(4))
    y = stats.norm.ppf([0.1, 0.2, 0.3, 0.9])
    # Shares reached at 0.25, 0.5, 0.75 are 0.5, 0.75, 0.75.
    expected = np.sqrt((0.25**2 + 0.25**2 + 0) / 3)
    assert_allclose(metrics.calibration_error(p, y, levels=[0.25, 0.5, 0.75]), expected, rtol=1e-12)


def test_calibration_counts_an_observation_at_its_level() -> None:
    p = Predictive([0.25, 0.75], [[0.0, 1.0]], [[0.0, 0.0]])
    assert metrics.calibration_error(p, [0.0], levels=[0.25]) == 0.75  # F(y) = ¼: the share is one


def test_everything_on_one_side_is_the_worst_calibration() -> None:
    p = Predictive.gaussian(np.zeros(3), np.ones(3))
    levels = np.arange(1, 20) / 20
    expected = np.sqrt(np.mean(levels**2))
    assert_allclose(metrics.calibration_error(p, np.full(3, 50.0)), expected, rtol=1e-12)


def test_coverage_ends() -> None:
    p, y = random_case(2, (50,))
    assert metrics.coverage(p, y, level=1.0) == 1.0
    assert metrics.coverage(p, y, level=0.0) == 0.0
    point = Predictive.gaussian([1.0, 1.0], [0.0, 0.0])
    assert metrics.coverage(point, [1.0, 1.1]) == 0.5


def test_point_masses_give_infinite_densities_without_warning() -> None:
    point = Predictive.gaussian([1.0, 1.0], [0.0, 0.0])
    assert metrics.nll(point, [1.0, 1.0]) == -np.inf
    assert metrics.nll(point, [2.0, 2.0]) == np.inf
    assert np.isnan(metrics.nll(point, [1.0, 2.0]))
    unused = Predictive([1.0, 0.0], [[1.0, 3.0]], [[1.0, 0.0]])
    assert metrics.drawn_nll(unused, [1.0]) == metrics.nll(Predictive.gaussian([1.0], [1.0]), [1.0])
    assert metrics.crps(point, [1.0, 2.0]) == metrics.mae(point, [1.0, 2.0]) == 0.5


def test_summary_collects_every_metric() -> None:
    p, y = random_case(3, (20, 2))
    assert metrics.summary(p, y) == {
        "NLL": metrics.nll(p, y),
        "RMSE": metrics.rmse(p, y),
        "MAE": metrics.mae(p, y),
        "CRPS": metrics.crps(p, y),
        "MNLP": metrics.mnlp(p, y),
        "coverage90": metrics.coverage(p, y, 0.9),
        "calibration": metrics.calibration_error(p, y),
    }
    assert all(type(value) is float for value in metrics.summary(p, y).values())


@pytest.mark.parametrize("metric", [*EVERY, metrics.summary])
def test_metrics_refuse(metric: Metric) -> None:
    p, y = random_case(4, (5,))
    with pytest.raises(ValueError, match=r"y has shape \(5, 1\) but the predictive has shape \(5,\)"):
        metric(p, y[:, None])
    with pytest.raises(ValueError, match=r"y has shape \(\) but the predictive has shape \(5,\)"):
        metric(p, np.array(0.0))
    with pytest.raises(ValueError, match="y has no observed entry"):
        metric(p, np.full(5, np.nan))
    with pytest.raises(ValueError, match="y has no observed entry"):
        metric(p[:0], y[:0])


@pytest.mark.parametrize("levels", [[], [1.2], [np.nan], 0.5])
def test_calibration_refuses_levels(levels: list[float] | float) -> None:
    p, y = random_case(4, (5,))
    with pytest.raises(ValueError, match=r"levels must be a non-empty sequence of numbers in \[0, 1\]"):
        metrics.calibration_error(p, y, levels)


def test_coverage_refuses_level() -> None:
    p, y = random_case(4, (5,))
    with pytest.raises(ValueError, match=r"level must lie in \[0, 1\], got 90"):
        metrics.coverage(p, y, level=90)
