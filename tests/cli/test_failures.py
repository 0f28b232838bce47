"""What goes wrong, and the one line that says so; nothing half-written is ever left behind."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fathom.cli import console
from fathom.cli.app import app
from fathom.estimators.exact import GPRegressor

SAVED = "gp, fitc, vfe, pep, svgp, odsvgp, ppgpr, dsvi, gamma, dspp"


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """An empty folder with a small file of data and a model fitted to it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FATHOM_DATA", raising=False)
    monkeypatch.delenv("FATHOM_BENCHMARKS", raising=False)
    (tmp_path / "d.csv").write_text("time,y\n" + "".join(f"{i},{(i * i) % 7}\n" for i in range(12)))
    (tmp_path / "plain.csv").write_text("a,b\n" + "".join(f"{(i * 5) % 7},{i}\n" for i in range(12)))
    return tmp_path


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def model():
    assert invoke("fit", "d.csv", "--restarts", "1", "--out", "m.fathom").exit_code == 0
    return "m.fathom"


def fails(message: str, *arguments: str) -> None:
    """Status 2, one line on standard error that says what the pattern says, nothing on standard output."""
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.count("\n") == 1
    assert re.match(f"error: {message}", result.stderr), result.stderr


def files() -> set[str]:
    return set(os.listdir("."))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("message", "command"),
    [
        ("missing argument 'DATA'; see 'fathom fit --help'", "fit"),
        (r"no such option --kernal \(did you mean --kernel\?\); see", "fit d.csv --kernal SE"),
        ("no such option --xyz; see", "fit d.csv --xyz"),
        (r"no such command 'fti' \(did you mean 'fit'\?\); see", "fti"),
        (r"got unexpected extra argument", "fit d.csv more"),
        ("invalid value for '--restarts'", "fit d.csv --restarts few"),
        ("--target 'z': no such column in d.csv.*columns: time, y", "fit d.csv --target z"),
        ("--time 'when': no such column", "fit d.csv --time when"),
        ("no file 'nosuch.csv'", "fit nosuch.csv"),
        (r"no file or data set is called 'airlin' \(did you mean 'airline'\?\)", "fit airlin"),
        ("cannot read kernel 'SE\\*': expected a kernel at position 4", "fit d.csv --kernel SE*"),
        (r"SE\[z\]: there is no input 'z'; there are time", "fit d.csv --kernel SE[z]"),
        (f"--model 'magic': there is no such model; choose from: {SAVED}", "fit d.csv --model magic"),
        (
            rf"--model 'dsp': there is no such model \(did you mean 'dspp'\?\); choose from: {SAVED}",
            "fit d.csv --model dsp",
        ),
        (
            "--widths '3;3': whole numbers separated by commas, such as 3 or 3,3, or auto",
            "fit d.csv --model dspp --widths 3;3",
        ),
        (
            "--widths '9{23}': at most 100 layers of 1 to 1000 units",
            "fit d.csv --model dspp --widths 99999999999999999999999",
        ),
        ("--widths '0': at most 100 layers of 1 to 1000 units", "fit d.csv --model dspp --widths 0"),
        ("VFE has no option 'power'; it has none; power is an option of", "fit d.csv --model vfe --option power=1"),
        *(
            (f"invalid value for '{option}': ", f"{command} d.csv {option} 99999999999999999999999")
            for command, option in [
                ("fit", "--seed"),
                ("fit", "--restarts"),
                ("fit", "--inducing"),
                ("fit", "--steps"),
                ("search", "--depth"),
                ("search", "--beam"),
                ("search", "--jobs"),
                ("report", "--horizon"),
                ("predict", "--horizon"),
            ]
        ),
        *(
            (
                "invalid value for '--time-limit': give a number of seconds above 0, or leave it out for no limit",
                f"{command} d.csv --time-limit={limit}",
            )
            for command in ("search", "report")
            for limit in ("0", "-1", "nan", "inf")
        ),
        (
            "address 'garbage' is for the Dask and Ray backends: 'processes' runs on this machine",
            "search d.csv --address garbage",
        ),
        (
            "address 'garbage': give a host and a port, such as tcp://10.0.0.1:8786",
            "search d.csv --backend dask --address garbage",
        ),
        (
            r"--widths is for deep models \(dsvi, gamma, dspp, sampling, sep, sequential\): svgp has none",
            "fit d.csv --model svgp --widths 3",
        ),
        ("cannot write no/m.fathom: there is no folder no; make it", "fit d.csv --out no/m.fathom"),
        ("cannot write .: it is a folder", "fit d.csv --out ."),
        ("there is no model file nosuch", "predict nosuch --horizon 2"),
        ("d.csv is not a Fathom model", "predict d.csv --horizon 2"),
        (
            r"there is no model 'dsp' \(did you mean 'dspp'\?\); there are mean, linear, gp, search, online, "
            + SAVED[4:],
            "compare d.csv --models mean,dsp",
        ),
        ("model 'mean:SE': mean takes nothing after it", "compare d.csv --models mean:SE"),
        ("cannot read kernel 'XX'", "compare d.csv --models gp:XX"),
        ("--models is empty", "compare d.csv --models ,"),
        ("--folds 1: choose between 2 and", "compare d.csv --folds 1"),
        (r"no model could be scored: gp:SE\[z\] failed on 2 of 2", "compare d.csv --models gp:SE[z] --folds 2"),
    ],
)
def test_a_failure_is_one_line(message, command):
    before = files()
    fails(message, *command.split())
    assert files() == before


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("say where to predict", ""),
        ("say where to predict", "d.csv --horizon 2"),
        ("--horizon 0: give the number of steps", "--horizon 0"),
        ("--quantiles 1.5: a level must lie between 0 and 1", "--horizon 2 --quantiles 0.5,1.5"),
        ("--quantiles 'half': write numbers", "--horizon 2 --quantiles half"),
        ("no column 'time' in plain.csv", "plain.csv"),
        ("no column 'time' in data set 'airline'", "airline"),
        ("cannot write no/f.csv: there is no folder no", "--horizon 2 --out no/f.csv"),
    ],
)
def test_a_prediction_that_cannot_be_made(model, message, options):
    fails(message, "predict", model, *options.split())


