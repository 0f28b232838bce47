"""What is measured once for all sentences: how sizes go, where a cycle peaks, what the slow parts do together."""

from dataclasses import replace

import numpy as np
import pytest

import fathom
from fathom.data.dataset import Dataset
from fathom.data.timeaxis import TimeRule
from fathom.report import prose
from fathom.report.contents import make
from fathom.report.facts.part import Factor
from fathom.report.facts.setting import Axis
from fathom.report.measure.course import course_of, shown, way_of
from fathom.report.measure.gather import gather
from fathom.report.measure.steps import steps_ahead, steps_between
from fathom.report.words import headline
from fathom.report.words.places import both
from tests.report.test_prose import DAILY, MONTHLY

QUARTERLY = TimeRule("date", "months", 3.0, "{Y}Q{q}")


def series(y, rule=MONTHLY, start=2010.0, name="sales", **options):
    x = np.concatenate([[start], rule.future(start, len(y) - 1)])
    return Dataset(x[:, None], np.asarray(y, float), ("date",), (name,), {}, 0, rule=rule, **options)


def facts_of(kernel, data, horizon=None):
    return gather(fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y), data, horizon)


def only(facts, head):
    (found,) = (c for c in facts.components if c.head == head)
    return found


# -- how sizes go ------------------------------------------------------------------------------------------------------


def test_sizes_within_a_tenth_are_the_same():
    assert [way_of(*pair) for pair in ((1, 1.05), (1.05, 1), (1, 1.2), (1.2, 1), (0, 0))] == [
        *("steady", "steady", "growing", "shrinking", "steady")
    ]


def test_a_size_is_averaged_over_thirds_so_that_a_zero_means_nothing():
    x = np.linspace(0, 9, 901)
    course = course_of(x[::-1], x[::-1] * 0.5)  # zero at the first observation
    assert course.way == "growing"
    assert (course.first, course.last) == pytest.approx((np.sqrt(3) / 2, 0.5 * np.sqrt(57)), rel=0.02)


def test_a_size_may_be_smallest_inside_but_only_well_inside():
    x = np.linspace(0, 10, 101)
    for zero, way in ((5.0, "smallest inside"), (1.0, "growing"), (9.5, "shrinking"), (-3.0, "growing")):
        line = Factor("Lin", (0,), {"variance": (1.0,), "location": (zero,)})
        found = course_of(x, np.abs(x - zero), (line,))
        assert found.way == way
        assert found.least_at == (zero if way == "smallest inside" else None)


@pytest.mark.parametrize(("zero", "way", "word"), [(2009.0, "growing", "grow"), (2021.0, "shrinking", "shrink")])
def test_all_sentences_on_growth_read_what_was_measured(zero, way, word):
    i = np.arange(120)
    data = series((2010 + i / 12 - zero) * np.sin(2 * np.pi * i / 12))
    facts = facts_of(f"Per(variance=1, lengthscale=1, period=1)*Lin(location={zero}) + WN(variance=0.01)", data)
    c, texts = only(facts, "cycle"), prose.describe(only(facts, "cycle"))
    assert c.shape.course.way == way
    assert f"{way} with time" in texts.name
    assert f"swings that {word}" in texts.summary
    assert any(f"Its swings {word} linearly with time" in text for text in texts.sentences)
    assert f"whose swings {'grew' if way == 'growing' else 'shrank'} from" in prose.headline(facts)
    assert texts.extrapolation[-1] == f"Its swings would go on {way} along the same line."


def test_a_line_in_the_kernel_that_the_data_do_not_follow_is_not_told():
    """The prior lets swings grow; the data have them shrink, and a drift of the shape lets the posterior follow."""
    i = np.arange(120)
    data = series((12 - i / 12) * np.sin(2 * np.pi * i / 12))
    kernel = "SE(variance=4, lengthscale=3)*Per(lengthscale=1, period=1)*Lin(location=2005) + WN(variance=0.01)"
    facts = facts_of(kernel, data)
    c = only(facts, "cycle")
    assert c.growths[0].direction == "growing"
    assert c.shape.course.way == "shrinking"
    said = " ".join([prose.headline(facts), *(t for t in prose.describe(c).sentences), prose.describe(c).summary])
    assert "grow" not in said
    assert "swings shrank from about 2" in said
    assert prose.describe(c).extrapolation[-1] == "Its swings would follow the same line."


