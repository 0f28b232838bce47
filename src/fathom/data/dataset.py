"""Data sets as a model wants them: arrays with names and units, standardisation, and splits.

Reading files is in `reading.py`, the time axis in `timeaxis.py`; the names for users are gathered here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fathom.data.calendar import gaps_in
from fathom.data.columns import UNKNOWN, Columns, DataError, Dialect, read_only
from fathom.data.table import Table
from fathom.data.timeaxis import TimeKind, TimeRule, time_cells

if TYPE_CHECKING:
    import pandas as pd

    from fathom.data.holidays import Holidays


Split = tuple[np.ndarray, np.ndarray]  # row numbers: train, test


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs `X` (N, D) and targets `y` (N,) or (N, P), with all that is known about their columns.

    - `names`, `target`: the names of the inputs and of the target or targets, without their units.
    - `units`: column name -> unit, for the columns whose header gives one.
    - `time`: which column of `X` is the time, if any; `time_kind`: whether it came from dates ("date"), holds years
      ("decimal year") or other numbers ("number"). `rule` is the map between dates and the numbers in `X`.
    - `holidays`: the public holidays of a country, if they were asked for.
    - `notes`: sentences on what was done to the data on the way in; `choice`: those on columns that are no inputs.
    - `ahead`: inputs (H, D) after the data, where what comes next is known of all of them.
    - `dialect`: how the file writes numbers, which settles what a number in a file for prediction may leave open.

    Arrays are read-only. NaN in `y` marks a missing output.
    """

    X: np.ndarray
    y: np.ndarray
    names: tuple[str, ...]
    target: tuple[str, ...]
    units: dict[str, str] = field(default_factory=dict)
    time: int | None = None
    time_kind: TimeKind | None = None
    notes: tuple[str, ...] = ()
    source: str = ""
    rule: TimeRule | None = None
    dialect: Dialect = UNKNOWN
    holidays: Holidays | None = None
    choice: tuple[str, ...] = ()
    ahead: np.ndarray | None = None

    def __post_init__(self) -> None:
        X, y = read_only(self.X), read_only(self.y)
        if X.ndim != 2 or y.ndim not in (1, 2) or len(X) != len(y):
            raise DataError(f"X has shape {X.shape} and y {y.shape}: they need shapes (N, D) and (N,) or (N, P)")
        if len(self.names) != X.shape[1] or len(self.target) != (1 if y.ndim == 1 else y.shape[1]):
            raise DataError(f"{len(self.names)} names and {len(self.target)} targets: give one for every column")
        rule = self.rule
        if rule is None and self.time is not None:
            name = self.names[self.time]
            rule = TimeRule.of_numbers(X[:, self.time], name, self.units.get(name, ""))
            rule = replace(rule, kind=self.time_kind or rule.kind)
        kind = rule.kind if rule is not None else None
        for key, value in {"X": X, "y": y, "rule": rule, "time_kind": kind}.items():
            object.__setattr__(self, key, value)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return len(self.X)

    @property
    def n_inputs(self) -> int:
        """Number of inputs, D."""
        return self.X.shape[1]

    @property
    def columns(self) -> Columns:
        """The description with which `read_inputs` reads another file for the same model."""
        country = "" if self.holidays is None else self.holidays.country
        return Columns(self.names, self.target, dict(self.units), self.time, self.rule, self.dialect, country)

    def rows(self, index: ArrayLike | slice) -> Dataset:
        """The data set of some rows, by numbers, mask or slice."""
        chosen = np.arange(self.n_rows)[index] if isinstance(index, slice) else np.atleast_1d(np.asarray(index))
        keep = chosen if chosen.size else np.arange(0)  # an empty list would be an array of floats
        return replace(self, X=self.X[keep], y=self.y[keep])

    def format_time(self, value: float) -> str:
        """A value of the time input as the reader would write it: a date in their form, or a number."""
        return f"{value:.6g}" if self.rule is None else self.rule.format(value)

    @property
    def calendar(self) -> tuple[tuple[float, ...], ...]:
        """For each input the periods at which a cycle is expected: those of the calendar for a time, else none."""
        time, rule = self.time, self.rule
        known = () if time is None or rule is None else rule.periods(self.units.get(self.names[time], ""))
        return tuple(known if i == time else () for i in range(self.n_inputs))

    @property
    def terms(self) -> tuple[str, ...]:
        """Kernels that may be a part of any model of these data: that of public holidays, if there are some."""
        if self.holidays is None or self.time is None or not self.holidays.covers(self.X[:, self.time]).any():
            return ()
        return (self.holidays.kernel(self.time if self.n_inputs > 1 else None),)

    def gaps(self) -> list[tuple[float, float]]:
        """Stretches of time without a row that are long for the sampling: the times on either side of each."""
        if self.rule is None or self.time is None:
            return []
        return gaps_in(self.X[:, self.time], self.rule.spacing)

    def future(self, horizon: int) -> np.ndarray:
        """The next `horizon` values of the time input after the last row, at the usual step."""
        if self.rule is None:
            raise DataError(f"{self.source or 'the data'} has no time column to continue: name it with --time")
        if horizon < 1:
            raise DataError(f"--horizon {horizon}: give the number of steps to predict, 1 or more")
        return self.rule.future(float(self.X[:, self.time].max()), horizon)

    def transform_time(self, column: Sequence[Any] | np.ndarray) -> np.ndarray:
        """The numbers for the time column of another file, by the rule of this one."""
        from fathom.data import reading  # builds on this module

        if self.rule is None or self.time is None:
            raise DataError(f"{self.source or 'the data'} has no time column: name it with --time")
        table = Table("the column", (self.names[self.time],), (time_cells(column),), separator="")
        return reading.time_values(table, 0, self.rule)


