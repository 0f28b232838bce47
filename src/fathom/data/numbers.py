"""Numbers as people write them: decimal marks, marks between thousands, and what a file tells about its own.

"1.234" alone may be 1.234 or 1234. But a file has one decimal mark, and its other numbers show which: "0.5" makes
every point decimal, "1.234.567" makes points group thousands, "1 234,5" makes commas decimal. What they leave open is
read the likelier way, and `Marks.doubt` tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fathom.data.columns import UNKNOWN, Dialect

Cells = np.ndarray  # (N,) object array of stripped text, "" where a value is missing
Doubt = Literal["", "open", "contrary"]
CALLED = {".": "point", ",": "comma"}
Use = tuple[str, Literal["decimal", "grouping", "open"]]  # a mark, and what it is for

_BETWEEN = " \u00a0\u2007\u2009\u202f'\u2019"  # they group thousands and nothing else
_OPEN = re.compile(r"[-+\u2212]?[1-9]\d{0,2}([.,])\d{3}")
_MONTH = re.compile(r"(?:0?[1-9]|1[0-2])\.(?:1[5-9]|20)\d\d")  # 01.2020, which may be a date
_INFINITE = re.compile(r"[-+]?inf(?:inity)?", re.IGNORECASE)
_OTHER = {".": ",", ",": "."}


def _shape(point: str) -> re.Pattern[str]:
    between = _OTHER[point] + _BETWEEN
    grouped = rf"[1-9]\d{{0,2}}(?P<group>[{between}])\d{{3}}(?:(?P=group)\d{{3}})*(?:[{point}]\d+)?"
    plain = rf"(?:\d+(?:[{point}]\d*)?|[{point}]\d+)(?:[eE][-+]?\d+)?"
    return re.compile(rf"[-+]?(?:{grouped}|{plain})")


_SHAPES = {point: _shape(point) for point in _OTHER}  # by decimal mark


def parse_number(text: str, point: str = ".") -> float:
    """The number a cell shows, NaN if it shows none; thousands may be grouped ("1,234.5", "1 234")."""
    text = text.replace("\u2212", "-")
    match = _SHAPES[point].fullmatch(text)
    if match is None:
        return float(text) if _INFINITE.fullmatch(text) else np.nan
    if match["group"]:
        text = text.replace(match["group"], "")
    return float(text.replace(",", "."))


def is_number(text: str) -> bool:
    """True for a number with either decimal mark."""
    return any(not np.isnan(parse_number(text, point)) for point in _SHAPES)


def open_mark(text: str) -> str:
    """The point or comma of "1.234", which may be decimal or group thousands; "" where that is no question."""
    match = _OPEN.fullmatch(text)
    return match[1] if match else ""


@dataclass(frozen=True)
class Column:
    """The cells of a column, the marks in them, and their numbers if Python can read them all."""

    cells: Cells
    marks: frozenset[str]  # of "_.,"
    floats: np.ndarray | None  # NaN where a value is missing

    @classmethod
    def of(cls, cells: Cells) -> Column:
        """Read what can be read without knowing the decimal mark."""
        together = "".join(cells)
        marks = frozenset(mark for mark in "_.," if mark in together)
        if marks & {"_", ","}:  # float("2020_01") would be 202001
            return cls(cells, marks, None)
        values, filled = np.full(len(cells), np.nan), cells != ""
        try:
            values[filled] = cells[filled].astype(float)
        except ValueError:
            return cls(cells, marks, None)
        return cls(cells, marks, values)

    def numbers(self, point: str) -> np.ndarray:
        """What the cells show with this decimal mark, NaN where they show nothing or no number."""
        if self.floats is not None and (point == "." or "." not in self.marks):
            return self.floats
        values, filled = np.full(len(self.cells), np.nan), self.cells != ""
        values[filled] = [parse_number(cell, point) for cell in self.cells[filled]]
        return values

    def first_open(self, mark: str) -> int | None:
        """The first row with a number like "1.234" that has this mark; None if there is none."""
        if mark not in self.marks:
            return None
        return next((row for row, cell in enumerate(self.cells) if mark in cell and open_mark(cell) == mark), None)

    def first_decimal(self, mark: str) -> int | None:
        """The first row with a number whose decimal mark this is, without doubt; None if there is none."""
        rows = (row for row, cell in enumerate(self.cells) if mark in cell)
        return next((row for row in rows if (mark, "decimal") in (_uses_in(self.cells[row]) or ())), None)

    def mixes(self, mark: str) -> bool:
        """True for nothing but "652" and "2.949": whole numbers below 1000, and numbers with three digits after a mark.

        Few columns of decimals look so, and every column whose thousands are grouped.
        """
        if mark not in self.marks:
            return False
        whole = grouped = False
        for cell in filter(None, self.cells):
            digits = cell.lstrip("+-\u2212")
            if len(digits) <= 3 and digits.isdigit():
                whole = True
            elif open_mark(cell) == mark:
                grouped = True
            else:
                return False
        return whole and grouped


@dataclass(frozen=True)
class Marks:
    """The decimal mark of a file, and what its numbers show of points and commas."""

    point: str = "."
    decimal: str = ""  # of ".,", those that are decimal in some number without doubt
    grouping: str = ""  # those that group thousands in some number without doubt
    open: str = ""  # those of numbers that show neither

    @classmethod
    def of(cls, columns: Sequence[Column], separator: str, earlier: Dialect = UNKNOWN) -> Marks:
        """The marks of a table, by all its columns.

        Where the table is silent, an `earlier` file counts if it has the same separator. Where nothing tells, a point
        is decimal, and so is a comma after semicolons, which spreadsheets write in countries of the decimal comma.
        """
        uses: set[Use] = set() if separator else {(".", "decimal")}
        for column in columns:
            if column.floats is None or (".", "decimal") not in uses:
                uses |= _uses(column)
        decimal, grouping, unknown = ({mark for mark, use in uses if use == kind} for kind in _KINDS)
        same = earlier.separator == separator
        known = (set(earlier.decimal), set(earlier.grouping)) if same else (set[str](), set[str]())
        likely = "," if separator == ";" and "," in unknown else "."
        point = "." if separator in ("", ",") else _point(decimal, grouping) or _point(*known) or likely
        decimal, grouping = decimal | (known[0] - grouping), grouping | (known[1] - decimal)
        return cls(point, *("".join(sorted(marks)) for marks in (decimal, grouping, unknown)))

    def doubt(self, mark: str) -> Doubt:
        """Whether other numbers bear out how "1.234" with this mark is read, leave it open, or say the contrary."""
        like, unlike = (self.decimal, self.grouping) if mark == self.point else (self.grouping, self.decimal)
        if mark in like and mark not in unlike:
            return ""
        return "contrary" if mark in unlike and mark not in like else "open"

    def contrary(self) -> list[str]:
        """The marks of which other numbers say the contrary."""
        return [mark for mark in _OTHER if self.doubt(mark) == "contrary"]

    def known(self) -> tuple[str, str]:
        """The marks that were read as decimal and as grouping, for the next file like this one."""
        decimal = {*self.decimal, *(mark for mark in self.open if mark == self.point)}
        grouping = {*self.grouping, *(mark for mark in self.open if mark != self.point)}
        return "".join(sorted(decimal)), "".join(sorted(grouping))


_KINDS: tuple[Literal["decimal", "grouping", "open"], ...] = ("decimal", "grouping", "open")


def _point(decimal: set[str], grouping: set[str]) -> str:
    """The decimal mark that some uses ask for, "" if they do not; a comma if they ask for both."""
    if decimal:
        return max(decimal, key=".,".index)
    return _OTHER[next(iter(grouping))] if len(grouping) == 1 else ""


def _uses(column: Column) -> set[Use]:
    """What points and commas are for in a column; nothing if most cells that have some are text."""
    if not column.marks & set(_OTHER):
        return set()
    marked = (cell for cell in column.cells if "." in cell or "," in cell)
    if column.floats is not None:  # points only, and the first that tells is enough
        uses: set[Use] = set()
        while (".", "decimal") not in uses and (cell := next(marked, "")):
            uses |= _uses_in(cell) or set()
        return uses
    found = [_uses_in(cell) for cell in marked]
    numbers = [uses for uses in found if uses is not None]
    return set().union(*numbers) if 2 * len(numbers) >= len(found) else set()


def _uses_in(cell: str) -> set[Use] | None:
    cell = cell.replace("\u2212", "-")
    if mark := open_mark(cell):
        return {(mark, "open")}
    if _MONTH.fullmatch(cell):
        return set()
    for point, shape in _SHAPES.items():
        if shape.fullmatch(cell):
            return {(mark, "decimal" if mark == point else "grouping") for mark in _OTHER if mark in cell}
    return None
