"""Model checks: exactly calibrated on data from the model, awake on data that are not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from fathom.data.dataset import Dataset
from fathom.data.timeaxis import TimeRule
from fathom.estimators.exact import GPRegressor
from fathom.gp.exact import GP
from fathom.kernels.syntax import parse
from fathom.report.facts.whole import Check
from fathom.report.measure import checks as criticism
from fathom.report.measure import statistics
from fathom.report.measure.checks import check, curves
from fathom.report.words.verdicts import failed, probability, verdict

KERNEL = "SE(lengthscale=1.5) + WN(variance=0.3)"
TIMES = np.linspace(0, 10, 60)[:, None]
UNEVEN = np.sort(np.random.default_rng(5).uniform(0, 10, 60))[:, None]
MONTHS = TimeRule("date", "months", 1, "{Y}-{m}")


def series(X, y, **columns):
    return Dataset(X, y, ("time",), ("y",), time=0, **columns)


def fitted(X, y, kernel=KERNEL):
    """The model with its parameters as they are: nothing is learnt but the mean."""
    return GPRegressor(kernel, optimise=False).fit(X, y)


def simulated(X, seed, kernel=KERNEL):
    return 5 + GP(parse(kernel)).sample(np.random.default_rng(seed), X, 1, noise=True)[0]


def by_name(checks, subject="whole"):
    return {c.statistic: c for c in checks if c.subject == subject}


# -- calibration ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["regular", "uneven"])
def simulations(request):
    """The checks of eighty data sets from the model."""
    X = TIMES if request.param == "regular" else UNEVEN
    runs = []
    for seed in range(80):
        y = simulated(X, [seed, 1])
        runs.append(check(fitted(X, y), series(X, y), n_draws=199, seed=seed))
    return runs


WHOLE = ["autocorrelation", "periodogram_max", "qq_high", "qq_low", "normality", "variance_drift"]


@pytest.mark.slow
@pytest.mark.parametrize("statistic", WHOLE)
def test_p_values_of_the_whole_are_uniform(simulations, statistic):
    values = [by_name(run)[statistic].p_value for run in simulations]
    assert kstest(values, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_p_values_of_parts_do_not_cry_wolf(simulations):
    for part in ("SE", "WN"):
        for statistic in by_name(simulations[0], part):
            values = np.array([by_name(run, part)[statistic].p_value for run in simulations])
            assert np.mean(values <= 0.05) < 0.15, (part, statistic)


def test_the_noise_test_is_uniform(simulations):
    assert kstest([by_name(run, "WN")["mmd"].p_value for run in simulations], "uniform").pvalue > 0.01


@pytest.mark.slow
def test_several_inputs_are_calibrated_too():
    rng, values = np.random.default_rng(0), []
    X = rng.uniform(0, 3, (40, 2))
    kernel = "SE[0](lengthscale=1) + WN(variance=0.3)"
    for seed in range(60):
        y = simulated(X, [seed, 2], kernel)
        found = check(fitted(X, y, kernel), Dataset(X, y, ("age", "dose"), ("y",)), n_draws=99, seed=seed)
        values.append([c.p_value for c in found if c.subject == "whole"])
    assert all(kstest(column, "uniform").pvalue > 0.01 for column in np.transpose(values))


# -- power ------------------------------------------------------------------------------------------------------------


LONG = np.linspace(0, 20, 160)[:, None]


def of_noise(noise):
    return 3 + np.sin(LONG[:, 0] / 3) + noise


def whole_of(y, X=LONG, kernel="SE(lengthscale=4) + WN(variance=0.09)"):
    return by_name(check(fitted(X, y, kernel), series(X, y), n_draws=299))


def test_a_missed_cycle_is_caught_with_its_period():
    noise = 0.3 * np.random.default_rng(0).standard_normal(160)
    found = whole_of(of_noise(noise + 0.3 * np.sin(2 * np.pi * LONG[:, 0] / 1.25)))["periodogram_max"]
    assert found.p_value <= 0.01
    assert found.meaning == "missed periodicity"
    assert found.detail["period"] == pytest.approx(1.25, rel=0.05)
    assert found.observed > found.expected[1]


def test_heavy_tails_are_caught():
    noise = 0.2 * np.random.default_rng(0).standard_t(2, 160)
    found = whole_of(of_noise(noise))
    tails = [found[name] for name in ("qq_high", "qq_low", "normality")]
    assert all(c.p_value <= 0.01 and c.meaning == "heavy tails" for c in tails)


def test_a_changing_variance_is_caught():
    noise = np.linspace(0.1, 0.5, 160) * np.random.default_rng(0).standard_normal(160)
    found = whole_of(of_noise(noise))["variance_drift"]
    assert (found.p_value <= 0.01, found.meaning) == (True, "growing variance")
    assert found.detail["ratio"] > 2
    assert whole_of(of_noise(noise[::-1]))["variance_drift"].meaning == "shrinking variance"


def test_the_shape_of_residuals_agrees_with_their_ends():
    """Residuals of twice the size expected are bell-shaped, but by the model's measure their ends are too far out."""
    rng = np.random.default_rng(0)
    for size, meaning in ((2.0, "heavy tails"), (0.4, "light tails")):
        found = whole_of(0.3 * size * rng.standard_normal(160), kernel="WN(variance=0.09)")
        assert (found["normality"].p_value <= 0.01, found["normality"].meaning) == (True, meaning)
        ends = {found[name].meaning for name in ("qq_high", "qq_low") if found[name].failed}
        assert ends <= {meaning}
    lean = rng.beta(1, 3, 160)
    lean = 0.3 * (lean - lean.mean()) / lean.std()
    assert whole_of(lean, kernel="WN(variance=0.09)")["normality"].meaning == "skewed"


