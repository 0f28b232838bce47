"""Text files into tables of cells: decoding, separators, headers, units and numbers.

Cells stay text until a column is asked for, so that a message can quote what the reader wrote, on the line where
they wrote it. Everything that can be wrong with a file ends as one `DataError` that names the place and the remedy.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import re
import shlex
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fathom.data.columns import DataError as DataError

if TYPE_CHECKING:
    import pandas as pd

Cells = np.ndarray  # (N,) object array of stripped text, "" where a value is missing

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "--", "."})
LIMIT = 1e150  # squares of larger values overflow

_SEPARATORS = ",;\t|"
_UNIT = re.compile(r"(?P<name>.*\S)(?:\s+\((?P<round>[^()]+)\)|\s*\[(?P<square>[^\[\]]+)\])")
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_GROUPED = re.compile("[-+]?[1-9]\\d{0,2}([,' \u00a0\u202f]\\d{3})+(\\.\\d+)?")
_INFINITE = re.compile(r"[-+]?inf(inity)?", re.IGNORECASE)
_SWAP = str.maketrans(".,", ",.")


@dataclass(frozen=True)
class Table:
    """Columns of text with their names, and where each row came from."""

    source: str
    headers: tuple[str, ...]  # as written, "CO2 (ppm)"
    cells: tuple[Cells, ...]
    point: str = "."  # the decimal mark
    notes: tuple[str, ...] = ()
    body: str = ""  # the text below the header; empty when the table came from a data frame
    separator: str = ","
    first_line: int = 1  # line of the file on which `body` starts
    records: np.ndarray = field(default_factory=lambda: np.arange(0))  # row -> record of `body`

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

    def find(self, name: str, option: str = "") -> int:
        """Index of the column called `name`, by its plain name or its whole header."""
        for known in (self.headers, self.names):
            if name in known:
                return known.index(name)
        asked = f"{option} {name!r}: no such column in" if option else f"no column {name!r} in"
        raise DataError(f"{asked} {self.source}{did_you_mean(name, self.names)}; columns: {listing(self.names)}")

    def where(self, row: int) -> str:
        """The place of a row as its reader would count it: "line 7" of a file, whose header is line 1."""
        if not self.body:
            return f"row {row + 1}"
        # Quoted fields may span lines, so the lines are counted only now, by a parser.
        reader = _records(self.body.splitlines(keepends=True), self.separator)
        for _ in range(int(self.records[row])):
            next(reader)
        return f"line {self.first_line + reader.line_num}"

    def numbers(self, column: int) -> np.ndarray:
        """A column as float64 with NaN for missing values; text or values beyond 1e150 are errors."""
        cells, name = self.cells[column], self.names[column]
        values = _numbers(cells, self.point)
        bad = np.flatnonzero(np.isnan(values) & (cells != ""))
        if bad.size:
            raise self._text_error(name, cells, bad)
        huge = np.flatnonzero(np.abs(values) > LIMIT)
        if huge.size:
            row = int(huge[0])
            raise DataError(
                f"column {name!r}, {self.where(row)}: {cells[row]} is infinite or too large to model "
                f"(limit {LIMIT:g}): correct it, rescale the column or remove the row"
            )
        return values

    def _text_error(self, name: str, cells: Cells, bad: np.ndarray) -> DataError:
        row = int(bad[0])
        place, drop = self.where(row), f"--drop {shlex.quote(name)}"
        if 2 * bad.size > np.count_nonzero(cells != ""):
            return DataError(
                f"column {name!r} holds text ({cells[row]!r} on {place}): "
                f"code it as numbers or leave it out with {drop}"
            )
        return DataError(
            f"column {name!r}, {place}: {cells[row]!r} is not a number: correct it or leave the column out with {drop}"
        )


def parse_number(text: str, point: str = ".") -> float:
    """The number a cell shows, NaN if it shows none; thousands may be grouped ("1,234.5")."""
    text = text.replace("\u2212", "-")
    if point == ",":
        text = text.translate(_SWAP)
    if _GROUPED.fullmatch(text):
        text = re.sub("[,' \u00a0\u202f]", "", text)
    return float(text) if _PLAIN.fullmatch(text) or _INFINITE.fullmatch(text) else np.nan


def _numbers(cells: Cells, point: str) -> np.ndarray:
    values = np.full(len(cells), np.nan)
    filled = cells != ""
    if point == "." and not any("_" in cell for cell in cells):  # float("2020_01") would be 202001
        try:
            values[filled] = cells[filled].astype(float)
        except ValueError:
            pass
        else:
            return values
    values[filled] = [parse_number(cell, point) for cell in cells[filled]]
    return values


def split_unit(header: str) -> tuple[str, str]:
    """Plain name and unit of a header: "CO2 (ppm)" -> ("CO2", "ppm"); "log(x)" and "x[0]" have none."""
    match = _UNIT.fullmatch(header)
    unit = (match["round"] or match["square"]).strip() if match else ""
    return (match["name"], unit) if match and unit and not unit.isdigit() else (header, "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " (did you mean 'x'?)" when a known name is close, whatever its case, and "" otherwise."""
    by_case = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), list(by_case), n=1, cutoff=0.6)
    return f" (did you mean {by_case[close[0]]!r}?)" if close else ""


