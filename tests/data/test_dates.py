"""Dates in files: every form is read, placed on the right axis, continued, and written back as it was."""

import json
from datetime import date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.data.columns import Columns, DataError
from fathom.data.dataset import load_csv
from fathom.data.dates import DAY, check_form, day_in_month, month_number, read_dates, write
from fathom.data.timeaxis import TimeRule, time_cells


def rule_of(written):
    """Read dates by themselves: the rule and the numbers."""
    dates = read_dates(time_cells(written), "date", lambda row: f"row {row}", compact=True)
    assert dates is not None
    rule = TimeRule.of_dates(dates)
    return rule, rule.encode(dates)


def monthly(n, form, start=1949, step=1, day=1):
    months = 12 * start + step * np.arange(n)
    return [write(moment, form) for moment in day_in_month(months, day)]


@pytest.mark.parametrize(
    ("form", "example"),
    [
        ("{Y}-{m:02}", "1949-01"),
        ("{Y}/{m:02}", "1949/01"),
        ("{m:02}/{Y}", "01/1949"),
        ("{m}/{Y}", "1/1949"),
        ("{b} {Y}", "Jan 1949"),
        ("{b:upper} {Y}", "JAN 1949"),
        ("{B:lower} {Y}", "january 1949"),
        ("{b}. {Y}", "Jan. 1949"),
        ("{m:02}.{Y}", "01.1949"),
        ("{m}.{Y}", "1.1949"),
        ("{b}-{Y}", "Jan-1949"),
        ("{B} {Y}", "January 1949"),
        ("{Y} {b}", "1949 Jan"),
        ("{Y}-{m:02}-{d:02}", "1949-01-01"),
        ("{Y}/{m}/{d}", "1949/1/1"),
        ("{Y}.{m:02}.{d:02}", "1949.01.01"),
        ("{d}.{m}.{Y}", "1.1.1949"),
        ("{d:02}-{b}-{Y}", "01-Jan-1949"),
        ("{d} {B} {Y}", "1 January 1949"),
        ("{b} {d}, {Y}", "Jan 1, 1949"),
        ("{Y}-{m:02}-{d:02} {H:02}:{M:02}", "1949-01-01 00:00"),
        ("{Y}-{m:02}-{d:02}T{H:02}:{M:02}:{S}Z", "1949-01-01T00:00:00Z"),
        ("{Y}-{m:02}-{d:02}T{H:02}:{M:02}:{S}+01:00", "1949-01-01T00:00:00+01:00"),
        ("{Y}{m:02}", "194901"),
        ("{Y}{m:02}{d:02}", "19490101"),
    ],
)
def test_monthly_dates_in_any_form_are_a_regular_grid_of_months(form, example):
    written = monthly(30, form)
    assert written[0] == example
    rule, times = rule_of(written)
    assert (rule.kind, rule.grid, rule.form) == ("date", "months", form)
    np.testing.assert_array_equal(times, (12 * 1949 + np.arange(30)) / 12)
    assert [rule.format(t) for t in times] == written


@pytest.mark.parametrize("form", ["{Y}-Q{q}", "{Y}Q{q}", "Q{q} {Y}"])
def test_quarters(form):
    written = monthly(9, form, start=2001, step=3)
    rule, times = rule_of(written)
    np.testing.assert_array_equal(times, 2001 + np.arange(9) / 4)
    assert [rule.format(t) for t in times] == written
    assert [rule.format(t) for t in rule.future(times[-1], 2)] == monthly(11, form, start=2001, step=3)[-2:]


@pytest.mark.parametrize(("day", "step"), [(15, 1), (31, 1), (30, 1), (31, 3), (29, 12), (1, 12), (31, 2)])
def test_any_fixed_day_of_the_month_and_month_ends_are_regular(day, step):
    written = monthly(20, "{Y}-{m:02}-{d:02}", step=step, day=day)
    rule, times = rule_of(written)
    assert rule.grid == "months"
    np.testing.assert_allclose(np.diff(times), step / 12, rtol=1e-9)
    assert [rule.format(t) for t in times] == written
    longer = monthly(25, "{Y}-{m:02}-{d:02}", step=step, day=day)
    assert [rule.format(t) for t in rule.future(times[-1], 5)] == longer[-5:]


def test_month_ends_that_are_all_the_thirtieth_stay_month_ends():
    rule, times = rule_of(["2001-04-30", "2001-06-30", "2001-09-30", "2001-11-30"])
    assert [rule.format(t) for t in rule.future(times[-1], 2)] == ["2002-01-31", "2002-03-31"]