def load_csv(
    path: str | Path,
    target: str | Sequence[str] | None = None,
    time: str | None = None,
    drop: str | Sequence[str] | None = None,
    inputs: str | Sequence[str] | None = None,
) -> Dataset:
    """Read a data set from a `.csv`, `.tsv` or gzipped file with a header line.

    - `target`: the column to model, or several. Left out, it is the only numeric column beside the time or, if no
      column is a time, the last one. An empty list makes a data set without targets.
    - `time`: the time column: dates, years or plain numbers. Left out, it is the only column of dates, or one that
      is named like a time and strictly monotone.
    - `drop`: columns to leave out.
    - `inputs`: columns to learn from beside the time, by name; one string may hold several, "price,promo", or be
      "all". Left out, a series has its time alone, and a table all other columns, which must be numeric.

    Columns that give the target away (a copy, a total of which it is a part) are inputs only by name. Rows with missing
    values are dropped, constant inputs too, and rows are sorted by time: `Dataset.notes` tells. Anything else that is
    wrong is a `DataError`.
    """
    from fathom.data import reading  # builds on this module

    return reading.load(path, target, time, drop, inputs)


def read_inputs(source: str | Path | pd.DataFrame | Table, like: Dataset | Columns) -> np.ndarray:
    """Inputs (N, D) for prediction, from a file, data frame or table that has the input columns of `like`.

    Columns are found by name, others are ignored; rows keep their order and none may miss a value.
    """
    from fathom.data import reading  # builds on this module

    return reading.inputs(source, like.columns if isinstance(like, Dataset) else like)


def train_test_split(n: int, fraction: float = 0.1, seed: int = 0) -> Split:
    """Row numbers of a random split that holds out `fraction` of `n` rows for testing, each part in order."""
    if n < 2:
        raise DataError(f"{n} rows cannot be split: at least 2 are needed")
    if not 0 < fraction < 1:
        raise DataError(f"fraction {fraction:g}: the part held out for testing must lie between 0 and 1")
    n_test = int(np.clip(round(fraction * n), 1, n - 1))
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def k_folds(n: int, k: int = 5, seed: int = 0) -> list[Split]:
    """`k` random splits whose test parts, equal in size up to one row, cover all `n` rows once."""
    if not 2 <= k <= n:
        raise DataError(f"--folds {k}: choose between 2 and the number of rows, {n}")
    order = np.random.default_rng(seed).permutation(n)
    tests = [np.sort(part) for part in np.array_split(order, k)]
    return [(np.setdiff1d(np.arange(n), test), test) for test in tests]


def inputs(dataset: Dataset) -> Any:
    """The inputs with their names, so that a kernel can say which it means."""
    return named(dataset.X, dataset.names)


def named(X: np.ndarray, names: Sequence[str] | None) -> Any:
    """A data frame, the form in which estimators remember names; the array itself when there are none."""
    if names is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=list(names))
