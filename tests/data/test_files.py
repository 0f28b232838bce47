"""Lines, quotes and bytes: which rows a file has, where they are, and what is too large or no file at all."""

import gzip
import os
import threading
import time

import numpy as np
import pytest

from fathom.data import records, source
from fathom.data.columns import DataError
from fathom.data.dataset import load_csv, read_inputs
from fathom.data.table import read_table


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file into the current folder and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="data.csv"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


def message(call, *args, **options):
    """The one-line message of the `DataError` that a call raises."""
    with pytest.raises(DataError) as caught:
        call(*args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Quotes


@pytest.mark.parametrize(
    "rows",
    [
        '1,a,1\n2,"hello,2\n3,b,4\n4,"bye,5\n5,c,6\n',  # swallows two rows, and goes on after the second mark
        '1,a,1\n2,"hello,2\n3,b,4\n4,c,5\n',  # swallows the rest
        '1,a,1\n2,"hello\n3,b,4\n4,bye"x,5\n',
        '1,a,1\n2,"4\n',
        '1,a,1\n2,"' + "hello,2\n3,b,4\n" * 20_000,  # more than a cell may hold
    ],
)
def test_a_quotation_mark_that_swallows_rows_is_refused_on_its_line(write, rows):
    name = write("x,word,y\n" + rows)
    expected = "data.csv, line 3 has a quotation mark that is never closed: close or remove it"
    assert message(load_csv, name, drop="word") == expected


def test_an_open_quotation_mark_at_the_very_end_is_refused(write):
    assert "line 4 has a quotation mark that is never closed" in message(load_csv, write('x,y\n1,1\n2,2\n3,"4'))
    assert "line 1 has a quotation mark that is never closed" in message(load_csv, write('x,"y\n1,1\n2,2\n3,4\n'))


def test_a_cell_whose_lines_look_like_rows_is_noted(write):
    data = load_csv(write('x,word,y\n1,a,1\n2,"hello\n3,b,4\n4,bye",5\n5,c,7\n6,"d\n7,e",9\n'), drop="word")
    np.testing.assert_array_equal(data.X[:, 0], [1, 2, 5, 6])
    (note,) = (note for note in data.notes if "line 3" in note)
    assert note == (
        "A cell that begins on line 3 ends on line 5, and its lines look like rows: "
        "if they are, remove the quotation marks about them. So do 1 more."
    )


def test_lines_are_counted_through_cells_of_several_lines(write):
    name = write('# by hand\nx,word,y\n1,"a\n""b""",1\n\n2, "c\n\nd" ,2\n3,e,oops\n')
    assert "column 'y', line 9: 'oops' is not a number" in message(load_csv, name, drop="word")
    table = read_table(name)
    assert table.notes == ()
    assert list(table.cells[1]) == ['a\n"b"', "c\n\nd", "e"]
    assert [table.where(row) for row in range(3)] == ["line 3", "line 6", "line 9"]


@pytest.mark.parametrize("word", ['5" pipe', 'so "called"', '"quoted" and not', '"a ""b"" c"', '"a "b" c"', "it's"])
def test_quotation_marks_inside_a_cell_are_part_of_it(write, word):
    data = load_csv(write(f"x,word,y\n1,{word},1\n2,{word},2\n3,{word},4\n"), drop="word")
    np.testing.assert_array_equal(data.y, [1, 2, 4])
    assert not any("line" in note for note in data.notes)


# Rows and separators


def test_a_row_with_empty_fields_beyond_the_names_is_noted(write):
    data = load_csv(write("x,y\n1,1\n2,5,\n3,4\n"))
    np.testing.assert_array_equal(data.y, [1, 5, 4])
    assert "Line 3 has 3 fields where the header names 2; those without a name are empty." in data.notes
    assert not any("fields" in note for note in load_csv(write("x,y\n1,1,\n2,5,\n\n3,4,\n")).notes)


def test_names_of_rows_without_a_header_are_noted(write):
    data = load_csv(write('x,y\n"1",1,1\n"2",2,5\n"3",3,\n\n"4",4,4\n'))
    np.testing.assert_array_equal(data.X[:, 0], [1, 2, 4])
    assert (
        "Rows have one field more than the header names: the first, such as '1' on line 2, has no name." in data.notes
    )
    assert "An unnamed column that numbers the rows was left out." in data.notes


def test_rows_that_are_too_long_are_no_names_if_most_end_empty(write):
    assert "line 4 has 3 fields where the header names 2" in message(load_csv, write("x,y\n1,1,\n2,5,\n3,4,5\n"))


@pytest.mark.parametrize(
    "first", ["sep=;", "SEP=;", '"sep=;"', "\ufeffsep=;", "\nsep=;", "# by hand\nsep=;", "sep=;\n#"]
)
def test_a_first_line_may_choose_the_separator(write, first):
    name = write(f"{first}\nx, in m;y\n1,5;2\n2,5;3\n3,5;5\n")
    data = load_csv(name)
    assert data.names == ("x, in m",)
    np.testing.assert_array_equal(data.X[:, 0], [1.5, 2.5, 3.5])
    assert read_table(name).where(0) == f"line {first.count(chr(10)) + 3}"


@pytest.mark.parametrize("separator", list(":^~/ ") + ["\t"])
def test_a_separator_that_is_chosen_may_be_rare(write, separator):
    rows = [("x", "y"), ("1.5", "2"), ("2.5", "3"), ("3.5", "5")]
    text = "\n".join([f"sep={separator}", *map(separator.join, rows)])
    np.testing.assert_array_equal(load_csv(write(text)).y, [2, 3, 5])


def test_the_separator_leaves_the_fields_readable(write):
    data = load_csv(write("time, s;height, m\n0,5;1,5\n1,5;2,5\n2,5;4\n"))  # as many commas as semicolons would do
    assert (data.names, data.target) == (("time, s",), ("height, m",))
    data = load_csv(write("n;m\trate, net\ty\n1\t6,7\t1e-3\n2\t0,5\n3\t3,9\t4\n4\t7,9\t9\n"), drop="rate, net")
    np.testing.assert_array_equal(data.X[:, 0], [1, 3, 4])  # one row is short


def test_lines_of_separators_above_the_header_are_skipped(write):
    assert load_csv(write(",,\n;;\n\t\n\nx,z,y\n1,2,3\n2,1,4\n3,5,9\n")).names == ("x", "z")


def test_a_header_that_may_be_a_row_is_noted(write):
    told = "Line 1 was taken as column names, though it holds values such as '1.5'."
    assert told in load_csv(write("red,1.5,2\nblue,2.5,3\nred,3.5,4\nred,1,9\n"), drop="red").notes
    years = load_csv(write("country,1990,2000,2010\na,1,2,3\nb,2,3,5\nc,3,5,4\n"), drop="country")
    assert not any("column names" in note for note in years.notes)


def test_old_encodings(write):
    data = load_csv(write("größe in €,y\n1’234,1\n2’345,2\n3’456’789,4\n".encode("cp1252")))
    assert data.names == ("größe in €",)
    np.testing.assert_array_equal(data.X[:, 0], [1234, 2345, 3456789])
    data = load_csv(write("größe\x81,y\n1,1\n2,2\n3,4\n".encode("latin-1")))
    assert data.names == ("größe\x81",)


# Limits


def test_long_cells_are_told_by_their_beginning(write):
    cell = "1" * 130_000 + "x"  # hours, if a pattern were quadratic
    expected = f"column 'y', line 4: '{'1' * 40}'... (130,001 characters) is not a number: correct it"
    assert expected in message(load_csv, write(f"x,y\n1,1\n2,2\n3,{cell}\n4,5\n"))
    assert f"'{'1' * 40}'... (130,000 characters) is infinite or too large" in message(
        load_csv, write(f"x,y\n1,1\n2,2\n3,{cell[:-1]}\n4,5\n")
    )
    dates = f"date,y\n2001-01-01,1\n2001-01-02{' ' * 100_000}x,2\n2001-01-03,3\n"
    assert "(100,011 characters) is not a date" in message(load_csv, write(dates))


def test_a_cell_beyond_the_limit(write):
    assert message(load_csv, write(f"x,y\n1,1\n2,2\n3,{'1' * 140_000}\n4,5\n")) == (
        "data.csv, line 4 has a cell of more than 131,072 characters: shorten it"
    )


def test_a_name_beyond_the_limit(write):
    assert message(load_csv, write(f"x,{'y' * 1001}\n1,1\n2,2\n3,5\n")) == (
        "data.csv, line 1: the name of column 2 has 1,001 characters: shorten it to 1,000 at most"
    )


@pytest.mark.slow
def test_many_columns(write):
    names = [f"x{k}" for k in range(20_000)]  # minutes, if names were compared by pairs
    rows = [",".join(str((k + row) % 5) for k in range(len(names))) for row in range(4)]
    name = write("\n".join([",".join(names), *rows]))
    assert load_csv(name, target="x19999").n_inputs == 19_999
    twice = write("\n".join([",".join([*names, "x7"]), *rows]))
    assert message(load_csv, twice) == "column 'x7' appears twice (columns 8 and 20001): rename one of them"
    headless = message(load_csv, write("\n".join(rows)))
    assert headless.endswith("holds values, not column names: add a header line such as 'x1,x2,...,y'")


def test_more_than_fits_into_memory(write, monkeypatch):
    small, text = 100_000, "x,y\n" + "1,2\n" * 100_000
    monkeypatch.setattr(source, "MOST_BYTES", small)
    too_large = f"holds more than {small / 2**30:g} GiB of text: take a part of its rows or columns"
    for name in (write(text), write(gzip.compress(text.encode()), "data.csv.gz")):
        assert message(load_csv, name) == f"{name} {too_large}"
    monkeypatch.setattr(source, "MOST_BYTES", 2**30)
    monkeypatch.setattr(records, "MOST_CELLS", 1000)
    cells = "data.csv holds more than 1,000 cells: take a part of its rows or columns"
    assert message(load_csv, "data.csv") == cells


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such devices here")
def test_endless_devices(device):
    assert message(load_csv, device) == f"{device} is not a text file: save the table as CSV first"


def test_zeros_in_a_small_gzip_file(write):
    name = write(gzip.compress(bytes(10**7)), "data.csv.gz")
    assert message(load_csv, name) == "data.csv.gz is not a text file: save the table as CSV first"


@pytest.mark.parametrize("content", [b"\x00", b"x\x00", b"\xff\xfex\x00,", "x,y\n1,\x002\n".encode("utf-16")])
def test_what_is_no_text(write, content):
    assert message(load_csv, write(content)) == "data.csv is not a text file: save the table as CSV first"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(source, "PATIENCE", 0.05)
    os.mkfifo("pipe")
    expected = "nothing comes through the pipe pipe: start the program that writes to it"
    assert message(load_csv, "pipe") == expected

    def feed():
        packed = gzip.compress(b"x,y\n1,1\n2,2\n3,5\n")
        with open("pipe", "wb") as pipe:
            for part in (packed[:1], packed[1:40], packed[40:]):
                pipe.write(part)
                pipe.flush()
                time.sleep(0.1)  # longer than the patience with a pipe that has no writer

    monkeypatch.setattr(source, "PATIENCE", 5.0)
    writer = threading.Thread(target=feed, daemon=True)
    writer.start()
    np.testing.assert_array_equal(load_csv("pipe").y, [1, 2, 5])
    writer.join()


def test_a_table_that_was_read_serves_for_prediction(write):
    name = write("x,y\n1,1\n2,2\n3,5\n")
    np.testing.assert_array_equal(read_inputs(read_table(name), load_csv(name)), [[1], [2], [3]])


def test_a_path_that_cannot_be(write):
    assert message(load_csv, "a" * 5000).endswith("cannot be read (File name too long): check its permissions")
