"""Every message about bad data is read here: it names the place, gives the remedy, and is one line."""

import gzip

import numpy as np
import pandas as pd
import pytest

from fathom.data.columns import Columns, DataError, Scaler
from fathom.data.dataset import Dataset, k_folds, load_csv, read_inputs, train_test_split


def message(call, *args, **options):
    """The one-line message of the `DataError` that a call raises."""
    with pytest.raises(DataError) as caught:
        call(*args, **options)
    text = str(caught.value)
    assert text.count("\n") == 0
    assert len(text) < 300
    return text


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file into the current folder and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="data.csv"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


FILES = {
    "empty": ("", "data.csv is empty: it needs a header line"),
    "only blank lines": ("\n \n\n", "data.csv is empty"),
    "header only": ("a,b\n", "data.csv has column names but no rows: add rows"),
    "header and blanks": ("a,b\n\n,\n", "data.csv has column names but no rows: add rows"),
    "one row": ("a,b\n1,2\n", "data.csv has 1 complete row: add data, at least 3 rows are needed"),
    "two rows": ("a,b\n1,2\n2,3\n", "data.csv has 2 complete rows: add data, at least 3"),
    "no header": (
        "1,2\n3,4\n5,6\n",
        "data.csv, line 1 holds values, not column names: add a header line such as 'time,y'",
    ),
    "no header, dates": (
        "1949-01,2,3\n1949-02,4,5\n",
        "line 1 holds values, not column names: add a header line such as 'x1",
    ),
    "binary": (b"\x00\x01\x02\xff" * 50, "data.csv is not a text file: save the table as CSV"),
    "spreadsheet": (b"PK\x03\x04" + b"\x00" * 50, "data.csv is a spreadsheet or a zip archive: save the table as CSV"),
    "half a gzip file": (
        gzip.compress(b"a,b\n1,2\n" * 99)[:-12],
        "is a damaged or truncated gzip file: fetch or compress",
    ),
    "duplicate names": ("x,y,x\n1,2,3\n", "column 'x' appears twice (columns 1 and 3): rename one of them"),
    "long row": (
        "a,b\n1,2\n3,4,5\n6,7\n",
        "line 3 has 3 fields where the header names 2: correct the line, or put quotes",
    ),
    "very long row": ("a,b\n1,2\n3,4,5,6\n6,7\n", "line 3 has 4 fields where the header names 2"),
    "very long first row": ("a,b\n1,2,3,4\n3,4\n6,7\n", "line 2 has 4 fields where the header names 2"),
    "open quote": ('a,b\n1,2\n3,"4\n5,6\n', "has a quotation mark that is never closed: close or remove it"),
    "one column": ("y\n1\n2\n3\n", "data.csv has one column, 'y': a model needs an input and a target"),
    "spaces": ("x y\n1 2\n2 3\n3 4\n", "data.csv has one column, 'x y': separate its columns by commas"),
    "text in numbers": (
        "x,y\n1,1\n2,2\n\n3,3\n4,oops\n5,5\n",
        "column 'y', line 6: 'oops' is not a number: correct it or leave the column out with --drop y",
    ),
    "text after a quoted line break": ('x,"the\ny"\n1,1\n2,2\n3,"a\nb"\n4,oops\n5,5\n', "column 'the y', line 5: 'a"),
    "decimal comma in quotes": ('x,y\n1,1\n2,"1,5"\n3,4\n', "column 'y', line 3: '1,5' is not a number"),
    "point among decimal commas": ("x;y\n1,5;1\n2,5;0.5\n3,5;2\n", "column 'y', line 3: '0.5' is not a number"),
    "underscores": ("x,y\n1,1\n2,2020_01\n3,4\n", "column 'y', line 3: '2020_01' is not a number"),
    "categories": (
        "my colour,x,y\nred,1,1\nblue,2,2\nred,3,4\n",
        "column 'my colour' holds text ('red' on line 2): code it as numbers or leave it out with --drop 'my colour'",
    ),
    "infinity": (
        "x,y\n1,1\n2,inf\n3,4\n",
        "column 'y', line 3: inf is infinite or too large to model (limit 1e+150): correct",
    ),
    "beyond floats": ("x,y\n1,1\n-1e400,2\n3,4\n", "column 'x', line 3: -1e400 is infinite or too large"),
    "near 1e300": ("x,y\n1,1\n2,3\n3,2e300\n", "column 'y', line 4: 2e300 is infinite or too large to model"),
    "constant target": (
        "x,y\n1,3.0\n2,3\n3,3\n",
        "target 'y' is constant (3): there is nothing to model, choose another with --target",
    ),
    "constant inputs": ("a,b,y\n1,2,1\n1,2,2\n1,2,4\n", "every input is constant (a, b): add a column that varies"),
    "constant time": (
        "date,y\n2001-01,1\n2001-01,2\n2001-01,3\n",
        "the time 'date' is the same on every row: choose another",
    ),
    "nothing complete": (
        "x,z,y\n1,,1\n2,,2\n3,,4\n",
        "every row misses a value, 3 of 3 in column 'z': fill the gaps or do without that column (--drop z)",
    ),
    "no target values": (
        "x,w,y\n1,1,\n2,5,\n3,4,\n",
        "the last column, 'y', is not numeric: name the target with --target",
    ),
    "time and two series": (
        "date,a,b\n2001-01,1,1\n2001-02,2,3\n2001-03,4,5\n",
        "the target could be any of a, b: choose with --target",
    ),
    "only dates": (
        "date,word\n2001-01,x\n2001-02,y\n",
        "data.csv has no numeric column to model beside date, word: add one",
    ),
    "text at the end": (
        "a,b,c\n1,2,x\n2,3,y\n4,5,z\n",
        "the last column, 'c', is not numeric: name the target with --target",
    ),
    "two columns of dates": (
        "start,end,y\n2001-01,2001-02,1\n2001-02,2001-03,2\n",
        "columns start, end could each be the time: choose one with --time and leave out the others, for",
    ),
    "day or month": (
        "date,y\n03/03/1949,1\n03/04/1949,2\n05/06/1949,3\n",
        "column 'date', line 3: '03/04/1949' may be day/month or month/day, and no other date tells which: write",
    ),
    "day and month": (
        "date,y\n13/03/1949,1\n03/04/1949,2\n05/16/1949,3\n",
        "column 'date', line 4: '05/16/1949' has day and month in another order than dates above it: write dates as",
    ),
    "short years": (
        "date,y\n31/01/49,1\n28/02/49,2\n31/03/49,3\n",
        "line 2: '31/01/49' has a two-digit year: write the year",
    ),
    "odd date": (
        "date,y\n1949-01,1\n1949-02,2\nspring,3\n",
        "column 'date', line 4: 'spring' is not a date written like",
    ),
    "impossible day": (
        "date,y\n1949-01-30,1\n1949-02-30,2\n",
        "line 3: '1949-02-30' is not a date written like the others",
    ),
    "impossible month": (
        "date,y\n1949-11,1\n1949-12,2\n1949-13,2\n",
        "line 4: '1949-13' is not a date written like the others",
    ),
    "impossible hour": ("date,y\n1949-11-01 23:00,1\n1949-11-01 24:00,2\n", "line 3: '1949-11-01 24:00' is not a date"),
}


