"""What failed checks mean, how many there are, and how sure one can be: counts that agree, sentences for everyone."""

from dataclasses import replace

import numpy as np
import pytest

import fathom
from fathom.data.dataset import Dataset
from fathom.report import plaintext, prose
from fathom.report.contents import Origin, make
from fathom.report.facts.setting import Axis
from fathom.report.measure.gather import gather
from fathom.report.numbers import between, compared, number, quantity, scale
from fathom.report.words import joint, sure
from fathom.report.words.cautions import cautions
from fathom.report.words.parameters import rows
from tests.report.test_criticism import made
from tests.report.test_prose import DAILY, MONTHLY

AXIS = Axis("date", "", MONTHLY, 1949.0, 1961.0)
TABLE = Axis("dose", "mg", None, 0.0, 3.0)
WHOLE = [
    (
        made("whole", "autocorrelation", 0.01, "too smooth", lag=1 / 12, correlation=0.4),
        "neighbouring residuals resemble each other, so the forecast may lie on one side of what comes",
    ),
    (
        made("whole", "autocorrelation", 0.01, "too rough", lag=1 / 12, correlation=-0.4),
        "the model follows some of the noise, and so does the forecast next to the data",
    ),
    (
        made("whole", "autocorrelation", 0.01, "missed memory", lag=0.5, correlation=0.4),
        "residuals 6 months apart are connected, and the forecast leaves that out",
    ),
    (
        made("whole", "periodogram_max", 0.01, "missed periodicity", period=3.6, cycles=3.0, steps=40.0),
        "a cycle of about 3.6 years is missing from the forecast",
    ),
    (
        made("whole", "periodogram_max", 0.01, "missed periodicity", period=12.0, cycles=1.0, steps=144.0),
        "a slow movement is missing from the model, so the forecast may drift away from what comes",
    ),
    (
        made("whole", "periodogram_max", 0.01, "missed periodicity", period=1 / 6, cycles=72.0, steps=2.0),
        "residuals go up and down from one to the next, and the forecast leaves that out",
    ),
    (
        made("whole", "qq_high", 0.01, "heavy tails", side="upper"),
        "surprises upwards can be larger than the bands of the forecast show",
    ),
    (
        made("whole", "qq_high", 0.01, "light tails", side="lower"),
        "downwards, the bands of the forecast are wider than the data need",
    ),
    (
        made("whole", "normality", 0.01, "heavy tails"),
        "large surprises come more often than the bands of the forecast say: plan for values outside them",
    ),
    (
        made("whole", "normality", 0.01, "light tails"),
        "large surprises are rarer than the bands of the forecast say: they are wider than need be",
    ),
    (
        made("whole", "normality", 0.01, "skewed"),
        "surprises to one side are larger than to the other, and the bands of the forecast do not show it",
    ),
    (
        made("whole", "variance_drift", 0.01, "growing variance", ratio=2.0),
        "the errors have grown along the record, so the bands ahead may be too narrow",
    ),
    (
        made("whole", "variance_drift", 0.01, "shrinking variance", ratio=0.5),
        "the errors have shrunk along the record, so the bands ahead may be too wide",
    ),
]


@pytest.mark.parametrize(("found", "text"), WHOLE, ids=lambda v: v.meaning if hasattr(v, "meaning") else "")
def test_a_failed_check_of_the_whole_says_what_it_means_for_the_forecast(found, text):
    assert cautions([found, replace(found, p_value=0.2)], [], AXIS, True) == [f"Failed check: {text}."]


def test_cautions_of_a_table_speak_of_predictions():
    found = [
        made("whole", "input_dependence", 0.01, "missed effect", input="dose"),
        made("whole", "input_variance", 0.02, "uneven variance", input="dose", direction="down"),
    ]
    assert cautions(found, [], TABLE, False) == [
        "Failed check: a prediction is off in a way that depends on dose.",
        "Failed check: where dose is low, errors are larger than the bands of a prediction say.",
    ]


