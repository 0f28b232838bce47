"""Cycles at their own resolution: within one period, and how far they swing in a record that holds too many."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathom
from fathom.data.dataset import Dataset
from fathom.data.timeaxis import YEAR, TimeRule
from fathom.report import document
from fathom.report.draw.svg import Panel, enveloped, thinned
from fathom.report.measure.folds import folds
from fathom.report.measure.gather import gather
from fathom.report.view import own_steps

DAY = 86_400_000_000 / YEAR


def elapsed(start, count, step, form="{Y}-{m:02}-{d:02} {H:02}:{M:02}"):
    """Regular moments from a date on, and their rule; the step is in days."""
    first = 1970 + int(np.datetime64(start).astype("datetime64[us]").astype(int)) / YEAR
    return first + step * DAY * np.arange(count), TimeRule("date", "elapsed", step * 86_400_000_000, form)


def a_record(x, rule, period, extra="", keep=None):
    """A cycle of a period in days, highest a quarter after the first moment, with the model that made it."""
    y = np.sin(2 * np.pi * (x - x[0]) / (period * DAY)) + 0.01 * np.random.default_rng(0).standard_normal(len(x))
    keep = np.ones(len(x), dtype=bool) if keep is None else keep
    data = Dataset(x[keep, None], y[keep], ("when",), ("load",), time=0, rule=rule)
    kernel = f"Per(variance=0.5, lengthscale=3, period={period * DAY!r}) + WN(variance=0.0001){extra}"
    return data, fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y)


def the_fold(data, model):
    (fold,) = folds(model, gather(model, data)).values()
    return fold


def test_the_last_year_is_what_the_part_is_in_its_months(airline):
    _, model, facts = airline
    (fold,) = folds(model, facts).values()
    cycle = next(c for c in facts.components if c.head == "cycle")
    axis = facts.setting.axes[0]
    assert (fold.name, fold.per_cycle) == ("yearly", 12)
    assert [axis.place(x) for x in (fold.start, fold.first_start)] == ["1960-01", "1949-01"]
    assert fold.last.mean == pytest.approx(cycle.at_data.mean[-12:], abs=1e-6)
    assert fold.last.sd == pytest.approx(cycle.at_data.sd[-12:], abs=1e-6)
    assert fold.first.mean == pytest.approx(cycle.at_data.mean[:12], abs=1e-6)
    assert fold.recent.mean == pytest.approx(cycle.at_data.mean[-24:], abs=1e-6)


def test_weeks_begin_on_mondays_and_days_at_midnight():
    data, model = a_record(*elapsed("2024-01-03T12:00", 61, 1.0), 7.0)  # a Wednesday, at noon
    fold = the_fold(data, model)
    assert (fold.name, fold.per_cycle) == ("weekly", 7)
    assert data.format_time(fold.start) == "2024-02-26 00:00"
    assert [data.format_time(x)[-5:] for x in fold.last.x] == ["12:00"] * 7
    assert int(np.argmax(fold.last.mean)) == 4  # 7/4 days after a Wednesday is nearest to a Friday
    assert fold.start < fold.last.x[0] < fold.start + DAY
    hours, model = a_record(*elapsed("2024-01-03T05:00", 200, 1 / 24), 1.0)
    fold = the_fold(hours, model)
    assert (fold.name, fold.per_cycle, hours.format_time(fold.start)[-5:]) == ("daily", 24, "00:00")


def test_days_without_any_record_are_not_drawn():
    x, rule = elapsed("2024-01-01", 70, 1.0, "{Y}-{m:02}-{d:02}")
    data, model = a_record(x, rule, 7.0, keep=np.arange(70) % 7 < 5)
    fold = the_fold(data, model)
    assert len(fold.last.x) == 5
    assert len(fold.recent.x) == 10


def test_a_cycle_of_no_calendar_ends_with_the_data():
    x, rule = elapsed("2024-01-01", 300, 1.0)
    fold = the_fold(*a_record(x, rule, 41.3))
    assert (fold.name, fold.per_cycle) == ("", 0)
    assert fold.last.x[-1] == pytest.approx(x[-1], abs=0.03 * 41.3 * DAY)
    assert fold.first_start >= x[0] - 0.03 * 41.3 * DAY
    assert np.ptp(fold.last.x) == pytest.approx(41.3 * DAY)


@pytest.mark.slow
def test_a_cycle_that_is_always_the_same_swings_alike_everywhere():
    """The aliasing that this guards against: a daily record of a cycle that is not a whole number of days."""
    x, rule = elapsed("2023-01-01", 500, 1.0)
    data, model = a_record(x, rule, 7.013)
    facts = gather(model, data)
    swing = next(iter(folds(model, facts).values())).swing
    curve = facts.components[0].curve
    for ends, own in ((swing.low, np.min(curve.mean)), (swing.high, np.max(curve.mean))):
        assert np.ptp(ends) < 0.005
        assert np.mean(ends) == pytest.approx(own, abs=0.05)
    assert swing.x[0] == x[0]
    assert swing.x[-1] == pytest.approx(facts.components[0].horizon)


@pytest.mark.slow
def test_few_cycles_are_drawn_and_many_as_how_far_they_swing():
    x, rule = elapsed("2023-01-01", 500, 1.0)
    pages = {}
    for period in (7.0, 60.0):
        data, model = a_record(x, rule, period, " + SE(variance=0.0001, lengthscale=1)")
        pages[period] = document.html(document.make(model, data))
    assert pages[7.0].count('class="swing"') >= 4  # twice at the top, alone, with the others
    assert "enlarged" in pages[7.0]
    assert "Two of its cycles." in pages[7.0]
    assert 'class="swing"' not in pages[60.0]
    assert "enlarged" not in pages[60.0]
    for page in pages.values():
        assert "one cycle</title>" in page
        assert len(page) < 250_000
    assert re.search(r">Mon</text>.*>Sun</text>", pages[7.0])


@pytest.mark.slow
def test_a_changed_cycle_is_drawn_beside_the_first(airline):
    data, model, _ = airline
    page = document.html(document.make(model, data))
    assert ">1949</text>" in page
    assert ">1960</text>" in page
    assert "in grey, the first" in page
    steady, plain = a_record(*elapsed("2024-01-01", 90, 1.0), 7.0)
    assert "in grey, the first" not in document.html(document.make(plain, steady))


# -- thinning and envelopes --------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(1, 5000), st.integers(1, 1500))
def test_thinning_keeps_rows_in_order(n, most):
    kept = thinned(n, most)
    assert len(kept) <= max(most, 1)
    assert len(kept) >= min(n, most) / 2
    assert np.all(np.diff(kept) > 0)
    assert 0 <= kept[0] <= kept[-1] < n


@pytest.mark.parametrize("period", [2, 3, 5, 6, 7, 12, 24, 52])
def test_thinning_does_not_fall_in_with_a_cycle(period):
    """Every step of a cycle stays in the picture as often as any other; each seventh row would be all Mondays."""
    kept = thinned(8400, 1200)
    shares = np.bincount(kept % period, minlength=period) / len(kept) * period
    assert shares.min() > 0.6
    assert shares.max() < 1.4


@settings(max_examples=40)
@given(st.floats(0.3, 5.0), st.integers(40, 400), st.floats(0.1, 3.0))
def test_an_envelope_holds_the_curve(period, n, window):
    x = np.linspace(0.0, 10.0, n)
    y = np.sin(2 * np.pi * x / period)
    at, low, high = enveloped(x, y, y, window)
    assert (at[0], at[-1]) == (x[0], x[-1])
    assert np.all(low <= high)
    assert (low.min(), high.max()) == (y.min(), y.max())


def test_what_is_too_narrow_depends_on_the_width():
    narrow, wide = (Panel((0, 0, width, 100), (0.0, 50.0), (0.0, 1.0)) for width in (200.0, 800.0))
    assert narrow.crowded(1.0)
    assert not wide.crowded(1.0)
    assert not narrow.crowded(np.inf)


@pytest.mark.slow
def test_missing_steps_are_drawn_where_there_are_any():
    x, rule = elapsed("2023-01-01", 300, 1.0)
    keep = (np.arange(300) < 100) | (np.arange(300) >= 130)
    data, model = a_record(x, rule, 7.0, keep=keep)
    report = document.make(model, data)
    assert len(own_steps(report, data.X[:, 0])) == 300
    weekdays, model = a_record(x, rule, 7.0, keep=np.arange(300) % 2 == 0)
    assert len(own_steps(document.make(model, weekdays), weekdays.X[:, 0])) == 150