@pytest.mark.parametrize(("content", "expected"), FILES.values(), ids=FILES.keys())
def test_files(write, content, expected):
    assert expected in message(load_csv, write(content))


GOOD = "when,speed (m/s),load\n2001-01,1,1\n2001-02,2,3\n2001-03,4,5\n"
OPTIONS = {
    "unknown target": (
        {"target": "sped"},
        "--target 'sped': no such column in data.csv (did you mean 'speed'?); columns: when, speed, load",
    ),
    "another case": ({"target": "LOAD"}, "did you mean 'load'?"),
    "nothing close": ({"time": "zzz"}, "--time 'zzz': no such column in data.csv; columns: when, speed, load"),
    "unknown drop": (
        {"target": "load", "drop": ["speed", "wen"]},
        "--drop 'wen': no such column in data.csv (did you mean 'when'?)",
    ),
    "target dropped": ({"target": "load", "drop": "load"}, "column 'load' is both --target and --drop: choose one"),
    "time is target": (
        {"target": "load", "time": "load"},
        "--time 'load' is also a target or dropped column: choose another",
    ),
    "target is text": ({"target": "when"}, "column 'when' holds text ('2001-01' on line 2): code it as numbers"),
    "no input left": (
        {"target": "load", "drop": ["when", "speed"]},
        "no input column is left beside load: drop fewer columns",
    ),
}


@pytest.mark.parametrize(("options", "expected"), OPTIONS.values(), ids=OPTIONS.keys())
def test_options(write, options, expected):
    assert expected in message(load_csv, write(GOOD), **options)


def test_time_that_is_no_time(write):
    name = write("a,b,y\nx,1,1\ny,2,2\nz,3,4\n")
    expected = "--time 'a' holds neither dates nor numbers: choose another, or write YYYY-MM-DD"
    assert message(load_csv, name, time="a") == expected


def test_target_without_values(write):
    name = write("x,a,b\n1,1,\n2,2,\n3,4,\n")
    assert message(load_csv, name, target=["a", "b"]) == "target 'b' has no values: choose another with --target"
    expected = "every row misses a value, 3 of 3 in column 'b': fill the gaps or do without that column (--target)"
    assert message(load_csv, name, target="b") == expected


