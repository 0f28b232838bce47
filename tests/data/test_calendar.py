"""The calendar: business days against NumPy's, gaps, units, forms for sentences, clocks, public holidays."""

import sys
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.data.calendar import PERIODS, business_moment, business_numbers, days_in, gaps_in, periods
from fathom.data.columns import Columns, DataError
from fathom.data.dataset import Dataset
from fathom.data.dates import DAY
from fathom.data.holidays import Holidays, with_holidays
from fathom.data.timeaxis import TimeRule
from fathom.kernels import parse
from tests.data.test_dates import rule_of

days = st.dates(date(1900, 1, 1), date(2100, 12, 31))


def written(moments):
    return [str(m) for m in np.asarray(moments, dtype="datetime64[D]")]


def business(start, n):
    return np.busday_offset(start, np.arange(n), roll="forward")


def daily(values, start="2021-01-01", keep=None, name="day"):
    """A data set of one value a day."""
    moments = np.datetime64(start, "D") + np.arange(len(values))
    keep = np.ones(len(values), dtype=bool) if keep is None else keep
    rule, x = rule_of(written(moments[keep]))
    return Dataset(x[:, None], np.asarray(values)[keep], (name,), ("visits",), time=0, rule=rule)


# -- business days -----------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(days, st.integers(12, 300), st.integers(1, 40))
def test_business_days_step_as_numpy_has_them(start, n, horizon):
    rule, x = rule_of(written(business(start, n)))
    assert rule.grid == "business days"
    np.testing.assert_allclose(np.diff(x), 7 / 5 / 365.2425, rtol=1e-6)
    expected = written(np.busday_offset(business(start, n)[-1], np.arange(1, horizon + 1)))
    assert [rule.format(value) for value in rule.future(x[-1], horizon)] == expected


@given(days)
def test_every_day_has_its_place_among_business_days(day):
    rule, _ = rule_of(written(business(date(2024, 1, 1), 20)))
    moment = (day - date(1970, 1, 1)).days * DAY
    value = float(rule.value(np.array(moment)))
    assert rule.moment(value) == moment
    assert abs(value - (1970 + moment / DAY / 365.2425)) * 365.2425 < 1.3  # never far from the time elapsed
    assert rule.value(np.array(moment + DAY)) > value


def test_a_week_of_business_days_is_a_week():
    numbers = business_numbers(np.arange(0, 15, 7) * DAY)
    np.testing.assert_allclose(np.diff(numbers), 5)
    assert business_moment(5.0) == 4 * DAY  # Monday 5 January 1970


@pytest.mark.parametrize(
    "moments",
    [
        np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]"),  # every day
        np.arange("2024-01-01", "2024-12-01", 7, dtype="datetime64[D]"),  # Mondays
        business("2024-01-01", 9),  # a fortnight at most
        np.array([d for d in business("2024-01-01", 60) if np.is_busday(d, "1111000")]),  # no Fridays
    ],
)
def test_other_days_are_no_business_days(moments):
    assert rule_of(written(moments))[0].grid == "elapsed"