def test_the_size_of_residuals_is_compared_in_the_direction_of_its_trend():
    place = np.arange(99.0)
    for slope in (0.01, -0.01):
        values = (1 + slope * (place - 49)) * np.resize([1, -1], 99)
        expected = (1 + slope * 98 / 3) / (1 - slope * 98 / 3)
        assert statistics.spread_ratio(values, place) == pytest.approx(expected)
    assert statistics.spread_ratio(np.zeros(9), place[:9]) == pytest.approx(1)


def test_a_rhythm_knows_how_often_it_comes_round_and_in_how_many_steps():
    times, y = np.arange(100.0)[:, None], np.resize([1.0, -1.0], 100) + 0.01 * np.arange(100) % 0.07
    detail = by_name(check(fitted(times, y, "WN"), series(times, y), n_draws=30))["periodogram_max"].detail
    assert (detail["cycles"], detail["steps"], detail["period"]) == pytest.approx((50, 2, 2))


def test_the_own_cycle_of_a_part_is_known():
    y = np.sin(2 * np.pi * LONG[:, 0] / 2)
    for period, own in ((2.0, True), (5.0, False)):
        kernel = f"SE(lengthscale=2)*Per(period={period}) + WN(variance=0.01)"
        found = by_name(check(fitted(LONG, y, kernel), series(LONG, y), n_draws=30), "SE*Per")
        assert found["periodogram_max"].detail["own"] is own


def test_a_model_that_is_too_smooth_is_caught():
    noise = 0.1 * np.random.default_rng(0).standard_normal(160)
    found = whole_of(of_noise(noise), kernel="SE(lengthscale=60) + WN(variance=0.3)")["autocorrelation"]
    assert (found.p_value <= 0.01, found.meaning) == (True, "too smooth")


def test_noise_of_another_kind_is_caught_in_its_part():
    noise = np.where(np.random.default_rng(0).random(160) < 0.5, -0.3, 0.3)
    y = of_noise(noise)
    found = check(fitted(LONG, y, "SE(lengthscale=4) + WN(variance=0.09)"), series(LONG, y), n_draws=299)
    assert by_name(found, "WN")["mmd"].p_value <= 0.01


def test_a_cycle_hidden_in_a_part_is_caught():
    y = np.sin(2 * np.pi * LONG[:, 0] / 2) + 0.05 * np.random.default_rng(0).standard_normal(160)
    found = check(fitted(LONG, y, "SE(lengthscale=0.3) + WN(variance=0.0025)"), series(LONG, y), n_draws=199)
    cycle = by_name(found, "SE")["periodogram_max"]
    assert (cycle.p_value <= 0.05, cycle.meaning) == (True, "missed periodicity")
    assert cycle.detail["period"] == pytest.approx(2, rel=0.05)


