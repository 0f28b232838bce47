"""What is known of the inputs after the end of a series, read from a file: the values of `--future`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fathom.data.columns import Columns, DataError
from fathom.data.dataset import read_inputs
from fathom.data.messages import together
from fathom.data.table import read_table

OPTION = "--future"


def read_ahead(source: str | Path, columns: Columns, times: np.ndarray) -> np.ndarray:
    """Inputs (H, D) that continue a series with these times, step by step and in order."""
    if columns.time is None or columns.rule is None:
        raise DataError(f"{OPTION}: the model has no time column to continue: name it with --time")
    if len(columns.names) == 1:
        raise DataError(f"{OPTION}: the time is the only input: say with --horizon how many steps to look ahead")
    try:
        X = read_inputs(source, columns)
    except DataError as problem:
        raise DataError(f"{OPTION} {source}: {problem}") from None
    if not len(X):
        raise DataError(f"{OPTION} {source} has no rows: add the times ahead, with {together(others(columns))}")
    _check_times(source, columns, X[:, columns.time], times)
    return X


def others(columns: Columns) -> list[str]:
    """The inputs beside the time."""
    return [name for i, name in enumerate(columns.names) if i != columns.time]


def _check_times(source: str | Path, columns: Columns, ahead: np.ndarray, times: np.ndarray) -> None:
    """Refuse times that are known already, out of order, or further apart than any of the series."""
    if columns.rule is None:
        return
    table, written = read_table(source), columns.rule.format
    last, widest = float(times.max()), float(np.max(np.diff(np.unique(times)), initial=0.0))
    before = last
    for row, at in enumerate(map(float, ahead)):
        place = f"{OPTION} {source}, {table.where(row)}: {written(at)}"
        if at <= last:
            raise DataError(f"{place} is not after the data, which end with {written(last)}: leave out what is known")
        if at <= before:
            raise DataError(f"{place} does not come after {written(before)}: put rows in order of time, each time once")
        if widest and at - before > 1.5 * widest:
            raise DataError(f"{place} comes too long after {written(before)}: give every time from the end of the data")
        before = at