def listing(names: Sequence[str], most: int = 12) -> str:
    """Names for a message, cut short when there are many."""
    tail = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + tail


def read_table(path: str | Path) -> Table:
    """Read a .csv, .tsv or gzipped text file with a header line."""
    path = Path(path)
    text = _decode(_read_bytes(path), path)
    lines = text.splitlines(keepends=True)
    skipped = 0
    while skipped < len(lines) and (not lines[skipped].strip() or lines[skipped].startswith("#")):
        skipped += 1  # blank lines and comments above the header
    lines = lines[skipped:]
    if not lines:
        raise DataError(f"{path} is empty: it needs a header line with column names and rows of values below it")
    separator = "\t" if {".tsv", ".tab"} & set(path.suffixes) else _separator(lines)
    reader = _records(lines, separator)
    header = [" ".join(name.split()) for name in next(reader)]
    _check_header(header, path, skipped + 1)
    body = "".join(lines[reader.line_num :])
    return _build(path, header, body, separator, skipped + reader.line_num + 1)


def table_of_frame(frame: pd.DataFrame) -> Table:
    """The same table from a pandas data frame, whose rows are counted from 1."""
    headers = tuple(str(name) for name in frame.columns)
    _check_duplicates(headers)
    columns = []
    for name in frame.columns:
        column = frame[name]
        text = column.astype(str).str.strip().to_numpy(dtype=object)
        columns.append(_missing_blanked(np.where(column.isna().to_numpy(), "", text)))
    return Table("the data frame", headers, tuple(columns))


def _read_bytes(path: Path) -> bytes:
    if path.is_dir():
        raise DataError(f"{path} is a folder: name a CSV file")
    if not path.exists():
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = did_you_mean(path.name, beside) or ": check the name and the folder"
        raise DataError(f"no file {str(path)!r}{hint}")
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{path} is a damaged or truncated gzip file: fetch or compress it again") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions") from None


def _decode(data: bytes, path: Path) -> str:
    if data[:4] == b"PK\x03\x04":
        raise DataError(f"{path} is a spreadsheet or a zip archive: save the table as CSV first")
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if re.search(r"[\x00-\x08\x0e-\x1f]", text[:100_000]):
        raise DataError(f"{path} is not a text file: save the table as CSV first")
    # splitlines() would also break lines at rarer marks, which may stand inside a cell.
    return re.sub("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", " ", text.replace("\r\n", "\n").replace("\r", "\n"))


def _records(lines: Sequence[str], separator: str) -> Any:
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _separator(lines: Sequence[str]) -> str:
    """The separator that cuts the first lines into the same number (two or more) of fields as the header."""

    def score(separator: str) -> tuple[float, int]:
        try:
            widths = [len(record) for record in _records(lines[:50], separator) if record]
        except csv.Error:
            return 0.0, 0
        same = [width - widths[0] in (0, 1) for width in widths]
        return (float(np.mean(same)), widths[0]) if widths[0] > 1 else (0.0, 0)

    return max(_SEPARATORS, key=score)