def test_a_horizon_needs_a_time_and_nothing_else(somewhere):
    invoke("fit", "plain.csv", "--restarts", "1")
    fails("--horizon: the model has no time column to continue", "predict", "model.fathom", "--horizon", "2")
    (somewhere / "two.csv").write_text("year,a,y\n" + "".join(f"{1990 + i},{(i * 5) % 7},{i % 4}\n" for i in range(12)))
    invoke("fit", "two.csv", "--restarts", "1", "--target", "y", "--inputs", "a")
    fails(
        "--horizon cannot know the future of a: give a CSV with their values with --future",
        "predict",
        "model.fathom",
        "--horizon",
        "2",
    )


def test_dates_end_with_the_year_9999(somewhere):
    (somewhere / "yearly.csv").write_text("date,y\n" + "".join(f"{y}-12,{y % 5}\n" for y in range(2000, 2012)))
    assert invoke("fit", "yearly.csv", "--restarts", "1").exit_code == 0
    message = "--horizon 7989: that goes beyond the year 9999; ask for fewer steps"
    fails(message, "predict", "model.fathom", "--horizon", "7989")
    fails(message, "report", "yearly.csv", "--model", "model.fathom", "--horizon", "7989")
    last = invoke("predict", "model.fathom", "--horizon", "7988").stdout.splitlines()[-1]
    assert last.startswith("9999-12,")


def test_numbers_end_where_they_can_be_squared(somewhere):
    (somewhere / "far.csv").write_text("time,y\n" + "".join(f"{i}e148,{i % 3}\n" for i in range(1, 9)))
    assert invoke("fit", "far.csv", "--restarts", "1").exit_code == 0
    message = r"--horizon 200: that goes beyond 1e\+150; ask for fewer steps"
    fails(message, "predict", "model.fathom", "--horizon", "200")


def test_a_model_without_names_cannot_read_a_file():
    import fathom

    fathom.save(GPRegressor(optimise=False).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.5]), "bare.fathom")
    fails("the model was fitted to inputs without names", "predict", "bare.fathom", "d.csv")


