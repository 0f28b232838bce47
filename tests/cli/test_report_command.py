"""`fathom report`: what it prints and leaves, that it goes on where it was, and what bad options get."""

import inspect
import json
import re
from html import unescape

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import fathom
from fathom.cli import again
from fathom.cli.app import app
from fathom.cli.report import command_line


@pytest.fixture
def series(tmp_path, monkeypatch):
    """A short monthly file with a line, a cycle and noise, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    t = np.arange(40)
    y = 0.1 * t + np.sin(2 * np.pi * t / 8) + 0.1 * rng.standard_normal(40)
    rows = [f"{2000 + k // 12}-{k % 12 + 1:02d},{v:.4f}" for k, v in zip(t, y, strict=True)]
    (tmp_path / "s.csv").write_text("month,sales (kg)\n" + "\n".join(rows))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["report", "s.csv", "--jobs", "1", "--depth", "1", *arguments])


@pytest.mark.slow
def test_it_writes_a_page_and_says_where(series):
    result = run("--save", "m.fathom")
    assert result.exit_code == 0, result.output
    assert {p.name for p in series.iterdir()} == {"s.csv", "report.html", "report.html.trace.json", "m.fathom"}
    assert "Sales, 2000-01 to 2003-04" in result.output
    assert "written to" in result.output
    page = (series / "report.html").read_text()
    assert "fathom report s.csv --depth 1 --save m.fathom --seed 0" in page
    before = (series / "report.html.trace.json").stat().st_mtime_ns
    again = run("--json", "--horizon", "6")
    said = json.loads(again.stdout)
    assert set(said) >= {"title", "headline", "kernel", "out", "seconds"}
    assert (series / "report.html.trace.json").stat().st_mtime_ns >= before
    assert "2003-10" in (series / "report.html").read_text()


@pytest.mark.slow
def test_a_model_file_and_other_formats(series):
    assert run("--save", "m.fathom").exit_code == 0
    for form, name in (("markdown", "report.md"), ("json", "report.json")):
        result = run("--model", "m.fathom", "--format", form)
        assert result.exit_code == 0, result.output
        assert (series / name).exists()
    facts = json.loads((series / "report.json").read_text())
    assert facts["title"] in (series / "report.md").read_text()
    assert facts["trace"]["levels"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "pdf"], "--format 'pdf': choose from: html, markdown, json"),
        (["--out", "no/r.html"], "there is no folder no"),
        (["--save", "no/m.fathom"], "there is no folder no"),
        (["--variant", "fast"], "variant must be 'interpretability' or 'accuracy', not 'fast'"),
        (["--model", "none.fathom"], "none.fathom"),
    ],
)
def test_what_bad_options_get(series, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not (series / "report.html").exists()


def test_a_model_of_other_data_is_refused(series):
    assert run("--save", "m.fathom").exit_code == 0
    (series / "s.csv").write_text((series / "s.csv").read_text().replace("2000-05,", "2000-05,9"))
    result = run("--model", "m.fathom")
    assert result.exit_code == 2
    assert "is not what the model was fitted to: give its own data" in result.output


def test_the_command_leaves_defaults_out_and_quotes_names():
    asked = {"--target": ["a b", "c"], "--depth": 10, "--variant": "accuracy", "--out": None}
    assert command_line("my data.csv", asked) == (
        "fathom report 'my data.csv' --target 'a b' --target c --variant accuracy"
    )


# -- the forecast as a file ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_forecast_is_what_predict_writes(series):
    result = run("--horizon", "7", "--forecast", "f.csv", "--save", "m.fathom")
    assert result.exit_code == 0, result.output
    assert re.search(r"forecast in\s+f.csv", result.output)
    levels = "0.05,0.25,0.5,0.75,0.95"
    arguments = ["predict", "m.fathom", "--horizon", "7", "--quantiles", levels, "--out", "g.csv"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (series / "f.csv").read_bytes() == (series / "g.csv").read_bytes()
    page = unescape((series / "report.html").read_text())
    assert f'data-text="{(series / "f.csv").read_text()}"' in page
    assert "--horizon 7 --save m.fathom --seed 0 --forecast f.csv" in page


def test_a_forecast_is_refused_before_the_search(series):
    assert "there is no folder no" in run("--forecast", "no/f.csv").output
    (series / "s.csv").write_text("depth,light\n" + "\n".join(f"{k / 7},{k * k % 11}" for k in range(20)))
    result = run("--forecast", "f.csv")
    assert result.exit_code == 2
    assert "--forecast: s.csv has no time column to continue: name it with --time" in result.output
    lines = (f"{2000 + k},{k % 5},{k * k % 11}" for k in range(20))
    (series / "s.csv").write_text("year,price,sales\n" + "\n".join(lines))
    result = run("--forecast", "f.csv", "--target", "sales", "--inputs", "price")
    assert result.exit_code == 2
    assert "--forecast cannot know the future of price: leave them out of --inputs" in result.output
    assert [p.name for p in series.iterdir()] == ["s.csv"]


# -- the page again, in Python -----------------------------------------------------------------------------------------


def content(page):
    """What a page says and draws before its fine print."""
    return re.sub(r"in [\d,]+ seconds", "", page[: page.index('<section class="fine">')])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        (["--horizon", "7", "--seed", "3"], None),
        (["--target", "sales", "--out", "r.html"], "width,height,sales"),
    ],
)
def test_the_lines_of_python_make_the_page_again(series, arguments, rows):
    if rows is not None:
        rng = np.random.default_rng(0)
        lines = (f"{a:.3f},{b:.3f},{a * 3 - b + 0.1 * c:.3f}" for a, b, c in rng.uniform(0, 1, (30, 3)))
        (series / "s.csv").write_text(rows + "\n" + "\n".join(lines))
    assert run(*arguments).exit_code == 0
    path = series / ("r.html" if rows else "report.html")
    page = path.read_text()
    code = unescape(re.search(r'<code id="python">(.*?)</code>', page, flags=re.DOTALL)[1])
    path.unlink()
    exec(compile(code.replace("KernelSearch(", "KernelSearch(n_jobs=1, "), "page", "exec"), {})
    assert content(path.read_text()) == content(page)


@pytest.mark.slow
def test_a_saved_model_is_reported_again_in_any_form(series):
    assert run("--save", "m.fathom").exit_code == 0
    assert run("--model", "m.fathom", "--format", "json", "--horizon", "5").exit_code == 0
    said = json.loads((series / "report.json").read_text())
    assert 'model = fathom.load("m.fathom")' in said["python"]
    (series / "report.json").unlink()
    exec(compile(said["python"], "page", "exec"), {})
    new = json.loads((series / "report.json").read_text())
    assert {key for key in said if said[key] != new[key]} <= {"command", "python", "seconds", "seed"}


def test_every_option_of_the_command_has_its_place_in_python():
    options = {option.opts[-1] for option in get_command(app).commands["report"].params if option.opts[-1][0] == "-"}
    known = {*again.DATA, *again.SEARCH, *again.OTHER}
    assert options - {"--jobs", "--json", "--help"} == known  # those change neither the model nor the page
    search = fathom.KernelSearch().get_params()
    assert set(again.SEARCH.values()) <= set(search)
    assert set(again.DATA.values()) <= set(inspect.signature(fathom.load_csv).parameters)


def test_lines_of_python_for_data_by_name():
    data = fathom.datasets.load("airline")
    asked = {"--target": [], "--drop": None, "--depth": 10, "--horizon": 24, "--format": "html", "--seed": 0}
    lines = again.python("airline", asked, {"--depth": 10, "--format": "html"}, data, 1963.0).splitlines()
    assert lines[2:] == [
        'data = fathom.datasets.load("airline")',
        "model = fathom.KernelSearch(random_state=0, calendar=data.calendar).fit(data.X, data.y)",
        'model.report("report.html", data, horizon=data.future(24)[-1])',
    ]
    asked |= {"--target": ["passengers"], "--drop": ["a", 'b"c'], "--depth": 3}
    assert again.python("airline", asked, {}, data, None).splitlines()[2:4] == [
        'data = fathom.datasets.resolve("airline", target="passengers", drop=["a", "b\\"c"])',
        "model = fathom.KernelSearch(depth=3, random_state=0, calendar=data.calendar).fit(data.X, data.y)",
    ]