def test_missing_months_leave_holes_in_the_grid():
    written = monthly(24, "{Y}-{m:02}")
    rule, times = rule_of(written[:5] + written[8:])
    np.testing.assert_array_equal(times, np.delete(12 * 1949 + np.arange(24), [5, 6, 7]) / 12)
    assert rule.step == 1


@pytest.mark.parametrize(
    ("start", "step", "form"),
    [
        (datetime(2004, 2, 20), timedelta(days=1), "%Y-%m-%d"),
        (datetime(2004, 2, 20), timedelta(days=7), "%d/%m/%Y"),
        (datetime(2004, 12, 31, 9), timedelta(hours=1), "%Y-%m-%d %H:%M"),
        (datetime(2004, 12, 31, 23, 59), timedelta(seconds=10), "%Y-%m-%dT%H:%M:%S"),
    ],
)
def test_other_dates_lie_at_elapsed_time(start, step, form):
    moments = [start + k * step for k in range(40)]
    rule, times = rule_of([moment.strftime(form) for moment in moments])
    assert rule.grid == "elapsed"
    year = timedelta(days=365.2425)
    np.testing.assert_allclose(np.diff(times), step / year, rtol=1e-5)
    assert times[0] == pytest.approx(1970 + (start - datetime(1970, 1, 1)) / year, abs=1e-12)
    assert [rule.format(t) for t in times] == [moment.strftime(form) for moment in moments]
    after = [(moments[-1] + k * step).strftime(form) for k in (1, 2, 3)]
    assert [rule.format(t) for t in rule.future(times[-1], 3)] == after


def test_times_between_grid_points_are_cut_to_the_form():
    rule, _ = rule_of(monthly(24, "{Y}-{m:02}"))
    assert [rule.format(t) for t in (1949.99, 1950.0, 1950.08, 1950.084)] == [
        "1949-12",
        "1950-01",
        "1950-01",
        "1950-02",
    ]
    rule, times = rule_of(monthly(24, "{Y}-{m:02}-{d:02}"))
    assert rule.format((times[0] + times[1]) / 2) == "1949-01-16"


def test_the_sign_of_am_and_pm():
    rule, times = rule_of(["1/31/2004 12:30 AM", "1/31/2004 11:30 AM", "1/31/2004 12:30 PM", "1/31/2004 11:30 PM"])
    hours = (times - times[0]) * 365.2425 * 24
    np.testing.assert_allclose(hours, [0, 11, 12, 23], atol=1e-6)
    assert rule.format(times[-1]) == "1/31/2004 23:30"


def test_fractions_of_a_second():
    rule, times = rule_of(["2004-01-31 09:00:00.250", "2004-01-31 09:00:00.500", "2004-01-31 09:00:00.750"])
    assert [rule.format(t)[-6:] for t in times] == ["00.250", "00.500", "00.750"]


def test_changing_utc_offsets_are_put_on_one_clock():
    written = ["2004-03-28T00:30:00+01:00", "2004-03-28T01:30:00+01:00", "2004-03-28T03:30:00+02:00"]
    rule, times = rule_of(written)
    np.testing.assert_allclose(np.diff(times) * 365.2425 * 24, 1, rtol=1e-6)
    assert rule.format(times[0]) == "2004-03-27T23:30:00Z"


@pytest.mark.parametrize("word", ["red", "12", "1949.04", "lot 1949", "1949-1950-x", "09:00"])
def test_other_text_is_no_date(word):
    assert read_dates(time_cells([word] * 3), "x", str) is None


@pytest.mark.parametrize("name", ["June", "July", "JUNE", "june"])
def test_short_names_of_months_are_whole_names(name):
    rule, times = rule_of([f"{name} {year}" for year in (1949, 1950, 1951)])
    assert [rule.format(t) for t in times] == [f"{name} {year}" for year in (1949, 1950, 1951)]
    assert rule.format(times[0] + 3 / 12).lower() in ("september 1949", "october 1949")


def test_whole_names_take_no_dot():
    rule, times = rule_of(["Jan. 1949", "Feb. 1949", "March 1949", "April 1949"])
    assert [rule.format(t) for t in rule.future(times[-1], 2)] == ["May 1949", "June 1949"]


def test_dotted_months_are_dates_where_no_number_is_written_so():
    assert read_dates(time_cells(["09.2019", "10.2019", "11.2019"]), "x", str).form == "{m:02}.{Y}"
    assert read_dates(time_cells(["10.2019", "10.1523", "11.2034"]), "x", str) is None  # a rate of exchange
    with pytest.raises(DataError, match="column 'x', 3: '9.8' is not a date written like the others"):
        read_dates(time_cells(["09.2019", "10.2019", "11.2019", "9.8"]), "x", str)


