"""Which columns become inputs: the time alone, those that are asked for, and none that give the target away."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.data import datasets
from fathom.data.columns import DataError
from fathom.data.dataset import load_csv

N = 40


def columns(seed=0, n=N):
    """Sales of two regions, a price and a promotion, that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    north, south, price = (np.round(100 + np.cumsum(rng.normal(0, 3, n)), 1) for _ in range(3))
    return {"north": north, "south": south, "price": price, "promo": rng.integers(0, 2, n)}


def write(tmp_path, columns, time=True):
    months = [f"{2000 + k // 12}-{k % 12 + 1:02d}" for k in range(len(next(iter(columns.values()))))]
    table = {"date": months, **columns} if time else columns
    rows = zip(*table.values(), strict=True)
    path = tmp_path / "d.csv"
    path.write_text("\n".join([",".join(table), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def file(tmp_path):
    return write(tmp_path, columns())


def test_a_series_has_its_time_alone_and_says_so(file):
    data = load_csv(file, target="north")
    assert data.names == ("date",)
    said = "The time alone is the input; south, price and promo are left out (--inputs south,price,promo adds them)."
    assert data.choice == (said,)
    assert said in data.notes


def test_inputs_are_asked_for_by_name(file):
    for asked in ("promo,price", ["price", "promo"], ["price, promo"]):
        data = load_csv(file, target="north", inputs=asked)
        assert (data.names, data.time, data.choice) == (("date", "price", "promo"), 0, ())
        assert data.columns.names == ("date", "price", "promo")  # what a model file remembers
    assert load_csv(file, target="north", inputs="all").names == ("date", "south", "price", "promo")
    assert load_csv(file, target="north", inputs="date").names == ("date",)
    assert load_csv(file, target="north", inputs=[]).choice == ()


def test_what_is_asked_for_is_no_guess_for_the_target(tmp_path):
    path = write(tmp_path, {name: x for name, x in columns().items() if name in ("north", "price")})
    assert load_csv(path, inputs="price").target == ("north",)


def test_a_table_has_all_columns_or_those_that_are_named(tmp_path):
    path = write(tmp_path, columns(), time=False)
    assert load_csv(path, target="north").names == ("south", "price", "promo")
    assert load_csv(path, target="north", inputs="promo").names == ("promo",)
    assert load_csv(path, target="north", inputs="promo,all").names == ("south", "price", "promo")


def test_rows_are_kept_where_a_column_that_is_no_input_has_gaps(tmp_path):
    held = columns()
    held["price"] = ["" if k % 2 else x for k, x in enumerate(held["price"])]
    path = write(tmp_path, held | {"remark": ["fine"] * N})
    assert load_csv(path, target="north").n_rows == N
    assert load_csv(path, target="north", inputs="price").n_rows == N // 2


def test_a_column_may_have_a_comma_or_be_called_all(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text('t,"a,b",all,y\n' + "".join(f"{k},{k % 3},{k % 4},{k % 5}\n" for k in range(9)))
    assert load_csv(path, target="y", inputs="a,b").names == ("t", "a,b")
    assert load_csv(path, target="y", inputs="all").names == ("t", "all")
    assert "(--inputs all adds them)" in load_csv(path, target="y").choice[0]


ERRORS = {
    "no such column": ({"inputs": "prise"}, "--inputs 'prise': no such column in .* [(]did you mean 'price'[?][)]"),
    "nothing": ({"inputs": "price,"}, "--inputs 'price,': name columns separated by commas, or write all"),
    "the target": ({"inputs": "north"}, "column 'north' is both --target and --inputs: choose one"),
    "dropped": ({"inputs": "price", "drop": "price"}, "column 'price' is both --drop and --inputs: choose one"),
}


@pytest.mark.parametrize(("options", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_bad_inputs(file, options, message):
    with pytest.raises(DataError, match=message):
        load_csv(file, target="north", **options)


# -- columns that give the target away ---------------------------------------------------------------------------------


def test_a_total_is_left_out_of_a_series(tmp_path):
    held = columns()
    path = write(tmp_path, held | {"total": np.round(held["north"] + held["south"], 1)})
    said = "total is north + south: left out (--inputs total keeps it)."
    data = load_csv(path, target="north")
    assert data.choice[1:] == (said,)
    assert "total" not in data.choice[0]
    data = load_csv(path, target="north", inputs="all")
    assert (data.names, data.choice) == (("date", "south", "price", "promo"), (said,))
    data = load_csv(path, target="north", inputs="south,total")
    assert data.names == ("date", "south", "total")
    assert data.choice == ("total is north + south: with it as input, little is left to explain.",)
    assert load_csv(path, target="north", inputs="price").choice == ()


def test_parts_are_left_out_of_their_total(tmp_path):
    held = columns()
    path = write(tmp_path, held | {"total": np.round(held["north"] + held["south"], 1)}, time=False)
    data = load_csv(path, target="total")
    assert data.names == ("price", "promo")
    assert data.choice == ("total is north + south: left out (--inputs all,north,south keeps them).",)
    assert load_csv(path, target="total", inputs="all,north,south").names == ("north", "south", "price", "promo")


def test_the_only_inputs_of_a_table_stay(tmp_path):
    held = columns()
    path = write(tmp_path, {"x": held["north"], "y": 2 * held["north"] + 1}, time=False)
    data = load_csv(path)
    assert data.names == ("x",)
    assert data.choice == ("x is a linear function of y: with it as input, little is left to explain.",)


KINDS = {
    "copy": (lambda c: c["north"], "x is a copy of north"),
    "other unit": (lambda c: np.round(1.8 * c["north"] + 32, 2), "x is a linear function of north"),
    "negative": (lambda c: -c["north"], "x is a linear function of north"),
    "three": (lambda c: np.round(c["north"] + c["south"] + c["price"], 1), "x is north + south + price"),
    "mixed": (lambda c: 2 * c["north"] + 0.5 * c["price"], "north is a linear function of price and x"),
}


@pytest.mark.parametrize("time", [True, False])
@pytest.mark.parametrize(("made", "relation"), KINDS.values(), ids=KINDS.keys())
def test_relations_that_are_recognised(tmp_path, made, relation, time):
    held = columns()
    path = write(tmp_path, held | {"x": made(held)}, time=time)
    data = load_csv(path, target="north", inputs="all")
    assert data.choice[0].startswith(relation + ": left out (--inputs ")
    assert "x" not in data.names


def test_many_parts(tmp_path):
    rng = np.random.default_rng(1)
    parts = {f"p{k}": np.round(rng.normal(10, 1, 60), 2) for k in range(12)}
    path = write(tmp_path, parts | {"total": np.round(sum(parts.values()), 2)}, time=False)
    data = load_csv(path, target="p3")
    assert "total" not in data.names
    assert len(data.names) == 11
    assert data.choice[0].startswith("total is p3 + p0 + p1 + p2 + p4")


@pytest.mark.slow
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.03, 0.1, 0.5]))
@settings(max_examples=25, deadline=None)
def test_what_is_only_near_stays(tmp_path_factory, seed, time, noise):
    """A column that tells the target but for a part of it is a fair input, and so is one with the same trend."""
    held, rng = columns(seed), np.random.default_rng(seed)
    held["near"] = held["north"] + noise * np.std(held["north"]) * rng.standard_normal(N)
    held["trend"] = np.arange(N) + 0.001 * rng.standard_normal(N)
    held["y"] = np.arange(N) + 0.001 * rng.standard_normal(N) if time else held["north"]
    if not time:
        del held["north"]
    data = load_csv(write(tmp_path_factory.mktemp("near"), held, time=time), target="y", inputs="all")
    assert {"near", "trend"} <= set(data.names)
    assert data.choice == ()


def test_several_targets_and_short_tables_are_left_alone(tmp_path):
    held = columns()
    path = write(tmp_path, held | {"x": held["north"]}, time=False)
    assert "x" in load_csv(path, target=["north", "south"]).names
    assert (
        "x"
        in load_csv(write(tmp_path, {k: v[:8] for k, v in (held | {"x": held["north"]}).items()}, False), "north").names
    )


# -- data sets by name ---------------------------------------------------------------------------------------------


def test_a_catalogue_has_inputs_of_its_own(tmp_path, monkeypatch):
    held = columns()
    write(tmp_path, held | {"copy": held["north"]})
    entry = '[[dataset]]\nname = "{}"\nfile = "d.csv"\ntargets = ["north"]\n'
    some = entry.format("some") + 'inputs = ["date", "price"]\n'
    (tmp_path / "catalog.toml").write_text(entry.format("every") + some)
    monkeypatch.setenv("FATHOM_DATA", str(tmp_path))
    assert datasets.load("every").names == ("date", "south", "price", "promo", "copy")
    assert datasets.load("some").names == ("date", "price")
    assert datasets.resolve("some", inputs="promo").names == ("date", "promo")
    assert datasets.resolve("every", drop="copy").names == ("date", "south", "price", "promo")
    assert datasets.resolve("every", target="south").names == ("date",)
