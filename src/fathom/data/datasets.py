"""Data sets by name: two that come with the package, and those of a catalogue in the folder `FATHOM_DATA`.

The catalogue is a file `catalog.toml` with one `[[dataset]]` table for each CSV file beside it: `name`, `file`,
`n_rows`, `n_inputs`, `targets`, `inputs` (all other columns without it) and, where there is a customary split,
`split_file` (a 0/1 matrix with a row for each data row, 1 = test) or `n_train` (the first rows are for training).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import numpy as np

from fathom.base.files import Facts
from fathom.data.columns import DataError
from fathom.data.dataset import Dataset, Split
from fathom.data.table import Table, did_you_mean, listing, read_table

VARIABLE = "FATHOM_DATA"

_BUNDLED: dict[str, Facts] = {
    "airline": {
        "file": "airline.csv",
        "n_rows": 144,
        "n_inputs": 1,
        "targets": ["passengers"],
        "task": "timeseries",
        "time": "date",
        "n_train": 129,
        "source": "Box & Jenkins (1976), series G; R package datasets, AirPassengers",
        "notes": "Thousands of international airline passengers, monthly, 1949 to 1960.",
    },
    "motorcycle": {
        "file": "motorcycle.csv",
        "n_rows": 133,
        "n_inputs": 1,
        "targets": ["acceleration"],
        "task": "regression",
        "source": "Silverman (1985); R package MASS, mcycle",
        "notes": "Head acceleration in a simulated motorcycle accident; 94 distinct times.",
    },
}


@dataclass(frozen=True)
class Info:
    """What is known of a data set before it is read; `inputs` counts columns of the file."""

    name: str
    rows: int
    inputs: int
    targets: tuple[str, ...]
    task: str
    source: str
    notes: str
    origin: str  # "bundled" or "FATHOM_DATA"


def names() -> list[str]:
    """Names of all data sets at hand, the bundled ones first."""
    return [*_BUNDLED, *(name for name in _catalog() if name not in _BUNDLED)]


def describe(name: str) -> Info:
    """What a data set holds and where it comes from."""
    entry = _entry(name)
    return Info(
        name,
        int(entry.get("n_rows", 0)),
        int(entry.get("n_inputs", 0)),
        tuple(entry.get("targets", ())),
        str(entry.get("task", "")),
        str(entry.get("source", "")),
        str(entry.get("notes", "")),
        "bundled" if name in _BUNDLED else VARIABLE,
    )


def load(name: str) -> Dataset:
    """Read a data set by name, by the rules of `load_csv`."""
    return _load(name)[0]


def splits(name: str) -> list[Split]:
    """The customary splits into train and test rows of `load(name)`; empty if there are none."""
    entry = _entry(name)
    if "split_file" not in entry and "n_train" not in entry:
        return []
    _, rows, n_rows = _load(name)
    if "split_file" in entry:
        masks = _test_masks(name, entry["split_file"], n_rows)
    else:
        masks = [np.arange(n_rows) >= int(entry["n_train"])]
    # The masks speak of rows of the file, of which loading may have dropped some and sorted the rest.
    return [(np.flatnonzero(~mask[rows]), np.flatnonzero(mask[rows])) for mask in masks]


def resolve(
    data: str | Path,
    target: str | Sequence[str] | None = None,
    time: str | None = None,
    drop: str | Sequence[str] | None = None,
    inputs: str | Sequence[str] | None = None,
) -> Dataset:
    """The data set meant on a command line: a file if there is one of that name, else a data set by name."""
    from fathom.data.dataset import load_csv

    name = str(data)
    if Path(name).is_file():
        return load_csv(name, target, time, drop, inputs)
    if name in _BUNDLED or name in _catalog():
        return _load(name, target, time, drop, inputs)[0]
    if Path(name).exists() or Path(name).suffix or len(Path(name).parts) > 1:
        return load_csv(name, target, time, drop, inputs)  # says what is wrong with the file
    raise DataError(f"no file or data set is called {name!r}{_hints(name)}")


def table_of(data: str | Path) -> Path:
    """The table that `resolve` reads, also of a data set by its name."""
    name = str(data)
    if Path(name).exists() or (name not in _BUNDLED and name not in _catalog()):
        return Path(name)
    if name in _BUNDLED:
        return Path(str(resources.files("fathom") / "bundled" / _BUNDLED[name]["file"]))
    return _folder() / _entry(name).get("file", f"{name}.csv")


def files(data: str | Path) -> list[Path]:
    """The files that `resolve` reads."""
    name = str(data)
    if Path(name).exists() or name in _BUNDLED or name not in _catalog():
        return [Path(name)]
    entry = _entry(name)
    parts = ("catalog.toml", entry.get("file", f"{name}.csv"), entry.get("split_file"))
    return [_folder() / part for part in parts if part is not None]


def _load(
    name: str,
    target: str | Sequence[str] | None = None,
    time: str | None = None,
    drop: str | Sequence[str] | None = None,
    inputs: str | Sequence[str] | None = None,
) -> tuple[Dataset, np.ndarray, int]:
    """A data set, the row of the file that each of its rows was, and the number of rows of the file."""
    from fathom.data.reading import assemble

    entry = _entry(name)
    table = _table(name, entry)
    if target is None and (target := entry.get("targets")) is not None and inputs is None:
        inputs = _own_inputs(table, entry, drop)
    if time is None:
        time = entry.get("time")
        if time is None and entry.get("task") == "timeseries" and "time" in table.names:
            time = "time"  # even where it repeats or steps back, which a guess would shy at
    dataset, rows = assemble(table, target, time, drop, inputs)
    return dataset, rows, table.n_rows


def _own_inputs(table: Table, entry: Facts, drop: str | Sequence[str] | None) -> list[str]:
    """The inputs that go with the targets of a catalogue: those it names, or all columns that are no target."""
    aside = {table.find(name) for name in ([drop] if isinstance(drop, str) else drop or ())}
    aside |= {table.find(str(name)) for name in entry["targets"]}
    named = entry.get("inputs", table.names)
    return [str(name) for name in named if table.find(str(name)) not in aside]


def _table(name: str, entry: Facts) -> Table:
    if name in _BUNDLED:
        with resources.as_file(resources.files("fathom") / "bundled" / entry["file"]) as path:
            return replace(read_table(path), source=f"data set {name!r}")
    path = _folder() / str(entry.get("file", f"{name}.csv"))
    if not path.is_file():
        raise DataError(f"data set {name!r} is in the catalogue, but {path} is missing: fetch it or correct {VARIABLE}")
    return replace(read_table(path), source=f"data set {name!r}")


def _test_masks(name: str, split_file: str, n_rows: int) -> list[np.ndarray]:
    table = read_table(_folder() / split_file)
    if table.n_rows != n_rows:
        raise DataError(
            f"{split_file} has {table.n_rows} rows, but data set {name!r} has {n_rows}: fetch both files again"
        )
    return [table.numbers(i) == 1 for i in range(len(table.headers))]


def _entry(name: str) -> Facts:
    entry = _BUNDLED.get(name) or _catalog().get(name)
    if entry is None:
        raise DataError(f"no data set is called {name!r}{_hints(name)}")
    return entry


def _hints(name: str) -> str:
    unset = "" if os.environ.get(VARIABLE) else f"; for more, set {VARIABLE} to a folder with a catalog.toml"
    return f"{did_you_mean(name, names())}; data sets: {listing(names())}{unset}"


def _folder() -> Path:
    return Path(os.environ[VARIABLE])


def _catalog() -> dict[str, Facts]:
    if not os.environ.get(VARIABLE):
        return {}
    path = _folder() / "catalog.toml"
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("dataset", [])
        return {str(entry["name"]): entry for entry in entries}
    except FileNotFoundError:
        raise DataError(f"{VARIABLE} is {path.parent}, which holds no catalog.toml: correct or unset it") from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"{path} cannot be read as a catalogue ({error}): correct it or unset {VARIABLE}") from None
