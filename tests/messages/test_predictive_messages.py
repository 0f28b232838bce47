"""What bad input to `Predictive` gets: one clear line that names the row or the shapes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fathom.predictive import Predictive
from tests.test_predictive import random_mixture


def test_rounding_below_zero_is_clipped() -> None:
    assert_array_equal(Predictive.gaussian([0.0, 0.0], [-1e-12, -3e-10]).variances, 0.0)
    assert_array_equal(Predictive.gaussian([0.0, 0.0], [-1e-6, 1e4]).var(), [0.0, 1e4])
    # The scale is that of the same output: a wide neighbour excuses nothing.
    with pytest.raises(ValueError, match="must not be negative: row 0 has -1e-06"):
        Predictive.gaussian([[0.0, 0.0]], [[-1e-6, 1e4]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [[0.0], [0.0]], [[1.0], [-0.5]]), "variances must not be negative: row 1 has -0.5"),
        (([1.0], [[0.0], [0.0]], [[1.0], [np.nan]]), "variances must be finite: row 1 has nan"),
        (([1.0], [[0.0], [np.inf]], [[1.0], [1.0]]), "means must be finite: row 1 has inf"),
        (([1.0], [[0.0]], [[1.0], [1.0]]), r"variances have shape \(2, 1\) but means have shape \(1, 1\)"),
        (([1.0], [0.0], [1.0]), r"means must have shape \(N, K\) or \(N, P, K\), got \(1,\)"),
        (([], np.zeros((2, 0)), np.zeros((2, 0))), r"at least one component, got means of shape \(2, 0\)"),
        (([1, 2], [[0.0]], [[1.0]]), r"weights of shape \(2,\) do not fit components of shape \(1, 1\)"),
        ((np.ones((3, 1)), [[0.0]], [[1.0]]), r"weights of shape \(3, 1\) do not fit components"),
        ((1.0, [[0.0]], [[1.0]]), r"weights of shape \(\) do not fit components"),
        (([2, -1], [[0.0, 0.0]], [[1.0, 1.0]]), "weights must be finite and not negative"),
        (([1, np.nan], [[0.0, 0.0]], [[1.0, 1.0]]), "weights must be finite and not negative"),
        (([0, 0], [[0.0, 0.0]], [[1.0, 1.0]]), "weights must not all be zero"),
    ],
)
def test_constructor_refuses(arguments: tuple[object, object, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Predictive(*arguments)  # type: ignore[arg-type]


def test_gaussian_refuses() -> None:
    with pytest.raises(ValueError, match=r"mean has shape \(2,\) but variance has shape \(1,\)"):
        Predictive.gaussian([0.0, 0.0], [1.0])
    with pytest.raises(ValueError, match=r"mean must have shape \(N,\) or \(N, P\), got \(\)"):
        Predictive.gaussian(0.0, 1.0)


def test_mixture_refuses() -> None:
    p = random_mixture(0)
    with pytest.raises(ValueError, match="needs at least one predictive"):
        Predictive.mixture([])
    with pytest.raises(ValueError, match=r"must share a shape, got \(4, 2\) and \(2, 2\)"):
        Predictive.mixture([p, p[:2]])
    with pytest.raises(ValueError, match=r"weights of shape \(3,\) do not fit"):
        Predictive.mixture([p, p], [1, 1, 1])
    with pytest.raises(ValueError, match="weights must be finite and not negative"):
        Predictive.mixture([p, p], [1, -1])


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, [0.5, 2.0]])
def test_quantile_refuses_levels(q: float | list[float]) -> None:
    with pytest.raises(ValueError, match=r"quantile levels must lie in \[0, 1\], got"):
        random_mixture(0).quantile(q)


def test_methods_refuse() -> None:
    p = random_mixture(0)
    with pytest.raises(ValueError, match=r"q must be a number or a sequence of numbers, got shape \(1, 1\)"):
        p.quantile([[0.5]])
    for level in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match=r"level must lie in \[0, 1\], got"):
            p.interval(level)
    with pytest.raises(ValueError, match="number of samples must not be negative, got -1"):
        p.sample(-1, 0)
    for method in (p.cdf, p.log_prob, p.crps):
        with pytest.raises(ValueError, match=r"y has shape \(4,\) but the predictive has shape \(4, 2\)"):
            method(np.zeros(4))
    with pytest.raises(ValueError, match=r"shift has shape \(3,\) but the predictive has shape \(4, 2\)"):
        p.affine(shift=np.zeros(3))
    with pytest.raises(ValueError, match=r"scale has shape \(3,\) but the predictive has shape \(4, 2\)"):
        p.affine(scale=np.zeros(3))
    with pytest.raises(ValueError, match="variances must be finite: row 0 has inf"):
        p.affine(scale=1e200)


def test_indexing_refuses() -> None:
    p = random_mixture(0)
    with pytest.raises(IndexError, match="indexed by rows only"):
        p[:, 0]  # type: ignore[index]
    with pytest.raises(IndexError, match=r"one-dimensional, got shape \(1, 2\)"):
        p[[[0, 1]]]
    with pytest.raises(IndexError, match="out of bounds"):
        p[4]
