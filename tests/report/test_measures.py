"""What is measured of a part decides its words: where it applies, how straight it is, what rhythm it shows."""

import numpy as np
import pytest

import fathom
from fathom.data.dataset import Dataset
from fathom.data.timeaxis import TimeRule
from fathom.gp.exact import GP
from fathom.kernels import parse
from fathom.report import prose
from fathom.report.draw.scales import axis_ticks
from fathom.report.facts.setting import Axis
from fathom.report.measure.shape import applies, straightness
from fathom.report.numbers import between, differing
from tests.report.test_prose import MONTHLY, PRODUCTS, SWITCHES, X, Y, facts_of, own, part_of

# -- where a part applies ----------------------------------------------------------------------------------------

SOFT = {
    "near the end": "*After(location=1960.8, steepness=0.5)",
    "beyond the end": "*After(location=1962.5, steepness=0.6)",
    "before the start": "*Before(location=1948.5, steepness=0.6)",
    "wider than the data": "*Before(location=1955.5, steepness=0.15)",
    "one observation": "*After(location=1960.9, steepness=60)",
    "a soft window": "*Inside(location=1955, width=3, steepness=0.8)",
}
GOLDEN = [
    (
        *("SE", "near the end"),
        "A smooth medium-term deviation of about ±0.29 thousand over about 2 years, fading in around 1960-10.",
    ),
    ("Per", "near the end", "A yearly cycle, with swings of about 85 thousand, fading in around 1960-10."),
    ("C", "beyond the end", "A level about 1.1 thousand lower, only towards the end of the record."),
    (
        *("WN", "before the start"),
        "Noise with a standard deviation of about 1.4 thousand, only towards the start of the record.",
    ),
    ("Lin", "wider than the data", "A straight-line rise of about 18 thousand a year, fading out around 1955-07."),
    ("Per", "one observation", "A yearly cycle, with swings of about 23 thousand, from 1960-11 on."),
    ("Lin", "one observation", "A straight line, up or down the data cannot tell, from 1960-11 on."),
    (
        *("SE", "a soft window"),
        "A smooth medium-term deviation of about ±0.57 thousand over about 2 years, from 1953-07 to 1956-07.",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("product", "where", "summary"), GOLDEN)
def test_soft_edges_and_edges_near_the_end(product, where, summary):
    texts = prose.describe(part_of(PRODUCTS[product] + SOFT[where]))
    assert texts.summary == summary
    said = own(texts)
    assert "to 1960-12 that makes" not in said
    assert "fading" not in said
    assert "of its full weight at most" in said


@pytest.mark.slow
def test_a_soft_edge_is_felt_beyond_itself():
    ahead = {where: prose.describe(part_of(PRODUCTS["SE"] + switch)).extrapolation for where, switch in SOFT.items()}
    assert ahead["wider than the data"] == ["It is fading out and adds less and less to the forecast."]
    assert ahead["beyond the end"] == ["It is only beginning, and the data say little of how it goes on."]
    assert ahead["before the start"] == ["It has ended within the data and adds nothing to the forecast."]


def test_a_part_is_measured_where_its_weight_is_full_or_most_of_what_it_comes_to():
    x = np.linspace(-10, 10, 201)
    hard, soft, faint = (1 / (1 + np.exp(-2 * k * (x - at))) for k, at in ((20, 0), (0.2, 5), (0.2, 25)))
    assert x[applies(hard)][0] == pytest.approx(0.2)  # without the edge itself
    assert x[applies(soft)][0] == pytest.approx(4.5)  # half of 0.88
    assert x[applies(faint)][[0, -1]] == pytest.approx([8.3, 10])
    assert np.all(applies(np.ones(5)))


@pytest.mark.slow
@pytest.mark.parametrize("switch", [s for s in SWITCHES if s])
@pytest.mark.parametrize("years", [12, 60])
def test_titles_and_sentences_round_alike(switch, years):
    """A title that says 1955-07-02 above a sentence that says 1955 looks like a mistake."""
    rule = TimeRule("date", "elapsed", 86_400_000_000.0, "{Y}-{m:02}-{d:02}")
    x = 1955 + (X - 1955) * years / 12
    data = Dataset(x[:, None], Y, ("date",), ("sales",), {}, 0, rule=rule)
    texts = prose.describe(part_of(PRODUCTS["Per"] + SWITCHES[switch], data))
    where = texts.summary.split(" thousand")[-1].split(", ", 2)[-1].rstrip(".")
    assert texts.name == f"Yearly cycle, {where}"
    assert years == 12 or "-" not in where
    assert not any(len(word.rstrip(",.")) > 7 for word in where.split() if word[0].isdigit())


# -- how straight it is ------------------------------------------------------------------------------------------


def test_straightness_is_that_of_the_best_line():
    x = np.linspace(0, 1, 50)
    assert straightness(x, 3 - 2 * x) == pytest.approx(1.0)
    assert straightness(x, x**2) == pytest.approx(15 / 16, abs=0.01)
    assert straightness(x[:3], x[:3]) == 0.0  # too few to tell


@pytest.mark.parametrize(
    ("kernel", "name", "summary"),
    [
        (
            "Lin(variance=30, location=1945)*Lin(location=1940)",
            "Near-linear long-term trend",
            "A near-linear long-term rise of about 4.45 thousand a year, steeper towards the end.",
        ),
        (
            "SE(variance=90000, lengthscale=20)",
            "Near-linear long-term trend",
            "A near-linear long-term rise of about 19.99 thousand a year.",
        ),
        (
            "Lin(variance=30, location=1951)*Lin(location=1953)",
            "Quadratic trend",
            "A quadratic trend that ranges over about 120 thousand.",
        ),
    ],
)
def test_a_trend_is_named_by_its_measured_shape_not_by_its_kernel(kernel, name, summary):
    bent = "1951" in kernel
    y = 100 + (2.5 * (X - 1951) * (X - 1953) if bent else 20 * (X - 1949)) + np.sin(5 * X)
    data = Dataset(X[:, None], y, ("date",), ("sales",), {"sales": "thousands"}, 0, rule=MONTHLY)
    texts = prose.describe(facts_of(f"{kernel} + WN(variance=1)", data, "zero").components[0])
    assert (texts.name, texts.summary) == (name, summary)


# -- what rhythm it shows ----------------------------------------------------------------------------------------


def yearly(y, name="activity"):
    rule = TimeRule("decimal year", "numbers", 1.0)
    return Dataset(1700.0 + np.arange(len(y))[:, None], y, ("year",), (name,), {}, 0, rule=rule)


def test_a_smooth_part_that_comes_and_goes_is_called_an_irregular_cycle():
    rng = np.random.default_rng(0)
    phase = np.cumsum(2 * np.pi / rng.normal(11, 1.5, 200))
    data = yearly(np.sin(phase) * (1 + 0.2 * rng.standard_normal(200)) + 0.05 * rng.standard_normal(200))
    texts = prose.describe(facts_of("SE(variance=0.6, lengthscale=2) + WN(variance=0.0025)", data).components[0])
    assert texts.name == "Irregular cycle of about 11 years"
    assert texts.summary.startswith("An irregular cycle of about 11 years, about ±0.")
    assert "The model does not ask for it: it only varies smoothly, over about 2 years." in texts.sentences
    assert texts.extrapolation[-1] == "Its rhythm is not carried forward."


@pytest.mark.slow
def test_a_smooth_part_of_its_own_kind_shows_no_rhythm():
    kernel = "SE(lengthscale=2) + WN(variance=0.01)"
    x = np.arange(200.0)[:, None]
    draws = GP(parse(kernel)).sample(np.random.default_rng(1), x, 20, noise=True)
    shown = [facts_of(kernel, yearly(y)).components[0].shape.rhythm for y in draws]
    assert sum(period is not None for period in shown) <= 1


# -- units, dates, numbers ---------------------------------------------------------------------------------------


def test_dates_are_no_finer_than_the_record_asks_for():
    forms = {"{Y}-{m:02}-{d:02}T{H:02}:{M:02}:{S}Z": ["1955", "July 1955", "2 July 1955", "2 July 1955, 23:36"]}
    forms["{d:02}/{m:02}/{Y}"] = ["1955", "July 1955", "02/07/1955", "02/07/1955"]
    forms["{b} {Y}"] = ["1955", "Jul 1955", "Jul 1955", "Jul 1955"]
    for form, expected in forms.items():
        rule = TimeRule("date", "elapsed", 3_600_000_000.0, form)
        axes = [Axis("date", "", rule, 1955.0, 1955.0 + span) for span in (30, 5, 0.5, 0.1)]
        assert [axis.around(1955.5) for axis in axes] == expected
        assert axes[0].around(1955.5, span=1.0) == expected[2]


def test_an_input_without_a_unit_is_named():
    plain = Axis("x", "", None, 0.0, 20.0)
    assert (plain.length(5.0), plain.length(1.0), plain.cycle(3.64)[1]) == (
        "5 units of x",
        "1 unit of x",
        "about 3.6 units of x",
    )
    assert (plain.stretch(5.0), Axis("age", "days", None, 0.0, 9.0).stretch(5.0)) == ("5 units of x", "5 days of age")
    data = Dataset(np.linspace(0, 20, 60)[:, None], np.sin(np.linspace(0, 6, 60)), ("x",), ("y",))
    facts = facts_of("SE(variance=0.5, lengthscale=5) + WN(variance=0.01)", data)
    texts = prose.describe(facts.components[0])
    assert texts.name == "Smooth variation over about 5 units of x"
    assert texts.summary == "A smooth variation of about ±0.72 over about 5 units of x."
    assert "; at x = 22 the model expects between " in prose.headline(facts)


def test_two_numbers_are_given_the_digits_they_need_to_differ():
    assert differing(0.2134, 0.2089, "g") == ("0.213", "0.209 g")
    assert differing(33.0, 9.0) == ("33", "9")
    assert differing(0.5016, 0.5022) == ("0.5016", "0.5022")
    assert differing(1.0, 1.0 + 1e-9) is None
    assert between(1360.601, 1361.858) == "1,360.60 and 1,361.86"
    assert between(-1.62, 1.71) == "−1.6 and 1.7"


def test_ticks_of_a_short_record_stand_at_the_days_they_name():
    rule = TimeRule("date", "elapsed", 86_400_000_000.0, "{Y}-{m:02}-{d:02}")
    first = 1970 + 19_723 / 365.2425  # 1 January 2024
    ticks = axis_ticks(Axis("day", "", rule, first, first + 0.02), first, first + 0.02, 9)
    assert [text for _, text in ticks] == ["1 Jan 2024", "3 Jan", "5 Jan", "7 Jan"]
    assert [(x - first) * 365.2425 for x, _ in ticks] == pytest.approx([0, 2, 4, 6], abs=1e-6)


# -- the first lines ---------------------------------------------------------------------------------------------


def test_a_tiny_file_has_a_headline_an_analyst_would_write():
    rule = TimeRule("date", "elapsed", 86_400_000_000.0, "{Y}-{m:02}-{d:02}")
    x = 1970 + (19_723 + np.arange(7)) / 365.2425  # days from 1 January 2024
    data = Dataset(x[:, None], np.array([3.0, 4, 3, 5, 4, 4, 5]), ("day",), ("visits",), {}, 0, rule=rule)
    facts = facts_of("WN", data)
    assert prose.executive_summary(facts)[0] == "The model finds no pattern in visits, only noise around a level of 4."
    assert prose.headline(facts) == (
        "Visits: no pattern, only noise; for 8 January 2024 the model expects between 2.4 and 5.6 (90 %)."
    )


def test_airline_names_the_four_components_of_the_thesis():
    """The model that `fathom report airline` finds."""
    data = fathom.datasets.load("airline")
    kernel = (
        "SE(variance=72, lengthscale=0.52) + CP(WN(variance=23), WN(variance=109), location=1958.18, steepness=84)"
        " + SE(variance=281, lengthscale=23)*Per(lengthscale=0.74, period=1.002)*Lin(variance=0.083, location=1945.5)"
        " + Lin(variance=11.9, location=1922.6)*Lin(variance=0.083, location=1955.33)"
    )
    facts = facts_of(kernel, data)
    first = prose.headline(facts).split(";")[0]
    assert first == (
        "Passengers: up by about 31.8 thousand a year, with a yearly cycle whose swings grew from about 40 to"
        " 230 thousand and noise that grew from about ±4.8 to ±9.1 thousand"
    )
    assert [prose.describe(c).name for c in facts.components] == [
        "Near-linear long-term trend",
        "Yearly cycle, growing with time",
        "Smooth medium-term deviation over about 6 months",
        "Noise, until 1958-03",
        "Noise, from 1958-03 on",
    ]


def test_a_headline_tells_the_steps_of_the_sum_before_its_other_parts():
    window = "C(variance=9e4)*Inside(location=1955, width=3, steepness=30)"
    facts = facts_of(
        f"{window} + Lin(variance=40, location=1955) + WN(variance=4)",
        Dataset(X[:, None], 2 * (X - 1949) - 90 * (np.abs(X - 1955) < 1.5), ("date",), ("y",), {}, 0, rule=MONTHLY),
    )
    assert prose.headline(facts).startswith(
        "Y: down by about 87.7 around 1953-07 and up by about 88.3 around 1956-07, "
        "with a straight-line rise of about 2 a year; for "
    )
