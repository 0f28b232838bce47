"""Words of time on the page: when a cycle peaks, in which unit a distance is told, gaps, holidays, shared periods."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fathom
from fathom.data.dataset import Dataset
from fathom.data.holidays import Holidays
from fathom.data.timeaxis import YEAR, TimeRule
from fathom.gp.exact import additive_parts, decompose
from fathom.report import prose
from fathom.report.draw.scales import axis_ticks, clock_ticks, frequency_ticks, lag_ticks
from fathom.report.facts.setting import Axis, singular
from fathom.report.measure.anatomy import Anatomy, parts_told, products_of
from fathom.report.measure.checks import check
from fathom.report.measure.gather import gather
from fathom.report.words.parameters import rounded, rows
from fathom.report.words.text import listed

HOUR = 3_600_000_000  # microseconds
DAY = 24 * HOUR
SPANS = {
    "hours": TimeRule("date", "elapsed", HOUR, "{Y}-{m:02}-{d:02}T{H:02}:{M:02}:{S}+01:00"),
    "days": TimeRule("date", "elapsed", DAY, "{Y}-{m:02}-{d:02}"),
    "business": TimeRule("date", "business days", 1, "{Y}-{m:02}-{d:02}"),
    "months": TimeRule("date", "months", 1, "{Y}-{m:02}"),
    "quarters": TimeRule("date", "months", 3, "{Y}Q{q}"),
    "years": TimeRule("decimal year", "numbers", 1 / 12),
}


def axis_of(kind, low="2024-01-01", span=1.0):
    rule = SPANS[kind]
    first = 2024.0 if kind in ("months", "quarters", "years") else at(rule, low)
    return Axis("t", "", rule, first, first + span)


def at(rule, text):
    return float(rule.value(np.array(np.datetime64(text, "us").astype(np.int64))))


def days(n, start="2024-01-01"):
    """A daily data set to describe, with its moments."""
    rule = SPANS["days"]
    x = at(rule, start) + np.arange(n) * DAY / YEAR
    return rule, x


def facts_of(kernel, data):
    model = fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y)
    return model, gather(model, data)


# -- when a cycle is highest -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "moment", "days_long", "words"),
    [
        ("days", "2024-06-07", 7.0, "on Fridays"),
        ("hours", "2024-06-07T15:00", 7.0, "on Fridays"),
        ("business", "2024-06-07", 7.0, "on Fridays"),
        ("business", "2024-06-10", 7.0, "on Mondays"),
        ("hours", "2024-06-07T18:10", 1.0, "around 18:00 (UTC+01:00)"),
        ("hours", "2024-06-07T23:40", 1.0, "around 00:00 (UTC+01:00)"),
        ("days", "2024-06-25", 365.2425 / 12, "around day 25 of the month"),
        ("days", "2024-06-25", 365.2425 / 4, "in the third month of a quarter"),
        ("days", "2024-06-25", 365.2425 / 2, "in June and December"),
        ("days", "2024-06-25", 365.2425, "in June"),
        ("hours", "2024-06-07T18:10", 2.5, ""),
    ],
)
def test_the_peak_of_a_calendar_cycle_is_named(kind, moment, days_long, words):
    axis = axis_of(kind)
    assert axis.phase(at(axis.rule, moment), days_long / 365.2425) == words


def test_months_and_quarters_name_theirs():
    assert axis_of("months").phase(2024 + 11 / 12, 1.0) == "in December"
    assert axis_of("quarters").phase(2024 + 9 / 12, 1.0) == "in the fourth quarter"
    assert axis_of("years").phase(2024 + 1 / 12, 1.0) == "in February"
    assert axis_of("years").phase(2024.01, 7 / 365.2425) == ""  # decimals of a year say no weekday
    assert Axis("t", "hours", TimeRule("number", "numbers", 1.0), 0.0, 90.0).phase(18.0, 24.0) == ""
    assert Axis("x", "m", None, 0.0, 9.0).phase(1.0, 1.0) == ""


@given(st.integers(0, 20_000))
def test_the_nearest_day_names_the_weekday(day):
    axis = replace(axis_of("days"), low=1970.0)
    expected = ("Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday")[day % 7]
    for off in (-0.4, 0.0, 0.4):
        assert axis.phase(1970 + (day + off) * DAY / YEAR, 7 / 365.2425) == f"on {expected}s"


def test_the_next_peak_is_as_fine_as_its_cycle():
    axis, friday = axis_of("hours", span=0.1), at(SPANS["hours"], "2024-06-07T14:00")
    assert axis.occasion(friday, 7 / 365.2425) == "Friday 7 June 2024"
    assert axis.occasion(friday, 1 / 365.2425) == "Friday 7 June 2024, 14:00"
    assert axis.occasion(friday, 0.3) == "7 June 2024, 14:00"
    assert axis_of("months", span=12.0).occasion(2024.5, 1.0) == "2024-07"


# -- units -------------------------------------------------------------------------------------------------------


@given(st.sampled_from(sorted(SPANS)), st.floats(-4.4, 2.0).map(lambda power: 10.0**power))
def test_no_distance_is_a_small_part_of_a_year(kind, value):
    axis = axis_of(kind)
    text = axis.length(value)
    number, unit = re.fullmatch(r"([\d.,]+) ([a-z ]+)", text).groups()
    size, plural = axis.scale(value)
    assert unit in (plural, singular(plural))
    assert float(number.replace(",", "")) * size == pytest.approx(value, rel=0.2)  # one digit or two
    least = {"days": 1 / 365.2425, "business": 7 / 5 / 365.2425}.get(kind, 0.0)
    assert value / size >= 0.7 or size <= 1.01 * max(least, 1 / 365.2425 / 86400)


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("hours", 1 / 365.2425, "24 hours"),
        ("days", 1 / 365.2425, "1 day"),
        ("days", 7 / 365.2425, "7 days"),
        ("business", 7 / 365.2425, "5 business days"),
        ("business", 21 / 365.2425, "3 weeks"),
        ("days", 0.002737 * 365, "1 year"),
    ],
)
def test_spans_of_the_calendar(kind, value, words):
    assert axis_of(kind).length(value) == words


def test_parameters_are_in_units_that_fit():
    rule, x = days(60)
    y = np.sin(2 * np.pi * np.arange(60) / 7) + 0.05 * np.arange(60)
    data = Dataset(x[:, None], y, ("day",), ("visits",), {"visits": "people"}, 0, rule=rule)
    kernel = (
        "Per(lengthscale=2, period=0.0191653 fixed) + Lin(variance=100, location=2024.02)"
        "*Before(location=2024.1, steepness=500) + SE(lengthscale=0.02) + WN(variance=0.1)"
    )
    _, facts = facts_of(kernel, data)
    table = {(c.head, row.name): row for c in facts.components for row in rows(c)}
    assert (table["cycle", "period"].value, table["cycle", "period"].unit) == ("7", "days")
    assert table["cycle", "period"].interval == "of the calendar, not fitted"
    assert table["smooth", "distance over which it varies"].value == "7.3"
    assert table["smooth", "distance over which it varies"].unit == "days"
    assert table["line", "abruptness of the change"].value == "1.37"
    assert table["line", "abruptness of the change"].unit == "per day"
    assert table["line", "variance"].unit == "(people)² per (week)²"
    assert float(table["line", "variance"].value) == pytest.approx(100 * (7 / 365.2425) ** 2, rel=0.05)
    assert all("year" not in row.unit for row in table.values())


def test_ticks_of_hours_stand_at_round_ones_and_name_their_day_once():
    rule = SPANS["hours"]
    low, high = at(rule, "2024-06-03T07:20"), at(rule, "2024-06-04T16:00")
    ticks = axis_ticks(Axis("t", "", rule, low, high), low, high, 9)
    assert [text for _, text in ticks] == ["12:00, 3 Jun 2024", "4 Jun", "12:00"]
    assert [rule.format(value)[11:16] for value, _ in ticks] == ["12:00", "00:00", "12:00"]
    close = clock_ticks(rule, at(rule, "2024-06-03T07:20"), at(rule, "2024-06-03T07:50"), 4)
    assert [text for _, text in close] == ["07:20, 3 Jun 2024", "07:30", "07:40", "07:50"]


def test_distances_and_frequencies_are_counted_in_the_unit_of_their_axis():
    axis = axis_of("days")
    ticks, unit = lag_ticks(axis, 20 / 365.2425)
    assert (unit, [text for _, text in ticks]) == ("weeks", ["0", "1", "2"])
    ticks, unit = frequency_ticks(axis, 0.5 * 365.2425)
    assert unit == "week"
    assert ticks[-1][0] * 7 / 365.2425 == pytest.approx(float(ticks[-1][1]))
    assert frequency_ticks(axis_of("hours"), 12 * 365.2425)[1] == "day"
    assert frequency_ticks(axis_of("months", span=12.0), 6.0)[1] == "year"
    assert frequency_ticks(Axis("depth", "m", None, 0.0, 9.0), 2.0)[1] == "m"
    assert lag_ticks(Axis("depth", "", None, 0.0, 9.0), 2.0)[1] == "units of depth"


# -- a page of days ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def visits():
    """Two months of days with a weekly cycle, a gap and holidays."""
    rule, x = days(75)
    moments = np.arange("2024-01-01", "2024-03-16", dtype="datetime64[D]")
    weekday = (moments.astype(int) + 3) % 7
    y = 50 + 10 * (weekday == 4) - 5 * (weekday == 0) - 20 * (np.arange(75) % 30 == 0) + 0.0
    y = y + np.random.default_rng(0).standard_normal(75)
    keep = np.ones(75, dtype=bool)
    keep[20:33] = False
    listed_days = x[[0, 30, 60]]
    later = x[-1] + 3 * DAY / YEAR
    known = Holidays("DE", (*(listed_days - 1e-6), later), (*(listed_days + 0.0027), later + 0.0027))
    data = Dataset(x[keep, None], y[keep], ("day",), ("visits",), {}, 0, rule=rule, holidays=known)
    kernel = f"Per(variance=30, lengthscale=0.3, period={7 / 365.2425} fixed) + WN(variance=1) + {known.kernel()}"
    return data, *facts_of(kernel.replace("Days(", "Days(variance=300, "), data)


def test_a_weekly_cycle_names_its_days(visits):
    _, _, facts = visits
    texts = {c.head: prose.describe(c) for c in facts.components}
    assert "It is highest on Fridays and lowest on Mondays." in " ".join(texts["cycle"].sentences)
    assert "at the next peak, on Friday 22 March 2024, the model expects between" in prose.headline(facts)


def test_a_gap_is_told_once_before_one_relies_on_the_page(visits):
    data, _, facts = visits
    said = [line for line in prose.remarks(facts) if "no observations" in line]
    assert said == [
        "There are no observations between 20 January and 3 February 2024: what is drawn there is the model's guess."
    ]
    setting = replace(
        facts.setting, gaps=tuple((2024 + k / 50, 2024 + (k + 1.2 + k / 50) / 50) for k in range(0, 20, 3))
    )
    (many,) = (line for line in prose.remarks(replace(facts, setting=setting)) if "no observations" in line)
    assert many.count("between") == 3
    assert "and in four shorter gaps" in many
    whole = replace(facts, setting=replace(facts.setting, gaps=()))
    assert not any("no observations" in line for line in prose.remarks(whole))
    assert data.gaps() == list(facts.setting.gaps)


def test_public_holidays_are_a_part_with_its_size_and_days(visits):
    _, _, facts = visits
    (part,) = (c for c in facts.components if c.holidays is not None)
    texts = prose.describe(part)
    assert texts.name == "Public holidays"
    assert texts.summary == "Public holidays about 21 lower."
    body = " ".join(texts.sentences)
    assert (
        "It applies on two days of the record, those of DE, and is nothing on all others." in body
    )  # one is in the gap
    assert texts.extrapolation == ["It applies next on 18 March 2024."]
    assert "…" in rounded(f"Days(starts={list(np.arange(40.0))}, ends={list(np.arange(40.0))})")


def test_holidays_that_matter_to_nothing_are_said_to(visits):
    data, _, _ = visits
    _, facts = facts_of("Per(variance=30, period=0.0191653) + WN(variance=1)", data)
    assert "Public holidays (DE) make no difference that these data could show." in prose.remarks(facts)
    _, facts = facts_of("Per(variance=30, period=0.0191653) + WN(variance=1)", replace(data, holidays=None))
    assert not any("holidays" in line for line in prose.remarks(facts))


def test_what_holds_on_single_days_has_no_shape_to_be_checked(visits):
    data, model, _ = visits
    checked = {c.subject for c in check(model, data, n_draws=50)}
    assert not any("Days" in subject for subject in checked)
    assert any("Per" in subject for subject in checked)


# -- cycles of one period ----------------------------------------------------------------------------------------

TWO = (
    "Per(variance=4, lengthscale=1, period=1 fixed)"
    " + SE(variance=9, lengthscale=3)*Per(lengthscale=0.5, period=1 fixed)"
    " + Lin(variance=1, location=2005) + Per(variance=1, lengthscale=1, period=2.7) + WN(variance=0.3)"
)


@pytest.fixture(scope="module")
def together():
    x = 2000 + np.arange(120) / 12
    y = (
        3 * np.sin(2 * np.pi * x)
        + np.sin(4 * np.pi * x) * (x - 2004)
        + 0.3 * np.random.default_rng(1).standard_normal(120)
    )
    data = Dataset(x[:, None], y, ("month",), ("sales",), {}, 0, rule=SPANS["months"])
    return data, *facts_of(TWO, data)


def test_the_posterior_of_merged_parts_is_that_of_their_sum(together):
    data, model, _ = together
    anatomy, posterior = Anatomy(model), model.posterior_
    (merged,) = (i for i, part in enumerate(anatomy.parts) if len(products_of(part)) > 1)
    own = anatomy.groups[merged]
    at = np.linspace(1999, 2012, 25)[:, None]
    split = decompose(posterior, model.scaler_.x(at), additive_parts(posterior.kernel))
    mean = sum(split.means[i][:, 0] for i in own) * anatomy.y_sd
    cov = sum(split.cov(i, j) for i in own for j in own)  # what the two share, covariance included
    found = anatomy.at([merged], at)
    np.testing.assert_allclose(found[0], mean, atol=1e-9)
    np.testing.assert_allclose(found[1], np.sqrt(cov.diagonal()) * anatomy.y_sd, atol=1e-7)
    whole = sum(anatomy.at([i], data.X)[0] for i in range(len(anatomy.parts)))
    np.testing.assert_allclose(whole + anatomy.level, model.predict(data.X), atol=1e-9)


def test_only_cycles_of_the_same_period_are_merged(together):
    _, model, facts = together
    told = parts_told(model)
    assert sorted(len(group) for group in told.groups) == [1, 1, 1, 2]
    assert sorted(i for group in told.groups for i in group) == list(range(5))
    assert len(facts.components) == 4
    (yearly,) = (c for c in facts.components if c.also)
    assert yearly.part == "SE*Per + Per" or yearly.part == "Per + SE*Per"
    assert {f.kind for f in yearly.all_factors} == {"Per", "SE"}


def test_merged_cycles_are_told_as_one(together):
    _, model, facts = together
    (yearly,) = (c for c in facts.components if c.also)
    texts = prose.describe(yearly)
    assert texts.name == "Yearly cycle"
    assert texts.summary.startswith("A yearly cycle, part of which drifts over about 3 years, with swings of about ")
    body = " ".join(texts.sentences)
    assert (
        "It adds up two cycles of the same period: one whose shape drifts over about 3 years and one that repeats"
        " unchanged. In its last year it is highest in "
    ) in body
    assert texts.extrapolation == [
        "What drifts of the cycle has faded after about 3 years, and the rest of it repeats."
    ]
    assert sum(row.name == "period" for row in rows(yearly)) == 2
    assert sum(row.interval == "of the calendar, not fitted" for row in rows(yearly)) == 2
    assert prose.headline(facts).count("yearly cycle") == 1
    subjects = {c.subject for c in check(model, together[0], n_draws=20)}
    assert yearly.part in subjects


@pytest.mark.parametrize(
    ("kernel", "summary", "first", "ahead"),
    [
        (
            "Per({p}) + Per(lengthscale=0.4, {p})",
            "A yearly cycle",
            "Every cycle is the same",
            "The cycle repeats unchanged.",
        ),
        (
            "Per({p}) + Lin(location=1990)*Per({p})",
            "A yearly cycle",
            "one whose swings change linearly with time",
            "The cycle repeats, its swings changing along the same line.",
        ),
        (
            "SE(lengthscale=2)*Per({p}) + SE(lengthscale=5)*Per({p})",
            "A yearly cycle whose shape drifts over about 2 years and 5 years",
            "one whose shape drifts over about 2 years and one whose shape drifts over about 5 years",
            "The cycle keeps its period; what drifts of the cycle has faded after about 5 years.",
        ),
    ],
)
def test_words_for_what_is_told_together(together, kernel, summary, first, ahead):
    data = together[0]
    _, facts = facts_of(kernel.format(p="period=1 fixed") + " + WN(variance=1)", data)
    (yearly,) = (c for c in facts.components if c.head == "cycle")
    texts = prose.describe(yearly)
    assert texts.summary.split(", with")[0] == summary
    body = " ".join(texts.sentences)
    assert first in body or all(piece in body for piece in first.split(" and "))
    assert texts.extrapolation == [ahead]


def test_cycles_in_different_stretches_stay_apart(together):
    data = together[0]
    kernel = "Per(period=1)*Before(location=2005, steepness=20) + Per(period=1)*After(location=2005, steepness=20)"
    _, facts = facts_of(f"{kernel} + WN(variance=1)", data)
    assert [len(c.also) for c in facts.components] == [0, 0, 0]
    assert listed([c.head for c in facts.components]) == "cycle, cycle and noise"
