"""What a reader comes for: the forecast, what does not fit, the numbers behind pictures, and the page made again."""

import csv
import io
import json
import re
from html import unescape

import numpy as np
import pytest

import fathom
from fathom.data.dataset import Dataset
from fathom.report import document, plaintext
from fathom.report.contents import MOST_STEPS
from fathom.report.words.sure import checked_parts
from fathom.report.words.verdicts import LEVEL
from tests.report.test_document import Page


def attributes(text, tag):
    """The attributes of every such tag, in order."""
    found = []
    for inside in re.findall(rf"<{tag}\b([^>]*)>", text):
        found.append({key: unescape(value) for key, value in re.findall(r'([\w-]+)="([^"]*)"', inside)})
    return found


@pytest.fixture(scope="module")
def odd():
    """A monthly series with a cycle, and with a value in June 2003 that does not fit; a page on it."""
    rng = np.random.default_rng(0)
    x = 2000 + np.arange(72) / 12
    y = 20 + 3 * np.sin(2 * np.pi * x) + 0.2 * rng.standard_normal(72)
    y[41] += 4.0
    data = Dataset(x[:, None], y, ("month",), ("sales",), units={"sales": "EUR"}, time=0)
    kernel = "Per(variance=4, period=1, lengthscale=3) + WN(variance=0.08)"
    model = fathom.GPRegressor(kernel, optimise=False).fit(data.X, data.y)
    origin = document.Origin("fathom report s.csv", "import fathom\n\nmodel = 'x < y'\n")
    report = document.make(model, data, origin, horizon=2009.0)
    return report, document.html(report)


# -- the order of a page -----------------------------------------------------------------------------------------------

SERIES = ["What it is made of", "How sure are we?", "In short", "Before you rely on it", "What comes next"]
SERIES += ["What does not fit", "*", "Does the model fit?", "Fine print"]


@pytest.mark.parametrize("name", ["odd", "several"])
def test_a_page_has_its_sections_in_order(name, request):
    """From the first screen to the fine print; "*" stands for the parts, each under its number."""
    found = request.getfixturevalue(name)
    report = found[0] if name == "odd" else document.make(found[1], found[0])
    absent = {"What comes next": report.forecast is None, "What does not fit": not report.anomalies.count}
    expected = [words for words in SERIES if not absent.get(words, False)]
    assert absent["What comes next"] == (name == "several")
    headings = [unescape(h) for h in re.findall(r"<h2>(.*?)</h2>", document.html(report), flags=re.DOTALL)]
    parts = [h for h in headings if 'class="number"' in h]
    assert len(parts) == len(report.facts.components)
    k = expected.index("*")
    assert [h for h in headings if h not in parts] == [*expected[:k], *expected[k + 1 :]]
    assert headings[k : k + len(parts)] == parts


# -- the forecast ------------------------------------------------------------------------------------------------------


def test_the_button_holds_the_csv_of_the_table(odd):
    report, text = odd
    button = next(b for b in attributes(text, "button") if "data-text" in b)
    assert button["data-text"] == report.forecast.csv()
    rows = list(csv.DictReader(io.StringIO(button["data-text"])))
    expected = report.model.predict_dist(np.array([[float(rows[0]["month"])]]))
    assert float(rows[0]["mean"]) == pytest.approx(expected.mean()[0], rel=1e-6)
    assert float(rows[0]["q0.95"]) == pytest.approx(expected.interval(0.9)[1][0], rel=1e-6)


def test_two_years_are_seen_and_the_rest_is_folded_away(odd):
    report, text = odd
    table, rest = re.findall(r"<table>.*?</table>", text, flags=re.DOTALL)[:2]
    assert table.count("<tr>") == 25
    assert rest.count("<tr>") - 1 == len(report.forecast.rows) - 24 > 0
    assert f"{len(report.forecast.rows) - 24} more, to " in text
    assert "later steps" not in text


@pytest.mark.slow
def test_a_very_long_forecast_stops_on_the_page_and_goes_on_in_the_file():
    x = np.arange(30.0)
    data = Dataset(x[:, None], np.sin(x), ("t",), ("y",), time=0)
    model = fathom.GPRegressor("SE + WN(variance=0.01)", optimise=False).fit(data.X, data.y)
    report = document.make(model, data, horizon=29.0 + MOST_STEPS + 234)
    text = document.html(report)
    assert (len(report.forecast.rows), report.n_steps) == (MOST_STEPS, MOST_STEPS + 234)
    whole = report.forecast_whole()
    assert len(whole.rows) == MOST_STEPS + 234
    assert whole.rows[:MOST_STEPS] == report.forecast.rows
    button = next(b for b in attributes(text, "button") if "data-text" in b)
    assert button["data-text"].count("\n") == MOST_STEPS + 1
    assert "234 later steps are in the file that" in text
    assert len(text) < 400_000