def test_noise_has_the_size_of_what_is_left_over():
    rng = np.random.default_rng(0)
    data = series(3 + 0.5 * rng.standard_normal(96))
    small, large = (facts_of(f"WN(variance={v})", data) for v in (0.01, 1.0))
    assert small.noise_sd == only(small, "noise").shape.size == pytest.approx(np.std(data.y), rel=0.02)
    assert large.noise_sd == pytest.approx(1.0)
    growing = facts_of("WN(variance=0.01)*Lin(location=2010)", series((np.arange(96) / 50) * rng.standard_normal(96)))
    course = only(growing, "noise").shape.course
    assert growing.noise == course
    assert course.first > 0.2 * course.last  # although the line is zero at the first observation


# -- steps of the data, and peaks at them ------------------------------------------------------------------------------


def test_steps_within_and_beyond_the_data():
    axis = Axis("date", "", MONTHLY, 2010.0, 2011.5)
    assert steps_between(axis, 2011.0, 2011.25) == pytest.approx(2011 + np.arange(4) / 12)
    assert steps_ahead(axis, 2011.75, 9) == pytest.approx(2011.5 + np.arange(1, 4) / 12)
    assert len(steps_between(axis, 2011.25, 2011.0)) == 0
    assert len(steps_between(replace(axis, rule=None), 2010.0, 2011.0)) == 0
    hourly = TimeRule("number", "numbers", 1.0)
    many = steps_between(Axis("t", "h", hourly, 0.0, 9000.0), 0.0, 9000.0)
    assert 1000 < len(many) <= 2000
    assert np.ptp(np.diff(many)) == 0


def test_a_cycle_that_its_steps_sample_poorly_is_looked_at_for_longer():
    assert shown(12.0, 1.0) == 12.0
    assert shown(4.0, 1.0) == 4.0  # quarters of a year: the same four places each time
    assert shown(2.9, 1.0) == pytest.approx(3 * 2.9)
    assert shown(5.0, 0.0) == 5.0


@pytest.mark.parametrize(
    ("rule", "per_year", "high", "low"),
    [(MONTHLY, 12, "December", "January"), (QUARTERLY, 4, "the fourth quarter", "the first quarter")],
)
def test_the_next_peak_is_in_the_month_of_the_last(rule, per_year, high, low):
    """A sharp peak in the last step of a year, a trough in the first, on a steep trend that would move it."""
    i = np.arange(10 * per_year)
    season = 40.0 * (i % per_year == per_year - 1) - 40.0 * (i % per_year == 0)
    data = series(300 + 24 * i / per_year + season, rule)
    kernel = "Lin(variance=500, location=2015) + Per(variance=400, lengthscale=0.4, period=0.9985) + WN(variance=1)"
    facts = facts_of(kernel, data, horizon=2021.5)
    c = only(facts, "cycle")
    assert f"highest in {high} and lowest in {low}" in " ".join(prose.describe(c).sentences)
    assert facts.forecast.part == c.number
    expected = "2020-12" if per_year == 12 else "2020Q4"
    assert f"at the next peak, around {expected}, the model expects between " in prose.headline(facts)
    x = np.array([[facts.forecast.peak.at]])
    model = fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y)
    assert facts.forecast.peak.mean == pytest.approx(model.predict(x)[0])


def test_months_are_those_of_the_calendar():
    """1 March is 59 days into a year, less than a sixth of it."""
    rule = TimeRule("date", "elapsed", 86_400_000_000.0, "{Y}-{m:02}-{d:02}")
    axis = Axis("day", "", rule, 2020.0, 2024.0)
    march = float(rule.future(2022.9999, 60)[-1])
    assert (rule.format(march)[5:], axis.month(march)) == ("03-01", "March")
    assert axis.phase(march, 1.0) == "in March"


def test_no_peak_is_announced_for_a_cycle_that_has_ended_or_hardly_repeats():
    i = np.arange(120)
    data = series(np.sin(2 * np.pi * i / 12) * (i < 60) + 0.01 * i)
    ended = "Per(lengthscale=1, period=1)*Before(location=2015, steepness=20) + WN(variance=0.1)"
    loose = "SE(lengthscale=0.3)*Per(lengthscale=1, period=1) + WN(variance=0.1)"
    for kernel in (ended, loose):
        facts = facts_of(kernel, data, horizon=2022.0)
        assert (facts.forecast.cycle, facts.forecast.part) == (None, None)
        assert "peak" not in prose.headline(facts).split(";")[-1]


def test_a_cycle_that_the_record_does_not_hold_once_is_no_cycle():
    i = np.arange(60)
    data = series(np.sin(i / 20))
    c = only(facts_of("Per(variance=1, lengthscale=1, period=9) + WN(variance=0.01)", data), "cycle")
    texts = prose.describe(c)
    assert texts.name == "Slow wave"
    assert texts.summary.startswith("A slow wave, less than one round of it, that ranges over about ")
    assert texts.sentences[1] == (
        "The model takes it for a cycle of about 9 years, but the record is too short to see it repeat."
    )
    assert "nothing in the data shows that it comes round" in texts.extrapolation[0]


