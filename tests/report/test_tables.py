"""The forecast step by step, and the observations that do not fit: numbers, words, and how few cry wolf."""

import numpy as np
import pytest
from scipy.special import ndtr

import fathom
from fathom.cli import forecast
from fathom.data.dataset import Dataset
from fathom.data.forecast import Forecast
from fathom.gp.exact import condition
from fathom.report.facts.anomaly import Anomalies, Anomaly
from fathom.report.facts.part import Z90
from fathom.report.facts.setting import Axis, Setting
from fathom.report.measure.anomalies import LEVEL, anomalies
from fathom.report.measure.forecast_table import LEVELS, forecast_table
from fathom.report.measure.gather import gather
from fathom.report.words import tables


def a_setting(unit="kg", time=0):
    return Setting("weight", unit, (Axis("day", "", None, 0.0, 9.0),), time, 1.0, 10, "w.csv")


def a_table(rows):
    header = ("day", "mean", "sd", "q0.05", "q0.25", "q0.5", "q0.75", "q0.95")
    return Forecast(header, [(str(k), m, s, m - 1.6 * s, m - 0.7 * s, m, m + 0.7 * s, m + 1.6 * s) for k, m, s in rows])


# -- the forecast ------------------------------------------------------------------------------------------------------


def test_the_table_is_that_of_fathom_predict(airline):
    data, model, _ = airline
    model.columns_ = data.columns
    found = forecast_table(model, data, gather(model, data, float(data.future(9)[-1])))
    other = forecast.predict(model, forecast.future(model, 9), LEVELS)
    assert found.csv() == other.csv()
    assert found.rows[0][0] == "1961-01"


def test_only_a_time_has_next_steps(several):
    data, model, facts = several
    assert forecast_table(model, data, facts) is None
    x = np.arange(20.0)
    depths = Dataset(x[:, None], np.sin(x), ("depth",), ("y",))
    plain = fathom.GPRegressor("SE", optimise=False).fit(depths.X, depths.y)
    assert forecast_table(plain, depths, gather(plain, depths)) is None


def test_numbers_of_the_table_are_as_fine_as_the_bands():
    grid = tables.steps(a_table([(1, 1234.567, 40.0), (2, 1200.0, 90.0)]), a_setting())
    assert grid.header == ("day", "expected (kg)", "50 % band", "90 % band")
    assert grid.rows[0] == ("1", "1,235", "1,207 to 1,263", "1,171 to 1,299")
    fine = tables.steps(a_table([(1, 0.5, 0.004), (2, -0.5, 0.004)]), a_setting(""))
    assert fine.header[1] == "expected"
    assert [row[1] for row in fine.rows] == ["0.5000", "\N{MINUS SIGN}0.5000"]
    assert fine.rows[0][3] == "0.4936 to 0.5064"


@pytest.mark.parametrize(("size", "unit"), [(3e-7, "10⁻⁹ kg"), (4e12, "10¹² kg")])
def test_no_number_of_the_table_has_an_exponent(size, unit):
    grid = tables.steps(a_table([(1, size, size / 50)]), a_setting())
    assert grid.header[1] == f"expected ({unit})"
    assert "e" not in "".join(grid.rows[0][1:])
    assert float(grid.rows[0][1]) in (300.0, 4.0)


# -- observations that do not fit --------------------------------------------------------------------------------------


def a_record(seed, n=100):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 10, n)
    return Dataset(x[:, None], np.sin(x) + 0.3 * rng.standard_normal(n), ("t",), ("y",), time=0)


def fitted(data):
    kernel = "SE(variance=0.5, lengthscale=1.5) + WN(variance=0.09)"
    return fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y)


def moved(data, rows, by):
    y = np.array(data.y)
    y[rows] += by
    return Dataset(data.X, y, data.names, data.target, time=data.time)


def test_clean_records_list_hardly_anything():
    listed = [anomalies(fitted(data), data).count for data in map(a_record, range(40))]
    assert sum(count > 0 for count in listed) <= 2 * LEVEL * 40
    assert anomalies(fitted(a_record(0)), a_record(0)).shown == ()


def test_planted_oddities_are_found_in_order():
    data = moved(a_record(0), [70, 20], np.array([-2.5, 4.0]))
    found = anomalies(fitted(data), data)
    assert [a.row for a in found.shown] == [20, 70]
    assert found.count == 2
    first = found.shown[0]
    assert first.apart == pytest.approx(data.y[20] - first.expected)
    assert first.apart == pytest.approx(4.0, abs=1.0)
    assert first.low < first.expected < first.high < first.value


