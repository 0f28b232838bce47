"""Predictions of a fitted model as a table: at the rows of a file, or beyond the end of a series."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom.data.columns import Columns
from fathom.data.dataset import Dataset, named, read_inputs
from fathom.data.table import DataError, Table, listing, read_table, table_of_frame
from fathom.data.timeaxis import YEAR, TimeRule
from fathom.estimators.given import LARGEST

if TYPE_CHECKING:
    import pandas as pd

    from fathom.estimators.base import Estimator


@dataclass(frozen=True)
class Places:
    """Where to predict: the inputs as numbers, and the time as the reader writes it."""

    X: np.ndarray
    columns: Columns
    times: Sequence[str | float] = ()  # empty where the column of X says it

    def cells(self) -> list[list[str | float]]:
        """The inputs for a table, column by column."""
        found: list[list[str | float]] = [[_short(value) for value in column] for column in self.X.T]
        if self.columns.time is not None and len(self.times):
            found[self.columns.time] = list(self.times)
        return found


@dataclass(frozen=True)
class Forecast:
    """A table of predictions, one row for each place."""

    header: tuple[str, ...]
    rows: list[tuple[str | float, ...]]

    def csv(self) -> str:
        """The table as CSV text, in which no name or date is a formula to a spreadsheet."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(_inert, self.header))
        writer.writerows(map(_inert, row) for row in self.rows)
        return text.getvalue()


def _inert(cell: str | float) -> str | float:
    """Text behind an apostrophe where a spreadsheet would calculate it: =1+1, @SUM(A1), ＝1."""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip().startswith(tuple("=+-@＝＋－＠")) else cell


def read_levels(text: str) -> tuple[float, ...]:
    """Quantile levels from a comma-separated list."""
    try:
        levels = tuple(dict.fromkeys(float(part) for part in text.split(",") if part.strip()))
    except ValueError:
        raise DataError(f"--quantiles {text!r}: write numbers such as 0.05,0.5,0.95") from None
    for level in levels:
        if not 0 < level < 1:
            raise DataError(f"--quantiles {level:g}: a level must lie between 0 and 1")
    return levels


def columns_of(model: Estimator) -> Columns:
    """What the model knows of its columns."""
    columns: Columns | None = getattr(model, "columns_", None)
    if columns is not None:
        return columns
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise DataError("the model was fitted to inputs without names: fit it with `fathom fit`, or predict in Python")
    return Columns(tuple(map(str, names)))


def rows_of(model: Estimator, data: str) -> Places:
    """The rows of a file (or of a data set by name) that has the input columns of the model."""
    from fathom.data import datasets

    columns = columns_of(model)
    if not Path(data).is_file() and data in datasets.names():
        frame = _frame_of(datasets.load(data))
        table = table_of_frame(frame)
        try:
            X = read_inputs(frame, columns)
        except DataError as problem:
            raise DataError(str(problem).replace(table.source, f"data set {data!r}")) from None
    else:
        X, table = read_inputs(data, columns), read_table(data)
    if not len(X):
        raise DataError(f"{data} has no rows to predict: add some below the header")
    return Places(X, columns, _dates_as_written(table, columns))


def future(model: Estimator, horizon: int) -> Places:
    """The `horizon` steps that follow the last time of the training data."""
    columns = columns_of(model)
    if columns.rule is None or columns.time is None:
        raise DataError(
            "--horizon: the model has no time column to continue: "
            "name it with --time when fitting, or give a CSV with the inputs"
        )
    if len(columns.names) > 1:
        others = [name for name in columns.names if name != columns.names[columns.time]]
        raise DataError(f"--horizon cannot know the future of {listing(others)}: give a CSV with their values instead")
    if horizon < 1:
        raise DataError(f"--horizon {horizon}: give the number of steps to predict, 1 or more")
    last = model.last_ if hasattr(model, "last_") else model.scaler_.x_back(model.posterior_.X).max(0)
    check_horizon(columns.rule, float(last[columns.time]), horizon)
    times = columns.rule.future(float(last[columns.time]), horizon)
    written = [columns.rule.format(value) for value in times]
    is_date = columns.rule.kind == "date"
    return Places(times[:, None], columns, written if is_date else [_short(float(text)) for text in written])


def check_horizon(rule: TimeRule, last: float, horizon: int) -> None:
    """Raise an error if the times that follow the last one have no name: dates end with the year 9999."""
    unit = {"months": 12, "elapsed": YEAR, "numbers": 1}[rule.grid]
    end = last + horizon * rule.step / unit
    limit, named = (10_000, "the year 9999") if rule.kind == "date" else (LARGEST, f"{LARGEST:g}")
    if not end < limit:
        raise DataError(f"--horizon {horizon}: that goes beyond {named}; ask for fewer steps")


def predict(model: Estimator, places: Places, levels: Sequence[float], observed: bool = True) -> Forecast:
    """Mean, standard deviation and quantiles at each place; names of targets stand before them if there are several."""
    predictive = model.predict_dist(named(places.X, getattr(model, "feature_names_in_", None)), observed=observed)
    statistics = {"mean": predictive.mean(), "sd": predictive.std()}
    statistics |= {f"q{level:.15g}": predictive.quantile(level) for level in levels}
    several = len(predictive.shape) > 1
    targets = places.columns.target or tuple(f"y{i}" for i in range(predictive.shape[-1])) if several else ("",)
    header, columns = list(places.columns.names), places.cells()
    for i, target in enumerate(targets):
        for name, values in statistics.items():
            header.append(f"{target} {name}" if several else name)
            columns.append([float(f"{value:.8g}") for value in (values[:, i] if several else values)])
    return Forecast(tuple(header), list(zip(*columns, strict=True)))


def _frame_of(dataset: Dataset) -> pd.DataFrame:
    frame = named(dataset.X, dataset.names)
    if dataset.time is not None:
        frame[dataset.names[dataset.time]] = [dataset.format_time(value) for value in dataset.X[:, dataset.time]]
    return frame


def _dates_as_written(table: Table, columns: Columns) -> Sequence[str]:
    if columns.rule is None or columns.time is None or columns.rule.kind != "date":
        return ()
    return list(table.cells[table.find(columns.names[columns.time])])


def _short(value: float) -> float | int:
    """Without the last digit, which is rounding error (0.30000000000000004), and without an empty fraction."""
    rounded = float(f"{value:.15g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