def test_a_cycle_is_not_described_more_finely_than_its_steps():
    i = np.arange(48)
    data = series(np.array([3.0, -1, 0, -2])[i % 4], QUARTERLY)
    c = only(facts_of("Per(variance=5, lengthscale=0.05, period=1) + WN(variance=0.1)", data), "cycle")
    assert "Within a cycle every step has a value of its own." in prose.describe(c).sentences


# -- what all parts do together ----------------------------------------------------------------------------------------

STEP = "*After(location=2015, steepness=100)"


def test_a_step_that_all_parts_show_is_a_lower_level():
    y = 20 - 5.0 * (np.arange(120) >= 61)
    facts = facts_of(f"C(variance=25){STEP} + WN(variance=0.1)", series(y))
    c = only(facts, "step")
    (jump,) = c.jumps
    assert jump.change == pytest.approx(-5, abs=0.2)
    assert prose.describe(c).summary == "A level about 5 lower, from 2015-01 on."
    assert prose.headline(facts).startswith("Sales: down by about 5 around 2015-01; for ")


def test_a_step_that_other_parts_make_up_for_or_enlarge_is_an_offset():
    y = 20 - 5.0 * (np.arange(120) >= 61)
    c = only(facts_of(f"C(variance=25){STEP} + WN(variance=0.1)", series(y)), "step")
    (jump,) = c.jumps
    hidden, larger, unsure = (replace(jump, change=v, sd=sd) for v, sd in ((0.4, 0.1), (-12.0, 0.5), (-2.0, 1.5)))
    told = {
        (hidden,): "; the other parts make up for it.",
        (unsure,): "; the other parts make up for it.",
        (larger,): "; all parts together fall by about 12 around 2015-01.",
        (larger, replace(larger, at=2017.0, change=9.0)): (
            "; all parts together fall by about 12 around 2015-01 and rise by about 9 around 2017-01."
        ),
    }
    for jumps, tail in told.items():
        texts = prose.describe(replace(c, jumps=jumps))
        assert texts.summary == f"An offset of about −5, from 2015-01 on{tail}"
        assert texts.name == "Offset, from 2015-01 on"


def test_a_step_between_two_cycles_is_seen_although_no_part_is_a_step():
    """Each cycle has a middle of its own, in which a step of the series can hide."""
    i = np.arange(72)
    y = np.array([1.5, -2.5, -1, 2])[i % 4] - 5.0 * (i >= 40)
    cycles = " + ".join(
        f"Per(variance=9, lengthscale=0.3, period=1)*{side}(location=2020.0, steepness=50)"
        for side in ("Before", "After")
    )
    facts = facts_of(f"{cycles} + WN(variance=0.05)", series(y, QUARTERLY))
    jumps = {round(j.at): j.change for j in facts.trend.jumps}
    assert jumps[2020] == pytest.approx(-5, abs=0.5)
    assert prose.headline(facts).startswith("Sales: down by about 5.01 around 2020Q1, with a yearly cycle that ")
    for c in facts.components[:2]:
        assert any(
            t.startswith("All parts together fall by about 5.01 around 2020Q1") for t in prose.describe(c).sentences
        )


def test_a_rise_that_another_part_turns_into_a_fall_says_so():
    i = np.arange(120)
    facts = facts_of(
        "Lin(variance=4, location=2015) + SE(variance=400, lengthscale=30) + WN(variance=0.1)", series(-0.1 * i)
    )
    lines = [c for c in facts.components if c.head == "line"]
    for c in lines:
        c = replace(c, shape=replace(c.shape, change=8.0, change_sd=1.0))
        assert prose.describe(c).summary.endswith("; with the other parts the sum falls by about 12.")
        c = replace(c, together=1.0)
        assert prose.describe(c).summary.endswith("; the other parts make up for it.")
        c = replace(c, together=9.0)
        assert ";" not in prose.describe(c).summary


def test_a_part_that_applies_for_a_while_says_from_where_to_where_it_runs():
    i = np.arange(120)
    y = np.where(i < 60, -213 + 40 * i / 60, 0.0)
    facts = facts_of("SE(variance=9000, lengthscale=8)*Before(location=2015, steepness=40) + WN(variance=1)", series(y))
    said = " ".join(prose.describe(facts.components[0]).sentences)
    assert "Where it applies it runs from about " in said
    assert "and it is zero elsewhere" in said
    assert "All parts together rise by about " in said


