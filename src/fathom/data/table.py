"""Text files into tables of cells: columns with names, units and numbers.

Cells stay text until a column is asked for, so that a message can quote what the reader wrote, on the line where
they wrote it. Everything that can be wrong with a file ends as one `DataError` that names the place and the remedy.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom.data.columns import UNKNOWN, Dialect
from fathom.data.columns import DataError as DataError
from fathom.data.messages import did_you_mean as did_you_mean
from fathom.data.messages import listing as listing
from fathom.data.messages import quoted
from fathom.data.numbers import CALLED, Column, Marks, is_number, parse_number
from fathom.data.numbers import Cells as Cells
from fathom.data.records import is_missing, read_records
from fathom.data.source import read_text

if TYPE_CHECKING:
    import pandas as pd

LIMIT = 1e150  # squares of larger values overflow

_UNIT = re.compile(r"(?P<name>.*\S)(?:\s+\((?P<round>[^()]+)\)|\s*\[(?P<square>[^\[\]]+)\])")


@dataclass(frozen=True)
class Table:
    """Columns of text with their names, and where each row came from."""

    source: str
    headers: tuple[str, ...]  # as written, "CO2 (ppm)"
    cells: tuple[Cells, ...]
    separator: str = ","  # empty if the table is no file; its numbers have points then
    notes: tuple[str, ...] = ()
    lines: np.ndarray = field(default_factory=lambda: np.arange(0))  # of a file, on which its rows begin
    earlier: Dialect = UNKNOWN  # of the file to which a model was fitted

    @property
    def n_rows(self) -> int:
        """How many rows there are, blank lines not counted."""
        return len(self.cells[0]) if self.cells else 0

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The plain part of each header ("CO2"), or the whole of it where two plain parts agree."""
        plain = [split_unit(header)[0] for header in self.headers]
        count = Counter(plain)
        return tuple(p if count[p] == 1 else h for p, h in zip(plain, self.headers, strict=True))

    @cached_property
    def units(self) -> dict[str, str]:
        """Column name -> unit, for the headers that give one."""
        pairs = zip(self.names, (split_unit(header)[1] for header in self.headers), strict=True)
        return {name: unit for name, unit in pairs if unit}

    @cached_property
    def columns(self) -> list[Column]:
        """The columns as numbers may be read from them."""
        return [Column.of(cells) for cells in self.cells]

    @cached_property
    def marks(self) -> Marks:
        """The decimal mark of the table, and what its cells tell about points and commas."""
        return Marks.of(self.columns, self.separator, self.earlier)

    @property
    def dialect(self) -> Dialect:
        """How numbers of this table were read, for the next one like it."""
        return Dialect(self.separator, *self.marks.known())

    def find(self, name: str, option: str = "") -> int:
        """Index of the column called `name`, by its plain name or its whole header."""
        if (place := self._places.get(name)) is not None:
            return place
        asked = f"{option} {name!r}: no such column in" if option else f"no column {name!r} in"
        raise DataError(f"{asked} {self.source}{did_you_mean(name, self.names)}; columns: {listing(self.names)}")

    def where(self, row: int) -> str:
        """The place of a row as its reader would count it: "line 7" of a file, whose header is line 1."""
        return f"line {self.lines[row]}" if self.lines.size else f"row {row + 1}"

    def numbers(self, column: int) -> np.ndarray:
        """A column as float64 with NaN for missing values; text or values beyond 1e150 are errors."""
        cells, name = self.cells[column], self.names[column]
        values = self.columns[column].numbers(self.marks.point)
        bad = np.flatnonzero(np.isnan(values))
        bad = bad[cells[bad] != ""]
        if bad.size:
            raise self._text_error(name, cells, bad)
        huge = np.flatnonzero(np.abs(values) > LIMIT)
        if huge.size:
            row = int(huge[0])
            shown = cells[row] if len(cells[row]) < 30 else quoted(cells[row])
            raise DataError(
                f"column {name!r}, {self.where(row)}: {shown} is infinite or too large to model "
                f"(limit {LIMIT:g}): correct it, rescale the column or remove the row"
            )
        for mark in self.marks.contrary():
            if (first := self.columns[column].first_open(mark)) is not None:
                raise self.open_error(column, first)
        return values

    def open_error(self, column: int, row: int) -> DataError:
        """The error for a number such as "1.234" that may be either."""
        cell = self.cells[column][row]
        one, other = sorted(parse_number(cell, point) for point in ".,")
        return DataError(
            f"column {self.names[column]!r}, {self.where(row)}: {cell!r} may be {one:.15g} or {other:.15g}, and other "
            f"numbers of the file do not settle it: write numbers without marks between thousands"
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        names = {name: place for place, name in reversed([*enumerate(self.names)])}
        return names | {header: place for place, header in reversed([*enumerate(self.headers)])}

    def _text_error(self, name: str, cells: Cells, bad: np.ndarray) -> DataError:
        row = int(bad[0])
        place, drop = self.where(row), f"--drop {shlex.quote(name)}"
        if is_number(cells[row]):
            return DataError(
                f"column {name!r}, {place}: {quoted(cells[row])} is not a number where {self._decimal_mark()}: "
                f"write all numbers with the same mark or leave the column out with {drop}"
            )
        if 2 * bad.size > np.count_nonzero(cells != ""):
            return DataError(
                f"column {name!r} holds text ({quoted(cells[row])} on {place}): "
                f"code it as numbers or leave it out with {drop}"
            )
        return DataError(
            f"column {name!r}, {place}: {quoted(cells[row])} is not a number: "
            f"correct it or leave the column out with {drop}"
        )

    def _decimal_mark(self) -> str:
        """Which mark is decimal, for a message, and a cell that shows it."""
        point = self.marks.point
        for name, column in zip(self.names, self.columns, strict=True):
            if (row := column.first_decimal(point)) is not None:
                shown = f", as in {quoted(column.cells[row])} (column {name!r}, {self.where(row)})"
                break
        else:
            shown = ""
        return f"the {CALLED[point]} is the decimal mark{shown}"


def split_unit(header: str) -> tuple[str, str]:
    """Plain name and unit of a header: "CO2 (ppm)" -> ("CO2", "ppm"); "log(x)" and "x[0]" have none."""
    match = _UNIT.fullmatch(header)
    unit = (match["round"] or match["square"]).strip() if match else ""
    return (match["name"], unit) if match and unit and not unit.isdigit() else (header, "")


def read_table(path: str | Path) -> Table:
    """Read a .csv, .tsv or gzipped text file with a header line."""
    return table_of_text(read_text(Path(path)), Path(path))


def table_of_text(text: str, path: Path) -> Table:
    """The table in the text of a file; messages name its path."""
    records = read_records(text, path)
    _check_duplicates(records.header)
    flat, width = list(chain.from_iterable(records.rows)), len(records.header)
    columns = [_cells(flat[i::width]) for i in range(width)]
    filled = np.flatnonzero(np.any([column != "" for column in columns], axis=0))
    if not filled.size:
        raise DataError(f"{path} has column names but no rows: add rows of values below the header")
    header, columns, notes = _name_the_nameless(records.header, [column[filled] for column in columns])
    notes = (*records.notes, *notes)
    return Table(str(path), tuple(header), tuple(columns), records.separator, notes, records.lines[filled])


def table_of_frame(frame: pd.DataFrame) -> Table:
    """The same table from a pandas data frame, whose rows are counted from 1."""
    headers = tuple(str(name) for name in frame.columns)
    _check_duplicates(headers)
    columns = []
    for i in range(len(headers)):
        column = frame.iloc[:, i]
        text = column.astype(str).to_numpy(dtype=object)
        columns.append(_cells(np.where(column.isna().to_numpy(), "", text)))
    return Table("the data frame", headers, tuple(columns), separator="")


def _check_duplicates(header: Sequence[str]) -> None:
    first: dict[str, int] = {}
    for place, name in enumerate(header, start=1):
        if name and first.setdefault(name, place) != place:
            raise DataError(f"column {name!r} appears twice (columns {first[name]} and {place}): rename one of them")


def _cells(column: Iterable[str]) -> Cells:
    """Stripped text, blank where a value is missing."""
    stripped = list(map(str.strip, column))
    blank = {cell for cell in {cell for cell in stripped if 0 < len(cell) < 5} if is_missing(cell)}
    cells = np.empty(len(stripped), dtype=object)
    cells[:] = ["" if cell in blank else cell for cell in stripped] if blank else stripped
    return cells


def _name_the_nameless(header: list[str], columns: list[Cells]) -> tuple[list[str], list[Cells], tuple[str, ...]]:
    """Leave out unnamed columns that are empty or only number the rows; call any other by its place."""
    names, kept, notes = [], [], []
    for place, (name, cells) in enumerate(zip(header, columns, strict=True), start=1):
        if name and not re.fullmatch(r"Unnamed: \d+", name):
            names.append(name)
            kept.append(cells)
        elif _counts_rows(cells):
            notes.append("An unnamed column that numbers the rows was left out.")
        elif np.any(cells != ""):
            names.append(f"column {place}")
            kept.append(cells)
    return names, kept, tuple(notes)


def _counts_rows(cells: Cells) -> bool:
    return any(all(cell == str(i) for i, cell in enumerate(cells, start)) for start in (0, 1))
