"""Where fits begin: periods from the data, bounds and steps that fit the parameters, and the steps as a contract."""

import os

import hypothesis
import numpy as np
import pytest

from fathom.base.optimise import Space, maximise
from fathom.data import datasets
from fathom.data.columns import Scaler
from fathom.gp.evidence import Evidence
from fathom.gp.starts import columns_of, gathered, given, peaks, periodogram_peaks, space, starting_vectors
from fathom.kernels import LEAVES, Product, bind, from_vector, n_free, parse, to_vector
from fathom.kernels.base import walk
from fathom.search.guards import guarded_space
from tests.kernels.strategies import trees


@pytest.mark.parametrize("period", [0.37, 1.0, 2.9])
def test_the_strongest_peak_is_the_period(period):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 20, 200))
    y = 0.3 * x + np.sin(2 * np.pi * x / period) + 0.3 * rng.standard_normal(200)
    assert periodogram_peaks(x, y, 3)[0] == pytest.approx(period, rel=0.01)


def test_the_pool_has_doubles_and_halves():
    x = np.arange(0, 20, 0.1)
    pool = columns_of(x[:, None], np.sin(2 * np.pi * x))[0].periods
    for period in (0.5, 1.0, 2.0):
        assert np.min(np.abs(pool / period - 1)) < 0.01


@pytest.mark.parametrize("n", [2, 4, 30])
def test_no_series_is_too_short_or_too_flat(n):
    x = np.arange(float(n))
    for y in (np.zeros(n), x):
        assert np.all(columns_of(x[:, None], y)[0].periods > 0)


@pytest.mark.parametrize("n", [30, 700])
def test_a_far_row_or_a_burst_makes_no_endless_grid(n):
    """Either periodogram looks at a limited number of frequencies, however small the steps are beside the range."""
    y = np.random.default_rng(0).standard_normal(n)
    for x in (np.append(np.arange(n - 1.0), 1e12), np.arange(n) // 4 + 1e-12 * (np.arange(n) % 4)):
        assert np.all(peaks(x, y, 3) <= np.ptp(x))
    assert len(peaks(np.full(n, 3.0), y, 3)) == 0


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.name)
@pytest.mark.parametrize("D", [1, 3])
def test_starts_are_finite_and_within_bounds(leaf, D):
    kernel = bind(leaf(inputs=(0,)) if leaf.one_input else leaf(), D)
    rng = np.random.default_rng(0)
    X = 100 + 7 * rng.standard_normal((40, D))
    where = space(kernel, X)
    assert where.scales.shape == (n_free(kernel),)
    assert where.bounds.shape == (n_free(kernel), 2)
    assert np.all(where.scales > 0)
    assert np.all(where.bounds[:, 0] < where.bounds[:, 1])
    for vector in starting_vectors(kernel, X, rng.standard_normal(40), rng, 8):
        assert np.all(np.isfinite(vector))
        clipped = np.clip(vector, *where.bounds.T)
        assert np.all(np.isfinite(from_vector(kernel, clipped).gram(X)))


def test_bounds_are_in_order_where_there_are_few_values():
    """A window is three steps wide or more, of which two values have but one."""
    kernel, X = parse("CW(SE, Per) + Cos"), np.repeat([0.0, 1.0], 3)[:, None]
    for where in (space(kernel, X), guarded_space(kernel, X)(np.asarray(to_vector(kernel)))):
        assert np.all(where.bounds[:, 0] <= where.bounds[:, 1])


@hypothesis.given(trees(max_leaves=6))
def test_gathered_scales_change_nothing_but_their_place(kernel):
    X = np.random.default_rng(0).standard_normal((5, 1))
    found = gathered(kernel)
    assert np.allclose(found.gram(X), kernel.gram(X))
    assert found.structure() == kernel.structure()
    for node in walk(found):
        if isinstance(node, Product):
            assert all(child.scale_node().variance == pytest.approx(1.0) for child in node.children[1:])


def test_what_the_caller_set_is_kept():
    kernel = parse("SE(lengthscale=3.0)*Per(period=1.0) + WN")
    assert given(kernel) == (False, True, False, True, False)
    rng = np.random.default_rng(0)
    X, y = np.linspace(0, 9, 30)[:, None], rng.standard_normal(30)
    first, second = starting_vectors(kernel, X, y, rng, 2)
    assert np.exp(first[[1, 3]]) == pytest.approx([3.0, 1.0])
    assert not np.allclose(first, second)


def test_all_parameters_free_means_none_kept():
    assert not any(given(parse("SE*Per + Lin + CP(SE, C)")))
    assert len(to_vector(parse("SE*Per"))) == len(given(parse("SE*Per")))


@pytest.mark.slow
@pytest.mark.skipif("FATHOM_DATA" not in os.environ, reason="FATHOM_DATA is not set: no Mauna Loa series")
def test_the_steps_are_a_contract():
    """From a period 2 % off, 30 iterations find the yearly cycle of Mauna Loa; equal steps lag far behind."""
    data = datasets.load("ts_mauna")
    ((train, _),) = datasets.splits("ts_mauna")
    scaler = Scaler.fit(data.X[train], data.y[train])
    X, y = scaler.x(data.X[train]), scaler.y(data.y[train])
    kernel = parse(f"Lin + SE(lengthscale=0.5) + SE*Per(period={0.98 / scaler.x_sd[0]}) + WN(variance=0.01)")
    evidence, where = Evidence(kernel, X, y), space(kernel, X)
    assert maximise(evidence, [to_vector(kernel)], where, 30).value > 1208
    equal = Space(np.ones_like(where.scales), where.bounds)
    assert maximise(evidence, [to_vector(kernel)], equal, 30).value < 1190


def test_a_new_line_does_not_change_the_size_of_a_product():
    """Wherever its zero is put, the kept scale of the first factor makes up for it; a kept line changes nothing."""
    X = np.linspace(-2, 2, 41)[:, None]
    kernel = parse("SE(variance=3.0, lengthscale=1.0)*Lin + Lin(variance=2.0)*WN(variance=1.0)")
    for vector in starting_vectors(kernel, X, np.zeros(41), np.random.default_rng(0), 6, spread=0.0):
        here = from_vector(kernel, vector)
        assert here.children[0].diag(X).mean() == pytest.approx(3.0)
        assert here.children[1].diag(X).mean() == pytest.approx(2.0)
    known = parse("SE(variance=3.0, lengthscale=1.0)*Lin(location=5.0)")
    vector = starting_vectors(known, X, np.zeros(41), np.random.default_rng(0), 1)[0]
    np.testing.assert_allclose(vector, to_vector(known))