def test_unknown_and_unusable_benchmarks(somewhere, monkeypatch):
    folder = somewhere / "registry"
    folder.mkdir()
    monkeypatch.setenv("FATHOM_BENCHMARKS", str(folder))
    fails("there is no benchmark 'speed'; .*registry holds none", "bench", "speed")
    (folder / "speedy.py").write_text('"""No function."""\n')
    fails(r"there is no benchmark 'speed' \(did you mean 'speedy'\?\); there are: speedy", "bench", "speed")
    fails(r".*speedy.py has no function run\(quick, say\): add one", "bench", "speedy")
    monkeypatch.setenv("FATHOM_BENCHMARKS", "nowhere")
    fails("FATHOM_BENCHMARKS is nowhere, which is no folder", "bench")


def test_no_registry_at_all(somewhere, monkeypatch):
    from fathom.cli import registry

    monkeypatch.setattr(registry, "__file__", str(somewhere / "a" / "b" / "c" / "registry.py"))
    fails("there is no folder of benchmarks: run this in a clone", "bench")


# -- writing -----------------------------------------------------------------------------------------------------


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_forecast(model, monkeypatch):
    Path("f.csv").write_text("old")
    before = files()
    monkeypatch.setattr(os, "replace", full)
    fails("cannot write f.csv: No space left on device; nothing was changed", *_forecast(model))
    assert files() == before
    assert Path("f.csv").read_text() == "old"


def _forecast(model: str) -> tuple[str, ...]:
    return ("predict", model, "--horizon", "2", "--out", "f.csv")


def test_a_full_disk_leaves_the_old_model(model, monkeypatch):
    before, old = files(), Path(model).read_bytes()
    monkeypatch.setattr(os, "replace", full)
    fails("cannot write m.fathom: No space left", "fit", "d.csv", "--restarts", "1", "--out", model)
    assert files() == before
    assert Path(model).read_bytes() == old


def test_a_write_that_breaks_off_leaves_nothing(model, monkeypatch):
    before = files()
    monkeypatch.setattr("fathom.cli.forecast.Forecast.csv", full)
    fails("cannot write f.csv: No space left on device", *_forecast(model))
    assert files() == before


# -- stopping ----------------------------------------------------------------------------------------------------


