"""Periods of the calendar in the search: they stand where the evidence allows, and are carried everywhere after."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fathom
from fathom.base.execute import executor
from fathom.data.dataset import Dataset
from fathom.kernels import Days, n_effective, parse, to_vector, walk
from fathom.search.calendar import IN_STEP, nearest, settle
from fathom.search.grammar import Grammar, add_term, expand
from fathom.search.guards import degenerate, guarded_space
from fathom.search.run import Settings, search
from fathom.search.score import Attempt, Problem, climbed, criterion, period_pool, polish
from fathom.search.trace import Model

WEEK = ((7.0,),)


def weekly(period=7.0, noise=0.5, n=70):
    """A cycle of about a week, and the fit of a free period to it."""
    x = np.arange(float(n))
    y = np.sin(2 * np.pi * x / period) + noise * np.random.default_rng(0).standard_normal(n)
    problem = Problem(x[:, None], (y - y.mean()) / y.std(), (np.zeros(0),), f"weekly {period} {noise}", calendar=WEEK)
    kernel = parse("Per(variance=0.5, lengthscale=5.0, period=7.0) + WN(variance=0.5)")
    start = Attempt(kernel, 0, (np.asarray(to_vector(kernel)),), (-1e25,))
    return problem, climbed(problem, start, 100)


def cycle(kernel):
    return next(node for node in walk(kernel) if node.name == "Per")


def score(problem, attempt):
    return criterion(attempt, len(problem.y), "bic")


@given(st.floats(0.1, 50), st.floats(1, 1000))
def test_the_nearest_period_stays_in_step_over_the_record(period, span):
    calendar = (30.0, 7.0, 1.0)
    apart = [abs(span / period - span / known) for known in calendar]
    expected = calendar[int(np.argmin(apart))] if min(apart) <= IN_STEP else None
    assert nearest(period, calendar, span) == expected
    assert nearest(period, (), span) is None


def test_a_period_that_may_be_a_week_is_one_and_costs_a_parameter_less():
    problem, free = weekly()
    settled = settle(problem, free, 30)
    assert cycle(free.fitted).period != 7.0
    assert (cycle(settled.fitted).period, cycle(settled.fitted).fixed) == (7.0, {"period"})
    assert settled.n_effective == free.n_effective - 1 == n_effective(settled.fitted)
    assert score(problem, settled) <= score(problem, free)
    assert settled.value <= free.value + 1e-6


def test_where_the_evidence_objects_nothing_changes():
    problem, free = weekly(period=7.1, noise=0.1)  # a seventh of a cycle apart at the end, and well seen
    assert nearest(float(cycle(free.fitted).period), WEEK[0], 69.0) == 7.0
    settled = settle(problem, free, 30)
    assert settled.fitted == free.fitted
    assert settled.value == free.value
    assert settled.evaluations > free.evaluations


def test_a_period_out_of_step_is_not_even_tried():
    problem, free = weekly(period=8.0)
    assert settle(problem, free, 30) is free


def test_a_period_that_was_fixed_too_early_is_freed():
    problem, _ = weekly(period=7.1, noise=0.1)
    kernel = parse("Per(variance=0.5, lengthscale=5.0, period=7.0 fixed) + WN(variance=0.5)")
    fixed = climbed(problem, Attempt(kernel, 0, (np.asarray(to_vector(kernel)),), (-1e25,)), 100)
    settled = settle(problem, fixed, 100)
    assert cycle(settled.fitted).fixed == frozenset()
    assert cycle(settled.fitted).period == pytest.approx(7.1, rel=0.01)
    assert settled.n_effective == fixed.n_effective + 1
    assert score(problem, settled) < score(problem, fixed)


def test_harmonics_and_limits_leave_a_fixed_period_alone():
    problem, _ = weekly()
    kernel = parse("SE(lengthscale=40.0)*Per(lengthscale=5.0, period=7.0 fixed) + WN(variance=0.5)")
    start = Attempt(kernel, 0, (np.asarray(to_vector(kernel)),), (-1e25,))
    assert cycle(polish(problem, start, 20).fitted).period == 7.0
    space = guarded_space(kernel, problem.X)(start.vectors[0])
    assert space.bounds[1, 0] == pytest.approx(np.log(7.0))  # a drifting cycle is remembered for its period
    assert degenerate(parse(str(kernel).replace("40.0", "4.0")), problem.X) is not None


@pytest.mark.slow
def test_every_candidate_begins_at_the_calendar_too():
    x = np.arange(100.0)
    y = np.sin(2 * np.pi * x / 20)
    pool = period_pool(x, y, None, (365.0, 30.0, 7.0, 1.0))
    assert pool[:2].tolist() == [30.0, 7.0]  # a year is too long for the record, a day too short for its steps
    assert set(period_pool(x, y)) < {*pool.tolist(), *period_pool(x, y)}
    assert 4.0 in period_pool(np.arange(40.0), y[:40], None, (4.0,))  # quarters of a year, four steps exactly


def test_the_step_from_a_fixed_period_is_the_same_as_from_a_free_one():
    free = parse("Per(period=7.0) + WN")
    held = parse("Per(period=7.0 fixed) + WN")
    grammar = Grammar()
    structures = [[k.structure() for k in expand(kernel, grammar)] for kernel in (free, held)]
    assert structures[0] == structures[1]
    (two,) = (k for k in expand(held, grammar) if [child.name for child in k.children] == ["Per", "Per", "WN"])
    assert sorted(len(child.fixed) for child in two.children) == [0, 0, 1]


def test_without_a_calendar_nothing_changes():
    problem, _ = weekly()
    settings = Settings(Grammar(base=("Per", "WN"), rules=("add",)), depth=1)
    with executor("serial") as pool:
        plain, empty = (search(problem.X, problem.y, s, pool) for s in (settings, replace(settings, calendar=((),))))
    assert [level.best for level in plain.levels] == [level.best for level in empty.levels]
    assert "fixed" not in plain.to_json()


@pytest.fixture(scope="module")
def airline():
    """A search of two levels that knows the calendar, and the same from its file."""
    data = fathom.datasets.load("airline")
    model = fathom.KernelSearch(
        depth=2, base=("Lin", "Per", "WN"), n_jobs=1, backend="serial", calendar=data.calendar, random_state=0
    ).fit(data.X, data.y)
    return data, model


@pytest.mark.slow
def test_the_airline_series_has_a_cycle_of_exactly_a_year(airline, tmp_path):
    _, model = airline
    ring = cycle(model.kernel_)
    assert ring.period == pytest.approx(1.0, rel=1e-12)
    assert ring.fixed == {"period"}
    best = model.trace_.best
    assert best.n_parameters == n_effective(parse(best.kernel))
    assert best.score == pytest.approx(-2 * best.evidence + best.n_parameters * np.log(144))
    fathom.save(model, tmp_path / "m.fathom")
    again = fathom.load(tmp_path / "m.fathom")
    assert again.kernel_ == model.kernel_
    assert again.trace_.levels == model.trace_.levels
    assert cycle(again.kernel_).fixed == {"period"}
    assert again.calendar == model.calendar


@pytest.mark.slow
def test_what_forecasts_keeps_the_period_too(airline):
    _, model = airline
    for member in model.members_:
        assert all(node.period == cycle(model.posterior_.kernel).period for node in walk(member.kernel) if node.fixed)


def test_a_calendar_for_other_inputs_is_an_error():
    message = "calendar has periods for 2 inputs, not 1: give"
    with pytest.raises(ValueError, match=message):
        fathom.KernelSearch(calendar=((7.0,), ()), n_jobs=1).fit(np.arange(9.0)[:, None], np.arange(9.0) % 4)


# -- terms that the caller knows of ------------------------------------------------------------------------------


def test_a_known_term_joins_the_whole_once():
    grammar = Grammar(base=("SE", "Lin", "WN"), terms=("Days(starts=[1.0], ends=[2.0])",))
    grown = [k for k in expand(parse("SE*Lin + WN"), grammar) if any(isinstance(node, Days) for node in walk(k))]
    (joined,) = grown
    assert {node.name for node in joined.children} == {"Product", "WN", "Days"}
    assert list(add_term(joined, grammar)) == []
    children = [child for k in expand(joined, grammar) for child in k.children]
    assert any(child.name == "Product" and "Days" in str(child) for child in children)


@pytest.mark.slow
def test_public_holidays_are_found_where_they_matter_and_left_out_where_not():
    rng = np.random.default_rng(2)
    x = np.arange(120.0)
    listed = np.isin(x, [10, 31, 57, 58, 80, 101])
    term = Days(starts=np.flatnonzero(listed) - 0.1, ends=np.flatnonzero(listed) + 0.9)
    for effect in (0.0, -5.0):
        y = 20 + effect * listed + rng.standard_normal(120)
        model = fathom.KernelSearch(
            depth=1, base=("Lin", "WN"), n_jobs=1, backend="serial", terms=(str(term),), random_state=0
        ).fit(x[:, None], y)
        assert any(isinstance(node, Days) for node in walk(model.kernel_)) == bool(effect)
    day, other = model.predict(np.array([[200.0], [201.0]]))
    assert abs(day - other) < 1e-9  # none of the listed days
    later = model.predict(np.array([[57.0], [59.0]]))
    assert later[0] - later[1] == pytest.approx(-5.0, abs=1.0)
    (days,) = (node for node in walk(model.kernel_) if isinstance(node, Days))
    np.testing.assert_allclose(days.starts, term.starts)


def test_a_model_of_a_trace_is_the_same_kernel():
    _, free = weekly()
    problem, _ = weekly()
    settled = settle(problem, free, 10)
    model = Model.of(settled, score(problem, settled))
    assert model.parsed() == settled.fitted
    assert "period=7.0 fixed" in model.kernel
    assert model.structure() == Model.of(free, 0.0).structure()


def test_the_data_know_their_calendar():
    data = fathom.datasets.load("airline")
    assert data.calendar[0][:3] == (1.0, 0.5, 0.25)
    assert Dataset(np.arange(9.0)[:, None], np.arange(9.0), ("t",), ("y",), {"t": "m"}, 0).calendar == ((),)