def test_business_days_survive_holidays_a_clock_and_a_file():
    moments = np.delete(business("2024-01-01", 60), [3, 30])
    rule, x = rule_of([f"{d} 16:30" for d in written(moments)])
    assert (rule.grid, rule.clock // 60_000_000, rule.spacing) == ("business days", 990, 7 / 5 / 365.2425)
    assert [rule.format(value) for value in x] == [f"{d} 16:30" for d in written(moments)]
    assert TimeRule.from_dict(rule.to_dict()) == rule
    assert "business days" in rule.sentence("day")


# -- periods and gaps --------------------------------------------------------------------------------------------


def test_units_of_time_have_a_calendar_and_others_none():
    assert [days_in(u) for u in ("h", "Hours", "days", "yr", "minutes")] == [1 / 24, 1 / 24, 1.0, 365.2425, 1 / 1440]
    assert [days_in(u) for u in ("", "m", "km", "MW")] == [None] * 4
    assert dict(zip(PERIODS, periods(1 / 24), strict=True))["daily"] == 24.0
    numbers = TimeRule("number", "numbers", 1.0)
    assert (numbers.periods(), numbers.periods("km")) == ((), ())
    assert numbers.periods("hours")[-2:] == pytest.approx((168.0, 24.0))
    assert TimeRule("decimal year", "numbers", 1 / 12).periods()[:2] == (1.0, 0.5)


def test_the_calendar_belongs_to_the_time_among_inputs():
    X = np.column_stack([np.arange(9.0), np.arange(9.0) % 4])
    data = Dataset(X, np.arange(9.0) % 5, ("t", "x"), ("y",), {"t": "days"}, time=0)
    assert [len(own) for own in data.calendar] == [6, 0]
    assert Dataset(X, np.arange(9.0) % 5, ("t", "x"), ("y",)).calendar == ((), ())


@settings(max_examples=50)
@given(st.integers(30, 200), st.integers(4, 40), st.integers(1, 28), st.sampled_from(["D", "M", "B"]))
def test_a_gap_is_found_where_it_is_and_nowhere_else(n, long, at, step):
    start = np.datetime64("2021-01-01")
    whole = {
        "D": start + np.arange(n),
        "M": (np.datetime64("2000-01") + np.arange(n)).astype("datetime64[D]"),
        "B": business("2021-01-01", n),
    }[step]
    keep = np.ones(n, dtype=bool)
    keep[at + 1 : at + 1 + long] = False
    rule, x = rule_of(written(whole[keep]))
    data = Dataset(x[:, None], np.zeros(len(x)), ("day",), ("y",), time=0, rule=rule)
    inside = at + 1 + long < n
    assert [rule.format(end) for gap in data.gaps() for end in gap] == (
        written([whole[at], whole[at + 1 + long]]) if inside else []
    )


@given(st.integers(0, 10_000))
def test_irregular_sampling_has_hardly_a_gap(seed):
    steps = np.random.default_rng(seed).uniform(0.2, 2.0, 200)
    assert gaps_in(np.cumsum(steps), float(np.median(steps))) == []


def test_a_table_without_a_time_has_no_gaps():
    assert Dataset(np.array([[0.0], [1.0], [9.0]]), np.arange(3.0), ("x",), ("y",)).gaps() == []
    assert gaps_in(np.zeros(3), 1.0) == []


# -- words and clocks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "spoken"),
    [
        (["2024-06-03", "2024-06-04", "2024-06-07"], "{d} {B} {Y}"),
        (["20240603", "20240604", "20240607"], "{d} {B} {Y}"),
        (["03.06.2024", "04.06.2024", "17.06.2024"], "{d:02}.{m:02}.{Y}"),
        (["2024-06-03T00:00:00Z", "2024-06-04T00:00:00Z", "2024-06-07T00:00:00Z"], "{d} {B} {Y}"),
        (["2024-06-03T14:00:00Z", "2024-06-03T15:00:00Z", "2024-06-03T16:00:00Z"], "{d} {B} {Y}, {H:02}:{M:02}"),
        (["2024-06-03 14:00:00", "2024-06-03 14:00:30", "2024-06-03 14:01:00"], "{d} {B} {Y}, {H:02}:{M:02}:{S}"),
        (["2024-06-03 14:00:00.0", "2024-06-03 14:00:00.5"], "{d} {B} {Y}, {H:02}:{M:02}:{F}"),
        (["3 Jun 2024 14:00", "3 Jun 2024 15:00"], "{d} {b} {Y}, {H:02}:{M:02}"),
        (["2024-06", "2024-07"], "{Y}-{m:02}"),
        (["2024Q1", "2024Q2"], "{Y}Q{q}"),
    ],
)
def test_dates_are_spoken_as_people_write_them(cells, spoken):
    assert rule_of(cells)[0].spoken == spoken


@pytest.mark.parametrize(("offset", "zone"), [("Z", "UTC"), ("UTC", "UTC"), ("+01:00", "UTC+01:00"), ("", "")])
def test_the_clock_is_named(offset, zone):
    cells = [f"2024-06-03T{hour}:00{offset}" for hour in (10, 11, 12)]
    assert rule_of(cells)[0].zone == zone


def test_other_offsets_are_read_by_the_clock_of_the_first_file():
    rule, x = rule_of([f"2024-01-03T{hour}:00+01:00" for hour in (10, 11, 12)])
    again = rule.read(np.array(["2024-01-03T09:00Z", "2024-01-03T13:00+03:00"], dtype=object), "t", str)
    np.testing.assert_allclose(again, x[[0, 1]], rtol=0, atol=1e-12)
    bare = rule.read(np.array(["2024-01-03T10:00"], dtype=object), "t", str)
    np.testing.assert_allclose(bare, x[:1], rtol=0, atol=1e-12)  # a clock without an offset is the same clock
    plain, y = rule_of([f"2024-01-03T{hour}:00" for hour in (10, 11, 12)])
    np.testing.assert_array_equal(plain.read(np.array(["2024-01-03T10:00"], dtype=object), "t", str), y[:1])


# -- public holidays ---------------------------------------------------------------------------------------------