def test_a_missed_effect_of_an_input_is_caught():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (80, 2))
    y = np.sin(X[:, 0]) + 0.4 * X[:, 1] ** 2 + 0.3 * rng.standard_normal(80) * (1 + X[:, 0])
    kernel = "SE[0](lengthscale=1) + WN(variance=1.5)"
    found = check(fitted(X, y, kernel), Dataset(X, y, ("age", "dose"), ("y",)), n_draws=299)
    caught = {(c.statistic, c.detail["input"]): c.p_value <= 0.01 for c in found if "input" in c.detail}
    assert caught["input_dependence", "dose"]
    assert not caught["input_dependence", "age"]
    assert "periodogram_max" not in by_name(found)


# -- form -------------------------------------------------------------------------------------------------------------


def test_checks_are_plain_values_and_the_same_for_the_same_seed():
    y = simulated(TIMES, 3)
    model, data = fitted(TIMES, y), series(TIMES, y)
    found = check(model, data, n_draws=50, seed=4)
    assert found == check(model, data, n_draws=50, seed=4)
    assert found != check(model, data, n_draws=50, seed=5)
    assert list(dict.fromkeys(c.subject for c in found)) == ["whole", *model.parts_]
    assert all(0 < c.p_value <= 1 and c.expected[0] <= c.expected[1] for c in found)
    ranked = failed(found, 0.5)
    assert [c.p_value for c in ranked] == sorted(c.p_value for c in found if c.p_value <= 0.5)


def test_the_order_of_rows_does_not_matter():
    y, order = simulated(UNEVEN, 3), np.random.default_rng(0).permutation(60)
    sorted_, mixed = (
        check(fitted(X, v), series(X, v), n_draws=50) for X, v in ((UNEVEN, y), (UNEVEN[order], y[order]))
    )
    pairs = zip(by_name(sorted_).values(), by_name(mixed).values(), strict=True)
    assert all(a.observed == pytest.approx(b.observed) for a, b in pairs)


def test_curves_belong_to_the_checks():
    y = simulated(TIMES, 3)
    model, data = fitted(TIMES, y), series(TIMES, y)
    found, drawn = by_name(check(model, data, n_draws=99)), curves(model, data, n_draws=99)
    assert drawn.power.max() == pytest.approx(found["periodogram_max"].observed)
    assert drawn.frequency[np.argmax(drawn.power)] == pytest.approx(found["periodogram_max"].detail["frequency"])
    assert (drawn.quantile - drawn.normal).max() == pytest.approx(found["qq_high"].observed)
    assert drawn.lag[0] == pytest.approx(TIMES[1, 0])


@pytest.mark.parametrize("values", ["acf", "power", "quantile"])
def test_bands_of_the_curves_hold_most_series_of_the_model(values):
    inside = []
    for seed in range(20):  # neighbours in a curve are alike: one series says little
        y = simulated(TIMES, [seed, 3])
        drawn = curves(fitted(TIMES, y), series(TIMES, y), n_draws=99)
        low, high, middle = (getattr(drawn, values + end) for end in ("_low", "_high", ""))
        assert np.all(low < high)
        inside.append(np.mean((low <= middle) & (middle <= high)))
    assert 0.85 < np.mean(inside) < 0.99, inside


def test_without_an_axis_there_are_only_quantiles():
    X = np.random.default_rng(0).uniform(0, 3, (20, 2))
    y = X.sum(1) + np.random.default_rng(1).standard_normal(20)
    drawn = curves(fitted(X, y, "SE + WN"), Dataset(X, y, ("a", "b"), ("y",)), n_draws=20)
    assert len(drawn.lag) == len(drawn.power) == 0
    assert len(drawn.quantile) == 20


def test_hardly_any_data_and_constant_parts_are_survived():
    X, y = TIMES[:4], np.array([1.0, 2.0, 1.5, 3.0])
    found = check(fitted(X, y, "C + SE + WN"), series(X, y), n_draws=30)
    assert "C" not in {c.subject for c in found}
    assert list(by_name(found)) == ["qq_high", "qq_low", "normality"]
    assert all(np.isfinite([c.p_value, c.observed, *c.expected]).all() for c in found)