def _check_header(header: Sequence[str], path: Path, line: int) -> None:
    def is_value(text: str) -> bool:
        number = any(not np.isnan(parse_number(text, point)) for point in ".,")
        return number or bool(re.match(r"\d{4}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2}", text))

    if all(is_value(text) or text.lower() in MISSING for text in header):
        names = ",".join(["time", "y"] if len(header) == 2 else [f"x{i + 1}" for i in range(len(header) - 1)] + ["y"])
        raise DataError(f"{path}, line {line} holds values, not column names: add a header line such as {names!r}")
    _check_duplicates(header)


def _check_duplicates(header: Sequence[str]) -> None:
    for name in header:
        if name and header.count(name) > 1:
            first = header.index(name)
            second = header.index(name, first + 1)
            raise DataError(f"column {name!r} appears twice (columns {first + 1} and {second + 1}): rename one of them")


def _build(path: Path, header: list[str], body: str, separator: str, first_line: int) -> Table:
    frame = _split(path, header, body, separator, first_line)
    columns = [_missing_blanked(frame[i].to_numpy(dtype=object)) for i in range(len(header) + 1)]
    beyond = np.flatnonzero(columns[-1] != "")  # fields to the right of the last name
    if beyond.size == 0:
        columns.pop()
    elif beyond.size == len(columns[-1]):
        header = ["", *header]  # R writes row names without a header of their own
    else:
        raise _ragged(path, header, body, separator, first_line)
    filled = np.flatnonzero(np.any([column != "" for column in columns], axis=0))
    columns = [column[filled] for column in columns]
    if not filled.size:
        raise DataError(f"{path} has column names but no rows: add rows of values below the header")
    header, columns, notes = _name_the_nameless(header, columns)
    point = _decimal_mark(columns, separator)
    return Table(str(path), tuple(header), tuple(columns), point, notes, body, separator, first_line, filled)


def _split(path: Path, header: Sequence[str], body: str, separator: str, first_line: int) -> pd.DataFrame:
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.StringIO(body),
                sep=separator,
                header=None,
                names=list(range(len(header) + 1)),  # one to spare, to notice rows that are too long
                index_col=False,
                dtype=str,
                na_filter=False,
                skipinitialspace=True,
                skip_blank_lines=False,  # keeps rows and lines of the file in step
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning):
        raise _ragged(path, header, body, separator, first_line) from None


def _ragged(path: Path, header: Sequence[str], body: str, separator: str, first_line: int) -> DataError:
    reader = _records(body.splitlines(keepends=True), separator)
    line = first_line
    try:
        for record in reader:
            if any(field.strip() for field in record[len(header) :]):
                return DataError(
                    f"{path}, line {line} has {len(record)} fields where the header names {len(header)}: "
                    f"correct the line, or put quotes around a field that contains {separator!r}"
                )
            line = first_line + reader.line_num
    except csv.Error:
        pass
    return DataError(f"{path} has a quotation mark that is never closed: close or remove it")


def _missing_blanked(cells: np.ndarray) -> Cells:
    blanked = np.empty(len(cells), dtype=object)
    stripped = (str(cell).strip() for cell in cells)
    blanked[:] = ["" if len(cell) < 5 and cell.lower() in MISSING else cell for cell in stripped]
    return blanked


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


def _decimal_mark(columns: Sequence[Cells], separator: str) -> str:
    """A comma where commas cannot separate fields and cells such as "3,14" occur, else a point."""
    if separator == ",":
        return "."
    with_comma = [c for cells in columns for c in cells if re.fullmatch(r"[-+]?[\d.]*,\d+([eE][-+]?\d+)?", c)]
    # "1,234" may group thousands; after semicolons, which spreadsheets write in decimal-comma countries, it does not.
    decimal = separator == ";" or any(not _GROUPED.fullmatch(c) for c in with_comma)
    return "," if with_comma and decimal else "."