def test_compact_dates_with_another_cell_among_them():
    with pytest.raises(DataError, match="column 'month', 2: '194913' is not a date written like the others"):
        read_dates(time_cells(["194911", "194912", "194913"]), "month", str, compact=True)
    assert read_dates(time_cells(["1949.04", "1949.12", "1949.21"]), "month", str, compact=True) is None


@pytest.mark.parametrize("offset", ["+99:00", "-16:00", "+0960", "+23:59"])
def test_no_clock_is_so_far_from_utc(offset):
    with pytest.raises(DataError, match="is not a date written like the others"):
        rule_of([f"2004-03-28T00:30:00{offset}"] * 2)
    assert rule_of([f"2004-03-28T00:30:00{o}" for o in ("+14:00", "-15:59", "+0530", "z")])[0].form.endswith("Z")


@pytest.mark.parametrize(
    "cells",
    [
        ["1/31/2004 0:30 PM"] * 2,
        ["1/31/2004 13:30 AM"] * 2,
        ["1/31/2004 10:30 AM", "1/31/2004 11:30"],  # before or after noon?
        ["2004-03-28T00:30:00+01:00", "2004-03-28T01:30:00"],  # on which clock?
        ["5 Jan 12, 2020"] * 2,
    ],
)
def test_half_a_clock_is_no_time(cells):
    with pytest.raises(DataError, match=f"'{cells[-1]}' is not a date written like the others"):
        rule_of(cells)


def test_midnight_may_go_without_its_clock():
    _, times = rule_of(["1/31/2004 11:00 PM", "2/1/2004", "2/1/2004 1:00 AM"])
    np.testing.assert_allclose(np.diff(times) * 365.2425 * 24, 1, rtol=1e-6)
    assert len(rule_of(["2004-01-31T22:00:00Z", "2004-02-01", "2004-02-02T02:00:00Z"])[1]) == 3


def test_seasons_are_no_months():
    with pytest.raises(DataError, match="'2001-02' may be a month or a season of two years: write one year, or dates"):
        rule_of(["2001-02", "2002-03", "2003-04"])
    assert rule_of(["2001-02", "2001-03", "2002-03"])[0].grid == "months"


def notes_on(tmp_path, name, written):
    path = tmp_path / "a.csv"
    path.write_text(f"{name},y\n" + "".join(f"{w},{k}\n" for k, w in enumerate(written)))
    data = load_csv(path)
    return data, [note for note in data.notes if "was read as" in note]


def test_dotted_dates_that_may_be_either_way_round_are_noted(tmp_path):
    data, notes = notes_on(tmp_path, "date", ["01.01.2020", "02.01.2020", "03.01.2020"])
    assert notes == ["'02.01.2020' (column 'date', line 3) was read as day.month.year, which no other date confirms."]
    assert data.format_time(data.X[1, 0] + 1 / 365.2425) == "03.01.2020"
    assert notes_on(tmp_path, "date", ["02.01.2020", "03.01.2020", "13.01.2020"])[1] == []
    # the first file settles the next one, which cannot have notes, unless its dates were written otherwise
    np.testing.assert_array_equal(data.transform_time(["02.01.2020"]), data.X[1])
    data, _ = notes_on(tmp_path, "date", ["2020-01-01", "2020-01-02", "2020-01-03"])
    with pytest.raises(DataError, match="'02.01.2020' may be day/month or month/day, and no other date tells which"):
        data.transform_time(["02.01.2020"])


def test_points_do_not_settle_what_slashes_leave_open():
    with pytest.raises(DataError, match="3: '02/03/2020' may be day/month or month/day"):
        read_dates(time_cells(["01.01.2020", "02.02.2020", "03.03.2020", "02/03/2020"]), "x", str)


def test_numbers_that_may_be_dates_are_noted(tmp_path):
    said = " was read as a number: if it is a date, write YYYY-MM or YYYY-MM-DD."
    for name, first, second, third in (
        ("time", "1871.10", "1871.11", "1871.12"),
        ("year", "187110", "187111", "187112"),
        ("t", "10.1871", "11.1871", "12.1871"),
    ):
        data, notes = notes_on(tmp_path, name, [first, second, third])
        assert (data.X[0, 0], notes) == (float(first), [f"'{first}' (column '{name}', line 2){said}"])
    data, notes = notes_on(tmp_path, "date", ["1871.10", "1871.11", "1871.12"])
    assert data.time_kind == "date"
    assert notes == ["'1871.10' (column 'date', line 2) was read as a month, not as a decimal year."]
    assert notes_on(tmp_path, "time", ["1958.04", "1958.12", "1958.21"])[1] == []


