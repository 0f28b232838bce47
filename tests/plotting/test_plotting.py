"""Figures: the panels they have, what their words say, and that drawing twice gives the same bytes."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import fathom
from fathom import plotting
from fathom.data.timeaxis import TimeRule
from fathom.kernels.syntax import parse
from fathom.report.facts.setting import Axis
from fathom.report.measure.anatomy import inputs_of
from fathom.report.words.text import title

MONTHLY = TimeRule("date", "months", 1.0, "{Y}-{m:02}")
YEARS = Axis("date", "", MONTHLY, 1949.0, 1961.0)
PLAIN = Axis("depth", "m", None, 0.0, 50.0)


@pytest.fixture(scope="module")
def airline():
    data = fathom.datasets.load("airline")
    kernel = (
        "Lin(variance=998, location=1955) + SE(variance=19, lengthscale=20)*Per(lengthscale=0.66)*Lin(location=1946)"
        " + SE(variance=193, lengthscale=0.68) + WN(variance=41)"
    )
    return data, fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y)


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 10, (30, 3)), columns=["age", "height", "dose"])
    y = np.sin(X.age) + 0.1 * X.height
    return fathom.GPRegressor("SE[age] + Lin[height] + SE[dose, height] + WN(variance=0.1)", optimise=False).fit(X, y)


def words(figure) -> list[str]:
    inside = [text.get_text() for panel in figure.axes for text in panel.texts]
    return [text.get_text() for text in figure.texts] + inside


def test_one_panel_for_the_whole_and_one_for_each_part(airline):
    data, model = airline
    figure = plotting.components(model, dataset=data, horizon=24)
    assert len(figure.axes) == 1 + len(model.parts_) == 5
    said = [text.replace("\n", " ") for text in words(figure)]
    assert "Passengers, 1949-01 to 1960-12, and on to 1962-12" in said
    assert "Straight-line trend" in said
    assert "Yearly cycle, its size changing with time, its shape changing over about 20 years" in said
    assert "SE*Per*Lin" in said
    assert "last observation 1960-12" in said
    assert "Noise with a standard deviation of 6.4 thousands" in said


def test_labels_carry_units(airline):
    data, model = airline
    figure = plotting.components(model, dataset=data)
    assert figure.axes[0].get_ylabel() == "passengers (thousands)"
    assert {panel.get_ylabel() for panel in figure.axes[1:]} == {"thousands"}
    assert figure.axes[-1].get_xlabel() == "date"


def test_panels_share_the_axis_and_years_are_whole(airline):
    data, model = airline
    figure = plotting.components(model, dataset=data, horizon=24)
    assert len({panel.get_xlim() for panel in figure.axes}) == 1
    ticks = [tick for tick in figure.axes[-1].get_xticks() if 1949 <= tick <= 1963]
    labels = figure.axes[-1].xaxis.get_major_formatter().format_ticks(ticks)
    assert labels == ["1950", "1952", "1954", "1956", "1958", "1960", "1962"]


def test_without_a_horizon_nothing_is_called_a_forecast(airline):
    data, model = airline
    assert not any("forecast" in text for text in words(plotting.components(model, dataset=data)))


def test_the_parts_that_are_drawn_add_up(airline):
    data, model = airline
    figure = plotting.components(model, dataset=data)
    curves = [panel.lines for panel in figure.axes]
    whole = max(curves[0], key=lambda line: len(line.get_xdata()))
    parts = [max(lines, key=lambda line: len(line.get_xdata())) for lines in curves[1:-1]]
    level = model.components(data.X[:1])["constant"].mean()[0]
    total = level + sum(line.get_ydata() for line in parts)
    np.testing.assert_allclose(total, whole.get_ydata(), rtol=1e-9)


def test_data_and_names_default_to_those_of_the_model(airline):
    data, model = airline
    figure = plotting.components(model)
    assert figure.axes[0].get_ylabel() == "y"
    assert figure.axes[-1].get_xlabel() == "x"
    dots = next(line for line in figure.axes[0].lines if line.get_marker() == ".")
    np.testing.assert_allclose(dots.get_ydata(), data.y)
    other = plotting.components(model, data.X[:5], data.y[:5], horizon=2)
    assert len(next(line for line in other.axes[0].lines if line.get_marker() == ".").get_xdata()) == 5


def test_the_same_figure_is_the_same_svg_with_text_as_text(airline, tmp_path):
    data, model = airline
    for name in ("a.svg", "b.svg"):
        plotting.save(plotting.components(model, dataset=data, horizon=24), tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert ">Straight-line trend</text>" in text
    assert "<title>Passengers, 1949-01 to 1960-12, and on to 1962-12</title>" in text
    assert "system-ui" in text
    assert len(text) < 400_000


def test_small_numbers_keep_their_digits_in_svg(tmp_path):
    x = np.linspace(0, 1, 9)
    figure = plotting.components(fathom.GPRegressor("SE", optimise=False).fit(x[:, None], 0.0015 * np.sin(6 * x)))
    plotting.save(figure, tmp_path / "small.svg")
    assert ">0.001</text>" in (tmp_path / "small.svg").read_text()


def test_a_long_series_is_thinned_and_says_so(monkeypatch, airline):
    data, model = airline
    monkeypatch.setattr("fathom.plotting.parts.MOST_DOTS", 50)
    figure = plotting.components(model, dataset=data)
    assert len(next(line for line in figure.axes[0].lines if line.get_marker() == ".").get_xdata()) == 48
    assert any("Dots are observations, one in 3; the line" in text for text in words(figure))


@pytest.mark.slow
def test_other_formats_and_settings_left_alone(airline, tmp_path):
    data, model = airline
    before = dict(mpl.rcParams)
    figure = plotting.components(model, dataset=data)
    for name in ("a.png", "a.pdf"):
        plotting.save(figure, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "a.pdf").read_bytes()[:4] == b"%PDF"
    assert dict(mpl.rcParams) == before
    with pytest.raises(ValueError, match="cannot draw 'a.gif': end its name in .svg, .png or .pdf"):
        plotting.save(figure, tmp_path / "a.gif")


@pytest.mark.slow
def test_importing_fathom_plotting_needs_no_window_system(tmp_path):
    import subprocess
    import sys

    code = "import fathom, sys; fathom.plotting; print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_several_inputs_show_the_effects_of_one(several):
    figure = plotting.components(several)
    assert [panel.get_xlabel() for panel in figure.axes] == ["age", "height"]
    said = words(figure)
    assert any("Not drawn, for they join several inputs: SE[dose, height]." in text for text in said)
    assert "height: straight-line trend" in said
    rug = next(line for line in figure.axes[0].lines if line.get_marker() == "|")
    assert len(rug.get_xdata()) == 30


def test_what_cannot_be_drawn_is_said(airline, several):
    data, model = airline
    X = np.random.default_rng(0).uniform(size=(8, 2))
    joint = fathom.GPRegressor("SE", optimise=False).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="no part of the kernel depends on one input alone"):
        plotting.components(joint)
    both = fathom.GPRegressor("SE", optimise=False).fit(X[:, :1], X)
    with pytest.raises(ValueError, match="several targets"):
        plotting.components(both)
    with pytest.raises(ValueError, match="give both X and y"):
        plotting.components(model, data.X)
    with pytest.raises(ValueError, match="4 values of y for 5 rows of X"):
        plotting.components(model, data.X[:5], data.y[:4])
    with pytest.raises(ValueError, match="only a model of one input can be continued"):
        plotting.components(several, horizon=3)
    with pytest.raises(ValueError, match="horizon -1: give the number of steps"):
        plotting.components(model, horizon=-1)


@pytest.mark.parametrize(
    ("form", "n", "step", "expected"),
    [
        ("%Y-%m-%d", 200, "D", ["Mar\n2021", "Apr", "May", "Jun", "Jul", "Aug", "Sep"]),
        ("%Y-%m", 30, "MS", ["Jul\n2021", "Jan\n2022", "Jul", "Jan\n2023", "Jul"]),
    ],
)
def test_a_short_axis_of_dates_has_months(tmp_path, form, n, step, expected):
    days = pd.date_range("2021-03-01", periods=n, freq=step).strftime(form)
    pd.DataFrame({"day": days, "y": np.sin(np.arange(n))}).to_csv(tmp_path / "d.csv", index=False)
    data = fathom.load_csv(tmp_path / "d.csv")
    figure = plotting.components(fathom.GPRegressor("SE", optimise=False).fit(data.X, data.y), dataset=data)
    axis = figure.axes[-1].xaxis
    assert axis.get_major_formatter().format_ticks(axis.get_major_locator()()) == expected


def test_a_few_days_are_written_as_the_reader_does(tmp_path):
    days = pd.date_range("2021-03-01", periods=15).strftime("%d/%m/%Y")
    pd.DataFrame({"day": days, "y": np.sin(np.arange(15))}).to_csv(tmp_path / "d.csv", index=False)
    data = fathom.load_csv(tmp_path / "d.csv")
    figure = plotting.components(fathom.GPRegressor("SE", optimise=False).fit(data.X, data.y), dataset=data)
    axis = figure.axes[-1].xaxis
    assert all(label.endswith("/03/2021") for label in axis.get_major_formatter().format_ticks([2021.18, 2021.19]))


@pytest.mark.parametrize(
    ("kernel", "axis", "expected"),
    [
        ("Lin", YEARS, "Straight-line trend"),
        ("Lin*Lin", YEARS, "Quadratic trend"),
        ("Lin*Lin*Lin*Lin", YEARS, "Polynomial trend of degree 4"),
        ("C", YEARS, "Constant level"),
        ("WN", YEARS, "Noise"),
        ("WN*Lin(location=1940)", YEARS, "Noise, its size changing with time"),
        ("SE(lengthscale=0.25)", YEARS, "Smooth variation over about 3 months"),
        ("Matern12(lengthscale=14.2)", YEARS, "Rough variation over about 14 years"),
        ("Per(period=1.01)", YEARS, "Yearly cycle"),
        ("Cos(period=0.01916)", YEARS, "Weekly cycle"),
        ("Per(period=10.9)", YEARS, "Cycle of about 11 years"),
        ("Per(period=3.64)", PLAIN, "Cycle of about 3.6 m"),
        ("Per(period=1)*Lin(location=1970)", YEARS, "Yearly cycle, its size changing with time"),
        ("SE(lengthscale=7)*Lin(location=20)", PLAIN, "Smooth variation over about 7 m, its size changing with depth"),
        ("SE(lengthscale=7)*Lin(location=-1)", PLAIN, "Smooth variation over about 7 m, its size changing with depth"),
        ("Lin*Before(location=1955.5)", YEARS, "Straight-line trend, until 1955-07"),
        ("Lin*After(location=12)", PLAIN, "Straight-line trend, from 12 m"),
        ("Lin*Inside(location=20, width=10)", PLAIN, "Straight-line trend, between 15 m and 25 m"),
        ("Lin*Outside(location=20, width=10)", PLAIN, "Straight-line trend, except between 15 m and 25 m"),
        ("SM", PLAIN, "Mixture of waves"),
        ("ArcCos", PLAIN, "Bent line"),
    ],
)
def test_titles_are_plain_words(kernel, axis, expected):
    assert title(parse(kernel), axis) == expected


def test_which_inputs_a_part_depends_on():
    names = ("a", "b", "c")
    assert inputs_of(parse("SE[a]*Lin[2]"), names) == (0, 2)
    assert inputs_of(parse("SE"), names) == (0, 1, 2)
    assert inputs_of(parse("C*WN"), names) == ()


def test_names_are_never_read_as_mathematics(tmp_path):
    (tmp_path / "d.csv").write_text("x,cost ($) per $ (EUR)\n" + "".join(f"{i},{i % 3}\n" for i in range(9)))
    data = fathom.load_csv(tmp_path / "d.csv")
    figure = plotting.components(fathom.GPRegressor("SE", optimise=False).fit(data.X, data.y), dataset=data)
    plotting.save(figure, tmp_path / "d.svg")
    assert ">cost ($) per $ (EUR)</text>" in (tmp_path / "d.svg").read_text()