def test_paths(write, tmp_path):
    write(GOOD, "passengers.csv")
    assert message(load_csv, "pasengers.csv") == "no file 'pasengers.csv' (did you mean 'passengers.csv'?)"
    assert message(load_csv, "no/such.csv") == "no file 'no/such.csv': check the name and the folder"
    assert message(load_csv, tmp_path).endswith("is a folder: name a CSV file")
    assert message(load_csv, "").endswith("is a folder: name a CSV file")


def test_unreadable(write, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    name = write(GOOD)
    monkeypatch.setattr("fathom.data.source.os.open", refuse)
    assert message(load_csv, name) == "data.csv cannot be read (Permission denied): check its permissions"


def test_many_columns_are_not_all_listed(write):
    name = write(",".join(f"x{i}" for i in range(500)) + "\n" + ",".join("1" * 500) + "\n")
    assert message(load_csv, name, target="y").endswith("x10, x11 and 488 more")


INPUTS = {
    "missing column": (
        "when,spead\n2001-04,2\n",
        "no column 'speed' in new.csv (did you mean 'spead'?); columns: when, spead",
    ),
    "missing value": (
        "when,speed\n2001-04,2\n2001-05,NA\n",
        "column 'speed', line 3 has no value: fill it in or remove",
    ),
    "another unit": (
        "when,speed [km/h]\n2001-04,2\n",
        "column 'speed' is in km/h, but the model was fitted in m/s: convert",
    ),
    "numbers for dates": (
        "when,speed\n2001.25,2\n",
        "column 'when' must hold dates such as 1970-01, not '2001.25': write dates",
    ),
    "no header": ("2001-04,2\n", "new.csv, line 1 holds values, not column names"),
}


@pytest.mark.parametrize(("content", "expected"), INPUTS.values(), ids=INPUTS.keys())
def test_inputs(write, content, expected):
    columns = load_csv(write(GOOD), target="load", inputs="speed").columns
    assert expected in message(read_inputs, write(content, "new.csv"), columns)


def test_inputs_in_a_frame(write):
    data = load_csv(write("t,y\n1,1\n2,3\n3,4\n"))
    assert message(read_inputs, pd.DataFrame({"t": [1, None]}), data) == (
        "column 't', row 2 has no value: fill it in or remove the row"
    )
    assert message(read_inputs, pd.DataFrame({"t": ["2001-01"]}), data) == (
        "column 't' holds dates ('2001-01'), but the model was fitted to numbers: write numbers"
    )
    twice = pd.DataFrame([[1, 2]], columns=["t", "t"])
    assert message(read_inputs, twice, data) == "column 't' appears twice (columns 1 and 2): rename one of them"


def test_datasets_and_their_time():
    data = Dataset([[1.0], [2.0]], [1.0, 2.0], ("x",), ("y",), source="a.csv")
    assert message(data.future, 3) == "a.csv has no time column to continue: name it with --time"
    assert message(data.transform_time, [3]) == "a.csv has no time column: name it with --time"
    timed = Dataset([[1.0], [2.0]], [1.0, 2.0], ("x",), ("y",), time=0)
    assert message(timed.future, 0) == "--horizon 0: give the number of steps to predict, 1 or more"
    assert "X has shape (2,) and y (2,)" in message(Dataset, [1.0, 2.0], [1.0, 2.0], ("x",), ("y",))
    assert "2 names and 1 targets" in message(Dataset, [[1.0]], [1.0], ("x", "z"), ("y",))


@pytest.mark.parametrize(
    "stored", [{}, {"names": 3}, {"names": ["x"], "target": ["y"], "units": {}, "time": 4, "rule": None}]
)
def test_damaged_columns(stored):
    assert "the stored column description is damaged" in message(Columns.from_dict, stored)


@pytest.mark.parametrize("change", [{"form": "{x}"}, {"grid": "weeks"}, {"kind": 3}, {"form": None}, {"more": 1}])
def test_damaged_time_rules(write, change):
    stored = load_csv(write(GOOD), target="load").columns.to_dict()
    stored["rule"].update(change)
    assert message(Columns.from_dict, stored).endswith("save the model again")


def test_damaged_scaling():
    assert "the stored scaling is damaged" in message(Scaler.from_dict, {"x_mean": [0.0]})


def test_splits():
    assert message(train_test_split, 1, 0.1) == "1 rows cannot be split: at least 2 are needed"
    assert "fraction 1.5: the part held out for testing must lie between 0 and 1" in message(train_test_split, 9, 1.5)
    assert message(k_folds, 4, 5) == "--folds 5: choose between 2 and the number of rows, 4"
    assert "--folds 1" in message(k_folds, 4, 1)


def test_values_just_inside_the_limit_are_read(write):
    data = load_csv(write("x,y\n1,1e150\n2,-1e150\n3,0\n"))
    assert np.all(np.isfinite(Scaler.fit(data.X, data.y).y(data.y)))
