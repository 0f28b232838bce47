"""`fathom search`: what it prints and leaves, and that it goes on where it was stopped."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from fathom.cli.app import app
from fathom.search.trace import Trace


@pytest.fixture
def series(tmp_path, monkeypatch):
    """A short file with a line, a cycle and noise, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    t = np.arange(40)
    y = 0.1 * t + np.sin(2 * np.pi * t / 8) + 0.1 * rng.standard_normal(40)
    (tmp_path / "s.csv").write_text("t,y\n" + "\n".join(f"{a},{b:.4f}" for a, b in zip(t, y, strict=True)))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["search", "s.csv", "--jobs", "1", *arguments])


@pytest.mark.slow
def test_it_finds_writes_and_predicts(series):
    result = run("--depth", "2", "--out", "m.fathom")
    assert result.exit_code == 0, result.output
    for words in ("level", "BIC", "kernel", "ended", "written to"):
        assert words in result.output
    assert {p.name for p in series.iterdir()} == {"s.csv", "m.fathom", "m.fathom.trace.json"}
    forecast = CliRunner().invoke(app, ["predict", "m.fathom", "--horizon", "3"])
    assert forecast.exit_code == 0, forecast.output
    assert len(forecast.output.strip().splitlines()) == 4


def test_json_and_the_same_seed(series):
    answers = []
    for name in ("a", "b"):
        result = run("--depth", "1", "--out", f"{name}.fathom", "--json")
        answers.append(json.loads(result.stdout))
    assert answers[0]["kernel"] == answers[1]["kernel"]
    assert [level["level"] for level in answers[0]["levels"]] == [0, 1]


def test_a_trace_of_other_data_is_begun_anew_unless_it_was_named(series):
    assert run("--depth", "1", "--out", "m.fathom").exit_code == 0
    (series / "s.csv").write_text((series / "s.csv").read_text().replace("0,", "0,1", 1))
    assert run("--depth", "1", "--out", "m.fathom").exit_code == 0
    (series / "s.csv").write_text((series / "s.csv").read_text().replace("0,1", "0,2", 1))
    refused = run("--depth", "1", "--out", "m.fathom", "--trace", "m.fathom.trace.json")
    assert refused.exit_code == 2
    assert "belongs to a search of other data or settings: remove it or name another file" in refused.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variant", "fast"], "variant must be 'interpretability' or 'accuracy', not 'fast'"),
        (["--backend", "dask"], "the Dask backend needs the address of a scheduler"),
        (["--out", "no/m.fathom"], "no"),
    ],
)
def test_what_bad_options_get(series, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.slow
def test_killed_it_resumes_to_the_identical_answer(series):
    command = [sys.executable, "-m", "fathom", "search", "s.csv", "--depth", "3", "--jobs", "1", "--json"]
    whole = subprocess.run([*command, "--out", "whole.fathom"], capture_output=True, text=True, check=True)
    killed = subprocess.Popen([*command, "--out", "m.fathom"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    trace, deadline = series / "m.fathom.trace.json", time.monotonic() + 60
    while not trace.exists() and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert len(Trace.from_json(trace.read_text()).levels) >= 2
    again = subprocess.run([*command, "--out", "m.fathom"], capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["kernel"] == json.loads(whole.stdout)["kernel"]
