"""Golden texts: every kind of product, every region, and the extremes of the qualifiers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fathom
from fathom.data.dataset import Dataset
from fathom.data.timeaxis import TimeRule
from fathom.report import prose
from fathom.report.facts.setting import Axis
from fathom.report.measure.gather import gather
from fathom.report.numbers import between, number, percent, quantity
from fathom.report.words.text import counted

MONTHLY = TimeRule("date", "months", 1.0, "{Y}-{m:02}")
DAILY = TimeRule("date", "elapsed", 86_400_000_000.0, "{d:02}/{m:02}/{Y}")
X = 1949 + np.arange(144) / 12
Y = 100 + 20 * (X - 1949) + (4 + 2 * (X - 1949)) * np.sin(2 * np.pi * X) + 3 * np.sin(5 * X)
SALES = Dataset(X[:, None], Y, ("date",), ("sales",), {"sales": "thousands"}, 0, rule=MONTHLY)
REST = " + SE(variance=3000, lengthscale=1.3) + WN(variance=4)"

PRODUCTS = {
    "C": "C(variance=900)",
    "WN": "WN(variance=25)",
    "SE": "SE(variance=400, lengthscale=2)",
    "Per": "Per(variance=200, lengthscale=1, period=1)",
    "Lin": "Lin(variance=400, location=1955)",
    "Lin*Lin": "Lin(variance=30, location=1945)*Lin(location=1940)",
    "SE*Per": "SE(variance=200, lengthscale=8)*Per(lengthscale=1, period=1)",
    "Per*Lin": "Per(variance=3, lengthscale=10, period=1)*Lin(location=1947)",
    "SE*Lin": "SE(variance=4, lengthscale=2)*Lin(location=1970)",
    "WN*Lin": "WN(variance=0.2)*Lin(location=1947)",
    "Per*Per": "Per(variance=200, lengthscale=1, period=1)*Per(lengthscale=2, period=3.3)",
    "SE*Per*Lin": "SE(variance=4, lengthscale=0.5)*Per(lengthscale=1, period=1)*Lin(location=1955)",
}
SWITCHES = {
    "": "",
    "Before": "*Before(location=1955.5, steepness=20)",
    "After": "*After(location=1953, steepness=20)",
    "Inside": "*Inside(location=1955, width=4, steepness=20)",
    "Outside": "*Outside(location=1955, width=2, steepness=20)",
}


def facts_of(kernel, data=SALES, mean="constant"):
    return gather(fathom.GPRegressor(kernel, optimise=False, mean=mean).fit(data.X, data.y), data)


def part_of(kernel, data=SALES, rest=REST):
    """The component of a product, in the company of a smooth part and noise."""
    first = kernel.split("(")[0]
    plain = {"SE": 400.0, "WN": 29.0}.get(first) if "*" not in kernel else None
    for c in facts_of(kernel + rest, data).components:
        if c.structure not in ("SE", "WN") if plain is None else np.isclose(c.factors[0]["variance"], plain):
            return c
    raise AssertionError(kernel)


def own(texts):
    """The sentences on the part itself, without those on what it explains."""
    last = next(k for k, text in enumerate(texts.sentences) if "the mean error on" in text or "accounts" in text)
    return " ".join(texts.sentences[:last])


def golden():
    lines = (Path(__file__).parent / "golden.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split(" | ")) for line in lines if not line.startswith("#")]


@pytest.mark.slow
@pytest.mark.parametrize(("product", "switch", "expected"), golden())
def test_every_product_in_every_region(product, switch, expected):
    assert prose.describe(part_of(PRODUCTS[product] + SWITCHES[switch])).summary == expected


def test_the_golden_texts_are_complete():
    assert {(product, switch) for product, switch, _ in golden()} == {(p, s) for p in PRODUCTS for s in SWITCHES}


DETAILS = {
    "C": ("Constant level", "This part is a constant too small to be seen.", "The level stays."),
    "WN": (
        "Noise",
        "This part is noise with a standard deviation of about 12 thousand. "
        "No observation says anything about the noise of another.",
        "The noise stays as it is.",
    ),
    "SE": (
        "Smooth medium-term deviation over about 2 years",
        "This part is a smooth medium-term deviation of about ±10 thousand over about 2 years.",
        "Its forecast fades out over about 2 years: beyond that only its size is known.",
    ),
    "Per": (
        "Yearly cycle",
        "This part is a yearly cycle. Every cycle is the same. Within a cycle it changes over about 8 weeks. "
        "In its last year it is highest in April and lowest in October. "
        "From trough to peak it measures about 32 thousand.",
        "The cycle repeats unchanged.",
    ),
    "Lin": (
        "Straight-line trend",
        "This part is a straight-line rise of about 11 thousand a year. "
        "From 1949-01 to 1960-12 that makes about 130 thousand.",
        "The line continues at the same slope.",
    ),
    "Lin*Lin": (
        "Near-linear long-term trend",
        "This part is a near-linear long-term rise of about 10 thousand a year. "
        "From 1949-01 to 1960-12 that makes about 120 thousand. A straight line describes 98.5 % of its variance. "
        "The rise is half again as steep in the second half as in the first.",
        "The forecast continues this curve. A quadratic grows without limit, so trust it for a few years at most.",
    ),
    "SE*Per": (
        "Yearly cycle, its shape changing over about 8 years",
        "This part is a yearly cycle whose shape drifts slowly, over about 8 years. "
        "Cycles closer together than about 8 years look alike, those further apart need not. "
        "Within a cycle it changes over about 8 weeks. "
        "In its last year it is highest in April and lowest in October. "
        "From trough to peak it measures about 10 at first and 53 thousand at last.",
        "The cycle keeps its period, but its shape is less and less certain; "
        "over the 1.2 years ahead that hardly shows, for it takes about 8 years.",
    ),
    "Per*Lin": (
        "Yearly cycle, growing with time",
        "This part is a yearly cycle. Every cycle has the same shape. Within a cycle it is close to a sine wave. "
        "In its last year it is highest in April and lowest in October. "
        "Its swings grow linearly with time, from about 10 to 54 thousand.",
        "The cycle repeats with the same shape. Its swings would go on growing along the same line.",
    ),
    "SE*Lin": (
        "Smooth medium-term deviation over about 2 years, shrinking with time",
        "This part is a smooth medium-term deviation of about ±19 thousand over about 2 years. "
        "Its size shrinks with time, from about 27 to 16 thousand.",
        "Its forecast fades out over about 2 years: beyond that only its size is known. "
        "Its size would follow the same line.",
    ),
    "WN*Lin": (
        "Noise, growing with time",
        "This part is noise. No observation says anything about the noise of another. "
        "The standard deviation grows linearly with time, from about 4.7 to 14 thousand.",
        "Its standard deviation follows the same line.",
    ),
    "Per*Per": (
        "Yearly cycle",
        "This part is a yearly cycle modulated by a cycle of about 3.3 years. "
        "Neighbouring cycles differ as the slower one passes. Within a cycle it changes over about 8 weeks. "
        "From trough to peak it measures about 5.7 at first and 12 thousand at last.",
        "The cycle repeats unchanged.",
    ),
    "SE*Per*Lin": (
        "Yearly cycle, smallest around 1955-01, its shape changing over about 6 months",
        "This part is a loose yearly cycle that loses its shape within about 6 months. "
        "It hardly repeats: by the time a cycle has come round, its shape is forgotten. "
        "Within a cycle it changes over about 8 weeks. Its swings are smallest around 1955-01.",
        "Its forecast fades within about 6 months: neither height nor timing can be foreseen. "
        "Its swings would go on growing along the same line.",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("product", DETAILS)
def test_names_sentences_and_extrapolation(product):
    texts = prose.describe(part_of(PRODUCTS[product]))
    assert (texts.name, own(texts), " ".join(texts.extrapolation)) == DETAILS[product]


@pytest.mark.parametrize("switch", ["Before", "Inside"])
def test_a_part_that_has_ended_adds_nothing(switch):
    texts = prose.describe(part_of(PRODUCTS["Per"] + SWITCHES[switch]))
    assert texts.extrapolation == ["It has ended within the data and adds nothing to the forecast."]
    assert "It applies" in own(texts)


def test_the_worked_example_of_the_thesis():
    """SE×(WN×Lin + CP(C, Per)), section 4.1.4: three products, an interval each."""
    kernel = (
        "SE(variance=400, lengthscale=3)*(WN(variance=0.001)*Lin(location=1940)"
        " + CP(C, Per(lengthscale=1, period=2.5), location=1955.5, steepness=20))"
    )
    texts = {c.structure: prose.describe(c) for c in facts_of(kernel).components}
    assert set(texts) == {"Lin*WN", "SE*Before", "SE*Per*After"}
    noise, smooth, cycle = (texts[name].summary for name in ("Lin*WN", "SE*Before", "SE*Per*After"))
    assert noise == "Noise whose standard deviation grows linearly with time, from about 11 to 19 thousand."
    assert smooth == "A near-linear rise of about 18.7 thousand a year, until 1955-07."
    assert cycle.startswith("A cycle of about 2.5 years whose shape drifts over about 3 years, with swings of ")
    assert cycle.endswith(", from 1955-07 on.")
    assert texts["SE*Before"].name == "Near-linear trend, until 1955-07"


# -- extremes of the qualifiers ----------------------------------------------------------------------------------


def with_value(c, factor, name, value):
    """The same component with one parameter changed, its measurements kept."""
    factors = list(c.factors)
    factors[factor] = replace(factors[factor], values={**factors[factor].values, name: (value,)})
    estimates = tuple(
        replace(e, value=value, low=None, high=None) if (e.factor, e.name) == (factor, name) else e for e in c.estimates
    )
    return replace(c, factors=tuple(factors), estimates=estimates)


def test_lengthscale_qualifiers():
    c = part_of(PRODUCTS["SE"])
    c = replace(c, shape=replace(c.shape, monotone=0))
    slow, quick = (with_value(c, 0, "lengthscale", ell) for ell in (9.0, 0.05))
    assert prose.describe(slow).summary == (
        "A very smooth long-term deviation of about ±10 thousand over about 9 years."
    )
    assert "That is more than half of the record (12 years)." in prose.describe(slow).sentences
    assert prose.describe(quick).summary == "A rapid deviation of about ±10 thousand over about 2.6 weeks."
    assert "That is less than 1/200 of the record (12 years)." in prose.describe(quick).sentences


def test_a_monotone_part_says_where_half_of_it_happened():
    c = part_of(PRODUCTS["SE"])
    shape = replace(c.shape, monotone=-1, change=-83.2, change_sd=4.0, half_at=1952.25)
    texts = prose.describe(replace(c, shape=shape, together=-70.0))
    assert texts.summary == "A smooth long-term fall of about 83 thousand in all."
    assert "Half of the change has happened by 1952-04." in texts.sentences


def test_a_slope_the_data_cannot_tell():
    c = part_of(PRODUCTS["Lin"])
    texts = prose.describe(replace(c, shape=replace(c.shape, change=10.0, change_sd=8.0)))
    assert texts.summary == "A straight line, up or down the data cannot tell."


def test_drift_of_a_cycle():
    c = part_of(PRODUCTS["SE*Per"])
    drift, ring = (c.of_kind(kind)[0] for kind in ("SE", "Per"))
    likeness = {
        40.0: "Its shape takes about 40 years to change, longer than the record (12 years).",
        3.0: "Cycles closer together than about 3 years look alike, those further apart need not.",
        1.5: "Only neighbouring cycles resemble each other.",
        0.6: "It hardly repeats: by the time a cycle has come round, its shape is forgotten.",
    }
    for ell, expected in likeness.items():
        assert expected in prose.describe(with_value(c, drift, "lengthscale", ell)).sentences
    faded = prose.describe(with_value(c, drift, "lengthscale", 1.5)).extrapolation[0]
    assert faded.endswith("less and less certain: after about 1.5 years its mean has faded.")
    sine = prose.describe(with_value(c, ring, "lengthscale", 8.0)).sentences
    assert "Within a cycle it is close to a sine wave." in sine


def test_flat_directions_are_admitted():
    c = part_of(PRODUCTS["SE*Per"])
    flat = tuple(replace(e, determined=False) for e in c.estimates)
    said = prose.describe(replace(c, estimates=flat)).sentences
    assert "The data cannot tell how fast its shape drifts." in said
    assert "The data cannot tell its period." in said


def test_tags_have_words():
    c = part_of(PRODUCTS["SE"])
    only = replace(c, score=replace(c.score, tag="explains but does not predict", mae_reduction=-0.02))
    none = replace(c, score=replace(c.score, tag="doubtful", mae_reduction=0.0, delta_r2=0.0))
    assert any("but does not help to predict stretches" in text for text in prose.describe(only).sentences)
    assert any("raises the mean error on held-out stretches" in text for text in prose.describe(only).sentences)
    assert any("it may be an artefact" in text for text in prose.describe(none).sentences)
    assert any("leaves the mean error" in text for text in prose.describe(none).sentences)


# -- units, dates, numbers ---------------------------------------------------------------------------------------


def test_spans_take_the_unit_that_suits_them():
    axis = Axis("date", "", MONTHLY, 1949.0, 1961.0)
    spans = {20.05: "20 years", 0.8: "0.8 years", 0.68: "8 months", 0.17: "2 months", 0.1: "5 weeks", 0.03: "11 days"}
    spans |= {1.2 / 365.2425: "29 hours", 3 / 525949.2: "3 minutes"}
    for value, expected in spans.items():
        assert axis.length(value) == expected


def test_cycles_have_names_within_two_per_cent():
    years, days, plain = (
        Axis("date", "", MONTHLY, 1949.0, 1961.0),
        Axis("t", "days", None, 0.0, 90.0),
        Axis("depth", "m", None, 0.0, 9.0),
    )
    assert [years.cycle(p)[0] for p in (1.019, 0.981, 1.021, 1 / 12)] == ["yearly", "yearly", "", "monthly"]
    assert years.cycle(10.83, 0.04) == ("", "about 10.83 years")
    assert [days.cycle(p)[0] for p in (7.05, 1.0, 30.44)] == ["weekly", "daily", "monthly"]
    assert plain.cycle(3.64) == ("", "about 3.6 m")


def test_dates_are_written_as_the_reader_does():
    x = 1970 + (18_628 + np.arange(60)) / 365.2425  # days from 1 January 2021
    data = Dataset(x[:, None], np.sin(40 * x) + 30 * x, ("day",), ("load",), {"load": "MW"}, 0, rule=DAILY)
    facts = facts_of(
        "Lin(variance=1000, location=2021.05)*Before(location=2021.0803, steepness=1000)"
        " + Per(period=0.0192, lengthscale=1) + WN(variance=0.1)",
        data,
    )
    texts = {c.head: prose.describe(c) for c in facts.components}
    assert texts["cycle"].name == "Weekly cycle"
    assert texts["line"].name == "Straight-line trend, until 29/01/2021"
    assert " MW a day, until 29/01/2021." in texts["line"].summary
    assert prose.title(facts) == "Load, 01/01/2021 to 01/03/2021"


def test_decimal_years_and_plain_numbers():
    years = Axis("year", "", TimeRule("decimal year", "numbers", 1 / 12, digits=4), 1900.0, 1960.0)
    assert years.around(1943.72) == "1943"
    assert replace(years, low=1955.0).around(1957.72) == "September 1957"
    assert years.around(1943.72, 3.0) == "about 1943"
    metres = Axis("depth", "m", None, 0.0, 50.0)
    assert metres.around(12.3456) == "12 m"
    assert metres.around(12.3456, 0.05) == "12.35 m"
    assert metres.rate(2.0) == (2.0, "per m")


def test_numbers_are_rounded_to_their_uncertainty():
    assert number(1234.5, 30.0) == "1,230"
    assert number(0.06789, 0.002) == "0.068"
    assert number(-7.04) == "−7"
    assert [number(v) for v in (1.44, 8.26, 0.0, 2e-6, 3.1e12)] == ["1.4", "8.3", "0", "2 × 10⁻⁶", "3.1 trillion"]
    assert quantity(31.6, "thousands", 1.3) == "32 thousand"
    assert quantity(4.5, "g") == "4.5 g"
    assert between(477.3, 641.9, "thousands") == "477 and 642 thousand"
    assert [percent(s) for s in (0.8535, 0.985, 0.0003, 0.9998, 1.0)] == [
        "85 %",
        "98.5 %",
        "less than 0.1 %",
        "more than 99.9 %",
        "100 %",
    ]
    assert [counted(n, "part") for n in (0, 1, 3, 12)] == ["no parts", "one part", "three parts", "12 parts"]


# -- the whole report --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_airline_in_words(airline):
    facts = airline[2]
    assert prose.title(facts) == "Passengers, 1949-01 to 1960-12"
    assert prose.headline(facts) == (
        "Passengers: up by about 32 thousand a year, with a yearly cycle whose swings grew from about 38 to "
        "230 thousand; at the next peak, around 1961-07, the model expects between 624 and 672 thousand (90 %)."
    )
    assert prose.executive_summary(facts) == [
        "The model takes passengers apart into three patterns and noise, around a level of 282 thousand.",
        "Stretches held out of the data are predicted with a mean error of 10 thousand, "
        "90.9 % less than by the level alone (110 thousand).",
        "The first part alone makes that error 69 % smaller than that of the level.",
        "In the fit the patterns together explain 99.8 % of the variance.",
        "What is left is noise: a single observation strays by about ±6.4 thousand.",
        "At the next peak, around 1961-07, the model expects between 624 and 672 thousand (90 %).",
    ]
    assert [prose.describe(c).summary for c in facts.components] == [
        "A straight-line rise of about 32 thousand a year.",
        "A yearly cycle whose shape hardly changes, with swings that grow linearly with time, "
        "from about 38 to 230 thousand.",
        "A smooth medium-term deviation of about ±13 thousand over about 8 months.",
        "Noise with a standard deviation of about 6.4 thousand.",
    ]
    assert prose.remarks(facts) == [
        "Beyond 1960-12 nothing was checked against data: the forecast assumes that the patterns go on as they were."
    ]


def test_no_kernel_names_in_words(airline):
    facts = airline[2]
    said = [prose.title(facts), prose.headline(facts), *prose.executive_summary(facts), *prose.remarks(facts)]
    for c in facts.components:
        texts = prose.describe(c)
        said += [texts.name, texts.summary, *texts.sentences, *texts.extrapolation]
    words = set(" ".join(said).replace(",", " ").replace(".", " ").split())
    assert not words & {"SE", "Per", "Lin", "WN", "RQ", "kernel", "nan", "None", "inf"}


def test_noise_alone_is_said_to_be_noise():
    rng = np.random.default_rng(0)
    data = Dataset(X[:, None], rng.standard_normal(144), ("date",), ("y",), {}, 0, rule=MONTHLY)
    facts = facts_of("WN", data)
    assert prose.headline(facts).startswith("Y: no pattern, only noise; for 1962-02 the model expects between ")
    assert prose.remarks(facts)[0] == "No pattern was found: the data are noise around their level."


def test_several_inputs_in_words(several):
    facts = several[2]
    assert prose.title(facts) == "Strength, from three inputs"
    assert prose.headline(facts).startswith("Strength: age (rising) and water (falling) matter most; rows held out ")
    texts = {c.inputs: prose.describe(c) for c in facts.components}
    assert texts[0,].name == "Age: very smooth variation over about 6 days"
    assert texts[0, 1].summary.startswith("A joint effect of age and water, of about ±")
    assert texts[1,].summary.startswith("Water: a straight-line fall of about ")
    assert texts[1,].summary.endswith(" MPa per kg.")
    said = prose.executive_summary(facts)
    assert any(text.startswith("Age (") and "strength rises with age, by about " in text for text in said)
    assert any(text.startswith("Effects of single inputs make up ") for text in said)
    assert said[-1] == "Colour hardly matters: less than 0.5 % of what the model explains each."
