"""Data sets: what is read from files, what is said about it, standardisation and splits."""

import gzip
import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fathom.data.columns import Columns, DataError, Scaler
from fathom.data.dataset import Dataset, k_folds, load_csv, read_inputs, train_test_split


@pytest.fixture
def csv(tmp_path):
    """Write a file and return its path."""

    def write(text, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write


def said(data, *fragments):
    return all(any(fragment in note for note in data.notes) for fragment in fragments)


# Reading


def test_a_monthly_series(csv):
    data = load_csv(csv("date,CO2 (ppm)\n1958-03,315.7\n1958-04,317.5\n1958-05,317.5\n1958-06,317.2\n"))
    assert (data.names, data.target, data.units) == (("date",), ("CO2",), {"CO2": "ppm"})
    assert (data.n_rows, data.n_inputs, data.time, data.time_kind) == (4, 1, 0, "date")
    np.testing.assert_array_equal(data.y, [315.7, 317.5, 317.5, 317.2])
    np.testing.assert_array_equal(data.future(2), (12 * 1958 + np.array([6, 7])) / 12)
    assert said(data, "'date' was taken as the time", "understood as monthly")


def test_columns_are_found_by_plain_name_or_whole_header(csv):
    path = csv("a [MPa],b (kg),log(c)\n1,2,3\n2,3,5\n4,4,4\n")
    for target in ("b", "b (kg)"):
        data = load_csv(path, target=target, drop="log(c)")
        assert (data.names, data.target, data.units) == (("a",), ("b",), {"a": "MPa", "b": "kg"})


def test_columns_that_differ_only_in_unit_keep_their_whole_header(csv):
    data = load_csv(csv("temp (C),temp (F),y\n1,2,3\n2,3,5\n4,4,4\n"))
    assert data.names == ("temp (C)", "temp (F)")
    assert data.units == {"temp (C)": "C", "temp (F)": "F"}


EXPECTED = [[1.5, 1000.0], [2.5, 2000.25], [3.0, -3.0]]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x,z,y\n1.5,1000,1\n2.5,2000.25,2\n3,-3,4\n", "a.csv"),
        ("\ufeffx,z,y\r\n1.5,1000,1\r\n2.5,2000.25,2\r\n3,-3,4\r\n\r\n", "a.csv"),
        ("# made by hand\n\nx, z, y\n1.5, 1000, 1\n\n2.5, 2000.25, 2\n3, -3, 4\n", "a.csv"),
        ("x;z;y\n1,5;1.000;1\n2,5;2.000,25;2\n3;-3;4\n", "a.csv"),
        ("x;z;y\n1.5;1000;1\n2.5;2000.25;2\n3;-3;4\n", "a.csv"),
        ("x\tz\ty\n1.5\t1000\t1\n2.5\t2000.25\t2\n3\t-3\t4\n", "a.tsv"),
        ("x\tz\ty\n1,5\t1000\t1\n2,5\t2000,25\t2\n3\t-3\t4\n", "a.txt"),
        ("x\tz\ty\n1.5\t1,000\t1\n2.5\t2,000.25\t2\n3\t-3\t4\n", "a.tsv"),
        ('x,z,y\n1.5,"1,000",1\n2.5,"2,000.25",2\n3,\u22123,4\n', "a.csv"),
        ('"x","z","y"\n"1.5","1 000","1"\n"2.5","2\u202f000.25","2"\n"3","-3","4"\n', "a.csv"),
        ("x,z,y,\n1.5,1000,1,\n2.5,2000.25,2,\n3,-3,4,\n", "a.csv"),
        (",x,z,y\n0,1.5,1000,1\n1,2.5,2000.25,2\n2,3,-3,4\n", "a.csv"),
        ("x,z,y\n1,1.5,1000,1\n2,2.5,2000.25,2\n3,3,-3,4\n", "a.csv"),
        ("x|z|y\r1.5|1e3|1\r2.5|2.00025E3|2\r3|-3|4\r", "a.csv"),
    ],
)
def test_one_table_in_many_dialects(csv, text, name):
    data = load_csv(csv(text, name))
    assert (data.names, data.target, data.time) == (("x", "z"), ("y",), None)
    np.testing.assert_array_equal(data.X, EXPECTED)
    assert said(data, "last column, 'y', was taken as the target")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_encodings_and_compression(csv, encoding):
    text = "Temperatur (°C),Größe\n1,2\n2,3\n3,5\n"
    for path in (csv(text, "a.csv", encoding), csv(gzip.compress(text.encode(encoding)), "a.csv.gz")):
        data = load_csv(path)
        assert (data.names, data.target, data.units) == (("Temperatur",), ("Größe",), {"Temperatur": "°C"})