def test_markdown_and_json_hold_the_table_too(odd):
    report, _ = odd
    text, facts = plaintext.markdown(report), json.loads(plaintext.json_text(report))
    assert "## What comes next" in text
    assert "| month | expected (EUR) | 50 % band | 90 % band |" in text
    assert f"{len(report.forecast.rows) - 24} later steps are in the file that `--forecast` writes." in text
    assert facts["forecast_table"][3] == dict(zip(report.forecast.header, report.forecast.rows[3], strict=True))
    assert facts["anomalies"]["shown"][0]["row"] == 41
    assert facts["python"] == report.origin.python


def test_several_inputs_have_no_next_steps(several):
    data, model, _ = several
    report = document.make(model, data)
    text = document.html(report)
    assert "What comes next" not in text + plaintext.markdown(report)
    assert json.loads(plaintext.json_text(report))["forecast_table"] is None


# -- what does not fit, and checks -------------------------------------------------------------------------------------


def test_what_does_not_fit_is_listed_and_ringed(odd):
    report, text = odd
    assert [a.row for a in report.anomalies.shown] == [41]
    page = Page(text).text
    assert "One observation lies improbably far from what the others foretell" in page
    assert text.count('class="odd" cx=') == 2  # wide and narrow
    place = re.escape(report.dataset.format_time(report.dataset.X[41, 0]))
    said = re.search(rf'<td>{place}</td><td class="n">([\d.]+)</td><td class="n">([\d.]+)</td>', text)
    assert float(said[1]) == pytest.approx(report.dataset.y[41], abs=0.1)
    assert "What does not fit" in plaintext.markdown(report)


def test_where_everything_fits_one_line_says_so():
    x = np.arange(40.0)
    data = Dataset(x[:, None], np.sin(x), ("t",), ("y",), time=0)
    calm = fathom.GPRegressor("SE + WN(variance=0.2)", optimise=False).fit(data.X, data.y)
    report = document.make(calm, data)
    assert report.anomalies.count == 0
    for text in (document.html(report), plaintext.markdown(report)):
        assert "What does not fit" not in text
        assert text.count("No observation lies improbably far from what the others foretell.") == 1
    assert 'class="odd"' not in document.html(report)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["odd", "several", "searched"])
def test_every_check_has_one_line_and_every_failure_stands_where_it_is_said_to(name, request):
    found = request.getfixturevalue(name)
    report = found[0] if name == "odd" else document.make(found[1], found[0])
    text = document.html(report)
    checks = text[text.index('<section class="checks">') : text.index("Fine print")]
    assert checks.count('class="verdict') == len(report.whole())
    for check in report.checks:
        said = Page(document._words(report.say(check))).text
        shown = Page(text).text.split("What it is made of")[-1]
        failed = check.p_value <= LEVEL
        if check.subject == "whole" or failed:
            assert said in shown
    bad = [c for c in report.checks if c.subject != "whole" and c.p_value <= LEVEL]
    sections = re.findall(r'<section class="part".*?</section>', text, flags=re.DOTALL)
    assert sum(section.count('class="verdict failed"') for section in sections) == len(bad)
    assert checked_parts(report.checks) in Page(text).text


# -- numbers behind the pictures, and the page again -------------------------------------------------------------------


def test_the_numbers_behind_a_picture_are_those_of_the_model(odd):
    report, text = odd
    (main,) = attributes(text, "main")
    at = np.array(main["data-at"].split(","), dtype=float)
    assert len(main["data-when"].split("|")) == len(at)
    hero = next(s for s in attributes(text, "svg") if "data-seen" in s)
    expected = report.model.predict_dist(at[:, None])
    gap = float(np.median(np.diff(expected.interval(0.9), axis=0)))
    for key, values in (("mean", expected.mean()), ("low", expected.interval(0.9)[0])):
        assert np.array(hero[f"data-{key}"].split(","), dtype=float) == pytest.approx(values, abs=gap / 20)
    seen = hero["data-seen"].split(",")
    assert [value == "" for value in seen] == [place > report.dataset.X.max() + 1e-6 for place in at]
    assert float(seen[41]) == pytest.approx(report.dataset.y[41], abs=gap / 20)
    assert hero["data-unit"] == "EUR"
    assert sum("data-mean" in s for s in attributes(text, "svg")) >= 4


def test_a_page_without_its_script_is_whole(odd):
    _, text = odd
    assert text.count("<script>") == 1
    still = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert Page(still).text == Page(text).text
    assert all("hidden" in tag for tag in re.findall(r"<button[^>]*>", still))
    assert not re.search(r"\son\w+=", still)


def test_the_lines_of_python_are_text(odd):
    report, text = odd
    assert "model = &#39;x &lt; y&#39;" in text
    assert report.origin.python in Page(text).words[-20:] or "model = 'x < y'" in Page(text).text
    assert f"```python\n{report.origin.python}```" in plaintext.markdown(report)