def test_other_data_than_the_model_saw_are_refused():
    y = simulated(TIMES, 3)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole message is compared)
        check(fitted(TIMES, y), series(TIMES[:9], y[:9]))
    assert str(caught.value) == (
        "the model was fitted to 60 rows of 1 inputs, and this data set has 9 of 1: "
        "check a model on the data it was fitted to"
    )


def test_a_long_series_is_thinned(monkeypatch):
    monkeypatch.setattr(criticism, "POINTS", 30)
    monkeypatch.setattr(criticism, "PAIRS", 20)
    y = simulated(TIMES, 3)
    assert len(check(fitted(TIMES, y), series(TIMES, y), n_draws=30)) == 6 + 6 + 7


# -- statistics -------------------------------------------------------------------------------------------------------


def test_statistics_equal_their_definitions():
    x = np.random.default_rng(0).standard_normal(31)
    c = x - x.mean()
    assert statistics.autocorrelation(x)[0, 2] == pytest.approx(c[3:] @ c[:-3] / (c @ c), abs=1e-6)
    times = np.arange(31) * 0.5
    shifted = times + 0.2 * np.sin(np.arange(31) * 7.0)  # off the grid: summed rather than transformed
    for t in (times, shifted):
        wave = np.exp(-2j * np.pi * statistics.frequencies(t)[4] * t)
        expected = 10 * np.log10(abs(c @ wave) ** 2 / 31)
        assert statistics.periodogram(x, t)[0, 4] == pytest.approx(expected)
    assert not statistics.is_regular(shifted)
    assert statistics.share_below(np.array([1, 2, 3]), np.array([2, 4])) == pytest.approx((1.5 / 3 + 1) / 2)


# -- verdicts ---------------------------------------------------------------------------------------------------------


def made(subject, statistic, p, meaning, observed=0.8, **detail):
    return Check(subject, statistic, p, observed, (0.0, 1.0), meaning, detail)


