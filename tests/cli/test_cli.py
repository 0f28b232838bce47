"""The commands from end to end: what they print, what they write, and that they can be repeated."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fathom
from fathom.cli.app import app

FOREIGN = {"jax", "numpy", "pandas", "sklearn", "matplotlib", "scipy"}


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """An empty folder to write to, and no catalogue or benchmarks but those a test sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FATHOM_DATA", raising=False)
    monkeypatch.delenv("FATHOM_BENCHMARKS", raising=False)
    return tmp_path


def run(*arguments: str):
    """A command that must succeed: its standard output."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    assert result.stderr == ""  # quiet in a pipe
    return result.stdout


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def series(somewhere):
    """Two years of a monthly series with dates in a reader's own form."""
    months = [f"{m:02d}/{y}" for y in (2020, 2021) for m in range(1, 13)]
    rows = [f"{month},{10 + 0.5 * i + np.sin(i):.3f}" for i, month in enumerate(months)]
    (somewhere / "sales.csv").write_text("month,sales (EUR)\n" + "\n".join(rows) + "\n")
    return "sales.csv"


@pytest.fixture
def plane(somewhere):
    """Two inputs and two possible targets."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (20, 2))
    lines = [f"{a:.4f},{b:.4f},{a - b:.4f},{np.sin(3 * a):.4f}" for a, b in X]
    (somewhere / "plane.csv").write_text("a,b,difference,wave\n" + "\n".join(lines) + "\n")
    return "plane.csv"


def fit(data: str, *options: str, out: str = "m.fathom") -> str:
    return run("fit", data, "--restarts", "1", "--out", out, *options)


# -- the command itself ------------------------------------------------------------------------------------------


def test_help_and_version():
    assert run("--version") == f"fathom {fathom.__version__}\n"
    text = run("--help")
    assert all(command in text for command in ("fit", "predict", "compare", "datasets", "bench"))
    assert "demo" not in text
    assert run() == run("--help")
    for command in ("fit", "predict", "compare", "datasets", "bench"):
        assert "--json" in run(command, "--help")


def test_help_loads_nothing_heavy():
    code = "import sys, fathom.cli.app; print(' '.join({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not FOREIGN & set(loaded)


def test_it_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "fathom", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"fathom {fathom.__version__}\n", "")


# -- fit ---------------------------------------------------------------------------------------------------------


def test_fit_says_what_was_done_and_found(series):
    text = fit(series, "--kernel", "SE + Lin")
    assert "24 rows, 1 input; target sales (EUR)" in text
    assert "Dates in 'month' were understood as monthly" in text
    assert "Lin(" in text
    assert "log evidence" in text
    assert "inside their 90 % intervals" in text
    assert "written to" in text
    assert "m.fathom" in text


def test_fit_rounds_the_kernel_for_reading_only(series):
    text = fit(series)
    found = json.loads(fit(series, "--json"))
    variance = fathom.load("m.fathom").kernel_.children[-1].variance
    assert f"WN(variance={float(f'{variance:.4g}')})" in text
    assert repr(float(variance)) in found["kernel"]


def test_fit_in_json(series):
    found = json.loads(fit(series, "--json"))
    assert (found["rows"], found["inputs"], found["target"]) == (24, ["month"], ["sales"])
    assert set(found["leave_one_out"]) == {"NLL", "RMSE", "CRPS", "coverage90"}
    assert np.isfinite(found["log_evidence"])
    assert found["out"] == "m.fathom"


def test_the_same_seed_gives_the_same_model(series):
    first, second = (json.loads(fit(series, "--seed", "3", "--json")) for _ in range(2))
    first.pop("seconds"), second.pop("seconds")
    assert first == second


def test_columns_are_chosen_and_named(plane):
    found = json.loads(fit(plane, "--target", "wave", "--drop", "difference", "--kernel", "SE[a]", "--json"))
    assert found["inputs"] == ["a", "b"]
    assert found["kernel"].startswith("SE[a](")


def test_a_column_can_be_declared_the_time(plane):
    assert "Times in 'a' were understood" in fit(plane, "--time", "a", "--target", "wave", "--drop", "difference")


# -- predict -----------------------------------------------------------------------------------------------------


def test_a_forecast_continues_in_the_readers_dates(series):
    fit(series)
    assert "3 rows written to forecast.csv" in run("predict", "m.fathom", "--horizon", "3", "--out", "forecast.csv")
    rows = table(Path("forecast.csv").read_text())
    assert [row["month"] for row in rows] == ["01/2022", "02/2022", "03/2022"]
    assert list(rows[0]) == ["month", "mean", "sd", "q0.05", "q0.5", "q0.95"]
    assert all(float(row["q0.05"]) < float(row["mean"]) < float(row["q0.95"]) for row in rows)


def test_without_out_the_table_goes_to_standard_output(series):
    fit(series)
    rows = table(run("predict", "m.fathom", "--horizon", "2", "--quantiles", "0.1"))
    assert [list(row) for row in rows] == [["month", "mean", "sd", "q0.1"]] * 2


def test_rows_of_a_file_are_predicted_in_their_order(series, somewhere):
    fit(series)
    (somewhere / "new.csv").write_text("note,month\nx,05/2021\ny,02/2020\n")
    rows = table(run("predict", "m.fathom", "new.csv"))
    assert [row["month"] for row in rows] == ["05/2021", "02/2020"]
    model, data = fathom.load("m.fathom"), fathom.load_csv(series)
    expected = model.predict_dist(pd.DataFrame(data.X[[16, 1]], columns=["month"]))
    assert [float(row["mean"]) for row in rows] == pytest.approx(expected.mean(), rel=1e-6)
    assert [float(row["sd"]) for row in rows] == pytest.approx(expected.std(), rel=1e-6)


def test_the_function_is_surer_than_an_observation(series):
    fit(series)
    observed, function = (
        table(run("predict", "m.fathom", "--horizon", "1", *extra)) for extra in ((), ("--function",))
    )
    assert float(function[0]["sd"]) < float(observed[0]["sd"])
    assert function[0]["mean"] == observed[0]["mean"]


def test_predict_in_json(series):
    fit(series)
    found = json.loads(run("predict", "m.fathom", "--horizon", "2", "--json", "--out", "f.csv"))
    assert (found["rows"], found["out"]) == (2, "f.csv")
    assert found["forecast"][0]["month"] == "01/2022"
    assert float(table(Path("f.csv").read_text())[0]["mean"]) == found["forecast"][0]["mean"]


def test_several_targets_have_columns_each(plane):
    fit(plane, "--target", "wave", "--target", "difference")
    rows = table(run("predict", "m.fathom", plane, "--quantiles", "0.5"))
    stated = [f"{target} {name}" for target in ("wave", "difference") for name in ("mean", "sd", "q0.5")]
    assert list(rows[0]) == ["a", "b", *stated]
    assert len(rows) == 20


def test_a_data_set_can_be_predicted_by_name():
    fit("airline")
    rows = table(run("predict", "m.fathom", "airline"))
    assert (len(rows), rows[0]["date"], rows[-1]["date"]) == (144, "1949-01", "1960-12")


def test_numbers_for_times_are_written_as_they_were(somewhere):
    (somewhere / "years.csv").write_text("year,y\n" + "".join(f"{y},{(y * 7) % 5}\n" for y in range(1990, 2010)))
    fit("years.csv")
    assert [row["year"] for row in table(run("predict", "m.fathom", "--horizon", "2"))] == ["2010", "2011"]


# -- compare -----------------------------------------------------------------------------------------------------


def test_compare_scores_every_model(series):
    text = run("compare", series, "--models", "gp,mean,linear", "--folds", "2")
    assert all(word in text for word in ("NLL", "RMSE", "CRPS", "coverage", "seconds", "gp", "mean", "linear"))
    assert "in the units of sales (EUR)" in text
    assert "random rows" in text


@pytest.mark.slow
def test_compare_knows_the_search(somewhere):
    (somewhere / "line.csv").write_text("x,y\n" + "".join(f"{i},{2 * i + (i * 7919) % 5}\n" for i in range(24)))
    found = json.loads(run("compare", "line.csv", "--models", "search,mean", "--folds", "2", "--json"))
    nll = {row["model"]: row["NLL"] for row in found["models"]}
    assert nll["search"] < nll["mean"]


@pytest.mark.slow
def test_compare_in_json_and_repeatable(plane):
    command = ("compare", plane, "--drop", "difference", "--models", "gp:SE[a] + SE[b, a],mean", "--folds", "2")
    first, second = (json.loads(run(*command, "--json")) for _ in range(2))
    for found in (first, second):
        for row in found["models"]:
            assert row.pop("seconds") >= 0
    assert first == second
    assert [row["model"] for row in first["models"]] == ["gp:SE[a] + SE[b, a]", "mean"]
    assert first["models"][0]["NLL"] < first["models"][1]["NLL"]


def test_the_mean_baseline_is_the_training_gaussian(plane):
    from fathom import metrics
    from fathom.data.dataset import k_folds
    from fathom.predictive import Predictive

    data = fathom.load_csv(plane, target="wave", drop="difference")
    folds = []
    for train, test in k_folds(20, 2, seed=5):
        y = data.y[train]
        folds.append(metrics.nll(Predictive.gaussian(np.full(10, y.mean()), np.full(10, y.var())), data.y[test]))
    options = ("--target", "wave", "--drop", "difference", "--models", "mean", "--folds", "2", "--seed", "5")
    found = json.loads(run("compare", plane, *options, "--json"))
    assert found["models"][0]["NLL"] == pytest.approx(np.mean(folds))


def test_a_model_that_fails_is_a_footnote(plane):
    text = run("compare", plane, "--models", "mean,gp:SE[nosuch]", "--folds", "2")
    assert "gp:SE[nosuch] failed on 2 of 2 folds: SE[nosuch]: there is no input 'nosuch'" in text


def test_the_best_scores_are_found():
    from fathom.estimators.comparison import best_rows

    rows = [
        {"NLL": 2.0, "RMSE": 1.0, "CRPS": None, "coverage": 1.0},
        {"NLL": 1.0, "RMSE": None, "CRPS": None, "coverage": 0.85},
    ]
    assert best_rows(rows) == {"NLL": 1, "RMSE": 0, "coverage": 1}


# -- data sets and benchmarks ------------------------------------------------------------------------------------


def test_datasets_are_listed():
    text = run("datasets")
    assert "airline" in text
    assert "Box & Jenkins" in text
    assert "Set FATHOM_DATA" in text
    found = json.loads(run("datasets", "--json"))
    assert found["FATHOM_DATA"] is None
    assert found["datasets"][0]["targets"] == ["passengers"]


def test_the_catalogue_is_listed_too(somewhere, monkeypatch):
    (somewhere / "catalog.toml").write_text('[[dataset]]\nname = "mine"\nn_rows = 7\nn_inputs = 1\ntargets = ["y"]\n')
    monkeypatch.setenv("FATHOM_DATA", str(somewhere))
    text = run("datasets")
    assert "mine" in text
    assert "Set FATHOM_DATA" not in text


@pytest.fixture
def benchmarks(somewhere, monkeypatch):
    """A registry with one benchmark, which has a plot."""
    folder = somewhere / "registry"
    folder.mkdir()
    (folder / "small_table.py").write_text(
        '"""A table of one row.\n\nMore about it."""\n\n\n'
        "def run(quick, say):\n"
        "    say('half way')\n"
        "    row = {'what': 'x', 'ours': 1.25, 'paper': None, 'quick': quick}\n"
        "    return {'title': 'Small', 'rows': [row], 'notes': ['Done.']}\n\n\n"
        "def plot(result, path):\n"
        "    path.write_bytes(result['title'].encode())\n"
    )
    monkeypatch.setenv("FATHOM_BENCHMARKS", str(folder))
    return folder


def test_benchmarks_are_listed_without_being_run(benchmarks):
    (benchmarks / "broken.py").write_text('"""Never run."""\nraise SystemExit\n')
    text = run("bench")
    assert "small-table" in text
    assert "A table of one row." in text
    assert "Never run." in text
    assert json.loads(run("bench", "--json"))["benchmarks"][0] == {"name": "broken", "what": "Never run."}


def test_a_benchmark_runs_and_leaves_its_results(benchmarks, somewhere):
    text = run("bench", "small-table", "--quick")
    assert "Small" in text
    assert "1.250" in text
    assert "Done." in text
    kept = json.loads((somewhere / "results" / "small-table.json").read_text())
    assert kept["rows"] == [{"what": "x", "ours": 1.25, "paper": None, "quick": True}]
    assert kept["versions"]["fathom"] == fathom.__version__
    assert set(kept["versions"]) == {"python", "fathom", "numpy", "scipy", "jax"}
    assert kept["machine"]["cpus"] >= 1
    assert (somewhere / "results" / "small-table.png").read_text() == "Small"
    assert json.loads(run("bench", "small_table", "--json", "--out", "elsewhere"))["quick"] is False


def test_the_registry_of_the_clone_is_found():
    from fathom.cli import registry

    assert "speed" in registry.benchmarks()
