"""`fathom stream`: predictions of rows before they are learnt from, whole or in pieces, from a file or a pipe."""

import csv
import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import fathom
from fathom.cli import stream as command
from fathom.cli.app import app

N = 160


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, N)
    y = 3 + np.sin(2 * x) + 0.1 * rng.standard_normal(N)
    lines = [f"{a:.5f},{b:.5f}\n" for a, b in zip(x, y, strict=True)]
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(lines))
    return lines


def invoke(*arguments):
    return CliRunner().invoke(app, ["stream", *arguments])


def rows(path="predictions.csv"):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


SMALL = ("--budget", "15", "--target", "y")


@pytest.mark.slow
def test_each_row_is_predicted_from_those_before_it(somewhere, tmp_path):
    said = invoke("d.csv", *SMALL)
    assert said.exit_code == 0, said.output
    assert "60 rows: NLL" in said.output
    found = rows()
    assert list(found[0]) == ["line", "x", "y", "y mean", "y q0.05", "y q0.95", "y log density"]
    assert [int(row["line"]) for row in found] == list(range(2, N + 2))
    late = found[100:]
    assert np.mean([abs(float(r["y"]) - float(r["y mean"])) for r in late]) < 0.2
    (tmp_path / "part.csv").write_text("x,y\n" + "".join(somewhere[:120]))
    invoke("part.csv", *SMALL, "--out", "part.out.csv")
    assert rows("part.out.csv") == found[:120]
    x, y = (np.array([float(row[name]) for row in found]) for name in ("x", "y"))
    told = fathom.OnlineGPRegressor(budget=15, random_state=0).follow(x[:, None], y)
    np.testing.assert_allclose([float(row["y mean"]) for row in found], told.mean(), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["online", "sequential"])
def test_what_was_broken_off_ends_in_the_same_predictions(monkeypatch, model):
    options = (*SMALL, "--model", model, "--widths", "1")
    monkeypatch.setattr(command, "PIECE", 25)
    monkeypatch.setattr(command, "OFTEN", 0.0)
    assert invoke("d.csv", *options, "--out", "whole.csv").exit_code == 0
    take, left = command.Course.take, 5

    def breaks_off(self, piece):
        nonlocal left
        left -= 1
        if left < 0:
            raise ValueError("the power went")
        take(self, piece)

    monkeypatch.setattr(command.Course, "take", breaks_off)
    assert invoke("d.csv", *options).exit_code != 0
    assert os.path.exists("predictions.csv.state")
    assert len(rows()) == 125
    monkeypatch.setattr(command.Course, "take", take)
    assert invoke("d.csv", *options).exit_code == 0
    assert rows() == rows("whole.csv")
    assert not os.path.exists("predictions.csv.state")


@pytest.mark.slow
def test_odd_lines_are_told_and_passed_over(somewhere, tmp_path):
    lines = [*somewhere]
    lines[110] = "abc,3.1\n"
    lines[120] = "1.0,2.0,3.0\n"
    lines[130] = lines[130].split(",")[0] + ",\n"
    (tmp_path / "odd.csv").write_text("x,y\n" + "".join(lines))
    said = invoke("odd.csv", *SMALL, "--json", "--out", "odd.out.csv")
    assert said.exit_code == 0, said.output
    assert "passed over: column 'x' holds text ('abc' on line 112)" in said.stderr
    assert "passed over: line 122 has 3 fields where the header names 2" in said.stderr
    found = rows("odd.out.csv")
    assert [int(row["line"]) for row in found if not row["y"]] == [132]
    assert len(found) == N - 2
    printed = [json.loads(line) for line in said.stdout.splitlines()]
    assert [row["line"] for row in printed] == [int(row["line"]) for row in found]
    assert printed[128]["y"] is None
    assert printed[128]["y log density"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("d.csv", "--model", "gp"), "--model 'gp': there is no such stream; choose from: online, sequential"),
        (("d.csv", "--forgetting", "much"), "--forgetting 'much': a rate above 0 and at most 1, or auto"),
        (("d.csv", "--forgetting", "2"), "forgetting must be 'auto'"),
        (("d.csv", "--kernel", "SEE"), "cannot read kernel 'SEE'"),
        (("nothing.csv",), "no file 'nothing.csv': check the name and the folder, or use - for standard input"),
        (("d.csv", "--out", "d.csv"), "DATA is read from this file"),
    ],
)
def test_what_cannot_be_is_told(arguments, message):
    said = invoke(*arguments)
    assert said.exit_code == 2, said.output
    assert message in said.stderr


def test_an_empty_stream_is_told(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    said = invoke("empty.csv")
    assert said.exit_code == 2
    assert "is empty: it needs a header line" in said.stderr
