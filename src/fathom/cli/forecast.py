"""Predictions of a fitted model as a table: at the rows of a file, or beyond the end of a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom.data import ahead
from fathom.data.columns import Columns
from fathom.data.dataset import Dataset, named, read_inputs
from fathom.data.forecast import Cell, Forecast, short, tabulate, written
from fathom.data.messages import together
from fathom.data.table import DataError, Table, listing, read_table, table_of_frame
from fathom.data.timeaxis import TimeRule
from fathom.estimators.given import LARGEST

if TYPE_CHECKING:
    import pandas as pd

    from fathom.estimators.base import Estimator


@dataclass(frozen=True)
class Places:
    """Where to predict: the inputs as numbers, and the time as the reader writes it."""

    X: np.ndarray
    columns: Columns
    times: Sequence[Cell] = ()  # empty where the column of X says it

    def cells(self) -> list[list[Cell]]:
        """The inputs for a table, column by column."""
        found: list[list[Cell]] = [[short(value) for value in column] for column in self.X.T]
        if self.columns.time is not None and len(self.times):
            found[self.columns.time] = list(self.times)
        return found


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
        table = read_table(data)  # once, for it may be a pipe
        X = read_inputs(table, columns)
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
    if others := ahead.others(columns) if len(columns.names) > 1 else []:
        raise DataError(
            f"--horizon cannot know the future of {together(others)}: give a CSV with their values with --future"
        )
    if horizon < 1:
        raise DataError(f"--horizon {horizon}: give the number of steps to predict, 1 or more")
    last = model.last_ if hasattr(model, "last_") else model.scaler_.x_back(model.posterior_.X).max(0)
    check_horizon(columns.rule, float(last[columns.time]), horizon)
    times = columns.rule.future(float(last[columns.time]), horizon)
    return Places(times[:, None], columns, written(columns.rule, times))


def check(dataset: Dataset, option: str) -> None:
    """Refuse to continue a data set that has no time, or whose other inputs have a future that nobody knows."""
    if dataset.rule is None:
        raise DataError(f"{option}: {dataset.source or 'the data'} has no time column to continue: name it with --time")
    if dataset.n_inputs > 1:
        others = [name for name in dataset.names if name != dataset.names[dataset.time or 0]]
        raise DataError(
            f"{option} cannot know the future of {listing(others)}: leave them out of --inputs, or save the model and "
            "give `fathom predict` a CSV with their values"
        )


def known(model: Estimator, source: Path) -> Places:
    """The rows of a file of times that follow the training data, with the other inputs."""
    columns = columns_of(model)
    if hasattr(model, "posterior_"):
        rows = model.scaler_.x_back(model.posterior_.X)
    else:
        rows = np.atleast_2d(getattr(model, "last_", np.zeros((0, len(columns.names)))))
    times = rows[:, columns.time or 0]
    X = ahead.read_ahead(source, columns, times)
    return Places(X, columns, _dates_as_written(read_table(source), columns))


def check_horizon(rule: TimeRule, last: float, horizon: int) -> None:
    """Raise an error if the times that follow the last one have no name: dates end with the year 9999."""
    end = last + horizon * rule.spacing
    limit, named = (10_000, "the year 9999") if rule.kind == "date" else (LARGEST, f"{LARGEST:g}")
    if not end < limit:
        raise DataError(f"--horizon {horizon}: that goes beyond {named}; ask for fewer steps")


def predict(model: Estimator, places: Places, levels: Sequence[float], observed: bool = True) -> Forecast:
    """Mean, standard deviation and quantiles at each place; names of targets stand before them if there are several."""
    predictive = model.predict_dist(named(places.X, getattr(model, "feature_names_in_", None)), observed=observed)
    return tabulate(places.columns, places.cells(), predictive, levels)


def _frame_of(dataset: Dataset) -> pd.DataFrame:
    frame = named(dataset.X, dataset.names)
    if dataset.time is not None:
        frame[dataset.names[dataset.time]] = [dataset.format_time(value) for value in dataset.X[:, dataset.time]]
    return frame


def _dates_as_written(table: Table, columns: Columns) -> Sequence[str]:
    if columns.rule is None or columns.time is None or columns.rule.kind != "date":
        return ()
    return list(table.cells[table.find(columns.names[columns.time])])
