"""`fathom fit` and `fathom compare` with sparse and deep models, from a CSV to a forecast."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from fathom.cli.app import app


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (60, 2))
    rows = [f"{a},{b},{np.sin(2 * a) + 0.1 * rng.standard_normal()}\n" for a, b in x]
    (tmp_path / "d.csv").write_text("a,b,y\n" + "".join(rows))
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments))


SMALL = ("--inducing", "8", "--steps", "50")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["svgp", "dspp"])
def test_fit_then_predict(model):
    fitted = invoke("fit", "d.csv", "--model", model, *SMALL, "--json")
    assert fitted.exit_code == 0, fitted.output
    facts = json.loads(fitted.output)
    assert (facts["inference"], facts["steps"], facts["status"]) == (model, 50, "done")
    assert (facts["validation_nll"] is not None) == (model == "dspp")
    predicted = invoke("predict", "model.fathom", "d.csv")
    assert predicted.exit_code == 0, predicted.output
    assert len(predicted.output.splitlines()) == 61


@pytest.mark.slow
def test_a_series_is_continued():
    invoke("fit", "airline", "--model", "svgp", *SMALL, "--out", "a.fathom")
    said = invoke("predict", "a.fathom", "--horizon", "2")
    assert said.exit_code == 0, said.output
    assert [line.split(",")[0] for line in said.output.splitlines()] == ["date", "1961-01", "1961-02"]


@pytest.mark.slow
def test_what_fit_says():
    said = invoke("fit", "d.csv", "--model", "dspp", "--widths", "2,2", *SMALL)
    assert said.exit_code == 0, said.output
    assert "inference     dspp" in said.output
    assert "held-out NLL" in said.output
    assert "in standard units, at step" in said.output


@pytest.mark.slow
def test_fit_says_when_predictions_are_an_average():
    said = invoke("fit", "d.csv", "--model", "sampling", "--widths", "", "--inducing", "4", "--steps", "10")
    assert said.exit_code == 0, said.output
    assert re.search(r"predictions +average \d+ of 10 starts; the best weighs \d+ %", said.output)


@pytest.mark.slow
def test_compare_prints_one_table():
    said = invoke("compare", "d.csv", "--models", "mean,vfe,svgp", "--folds", "2", "--json")
    assert said.exit_code == 0, said.output
    rows = {row["model"]: row for row in json.loads(said.output)["models"]}
    assert list(rows) == ["mean", "vfe", "svgp"]
    assert rows["svgp"]["RMSE"] < rows["mean"]["RMSE"]


@pytest.mark.slow
def test_killed_training_goes_on_to_the_identical_model(somewhere):
    command = [sys.executable, "-m", "fathom", "fit", "d.csv", "--model", "svgp", "--inducing", "8", "--steps", "3000"]
    checkpoint = somewhere / "m.fathom.checkpoint"
    with subprocess.Popen([*command, "--out", "m.fathom"], stdout=subprocess.DEVNULL) as killed:
        limit = time.monotonic() + 60
        while not checkpoint.exists() and killed.poll() is None and time.monotonic() < limit:
            time.sleep(0.01)
        os.kill(killed.pid, signal.SIGKILL)
    assert checkpoint.exists()
    again = subprocess.run([*command, "--out", "m.fathom", "--json"], capture_output=True, text=True, check=True)
    assert not checkpoint.exists()
    whole = subprocess.run([*command, "--out", "w.fathom", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["objective"] == json.loads(whole.stdout)["objective"]
    tables = [invoke("predict", name, "d.csv").output for name in ("m.fathom", "w.fathom")]
    assert tables[0] == tables[1]


def run_with_cache(folder, *arguments):
    told = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    command = [sys.executable, "-m", "fathom", *arguments]
    return subprocess.run(command, env=told | {"XDG_CACHE_HOME": str(folder)}, capture_output=True, text=True)


@pytest.mark.slow
def test_compiled_code_is_kept_and_a_cache_that_cannot_be_written_is_none(somewhere):
    invoke("fit", "d.csv", "--model", "svgp", *SMALL)
    first, second = (run_with_cache(somewhere / "cache", "predict", "model.fathom", "d.csv") for _ in range(2))
    assert list((somewhere / "cache" / "fathom").glob("*/*latent*"))
    (somewhere / "file").write_text("no folder")
    without = run_with_cache(somewhere / "file", "predict", "model.fathom", "d.csv")
    assert first.stdout == second.stdout == without.stdout != ""
    assert (first.stderr, second.stderr, without.stderr) == ("", "", "")