def test_day_and_month_are_told_apart_by_any_conclusive_date():
    assert rule_of(["03/04/1949", "30/04/1949", "02/05/1949"])[0].form == "{d:02}/{m:02}/{Y}"
    assert rule_of(["03/04/1949", "03/14/1949", "03/24/1949"])[0].form == "{m:02}/{d:02}/{Y}"
    assert rule_of(["01/01/1949", "02/02/1949", "03/03/1949"])[0].grid == "elapsed"  # either way the same


def write_csv(path, written, values):
    path.write_text("when,y\n" + "".join(f'"{w}",{v}\n' for w, v in zip(written, values, strict=True)))
    return path


def test_another_file_is_read_by_the_rule_of_the_first(tmp_path):
    data = load_csv(write_csv(tmp_path / "a.csv", monthly(30, "{d:02}/{m:02}/{Y}", day=31), range(30)))
    expected = data.future(3)
    np.testing.assert_array_equal(data.transform_time(["31/07/1951", "31/08/1951", "30/09/1951"]), expected)
    np.testing.assert_array_equal(data.transform_time(["1951-07", "1951-08", "1951-09"]), expected)
    ambiguous = data.transform_time(["01/02/1951"])  # day first, as in the first file
    np.testing.assert_array_equal(ambiguous, data.transform_time(["1951-02-01"]))
    assert data.transform_time(["2 Feb 1951"]) > ambiguous
    with pytest.raises(DataError, match="must hold dates such as 01/01/1970, not '7'"):
        data.transform_time([7, 8])


def test_the_rule_survives_json(tmp_path):
    columns = load_csv(write_csv(tmp_path / "a.csv", monthly(30, "{b} {Y}"), range(30))).columns
    assert Columns.from_dict(json.loads(json.dumps(columns.to_dict()))) == columns


@pytest.mark.parametrize("form", ["{Y.__class__}", "{Y:9999}", "{x}", "{", "{{Y}}"])
def test_a_stored_form_is_only_a_form(form):
    with pytest.raises(ValueError, match="unknown date form"):
        check_form(form)


def test_numbers_as_times_keep_their_value_and_digits():
    rule = TimeRule.of_numbers(np.arange(1949, 1961, 1 / 12), "time")
    assert (rule.kind, rule.format(1949 + 1 / 12)) == ("decimal year", "1949.0833")
    years = TimeRule.of_numbers(np.arange(1500.0, 1870), "year")
    assert (years.kind, years.format(1643.4), years.step) == ("decimal year", "1643", 1.0)
    seconds = TimeRule.of_numbers(np.arange(0, 3, 0.25), "time", "s")
    assert (seconds.kind, seconds.format(0.5), seconds.format(-0.0)) == ("number", "0.50", "0.00")
    rounded = TimeRule.of_numbers(np.round(1958 + np.arange(500) / 12, 2), "time")
    assert rounded.step == pytest.approx(1 / 12, rel=1e-4)  # the median step would be 0.08
    assert TimeRule.of_numbers(np.array([3.0]), "t").step == 1


@given(st.dates(date(1000, 1, 1), date(2900, 1, 1)))
def test_months_and_days_agree_with_the_calendar(day):
    moment = np.array([(day - date(1970, 1, 1)).days * DAY])
    months = month_number(moment)
    assert months[0] == 12 * day.year + day.month - 1
    assert day_in_month(months, day.day)[0] == moment[0]
    assert write(moment[0], "{Y}-{m:02}-{d:02}") == day.isoformat()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.datetimes(datetime(1600, 1, 1), datetime(2400, 1, 1)), min_size=3, max_size=20, unique=True),
    st.sampled_from(["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y", "%Y/%m/%d"]),
)
def test_dates_survive_a_file(tmp_path_factory, moments, form):
    written = sorted({moment.strftime(form) for moment in moments}, key=lambda text: datetime.strptime(text, form))
    if len(written) < 3:
        return
    path = tmp_path_factory.mktemp("dates") / "a.csv"
    data = load_csv(write_csv(path, written, range(len(written))))
    assert data.time_kind == "date"
    assert [data.format_time(t) for t in data.X[:, 0]] == written
    np.testing.assert_array_equal(data.transform_time(written), data.X[:, 0])
