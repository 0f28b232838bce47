"""Predictions as a table: one row for each place, with mean, standard deviation and quantiles, and its CSV text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from fathom.data.columns import Columns
    from fathom.data.timeaxis import TimeRule
    from fathom.predictive import Predictive

Cell = str | float


@dataclass(frozen=True)
class Forecast:
    """A table of predictions, one row for each place."""

    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]]

    def first(self, most: int) -> Forecast:
        """The table of its first rows."""
        return Forecast(self.header, self.rows[:most])

    def csv(self) -> str:
        """The table as CSV text, in which no name or date is a formula to a spreadsheet."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(inert, self.header))
        writer.writerows(map(inert, row) for row in self.rows)
        return text.getvalue()


def inert(cell: Cell) -> Cell:
    """Text behind an apostrophe where a spreadsheet would calculate it: =1+1, @SUM(A1), ＝1."""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip().startswith(tuple("=+-@＝＋－＠")) else cell


def tabulate(
    columns: Columns, cells: Sequence[Sequence[Cell]], predictive: Predictive, levels: Sequence[float]
) -> Forecast:
    """The inputs, column by column, beside mean, sd and quantiles; targets stand before them if there are several."""
    statistics = {"mean": predictive.mean(), "sd": predictive.std()}
    statistics |= {f"q{level:.15g}": predictive.quantile(level) for level in levels}
    several = len(predictive.shape) > 1
    targets = columns.target or tuple(f"y{i}" for i in range(predictive.shape[-1])) if several else ("",)
    header, table = list(columns.names), [list(column) for column in cells]
    for i, target in enumerate(targets):
        for name, values in statistics.items():
            header.append(f"{target} {name}" if several else name)
            table.append([float(f"{value:.8g}") for value in (values[:, i] if several else values)])
    return Forecast(tuple(header), list(zip(*table, strict=True)))


def written(rule: TimeRule, times: np.ndarray) -> list[Cell]:
    """Times as the reader writes them: dates in their form, or numbers."""
    texts = [rule.format(value) for value in times]
    return list(texts) if rule.kind == "date" else [short(float(text)) for text in texts]


def short(value: float) -> float | int:
    """Without the last digit, which is rounding error (0.30000000000000004), and without an empty fraction."""
    rounded = float(f"{value:.15g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