def test_an_unnamed_column_of_values_is_kept(csv):
    data = load_csv(csv(",y\n1949-01,3\n1949-02,4\n1949-03,7\n"))
    assert (data.names, data.time_kind) == (("column 1",), "date")


def test_rows_with_missing_values_are_dropped_and_counted(csv):
    data = load_csv(csv("x,z,y\n1,1,1\n2,NA,2\n?,3,3\n4,4,-\n5,5,5\n6,null,\n7,7\n8,2,8\n"))
    np.testing.assert_array_equal(data.X[:, 0], [1, 5, 8])
    assert said(data, "5 rows of 8 were dropped for missing values (x: 1, z: 2, y: 3).")


def test_several_targets_keep_rows_with_any_of_them(csv):
    data = load_csv(csv("x,a,b\n1,1,\n2,,\n3,3,3\n4,,4\n5,6,7\n"), target=["b", "a"])
    assert data.target == ("b", "a")
    np.testing.assert_array_equal(data.y, [[np.nan, 1], [3, 3], [4, np.nan], [7, 6]])
    assert said(data, "1 row of 5 was dropped for missing values (b, a: 1).")


def test_no_target_at_all(csv):
    data = load_csv(csv("a,b\n1,1\n2,5\n3,3\n"), target=[])
    assert (data.X.shape, data.y.shape, data.target) == ((3, 2), (3, 0), ())


def test_times_out_of_order_are_sorted_and_repeats_kept(csv):
    data = load_csv(csv("day,y\n2001-01-03,3\n2001-01-01,1\n2001-01-03,4\n2001-01-02,2\n"))
    np.testing.assert_array_equal(data.y, [1, 2, 3, 4])
    assert said(data, "Rows were sorted by 'day'", "1 row repeats the time of another; all are kept")


def test_constant_inputs_are_left_out_and_duplicates_kept(csv):
    data = load_csv(csv("a,x,c,y\n7,1,0,1\n7,1,0,1\n7,2,0,3\n"))
    assert data.names == ("x",)
    assert said(data, "2 constant columns left out: a, c.", "1 row repeats another exactly; all are kept.")


@pytest.mark.parametrize(
    ("text", "time", "kind", "target"),
    [
        ("year,y\n1949,1\n1950,2\n1951,5\n", "year", "decimal year", "y"),
        ("time,y\n1958.17,1\n1958.25,2\n1958.33,5\n", "time", "decimal year", "y"),
        ("t,y\n0,1\n1,2\n2,5\n", "t", "number", "y"),
        ("y,t\n1,30\n2,20\n5,10\n", "t", "number", "y"),
        ("time (s),y\n1950,1\n1951,2\n1952,5\n", "time", "number", "y"),
        ("time,y\n1,1\n1,2\n2,5\n", None, None, "y"),  # repeats: an ordinary input
        ("x,y\n1,1\n2,2\n3,5\n", None, None, "y"),
        ("month,y\n194901,1\n194902,2\n194903,5\n", "month", "date", "y"),
        ("date,y\n1,1\n2,2\n3,5\n", "date", "number", "y"),
        ("y,started\n1,Jan 1949\n2,Feb 1949\n5,Mar 1949\n", "started", "date", "y"),
    ],
)
def test_guesses(csv, text, time, kind, target):
    data = load_csv(csv(text))
    assert (data.time if time is None else data.names[data.time], data.time_kind) == (time, kind)
    assert data.target == (target,)


def test_options_overrule_guesses(csv):
    path = csv("t,u,v\n1,5,1\n2,4,1.5\n3,1,9\n")
    data = load_csv(path, target="t", time="u", inputs="v")
    assert (data.names, data.target, data.time) == (("u", "v"), ("t",), 0)
    np.testing.assert_array_equal(data.y, [3, 2, 1])
    assert load_csv(path, target="v", drop=["u"]).names == ("t",)


def test_prediction_inputs_follow_the_first_file(csv):
    data = load_csv(csv("date,x (m),y\n1949-01,1,1\n1949-02,3,2\n1949-03,2,5\n"), target="y", inputs="x")
    new = csv("note,x,date\nsoon,7,1949-06\nlater,8,1949-04\n", "new.csv")
    X = read_inputs(new, data)
    np.testing.assert_array_equal(X, [[(12 * 1949 + 5) / 12, 7], [(12 * 1949 + 3) / 12, 8]])
    stored = Columns.from_dict(json.loads(json.dumps(data.columns.to_dict())))
    np.testing.assert_array_equal(read_inputs(str(new), stored), X)
    frame = pd.DataFrame({"x": [7, 8], "date": pd.to_datetime(["1949-06-01", "1949-04-01"])})
    np.testing.assert_array_equal(read_inputs(frame, stored), X)


