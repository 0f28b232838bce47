"""Inputs beside the time on the command line, their future, and how a command keeps its time limit."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fathom
from fathom.base.budget import Budget
from fathom.cli import limits
from fathom.cli.app import app
from fathom.report import document

ALONE = "The time alone is the input; price is left out (--inputs price adds it)."
TOTAL = "total is north + price: left out (--inputs total keeps it)."


def row(k, rng):
    price = round(10 + rng.normal(), 2)
    north = round(50 + 0.2 * k - 3 * price + 0.3 * rng.normal(), 2)
    return f"{2000 + k // 12}-{k % 12 + 1:02d}", north, price, round(north + price, 2)


@pytest.fixture
def sales(tmp_path, monkeypatch):
    """Sales that fall with the price, and a total that gives them away."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [row(k, rng) for k in range(42)]
    lines = [",".join(map(str, cells)) for cells in rows]
    (tmp_path / "s.csv").write_text("\n".join(["month,north,price,total", *lines[:36]]) + "\n")
    (tmp_path / "f.csv").write_text("\n".join(["month,price", *(f"{r[0]},{r[2]}" for r in rows[36:])]) + "\n")
    return rows


def run(*arguments, code=0):
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_fit_and_compare_say_what_is_left_out(sales):
    text = run("fit", "s.csv", "--target", "north", "--restarts", "1")
    assert ALONE in text
    assert TOTAL in text
    assert fathom.load("model.fathom").columns_.names == ("month",)
    assert ALONE in run("compare", "s.csv", "--target", "north", "--models", "mean,linear", "--folds", "2")


def test_a_model_remembers_its_inputs_and_forecasts_with_their_future(sales):
    options = ("--target", "north", "--inputs", "price", "--kernel", "SE[0] + Lin[1]", "--restarts", "1")
    found = json.loads(run("fit", "s.csv", *options, "--json"))
    assert found["inputs"] == ["month", "price"]
    assert fathom.load("model.fathom").columns_.names == ("month", "price")
    rows = json.loads(run("predict", "model.fathom", "--future", "f.csv", "--json"))["forecast"]
    assert [r["month"] for r in rows] == [r[0] for r in sales[36:]]
    assert np.abs(np.array([r["mean"] for r in rows]) - [r[1] for r in sales[36:]]).max() < 2
    assert "the future of price: give a CSV with their values with --future" in run(
        "predict", "model.fathom", "--horizon", "2", code=2
    )
    said = run("predict", "model.fathom", "--future", "f.csv", "--horizon", "2", code=2)
    assert "or --horizon H, or --future CSV" in said


def test_the_page_has_the_forecast_or_says_what_it_needs(sales):
    data = fathom.load_csv("s.csv", target="north", inputs="price")
    model = fathom.GPRegressor("SE[0] + Lin[1]", n_restarts=1, random_state=0).fit(data.X, data.y)
    model.columns_ = data.columns
    fathom.save(model, "m.fathom")
    common = ("report", "s.csv", "--model", "m.fathom", "--format", "markdown")
    run(*common)
    page = Path("report.md").read_text()
    assert "No forecast is drawn: it depends on what will become of price." in page
    run(*common, "--future", "f.csv")
    page = Path("report.md").read_text()
    assert "North from 2003-01 to 2003-06, for the price that the file foretells." in page
    assert page.count("\n| 2003") == 6
    run("report", "s.csv", "--model", "m.fathom", "--future", "f.csv")
    page = Path("report.html").read_text()
    assert "fathom report s.csv --model m.fathom --future f.csv" in page
    assert page.count('<span class="whole">2003-0') >= 6
    assert "choose one" in run(*common, "--future", "f.csv", "--horizon", "2", code=2)


def test_what_is_left_out_stands_on_the_first_screen(sales):
    data = fathom.load_csv("s.csv", target="north")
    model = fathom.GPRegressor("SE", n_restarts=1, random_state=0).fit(data.X, data.y)
    page = document.write(model, data, "r.html")
    assert page.notices == [ALONE, TOTAL]
    assert page.known is None
    text = Path("r.html").read_text()
    assert text.index(ALONE) < text.index("What it is made of")


# -- time limits -------------------------------------------------------------------------------------------------------


def test_the_page_has_its_share_of_a_limit(monkeypatch):
    now = [0.0]
    limit = limits.Limit(Budget.of(60, lambda: now[0]))
    data = fathom.datasets.load("airline")
    page = limit.for_page(data)
    assert limits.FIXED <= page < limits.FIXED * limits.SLOWEST + 10
    now[0] = 20.0  # reading took so long
    assert limit.for_search(page) == pytest.approx(40 - page)
    now[0] = 59.9
    assert limit.for_search(page) == limits.LEAST
    unlimited = limits.Limit.of(None)
    assert (unlimited.for_page(data), unlimited.for_search(5.0)) == (0.0, None)


@pytest.mark.slow
def test_too_short_a_limit_gives_noise_and_says_so(sales):
    run("report", "s.csv", "--target", "north", "--jobs", "1", "--time-limit", "0.01")
    said = "The time limit cut the search short before it had fitted any pattern: there is only noise here."
    assert said in Path("report.html").read_text()
    found = json.loads(run("search", "s.csv", "--target", "north", "--jobs", "1", "--time-limit", "0.01", "--json"))
    assert (found["kernel"].partition("(")[0], found["status"]) == ("WN", "time limit")
    # the same command without the limit goes on from there
    assert "The time limit" not in run("report", "s.csv", "--target", "north", "--jobs", "1", "--depth", "10")