def test_failed_checks_of_a_part_are_told_together_with_its_name(airline):
    cycle, noise = (next(c for c in airline[2].components if c.head == head) for head in ("cycle", "noise"))
    found = [
        made(cycle.part, "acf_min", 0.01, "missed periodicity", lag=1.0),
        made(cycle.part, "acf_min_lag", 0.011, "different rhythm", lag=1.0),
        made(cycle.part, "periodogram_max", 0.012, "weaker periodicity", period=1.0),
        made(cycle.part, "periodogram_max_frequency", 0.013, "different rhythm", period=1.0),
        made(cycle.part, "qq_low", 0.014, "light tails", side="lower"),
        made(noise.part, "mmd", 0.01, "different noise"),
        made(noise.part, "qq_high", 0.5, "heavy tails", side="upper"),
    ]
    assert cautions(found, [(cycle, "yearly cycle"), (noise, "noise")], AXIS, True) == [
        "Five checks of part 2 (yearly cycle) failed: it swings back and forth more than described; it turns at another"
        " pace than described; it repeats less than described; its strongest rhythm is not the one described; its low"
        " values are less extreme than described, so its share of the forecast may go astray.",
        "One check of part 4 (noise) failed: it is not as plain as described, so the bands of the forecast are rough.",
    ]


def test_counts_are_those_of_the_checks():
    whole = [made("whole", f"s{k}", 0.5, "skewed") for k in range(6)]
    parts = [made("SE", f"s{k}", 0.5, "skewed") for k in range(14)]
    bad = [replace(parts[0], p_value=0.01), *parts[1:]]
    worse = [*(replace(c, p_value=0.01) for c in whole[:2]), *whole[2:]]
    assert sure.checked([*whole, *parts]) == "All six checks of the whole passed: what is left over looks like noise."
    assert sure.checked([*whole, *bad]) == (
        "All six checks of the whole passed; of 14 checks of single parts one failed. "
        "What that means stands under “Before you rely on it”."
    )
    assert sure.checked([*worse, *parts]).startswith("Two of six checks of the whole failed. What that means ")
    told = "Each part was compared with its own description as well: "
    assert sure.checked_parts([*whole, *parts]) == f"{told}all 14 such checks passed."
    assert sure.checked_parts([*whole, *bad]) == f"{told}one of 14 such checks failed; it is told with its part."
    assert sure.checked_parts(whole) == ""


def test_a_time_is_told_in_words():
    spent = {
        0.2: "less than a second",
        1.0: "one second",
        14.6: "15 seconds",
        61.0: "61 seconds",
        200.0: "three minutes",
    }
    assert [sure.duration(seconds) for seconds in spent] == list(spent.values())


def test_a_flexible_fit_is_not_taken_for_skill():
    """A curve that nearly goes through every point of a walk says little about points that were held out."""
    y = np.cumsum(np.random.default_rng(4).standard_normal(90))
    data = Dataset(2010 + np.arange(90.0)[:, None] / 12, y, ("date",), ("y",), {}, 0, rule=MONTHLY)
    kernel = "SE(variance=30, lengthscale=0.14) + WN(variance=0.01)"
    facts = gather(fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y), data)
    assert facts.explained > 0.95
    assert facts.foreseen < 0.5
    said = sure.explained(facts)
    assert said.index("held out") < said.index("In the fit the patterns explain ")
    assert "a curve as flexible as this follows almost anything" in said
    assert sure.held_out(replace(facts, components=facts.components[1:] + facts.components[:1])) is not None


def test_no_skill_is_said_to_be_none(several):
    facts = several[2]
    flat = tuple(replace(c, score=replace(c.score, gain=0.0)) for c in facts.components)
    assert "no better than by the level alone" in sure.explained(replace(facts, components=flat))


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_numbers_have_words_or_powers_but_no_exponents():
    values = {1.4e6: "1.4 million", -2.1e9: "−2.1 billion", 3e15: "3 quadrillion", 3e20: "3 × 10²⁰"}
    values |= {1.5e-6: "1.5 × 10⁻⁶", -4.4e-13: "−4.4 × 10⁻¹³", 0.00012: "0.00012", -0.0: "0", 12_500: "12,500"}
    assert [number(v, None, 3) for v in values] == list(values.values())
    assert scale(0.0) == (1.0, "")
    assert quantity(1.4e6, "thousands") == "1.4 billion"
    assert quantity(1400, "thousands") == "1,400 thousand"
    assert between(1.2e-6, 1.86e-6, "g") == "1.20 and 1.86 × 10⁻⁶ g"
    assert between(-1.97e12, -1.44e12) == "−1.97 and −1.44 trillion"
    assert between(2e6, 2.2e6, "EUR", "to") == "2.00 to 2.20 million EUR"
    assert between(5e12, 5e12) == "5 and 5 trillion"