def stop(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("command", ["fit d.csv", "compare d.csv --folds 2"])
def test_an_interrupt_is_130_and_leaves_nothing(command, monkeypatch):
    before = files()
    monkeypatch.setattr(GPRegressor, "fit", stop)
    result = invoke(*command.split())
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "interrupted: nothing was written, nothing is half-written\n"
    assert files() == before


def test_an_interrupt_names_what_is_complete(monkeypatch):
    from fathom.report import document

    monkeypatch.setattr(document, "write", stop)
    result = invoke("report", "d.csv", "--depth", "1", "--jobs", "1", "--out", "r.html", "--save", "m.fathom")
    assert result.exit_code == 130
    complete = re.search("written so far, and complete: (.*)$", result.stderr.strip()).group(1)
    assert set(complete.split(", ")) == {"r.html.trace.json", "m.fathom"}
    assert {"r.html.trace.json", "m.fathom"} <= set(os.listdir())
    assert "r.html" not in os.listdir()


def test_a_bug_keeps_its_traceback(monkeypatch):
    def wrong(*_, **__):
        return [] + 1

    monkeypatch.setattr(GPRegressor, "fit", wrong)
    result = invoke("fit", "d.csv")
    assert result.exit_code == 1
    assert isinstance(result.exception, TypeError)


def test_only_our_own_value_errors_are_expected():
    import numpy as np

    def told_by(action):
        try:
            action()
        except Exception as problem:
            return console.reason(problem)

    assert told_by(lambda: np.zeros(2) + np.zeros(3)) is None
    assert told_by(lambda: GPRegressor(mean="x").fit([[0.0], [1.0]], [0, 1])) == (
        "mean must be 'constant' or 'zero', not 'x'"
    )
    assert told_by(lambda: Path("nosuch").read_text()) == "nosuch: No such file or directory"
    assert console.reason(MemoryError("too much")) == "not enough memory (too much): use fewer rows"
    exhausted = RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.")
    assert console.reason(exhausted) == f"not enough memory ({exhausted}): use fewer rows"
    assert console.reason(RuntimeError("a bug")) is None
    assert told_by(lambda: [] + 1) is None


@pytest.mark.slow
@pytest.mark.parametrize(("command", "status"), [("datasets", 0), ("fit nosuch", 2), ("--nonsense", 2)])
def test_exit_statuses_of_the_process(command, status):
    done = subprocess.run([sys.executable, "-m", "fathom", *command.split()], capture_output=True, text=True)
    assert done.returncode == status
    assert (done.stderr == "") == (status == 0)
    assert "Traceback" not in done.stderr


# -- where it runs -----------------------------------------------------------------------------------------------


def apart(*arguments: str, stdout=subprocess.PIPE, **environment: str):
    """A command in a process of its own: status, and the bytes of standard output and error."""
    told = os.environ | environment
    command = [sys.executable, "-m", "fathom", *arguments]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=told, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.fixture
def cyrillic(somewhere):
    """A file whose names no ASCII terminal can show."""
    (somewhere / "r.csv").write_text("день,цена\n" + "".join(f"{i},{(i * i) % 7}\n" for i in range(12)))
    assert invoke("fit", "r.csv", "--restarts", "1", "--time", "день").exit_code == 0
    return "r.csv"


@pytest.mark.slow
def test_a_terminal_without_unicode_shows_escapes_and_loses_nothing(cyrillic):
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    status, said, err = apart("fit", cyrillic, "--restarts", "1", "--out", "m.fathom", **ascii_only)
    assert (status, err) == (0, "")
    assert b"target " + "цена".encode("ascii", "backslashreplace") in said
    said = apart("fit", cyrillic, "--restarts", "1", "--out", "m.fathom", "--json", **ascii_only)[1]
    assert json.loads(said)["target"] == ["цена"]
    assert apart("predict", "model.fathom", "--horizon", "1", **ascii_only)[1].decode().startswith("день,mean,sd")
    assert apart("fit", cyrillic, "--target", "ночь", **ascii_only)[2].isascii()


def test_half_a_character_in_a_name_is_shown_as_an_escape(model):
    result = invoke(*_forecast(model)[:-1], "f\udcff.csv", "--json")
    assert json.loads(result.stdout)["out"] == "f\udcff.csv"
    assert "f\\udcff.csv" in invoke(*_forecast(model)[:-1], "f\udcff.csv").stdout
    assert invoke("report", "d.csv", "--model", model, "--out", "r\udcff.html").exit_code == 0
    fails(r"no file 'r\\udcff.csv'", "fit", "r\udcff.csv")


@pytest.mark.slow
def test_a_platform_that_jax_does_not_know(somewhere):
    arguments = ("fit", "d.csv", "--model", "svgp", "--inducing", "4", "--steps", "10")
    status, _, err = apart(*arguments, JAX_PLATFORMS="abacus")
    assert status == 2
    assert re.fullmatch(r"error: Unable to initialize backend 'abacus': .*; correct or unset JAX_PLATFORMS\n", err)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_standard_output_on_a_full_disk_is_told(model):
    with open("/dev/full", "wb") as full:
        status, _, err = apart("predict", model, "--horizon", "2", stdout=full)
    assert (status, err) == (2, "error: No space left on device\n")


@pytest.mark.slow
@pytest.mark.parametrize("horizon", ["2", "20000"])
def test_a_reader_that_had_enough_is_no_failure_to_talk_about(model, horizon):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        status, _, err = apart("predict", model, "--horizon", horizon, stdout=pipe)
    assert (status, err) == (141, "")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="there is no /dev/stdout")
def test_where_standard_output_is_the_file_the_rest_goes_to_standard_error(model):
    status, said, err = apart("predict", model, "--horizon", "2", "--out", "/dev/stdout")
    assert (status, err) == (0, "2 rows written to /dev/stdout\n")
    assert said.decode().splitlines()[0] == "time,mean,sd,q0.05,q0.5,q0.95"
    assert len(said.splitlines()) == 3