@given(hnp.arrays(float, (5, 3), elements=st.floats(-1e150, 1e150, allow_subnormal=False)))
def test_numbers_survive_a_file(tmp_path_factory, values):
    values = values + 0.0  # no negative zeros
    if np.any(np.ptp(values, axis=0) == 0):
        return
    path = tmp_path_factory.mktemp("numbers") / "a.csv"
    path.write_text("a,b,y\n" + "\n".join(",".join(map(repr, row)) for row in values.tolist()))
    data = load_csv(path)
    np.testing.assert_array_equal(np.column_stack([data.X, data.y]), values)


# Dataset


def test_a_dataset_is_immutable_and_knows_its_rows():
    data = Dataset([[1949.0], [1950], [1951], [1952]], [1, 2, 3, 4], ("year",), ("y",), time=0)
    assert (data.time_kind, data.format_time(1950.0), list(data.future(2))) == ("decimal year", "1950", [1953, 1954])
    for array in (data.X, data.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    for index in ([1, 3], np.array([False, True, False, True]), slice(1, None, 2)):
        part = data.rows(index)
        np.testing.assert_array_equal(part.y, [2, 4])
        np.testing.assert_array_equal(part.future(1), [1953])  # the step of the whole series
    assert data.rows([]).n_rows == 0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(data)).X, data.X)


def test_a_dataset_without_time_formats_numbers():
    assert Dataset([[1.0]], [2.0], ("x",), ("y",)).format_time(0.1234567) == "0.123457"


def test_importing_the_data_modules_loads_no_heavy_library():
    code = (
        "import sys, fathom.data.dataset, fathom.data.datasets, fathom.data.reading; "
        "print({'pandas', 'matplotlib', 'sklearn', 'jax'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Standardisation

finite = st.floats(-1e150, 1e150, allow_subnormal=False)


@given(hnp.arrays(float, (7, 2), elements=finite), hnp.arrays(float, 7, elements=finite | st.just(np.nan)))
def test_scaling_and_back(X, y):
    scaler = Scaler.fit(X, y)
    size = np.max(np.abs(X), axis=0, initial=1e-300)
    np.testing.assert_allclose(scaler.x_back(scaler.x(X)) / size, X / size, atol=1e-14)
    size = np.nanmax(np.append(np.abs(y), 1e-300))
    np.testing.assert_allclose(scaler.y_back(scaler.y(y)) / size, y / size, atol=1e-14)
    assert np.all(np.isfinite(scaler.x(X)))
    assert min(*scaler.x_sd, *scaler.y_sd) > 0


@given(hnp.arrays(float, 9, elements=st.integers(-1000, 1000).map(float)), st.sampled_from([0.0, 1e9, -1e12]))
def test_scaled_columns_have_mean_0_and_sd_1_on_any_offset(column, offset):
    values = column / 1024 + offset  # exact in binary
    scaler = Scaler.fit(values[:, None])
    z = scaler.x(values[:, None])
    rounding = np.spacing(abs(offset)) / scaler.x_sd[0]  # no float is nearer to the mean
    assert abs(z.mean()) <= 1e-12 + rounding
    assert z.std() == pytest.approx(0 if np.ptp(column) == 0 else 1, abs=1e-12 + rounding)


def test_scaler_edges():
    scaler = Scaler.fit([[1e150, 0.1], [-1e150, 0.1], [1e150, 0.1]], [[np.nan, 1], [np.nan, 3], [np.nan, np.nan]])
    np.testing.assert_allclose(scaler.x_sd, [np.sqrt(8) / 3 * 1e150, 1])
    np.testing.assert_array_equal(scaler.x([[0, 0.1]])[:, 1], [0])
    np.testing.assert_array_equal(scaler.y_mean, [0, 2])
    np.testing.assert_array_equal(scaler.y_sd, [1, 1])
    assert Scaler.fit([[1.0], [2]], np.empty((2, 0))).y_mean.shape == (0,)
    again = Scaler.from_dict(json.loads(json.dumps(scaler.to_dict())))
    for key, value in vars(scaler).items():
        np.testing.assert_array_equal(vars(again)[key], value)


# Splits


def test_train_test_split():
    train, test = train_test_split(100, 0.1, seed=3)
    assert (len(train), len(test)) == (90, 10)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(100))
    np.testing.assert_array_equal(test, train_test_split(100, 0.1, seed=3)[1])
    assert not np.array_equal(test, train_test_split(100, 0.1, seed=4)[1])
    assert [len(part) for part in train_test_split(2, 0.99)] == [1, 1]


@given(st.integers(2, 60), st.data())
def test_folds_cover_every_row_once(n, data):
    k = data.draw(st.integers(2, n))
    folds = k_folds(n, k, seed=0)
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(n))
    for train, test in folds:
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(n))
        assert len(train) + len(test) == n
        assert len(test) in (n // k, n // k + 1)


def test_errors_are_value_errors():
    assert issubclass(DataError, ValueError)
