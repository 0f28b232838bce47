"""Data sets by name: the bundled figures, a catalogue, and what a command line's DATA means."""

import gzip
import os

import numpy as np
import pytest

from fathom.data import datasets
from fathom.data.columns import DataError

CATALOG = """
[[dataset]]
name = "plain"
file = "plain.csv"
n_rows = 6
n_inputs = 3
targets = ["b", "a"]
task = "multioutput"
source = "made up"
notes = "c is constant"
split_file = "splits/plain.csv"

[[dataset]]
name = "series"
file = "series.csv.gz"
n_rows = 5
n_inputs = 1
targets = ["y"]
task = "timeseries"
n_train = 3

[[dataset]]
name = "cloud"
file = "cloud.csv"
targets = []

[[dataset]]
name = "airline"
file = "nowhere.csv"

[[dataset]]
name = "lost"
file = "lost.csv"
"""


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    """A small FATHOM_DATA with every feature of the catalogue."""
    (tmp_path / "catalog.toml").write_text(CATALOG)
    (tmp_path / "plain.csv").write_text("x,z,c,a,b\n1,1,0,1,1\n2,3,0,2,4\n3,,0,3,9\n4,1,0,4,6\n5,9,0,5,2\n6,6,0,6,3\n")
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "plain.csv").write_text("s0,s1\n0,1\n0,1\n1,1\n0,0\n1,0\n1,0\n")
    (tmp_path / "series.csv.gz").write_bytes(
        gzip.compress(b"time,y\n2004.5,1\n2004.7,2\n2004.6,3\n2004.7,4\n2004.8,5\n")
    )
    (tmp_path / "cloud.csv").write_text("u,v\n1,2\n2,5\n3,1\n")
    monkeypatch.setenv("FATHOM_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_catalog(monkeypatch):
    """No FATHOM_DATA at all."""
    monkeypatch.delenv("FATHOM_DATA", raising=False)


@pytest.mark.usefixtures("no_catalog")
def test_the_airline_series():
    data = datasets.load("airline")
    assert (data.X.shape, data.y.shape, data.time_kind) == ((144, 1), (144,), "date")
    assert (data.target, data.units) == (("passengers",), {"passengers": "thousands"})
    assert (data.y.sum(), data.y[0], data.y[-1], data.y.max()) == (40363, 112, 432, 622)
    assert [data.format_time(t) for t in (data.X[0, 0], data.X[-1, 0], data.future(1)[0])] == [
        "1949-01",
        "1960-12",
        "1961-01",
    ]
    np.testing.assert_allclose(np.diff(data.X[:, 0]), 1 / 12, rtol=1e-9)
    ((train, test),) = datasets.splits("airline")
    np.testing.assert_array_equal(train, np.arange(129))
    np.testing.assert_array_equal(test, np.arange(129, 144))


@pytest.mark.usefixtures("no_catalog")
def test_the_motorcycle_data():
    data = datasets.load("motorcycle")
    assert (data.X.shape, data.names, data.units) == ((133, 1), ("time",), {"time": "ms", "acceleration": "g"})
    assert len(np.unique(data.X)) == 94
    assert (data.y.min(), data.y.max()) == (-134, 75)
    assert data.y.sum() == pytest.approx(-3397.6)
    assert datasets.splits("motorcycle") == []


@pytest.mark.usefixtures("no_catalog")
@pytest.mark.parametrize("name", ["airline", "motorcycle"])
def test_descriptions_of_bundled_data_are_true(name):
    info, data = datasets.describe(name), datasets.load(name)
    assert (info.rows, info.inputs, info.targets) == (data.n_rows, data.n_inputs, data.target)
    assert info.origin == "bundled"
    assert info.source
    assert info.notes
    assert datasets.names() == ["airline", "motorcycle"]


@pytest.mark.usefixtures("catalog")
def test_a_catalogue_adds_names_but_bundled_ones_win():
    assert datasets.names() == ["airline", "motorcycle", "plain", "series", "cloud", "lost"]
    assert datasets.load("airline").n_rows == 144
    assert datasets.describe("plain") == datasets.Info(
        "plain", 6, 3, ("b", "a"), "multioutput", "made up", "c is constant", "FATHOM_DATA"
    )


@pytest.mark.usefixtures("catalog")
def test_splits_follow_rows_that_loading_dropped():
    data = datasets.load("plain")
    assert (data.names, data.target, data.y.shape) == (("x", "z"), ("b", "a"), (5, 2))
    np.testing.assert_array_equal(data.X[:, 0], [1, 2, 4, 5, 6])
    first, second = datasets.splits("plain")
    assert [data.X[rows, 0].tolist() for rows in first] == [[1, 2, 4], [5, 6]]
    assert [data.X[rows, 0].tolist() for rows in second] == [[4, 5, 6], [1, 2]]


@pytest.mark.usefixtures("catalog")
def test_splits_follow_rows_that_loading_sorted():
    data = datasets.load("series")
    assert (data.time_kind, data.y.tolist()) == ("decimal year", [1, 3, 2, 4, 5])
    ((train, test),) = datasets.splits("series")
    assert (sorted(data.y[train]), sorted(data.y[test])) == ([1, 2, 3], [4, 5])


@pytest.mark.usefixtures("catalog")
def test_data_without_targets():
    data = datasets.load("cloud")
    assert (data.names, data.X.shape, data.y.shape) == (("u", "v"), (3, 2), (3, 0))


@pytest.mark.usefixtures("catalog")
def test_resolve_finds_names_and_passes_options_on():
    assert datasets.resolve("airline").n_rows == 144
    data = datasets.resolve("plain", target="a", drop=["z"])
    assert (data.names, data.target, data.n_rows) == (("x", "b"), ("a",), 6)


def test_resolve_prefers_a_file(catalog, monkeypatch):
    monkeypatch.chdir(catalog)
    (catalog / "airline").write_text("t,y\n1,1\n2,2\n3,4\n")
    assert datasets.resolve("airline").n_rows == 3
    assert datasets.resolve(str(catalog / "cloud.csv"), time="u").target == ("v",)
    (catalog / "motorcycle").mkdir()
    assert datasets.resolve("motorcycle").n_rows == 133


# Messages


@pytest.mark.usefixtures("no_catalog")
@pytest.mark.parametrize("ask", [datasets.load, datasets.describe, datasets.splits, datasets.resolve])
def test_an_unknown_name_without_a_catalogue(ask):
    with pytest.raises(DataError) as caught:
        ask("arline")
    message = str(caught.value)
    assert (
        "called 'arline' (did you mean 'airline'?); data sets: airline, motorcycle; for more, set FATHOM_DATA"
        in message
    )


@pytest.mark.usefixtures("catalog")
def test_an_unknown_name_with_a_catalogue():
    with pytest.raises(DataError) as caught:
        datasets.load("sries")
    assert str(caught.value) == (
        "no data set is called 'sries' (did you mean 'series'?); "
        "data sets: airline, motorcycle, plain, series, cloud, lost"
    )


@pytest.mark.usefixtures("no_catalog")
@pytest.mark.parametrize("path", ["folder/data", "data.csv"])
def test_resolve_speaks_of_files_when_a_path_is_meant(path):
    with pytest.raises(DataError, match=f"no file '{path}': check the name and the folder"):
        datasets.resolve(path)


def test_resolve_refuses_a_folder(catalog):
    with pytest.raises(DataError, match="is a folder: name a CSV file"):
        datasets.resolve(str(catalog))


@pytest.mark.usefixtures("catalog")
def test_a_file_that_the_catalogue_promises():
    with pytest.raises(DataError, match=r"data set 'lost' is in the catalogue, but .*lost.csv is missing: fetch it"):
        datasets.load("lost")


def test_a_split_file_that_does_not_fit(catalog):
    (catalog / "splits" / "plain.csv").write_text("s0\n1\n0\n")
    with pytest.raises(DataError, match="has 2 rows, but data set 'plain' has 6: fetch both files again"):
        datasets.splits("plain")


def test_a_folder_without_catalogue(tmp_path, monkeypatch):
    monkeypatch.setenv("FATHOM_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"FATHOM_DATA is .*, which holds no catalog.toml: correct or unset it"):
        datasets.names()
    assert datasets.load("airline").n_rows == 144  # needs no catalogue


@pytest.mark.parametrize("text", ["[[dataset]\n", "[[dataset]]\nfile = 'a.csv'\n", "dataset = 3\n"])
def test_a_broken_catalogue(tmp_path, monkeypatch, text):
    (tmp_path / "catalog.toml").write_text(text)
    monkeypatch.setenv("FATHOM_DATA", str(tmp_path))
    with pytest.raises(
        DataError, match=r"catalog.toml cannot be read as a catalogue .*: correct it or unset FATHOM_DATA"
    ):
        datasets.load("plain")


# The real catalogue, where there is one


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("FATHOM_DATA"), reason="FATHOM_DATA is not set")
def test_every_catalogued_data_set_is_as_described():
    for name in datasets.names():
        info = datasets.describe(name)
        if info.rows * info.inputs > 200_000:
            continue  # the large ones take seconds each
        data = datasets.load(name)
        assert data.n_rows == info.rows, name
        assert data.target == info.targets, name
        left_out = sum("constant column" in note.lower() for note in data.notes)
        assert data.n_inputs == info.inputs or left_out, name
        for train, test in datasets.splits(name):
            np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(data.n_rows))
