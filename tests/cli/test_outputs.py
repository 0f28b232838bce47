"""What a command writes: never onto what it reads, in whatever way the two are named."""

import csv
import os
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fathom
from fathom.cli.app import app
from fathom.cli.forecast import Forecast


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """A folder with data under many names and a model fitted to them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FATHOM_DATA", raising=False)
    (tmp_path / "d.csv").write_text("time,y\n" + "".join(f"{i},{(i * i) % 7}\n" for i in range(12)))
    (tmp_path / "sub").mkdir()
    os.link("d.csv", "hard.csv")
    Path("link.csv").symlink_to("d.csv")
    Path("here").symlink_to(".")
    fathom.save(_model(fathom.load_csv("d.csv")), "m.fathom")
    return tmp_path


def _model(data):
    from fathom.data.dataset import inputs

    model = fathom.GPRegressor(optimise=False).fit(inputs(data), data.y)
    model.columns_ = data.columns
    return model


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments))


def refused(*arguments):
    """The line with which a command refuses, having changed nothing."""
    before = contents()
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert contents() == before
    return result.stderr.removeprefix("error: ").rstrip("\n")


def contents():
    return {str(path): path.read_bytes() for path in Path().iterdir() if path.is_file()}


QUICK = ("--depth", "1", "--jobs", "1")


@pytest.mark.parametrize(
    "name", ["d.csv", "./d.csv", "sub/../d.csv", "hard.csv", "link.csv", "here/d.csv", "here/link.csv"]
)
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("fit", "d.csv"), "--out"),
        (("search", "d.csv", *QUICK), "--out"),
        (("search", "d.csv", *QUICK), "--trace"),
        (("report", "d.csv", *QUICK), "--out"),
        (("report", "d.csv", *QUICK), "--save"),
        (("predict", "m.fathom", "d.csv"), "--out"),
    ],
)
def test_no_output_replaces_the_data(command, option, name):
    said = refused(*command, option, name)
    assert said == f"cannot write {Path(name)}: DATA is read from this file; choose another {option}"


def test_nor_a_model_that_is_read():
    assert refused("predict", "m.fathom", "--horizon", "2", "--out", "here/m.fathom") == (
        "cannot write here/m.fathom: MODEL is read from this file; choose another --out"
    )
    for option in ("--out", "--save"):
        assert refused("report", "d.csv", "--model", "m.fathom", option, "m.fathom") == (
            f"cannot write m.fathom: --model is read from this file; choose another {option}"
        )


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        (("search", *QUICK), ".trace.json"),
        (("report", *QUICK), ".trace.json"),
        (("fit", "--model", "svgp", "--steps", "10"), ".checkpoint"),
    ],
)
def test_nor_do_the_files_for_work_in_progress(command, ending):
    os.link("d.csv", f"x{ending}")
    name, *options = command
    assert refused(name, "d.csv", *options, "--out", "x") == (
        f"cannot write x{ending}: DATA is read from this file; choose another --out"
    )


def test_a_catalogue_and_its_files_are_inputs_too(somewhere, monkeypatch):
    Path("catalog.toml").write_text('[[dataset]]\nname = "mine"\nfile = "d.csv"\ntargets = ["y"]\nn_rows = 12\n')
    monkeypatch.setenv("FATHOM_DATA", str(somewhere))
    for name in ("d.csv", "catalog.toml"):
        assert refused("fit", "mine", "--out", name) == (
            f"cannot write {name}: DATA is read from this file; choose another --out"
        )


def test_two_outputs_are_two_files():
    assert refused("report", "d.csv", *QUICK, "--out", "x", "--save", "here/x") == (
        "cannot write here/x: --out writes to this file too; choose another --save"
    )
    assert refused("search", "d.csv", *QUICK, "--out", "x", "--trace", "./x") == (
        "cannot write x: --out writes to this file too; choose another --trace"
    )
    assert invoke("report", "d.csv", "--model", "m.fathom", "--out", "/dev/null", "--save", "/dev/null").exit_code == 0


def test_a_benchmark_is_not_replaced_by_its_results(somewhere, monkeypatch):
    (somewhere / "registry").mkdir()
    Path("registry/b.py").write_text('"""B."""\ndef run(quick, say): return {"rows": []}\n')
    Path("b.json").symlink_to("registry/b.py")
    monkeypatch.setenv("FATHOM_BENCHMARKS", "registry")
    assert refused("bench", "b", "--out", ".") == (
        "cannot write b.json: the benchmark is read from this file; choose another --out"
    )


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("sub", "cannot write sub: it is a folder; name a file in it"),
        ("no/x", "cannot write no/x: there is no folder no; make it, or choose another --save"),
        ("nowhere", "cannot write nowhere: there is no folder .*no; make it, or choose another --save"),
        ("loop", "cannot write loop: the link leads in a circle; choose another --save"),
    ],
)
def test_places_that_cannot_be_written(place, message):
    Path("nowhere").symlink_to("no/x")
    Path("loop").symlink_to("loop")
    assert re.fullmatch(message, refused("report", "d.csv", *QUICK, "--save", place))


def test_a_place_that_may_not_be_written_is_told_before_the_work(monkeypatch):
    Path("old").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, how: False)  # the superuser may write anywhere
    for place in ("old", "new"):
        assert refused("fit", "d.csv", "--out", place) == (
            f"cannot write {place}: you may not write there; choose another --out"
        )


def test_a_file_of_the_users_own_is_no_trace_to_begin_anew():
    Path("m2.fathom.trace.json").write_text('{"my": "notes"}')
    said = refused("search", "d.csv", *QUICK, "--out", "m2.fathom")
    assert said.startswith("m2.fathom.trace.json is not a trace of a search")


@pytest.mark.slow
def test_beside_a_device_no_trace_is_left():
    before = set(os.listdir("/dev"))
    assert invoke("search", "d.csv", *QUICK, "--out", "/dev/null").exit_code == 0
    assert set(os.listdir("/dev")) == before


# -- spreadsheets ------------------------------------------------------------------------------------------------


def test_names_are_no_formulas_to_a_spreadsheet():
    header = ("=1+1", "+x", "-x", "@SUM(A1)", "＝1", " =x", "a=b", "mean")
    text = Forecast(header, [(1.5, -2, "-1", "2020-01", 0, 0, 0, -0.5)]).csv()
    first, second = csv.reader(text.splitlines())
    assert first == ["'=1+1", "'+x", "'-x", "'@SUM(A1)", "'＝1", "' =x", "a=b", "mean"]
    assert second == ["1.5", "-2", "'-1", "2020-01", "0", "0", "0", "-0.5"]


def test_a_written_forecast_has_them_quoted_and_json_as_they_are():
    rng = np.random.default_rng(0)
    rows = "".join(f"{a:.4f},{b:.4f}\n" for a, b in rng.uniform(0, 1, (12, 2)))
    Path("odd.csv").write_text("=cmd,@y\n" + rows)
    assert invoke("fit", "odd.csv", "--restarts", "1", "--out", "o.fathom").exit_code == 0
    assert invoke("predict", "o.fathom", "odd.csv", "--out", "o.csv").exit_code == 0
    assert Path("o.csv").read_text().startswith("'=cmd,mean,sd,")
    assert '"=cmd": ' in invoke("predict", "o.fathom", "odd.csv", "--json").stdout