def test_holidays_are_those_of_the_package():
    import holidays

    data = with_holidays(daily(np.arange(400.0) % 7), "de")
    known = holidays.country_holidays("DE", years=[2021, 2022])
    expected = [date(2021, 1, 1) + timedelta(k) in known for k in range(400)]
    assert data.holidays.covers(data.X[:, 0]).tolist() == expected
    ahead = data.future(200)
    assert data.holidays.covers(ahead).tolist() == [date(2021, 1, 1) + timedelta(400 + k) in known for k in range(200)]
    assert data.notes[-1].startswith(f"Public holidays (de): {sum(expected)} days in the data (")
    assert "Christmas" in data.notes[-1]
    (term,) = data.terms
    np.testing.assert_array_equal(parse(term).diag(data.X), np.array(expected, dtype=float))


def test_a_region_may_have_more_of_them():
    data = daily(np.arange(365.0) % 7)
    both = [with_holidays(data, country).holidays.covers(data.X[:, 0]).sum() for country in ("DE", "DE-BY")]
    assert both[0] < both[1]


def test_holidays_of_business_days_and_of_hours():
    rule, x = rule_of(written(business("2021-01-01", 200)))
    data = Dataset(x[:, None], np.arange(200.0) % 3, ("day",), ("price",), time=0, rule=rule)
    seen = with_holidays(data, "DE").holidays.covers(x)
    assert [rule.format(v) for v in x[seen]][:3] == ["2021-01-01", "2021-04-02", "2021-04-05"]
    rule, x = rule_of([f"2021-01-0{day}T{hour:02}:00" for day in (1, 2) for hour in range(24)])
    hours = Dataset(x[:, None], np.arange(48.0) % 3, ("t",), ("load",), time=0, rule=rule)
    assert with_holidays(hours, "DE").holidays.covers(x).tolist() == [True] * 24 + [False] * 24


def test_a_record_without_a_holiday_says_so_and_has_no_term():
    data = with_holidays(daily(np.arange(20.0) % 3, start="2021-02-01"), "DE")
    assert data.terms == with_holidays(daily(np.arange(40.0) % 3, start="1701-01-01"), "DE").terms == ()
    assert data.notes[-1] == "None of the days in the data is a public holiday (DE)."


def test_the_country_is_remembered_with_the_columns():
    columns = with_holidays(daily(np.arange(40.0) % 3), "DE").columns
    assert Columns.from_dict(columns.to_dict()) == columns
    assert columns.holidays == "DE"
    older = columns.to_dict()
    del older["holidays"]
    assert Columns.from_dict(older).holidays == ""
    assert Holidays("DE").covers(np.arange(3.0)).tolist() == [False] * 3


@pytest.mark.parametrize(
    ("country", "message"),
    [
        ("Germany", r"--holidays Germany: no such country \(did you mean DE"),
        ("DEU1", r"--holidays DEU1: no such country \(did you mean DE"),
        ("!!", "--holidays !!: no such country: give its code, such as DE or US-CA"),
        ("DE-XX", "--holidays DE-XX: DE has no region 'XX'; there are BB, BE, BW"),
    ],
)
def test_an_unknown_country_names_near_ones(country, message):
    with pytest.raises(DataError, match=message):
        with_holidays(daily(np.arange(40.0) % 3), country)


def test_holidays_need_dates_of_days():
    rule, x = rule_of(["2021-01", "2021-02", "2021-03"])
    months = Dataset(x[:, None], np.arange(3.0), ("month",), ("y",), time=0, rule=rule)
    with pytest.raises(DataError, match="holidays are days, and the rows of 'month' are further apart: leave it out"):
        with_holidays(months, "DE")
    with pytest.raises(DataError, match="--holidays DE: the data has no column of dates: name it with --time"):
        with_holidays(Dataset(np.arange(3.0)[:, None], np.arange(3.0), ("x",), ("y",)), "DE")


def test_holidays_need_their_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "holidays", None)
    message = r"--holidays needs the package of that name: pip install 'fathomgp\[holidays\]'"
    with pytest.raises(DataError, match=message):
        with_holidays(daily(np.arange(40.0) % 3), "DE")


def test_the_fine_print_says_by_which_clock():
    hours = [f"2024-01-03T{hour}:00+01:00" for hour in (10, 11, 12)]
    assert rule_of(hours)[0].sentence("t").endswith("(365.2425 days to the year). Times of day are UTC+01:00.")
    days = [f"2024-01-0{day}T00:00Z" for day in (3, 4, 8)]
    assert rule_of(days)[0].sentence("t").endswith("(365.2425 days to the year).")
