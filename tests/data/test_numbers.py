"""Numbers in files: what a mark means is settled by the whole file, said in a note that names a cell, or refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.data.columns import DataError
from fathom.data.dataset import load_csv, read_inputs
from fathom.data.numbers import Column, Marks, parse_number

SPACES = " \u00a0\u2007\u2009\u202f'\u2019"


def cells(*written):
    column = np.empty(len(written), dtype=object)
    column[:] = written
    return column


def marks(*columns, separator=";"):
    return Marks.of([Column.of(cells(*column)) for column in columns], separator)


def noted(data, *fragments):
    """The notes that speak of a number; each fragment is in one of them."""
    found = [note for note in data.notes if "was read as" in note]
    return len(found) == len(fragments) and all(f in note for f, note in zip(fragments, found, strict=True))


@given(
    st.decimals(-(10**9), 10**9, places=3) | st.integers(-(10**9), 10**9),
    st.sampled_from(".,"),
    st.sampled_from(["", *SPACES, "other"]),
)
def test_a_number_in_any_style_is_read_back(number, point, grouping):
    other = {".": ",", ",": "."}[point]
    text = f"{number:,}".translate({ord(","): other if grouping == "other" else grouping or None, ord("."): point})
    assert parse_number(text, point) == float(number)
    assert parse_number(text.replace("-", "\u2212"), point) == float(number)


@pytest.mark.parametrize(
    "text",
    ["1,234 567", "1 234,567.8", "12,34,567", "1,23", "0,123", "1.2.3", "1,,234", ",5", "1 .5", "1,234e5", "2020_01"]
    + ["1.234,5", "1'234 567", "", "x", "--1", "1e", "0x1F", "nan"],
)
def test_other_text_is_no_number(text):
    assert np.isnan(parse_number(text))


@pytest.mark.parametrize(
    ("columns", "point", "decimal", "grouping", "opened"),
    [
        ([["1", "2"]], ".", "", "", ""),
        ([["1.5"]], ".", ".", "", ""),
        ([["1,5"]], ",", ",", "", ""),
        ([["1.234"]], ".", "", "", "."),
        ([["1,234"]], ",", "", "", ","),
        ([["1,234"], ["0.5"]], ".", ".", "", ","),
        ([["1.234"], ["0,5"]], ",", ",", "", "."),
        ([["1.234.567"]], ",", "", ".", ""),
        ([["1,234,567"]], ".", "", ",", ""),
        ([["1 234,567"]], ",", ",", "", ""),
        ([["1'234.567"]], ".", ".", "", ""),
        ([["1.234,5"]], ",", ",", ".", ""),
        ([["1,234.5"]], ".", ".", ",", ""),
        ([["1,5"], ["1.5"]], ",", ",.", "", ""),
        ([["01.2020"], ["1.234"]], ".", "", "", "."),  # a month says nothing about decimal marks
        ([["a, b", "c, d", "1,5"], ["1.234"]], ".", "", "", "."),  # nor does text
    ],
)
def test_what_a_file_shows_of_its_marks(columns, point, decimal, grouping, opened):
    found = marks(*columns)
    assert found == Marks(point, "".join(sorted(decimal)), grouping, opened)


def test_commas_that_separate_are_never_decimal():
    assert marks(["1,234"], ["1,5"], separator=",").point == "."
    assert marks(["1,234"], separator="\t").point == "."
    assert marks(["1,234", "0,5"], separator="\t").point == ","


# Files: what the issue of 1000 looked like


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("mark", ["'", " ", "\u202f", "\u2009", "\u2019"])
@pytest.mark.parametrize("point", [".", ","])
def test_of_two_marks_the_last_is_decimal(tmp_path, separator, mark, point):
    path = tmp_path / "a.csv"
    rows = [f"{k}{separator}1{mark}234{point}{567 + k}" for k in range(4)]
    path.write_text("\n".join([f"x{separator}y", *rows]), encoding="utf-8")
    data = load_csv(path)
    np.testing.assert_array_equal(data.y, [1234.567, 1234.568, 1234.569, 1234.57])
    assert noted(data)


@pytest.mark.parametrize(
    ("text", "y", "notes"),
    [
        # the file has decimal commas, so its points group thousands
        (
            "x;y\n0,5;1.500\n1,5;2.250\n2,5;3\n",
            [1500, 2250, 3],
            ["'1.500' (column 'y', line 2) was read as 1500: the comma is the decimal mark of the file."],
        ),
        ("x;y\n0,5;1.500\n1,5;2.250.000\n2,5;3\n", [1500, 2250000, 3], []),
        # nothing tells
        (
            "x;y\n1;1,234\n2;2,345\n3;3,456\n",
            [1.234, 2.345, 3.456],
            [
                "'1,234' (column 'y', line 2) was read as 1.234: "
                "no other number of the file tells whether the comma is decimal or groups thousands."
            ],
        ),
        (
            "x\ty\n1\t1,234\n2\t2,345\n3\t652\n",
            [1234, 2345, 652],
            ["'1,234' (column 'y', line 2) was read as 1234: no"],
        ),
        (
            'x,y\n1,"1,234"\n2,"2,345"\n3,652\n',
            [1234, 2345, 652],
            ["'1,234' (column 'y', line 2) was read as 1234: no"],
        ),
        (
            "x,y\n1,652\n2,2.949\n3,12.482\n",
            [652, 2.949, 12.482],
            ["'2.949' (column 'y', line 3) was read as 2.949: no"],
        ),
        # the file tells
        ("x;y\n0.5;1,234\n1.5;2,345\n2.5;1,234,567\n", [1234, 2345, 1234567], []),
        (
            'x,y\n0.5,"1,234"\n1.5,"2,345"\n2.5,3\n',
            [1234, 2345, 3],
            ["'1,234' (column 'y', line 2) was read as 1234: the"],
        ),
        (
            "x;y\n0,5;1,234\n1,5;2,345\n2,5;3\n",
            [1.234, 2.345, 3],
            ["'1,234' (column 'y', line 2) was read as 1.234, beside"],
        ),
        ("x,y\n0.5,1.234\n1.5,2.345\n2.5,3.456\n", [1.234, 2.345, 3.456], []),
        # two ways in one file
        (
            "x;w;y\n0.5;1.234.567;1.500\n1.5;2;2.500\n2.5;3;3.500\n",
            [1.5, 2.5, 3.5],
            ["'1.500' (column 'y', line 2) was read as 1.5: other numbers of the file use the point both ways."],
        ),
        # beside whole numbers below 1000, though points are decimal elsewhere
        (
            "x,y\n0.5,652\n1.5,2.949\n2.5,12.482\n",
            [652, 2.949, 12.482],
            ["'2.949' (column 'y', line 3) was read as 2.949, beside whole numbers: if it is more than 1000"],
        ),
        ("x,y\n0.5,6520\n1.5,2.949\n2.5,12.482\n", [6520, 2.949, 12.482], []),
        ("x,y\n0.5,652\n1.5,2.94\n2.5,12.482\n", [652, 2.94, 12.482], []),
    ],
)
def test_the_file_decides_or_a_note_names_a_cell(tmp_path, text, y, notes):
    path = tmp_path / "a.csv"
    path.write_text(text)
    data = load_csv(path, target="y", drop="w" if "w" in text else None)
    np.testing.assert_array_equal(data.y, y)
    assert noted(data, *notes), data.notes


def test_one_note_names_a_cell_of_each_column_up_to_five(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;c;d;e;f;y\n" + "".join(";".join([f"{k},125"] * 7) + "\n" for k in (1, 2, 4)))
    (note,) = (note for note in load_csv(path, target="y").notes if "was read as" in note)
    assert note.count("(column") == 5
    assert ", and so on in 2 more columns: no other number" in note


@pytest.mark.parametrize(
    ("text", "place"),
    [
        # commas are decimal, and the points of z are said to be decimal by w
        (
            "x;w;z;y\n1,5;0.5;1.500;1\n2,5;1.5;2.500;2\n3,5;2.5;3.500;4\n",
            "column 'z', line 2: '1.500' may be 1.5 or 1500",
        ),
        ('x,w,z,y\n1,"1,5","1,500",1\n2,"2,5",3,2\n3,"3,5",4,4\n', "column 'z', line 2: '1,500' may be 1.5 or 1500"),
    ],
)
def test_a_number_that_the_others_contradict_is_refused(tmp_path, text, place):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        load_csv(path, target="y", drop="w")
    tail = ", and other numbers of the file do not settle it: write numbers without marks between thousands"
    assert str(caught.value) == place + tail


def test_another_decimal_mark_is_refused_with_a_cell_that_has_the_right_one(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y\n0.5;1\n1.5;2\n2,5;3\n")
    with pytest.raises(DataError) as caught:
        load_csv(path)
    assert str(caught.value) == (
        "column 'x', line 2: '0.5' is not a number where the comma is the decimal mark, as in '2,5' "
        "(column 'x', line 4): write all numbers with the same mark or leave the column out with --drop x"
    )
    path.write_text('x,y\n1,1\n2,"1,5"\n3,4\n')
    with pytest.raises(DataError, match="'1,5' is not a number where the point is the decimal mark: write all numbers"):
        load_csv(path)


# Predictions have no notes: what the file and the one before it leave open is refused


def test_the_first_file_settles_the_marks_of_the_next(tmp_path):
    first, new = tmp_path / "a.csv", tmp_path / "new.csv"
    first.write_text("x;y\n0,5;1\n1.234,5;2\n2,5;4\n")
    data = load_csv(first)
    assert data.dialect == (";", ",", ".")
    for text, value in (("x;u\n1,234;0\n", 1.234), ("x;u\n1.234;0\n", 1234), ("x,u\n1.234,0\n", 1.234)):
        new.write_text(text)
        np.testing.assert_array_equal(read_inputs(new, data), [[value]])
    new.write_text("x\tu\n1.234\t0\n")  # another program, which says nothing
    with pytest.raises(DataError, match=r"column 'x', line 2: '1.234' may be 1.234 or 1234, and other numbers"):
        read_inputs(new, data)
    new.write_text("x\tu\n1.234\t0\n0.5\t0\n")
    np.testing.assert_array_equal(read_inputs(new, data), [[1.234], [0.5]])


@pytest.mark.parametrize(("name", "kind"), [("x", "number"), ("t", "time")])
def test_an_open_comma_is_refused_where_nothing_is_known(tmp_path, name, kind):
    first, new = tmp_path / "a.csv", tmp_path / "new.csv"
    first.write_text(f"{name},y\n1,1\n2,2\n3,4\n")
    data = load_csv(first)
    assert (data.time is not None) == (kind == "time")
    new.write_text(f"{name};u\n1,234;0\n")
    with pytest.raises(DataError, match=rf"column '{name}', line 2: '1,234' may be 1.234 or 1234"):
        read_inputs(new, data)


def test_numbers_of_a_data_frame_have_points(tmp_path):
    first = tmp_path / "a.csv"
    first.write_text("x;y\n0,5;1\n1,5;2\n2,5;4\n")
    data = load_csv(first)
    frame = pd.DataFrame({"x": [1.234, 5.678], "u": ["1.234.567", "2.345.678"]})
    np.testing.assert_array_equal(read_inputs(frame, data), [[1.234], [5.678]])
    np.testing.assert_array_equal(read_inputs(pd.DataFrame({"x": ["1,234.5"]}), data), [[1234.5]])
    with pytest.raises(DataError, match="column 'x', row 1: '1,234' may be 1.234 or 1234"):
        read_inputs(pd.DataFrame({"x": ["1,234"]}), data)
