"""`fathom report`: what it prints and leaves, that it goes on where it was, and what bad options get."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

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