def test_sizes_are_compared_as_people_do():
    told = {
        0.5: "half as large",
        0.8: "80 % as large",
        1.0: "as large",
        1.1: "10 % larger",
        1.25: "a quarter again as large",
    }
    told |= {1.5: "half again as large", 1.7: "1.7 times as large", 2.0: "twice as large", 7.3: "7.3 times as large"}
    assert [compared(ratio, "large") for ratio in told] == list(told.values())
    assert compared(1.1, "wide") == "10 % wider"


def test_parameters_are_in_units_that_suit_them():
    """Days of a daily series, not thousandths of a year."""
    x = 1970 + (18_628 + np.arange(90)) / 365.2425
    data = Dataset(x[:, None], np.sin(2 * np.pi * np.arange(90) / 7), ("day",), ("load",), {}, 0, rule=DAILY)
    kernel = "Per(period=0.0191654, lengthscale=1)*Before(location=2021.1, steepness=500) + SE(lengthscale=0.1) + WN"
    facts = gather(fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y), data)
    shown = {row.name: row for c in facts.components for row in rows(c)}
    assert (shown["period"].value, shown["period"].unit) == ("7", "days")
    assert shown["distance over which it varies"].unit == "weeks"
    assert shown["abruptness of the change"].unit.startswith("per ")
    bare = Dataset(np.arange(60.0)[:, None], np.sin(np.arange(60.0)), ("x",), ("y",))
    facts = gather(fathom.GPRegressor("Per(period=6.3) + WN", optimise=False).fit(bare.X, bare.y), bare)
    (row,) = (row for c in facts.components for row in rows(c) if row.name == "period")
    assert row.unit == "units of x"


# -- several inputs ----------------------------------------------------------------------------------------------------


def test_the_direction_of_an_input_is_told_only_if_the_data_tell(several):
    facts = several[2]
    effect = next(e for e in facts.effects if e.input == 0)
    assert effect.way == effect.monotone == 1
    unsure = replace(effect, change_sd=abs(effect.change))
    assert unsure.way == 0
    assert joint.effect(facts, unsure).endswith(": whether strength rises or falls with age the data cannot tell.")
    told = prose.headline(replace(facts, effects=(unsure, *(e for e in facts.effects if e is not effect))))
    assert "age and water (falling)" in told


def test_peaks_at_the_ends_of_an_input_are_said_to_be_there(several):
    facts = several[2]
    axis = facts.setting.axes[0]
    bent = replace(facts.effects[0], input=0, monotone=0, peak=axis.high, trough=axis.low)
    assert "strength is highest at the highest age and lowest at the lowest age, about " in joint.effect(facts, bent)
    inner = replace(bent, peak=5.0)
    assert "highest near 5 days and " in joint.effect(facts, inner)


def test_a_line_that_scales_a_smooth_effect_makes_no_straight_line_of_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (40, 2))
    data = Dataset(X, X[:, 0] * np.sin(3 * X[:, 1]), ("age", "dose"), ("effect",))
    kernel = "SE[0](lengthscale=1)*SE[1](lengthscale=0.7)*Lin[1](location=-1) + WN(variance=0.1)"
    facts = gather(fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y), data)
    said = " ".join(prose.describe(facts.components[0]).sentences)
    assert "It varies over about 1 unit of age and 0.7 units of dose." in said
    assert "It changes its size with dose." in said
    assert "linearly" not in said


# -- the plain page ----------------------------------------------------------------------------------------------------


def test_the_plain_page_leads_with_held_out_data_and_has_every_caution(airline):
    data, model, _ = airline
    report = make(model, data, Origin("fathom report airline", seconds=1.0, seed=0))
    text = plaintext.markdown(report)
    assert text.index("less error on held-out data") < text.index("of the variance")
    cautions_at = text.index("## Before you rely on it")
    assert cautions_at < text.index("## 1.")
    for line in report.remarks:
        assert plaintext.escape(line) in text
    assert "- one second" in text
    assert "1.0 seconds" not in text
