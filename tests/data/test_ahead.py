"""Inputs ahead of a series: what a file of them must hold."""

from pathlib import Path

import numpy as np
import pytest

from fathom.data.ahead import others, read_ahead
from fathom.data.columns import DataError
from fathom.data.dataset import load_csv


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Two years of months with a price."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{2000 + k // 12}-{k % 12 + 1:02d},{k % 5},{k % 7}" for k in range(24)]
    (tmp_path / "d.csv").write_text("\n".join(["month,price,y", *rows]) + "\n")
    return load_csv("d.csv", target="y", inputs="price")


def ahead(data, text):
    Path("f.csv").write_text(text)
    return read_ahead("f.csv", data.columns, data.X[:, data.time])


def test_rows_that_continue_the_series(data):
    X = ahead(data, "price,month,remark\n3,2002-01,x\n4,2002-02,y\n")
    np.testing.assert_allclose(X, [[2002, 3], [2002 + 1 / 12, 4]])
    assert others(data.columns) == ["price"]


ERRORS = {
    "a column": ("month,prize\n2002-01,3\n", "--future f.csv: no column 'price' in f.csv [(]did you mean 'prize'"),
    "a value": (
        "month,price\n2002-01,\n2002-02,1\n",
        "--future f.csv: column 'price', line 2 has no value: fill it in",
    ),
    "overlap": (
        "month,price\n2001-12,1\n2002-01,3\n",
        "--future f.csv, line 2: 2001-12 is not after the data, which end with 2001-12: leave out what is known",
    ),
    "a gap": (
        "month,price\n2002-01,1\n2002-03,1\n2002-02,3\n",
        "--future f.csv, line 3: 2002-03 comes too long after 2002-01: give every time from the end of the data",
    ),
    "twice": (
        "month,price\n2002-01,1\n\n2002-01,3\n",
        "--future f.csv, line 4: 2002-01 does not come after 2002-01: put rows in order of time, each time once",
    ),
    "order": ("month,price\n2002-01,1\n2002-02,1\n2002-01,3\n", "line 4: 2002-01 does not come after 2002-02"),
    "late": ("month,price\n2003-01,1\n", "line 2: 2003-01 comes too long after 2001-12"),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_what_is_wrong_with_it(data, text, message):
    with pytest.raises(DataError, match=message):
        ahead(data, text)


def test_series_without_other_inputs_or_time(data):
    with pytest.raises(DataError, match="--future: the time is the only input: say with --horizon how many steps"):
        ahead(load_csv("d.csv", target="y"), "month\n2002-01\n")
    with pytest.raises(DataError, match="--future: the model has no time column to continue: name it with --time"):
        read_ahead("f.csv", load_csv("d.csv", target="y", drop="month").columns, np.arange(3.0))