SENTENCES = [
    (
        made("whole", "periodogram_max", 0.43, "missed periodicity", period=3.6),
        "Nothing left that repeats: the strongest remaining cycle, of about 3.6 years, could be chance (p = 0.43).",
    ),
    (
        made("whole", "periodogram_max", 0.01, "missed periodicity", period=3.6),
        "A cycle of about 3.6 years remains unexplained (p = 0.01).",
    ),
    (
        made("whole", "periodogram_max", 0.04, "missed periodicity", period=3.6),
        "A cycle of about 3.6 years perhaps remains unexplained (p = 0.04).",
    ),
    (
        made("whole", "autocorrelation", 0.002, "too smooth", lag=1 / 12, correlation=0.35),
        "Neighbouring residuals resemble each other (correlation 0.35): "
        "the model bends too slowly to follow the data (p = 0.002).",
    ),
    (
        made("whole", "autocorrelation", 0.0001, "missed memory", lag=0.5, correlation=-0.42),
        "Residuals 6 months apart pull in opposite directions (correlation −0.42): "
        "a connection that the model does not know (p < 0.001).",
    ),
    (made("whole", "autocorrelation", 0.3, "too rough"), "One residual says nothing about the next (p = 0.30)."),
    (
        made("whole", "qq_high", 0.01, "heavy tails", side="upper"),
        "The largest residuals are 0.8 standard deviations more extreme than the model allows: "
        "surprises run upwards (p = 0.01).",
    ),
    (
        made("whole", "qq_high", 0.03, "light tails", side="lower"),
        "The lowest residuals are 0.8 standard deviations less extreme than expected: "
        "the model is perhaps too cautious downwards (p = 0.03).",
    ),
    (made("whole", "qq_low", 0.5, "heavy tails"), "No residual lies unexpectedly far down (p = 0.50)."),
    (
        made("whole", "normality", 0.01, "skewed"),
        "The residuals lean to one side more than the model assumes (p = 0.01).",
    ),
    (
        made("whole", "variance_drift", 0.002, "growing variance", ratio=1.7),
        "The errors grow along the record: in its last third they are 1.7 times as large as in its first (p = 0.002).",
    ),
    (
        made("whole", "input_dependence", 0.03, "missed effect", input="dose"),
        "Perhaps an effect of dose remains unexplained (p = 0.03).",
    ),
    (
        made("whole", "input_variance", 0.01, "uneven variance", input="dose", direction="up"),
        "The errors are larger where dose is high (p = 0.01).",
    ),
    (
        made("SE", "periodogram_max", 0.01, "missed periodicity", period=11.2),
        "This part hides a cycle of about 11 years that its description does not mention (p = 0.01).",
    ),
    (
        made("SE", "acf_min", 0.01, "one-way movement", lag=2.0),
        "This part moves in one direction more than its description allows (p = 0.01).",
    ),
    (
        made("WN", "qq_low", 0.01, "heavy tails", side="lower"),
        "The low values of this part are more extreme than its description allows (p = 0.01).",
    ),
    (made("WN", "mmd", 0.4, "different noise"), "This noise cannot be told from simulated noise (p = 0.40)."),
    (
        made("whole", "qq_low", 0.01, "heavy tails", observed=1.0, side="lower"),
        "The lowest residuals are one standard deviation more extreme than the model allows: "
        "surprises run downwards (p = 0.01).",
    ),
    (
        made("whole", "variance_drift", 0.01, "shrinking variance", ratio=0.98),
        "The errors shrink along the record (p = 0.01).",
    ),
    (
        made("whole", "periodogram_max", 0.01, "missed periodicity", period=12.0, cycles=1.0, steps=144.0),
        "A slow movement over the whole record remains unexplained (p = 0.01).",
    ),
    (
        made("whole", "periodogram_max", 0.01, "missed periodicity", period=1 / 6, cycles=72.0, steps=2.0),
        "Residuals go up and down from one observation to the next (p = 0.01).",
    ),
    (
        made("whole", "periodogram_max", 0.5, "missed periodicity", period=12.0, cycles=1.0, steps=144.0),
        "Nothing left that repeats (p = 0.50).",
    ),
    (
        made("Per", "periodogram_max", 0.01, "missed periodicity", period=1.0, cycles=12.0, steps=12.0, own=True),
        "This part repeats more strongly than its description says (p = 0.01).",
    ),
    (
        made("SE", "periodogram_max", 0.03, "missed periodicity", period=12.0, cycles=1.0, steps=144.0, own=False),
        "This part perhaps moves over the whole record more than its description allows (p = 0.03).",
    ),
    (
        made("SE", "periodogram_max", 0.01, "weaker periodicity", period=12.0, cycles=1.0, steps=144.0, own=False),
        "This part repeats less than its description says (p = 0.01).",
    ),
    (
        made("SE", "periodogram_max_frequency", 0.01, "different rhythm", period=12.0, cycles=1.0, steps=144.0),
        "This part moves not at the pace that its description expects (p = 0.01).",
    ),
]


@pytest.mark.parametrize(("found", "sentence"), SENTENCES, ids=lambda v: v.statistic if isinstance(v, Check) else "")
def test_sentences(found, sentence):
    assert verdict(found, MONTHS) == sentence


def test_sentences_without_years_name_the_unit_or_the_input():
    found, numbers = SENTENCES[1][0], Dataset(TIMES, TIMES[:, 0], ("depth",), ("y",), units={"depth": "km"})
    assert verdict(found, numbers.columns) == "A cycle of about 3.6 km remains unexplained (p = 0.01)."
    bare = replace(numbers, units={}).columns
    assert verdict(found, bare) == "A cycle of about 3.6 units of depth remains unexplained (p = 0.01)."
    assert verdict(found) == "A cycle of about 3.6 units remains unexplained (p = 0.01)."


def test_every_check_has_a_sentence_passed_or_failed():
    for data, y, kernel in (
        (TIMES, simulated(TIMES, 3), "SE + Per + WN"),
        (np.random.default_rng(0).uniform(0, 3, (30, 2)), np.arange(30.0), "SE[0] + SE[1] + WN"),
    ):
        table = Dataset(data, y, ("a", "b")[: data.shape[1]], ("y",))
        for found in check(fitted(data, y, kernel), table, n_draws=30):
            for p in (0.005, 0.03, 0.5):
                text = verdict(replace(found, p_value=p), table.columns)
                assert text.endswith(f"({probability(p)}).")
                assert "{" not in text
                assert "nan" not in text
                assert found.subject == "whole" or found.subject not in text  # no kernel names