def test_expected_is_what_a_model_of_the_other_rows_foretells():
    data = moved(a_record(0), [40, 42, 70], np.array([3.0, 3.5, -2.5]))
    model, found = fitted(data), anomalies(fitted(data), data)
    assert sorted(a.row for a in found.shown) == [40, 42, 70]
    rest = np.setdiff1d(np.arange(100), [40, 42, 70])
    other = condition(model.posterior_.prior, model.posterior_.X[rest], model.posterior_.Y[rest])
    for a in found.shown:
        x = model.posterior_.X[[a.row]]
        mean, sd = model.scaler_.y_back(other.mean(x))[0, 0], float(np.sqrt(other.var(x, noise=True)[0]))
        assert a.expected == pytest.approx(mean)
        assert a.high - a.low == pytest.approx(2 * Z90 * sd * float(model.scaler_.y_sd[0]))


def test_an_oddity_does_not_make_its_neighbours_odd():
    """The model with so little noise follows an outlier, and would miss all around it."""
    data = moved(a_record(1), [50], 30.0)
    found = anomalies(fitted(data), data)
    away = np.abs(data.y - fitted(data).leave_one_out().mean()) / fitted(data).leave_one_out().std()
    assert np.sum(2 * ndtr(-away) * 100 < LEVEL) > 1
    assert [a.row for a in found.shown] == [50]


def test_the_probability_is_that_of_both_tails():
    """White noise is foretold by nothing: each observation stands against the prior."""
    y = np.zeros(50)
    y[7], y[30] = 5.0, -4.5
    data = Dataset(np.arange(50.0)[:, None], y, ("x",), ("y",))
    model = fathom.GPRegressor("WN(variance=1)", mean="zero", optimise=False).fit(data.X, data.y)
    sd = float(model.leave_one_out().std()[0])
    found = {a.row: a for a in anomalies(model, data).shown}
    for row, value in ((7, 5.0), (30, -4.5)):
        expected = found[row].expected
        assert found[row].p_value == pytest.approx(2 * ndtr(-abs(value - expected) / sd), rel=1e-6)


def test_ten_are_shown_and_all_are_counted():
    rows = np.arange(3, 100, 8)
    data = moved(a_record(1), rows, 4.0 + np.arange(len(rows)) / 10)
    found = anomalies(fitted(data), data)
    assert (len(found.shown), found.count) == (10, len(rows))
    p = [a.p_value for a in found.shown]
    assert p == sorted(p)
    said = tables.oddities(found, a_setting())
    assert said.startswith("13 observations lie improbably far from what the others foretell; these are the 10 most")
    assert "noise of another kind than the model assumes" in said


def test_rows_of_a_table_are_named_by_what_matters(several):
    data, model, facts = several
    odd = moved(data, [11], 30.0)
    odd = Dataset(odd.X, odd.y, data.names, data.target, units=data.units)
    model = fathom.GPRegressor(model.kernel, optimise=False).fit(odd.X, odd.y)
    grid = tables.surprises(anomalies(model, odd), facts)
    assert grid.header == ("row", "where", "observed (MPa)", "expected", "apart", "how rare")
    assert grid.rows[0][0] == "12"
    assert grid.rows[0][1].startswith(("age ", "water "))
    observed, expected, apart = (float(cell.replace("\N{MINUS SIGN}", "-")) for cell in grid.rows[0][2:5])
    assert observed - expected == pytest.approx(apart)
    assert grid.rows[0][4].startswith("+")


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (1 / 3100, "about 1 in 3,000"),
        (1 / 2.6e6, "about 1 in 2.6 million"),
        (1e-9 / 2, "less than 1 in a billion"),
        (0.0, "less than 1 in a billion"),
    ],
)
def test_small_probabilities_in_words(p, words):
    assert tables.odds(p) == words


def test_what_is_said_of_none_and_of_one():
    one = Anomaly(3, (4.0,), 9.0, 5.0, 4.0, 6.0, 1e-5)
    assert tables.oddities(Anomalies((), 0, 10), a_setting()) == (
        "No observation lies improbably far from what the others foretell."
    )
    assert tables.oddities(Anomalies((one,), 1, 10), a_setting()) == (
        "One observation lies improbably far from what the others foretell: fewer than one record in twenty would hold "
        "any if the model were right, so look it up."
    )