@pytest.mark.parametrize(
    ("y", "told"),
    [
        (lambda u: 3 - 10 * (u - 0.6) ** 2, "up from about −0.6 to 3.0 around 2015-12, then down to 1.4"),
        (lambda u: 10 * (u - 0.4) ** 2, "down from about 1.60 to 0 around 2014-01, then up to 3.6"),
        (lambda u: np.exp(2 * u), "up from about 1.0 to 7.4"),
        (lambda u: 5 - 4 * u, "down by about 0.4031 a year"),
    ],
)
def test_the_trend_of_a_headline_is_that_of_the_sum(y, told):
    u = np.linspace(0, 1, 120)
    facts = facts_of("SE(variance=9, lengthscale=4) + WN(variance=1e-4)", series(y(u)))
    assert prose.headline(facts).startswith(f"Sales: {told}")


def test_a_trend_that_falls_little_by_little_is_not_said_to_rise():
    """Each step down is small; together they are not."""
    u = np.linspace(0, 1, 300)
    facts = facts_of("SE(variance=9, lengthscale=8) + WN(variance=1e-4)", series(3 - 8 * (u - 0.6) ** 2))
    assert facts.trend.monotone == 0


# -- the first lines ---------------------------------------------------------------------------------------------------


def test_two_cycles_of_one_name_are_told_once():
    i = np.arange(144)
    both = "Per(variance=2, lengthscale=1, period=1)*{}(location=2016, steepness=20)"
    y = np.sin(2 * np.pi * i / 12) * np.where(i < 72, 1.0, 2.0)
    facts = facts_of(f"{both.format('Before')} + {both.format('After')} + WN(variance=0.01)", series(y))
    assert prose.headline(facts).count("yearly cycle") == 1
    assert "(from 2016-01 on)" in prose.headline(facts)


def test_a_column_without_a_name_gives_way_to_that_of_the_file():
    data = series(np.arange(24.0), name="y", source="/home/ann/data/lake_level-1900.csv", notes=("A note.",))
    report = make(fathom.GPRegressor("Lin + WN", optimise=False).fit(data.X, data.y), data)
    assert report.title == "Lake level 1900, 2010-01 to 2011-12"
    assert report.facts.setting.source == "lake_level-1900.csv"
    assert report.notes == [
        "A note.",
        "The column is called 'y', so this page is named after lake_level-1900.csv: a name in the header changes that.",
    ]
    named = replace(data, target=("level",))
    told = make(fathom.GPRegressor("Lin + WN", optimise=False).fit(data.X, data.y), named)
    assert (told.title, told.notes) == ("Level, 2010-01 to 2011-12", ["A note."])


def test_a_forecast_without_any_room_is_a_value():
    facts = facts_of("Lin + WN", series(np.arange(24.0)))
    flat = replace(facts.forecast.end, low=25.0, mean=25.0, high=25.0)
    said = prose.headline(replace(facts, forecast=replace(facts.forecast, end=flat)))
    assert said.endswith("the model expects about 25.")


def test_a_short_window_is_not_said_to_go_from_itself_to_itself():
    rule = replace(DAILY, form="{B} {Y}")
    axis = Axis("date", "", rule, 1991.0, 1999.0)
    assert both(axis, 1991.42, 1991.45) == "around June 1991"
    assert both(axis, 1991.42, 1993.45, "from ") == "from June 1991 to June 1993"
    fine = Axis("date", "", DAILY, 1991.0, 1999.0)
    assert both(fine, 1991.42, 1991.45) == "03/06/1991 to 14/06/1991"


def test_a_level_outside_the_data_is_warned_of():
    i = np.arange(60)
    data = series(5.0 + np.sin(i / 30))
    model = fathom.GPRegressor("SE(variance=400, lengthscale=10) + WN(variance=0.01)", optimise=False, mean="zero")
    facts = gather(model.fit(data.X, data.y), data)
    assert not any("falls back" in text for text in prose.remarks(facts))
    away = replace(facts, level=-40.0)
    assert "Far ahead the forecast falls back to the model's level of −40, which lies outside the data." in (
        prose.remarks(away)
    )


def test_the_headline_leads_with_what_was_held_out(several):
    facts = several[2]
    assert "rows held out are predicted with" in headline.table(facts)
    useless = replace(facts, components=tuple(replace(c, score=replace(c.score, gain=0.0)) for c in facts.components))
    assert headline.table(useless) == "Strength: the inputs do not help to predict rows held out of the data."
