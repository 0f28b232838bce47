"""What the commands know of the calendar: public holidays to come, business days, and the cycles that stand at it."""

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fathom.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """Two months of days that lose thirty visits on public holidays, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    days = np.arange("2021-03-20", "2021-05-21", dtype="datetime64[D]")
    free = np.isin(days.astype(str), ["2021-04-02", "2021-04-05", "2021-05-01", "2021-05-13"])
    y = 100 - 30 * free + np.random.default_rng(0).standard_normal(len(days))
    rows = [f"{day},{value:.3f}" for day, value in zip(days, y, strict=True)]
    (tmp_path / "visits.csv").write_text("day,visits\n" + "\n".join(rows))
    return tmp_path


@pytest.mark.slow
def test_public_holidays_reach_the_page_the_file_and_the_forecast(visits):
    asked = ("visits.csv", "--holidays", "DE", "--depth", "1", "--jobs", "1")
    result = run("report", *asked, "--save", "m.fathom", "--out", "page.html")
    assert result.exit_code == 0, result.output
    page = (visits / "page.html").read_text()
    assert "Public holidays about 28 lower" in page
    assert "Public holidays (DE): 4 days in the data (" in page
    assert "It applies next on 24 May 2021." in page
    assert "fathom report visits.csv --holidays DE" in page
    table = list(csv.DictReader(io.StringIO(run("predict", "m.fathom", "--horizon", "6").output)))
    assert [row["day"] for row in table][:4] == ["2021-05-21", "2021-05-22", "2021-05-23", "2021-05-24"]
    dips = [float(row["mean"]) < 85 for row in table]
    assert dips == [False, False, False, True, False, False]
    # the model is enough: its page names the holidays without the option, and without the package
    again = run("report", "visits.csv", "--model", "m.fathom", "--format", "markdown", "--out", "again.md")
    assert again.exit_code == 0, again.output
    assert "those of DE" in (visits / "again.md").read_text()


@pytest.mark.slow
def test_a_search_prints_the_days_in_short_and_resumes(visits):
    asked = ("search", "visits.csv", "--holidays", "DE", "--depth", "1", "--jobs", "1", "--out", "m.fathom")
    first = run(*asked)
    assert first.exit_code == 0, first.output
    assert "Days(variance=" in first.output
    assert "…" in first.output
    assert all(len(line) < 200 for line in first.output.splitlines())
    again = json.loads(run(*asked, "--json").output)
    assert again["kernel"].count("Days(") == 1


@pytest.mark.parametrize("command", ["report", "search"])
def test_an_unknown_country_is_one_line(visits, command):
    result = run(command, "visits.csv", "--holidays", "Germny")
    assert result.exit_code == 2
    assert (
        result.output.strip()
        == "error: --holidays Germny: no such country (did you mean DE (Germany) or GG (Guernsey)?)"
    )


@pytest.mark.slow
def test_business_days_are_forecast_on_business_days(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    days = np.busday_offset("2024-01-01", np.arange(30), roll="forward")
    y = np.arange(30) % 5 + 0.1 * np.random.default_rng(0).standard_normal(30)
    rows = [f"{day},{value:.3f}" for day, value in zip(days, y, strict=True)]
    (tmp_path / "price.csv").write_text("day,price\n" + "\n".join(rows))
    assert run("search", "price.csv", "--depth", "1", "--jobs", "1", "--out", "m.fathom").exit_code == 0
    table = list(csv.DictReader(io.StringIO(run("predict", "m.fathom", "--horizon", "7").output)))
    expected = np.busday_offset(days[-1], np.arange(1, 8))
    assert [row["day"] for row in table] == [str(day) for day in expected]
    assert [int(np.argmax([float(row["mean"]) for row in table[:5]]))] == [4]  # the week of five steps goes on
    said = json.loads(run("report", "price.csv", "--model", "m.fathom", "--json").output)
    assert "weekly cycle" in said["headline"]
